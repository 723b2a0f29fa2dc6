"""Offer the intents in the line console: most as every face does, the others by printing and asking."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, get_args

from console_app.config.machine import start_browser
from console_app.config.settings import BrokenSettings, OwnSettings
from console_app.console import MODES, Services, files
from console_app.console.intents import Cannot, Slash, Ways
from console_app.console.reports import copies, log_lines
from console_app.domain import (
    ApprovalMode,
    ConfigError,
    FanoutError,
    UsageError,
    amounts,
    one_line,
    plural,
    web_address,
)
from console_app.domain import events as ev
from console_app.domain.rules import parse_rule
from console_app.domain.schema import forms
from console_app.domain.settings import VENDOR_URLS
from console_app.domain.transcript import CallView, results, times
from console_app.engine import Action, ManualCall
from console_app.headless import OutputStreams, end_within
from console_app.line_console.console import LineConsole
from console_app.line_console.typed_lines import TypedLines
from console_app.line_console.values import fill_in
from console_app.line_console.wording import brief_arguments, file_in_words, label_of, state_of, uncoloured

if TYPE_CHECKING:
    from console_app.console import Connecting, Console, Listing

MOST_FOUND = 30
HEARD = 0.01  # seconds from which on a stretch of time is told beside others
_TODO_STATES = {"start": ev.TodoStatus.IN_PROGRESS, "done": ev.TodoStatus.COMPLETED, "reopen": ev.TodoStatus.PENDING}


def line_ways(face: LineConsole) -> Ways:
    return _LineWays(face).all()


class _LineWays:
    """Maps each intent to the way in which the line console offers it."""

    def __init__(self, face: LineConsole) -> None:
        self._c = face
        self._d = face.dialogue
        self._say = face.dialogue.say

    def all(self) -> Ways:
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


class ResultWays:
    """Carries out the commands that show results, on one console."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say

    async def copy(self, _console: Console, rest: str) -> None:
        """Copies the last answer, a part of it, or a call."""
        copies = self._copies(rest)
        if rest and not rest.isdecimal():
            words = rest.casefold().split()
            named = [one for one in copies if all(word in one.what.casefold() for word in words)]
            if copies and not named:
                there = ", ".join(one.what for one in copies)
                raise UsageError(f"there is no {one_line(rest, 40)} to copy", f"There are: {there}.")
            copies = named[:1]
        table = {f"{number}. {one.what}": one for number, one in enumerate(copies, 1)}
        picked = next(iter(table), None)
        if len(table) > 1:
            picked = await self._d.choose("Copy which?", {name: one.about for name, one in table.items()})
        if picked is not None:
            text = table[picked].text
            self._d.send_raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
            await files.copy_in_tmux(text, os.environ)
            self._say(f"Copied {table[picked].what}: {plural(len(text), 'character')}.")
        elif not table:
            self._say("There is nothing of it to copy yet." if rest else "There is no answer to copy yet.")

    def _copies(self, rest: str) -> Sequence[copies.Copy]:
        if not rest.isdecimal():
            turns = reversed(self._c.numbers.transcript.turns)
            answer = next((step.text for turn in turns for step in reversed(turn.steps) if step.text), "")
            return copies.copies_of_answer(answer) if answer else []
        call = self._c.numbers.call(rest)
        result = [] if call.outcome is None else [copies.result_copy(call)]
        plain = call.arguments_text
        arguments = plain if call.arguments is None else json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)
        return [one for one in (*result, *copies.copies_of_texts(call, arguments)) if one.text]

    async def files(self, _console: Console, rest: str) -> None:
        """Tells the files of a call's result, and opens one."""
        call = self._c.numbers.call(rest)
        table = {one.path or one.uri: one for one in call.artifacts if one.path or one.uri}
        if not table:
            self._say(f"Call {rest} has no file.")
            return
        picked = await self._d.choose("Open which file?", {where: file_in_words(one) for where, one in table.items()})
        if picked is None:
            return
        if table[picked].path:
            problem = await asyncio.to_thread(files.open_file, picked)
        elif web_address.read_address(picked) is not None:
            problem = ""
            try:
                await asyncio.to_thread(start_browser, picked)
            except OSError as error:
                problem = error.strerror or str(error)
        else:
            await self._c.server_commands.examining.read(call.server, picked)
            return
        self._say(f"Not opened: {problem}. It is {picked}" if problem else f"Opened {picked}")


