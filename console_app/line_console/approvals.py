"""Calls that wait for you: said with all they would do, and decided by number."""

from __future__ import annotations

import asyncio
import re
from functools import partial

from console_app.console import ApprovalDecision, Console, Pending, PendingQuestion, Scope, files
from console_app.domain import (
    CallState,
    Decision,
    UsageError,
    call_description,
    displayed,
    one_line,
    plural,
    questions,
    web_address,
)
from console_app.domain.schema import forms
from console_app.domain.transcript import CallView
from console_app.line_console.dialogue import Dialogue, fill_in
from console_app.line_console.wording import CallNumbers, brief_arguments, change_lines, label_of

MOMENT = 0.2  # seconds that other news wait for the file of a call
MOST_LINES, MOST_SAID = 40, 4000  # lines and characters of a call that are said at once
_NUMBERS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*,?")


class LineApprovals:
    def __init__(self, console: Console, numbers: CallNumbers, dialogue: Dialogue) -> None:
        self._pending = console.pending
        self._permissions = console.permissions
        self._calls = console.calls
        self._numbers = numbers
        self._dialogue = dialogue
        self._folder = console.services.working_folder  # of relative paths of calls
        self._due: list[CallView] = []  # that began to wait
        self._saying: asyncio.Task[None] | None = None  # says them
        self._shown: dict[str, str] = {}  # call id -> fingerprint of the tool as it was said
        self._displayed: dict[str, str] = {}  # call id -> hash of its lines as they were said
        self._left: dict[str, str] = {}  # call id -> the lines of it that were not said yet
        self._said_at: dict[str, int] = {}  # call id -> the newest line that was typed by then

    @property
    def waiting(self) -> list[CallView]:
        return [call for call in self._numbers.transcript.calls.values() if call.state is CallState.WAITING]

    def ask(self, call: CallView) -> None:
        """Ask for approval of a call with the next `say_due`, since the file that it would change is read first."""
        self._said_at.pop(call.id, None)
        self._due.append(call)

    async def say_due(self) -> None:
        """Says what began to wait and still does; behind what else there is to say where its file is slow to read."""
        if self._due and (self._saying is None or self._saying.done()):
            self._saying = asyncio.create_task(self._say_all())
            await asyncio.wait({self._saying}, timeout=MOMENT)

    async def _say_all(self) -> None:
        while self._due:
            if (call := self._due.pop(0)).state is CallState.WAITING:
                await self._say(call)

    async def _say(self, call: CallView) -> None:
        """Say what a call would do, a long text in parts. An approval from here on is for just this."""
        change = await files.change_in_time(call, self._folder)
        pending = self._pending.one(call)
        if call.state is not CallState.WAITING or self._is_said(pending):
            return
        number = self._numbers.of(call.id)
        self._shown[call.id] = pending.fingerprint or ""
        lines = pending.lines(change)
        self._displayed[call.id] = displayed.digest(lines)
        self._said_at[call.id] = self._dialogue.typed.newest()
        first, *reasons = pending.reasons()
        own = lines[: len(lines) - len(change.lines)] if change is not None else lines
        said = "\n".join(filter(None, (displayed.as_text(own), *(change_lines(change) if change is not None else ()))))
        part = "\n".join(said[:MOST_SAID].split("\n")[:MOST_LINES])
        if rest := said[len(part) :].removeprefix("\n"):
            self._left[call.id] = rest
            more = plural(rest.count("\n") + 1, "line") if "\n" in rest else plural(len(rest), "character")
            ending = f"{more} more, /show {number} says them: before that it can be denied, not approved."
        else:
            self._left.pop(call.id, None)
            ending = self._ways(pending)
        head = f"Call {number} needs approval: {label_of(call)}. {first}"
        self._dialogue.say("\n".join((head, *reasons, part, ending)))

    def _ways(self, pending: Pending) -> str:
        number = self._numbers.of(pending.call.id)
        if pending.form:
            said = pending.answers
            return (
                f"/approve {number}: {said['once']}. /allow {number}: {said['form']}. /deny {number}: {said['deny']}."
            )
        commands = ["/approve", "/deny", "/edit", *(["/allow"] if pending.rules else [])]
        *others, last = (f"{command} {number}" for command in commands)
        return f"{', '.join(others)} or {last} decides."

    def say_rest(self, call: CallView) -> bool:
        """Say the rest of a waiting call, which can be approved only then. Return False where nothing was left out."""
        if call.state is not CallState.WAITING or (rest := self._left.pop(call.id, None)) is None:
            return False
        self._said_at[call.id] = self._dialogue.typed.newest()
        self._dialogue.say(f"{rest}\n{self._ways(self._pending.one(call))}")
        return True

    def _is_said(self, pending: Pending) -> bool:
        call_id = pending.call.id
        return call_id in self._said_at and self._shown.get(call_id) == (pending.fingerprint or "")

    async def allow(self, _console: Console, rest: str) -> None:
        """/allow NUMBER: runs it, and from now on whatever the picked rule fits, or what is written in its form."""
        call = self._waiting_call(rest.strip())
        pending = self._pending.one(call)
        rules = pending.rules
        if pending.form:
            if not self.say_rest(call):
                self._decide([call], Decision.ALLOW, "form")
            return
        if not rules:
            raise UsageError(f"call {rest.strip()} always asks", "No rule can change that; /approve runs it this time.")
        if self.say_rest(call):
            return
        rule = await self._dialogue.choose("Never ask again about", dict.fromkeys(rules, ""))
        scope = await self.how_long(rule) if rule else None
        if rule and scope:
            self._decide([call], Decision.ALLOW, scope, rule)

    def _decide(
        self, calls: list[CallView], decision: Decision, scope: Scope = "once", rule: str = "", words: str = ""
    ) -> None:
        what = (tuple(call.id for call in calls), decision, scope, rule, words or None)
        self._permissions.decide(ApprovalDecision(*what, shown=self._shown, displayed=self._displayed))

    async def how_long(self, rule: str) -> Scope | None:
        """Ask how long a rule holds; None where that was left."""
        scopes = {"session": "until you leave"}
        if self._permissions.rules_path:
            scopes["always"] = f"written to {self._permissions.rules_path}"
        picked = await self._dialogue.choose(f"How long does {one_line(rule, 120)} hold?", scopes)
        return None if picked is None else "always" if picked == "always" else "session"

    async def edit(self, _console: Console, rest: str) -> None:
        call = self._numbers.call(rest.strip())
        if why := call_description.refusal(call, call_description.Act.EDIT):
            raise UsageError(why)
        spec, shown = self._pending.tool(call), self._shown.get(call.id)
        if spec is None:
            raise UsageError(f"the tool of call {rest.strip()} is not on", "/mcp switches it on.")
        if call.state is CallState.WAITING:
            self.say_rest(self._waiting_call(rest.strip()))
        arguments = await fill_in(self._dialogue, forms.form_of(spec.input_schema).fields, call.arguments or {})
        if arguments is None:
            self._dialogue.say("Left as it was.")
        elif call.state is CallState.WAITING:
            self._permissions.run_edited(call.id, arguments, shown)
        else:
            self._calls.run_again(call.id, arguments)

    async def decide(self, decision: Decision, _console: Console, rest: str) -> None:
        """/approve and /deny NUMBERS [COMMENT]; without numbers lists the calls that wait, and asks."""
        listed = self.waiting
        numbers, _, comment = (rest or await self._asked(listed)).partition(" ")
        if not numbers:
            return
        if numbers not in ("all", "reads") and not _NUMBERS.fullmatch(numbers):
            raise UsageError(
                f"{one_line(numbers, 40)} is no number of a call",
                "As in: /approve 3,4 and a comment, /approve 3-9 or /approve reads.",
            )
        words = [word for part in numbers.split(",") for word in self._meant(part, listed)]
        if not words:
            self._dialogue.say("No such call waits for approval.")
            return
        calls = [self._waiting_call(word) for word in dict.fromkeys(words)]
        if decision is Decision.DENY or not [call for call in calls if self.say_rest(call)]:
            self._decide(calls, decision, words=comment.strip())

    async def _asked(self, calls: list[CallView]) -> str:
        if not calls:
            self._dialogue.say("No call waits for approval.")
            return ""
        for call in calls:  # said whole already, so in a line; whole again where its tool is another since
            pending = self._pending.one(call)
            if not self._is_said(pending):
                await self._say(call)
                continue
            arguments = brief_arguments(call.arguments)
            brief = f"{label_of(call)}{f': {arguments}' if arguments else ''}"
            self._dialogue.say(f"Call {self._numbers.of(call.id)} needs approval, {pending.risk.word}. {brief}")
        which = "Which? Numbers with commas or as 3-9, all, or reads for all that only read. A full stop alone leaves."
        return await self._dialogue.ask(which) or ""

    def _meant(self, word: str, calls: list[CallView]) -> list[str]:
        """Return the numbers that a word stands for. `all`, `reads` and `3-9` are of the calls that waited when it was
        typed or were listed then."""
        if word.isdecimal() or not word:
            return [word] if word else []
        waiting = {self._numbers.of(call.id): call for call in calls if call.state is CallState.WAITING}
        if word == "reads":
            meant = [n for n, call in waiting.items() if self._pending.one(call).only_reads]
        else:
            first, last = (0, max(waiting, default=0)) if word == "all" else map(int, word.split("-"))
            meant = [n for n in waiting if first <= n <= last]
        return [str(n) for n in meant]

    def _waiting_call(self, word: str) -> CallView:
        call = self._numbers.call(word)
        if call_description.refusal(call, call_description.Act.APPROVE):
            raise UsageError(f"call {word} doesn't wait for approval", "/approve lists those that do.")
        if call.id not in self._said_at or self._dialogue.typed.number <= self._said_at[call.id]:
            raise UsageError(f"that was typed before call {word} was said", "Nothing was decided; type it again.")
        return call


