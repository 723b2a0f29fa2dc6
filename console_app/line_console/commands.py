"""The slash commands of the line console: a table of names, what each does, and a coroutine that does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from console_app.console.by_hand import MANUAL
from console_app.console.call_text import call_text, log_lines
from console_app.console.context_report import context_report
from console_app.console.cost_report import cost_report
from console_app.console.own_editor import edited
from console_app.console.request_report import request_report
from console_app.console.shown_results import shown_text
from console_app.domain.amounts import measured, plural
from console_app.domain.call_spans import figures, spans_of
from console_app.domain.errors import UsageError
from console_app.domain.safe_text import one_line
from console_app.domain.todo import TodoItem, TodoStatus
from console_app.domain.transcript_parts import CallView
from console_app.engine import manual_calls
from console_app.engine.manual_calls import ManualCall
from console_app.line_console.line_command import LineCommand, Run
from console_app.line_console.result_commands import ResultCommands
from console_app.line_console.setting_commands import SettingCommands
from console_app.line_console.values import fill_in
from console_app.line_console.wording import brief_arguments, file_in_words, label_of, state_of, uncoloured

if TYPE_CHECKING:
    from console_app.line_console.console import LineConsole

MOST_FOUND = 30
HEARD = 0.01  # seconds from which on a stretch of time is told beside others
_TODO_STATES = {"start": TodoStatus.IN_PROGRESS, "done": TodoStatus.COMPLETED, "reopen": TodoStatus.PENDING}


def all_commands(console: LineConsole) -> Mapping[str, LineCommand]:
    """Every command by its name."""
    own = Commands(console)
    results, settings = ResultCommands(console), SettingCommands(console)
    every = (*own.of_calls(), *results.all(), *own.of_talk(), *settings.all())
    return {command.name: command for command in every}


class Commands:
    """What the commands do, on one console."""

    def __init__(self, console: LineConsole) -> None:
        self._c = console
        self._d = console.dialogue
        self._say = console.dialogue.say

    def of_calls(self) -> Iterator[LineCommand]:
        """What is done with calls and questions, while they run too."""
        c, approvals, questions = self._c, self._c.approvals, self._c.questions
        which = "[3,4|3-9|reads|all [COMMENT]]"
        yield LineCommand("approve", "let calls run; alone, lists what waits", approvals.approve, which)
        yield LineCommand("deny", "don't let calls run, with words for the model", approvals.deny, which)
        yield LineCommand("allow", "let a call run, and others like it without asking", approvals.allow, "3")
        yield LineCommand("edit", "run a call with other arguments", approvals.edit, "3")
        yield LineCommand("cancel", "end a call; the others go on", self._of_call(c.calls.cancel), "3")
        yield LineCommand("retry", "run a call again; alone, what was cut off or had no answer", self._retry, "[3]")
        yield LineCommand("extend", "give a running call its whole time again", self._of_call(c.calls.extend), "3")
        yield LineCommand("results", "send the model the results that are there", self._plain(c.calls.send_now))
        yield LineCommand(
            "calls", "the calls of the newest turn and their states; with a state only those", self._calls, "[STATE]"
        )
        yield LineCommand("timeline", "the calls of a turn in time", self._timeline, "[TURN]")
        yield LineCommand(
            "show", "the whole result of a call, or what is left to say of one that waits", self._show, "3"
        )
        yield LineCommand("inspect", "everything known of a call, what was sent and got too", self._inspect, "3")
        yield LineCommand("answer", "answer what a server or the model asks", questions.answer)
        yield LineCommand("decline", "don't answer it", questions.decline)
        yield LineCommand("call", "call a tool yourself, without a model", self._call, "[SERVER.TOOL [JSON] ...]")

    def of_talk(self) -> Iterator[LineCommand]:
        """What is done with the conversation and its sessions."""
        c, sessions = self._c, self._c.sessions
        yield LineCommand("help", "these commands", self._help)
        yield LineCommand("keys", "these commands, as /help", self._help)
        yield LineCommand("status", "the model, the mode, what runs and waits", self._status)
        yield LineCommand("stop", "stop what runs, as Ctrl+C", self._plain(c.stop))
        yield LineCommand("steer", "say something to the turn that runs", self._steer, "WORDS")
        yield LineCommand("go", "send what is queued; begin without servers that still connect", self._go)
        yield LineCommand("unsend", "take the newest queued message back", self._unsend)
        yield LineCommand("draft", "send the message that was given back", self._draft)
        yield LineCommand("editor", "write a message of many lines in your editor", self._editor)
        yield LineCommand("read", "read a turn of the conversation again", self._read, "[TURN]")
        yield LineCommand("find", "lines of the conversation and of results with these words", self._find, "WORDS")
        yield LineCommand("new", "start a new session", self._plain(sessions.begin))
        yield LineCommand("clear", "nothing is drawn here; /new starts another session", self._clear)
        yield LineCommand(
            "sessions", "go on with a session, rename, fork, export or delete one", self._sessions, "[WORDS]"
        )
        yield LineCommand("resume", "go on with a session", self._resume, "[ID]")
        yield LineCommand("rename", "give this session a title", sessions.rename, "[TITLE]")
        yield LineCommand("fork", "go on with a copy of this session", sessions.fork, "[TURN]")
        yield LineCommand("undo", "take the last turn back", self._undo)
        yield LineCommand("rewind", "go back to before one of your messages", self._rewind, "[TURN|WORDS]")
        yield LineCommand("export", "write this session to a file", self._export, "[md|html|jsonl|trace] [PATH]")
        yield LineCommand("compact", "summarise older turns for the model", self._compact, "[undo]")
        yield LineCommand("context", "what the model reads, and how full its window is", self._context)
        yield LineCommand("request", "the messages of the next and the last request", self._request)
        yield LineCommand("cost", "tokens and money, in all and by turn", self._cost)
        yield LineCommand(
            "todo",
            "the to-do list; a word in front changes it",
            self._todo,
            "[add WORDS|start 2|done 2|reopen 2|edit 2 WORDS|delete 2]",
        )
        yield LineCommand("quit", "leave, as Ctrl+D", self._plain(c.quit))

    # Calls

    def _plain(self, act: Callable[[], object]) -> Run:
        async def run(_rest: str) -> None:
            act()

        return run

    def _of_call(self, act: Callable[[str], None]) -> Run:
        async def run(rest: str) -> None:
            act(self._c.numbers.call(rest).id)

        return run

    async def _steer(self, rest: str) -> None:
        if not rest:
            raise UsageError("there is nothing to say", "Type it behind the name: /steer WORDS.")
        await self._c.conversation.steer(rest)

    async def _retry(self, rest: str) -> None:
        if rest:
            self._c.calls.run_again(self._c.numbers.call(rest).id)
        else:
            self._c.calls.run_cut_off_again()

    async def _calls(self, rest: str) -> None:
        turn = self._c.numbers.transcript.turn
        calls = [] if turn is None else [call for step in turn.steps for call in step.batch.calls]
        self._say(f"{plural(len(calls), 'call')}." if calls else "The newest turn has no call.")
        wanted = rest.casefold()
        shown = [call for call in calls if wanted in state_of(call) or (wanted == "failed" and _failed(call))]
        if calls and wanted:
            there = ", ".join(f"{count} {state}" for state, count in Counter(map(state_of, calls)).items())
            self._say(f"{len(shown)} of them: {one_line(rest, 40)}. There are {there}.")
        for call in shown:
            number = self._c.numbers.of(call.id)
            self._say(f"  {number}. {label_of(call)}, {state_of(call)}. {brief_arguments(call.arguments)}".rstrip())

    async def _timeline(self, rest: str) -> None:
        turns = self._c.numbers.transcript.turns
        turn = next((one for one in turns if str(one.number) == rest), turns[-1] if turns and not rest else None)
        if turn is None:
            raise UsageError("there is no such turn")
        now = self._c.services.clock()
        sums = figures(turn, now)
        also = ((sums.saved, "faster than sequential"), (sums.waited, "waited for you"), (sums.queued, "queued"))
        said = ", ".join(f"{measured(seconds)} {what}" for seconds, what in also if seconds >= HEARD)
        self._say(f"{plural(sums.calls, 'call')}, elapsed {measured(sums.wall)}{said and f', {said}'}.")
        for call in (call for step in turn.steps for call in step.batch.calls):
            at = (call.started_at or call.announced_at) - turn.started_at
            spent = {"queue": 0.0, "wait": 0.0, "run": 0.0}
            for span in spans_of(call, now):
                spent[span.phase] = spent.get(span.phase, 0.0) + span.seconds
            words = (("queue", "queued"), ("wait", "waited for you"), ("run", "ran"))
            parts = "".join(
                f", {word} {measured(spent[phase])}"
                for phase, word in words
                if spent[phase] >= HEARD or (phase == "run" and call.started_at)
            )
            self._say(f"  Call {self._c.numbers.of(call.id)}, {label_of(call)}: at {at:.2f} s{parts}, {state_of(call)}")

    async def _show(self, rest: str) -> None:
        call = self._c.numbers.call(rest)
        if self._c.approvals.say_rest(call):
            return
        self._say(f"Call {rest}, {label_of(call)}, {state_of(call)}.")
        for line in log_lines(call):
            self._say(f"  {line}")
        if call.outcome is None:
            self._say("It has no result yet.")
        elif said := shown_text(call) or call.error or ("" if call.artifacts else "It gave no result."):
            self._say(uncoloured(said))
        for artifact in call.artifacts:
            self._say(f"File: {file_in_words(artifact)}, {artifact.path or artifact.uri}")

    async def _inspect(self, rest: str) -> None:
        call = self._c.numbers.call(rest)
        self._say(call_text(call, self._c.services.exchange(call.id)))

    async def _call(self, rest: str) -> None:
        if "{" in rest:
            self._c.send(f"{MANUAL}{rest}")
            return
        tools = {spec.label: spec for spec in self._c.services.engine.toolset.tools()}
        label = rest or await self._d.choose("Call a tool", {name: spec.description for name, spec in tools.items()})
        if label is None:
            return
        if label not in tools:
            raise UsageError(f"no tool is called {one_line(label, 60)}", "/call alone lists them.")
        arguments = await fill_in(self._d, tools[label].input_schema, {})
        if arguments is not None:
            self._c.send(f"{MANUAL}{manual_calls.written([ManualCall(label, arguments)])}")

    # The conversation

    async def _help(self, _rest: str) -> None:
        self._say("What you type is sent to the model, unless it begins with a slash. A backslash at the end of a line")
        self._say("goes on in the next. @path and @server:uri attach files and resources; /server:prompt is a prompt.")
        for command in (*self._c.commands.values(), *self._c.custom.by_name.values()):
            self._say(f"  /{command.name} {command.argument}".rstrip() + f": {command.about}")

    async def _status(self, _rest: str) -> None:
        c, usage = self._c, self._c.numbers.transcript.usage
        self._say(f"Model {c.services.models.name or 'not known yet'}, approvals {c.permissions.mode.value}.")
        open_calls = [call for call in c.numbers.transcript.calls.values() if call.outcome is None]
        counts = {state: sum(state_of(call) == state for call in open_calls) for state in map(state_of, open_calls)}
        doing = ", ".join(f"{count} {state}" for state, count in counts.items())
        self._say(f"{'Something runs' if c.conversation.busy else 'Nothing runs'}. {doing}".strip())
        cost = "" if usage.cost is None else f", {usage.cost:.4f} dollars"
        self._say(f"{usage.input_tokens + usage.output_tokens:,} tokens so far{cost}.")
        for text in c.conversation.waiting:
            self._say(f"Queued: {text}")

    async def _go(self, _rest: str) -> None:
        if not (self._c.readiness.skip() or self._c.conversation.resume()):
            self._say("Nothing waits to be sent.")

    async def _unsend(self, _rest: str) -> None:
        text = self._c.conversation.take_back()
        if text is None or not self._c.ui.give_back(text):
            self._say("Nothing is queued." if text is None else f"Not sent: {text}")

    async def _draft(self, _rest: str) -> None:
        text, self._c.ui.draft = self._c.ui.draft, ""
        if text:
            self._c.send(text)
        else:
            self._say("No message was given back.")

    async def _editor(self, _rest: str) -> None:
        text = await edited(self._c.ui.draft, self._c.terminal_given_away())
        self._c.ui.draft = ""
        if text.strip():
            self._c.ui.give_back(text)

    async def _read(self, rest: str) -> None:
        turn = self._c.numbers.transcript.turn
        number = int(rest) if rest.isdecimal() else turn.number if turn is not None and not rest else 0
        if not self._c.ui.read(number):
            raise UsageError("there is no such turn")

    async def _find(self, rest: str) -> None:
        if not rest:
            raise UsageError("there is nothing to look for", "Type it behind the name: /find WORDS.")
        found = 0
        for turn in self._c.numbers.transcript.turns:
            places = [("You", turn.prompt)]
            for step in turn.steps:
                places.append(("Answer", step.text))
                places += [(f"Call {self._c.numbers.of(call.id)}", shown_text(call)) for call in step.batch.calls]
            for where, text in places:
                for line in text.splitlines():
                    if rest.casefold() in line.casefold() and (found := found + 1) <= MOST_FOUND:
                        self._say(f"  Turn {turn.number}, {where}: {one_line(line, 200)}")
        self._say(f"{plural(found, 'line')} with it." if found else "Nothing has it.")

    async def _clear(self, _rest: str) -> None:
        self._say("Nothing is drawn here. /new starts another session.")

    async def _sessions(self, rest: str) -> None:
        sessions = self._c.sessions
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

    async def _resume(self, rest: str) -> None:
        await (self._c.sessions.resume(rest) if rest else self._sessions(""))

    async def _undo(self, _rest: str) -> None:
        await self._c.sessions.undo()

    async def _rewind(self, rest: str) -> None:
        await (self._c.sessions.rewind(int(rest)) if rest.isdecimal() else self._c.sessions.rewind_to(rest))

    async def _export(self, rest: str) -> None:
        await self._c.sessions.export(rest)

    async def _compact(self, rest: str) -> None:
        if rest != "undo":
            self._c.conversation.compact()
        elif not await self._c.conversation.undo_compaction():
            self._say("There is no compaction to take back.")

    async def _context(self, _rest: str) -> None:
        c = self._c
        self._say(context_report(c.services.engine, c.numbers.transcript, c.services.models.window))

    async def _request(self, _rest: str) -> None:
        self._say(request_report(self._c.services.engine))

    async def _cost(self, _rest: str) -> None:
        self._say(cost_report(self._c.numbers.transcript))

    async def _todo(self, rest: str) -> None:
        items, (word, _, words) = list(self._c.items), rest.partition(" ")
        number, _, content = words.partition(" ")
        at = int(number) - 1 if number.isdecimal() else -1
        if word == "add" and words:
            items.append(TodoItem(content=words))
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
        if (event := self._c.services.engine.edit_todo(items)) is not None:
            await self._c.conversation.deliver(event)


def _failed(call: CallView) -> bool:
    return call.outcome is not None and call.outcome.is_error
