"""The agent loops: how often a model is asked within a turn, with what, and when the turn ends.

A thought is asked for in plain text and not as a call, so that every model and protocol can give one; the notes name
no tool, since how a tool is called is the protocol's part.
"""

from console_app.engine.builtin_tools.specs import FINISHED, QUESTION
from console_app.engine.history import GO_ON
from console_app.engine.strategies.loop import Loop
from console_app.engine.strategies.strategy import Phase, Strategy

THINK = (
    "(Think first, in a few sentences and without calling a tool: what is known, what is missing, and what is next?)"
)
REASON = (
    "(Reason first, in a few sentences and without calling a tool: what is known, and what is missing? "
    "Then give a line that begins with “Plan:” and says what comes next; or, where only the user can say what is "
    "missing, a line that begins with “Ask:” and holds your one question.)"
)
OBSERVE = (
    "(Observe: say in a few sentences what the results show, and whether the request is met. "
    "If it is, end now; if only the user can help, ask.)"
)

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("agentic"),
        Strategy("act", (Phase(tool_choice="required"),), frozenset({FINISHED}), nudges=True),
        Strategy(
            "think-act",
            (Phase("think", THINK, "none"), Phase(note=GO_ON)),
            frozenset({FINISHED}),
        ),
        Strategy(
            "react",
            (Phase("reason", REASON, "none"), Phase(note=GO_ON), Phase("observe", OBSERVE)),
            frozenset({FINISHED, QUESTION}),
            asks=True,
        ),
    )
}

__all__ = ["STRATEGIES", "Loop"]
