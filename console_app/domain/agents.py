"""Agents as calls: a kind says who does a task, a model or an agent of others does it. Calls of an agent name its call
as `parent`. All that it says and does carries its path, so that it is none of its parent's conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from console_app.domain import amounts, call_description
from console_app.domain.amounts import plural
from console_app.domain.safe_text import one_line
from console_app.domain.settings import Effort
from console_app.domain.tools import AGENT as AGENT
from console_app.domain.tools import Outcome, Risk
from console_app.domain.transcript import CallView, Transcript
from console_app.records import dataclass, field

if TYPE_CHECKING:
    from console_app.domain.ports import Provider, ServersBeside, Toolset

INHERIT = "inherit"  # the model that a kind names where it wants the one of its parent


@dataclass(frozen=True, slots=True)
class AgentKind:
    """A kind of agent. Its tasks are conversations with a model, under this prompt, unless `opens` gives an agent of
    others (`Converses`) for a model of that agent, which is closed with its task."""

    name: str
    description: str = ""
    prompt: str = ""  # what its system prompt says beside the task
    model: str = ""  # PROVIDER/MODEL; "" where it is its parent's
    tools: tuple[str, ...] | None = None  # patterns of server.tool; None: all that its parent has
    without: tuple[str, ...] = ()  # patterns of those that it does not have
    reads_only: bool = False  # it can change nothing, whatever a rule says
    max_steps: int | None = None
    background: bool = False
    worktree: bool = False  # it works in a git worktree of its own
    skills: tuple[str, ...] = ()  # names of those that stand in its prompt
    effort: Effort | None = None  # None: as its parent
    source: str = ""  # the file that it stands in, as people read it; "" of those that come along
    note: str = ""  # on keys of the file that nothing here reads
    opens: Callable[[str], Provider] | None = None
    starts: Mapping[str, str] = field(default_factory=dict[str, str])  # servers of its own, with what runs them
    beside: Callable[[Toolset, str], Awaitable[ServersBeside]] | None = None  # starts them, for one agent in a folder


@dataclass(frozen=True, slots=True)
class AgentTask:
    call_id: str
    path: str
    kind: AgentKind
    task: str
    model: str = ""  # as the call names it; "" for that of the kind


def described(kind: AgentKind) -> list[str]:
    lines = [kind.source or "It comes along with Fanout."]
    lines += ["It can change nothing, whatever a rule says."] if kind.reads_only else []
    lines += ["It works in a git worktree of its own."] if kind.worktree else []
    lines += [f"Tools: {', '.join(kind.tools) or 'none'}"] if kind.tools is not None else []
    lines += [f"Not: {', '.join(kind.without)}"] if kind.without else []
    lines += [f"It starts for itself {name}: {runs}" for name, runs in kind.starts.items()]
    lines += [f"Skills: {', '.join(kind.skills)}"] if kind.skills else []
    lines += [f"Model: {kind.model}"] if kind.model else []
    lines += [f"Effort: {kind.effort}"] if kind.effort else []
    lines += [f"Its front matter: {kind.note}."] if kind.note else []
    return [one_line(line, 400) for line in lines]


Kinds = Mapping[str, AgentKind]
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

MOST_TEXT = 4_000  # characters of its own words
MOST_NAMED = 40  # of its calls, and of its files


def account(transcript: Transcript, now: float) -> str:
    """Return what an agent had when it ended early: time, calls, files that it changed, and its words so far."""
    turn = transcript.turn
    if turn is None:
        return ""
    calls = [call for call in turn.calls if not call.parent or call.parent not in transcript.calls]
    took = amounts.seconds((turn.finished_at or now) - turn.started_at)
    lines = [f"It had worked for {took}, with {plural(len(calls), 'call')}."]
    if files := changed_files(calls):
        lines.append(f"Files that it changed: {', '.join(files[:MOST_NAMED])}.")
    if calls:
        lines += ["Its calls, the newest last:", *(f"- {_line(call)}" for call in calls[-MOST_NAMED:])]
    if words := "\n\n".join(step.text.strip() for step in turn.steps if step.text.strip()):
        lines += ["Its words so far:", "[…] " * (len(words) > MOST_TEXT) + words[-MOST_TEXT:]]
    return "\n".join(lines)


def changed_files(calls: list[CallView]) -> list[str]:
    found: dict[str, None] = {}
    for call in calls:
        arguments = call.arguments or {}
        if call.started_at is None or Risk.of(None, arguments).word not in ("edits", "creates", "deletes"):
            continue
        found.update((value, None) for name, value in arguments.items() if "path" in name and isinstance(value, str))
    return [one_line(path, 200) for path in found]


def _line(call: CallView) -> str:
    arguments = call.arguments or {}
    main = one_line(str(arguments[call_description.main_argument(arguments)]), 120) if arguments else ""
    came = call_description.in_words(call) if call.outcome is not Outcome.SUCCEEDED else "ok"
    return " ".join(filter(None, (call.tool or call.name, main, f"· {came}")))
