"""Goes through the phases of a strategy until the turn ends: one loop for all of them, so that all end alike.

A turn ends with an answer without calls (text is an answer under every strategy, though `act` says once that it is to
end by a call), with an accepted `finished`, at a limit, or by an error. An answer that was cut off does not end it if a
call of it ran, since what ran has to reach the model; it ends it when nothing ran, and at the third cut in a row, so
that a connection which always breaks can't go on for 25 steps. A thought ends nothing. Calls beside a thought run and
are its act. An answer that its provider paused goes on with the next request, which ends with what came of it.
"""

from __future__ import annotations

import re

from console_app.domain.settings import ToolChoice
from console_app.domain.tools import Outcome
from console_app.engine.builtin_tools.specs import FINISHED, SPECS
from console_app.engine.strategies.strategy import Ending, Phase, StepResult, Strategy, TurnSteps

MOST_CUTS = 3
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
        self._cuts = 0
        self._pauses = 0  # in a row
        self._nudged = self._reminded = self._called_upon = False

    async def run(self) -> Ending:
        """Runs the turn from its prompt to its end."""
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
        """What the settings want, else the phase. A thought calls nothing; where only text can end the turn, calls are
        demanded until there was one."""
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
        """Puts the question that a thought ends with to the user. Without an answer it goes on, and asks no more."""
        question = _ASK.search(answer.text) if self._asks and phase.label == "reason" and not answer.calls else None
        if question is None:
            return False
        self._asks = await self._turn.ask(question["question"].strip())
        return True

    def _spent(self) -> Ending | None:
        """The ending at a limit of money or tokens."""
        limit = self._turn.spent()
        if limit is None:
            return None
        self._turn.notice("warning", f"{limit} The turn ends here.")
        return Ending("failed", limit)

    def _judge(self, phase: Phase, answer: StepResult) -> Ending | None:
        """The ending that this answer makes, or None to go on."""
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
        """Whether an answer in text alone is told, once, that a call ends the turn; one to a refused call knows."""
        may_call = self._strategy.nudges and self._turn.settings.tool_choice != "none" and not self._was_refused
        whole = not answer.error and answer.finish in ("stop", "tool_calls") and not answer.empty
        return may_call and whole and not self._called_upon

    def _has_to_go_on(self) -> bool:
        """Whether open items of the to-do list keep the turn from ending; told once, since a loop would be worse."""
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
        """The last answer of a turn that used up its steps: one without tools."""
        turn = self._turn
        if ending := self._spent():
            return ending
        turn.notice("warning", f"Step limit of {turn.settings.max_steps} reached: one last answer, without tools.")
        turn.add_message(CLOSING)
        answer = await turn.step(tool_choice="none")
        return Ending("step_limit", answer.error)


def ended_by(turn: TurnSteps, answer: StepResult) -> Ending:
    """The ending that the last answer makes; what the user should do about an answer that isn't whole is a notice."""
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
