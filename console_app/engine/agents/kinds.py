"""The kinds of agents that come along, and the words that every agent reads before its task."""

from __future__ import annotations

from console_app.domain.agents import AgentKind

GENERAL = "general"
RULES = (
    "You do one task for another agent, which reads nothing of your work but your last answer. So end with an answer "
    "that stands alone: what you found or did, in which files, and what is left open. Call several tools in one "
    "answer where they don't need each other. Where the task can't be done, say why."
)

KINDS = {
    kind.name: kind
    for kind in (
        AgentKind(GENERAL, "any task of several steps", RULES),
        AgentKind(
            "explore",
            "finds things out and changes nothing: where something is, how it works, what a page says",
            f"{RULES}\nYou can change nothing. Search broadly first, then read what matters. Name files with lines.",
            reads_only=True,
        ),
        AgentKind(
            "review",
            "reads code or text with care, changes nothing, and returns findings",
            f"{RULES}\nYou can change nothing. Return findings, the gravest first: where, what is wrong, and what "
            "shows it. Leave out what you did not check, and say where you found nothing.",
            reads_only=True,
        ),
    )
}