class LineQuestions:
    """Prints the questions of one console and replies to them. Servers ask here once `changed` listens to them."""

    def __init__(self, console: Console, numbers: CallNumbers, dialogue: Dialogue) -> None:
        self._human = console.services.human
        self._calls = console.calls
        self._numbers = numbers
        self._dialogue = dialogue
        self._said: list[PendingQuestion] = []
        self._said_at = 0  # the newest line that was typed when something was asked last

    def changed(self) -> None:
        for asked in self._human.open:
            if asked not in self._said:
                self._said_at = self._dialogue.typed.newest()
                self._dialogue.say(f"Server {_about(asked)}\n/answer answers it, /decline says no.")
        self._said = list(self._human.open)

    def say(self, call: CallView) -> None:
        self._said_at = self._dialogue.typed.newest()
        self._dialogue.say(
            f"Call {self._numbers.of(call.id)} asks you: {displayed.folded_text(call.question)}\n/answer answers it."
        )

    async def answer(self, _console: Console, _rest: str) -> None:
        picked = await self._picked()
        if isinstance(picked, PendingQuestion):
            await self._answer_server(picked)
        elif picked is not None:
            options = "".join(f"\n  {n}. {displayed.folded_text(option)}" for n, option in enumerate(picked.options, 1))
            asked = f"{displayed.folded_text(picked.question)}{options}\nType an answer or the number of one."
            text = await self._dialogue.ask(asked)
            if text and text.strip().isdecimal() and 1 <= int(text) <= len(picked.options):
                text = picked.options[int(text) - 1]
            if text:
                self._calls.answer(picked.id, text)

    async def decline(self, _console: Console, _rest: str) -> None:
        if self._dialogue.typed.number <= self._said_at:
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
