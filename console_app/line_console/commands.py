"""Offer the intents in the line console: most as every face does, the others by printing and asking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from console_app.console import files
from console_app.console.intents import Cannot, Slash, Ways
from console_app.console.reports import log_lines
from console_app.domain import UsageError, amounts, one_line, plural
from console_app.domain import events as ev
from console_app.domain.schema import forms
from console_app.domain.transcript import CallView, results, times
from console_app.engine import ManualCall
from console_app.line_console.result_commands import ResultWays
from console_app.line_console.setting_commands import SettingWays
from console_app.line_console.values import fill_in
from console_app.line_console.wording import brief_arguments, file_in_words, label_of, state_of, uncoloured

if TYPE_CHECKING:
    from console_app.console import Console
    from console_app.line_console.console import LineConsole

MOST_FOUND = 30
HEARD = 0.01  # seconds from which on a stretch of time is told beside others
_TODO_STATES = {"start": ev.TodoStatus.IN_PROGRESS, "done": ev.TodoStatus.COMPLETED, "reopen": ev.TodoStatus.PENDING}


def line_ways(face: LineConsole) -> Ways:
    """The way of each intent on one line console."""
    return _LineWays(face).all()


class _LineWays:
    """Maps each intent to the way in which the line console offers it."""

    def __init__(self, face: LineConsole) -> None:
        self._c = face
        self._d = face.dialogue
        self._say = face.dialogue.say

    def all(self) -> Ways:
        """The way of each intent."""
        face = self._c
        results, settings, servers = ResultWays(face), SettingWays(face), face.server_commands
        approvals, questions = face.approvals, face.questions
        return {
            "help": Slash(self._help),
            "keys": Slash(self._help),
            "connect": Slash(settings.connect),
            "mode": Slash(settings.mode),
            "plan": Slash(settings.plan),
            "permissions": Slash(settings.permissions),
            "theme": Slash(settings.theme),
            "mcp": _typed(servers.servers),
            "tools": _typed(servers.servers),
            "call": Slash(self._call),
            "timeline": Slash(self._timeline),
            "sessions": Slash(self._sessions),
            "resume": Slash(self._resume),
            "find": Slash(self._find),
            "clear": Cannot("nothing is drawn here; /new starts another session"),
            "copy": Slash(results.copy),
            "config": Slash(settings.config),
            "todo": Slash(self._todo),
            "editor": Slash(self._editor),
            "status": Slash(self._status),
            "quit": _at_once(face.quit),
            "stop": _at_once(face.stop),
            "go": Slash(self._go),
            "unsend": Slash(self._unsend),
            "draft": Slash(self._draft),
            "read": Slash(self._read),
            "approve": _typed(approvals.approve),
            "deny": _typed(approvals.deny),
            "allow": _typed(approvals.allow),
            "answer": _typed(questions.answer),
            "decline": _typed(questions.decline),
            "calls": Slash(self._calls),
            "show": Slash(self._show),
            "edit": _typed(approvals.edit),
            "files": Slash(results.files),
        }

    # Calls

    async def _calls(self, console: Console, rest: str) -> None:
        turn = self._c.numbers.transcript.turn
        calls = [] if turn is None else turn.calls
        self._say(f"{plural(len(calls), 'call')}." if calls else "The newest turn has no call.")
        wanted = rest.casefold()
        shown = [call for call in calls if wanted in state_of(call) or (wanted == "failed" and _failed(call))]
        if calls and wanted:
            there = ", ".join(f"{count} {state}" for state, count in Counter(map(state_of, calls)).items())
            self._say(f"{len(shown)} of them: {one_line(rest, 40)}. There are {there}.")
        for call in shown:
            line = (
                f"{self._c.numbers.of(call.id)}. {label_of(call)}, {state_of(call)}. {brief_arguments(call.arguments)}"
            )
            self._say(f"  {call.indent}{line}".rstrip())

    async def _timeline(self, console: Console, rest: str) -> None:
        turns = self._c.numbers.transcript.turns
        turn = next((one for one in turns if str(one.number) == rest), turns[-1] if turns and not rest else None)
        if turn is None:
            raise UsageError("there is no such turn")
        now = console.services.clock()
        sums = times.figures(turn, now)
        also = ((sums.saved, "faster than sequential"), (sums.waited, "waited for you"), (sums.queued, "queued"))
        said = ", ".join(f"{amounts.measured(seconds)} {what}" for seconds, what in also if seconds >= HEARD)
        self._say(f"{plural(sums.calls, 'call')}, elapsed {amounts.measured(sums.wall)}{said and f', {said}'}.")
        for call in (call for step in turn.steps for call in step.batch.calls):
            at = (call.started_at or call.announced_at) - turn.started_at
            spent = {"queue": 0.0, "wait": 0.0, "run": 0.0}
            for span in times.spans_of(call, now):
                spent[span.phase] = spent.get(span.phase, 0.0) + span.seconds
            words = (("queue", "queued"), ("wait", "waited for you"), ("run", "ran"))
            parts = "".join(
                f", {word} {amounts.measured(spent[phase])}"
                for phase, word in words
                if spent[phase] >= HEARD or (phase == "run" and call.started_at)
            )
            name = f"{call.indent}Call {self._c.numbers.of(call.id)}, {label_of(call)}"
            self._say(f"  {name}: at {at:.2f} s{parts}, {state_of(call)}")

    async def _show(self, console: Console, rest: str) -> None:
        call = self._c.numbers.call(rest)
        if self._c.approvals.say_rest(call):
            return
        self._say(f"Call {rest}, {label_of(call)}, {state_of(call)}.")
        for line in log_lines(call):
            self._say(f"  {line}")
        if call.outcome is None:
            self._say("It has no result yet.")
        elif said := results.shown_text(call) or call.error or ("" if call.artifacts else "It gave no result."):
            self._say(uncoloured(said))
        for artifact in call.artifacts:
            self._say(f"File: {file_in_words(artifact)}, {artifact.path or artifact.uri}")

    async def _call(self, console: Console, rest: str) -> None:
        if "{" in rest:
            console.call_by_hand(rest)
            return
        tools = {spec.label: spec for spec in console.services.engine.toolset.tools()}
        label = rest or await self._d.choose("Call a tool", {name: spec.description for name, spec in tools.items()})
        if label is None:
            return
        if label not in tools:
            raise UsageError(f"no tool is called {one_line(label, 60)}", "/call alone lists them.")
        arguments = await fill_in(self._d, forms.form_of(tools[label].input_schema).fields, {})
        if arguments is not None:
            console.call_by_hand(str(ManualCall(label, arguments)))

    # The conversation

    async def _help(self, console: Console, _rest: str) -> None:
        self._say("What you type is sent to the model, unless it begins with a slash. A backslash at the end of a line")
        self._say("goes on in the next. @path and @server:uri attach files and resources; /server:prompt is a prompt.")
        for one in (bound.intent for bound in self._c.commands.listed):
            self._say(f"  /{one.name} {one.argument}".rstrip() + f": {one.about}")

    async def _status(self, console: Console, _rest: str) -> None:
        usage = self._c.numbers.transcript.usage
        self._say(
            f"Model {console.services.models.name or 'not known yet'}, approvals {console.permissions.mode.value}."
        )
        open_calls = [call for call in self._c.numbers.transcript.calls.values() if call.outcome is None]
        counts = {state: sum(state_of(call) == state for call in open_calls) for state in map(state_of, open_calls)}
        doing = ", ".join(f"{count} {state}" for state, count in counts.items())
        self._say(f"{'Something runs' if console.conversation.busy else 'Nothing runs'}. {doing}".strip())
        cost = "" if usage.cost is None else f", {usage.cost:.4f} dollars"
        self._say(f"{usage.input_tokens + usage.output_tokens:,} tokens so far{cost}.")
        for text in console.conversation.waiting:
            self._say(f"Queued: {text}")

    async def _go(self, console: Console, _rest: str) -> None:
        if not console.go_on():
            self._say("Nothing waits to be sent.")

    async def _unsend(self, console: Console, _rest: str) -> None:
        text = console.conversation.take_back()
        if text is None or not self._c.ui.give_back(text):
            self._say("Nothing is queued." if text is None else f"Not sent: {text}")

    async def _draft(self, console: Console, _rest: str) -> None:
        text, self._c.ui.draft = self._c.ui.draft, ""
        if text:
            self._c.send(text)
        else:
            self._say("No message was given back.")

    async def _editor(self, console: Console, _rest: str) -> None:
        text = await files.edited(self._c.ui.draft, self._c.terminal_given_away())
        self._c.ui.draft = ""
        if text.strip():
            self._c.ui.give_back(text)

    async def _read(self, console: Console, rest: str) -> None:
        turn = self._c.numbers.transcript.turn
        number = int(rest) if rest.isdecimal() else turn.number if turn is not None and not rest else 0
        if not self._c.ui.read(number):
            raise UsageError("there is no such turn")

    async def _find(self, console: Console, rest: str) -> None:
        if not rest:
            raise UsageError("there is nothing to look for", "Type it behind the name: /find WORDS.")
        found = 0
        for turn in self._c.numbers.transcript.turns:
            places = [("You", turn.prompt)]
            for step in turn.steps:
                places.append(("Answer", step.text))
                places += [
                    (f"Call {self._c.numbers.of(call.id)}", results.shown_text(call)) for call in step.batch.calls
                ]
            for where, text in places:
                for line in text.splitlines():
                    if rest.casefold() in line.casefold() and (found := found + 1) <= MOST_FOUND:
                        self._say(f"  Turn {turn.number}, {where}: {one_line(line, 200)}")
        self._say(f"{plural(found, 'line')} with it." if found else "Nothing has it.")

    async def _sessions(self, console: Console, rest: str) -> None:
        sessions = console.sessions
        if (library := sessions.stored()) is None:
            return
        hits, _ = await library.store.browse(rest)
        table = {f"{hit.info.id[:8]} {one_line(hit.info.title, 80)}": hit.info for hit in hits}
        picked = await self._d.choose("Sessions", {n: plural(info.turns, "turn") for n, info in table.items()})
        acts = {"resume": "go on with it", "rename": "", "fork": "a copy", "export": "to a file"}
        act = await self._d.choose("What with it?", {**acts, "delete": "permanently"}) if picked else None
        if picked is None or act is None:
            return
        info = table[picked]
        match act:
            case "resume":
                await sessions.open(info.id)
            case "rename":
                await sessions.rename(session_id=info.id)
            case "fork":
                await sessions.open(info.id, copy=True)
            case "export":
                await sessions.export(session_id=info.id)
            case _:
                await sessions.delete(info)

    async def _resume(self, console: Console, rest: str) -> None:
        await (console.sessions.resume(rest) if rest else self._sessions(console, ""))

    async def _todo(self, console: Console, rest: str) -> None:
        items, (word, _, words) = list(console.ui.transcript.todo), rest.partition(" ")
        number, _, content = words.partition(" ")
        at = int(number) - 1 if number.isdecimal() else -1
        if word == "add" and words:
            items.append(ev.TodoItem(content=words))
        elif word == "edit" and content and 0 <= at < len(items):
            items[at] = items[at].model_copy(update={"content": content})
        elif word in _TODO_STATES and 0 <= at < len(items):
            items[at] = items[at].model_copy(update={"status": _TODO_STATES[word]})
        elif word == "delete" and 0 <= at < len(items):
            del items[at]
        else:
            for number, item in enumerate(items, 1):
                self._say(f"  {number}. {item.status.value.replace('_', ' ')}: {item.content}")
            if not items:
                self._say("Nothing to do yet.")
            return
        if (event := console.services.engine.edit_todo(items)) is not None:
            await console.conversation.deliver(event)


def _failed(call: CallView) -> bool:
    return call.verdict is not None and call.verdict.needs_an_eye


def _typed(act: Callable[[str], Awaitable[None]]) -> Slash:
    async def run(_console: Console, rest: str) -> None:
        await act(rest)

    return Slash(run)


def _at_once(act: Callable[[], object]) -> Slash:
    def run(_console: Console, _rest: str) -> None:
        act()

    return Slash(run)
