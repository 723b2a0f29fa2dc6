"""The line console: puts its parts together, and reads line after line until it is left."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import get_args

from console_app.config.machine import start_browser
from console_app.config.settings import BrokenSettings, OwnSettings
from console_app.console import Around, Connecting, Console, Listing, Services, files
from console_app.console.intents import Bound, Cannot, Commands, Slash, Ways, parse
from console_app.console.reports import copies, log_lines
from console_app.domain import (
    ConfigError,
    Decision,
    FanoutError,
    UsageError,
    amounts,
    one_line,
    plural,
    web_address,
)
from console_app.domain import events as ev
from console_app.domain import rules as written
from console_app.domain.schema import forms
from console_app.domain.settings import VENDOR_URLS
from console_app.domain.transcript import results, times
from console_app.engine import Action, ManualCall
from console_app.headless import Interrupts, OutputStreams
from console_app.line_console.approvals import LineApprovals, LineQuestions
from console_app.line_console.dialogue import LEAVE, Dialogue, TypedLines, fill_in
from console_app.line_console.narrator import LineUi
from console_app.line_console.server_commands import ServerCommands
from console_app.line_console.wording import CallNumbers, brief_arguments, file_in_words, label_of, state_of, uncoloured

MOST_FOUND = 30
HEARD = 0.01  # seconds from which on a stretch of time is told beside others
_TODO_STATES = {"start": ev.TodoStatus.IN_PROGRESS, "done": ev.TodoStatus.COMPLETED, "reopen": ev.TodoStatus.PENDING}
OTHER = "another address"
_VENDORS = {VENDOR_URLS["openai-chat"]: "OpenAI, with a key", VENDOR_URLS["anthropic"]: "Anthropic, with a key"}
_KEY = "Its key, which is not shown while you type. It is sent to this address alone. An empty line: it needs none."


QUITTING = 3.0  # seconds from when a console is left to the end of the process

log = logging.getLogger(__name__)


async def run(services: Services, prompt: str | None) -> int:
    output = OutputStreams()
    with TypedLines() as typed:
        code = await LineConsole(services, output, typed, partial(Interrupts.end_within, seconds=QUITTING)).run(prompt)
    await output.finish()
    output.close()
    return code


class LineConsole:
    """Runs the console of one terminal, line by line. `on_leaving` is told the exit code when the user leaves."""

    def __init__(
        self,
        services: Services,
        output: OutputStreams,
        typed: TypedLines,
        on_leaving: Callable[[int], None] = lambda _code: None,
    ) -> None:
        self.dialogue = Dialogue(output, typed)
        self._say = self.dialogue.say
        self.numbers = CallNumbers()
        self.ui = ui = LineUi(self.dialogue, self.numbers, self._changed)
        self.console = console = Console(services, ui)
        parts = (console, self.numbers, self.dialogue)
        ui.approvals, ui.questions = LineApprovals(*parts), LineQuestions(*parts)
        self.server_commands = ServerCommands(services, ui, self.send)
        self.commands = Commands(console)
        self.commands.use(self.ways())
        self._typed = typed
        self._on_leaving = on_leaving
        self._left = asyncio.Event()
        self._code = 0
        self._command: asyncio.Task[None] | None = None
        self._waits_for = ""
        self._may_leave = False

    async def run(self, prompt: str | None) -> int:
        """Run until the user leaves. Everything that runs has ended then, and is stored."""
        loop, services = asyncio.get_running_loop(), self.console.services
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.quit, 128 + number)
        services.human.listen(self.ui.questions.changed)  # a server may ask while the project is still read
        self._say("Fanout, as lines. /help lists what you can do.")
        if (provider := services.engine.provider).name == "offline":
            self._say(f"{provider.model}, a scripted offline model, answers. /connect connects another.")
        for problem in services.problems:
            self._say(problem)
        await self.console.read_project()
        start = asyncio.create_task(self.console.start())
        if prompt:
            self.send(prompt)
        reading = asyncio.create_task(self._read())
        await self._left.wait()
        self._on_leaving(self._code)
        reading.cancel()
        start.cancel()
        await self.console.close()
        await services.close()
        return self._code

    def quit(self, code: int = 0) -> None:
        self._code = code
        self._left.set()

    def send(self, text: str, *, around: Around = nullcontext) -> None:
        queued = self.console.conversation.busy
        if self.console.send(text, around=around) and queued:
            self._say("Queued. /steer says something to the turn that runs, /unsend takes it back.")

    # -- lines

    async def _read(self) -> None:
        while (line := await self._typed.next()) is not None:
            self._may_leave = False
            if not self.dialogue.take(line, self._typed.number):
                await self.console.conversation.settled()  # a line behind the word that a turn is done finds it so
                self._take(line)
            await self._settled()
        self.quit()

    def _take(self, line: str) -> None:
        if not line.strip():
            return
        if (asked := parse(line)) is None and self.dialogue.asks:
            self._say("That was typed before the question, and is not its answer.")
            if not self.ui.give_back(line):
                self._say(f"Not sent: {line}")
        elif line.strip() == LEAVE:
            self._say("There is nothing to leave. Nothing was sent.")
        elif asked is None:
            self.send(line)
        elif (command := self.commands.get(asked[0])) is None:
            self._say(self.commands.missing(asked[0]))
        else:
            self._command = asyncio.create_task(self._run(command, asked[1]))

    async def _run(self, command: Bound, rest: str) -> None:
        try:
            if (work := self.commands.do(command, rest)) is not None:
                await work()
        except Exception as error:
            log.exception("a command failed")
            self._say(f"Error: unexpected {error!r}. /log has the details.")

    async def _settled(self) -> None:
        """Return when the command is done or asks something: a line typed ahead of that is meant for it."""
        if self._command is None or self._command.done():
            return
        opened = asyncio.ensure_future(self.dialogue.opened.wait())
        await asyncio.wait({self._command, opened}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()

    def _interrupted(self) -> None:
        """Ctrl+C: leaves a question, ends a command, stops the turn; twice with nothing left leaves."""
        if self._typed.shows_interrupts:
            self.dialogue.end_line()
        if self.dialogue.leave():
            return
        if self._command is not None and not self._command.done():
            self._command.cancel()
        elif self.console.conversation.busy:
            self.console.stop()
        elif self._may_leave:
            self.quit()
        else:
            self._may_leave = True
            self._say("Press Ctrl+C again to leave.")

    def _changed(self) -> None:
        waits = self.console.readiness.awaited
        if self.console.conversation.on_its_way is not None and waits and not self._waits_for:
            self._say(f"Waiting for {waits}. /go begins without.")
            self._waits_for = waits

    # -- its way of each intent

    def ways(self) -> Ways:
        approvals, questions = self.ui.approvals, self.ui.questions
        servers = Slash(self.server_commands.servers)
        return {
            "help": Slash(self._help),
            "keys": Slash(self._help),
            "connect": Slash(self._connect),
            "permissions": Slash(self._permissions),
            "theme": Slash(self._theme),
            "mcp": servers,
            "tools": servers,
            "call": Slash(self._call),
            "timeline": Slash(self._timeline),
            "find": Slash(self._find),
            "clear": Cannot("nothing is drawn here; /new starts another session"),
            "copy": Slash(self._copy),
            "config": Slash(self._config),
            "todo": Slash(self._todo),
            "editor": Slash(self._editor),
            "status": Slash(self._status),
            "quit": Slash(lambda _, __: self.quit()),
            "draft": Slash(self._draft),
            "read": Slash(self._read_turn),
            "approve": Slash(partial(approvals.decide, Decision.ALLOW)),
            "deny": Slash(partial(approvals.decide, Decision.DENY)),
            "allow": Slash(approvals.allow),
            "answer": Slash(questions.answer),
            "decline": Slash(questions.decline),
            "calls": Slash(self._calls),
            "show": Slash(self._show),
            "edit": Slash(approvals.edit),
            "files": Slash(self._files),
        }

    # Calls

    async def _calls(self, console: Console, rest: str) -> None:
        turn = self.numbers.transcript.turn
        calls = [] if turn is None else turn.calls
        self._say(f"{plural(len(calls), 'call')}." if calls else "The newest turn has no call.")
        wanted = rest.casefold()
        shown = [one for one in calls if wanted in state_of(one) or (wanted == "failed" and one.went_wrong)]
        if calls and wanted:
            there = ", ".join(f"{count} {state}" for state, count in Counter(map(state_of, calls)).items())
            self._say(f"{len(shown)} of them: {one_line(rest, 40)}. There are {there}.")
        for call in shown:
            line = f"{self.numbers.of(call.id)}. {label_of(call)}, {state_of(call)}. {brief_arguments(call.arguments)}"
            self._say(f"  {call.indent}{line}".rstrip())

    async def _timeline(self, console: Console, rest: str) -> None:
        turns = self.numbers.transcript.turns
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
            name = f"{call.indent}Call {self.numbers.of(call.id)}, {label_of(call)}"
            self._say(f"  {name}: at {at:.2f} s{parts}, {state_of(call)}")

    async def _show(self, console: Console, rest: str) -> None:
        call = self.numbers.call(rest)
        if self.ui.approvals.say_rest(call):
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
        label = rest or await self.dialogue.choose(
            "Call a tool", {name: spec.description for name, spec in tools.items()}
        )
        if label is None:
            return
        if label not in tools:
            raise UsageError(f"no tool is called {one_line(label, 60)}", "/call alone lists them.")
        arguments = await fill_in(self.dialogue, forms.form_of(tools[label].input_schema).fields, {})
        if arguments is not None:
            console.call_by_hand(str(ManualCall(label, arguments)))

    # The conversation

    async def _help(self, console: Console, _rest: str) -> None:
        self._say("What you type is sent to the model, unless it begins with a slash. A backslash at the end of a line")
        self._say("goes on in the next. @path and @server:uri attach files and resources; /server:prompt is a prompt.")
        for one in (bound.intent for bound in self.commands.listed):
            self._say(f"  /{one.name} {one.argument}".rstrip() + f": {one.about}")

    async def _status(self, console: Console, _rest: str) -> None:
        usage = self.numbers.transcript.usage
        self._say(
            f"Model {console.services.models.name or 'not known yet'}, approvals {console.permissions.mode.value}."
        )
        open_calls = [call for call in self.numbers.transcript.calls.values() if call.outcome is None]
        counts = {state: sum(state_of(call) == state for call in open_calls) for state in map(state_of, open_calls)}
        doing = ", ".join(f"{count} {state}" for state, count in counts.items())
        self._say(f"{'Something runs' if console.conversation.busy else 'Nothing runs'}. {doing}".strip())
        cost = "" if usage.cost is None else f", {usage.cost:.4f} dollars"
        self._say(f"{usage.input_tokens + usage.output_tokens:,} tokens so far{cost}.")
        for text in console.conversation.waiting:
            self._say(f"Queued: {text}")

    async def _draft(self, console: Console, _rest: str) -> None:
        text, self.ui.draft = self.ui.draft, ""
        if text:
            self.send(text)
        else:
            self._say("No message was given back.")

    async def _editor(self, console: Console, _rest: str) -> None:
        text = await files.edited(self.ui.draft, self.dialogue.given_away())
        self.ui.draft = ""
        if text.strip():
            self.ui.give_back(text)

    async def _read_turn(self, console: Console, rest: str) -> None:
        turn = self.numbers.transcript.turn
        number = int(rest) if rest.isdecimal() else turn.number if turn is not None and not rest else 0
        if not self.ui.read(number):
            raise UsageError("there is no such turn")

    async def _find(self, console: Console, rest: str) -> None:
        if not rest:
            raise UsageError("there is nothing to look for", "Type it behind the name: /find WORDS.")
        found = 0
        for turn in self.numbers.transcript.turns:
            places = [("You", turn.prompt)]
            for step in turn.steps:
                places.append(("Answer", step.text))
                places += [(f"Call {self.numbers.of(call.id)}", results.shown_text(call)) for call in step.batch.calls]
            for where, text in places:
                for line in text.splitlines():
                    if rest.casefold() in line.casefold() and (found := found + 1) <= MOST_FOUND:
                        self._say(f"  Turn {turn.number}, {where}: {one_line(line, 200)}")
        self._say(f"{plural(found, 'line')} with it." if found else "Nothing has it.")

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

    # Results

    async def _copy(self, _console: Console, rest: str) -> None:
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
            picked = await self.dialogue.choose("Copy which?", {name: one.about for name, one in table.items()})
        if picked is not None:
            text = table[picked].text
            self.dialogue.output.out(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
            await files.copy_in_tmux(text, os.environ)
            self._say(f"Copied {table[picked].what}: {plural(len(text), 'character')}.")
        elif not table:
            self._say("There is nothing of it to copy yet." if rest else "There is no answer to copy yet.")

    def _copies(self, rest: str) -> Sequence[copies.Copy]:
        if not rest.isdecimal():
            turns = reversed(self.numbers.transcript.turns)
            answer = next((step.text for turn in turns for step in reversed(turn.steps) if step.text), "")
            return copies.copies_of_answer(answer) if answer else []
        call = self.numbers.call(rest)
        result = [] if call.outcome is None else [copies.result_copy(call)]
        plain = call.arguments_text
        arguments = plain if call.arguments is None else json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)
        return [one for one in (*result, *copies.copies_of_texts(call, arguments)) if one.text]

    async def _files(self, _console: Console, rest: str) -> None:
        call = self.numbers.call(rest)
        table = {one.path or one.uri: one for one in call.artifacts if one.path or one.uri}
        if not table:
            self._say(f"Call {rest} has no file.")
            return
        picked = await self.dialogue.choose(
            "Open which file?", {where: file_in_words(one) for where, one in table.items()}
        )
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
            await self.server_commands.read(call.server, picked)
            return
        self._say(f"Not opened: {problem}. It is {picked}" if problem else f"Opened {picked}")

    # The model and the settings

    async def _connect(self, _console: Console, rest: str) -> None:
        """Ask for all that a model needs, a line each. Nothing is kept before the model has answered."""
        if (connecting := self.console.services.connecting) is None:
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
        amount = {
            one.url: "with a key" if one.models is None else plural(len(one.models), "model") for one in found.values()
        }
        about = {url: f"on this machine: {one.name}, {amount[url]}" for url, one in found.items()}
        picked = await self.dialogue.choose("Connect a model", {**about, **_VENDORS, OTHER: "typed by you"})
        if picked == OTHER:
            return ((await self.dialogue.ask("Its address, as http://127.0.0.1:1234/v1.")) or "").strip(), False
        return picked or "", picked in _VENDORS or (picked in found and found[picked].models is None)

    async def _listing(self, connecting: Connecting, address: str, needs_key: bool) -> Listing | None:
        """Return the models of an address. Where it wants a key, that is asked for until it is taken or left out."""
        key = ""
        while True:
            if needs_key:
                typed = await self.dialogue.ask(_KEY, secret=True)
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
            return await self.dialogue.choose("Which model?", dict.fromkeys(listing.models, ""))
        typed = await self.dialogue.ask(f"{listing.why} Type the name of a model.")
        return None if typed is None else typed.strip()

    async def _permissions(self, console: Console, rest: str) -> None:
        rows = console.permissions.rows()
        word, _, number = rest.partition(" ")
        action = next((one for one in get_args(Action) if one == word), None)
        if action is not None and number.strip():
            try:
                text = str(written.parse_rule(number.strip()))
            except ValueError as error:
                wrong = f"{one_line(number.strip(), 60)} is no rule: {error}"
                raise UsageError(wrong, "As in: /permissions allow notes.*") from None
            scope = await self.ui.approvals.how_long(f"{action} {text}")
            if scope and console.permissions.add_rule(action, text, keep=scope == "always"):
                console.permissions.reconsider()
            return
        if word == "remove" and number.isdecimal() and 1 <= int(number) <= len(rows):
            rule = rows[int(number) - 1].rule
            removed = rule is not None and console.permissions.remove_rule(rule)
            self._say("The rule is removed." if removed else "That rule can't be removed here.")
            return
        self._say(f"Mode: {console.permissions.mode.value}. /mode changes it. {plural(len(rows), 'rule')}.")
        for place, row in enumerate(rows, 1):
            self._say(f"  {place}. {row.action} {row.text}, {row.matches}, {row.source}")

    async def _theme(self, console: Console, rest: str) -> None:
        picked = rest or await self.dialogue.choose("Colours of the console on a screen", self._themes())
        if picked:
            self._check_theme(picked)
        if picked and self.console.services.remember_theme is not None:
            self.console.services.remember_theme(picked)
            self._say(f"The console on a screen opens with {picked}.")

    def _themes(self) -> dict[str, str]:
        folders = self.console.services.theme_dirs
        return {path.stem: "" for folder in folders for path in sorted(folder.glob("*.toml"))}

    def _check_theme(self, name: str) -> None:
        if name not in self._themes():
            raise UsageError(f"there is no theme {one_line(name, 40)}", "/theme lists them.")

    async def _config(self, console: Console, rest: str) -> None:
        name, _, text = rest.partition(" ")
        if (own := self.console.services.settings) is None:
            self._say("There are no settings to change here.")
            return
        if name == "unset":
            name = text.strip()
            if not await asyncio.to_thread(own.remove, name):
                known = "/config lists what is."
                raise UsageError(f"{one_line(name, 40) or 'nothing'} is not set in {own.path}", known)
            later = await asyncio.to_thread(own.take_effect, name)
            self._say(f"{name} is taken out of {own.path}. {later or 'That holds from now on.'}")
            return
        if name == "edit":
            await self._edit(own)
            return
        if text:
            if name == "theme":
                self._check_theme(text)
            await asyncio.to_thread(own.write, name, text)
            later = await asyncio.to_thread(own.take_effect, name)
            self._say(f"{name} is written to {own.path}. {later or 'It holds from now on.'}")
            return
        try:
            settings = [one for one in await asyncio.to_thread(own.read) if not rest or one.name == name]
        except BrokenSettings as error:
            raise ConfigError(error.detail, "/config edit opens it.") from None
        if not settings:
            raise UsageError(f"there is no setting {one_line(name, 40)}", "/config lists them.")
        for one in settings:
            self._say(self.console.services.redact(f"  {one.name}: {one.shown}, by {one.source}. {one.meaning}"))

    async def _edit(self, own: OwnSettings) -> None:
        path = await asyncio.to_thread(own.to_edit)
        before = await asyncio.to_thread(own.text, path)
        after = await files.edited(before, self.dialogue.given_away(), suffix=".toml")
        if after.strip() == before.strip():
            self._say(f"Nothing was changed in {path}.")
            return
        wrong = await asyncio.to_thread(own.replace, path, f"{after}\n")
        self._say(f"{path} is kept. {f'Still wrong: {wrong}' if wrong else OwnSettings.NEXT_START}")
