"""A conversation that an editor holds, as a front end of `Conversation`: its prompts, modes, models, and slash
commands, those that work without a console, people's own and servers' prompts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import RequestError, schema

from console_app.acp_agent import prompts
from console_app.acp_agent.asking import CallQuestions, EditorQuestions
from console_app.acp_agent.updates import Updates
from console_app.console import Console, UiPort
from console_app.console.intents import INTENTS, Cannot, Commands, Ways, intent_of, parse
from console_app.domain import ApprovalMode, CallState, Event, FanoutError, Level, UsageError, event_news, one_line
from console_app.domain.settings import EFFORTS
from console_app.domain.transcript import Transcript
from console_app.engine import QUESTION
from console_app.records import dataclass, replace

if TYPE_CHECKING:
    from acp.core import AgentSideConnection

    from console_app.acp_agent.json_lines import JsonLines
    from console_app.config.servers import ServerConfig
    from console_app.console import Services
    from console_app.engine import Turn
    from console_app.mcp_client import Hub


@dataclass(frozen=True, slots=True)
class SessionParts:
    """Parts of one conversation. `start` returns when a turn may begin, with notices. `stored` are events to go on
    with, `notes` notices about it."""

    services: Services
    hub: Hub
    start: Callable[[], Awaitable[Sequence[str]]]
    question_limit: float | None
    stored: Sequence[Event] = ()
    notes: Sequence[str] = ()


# Makes the parts of a conversation in a folder, with the editor's servers beside Fanout's; a session may go on there.
# Raises FanoutError.
OpenSession = Callable[[Path, "Sequence[ServerConfig]", str | None], Awaitable[SessionParts]]
DEFAULT = "default"
_REASONS: Mapping[str, schema.StopReason] = {
    "length": "max_tokens",
    "filtered": "refusal",
    "step_limit": "max_turn_requests",
    "cancelled": "cancelled",
}
log = logging.getLogger(__name__)


class EditorSession(UiPort):
    """Holds one conversation, as its UiPort. `can` names what the editor can do beside the least."""

    def __init__(
        self, parts: SessionParts, lines: JsonLines, editor: AgentSideConnection, can: schema.ClientCapabilities
    ) -> None:
        self.parts, self._lines = parts, lines
        self.console = console = Console(parts.services, self)
        console.readiness.waits_for_nothing()  # a prompt is taken once `start` of the parts has returned
        engine, asks = parts.services.engine, can.elicitation or schema.ElicitationCapabilities()
        self.id = engine.session_id
        self._editor = editor if can.fs is not None and can.fs.read_text_file else None
        folder, models = parts.services.working_folder, parts.services.models
        self.updates = Updates(self._tell, console.pending.tool, folder, lambda: models.window, lines.offers)
        self._asking = EditorQuestions(
            editor, self.id, forms=asks.form is not None, pages=asks.url is not None, limit=parts.question_limit,
            note=lambda words: self.updates.note(words, grave=True), tell=self._tell,
        )  # fmt: skip
        self._questions = CallQuestions(console, self._asking, self.updates)
        parts.hub.asking.human, parts.hub.asking.open_url = self._asking, _opened_by_the_editor
        parts.hub.on_change = self._servers_changed(parts.hub.on_change)
        if asks.form is None:  # a question that nobody can answer need not be offered
            engine.settings = replace(engine.settings, builtin_tools=engine.settings.builtin_tools - {QUESTION})
        self._commands = EditorCommands(console, parts.hub, self._tell)
        self._known: Sequence[str] = ()
        self._fault = ""  # what kept a prompt from its answer
        self._cancelled = False
        self._stops = 0  # how often that was asked for
        self._work: asyncio.Task[schema.StopReason] | None = None
        self._titled = ""
        self._notes = [*parts.notes]
        self._hindrance = ""  # why nothing can be asked yet
        self._starting: asyncio.Task[None] | None = None
        self._listing: asyncio.Task[None] | None = None

    # -- its life

    def begin(self) -> None:
        self._starting = asyncio.create_task(self._start(), name="editor-session")
        self._listing = asyncio.create_task(self._list_models(), name="models")

    async def _start(self) -> None:
        self._hindrance = ""
        try:
            self._notes += await self.parts.start()
        except FanoutError as error:
            self._hindrance = error.line
        except Exception as error:
            log.exception("a conversation could not start")
            self._hindrance = f"Fanout could not start everything: {error!r}. The log has the details."
        await self._commands.tell()

    async def _list_models(self) -> None:
        """List the models of all endpoints, for which nobody waits."""
        try:
            self._known = await self.console.models.known()
        except Exception as error:
            log.warning("the models can't be listed: %r", error)
        else:
            self.tell_options()

    async def close(self) -> None:
        self.cancel()
        for task in filter(None, (self._starting, self._listing)):
            task.cancel()
        await self.console.close()
        self._questions.close()
        self.parts.hub.on_change = None  # that servers end is no news
        await self.parts.services.close()

    async def replay(self) -> None:
        for _ in self.updates.replay(Transcript.of(self.parts.stored)):
            await self._lines.room()

    def remember(self) -> None:
        """Take everything that was said before as told."""
        self.updates.transcript = Transcript.of(self.parts.stored)

    # -- prompts

    async def prompt(self, blocks: Sequence[prompts.Block]) -> schema.StopReason:
        """Send a prompt; return why its turn stopped. Raises FanoutError, which says why there is no answer."""
        if self._work is not None and not self._cancelled:
            raise UsageError("this conversation still answers a prompt", "Cancel that, or wait for its end.")
        stops = self._stops
        while self._work is not None:  # it is about to end: an editor may cancel and send in one go
            await asyncio.wait({self._work})
            if self._stops != stops:
                return "cancelled"
        self._cancelled, self._fault = False, ""
        self._lines.accepted(self.id)
        self._work = work = asyncio.create_task(self._answer(blocks), name="prompt")
        try:
            await asyncio.wait({work})
        finally:
            self._work = None
            work.cancel()
        return "cancelled" if work.cancelled() else work.result()

    def cancel(self) -> None:
        """End the prompt that is answered, with all its calls, and those that wait."""
        self._stops += 1
        if self._work is None:
            return
        self._cancelled = True
        if not self.console.conversation.stop("cancelled in the editor") and not self.console.conversation.busy:
            self._work.cancel()

    def cancel_call(self, call_id: str) -> bool:
        call = self.transcript.calls.get(call_id)
        if call is None or call.outcome is not None:
            return False
        self.console.calls.cancel(call_id)
        return True

    async def _answer(self, blocks: Sequence[prompts.Block]) -> schema.StopReason:
        if self._starting is None or (self._starting.done() and self._hindrance):
            self.begin()  # what was out of reach may be there now
        assert self._starting is not None
        await asyncio.wait({self._starting})
        if self._hindrance:
            raise FanoutError(self._hindrance)
        for note in self._notes:
            self.updates.note(note, grave=True)
        self._notes.clear()
        before = self.console.conversation.last_turn
        words = prompts.words_of(blocks)
        if not await self._commands.run(words):
            words, around = self._commands.message_of(words)
            message, notices = await prompts.message_of(words, blocks, self.console.attachments, self._edited)
            for notice in notices:
                self.updates.note(notice, grave=True)
            self.console.conversation.send(message.source or message.content, message=message, around=around)
        await self.console.conversation.ended()
        while self.console.conversation.take_back() is not None:
            pass  # stopped before its turn began: it is the editor's again
        await self._tell_title()
        turn = self.console.conversation.last_turn
        return self._reason(None if turn is before else turn)

    async def _edited(self, path: Path) -> str | None:
        if self._editor is None:
            return None
        try:
            return (await self._editor.read_text_file(path=str(path), session_id=self.id)).content
        except RequestError as error:
            log.info("the editor does not give %s: %s", path, error)
            return None

    def _reason(self, turn: Turn | None) -> schema.StopReason:
        outcome, error = ("completed", None) if turn is None else (turn.outcome, turn.error)
        if self._cancelled:
            return "cancelled"
        if self._fault and (turn is None or outcome == "cancelled"):  # it was not sent, or could not be stored
            raise FanoutError(self._fault)
        cut = "" if turn is None else turn.cut_by
        if outcome == "failed" and not cut:
            raise FanoutError(error or "the turn failed")
        return _REASONS.get(cut or outcome or "", "end_turn")

    async def _tell_title(self) -> None:
        library = self.parts.services.library
        if library is None or not library.session_id:
            return
        try:
            info = await library.store.find(library.session_id)
        except FanoutError as error:
            log.warning("the title is not known: %s", error.line)
            return
        if info.title != self._titled:
            self._titled = info.title
            at = datetime.fromtimestamp(info.updated_at, UTC).isoformat()
            self._tell(schema.SessionInfoUpdate(session_update="session_info_update", title=info.title, updated_at=at))

    # -- modes and models

    @property
    def modes(self) -> schema.SessionModeState:
        modes = [
            schema.SessionMode(id=mode, name=mode.title(), description=about)
            for mode, about in self.console.permissions.MODES.items()
        ]
        return schema.SessionModeState(current_mode_id=self.console.permissions.mode, available_modes=modes)

    @property
    def options(self) -> list[schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean]:
        models = list(dict.fromkeys((*filter(None, [self.console.models.name]), *self._known)))
        effort = self.parts.services.engine.settings.effort or DEFAULT
        modes = [(mode.value, mode.title(), about) for mode, about in self.console.permissions.MODES.items()]
        options: list[schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean]
        options = [_select("mode", "Mode", "mode", self.console.permissions.mode, modes)]
        if models:
            options.append(_select("model", "Model", "model", models[0], [(name, name, None) for name in models]))
        efforts = [(name, name.capitalize(), None) for name in (DEFAULT, *EFFORTS)]
        return [*options, _select("effort", "Effort", "thought_level", effort, efforts)]

    def use_mode(self, mode: str) -> None:
        if mode not in list(ApprovalMode):
            raise UsageError(f"there is no mode {mode!r}", f"There are {', '.join(ApprovalMode)}.")
        self.console.permissions.use_mode(ApprovalMode(mode))
        self._tell(schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))

    async def set_option(self, option: str, value: Any) -> None:
        match option, value:
            case "mode", str():
                self.use_mode(value)
            case "model", str():
                await self.console.models.switch(value)
            case "effort", str() if value in (DEFAULT, *EFFORTS):
                self.console.models.use_effort(next((one for one in EFFORTS if one == value), None))
            case _:
                raise UsageError(f"there is nothing to choose that is called {option!r} with the value {value!r}")

    def tell_options(self) -> None:
        self._tell(schema.ConfigOptionUpdate(session_update="config_option_update", config_options=self.options))

    def _servers_changed(self, before: Callable[[], None] | None) -> Callable[[], None]:
        def changed() -> None:
            if before is not None:
                before()
            self.console.servers_changed()
            self._commands.changed()

        return changed

    def _tell(self, update: Any) -> None:
        self._lines.tell(self.id, update)

    # -- as a UiPort

    @property
    def transcript(self) -> Transcript:
        return self.updates.transcript

    def show(self, event: Event) -> None:
        self.updates.show(event)
        news, call = event_news.News.of(event), self.transcript.calls.get(event_news.call_of(event))
        if news & event_news.News.WAITS and call is not None:
            if call.state is CallState.WAITING:
                self._questions.approve(call)
            elif call.asks:
                self._questions.answer(call)
        elif news & event_news.News.OVER or (
            news & event_news.News.DECIDED and (call is None or not call.waits_for_you)
        ):
            self._questions.over(event_news.call_of(event))

    async def next_slice(self) -> None:
        """Wait for room: an editor that takes no more slows the turn and doesn't fill the memory."""
        self.updates.flush()
        await self._lines.room()

    def tell(self, level: Level, text: str) -> None:
        self._fault = self._fault or (text if level == "error" else "")
        self.updates.note(text, grave=level in ("warning", "error"))

    def toast(self, text: str, seconds: float = 4) -> None:
        self.updates.note(text)

    def tell_whole(self, text: str, at_end: bool) -> None:
        self.updates.note(f"```\n{text}\n```", grave=True)

    def give_back(self, text: str) -> bool:
        return True


