"""The agent loops: how often a model is asked within a turn, with what, and when the turn ends. A strategy only
decides, by its phases and built-in tools; the turn does. A thought is asked for in plain text, so that every model and
protocol can give one. Notes name no tool, since its name is the protocol's part."""

from __future__ import annotations

import re
from collections.abc import Mapping

from console_app.domain import ThoughtLabel, safe_text
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.settings import ToolChoice
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.context import GO_ON
from console_app.engine.execution.builtin_specs import FINISHED, QUESTION
from console_app.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Ending:
    outcome: ev.TurnOutcome
    error: str | None = None
    cut: bool = False  # nobody stopped it


@dataclass(frozen=True, slots=True)
class StepResult:
    """An answer after all of its calls have ended. `error`: the request failed or was cut off. `completed` is what
    `finished` got, unless refused. `unread` are tools that its text seemed to call, with the words for the model."""

    text: str
    calls: tuple[CallExecution, ...]
    finish: ch.FinishReason | None
    error: str | None = None
    completed: str | None = None
    paused: bool = False  # its provider goes on with it once it has it back
    too_large: bool = False  # the request, for its model: refused, and nothing came of it
    unread: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def empty(self) -> bool:
        return not self.calls and safe_text.is_blank(self.text)


@dataclass(frozen=True, slots=True)
class Phase:
    label: ThoughtLabel | None = None
    note: str = ""
    tool_choice: ToolChoice = "auto"


@dataclass(frozen=True, slots=True)
class Strategy:
    """An agent loop: its phases over and over until the turn ends, with the built-in `tools` it needs. `nudges`: an
    answer without a call is objected to, once a turn. `asks`: a thought may end with a question to the user
    (`Ask:`)."""

    name: str
    phases: tuple[Phase, ...] = (Phase(),)
    tools: frozenset[str] = frozenset()
    nudges: bool = False
    asks: bool = False


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


MOST_CUTS = 3
MOST_UNREAD = 2  # times in a turn that the model hears why its text called nothing
TOKEN_LIMIT = "The answer was cut off by the token limit."
FILTERED = "The answer was stopped by the provider's content filter."
CUT_BY = {TOKEN_LIMIT: "length", FILTERED: "filtered"}  # errors of turns whose answer is whole as far as it came
ASK = re.compile(r"^[\W_]*Ask:[*_]*[ \t]*(?P<question>[^\s*_].*)\s*\Z", re.MULTILINE)
MOST_PAUSES = 10

NO_CALL = (
    "Your answer called no tool. If the request is met, call {finished} with the whole answer; else call the tool that "
    "comes next."
)
NUDGE = "Your last answer was empty. Answer the user, or call a tool."
CLOSING = "The step limit is reached: no more tool calls run. Answer the user now with what you have."
REMIND = "The to-do list still has open items. Do them, or take them off the list, before you end:"
