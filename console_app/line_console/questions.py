"""Print the questions of servers and the model as they come; /answer and /decline reply to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from console_app.console import Console, PendingQuestion, QuestionQueue
from console_app.domain import UsageError, displayed, one_line, questions, web_address
from console_app.domain.schema import forms
from console_app.domain.transcript import CallView
from console_app.line_console.call_numbers import CallNumbers
from console_app.line_console.dialogue import Dialogue
from console_app.line_console.values import fill_in


class LineQuestions:
    """Prints the questions of one console and replies to them. After `listen`, servers ask here."""

    def __init__(
        self,
        human: QuestionQueue,
        console: Console,
        numbers: CallNumbers,
        dialogue: Dialogue,
        line: Callable[[], int],
    ) -> None:
        """`line` gives the number of the line that is acted on."""
        self._human = human
        self._calls = console.calls
        self._numbers = numbers
        self._dialogue = dialogue
        self._line = line
        self._said: list[PendingQuestion] = []
        self._said_at = 0  # the newest line that was typed when something was asked last

    def listen(self) -> None:
        """Take questions from now on."""
        self._human.listen(self._changed)

    def _changed(self) -> None:
        for asked in self._human.open:
            if asked not in self._said:
                self._said_at = self._dialogue.newest()
                self._dialogue.say(f"Server {_about(asked)}\n/answer answers it, /decline says no.")
        self._said = list(self._human.open)

    def say(self, call: CallView) -> None:
        self._said_at = self._dialogue.newest()
        self._dialogue.say(
            f"Call {self._numbers.of(call.id)} asks you: {displayed.folded_text(call.question)}\n/answer answers it."
        )

    async def answer(self, _rest: str) -> None:
        """/answer: the one question, or the one that is picked."""
        picked = await self._picked()
        if isinstance(picked, PendingQuestion):
            await self._answer_server(picked)
        elif picked is not None:
            text = await self._answer_of(picked)
            if text:
                self._calls.answer(picked.id, text)

    async def decline(self, _rest: str) -> None:
        """/decline: no answer is given, or a no."""
        if self._line() <= self._said_at:
            raise UsageError("that was typed before something was asked", "Nothing was declined; type it again.")
        picked = await self._picked()
        if isinstance(picked, PendingQuestion):
            sampling = isinstance(picked.question, questions.SamplingRequest)
            self._human.answer(picked, "deny" if sampling else questions.ElicitationAnswer("decline"))
        elif picked is not None:
            self._calls.answer(picked.id, None)

    async def _picked(self) -> PendingQuestion | CallView | None:
        asking = [call for call in self._numbers.transcript.calls.values() if call.asks]
        table: dict[str, PendingQuestion | CallView] = {
            f"{n} call {self._numbers.of(call.id)}: {one_line(call.question, 100)}": call
            for n, call in enumerate(asking, 1)
        }
        table |= {f"{len(table) + n} {one_line(_about(a), 100)}": a for n, a in enumerate(self._human.open, 1)}
        if len(table) < 2:
            if not table:
                self._dialogue.say("Nothing is asked.")
            return next(iter(table.values()), None)
        name = await self._dialogue.choose("Which question?", dict.fromkeys(table, ""))
        return None if name is None else table[name]

    async def _answer_of(self, call: CallView) -> str | None:
        options = "".join(f"\n  {n}. {displayed.folded_text(option)}" for n, option in enumerate(call.options, 1))
        text = await self._dialogue.ask(
            f"{displayed.folded_text(call.question)}{options}\nType an answer or the number of one."
        )
        if text and text.strip().isdecimal() and 1 <= int(text) <= len(call.options):
            return call.options[int(text) - 1]
        return text

    async def _answer_server(self, asked: PendingQuestion) -> None:
        asked.hold()
        question, answer = asked.question, partial(self._human.answer, asked)
        given = False
        if isinstance(question, questions.SamplingRequest):
            self._dialogue.say(displayed.as_text(displayed.sampling_lines(question)))
            options = {"once": "this request", "session": "whatever it asks until you leave", "deny": "no"}
            reply = await self._dialogue.choose("May it ask the model that, at your expense?", options)
            given = reply is not None and answer(
                "once" if reply == "once" else "session" if reply == "session" else "deny"
            )
        elif question.mode == "url":
            address = web_address.read_address(question.url)
            for warning in address.warnings if address is not None else ("This is no plain web address.",):
                self._dialogue.say(f"Warning: {warning}")
            yes = await self._dialogue.agrees(f"Open {question.url} in the browser?")
            given = answer(questions.ElicitationAnswer("accept" if yes else "decline"))
        else:
            content = await fill_in(self._dialogue, forms.fields_asked(question.schema), {})
            given = content is not None and answer(questions.ElicitationAnswer("accept", content))
        if not given:
            asked.count()
            self._dialogue.say("No answer was given.")


def _about(asked: PendingQuestion) -> str:
    question = asked.question
    name = one_line(question.server, 40)
    if isinstance(question, questions.Elicitation):
        page = f"\nThe page: {question.url}" if question.mode == "url" else ""
        return f"{name} asks: {displayed.folded_text(question.message)}{page}"
    return f"{name} wants to ask the model, at your expense."
