"""Calls that wait for you: said with all they would do, and decided by number."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from console_app.console.calls import Calls
from console_app.console.files.file_changes import change_of
from console_app.console.permissions import ApprovalDecision, Permissions, Scope, helpful_rules, misfit
from console_app.domain.approvals import Decision
from console_app.domain.errors import UsageError
from console_app.domain.risk import risk_of
from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallState, ToolSpec
from console_app.domain.transcript_parts import CallView
from console_app.engine.engine import Engine
from console_app.line_console.call_numbers import CallNumbers
from console_app.line_console.dialogue import Dialogue
from console_app.line_console.values import fill_in
from console_app.line_console.wording import argument_lines, brief_arguments, change_lines, label_of

_NUMBERS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*,?")


class LineApprovals:
    """Of one console."""

    def __init__(
        self,
        engine: Engine,
        permissions: Permissions,
        calls: Calls,
        numbers: CallNumbers,
        dialogue: Dialogue,
        line: Callable[[], int],
        folder: Path,
    ) -> None:
        """`line` gives the number of the line that is acted on; relative paths of calls are in `folder`."""
        self._engine = engine
        self._permissions = permissions
        self._calls = calls
        self._numbers = numbers
        self._dialogue = dialogue
        self._line = line
        self._folder = folder
        self._due: list[CallView] = []  # that began to wait
        self._shown: dict[str, str] = {}  # call id -> fingerprint of the tool as it was said
        self._said_at: dict[str, int] = {}  # call id -> the newest line that was typed by then

    @property
    def waiting(self) -> list[CallView]:
        """The calls that wait, in call order."""
        return [call for call in self._numbers.transcript.calls.values() if call.state is CallState.WAITING]

    def ask(self, call: CallView) -> None:
        """A call begins to wait: it is said with the next `say_due`, since the file that it would change is read."""
        self._said_at.pop(call.id, None)
        self._due.append(call)

    async def say_due(self) -> None:
        """Says what began to wait and still does."""
        while self._due:
            if (call := self._due.pop(0)).state is CallState.WAITING:
                await self._say(call)

    async def _say(self, call: CallView) -> None:
        """What a call would do, whole; an approval from here on is for just this."""
        arguments = call.arguments or {}
        change = await asyncio.to_thread(change_of, call.tool or call.name, arguments, self._folder)
        spec = self.spec_of(call)
        fingerprint = spec.fingerprint if spec else ""
        if call.state is not CallState.WAITING or self._is_said(call, fingerprint):
            return
        self._shown[call.id] = fingerprint
        self._said_at[call.id] = self._dialogue.newest()
        risk, number = risk_of(spec, arguments), self._numbers.of(call.id)
        why = [f"{risk.word}, {risk.by}", *([one_line(call.why, 200)] if call.why else [])]
        said = [f"Call {number} needs approval: {label_of(call)}", *(f"{one[:1].upper()}{one[1:]}" for one in why)]
        lines = [". ".join(said)]
        if spec is not None and (runs := self._engine.runs(spec, arguments)):
            lines.append(f"It runs {one_line(runs, 300)}")
        said_so: Collection[str] = change.said if change is not None else ()
        lines += argument_lines({name: value for name, value in arguments.items() if name not in said_so})
        lines += change_lines(change) if change is not None else ()
        if spec is not None and (wrong := misfit(spec, call)):
            lines.append(f"Warning: {one_line(wrong, 300)}.")
        if spec is not None and spec.changed:
            lines += ["The tool is another than you trusted:", spec.changed]
        lines.append(f"/approve {number}, /deny {number}, /edit {number} or /allow {number} decides.")
        self._dialogue.say("\n".join(lines))

    async def _say_again(self, call: CallView) -> None:
        """A call that was said whole, in a line; whole again where its tool is another since."""
        spec = self.spec_of(call)
        if not self._is_said(call, spec.fingerprint if spec else ""):
            await self._say(call)
            return
        risk, arguments = risk_of(spec, call.arguments or {}), brief_arguments(call.arguments)
        brief = f"{label_of(call)}{f': {arguments}' if arguments else ''}"
        self._dialogue.say(f"Call {self._numbers.of(call.id)} needs approval, {risk.word}. {brief}")

    def _is_said(self, call: CallView, fingerprint: str) -> bool:
        return call.id in self._said_at and self._shown.get(call.id) == fingerprint

    def spec_of(self, call: CallView) -> ToolSpec | None:
        """The call's tool as it is now, a server's or Fanout's own."""
        own = self._engine.spec(call.name)
        servers = next((spec for spec in self._engine.toolset.tools() if spec.name == call.name), None)
        return servers or (own if own is not None and own.builtin else None)

    async def approve(self, rest: str) -> None:
        """/approve NUMBERS [COMMENT]; without numbers lists what waits, and asks."""
        await self._decide(rest, Decision.ALLOW)

    async def deny(self, rest: str) -> None:
        """/deny NUMBERS [COMMENT]."""
        await self._decide(rest, Decision.DENY)

    async def allow(self, rest: str) -> None:
        """/allow NUMBER: runs it, and from now on whatever the picked rule fits."""
        call = self._waiting_call(rest.strip())
        spec = self.spec_of(call)
        rules = helpful_rules(self._engine.gate, spec, call.arguments or {}) if spec is not None else ()
        rule = await self._dialogue.choose("Never ask again about", dict.fromkeys(rules, ""))
        scope = await self.how_long(rule) if rule else None
        if rule and scope:
            self._permissions.decide(ApprovalDecision((call.id,), Decision.ALLOW, scope, rule, shown=self._shown))

    async def how_long(self, rule: str) -> Scope | None:
        """Asks how long a rule holds; None where that was left."""
        scopes = {"session": "until you leave"}
        if self._permissions.rules_path:
            scopes["always"] = f"written to {self._permissions.rules_path}"
        picked = await self._dialogue.choose(f"How long does {one_line(rule, 120)} hold?", scopes)
        return None if picked is None else "always" if picked == "always" else "session"

    async def edit(self, rest: str) -> None:
        """/edit NUMBER: runs a call with other arguments, one that waits or one that ran."""
        call = self._numbers.call(rest.strip())
        spec, shown = self.spec_of(call), self._shown.get(call.id)
        if spec is None:
            raise UsageError(f"the tool of call {rest.strip()} is not on", "/mcp switches it on.")
        if call.state is CallState.WAITING:
            self._waiting_call(rest.strip())
        arguments = await fill_in(self._dialogue, spec.input_schema, call.arguments or {})
        if arguments is None:
            self._dialogue.say("Left as it was.")
        elif call.state is CallState.WAITING:
            self._permissions.run_edited(call.id, arguments, shown)
        else:
            self._calls.run_again(call.id, arguments)

    async def _decide(self, rest: str, decision: Decision) -> None:
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
        ids = tuple(call.id for call in calls)
        self._permissions.decide(ApprovalDecision(ids, decision, feedback=comment.strip() or None, shown=self._shown))

    async def _asked(self, calls: Sequence[CallView]) -> str:
        """What was typed to the list of what waits."""
        if not calls:
            self._dialogue.say("No call waits for approval.")
            return ""
        for call in calls:
            await self._say_again(call)
        which = "Which? Numbers with commas or as 3-9, all, or reads for all that only read. A full stop alone leaves."
        return await self._dialogue.ask(which) or ""

    def _meant(self, word: str, calls: Sequence[CallView]) -> list[str]:
        """The numbers that a word stands for. `all`, `reads` and `3-9` are of the calls that waited when it was typed
        or were listed then."""
        if word.isdecimal() or not word:
            return [word] if word else []
        waiting = {self._numbers.of(call.id): call for call in calls if call.state is CallState.WAITING}
        if word == "reads":
            meant = [n for n, call in waiting.items() if risk_of(self.spec_of(call), call.arguments or {}).word == word]
        else:
            first, last = (0, max(waiting, default=0)) if word == "all" else map(int, word.split("-"))
            meant = [n for n in waiting if first <= n <= last]
        return [str(n) for n in meant]

    def _waiting_call(self, word: str) -> CallView:
        call = self._numbers.call(word)
        if call.state is not CallState.WAITING:
            raise UsageError(f"call {word} doesn't wait for approval", "/approve lists those that do.")
        if call.id not in self._said_at or self._line() <= self._said_at[call.id]:
            raise UsageError(f"that was typed before call {word} was said", "Nothing was decided; type it again.")
        return call