OTHER = "another address"
_VENDORS = {VENDOR_URLS["openai-chat"]: "OpenAI, with a key", VENDOR_URLS["anthropic"]: "Anthropic, with a key"}
_KEY = "Its key, which is not shown while you type. It is sent to this address alone. An empty line: it needs none."


class ConnectCommand:
    """Connects a model on one console. Nothing is kept before the model has answered."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say

    async def run(self, rest: str) -> None:
        """Ask for the address and all else that /connect needs, a line each. Left at any of them, nothing has
        changed."""
        if (connecting := self._c.console.services.connecting) is None:
            raise UsageError("no other model can answer here")
        address, needs_key = (rest, False) if rest else await self._address(connecting)
        if not address:
            return
        listing = await self._listing(connecting, address, needs_key)
        model = None if listing is None else await self._model(listing)
        if listing is None or not model:
            return
        self._say(f"Trying {one_line(model, 120)} with one short request.")
        seconds = await connecting.try_out(listing.connection, model)
        self._say(f"It answered in {seconds:.1f} s. {await connecting.keep(listing.connection, model)}")

    async def _address(self, connecting: Connecting) -> tuple[str, bool]:
        """Return the address that was picked or typed, "" for none, and whether it is known to want a key."""
        self._say("Looking for models on this machine.")
        found = {one.url: one for one in await connecting.local()}
        about = {url: f"on this machine: {one.name}, {_amount(one.models)}" for url, one in found.items()}
        picked = await self._d.choose("Connect a model", {**about, **_VENDORS, OTHER: "typed by you"})
        if picked == OTHER:
            return ((await self._d.ask("Its address, as http://127.0.0.1:1234/v1.")) or "").strip(), False
        return picked or "", picked in _VENDORS or (picked in found and found[picked].models is None)

    async def _listing(self, connecting: Connecting, address: str, needs_key: bool) -> Listing | None:
        """The models of an address; where it wants a key that is asked for, until it is taken or the question left."""
        key = ""
        while True:
            if needs_key:
                typed = await self._d.ask(_KEY, secret=True)
                if typed is None:
                    return None
                key = typed.strip()
            try:
                return await connecting.listing(address, key)
            except FanoutError as error:
                if getattr(error, "status", None) not in (401, 403):
                    raise
                self._say(error.line)
                needs_key = True

    async def _model(self, listing: Listing) -> str | None:
        if listing.models:
            return await self._d.choose("Which model?", dict.fromkeys(listing.models, ""))
        typed = await self._d.ask(f"{listing.why} Type the name of a model.")
        return None if typed is None else typed.strip()


def _amount(models: tuple[str, ...] | None) -> str:
    if models is None:
        return "with a key"
    return plural(len(models), "model")


class SettingWays:
    """Carries out the commands that change settings, on one console."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say
        self._before_plan = ApprovalMode.ASK

    async def connect(self, _console: Console, rest: str) -> None:
        """Connects a model by its address."""
        await ConnectCommand(self._c).run(rest)

    async def mode(self, console: Console, rest: str) -> None:
        """Chooses which later calls run without asking."""
        abouts = {mode.value: about for mode, about in MODES.items()}
        picked = rest or await self._d.choose("Mode", abouts)
        if picked and picked not in abouts:
            raise UsageError(f"there is no mode {one_line(picked, 40)}")
        if picked == ApprovalMode.PLAN.value and console.permissions.mode is not ApprovalMode.PLAN:
            self._before_plan = console.permissions.mode
        if picked:
            console.permissions.use_mode(ApprovalMode(picked))
            many = len(self._c.approvals.waiting)
            runs = f" /approve all runs the {plural(many, 'call')} waiting." if many else ""
            self._say(f"Mode: {picked}, {abouts[picked]}.{runs}")

    async def plan(self, console: Console, _rest: str) -> None:
        """Goes into plan mode, and out of it to the mode before."""
        there = console.permissions.mode is ApprovalMode.PLAN
        await self.mode(console, (self._before_plan if there else ApprovalMode.PLAN).value)

    async def _add_rule(self, console: Console, action: Action, text: str) -> None:
        try:
            text = str(parse_rule(text))
        except ValueError as error:
            raise UsageError(f"{one_line(text, 60)} is no rule: {error}", "As in: /permissions allow notes.*") from None
        scope = await self._c.approvals.how_long(f"{action} {text}")
        if scope and console.permissions.add_rule(action, text, keep=scope == "always"):
            console.permissions.reconsider()

    async def permissions(self, console: Console, rest: str) -> None:
        """Tells the mode and the rules, adds a rule or removes one."""
        rows = console.permissions.rows()
        word, _, number = rest.partition(" ")
        action = next((one for one in get_args(Action) if one == word), None)
        if action is not None and number.strip():
            await self._add_rule(console, action, number.strip())
            return
        if word == "remove" and number.isdecimal() and 1 <= int(number) <= len(rows):
            rule = rows[int(number) - 1].rule
            removed = rule is not None and console.permissions.remove_rule(rule)
            self._say("The rule is removed." if removed else "That rule can't be removed here.")
            return
        self._say(f"Mode: {console.permissions.mode.value}. /mode changes it. {plural(len(rows), 'rule')}.")
        for place, row in enumerate(rows, 1):
            self._say(f"  {place}. {row.action} {row.text}, {row.matches}, {row.source}")

    async def theme(self, console: Console, rest: str) -> None:
        """Chooses the colours of the console on a screen."""
        picked = rest or await self._d.choose("Colours of the console on a screen", self._themes())
        if picked:
            self._check_theme(picked)
        if picked and self._c.console.services.remember_theme is not None:
            self._c.console.services.remember_theme(picked)
            self._say(f"The console on a screen opens with {picked}.")

    def _themes(self) -> dict[str, str]:
        folders = self._c.console.services.theme_dirs
        return {path.stem: "" for folder in folders for path in sorted(folder.glob("*.toml"))}

    def _check_theme(self, name: str) -> None:
        if name not in self._themes():
            raise UsageError(f"there is no theme {one_line(name, 40)}", "/theme lists them.")

    async def config(self, console: Console, rest: str) -> None:
        """Tells settings, changes one, unsets one or opens their file."""
        name, _, text = rest.partition(" ")
        if (own := self._c.console.services.settings) is None:
            self._say("There are no settings to change here.")
            return
        if name == "unset":
            await self._unset(own, text.strip())
            return
        if name == "edit":
            await self._edit(own)
            return
        if text:
            await self._set(own, name, text)
            return
        try:
            settings = [one for one in await asyncio.to_thread(own.read) if not rest or one.name == name]
        except BrokenSettings as error:
            raise ConfigError(error.detail, "/config edit opens it.") from None
        if not settings:
            raise UsageError(f"there is no setting {one_line(name, 40)}", "/config lists them.")
        for one in settings:
            self._say(self._c.console.services.redact(f"  {one.name}: {one.shown}, by {one.source}. {one.meaning}"))

    async def _set(self, own: OwnSettings, name: str, text: str) -> None:
        if name == "theme":
            self._check_theme(text)
        await asyncio.to_thread(own.write, name, text)
        later = await asyncio.to_thread(own.take_effect, name)
        self._say(f"{name} is written to {own.path}. {later or 'It holds from now on.'}")

    async def _edit(self, own: OwnSettings) -> None:
        path = await asyncio.to_thread(own.to_edit)
        before = await asyncio.to_thread(own.text, path)
        after = await files.edited(before, self._c.terminal_given_away(), suffix=".toml")
        if after.strip() == before.strip():
            self._say(f"Nothing was changed in {path}.")
            return
        wrong = await asyncio.to_thread(own.replace, path, f"{after}\n")
        self._say(f"{path} is kept. {f'Still wrong: {wrong}' if wrong else OwnSettings.NEXT_START}")

    async def _unset(self, own: OwnSettings, name: str) -> None:
        if not await asyncio.to_thread(own.remove, name):
            raise UsageError(f"{one_line(name, 40) or 'nothing'} is not set in {own.path}", "/config lists what is.")
        later = await asyncio.to_thread(own.take_effect, name)
        self._say(f"{name} is taken out of {own.path}. {later or 'That holds from now on.'}")


QUITTING = 3.0  # seconds from when a console is left to the end of the process


async def run(services: Services, prompt: str | None) -> int:
    """Runs until it is left; the exit code."""
    output = OutputStreams()
    with TypedLines() as typed:
        code = await LineConsole(services, output, typed, line_ways, partial(end_within, QUITTING)).run(prompt)
    await output.finish()
    output.close()
    return code