def _select(
    name: str, shown: str, category: Any, value: str, options: Sequence[tuple[str, str, str | None]]
) -> schema.SessionConfigOptionSelect:
    return schema.SessionConfigOptionSelect(
        id=name, name=shown, category=category, type="select", current_value=value,
        options=[schema.SessionConfigSelectOption(value=v, name=n, description=about) for v, n, about in options],
    )  # fmt: skip


async def _opened_by_the_editor(_url: str) -> None:
    """Do nothing: the editor itself opens the page once the user agreed."""


_ABOUT = 200
_TERMINAL, _EDITOR = Cannot("it is done in a terminal"), Cannot("the editor has it")
_PROTOCOL = Cannot("the protocol has it: the editor asks, and shows it in its own way")


def editor_ways() -> Ways:
    """Say how an editor has intents that are no command there by themselves: by the protocol, or not at all."""
    return {
        **{name: _TERMINAL for name, one in INTENTS.items() if one.run is None},
        **dict.fromkeys(("policy", "reload", "trust", "call", "rename", "fork", "rewind", "result"), _TERMINAL),
        **dict.fromkeys(("undo", "export", "log", "doctor", "steer", "go", "unsend"), _TERMINAL),
        **dict.fromkeys(("model", "effort", "mode", "plan", "sessions", "resume", "new", "stop"), _PROTOCOL),
        **dict.fromkeys(("approve", "deny", "allow", "answer", "decline", "calls", "show", "inspect"), _PROTOCOL),
        **dict.fromkeys(("help", "keys", "copy", "find", "clear", "editor", "files", "quit", "theme"), _EDITOR),
    }


