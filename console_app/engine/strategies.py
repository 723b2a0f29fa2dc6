"""The agent loops: how often a model is asked within a turn, with what, and when the turn ends.

A strategy only decides; the turn asks the model, runs the calls and keeps the history. Strategies differ in the phases
of their cycle and in the built-in tools that they need: all of them run every call of an answer, under the policy. A
thought is asked for in plain text and not as a call, so that every model and protocol can give one. The notes name no
tool, since how a tool is called is the protocol's part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from console_app.domain import Level, Outcome, ThoughtLabel, safe_text
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings, ToolChoice
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.execution.builtin_specs import FINISHED, QUESTION, SPECS
from console_app.engine.history import GO_ON


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of a turn; `error` is one line for people."""

    outcome: ev.TurnOutcome
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """One answer after all of its calls have ended. `error` is set when the request failed or was cut off, `completed`
    is what the model gave to `finished`, where that was not refused. `unread` are tools that its text seemed to call,
    with what the model hears of it."""

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
        """Tell whether there is nothing in it: no text and no call."""
        return not self.calls and safe_text.is_blank(self.text)

    @property
    def any_ran(self) -> bool:
        """Tell whether a call of it was started, whatever came of it."""
        return any(call.ran for call in self.calls)


class TurnSteps(Protocol):
    """The acts that a strategy may do with a turn."""

    @property
    def settings(self) -> EngineSettings: ...

    @property
    def has_steering(self) -> bool:
        """Tell whether the user said something that no request has carried yet."""
        ...

    @property
    def open_todos(self) -> str:
        """Return the items of the to-do list that are not completed, as a checklist; "" when all are."""
        ...

    def spent(self) -> str | None:
        """Tell which limit of money or tokens is used up, in one sentence; None while there is something left."""
        ...

    async def step(
        self, *, tool_choice: ToolChoice = "auto", note: str = "", label: ThoughtLabel | None = None
    ) -> StepResult:
        """Make one request, with its answer and its calls.

        With `none` and no label, calls that come all the same are skipped. `note` is said to the model with this
        request alone; with `label`, the text of the answer is a thought.
        """
        ...

    async def ask(self, question: str) -> bool:
        """Ask the user something in the strategy's own name; False when there is no answer."""
        ...

    def add_message(self, text: str) -> None:
        """Add a user message that Fanout wrote."""
        ...

    def notice(self, level: Level, text: str) -> None:
        """Tell the user something."""
        ...


@dataclass(frozen=True, slots=True)
class Phase:
    """One request of a strategy's cycle. With a `label` its text is a thought, else an answer to the user."""

    label: ThoughtLabel | None = None
    note: str = ""
    tool_choice: ToolChoice = "auto"


@dataclass(frozen=True, slots=True)
class Strategy:
    """An agent loop: its phases, over and over, until the turn ends. `tools` are the built-in tools that it needs. One
    that `nudges` says once in a turn that an answer without a call is not the way to end it, and one that `asks` puts
    the question to the user that a thought ends with (a line that begins with `Ask:`)."""

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
_ASK = re.compile(r"^[\W_]*Ask:[*_]*[ \t]*(?P<question>[^\s*_].*)\s*\Z", re.MULTILINE)
MOST_PAUSES = 10

NO_CALL = (
    "Your answer called no tool. If the request is met, call {finished} with the whole answer; else call the tool that "
    "comes next."
)
NUDGE = "Your last answer was empty. Answer the user, or call a tool."
CLOSING = "The step limit is reached: no more tool calls run. Answer the user now with what you have."
REMIND = "The to-do list still has open items. Do them, or take them off the list, before you end:"


