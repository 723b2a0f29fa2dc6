"""What a strategy is, and what a turn lets it do.

A strategy only decides; the turn asks the model, runs the calls and keeps the history. Strategies differ in the phases
of their cycle and in the built-in tools that they need: all of them run every call of an answer, under the policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from console_app.domain.chunks import FinishReason
from console_app.domain.events import Level, TurnOutcome
from console_app.domain.messages import ThoughtLabel
from console_app.domain.safe_text import is_blank
from console_app.domain.settings import EngineSettings, ToolChoice
from console_app.engine.call_execution import CallExecution


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended; `error` is one line for people."""

    outcome: TurnOutcome
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """One answer after all of its calls have ended. `error` is set when the request failed or was cut off, `completed`
    is what the model gave to `finished`, where that was not refused."""

    text: str
    calls: tuple[CallExecution, ...]
    finish: FinishReason | None
    error: str | None = None
    completed: str | None = None
    paused: bool = False  # its provider goes on with it once it has it back
    too_large: bool = False  # the request, for its model: refused, and nothing came of it

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it: no text and no call."""
        return not self.calls and is_blank(self.text)

    @property
    def any_ran(self) -> bool:
        """Whether a call of it was started, whatever came of it."""
        return any(call.ran for call in self.calls)


class TurnSteps(Protocol):
    """What a strategy may do with a turn."""

    @property
    def settings(self) -> EngineSettings:
        """The settings as they are now."""
        ...

    @property
    def has_steering(self) -> bool:
        """Whether the user said something that no request has carried yet."""
        ...

    @property
    def open_todos(self) -> str:
        """The items of the to-do list that are not completed, as a checklist; "" when all are."""
        ...

    def spent(self) -> str | None:
        """Which limit of money or tokens is used up, in one sentence; None while there is something left."""
        ...

    async def step(
        self, *, tool_choice: ToolChoice = "auto", note: str = "", label: ThoughtLabel | None = None
    ) -> StepResult:
        """One request, its answer and its calls.

        With `none` and no label, calls that come all the same are skipped. `note` is said to the model with this
        request alone; with `label`, the text of the answer is a thought.
        """
        ...

    async def ask(self, question: str) -> bool:
        """Asks the user something in the strategy's own name; False when there is no answer."""
        ...

    def add_message(self, text: str) -> None:
        """Adds a user message that Fanout wrote."""
        ...

    def notice(self, level: Level, text: str) -> None:
        """Tells the user something."""
        ...


@dataclass(frozen=True, slots=True)
class Phase:
    """One request of a strategy's cycle. With a `label` its text is a thought, else an answer to the user."""

    label: ThoughtLabel | None = None
    note: str = ""
    tool_choice: ToolChoice = "auto"


@dataclass(frozen=True, slots=True)
class Strategy:
    """An agent loop: its phases, over and over, until the turn ends. `tools` are the built-in tools that it needs; one
    that `nudges` says once in a turn that an answer without a call is not the way to end it, and one that `asks` puts
    the question to the user that a thought ends with (a line that begins with `Ask:`)."""

    name: str
    phases: tuple[Phase, ...] = (Phase(),)
    tools: frozenset[str] = frozenset()
    nudges: bool = False
    asks: bool = False