class EditorCommands:
    """Lists one conversation's slash commands for its editor, and runs them. `tell` takes the list."""

    def __init__(self, console: Console, hub: Hub, tell: Callable[[Any], None]) -> None:
        self._hub = hub
        self._tell = tell
        self._commands = Commands(console)
        self.message_of = self._commands.message_of
        self._commands.use(editor_ways())
        self._read = False
        self._listed: list[tuple[str, str, str]] = []

    async def tell(self) -> None:
        """Read those that people wrote, and list them all."""
        await self._commands.read()
        self._read = True
        self.changed()

    def changed(self) -> None:
        if not self._read or (now := [*self._all()]) == self._listed:
            return
        self._listed = now
        commands = [
            schema.AvailableCommand(name=name, description=one_line(about, _ABOUT) or name, input=_hint(hint))
            for name, about, hint in now
        ]
        self._tell(schema.AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=commands
        ))  # fmt: skip

    def _all(self) -> Iterator[tuple[str, str, str]]:
        own = (bound.intent for bound in self._commands.listed)
        for one in (*own, *(intent_of(name, prompt) for name, prompt in self._hub.typed_prompts().items())):
            yield one.name, one.about, one.argument

    async def run(self, words: str) -> bool:
        """Run a command of Fanout; False for other words."""
        name, rest = parse(words) or ("", "")
        if (command := self._commands.own.get(name)) is None:
            return False
        if (work := self._commands.do(command, rest)) is not None:
            await work()
        return True


def _hint(words: str) -> schema.AvailableCommandInput | None:
    return schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=one_line(words, 60))) if words else None