class Loop:
    """One turn under a strategy."""

    def __init__(self, turn: TurnSteps, strategy: Strategy) -> None:
        self._turn = turn
        self._phases = strategy.phases
        self._strategy = strategy
        self._called = False  # an answer of this turn had a call
        self._was_refused = False  # the answer before the newest could not complete
        self._refused = False  # the newest answer may not complete: its model may say so in words
        self._asks = strategy.asks
        self._cuts = self._heard = 0
        self._pauses = 0  # in a row
        self._nudged = self._reminded = self._called_upon = False

    async def run(self) -> Ending:
        """Run the turn from its prompt to its end."""
        turn, at = self._turn, 0
        for _ in range(turn.settings.max_steps):
            if ending := self._spent():
                return ending
            phase = self._phases[at]
            note = "" if self._pauses else phase.note  # what goes on has been told
            answer = await turn.step(tool_choice=self._tool_choice(phase), note=note, label=phase.label)
            self._called = self._called or bool(answer.calls)
            self._was_refused = self._refused
            self._refused = any(call.outcome is Outcome.BLOCKED for call in answer.calls)
            if ending := self._judge(phase, answer):
                return ending
            think_again = await self._asked(phase, answer)
            at = 0 if think_again else at if answer.paused else self._next(at, answer)
        return await self._closing_answer()

    def _tool_choice(self, phase: Phase) -> ToolChoice:
        """Return what the settings want, else the phase. A thought calls nothing; where only text can end the turn,
        calls are demanded until there was one."""
        wanted = self._turn.settings.tool_choice
        if phase.label is None and self._refused and wanted != "none":
            return "auto"
        if phase.label is not None or wanted is None:
            return phase.tool_choice
        return "auto" if wanted == "required" and self._called and not self._ends_by_call else wanted

    @property
    def _ends_by_call(self) -> bool:
        return FINISHED in self._strategy.tools | self._turn.settings.builtin_tools

    async def _asked(self, phase: Phase, answer: StepResult) -> bool:
        """Put the question that a thought ends with to the user. Without an answer it goes on, and asks no more."""
        question = _ASK.search(answer.text) if self._asks and phase.label == "reason" and not answer.calls else None
        if question is None:
            return False
        self._asks = await self._turn.ask(question["question"].strip())
        return True

    def _spent(self) -> Ending | None:
        """Return the ending at a limit of money or tokens."""
        limit = self._turn.spent()
        if limit is None:
            return None
        self._turn.notice("warning", f"{limit} The turn ends here.")
        return Ending("failed", limit)

    def _judge(self, phase: Phase, answer: StepResult) -> Ending | None:
        """Return the ending that this answer makes, or None to go on."""
        turn = self._turn
        self._cuts = self._cuts + 1 if answer.error or answer.finish == "length" else 0
        self._pauses = self._pauses + 1 if answer.paused else 0
        if answer.completed is not None:
            return None if turn.has_steering else Ending("completed")
        if answer.calls:
            if self._cuts >= MOST_CUTS or (answer.error and not answer.any_ran):
                return ended_by(turn, answer)
            if answer.error:
                turn.notice("warning", f"{answer.error.rstrip('.')}. Going on with the results of the calls that ran.")
            return None
        if answer.paused:
            if self._pauses > MOST_PAUSES:
                why = f"The provider paused its answer {self._pauses} times in a row."
                turn.notice("warning", f"{why} Say “go on” to let it continue.")
                return Ending("failed", why)
            return None
        if phase.label is not None and not answer.error and answer.finish != "filtered":
            return ended_by(turn, answer) if self._cuts >= MOST_CUTS else None
        if answer.unread and answer.finish in ("stop", "tool_calls") and self._heard < MOST_UNREAD:
            self._heard += 1
            turn.add_message("\n".join(answer.unread.values()))
            return None
        if answer.empty and answer.finish in ("stop", "tool_calls") and not self._nudged:
            self._nudged = True
            turn.add_message(NUDGE)
            return None
        if self._is_to_call(answer):
            self._called_upon = True
            turn.add_message(NO_CALL.format(finished=SPECS[FINISHED].name))
            return None
        if not answer.error and (turn.has_steering or self._has_to_go_on()):
            return None
        return ended_by(turn, answer)

    def _is_to_call(self, answer: StepResult) -> bool:
        """Tell whether an answer in text alone is told, once, that a call ends the turn; one to a refused call
        knows."""
        may_call = self._strategy.nudges and self._turn.settings.tool_choice != "none" and not self._was_refused
        whole = not answer.error and answer.finish in ("stop", "tool_calls") and not answer.empty
        return may_call and whole and not self._called_upon

    def _has_to_go_on(self) -> bool:
        """Tell whether open items of the to-do list keep the turn from ending; told once, since a loop would be
        worse."""
        turn = self._turn
        if not turn.settings.finish_todos or not turn.open_todos:
            return False
        if self._reminded:
            turn.notice("warning", "The model ended its turn with open items on the to-do list.")
            return False
        self._reminded = True
        turn.add_message(f"{REMIND}\n{turn.open_todos}")
        return True

    def _next(self, at: int, answer: StepResult) -> int:
        following = (at + 1) % len(self._phases)
        if not answer.calls and self._phases[at].label is None:
            return 0  # an answer that did not end the turn: a new cycle
        if answer.calls and self._phases[at].label is not None and self._phases[following].label is None:
            following = (following + 1) % len(self._phases)  # it acted already
        return following

    async def _closing_answer(self) -> Ending:
        """Ask for the last answer of a turn that used up its steps: one without tools."""
        turn = self._turn
        if ending := self._spent():
            return ending
        turn.notice("warning", f"Step limit of {turn.settings.max_steps} reached: one last answer, without tools.")
        turn.add_message(CLOSING)
        answer = await turn.step(tool_choice="none")
        return Ending("step_limit", answer.error)


def ended_by(turn: TurnSteps, answer: StepResult) -> Ending:
    """Return the ending that the last answer makes; what the user should do about an answer that isn't whole is a
    notice."""
    if answer.error:
        return Ending("failed", answer.error)
    if answer.finish == "length":
        turn.notice("warning", "The answer reached the token limit and is cut; ask it to go on, or raise max_tokens.")
        return Ending("failed", TOKEN_LIMIT)
    if answer.finish == "filtered":
        turn.notice("warning", "The provider's content filter stopped the answer; word the request differently.")
        return Ending("failed", FILTERED)
    if answer.empty:
        turn.notice("warning", "The model gave an empty answer twice; try again, or another model.")
        return Ending("failed", "The answer was empty.")
    return Ending("completed")
