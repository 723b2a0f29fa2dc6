"""Runs single items, each a conversation of its own with one turn (or the calls it was given), on shared servers."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console_app.batch import answer_schema
from console_app.batch.cassettes import ItemPlayback, ItemRecording
from console_app.batch.results_file import NotedChanges
from console_app.config.files import disk
from console_app.config.models import ModelChoice
from console_app.config.secrets import Redactor
from console_app.config.settings import SCRIPTED
from console_app.console import ConfiguredModels
from console_app.domain import (
    AssistantMessage,
    Attachment,
    ConfigError,
    Event,
    FanoutError,
    Outcome,
    ToolResult,
    ToolSpec,
    UserMessage,
    batch,
    event_news,
    ports,
)
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings
from console_app.domain.steady_time import steady_time
from console_app.domain.transcript import CallView
from console_app.engine import (
    ApprovalGate,
    Engine,
    ManualCall,
    ManualCallsProvider,
    Slots,
    Turn,
    find_tools,
)
from console_app.records import dataclass, field, replace
from console_app.sessions import export

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=#-]{0,99}")
# Items whose conversations, full of cycles, are collected together: left to itself the collector waits for hundreds,
# and holds the loop up for a fifth of a second.
_COLLECTED = 40
Tell = Callable[[batch.BatchEvent], None]
Note = Callable[[], Awaitable[bool]]
log = logging.getLogger(__name__)


if TYPE_CHECKING:
    from console_app.providers import ScriptedProvider

DEFAULT_JOBS = 32


class SharedModels:
    """Opens a provider an item. A model has to be loaded before it is opened."""

    def __init__(self, source: ConfiguredModels) -> None:
        self._source = source
        self._choices: dict[str, ModelChoice] = {}
        self._wires: dict[str, ports.Provider] = {}
        self._scripts: dict[str, ScriptedProvider] = {}

    async def load(self, name: str = "") -> ModelChoice:
        """Import what the first request to PROVIDER/MODEL needs ("": the settings' model). Raises FanoutError."""
        if name not in self._choices:
            choice = self._source.choose(name)
            await asyncio.to_thread(self._load, choice)
            self._choices[name] = await self._source.named(choice)
        return self._choices[name]

    def choice(self, name: str = "") -> ModelChoice:
        return self._choices[name]

    def open(self, name: str = "") -> ports.Provider:
        return self._source.open(self._choices[name], self._wire)

    @property
    def jobs(self) -> int:
        return self._source.limits.fit or DEFAULT_JOBS

    @property
    def paused(self) -> float:
        """Return the seconds for which every endpoint holds its requests back."""
        return self._source.limits.paused

    async def close(self) -> None:
        wires, self._wires = list(self._wires.values()), {}
        await asyncio.gather(*(wire.close() for wire in wires))

    def _load(self, choice: ModelChoice) -> None:
        self._source.load(choice)
        if choice.provider == SCRIPTED:
            self._played(choice.model)
        self._source.open(choice)  # for its imports; what reads an answer is imported while the first is waited for

    def _wire(self, choice: ModelChoice) -> ports.Provider:
        if choice.provider == SCRIPTED:  # which plays its script once a conversation
            return self._played(choice.model)
        if (wire := self._wires.get(choice.name)) is None:
            from console_app.providers import open_provider

            config = choice.config
            assert config is not None
            limiter = self._source.limits.of(config)
            wire = self._wires[choice.name] = open_provider(config, self._source.refusals, limiter)
        return wire

    def _played(self, path: str) -> ports.Provider:
        from console_app.providers import ScriptedProvider

        if path not in self._scripts:
            self._scripts[path] = ScriptedProvider(Path(path))
        return self._scripts[path].from_its_beginning()


class EventFiles:
    """Files in `folder`, which is made. Raises ConfigError where that can't be written."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._folder = folder
        self.redactor = redactor
        try:
            disk.private_folder(folder)
        except OSError as error:
            raise ConfigError(f"can't write {folder}: {error.strerror or error}") from None

    async def write(self, item_id: str, events: Sequence[Event]) -> None:
        text = export.as_json_lines(events, self.redactor)
        await asyncio.to_thread(disk.write_private, self.path(item_id), text)

    def path(self, item_id: str) -> Path:
        """Return the file of an item; an id that can't be a file's name is hashed."""
        plain = _PLAIN.fullmatch(item_id) is not None
        name = item_id if plain else hashlib.sha256(item_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return self._folder / f"{name}.jsonl"


@dataclass(slots=True)
class TurnWorker:
    """An ItemWorker. Any number of items run at once, and share all that is given here. `attach` reads an item's files,
    and may raise FanoutError. `instructions` gives the servers' words."""

    models: SharedModels
    toolset: ports.Toolset
    settings: EngineSettings
    gate: ApprovalGate
    attach: Callable[[Sequence[str]], Awaitable[tuple[Attachment, ...]]]
    instructions: Callable[[], str] = lambda: ""
    event_files: EventFiles | None = None
    record: EventFiles | None = None  # where each item's traffic with models and servers is kept
    replay: EventFiles | None = None  # where it is played back from, in place of these
    slots: Slots = field(default_factory=Slots)
    hooks: ports.Workplace | None = None  # around calls
    _running: dict[str, _Running] = field(default_factory=dict[str, "_Running"], init=False)
    _watched: str | None = field(default=None, init=False)
    _ended: int = field(default=0, init=False)
    _events_missed: bool = field(default=False, init=False)

    async def run(self, item: batch.WorkItem, tell: Tell, note: Note) -> batch.ItemResult:
        """Run one item to its end. Whatever goes wrong is in the result; cancelling the task makes it `cancelled`."""
        running = self._running[item.id] = _Running(item, tell, note, watched=self._watched == item.id)
        try:
            return await self._result(running)
        finally:
            del self._running[item.id]
            self._ended += 1
            if self._ended % _COLLECTED == 0:
                gc.collect()

    def watch(self, item_id: str | None) -> None:
        """Tell the turn events of this item from now on, those that there were first."""
        if (before := self._running.get(self._watched or "")) is not None:
            before.watched = False
        self._watched = item_id
        if (running := self._running.get(item_id or "")) is not None:
            running.show_all()

    async def _result(self, running: _Running) -> batch.ItemResult:
        item = running.item
        running.tell(batch.ItemStarted(item=item.id, model=item.model, at=running.began))
        try:
            engine = self._engine(running)
            message = await self._message(item)
        except FanoutError as error:
            return running.result("failed", error=error.line)
        running.engine = engine
        try:
            try:
                return await self._answered(running, engine, message)
            except asyncio.CancelledError:
                return running.result("cancelled")
            except Exception as error:  # a fault of ours ends this item alone
                log.exception("item %s failed", item.id)
                return running.result("failed", error=f"{type(error).__name__}: {error} (see the log)")
        finally:
            await self._keep_events(running)

    async def _keep_events(self, running: _Running) -> None:
        """Keep the events; a disk that doesn't take them costs no result, and the first time is told."""
        try:
            if (files := self.event_files) is not None:
                await files.write(running.item.id, running.events)
            if (recording := running.recording) is not None:
                await asyncio.to_thread(recording.write)
        except FanoutError as error:
            if not self._events_missed:
                self._events_missed = True
                running.tell(batch.EngineNotice(text=f"Not all events are kept: {error.detail}"))

    async def _answered(self, running: _Running, engine: Engine, message: UserMessage) -> batch.ItemResult:
        item, schema = running.item, running.item.answer_schema
        running.keep(engine.session_event())
        while True:
            turn = await self._turn(running, engine.start(message))
            status, error = _ending(turn)
            if status != "completed" or schema is None:
                failed = [call for call in engine.transcript.calls.values() if call.outcome is not Outcome.SUCCEEDED]
                if status == "completed" and item.calls and failed:
                    return running.result("failed", error=failed[0].error or f"{failed[0].label} {failed[0].outcome}")
                return running.result(status, error=error)
            try:
                return running.result("completed", structured=answer_schema.read(running.answer, schema))
            except answer_schema.NotFitting as wrong:
                if running.tries > 1:
                    return running.result("invalid", error=f"the answer doesn't fit its schema: {wrong}")
                message = UserMessage(content=answer_schema.again(str(wrong)))
            running.tries += 1

    async def _turn(self, running: _Running, turn: Turn) -> Turn:
        async with turn:
            while events := await turn.next_slice(ch.SLICE):
                for event in events:
                    running.keep(event)
        return turn

    # What an item runs on

    def _engine(self, running: _Running) -> Engine:
        item = running.item
        toolset: ports.Toolset = NotedChanges(self.toolset, running.note)
        played = None
        if self.replay is not None:
            toolset = played = ItemPlayback(self.replay.path(item.id), self.replay.redactor)
        elif self.record is not None:
            running.recording = ItemRecording(self.record.path(item.id), toolset, self.record.redactor)
            toolset = running.recording.toolset
        if item.allowed_tools is not None:
            toolset = AllowedTools(toolset, item.allowed_tools)
        made: Callable[..., Engine] = partial(Engine, toolset=toolset, slots=self.slots, workplace=self.hooks)
        if item.calls:
            calls = [ManualCall(call.tool, call.arguments) for call in item.calls]
            gate = ManualCallsProvider.gate(self.gate.mode, self.gate.rules, bindings=self.gate.bindings)
            provider = ManualCallsProvider(calls, find_tools(calls, toolset.tools()))
            return made(provider=provider, settings=self.settings, gate=gate)
        parts = [self.settings.system_prompt if item.system is None else item.system, self.instructions()]
        if item.answer_schema is not None:
            parts.append(answer_schema.request(item.answer_schema))
        settings = replace(
            self.settings,
            system_prompt="\n\n".join(filter(None, parts)),
            max_price=self.settings.max_price if item.max_price is None else item.max_price,
        )
        provider = played or self.models.open(item.model)
        if running.recording is not None:
            provider = running.recording.of(provider)
        return made(provider=provider, settings=settings, gate=self.gate)

    async def _message(self, item: batch.WorkItem) -> UserMessage:
        message = UserMessage(content=item.prompt)
        if item.attachments:
            message = message.model_copy(update={"attachments": await self.attach(item.attachments)})
        return message


class _Running:
    def __init__(self, item: batch.WorkItem, tell: Tell, note: Note, *, watched: bool) -> None:
        self.item = item
        self.tell = tell
        self.note = note
        self.watched = watched
        self.began = steady_time()
        self.engine: Engine | None = None
        self.recording: ItemRecording | None = None
        self.tries = 1
        self.events: list[ev.Event] = []  # without those that are only shown

    def keep(self, event: ev.Event) -> None:
        if not event.shown_only:
            self.events.append(event)
        if self.watched:
            self._show(event)
        if event_news.News.of(event) & event_news.News.MOVES and self.engine is not None:
            call = self.engine.transcript.calls.get(event_news.call_of(event))
            if call is not None:
                spec = self.engine.spec(call.name)
                label = f"{call.server}.{call.tool}" if call.server else call.name
                read_only = spec is not None and (spec.builtin or spec.annotations.read_only)
                self.tell(
                    batch.ItemCallChanged(
                        item=self.item.id,
                        call_id=call.id,
                        label=label,
                        state=call.state,
                        outcome=call.outcome,
                        read_only=read_only,
                        at=steady_time(),
                    )
                )

    def show_all(self) -> None:
        self.watched = True
        step = self.engine.transcript.step if self.engine is not None else None
        begun = next((event for event in reversed(self.events) if isinstance(event, ev.StepStarted)), None)
        for event in self.events:
            self._show(event)
            if event is begun and step is not None and step.text and not step.done:
                self._show(ev.TextDelta(text=step.text))  # what it has said so far

    def _show(self, event: ev.Event) -> None:
        self.tell(batch.ItemTurnEvent(item=self.item.id, event=event.model_dump(mode="json")))

    @property
    def answer(self) -> str:
        if self.engine is None:
            return ""
        if self.item.calls:
            return "\n\n".join(call.content for call in self.engine.transcript.calls.values())
        for message in reversed(self.engine.history):
            if isinstance(message, AssistantMessage) and message.label is None and message.content:
                return message.content
        return ""

    def result(self, status: batch.ItemStatus, *, error: str | None = None, structured: Any = None) -> batch.ItemResult:
        transcript = self.engine.transcript if self.engine is not None else None
        model, usage = self.item.model, batch.ItemUsage()
        if transcript is not None and self.engine is not None:
            model = "" if self.item.calls else f"{self.engine.provider.name}/{self.engine.provider.model}"
            usage = batch.ItemUsage.model_validate(transcript.usage, from_attributes=True)
        return batch.ItemResult(
            id=self.item.id,
            item=self.item.digest,
            status=status,
            answer=self.answer,
            structured=structured,
            error=error,
            model=model,
            calls=tuple(_kept(call) for call in transcript.calls.values()) if transcript is not None else (),
            usage=usage,
            started_at=round(self.began, 3),
            finished_at=round(steady_time(), 3),
            tries=self.tries,
            source=self.item.source,
        )


class AllowedTools:
    def __init__(self, inner: ports.Toolset, patterns: Sequence[str]) -> None:
        self._inner = inner
        self._patterns = patterns

    def tools(self) -> Sequence[ToolSpec]:
        return [
            spec for spec in self._inner.tools() if any(fnmatchcase(spec.label, pattern) for pattern in self._patterns)
        ]

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        return await self._inner.call(invocation, reporter)


def _ending(turn: Turn) -> tuple[batch.ItemStatus, str | None]:
    if turn.timed_out:
        return "timed_out", turn.error
    if turn.outcome == "failed":
        return "failed", turn.error
    if turn.approvals_missed:
        missed = sorted({one.tool for one in turn.approvals_missed})
        return "approval", f"a call needed an approval and nobody could give it: {', '.join(missed)}"
    if unread := turn.unread_line:
        return "failed", unread
    if turn.outcome in ("step_limit", "cancelled"):
        return turn.outcome, turn.error
    return "completed", None


def _kept(call: CallView) -> batch.ItemCall:
    return batch.ItemCall(
        server=call.server,
        tool=call.tool or call.name,
        arguments=call.arguments,
        outcome=call.outcome or Outcome.INTERRUPTED,
        content=call.content,
        error=call.error,
        duration_ms=call.duration_ms,
    )
