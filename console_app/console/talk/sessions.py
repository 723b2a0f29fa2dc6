"""The session a conversation is kept in: another one is opened, this one is forked, renamed, undone, exported, or
rewound to a message. The library stores, the front end shows, and what can't be done is said here."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from console_app.console.ui_port import UiPort
from console_app.domain import FanoutError, Outcome, call_description, one_line, plural, safe_text
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, Transcript, TurnView, results
from console_app.records import dataclass

if TYPE_CHECKING:
    from console_app.console.talk.conversation import Conversation
    from console_app.sessions import ForkPoint, Library, Opened, SessionInfo


def compared(one: Transcript, other: Transcript) -> str:
    lines = list(_differences(one, other))
    return "\n".join(lines) if lines else "They are the same: every call, its result and every answer."


def _differences(one: Transcript, other: Transcript) -> Iterator[str]:
    yield from results.call_differences(_calls(one), _calls(other))
    for number, (text, again) in enumerate(zip_longest(_answers(one), _answers(other), fillvalue=""), 1):
        yield from results.text_difference(f"answer {number}", text, again)


def _calls(transcript: Transcript) -> list[results.ComparedCall]:
    return [
        results.ComparedCall(
            one_line(call.label, 80), call_description.in_words(call), call.arguments, results.shown_text(call)
        )
        for turn in transcript.turns
        for call in turn.calls
    ]


def _answers(transcript: Transcript) -> list[str]:
    return [step.text for turn in transcript.turns for step in turn.steps if step.text.strip()]


EXPORTS_ABOUT = {"md": "Markdown", "html": "a page", "jsonl": "events, to import", "trace": "calls, for Perfetto"}
NOT_SAVED = "Sessions are not kept in this console: save_sessions is off."
READ_ONLY = "This session is open to read only. /fork makes a copy to go on with, /new begins another."
BUSY = "A turn is running. Esc stops it."
CHANGING = "Another session is being opened."
LONG = 5_000  # events of a session that are many

NO_OTHER = "There is no fork to compare with: /compare ID names a session."
GO_ON = "Go on from the result that I changed."

Wanted = Callable[["Library"], Awaitable[str]]
"""Finds or makes the session to go on with; "" where there is none, which was said."""


class Pair(NamedTuple):
    other: SessionInfo
    before: Sequence[ev.Event]
    this: SessionInfo
    now: Sequence[ev.Event]

    @property
    def differences(self) -> str:
        head = f"From “{one_line(self.other.title, 60)}” to this one, “{one_line(self.this.title, 60)}”:"
        return f"{head}\n{compared(Transcript.of(self.before), Transcript.of(self.now))}"


class Sessions:
    """The sessions of one conversation. A method that asks the user must run in a task of its own."""

    def __init__(
        self,
        conversation: Conversation,
        library: Library | None,
        ui: UiPort,
        folder: Path,
        page: Callable[[Sequence[ev.Event], str], str],
        *,
        replayed: bool = False,
    ) -> None:
        """`folder` is where exports go, `page` makes HTML; `replayed` is for a conversation that is only watched."""
        self._conversation = conversation
        self._ui = ui
        self._folder = folder
        self._page = page
        self._replayed = replayed
        self._loading = asyncio.Lock()
        self._collector = Collector()
        self.library = library
        self.disk = Disk(library, ui) if library is not None else None

    @property
    def read_only(self) -> bool:
        return self._replayed or (self.library is not None and self.library.read_only)

    async def settled(self) -> None:
        async with self._loading:
            pass

    # Another session in place of this one

    def begin(self) -> bool:
        if self._is_busy():
            return False
        self._conversation.engine.begin()
        if self.library is not None:
            self.library.begin()
        self._conversation.another_session()
        self._ui.show_new()
        self._ui.changed()
        # Once the front end has let go of what it showed.
        asyncio.get_running_loop().call_soon(self._collector.session_opened, False)
        return True

    async def resume(self, prefix: str) -> None:
        async def found(library: Library) -> str:
            return (await library.store.find(prefix)).id

        await self._try(found)

    async def open(self, session_id: str, *, copy: bool = False) -> None:
        async def named(library: Library) -> str:
            return await library.store.fork(session_id) if copy else session_id

        await self._go_to(named)

    async def _try(self, wanted: Wanted) -> bool:
        try:
            return await self._go_to(wanted)
        except FanoutError as error:
            self._ui.tell("error", error.line)
            return False

    async def _go_to(self, wanted: Wanted) -> bool:
        if (library := self.stored()) is None:
            return False
        changing = self._conversation.changing
        await self._conversation.settled()
        if self._conversation.activity is not None or (changing.locked() and not self._loading.locked()):
            self._ui.toast(BUSY)
            return False
        opened: Opened | None = None
        async with self._loading:
            try:
                with self._ui.another_session():
                    async with changing:
                        if session_id := await wanted(library):
                            opened = await self._opened(library, session_id)
                        if opened is not None:
                            from console_app.sessions import Library

                            self._conversation.another_session()
                            with Library.collector_at_rest():
                                await self._ui.show_stored(opened.events)
                                transcript = Transcript.of(opened.events)
                            self._collector.session_opened(len(opened.events) > LONG)
                            self._conversation.engine.go_on(opened.info.id, transcript)
                            if opened.read_only:
                                self._ui.toast(READ_ONLY, seconds=8)
            finally:
                if opened is None or opened.read_only:
                    prompts: list[str] = []
                    while (text := self._conversation.take_back()) is not None:
                        prompts.insert(0, text)
                    if prompts and not self._ui.give_back("\n\n".join(prompts)):
                        for text in prompts:
                            self._ui.tell("warning", f"Not sent: {text}")
        self._ui.changed()
        if opened is not None and not self.read_only:
            self._conversation.take_up()
        return opened is not None

    async def _opened(self, library: Library, session_id: str) -> Opened | None:
        from console_app.sessions import SessionInUse

        try:
            return await library.open(session_id)
        except SessionInUse as error:
            options = {"fork": "a copy to go on with", "read": "only to read it"}
            how = await self._ui.choose(f"“{one_line(error.info.title, 40)}” is open in another console", options)
        if not how:
            return None
        other = await library.store.fork(session_id) if how == "fork" else session_id
        return await library.open(other, read_only=how == "read")

    # This session

    async def fork(self, turn: str = "") -> None:
        from console_app.sessions import ForkPoint

        if (library := await self.free_to_copy()) is None:
            return
        source, point = library.session_id, None
        if not turn:
            try:
                events = await library.store.load(source)
            except FanoutError as error:
                self._ui.tell("error", error.line)
                return
            point = await self._pick([*ForkPoint.all_of(events), ForkPoint("after everything", events[-1].seq, 0)])
            if point is None or await self._stays_busy():
                return

        async def copied(library: Library) -> str:
            end = point.up_to if point is not None else None
            if point is None:
                end = ForkPoint.end_of(await library.store.load(source), int(turn)) if turn.isdecimal() else None
                if end is None:
                    self._ui.toast(f"There is no turn {one_line(turn, 20)}. /fork alone shows all places.")
                    return ""
            return await library.store.fork(source, end)

        if await self._try(copied):
            self._ui.toast("A copy goes on here. /sessions has the session it was made of.")
            if point is not None and point.prompt:
                self._ui.give_back(point.prompt)

    async def go_on_from(self, call_id: str, content: str) -> None:
        """Goes on with a copy in which the result of a call is another: the model answers from there."""
        if (library := await self.free_to_copy()) is None:
            return
        source = library.session_id
        if await self._try(lambda library: library.store.fork(source, other=(call_id, content))):
            self._ui.toast("This is a copy that goes on from your result. /compare shows both.", seconds=8)
            self._conversation.send(GO_ON)

    async def pair(self, prefix: str = "") -> Pair | None:
        """Return the conversation that this was forked from, its newest fork or the named one, and this one. None, and
        told, where there is none or something runs."""
        if (library := await self.free_to_copy()) is None:
            return None
        store, own = library.store, library.session_id
        other = await (store.find(prefix) if prefix else store.relative(own))
        if other is None or other.id == own:
            self._ui.toast(NO_OTHER)
            return None
        this = await store.find(own)
        return Pair(other, await store.load(other.id), this, await store.load(own))

    async def _pick(self, points: list[ForkPoint]) -> ForkPoint | None:
        by_label = by_turn((point.turn, point.label, point) for point in points)
        picked = await self._ui.choose("Fork", dict.fromkeys(reversed(by_label), ""))
        return by_label.get(picked or "")

    async def undo(self) -> None:
        turn = self._conversation.engine.transcript.turn
        if turn is not None:
            await self.rewind(turn.number)
        else:
            self._ui.toast(READ_ONLY if self.read_only else "There is nothing to undo.")

    async def rewind_to(self, words: str = "") -> None:
        """/rewind: back to before one of your messages, the newest that has `words` or a picked one; it comes back to
        be changed."""
        if self.read_only:
            self._ui.toast(READ_ONLY)
            return
        if await self._stays_busy():
            return
        points = self.rewind_points()
        if not points:
            self._ui.toast("There is no message to rewind to.")
            return
        labels = by_turn((point.turn, one_line(point.prompt, 60), point) for point in points)
        if words:
            fits = [point for point in reversed(points) if words.lower() in point.prompt.lower()]
            if not fits:
                self._ui.toast(f"No message has {one_line(words, 40)} in it. /rewind alone shows them all.")
                return
            point = fits[0]
        else:
            options = {label: labels[label].about for label in reversed(labels)}
            point = labels.get(await self._ui.choose("Rewind to before", options) or "")
        if point is None or await self._stays_busy():
            return
        if point.steered:
            await self._rewind_into(point)
        else:
            await self.rewind(point.turn)

    def rewind_points(self) -> list[RewindPoint]:
        engine = self._conversation.engine

        def only_reads(name: str) -> bool:
            spec = engine.spec(name)
            return spec is not None and spec.annotations.read_only

        points = rewind_points(engine.transcript.turns, only_reads)
        return [point for point in points if not point.steered or self.library is not None]

    async def rewind(self, turn: int) -> None:
        """Takes the turns from `turn` on out of the conversation; they stay stored. That one's prompt comes back."""
        engine, prompt, undone = self._conversation.engine, None, 0
        if self.read_only:
            self._ui.toast(READ_ONLY)
            return
        if await self._stays_busy():
            return
        left = not_undone(next((point.changes for point in self.rewind_points() if point.turn == turn), ()))
        async with self._conversation.changing:
            while (newest := engine.transcript.turn) is not None and newest.number >= turn:
                event = engine.undo_turn()
                if event is None:
                    break
                await self._conversation.deliver(event)
                prompt, undone = newest.prompt, undone + 1
        if prompt is None:
            self._ui.toast("There is nothing to undo.")
            return
        what, it = ("The last turn is", "it") if undone == 1 else (f"The last {undone} turns are", "them")
        self._taken_back(prompt, f"{what} undone", f"/fork can bring {it} back", left)

    async def _rewind_into(self, point: RewindPoint) -> None:
        """Back to a message that joined a turn while it ran: a fork of the session that ends before it."""
        if (library := self.stored(begun=True)) is None:
            return
        source = library.session_id

        async def before_it(library: Library) -> str:
            before = seq_before(await library.store.load(source), point)
            if before is None:
                self._ui.toast("That message is not in the session file any more.")
                return ""
            return await library.store.fork(source, before)

        if not await self._try(before_it):
            return
        self._taken_back(
            point.prompt, "This is a fork that ends before it", "the session itself is whole", not_undone(point.changes)
        )

    def _taken_back(self, prompt: str, what: str, kept: str, left: str) -> None:
        """Say what rewinding did, and give the message back."""
        given = self._ui.give_back(prompt)
        where = "" if given else " The prompt holds something else: the message is in the history."
        self._ui.toast(f"{what}; {kept}.{where}", seconds=6)
        if left:
            self._ui.tell("warning", left)

    async def act(self, action: str, info: SessionInfo) -> None:
        """Do to a stored session what was picked in a list of them."""
        match action:
            case "resume" | "fork":
                await self.open(info.id, copy=action == "fork")
            case "rename":
                await self.rename(session_id=info.id)
            case "delete":
                await self.delete(info)
            case "export":
                await self.export(session_id=info.id)
            case _:
                raise ValueError(action)

    async def rename(self, title: str = "", session_id: str = "") -> None:
        if (library := self.stored(begun=not session_id)) is None:
            return
        try:
            info = await library.store.find(session_id or library.session_id)
            if wanted := title or await self._ui.ask("Rename", f"instead of: {one_line(info.title, 60)}"):
                await library.store.rename(info.id, wanted)
                if info.id == library.session_id:
                    self._ui.toast(f"This session is called “{one_line(wanted, 60)}”.")
        except FanoutError as error:
            self._ui.tell("error", error.line)

    async def delete(self, info: SessionInfo) -> None:
        if (library := self.stored()) is not None and await self._ui.choose(
            f"Delete “{one_line(info.title, 50)}”?", {"keep": "keep it", "delete": "for good"}
        ) == "delete":
            await library.delete(info.id)

    async def export(self, words: str = "", session_id: str = "") -> None:
        from console_app.sessions import export

        if (library := self.stored(begun=not session_id)) is None:
            return
        session_id = session_id or library.session_id
        form, path = (
            export.form_and_path(words) if words else (await self._ui.choose("Export as", EXPORTS_ABOUT) or "", "")
        )
        if form in export.MOVING:
            self._ui.toast(f"The shell makes that: fanout sessions export {session_id[:8]} -o talk.{form}", seconds=8)
        elif words and not form:
            self._ui.toast(
                f"Not exported as {one_line(words, 30)}: {', '.join(EXPORTS_ABOUT)}, or a name that ends so."
            )
        if form not in EXPORTS_ABOUT:
            return
        try:
            info, events = await library.store.find(session_id), await library.store.load(session_id)
            if form == "html":
                text = await asyncio.to_thread(self._page, events, info.title)
            else:
                text = await asyncio.to_thread(export.exported, events, form, info.title, library.redactor)
            suffix = "trace.json" if form == "trace" else form
            name = _expanded(path) if path else Path(f"fanout-{session_id[:8]}.{suffix}")
            written = await asyncio.to_thread(export.write_new, self._folder / name, text)
        except FanoutError as error:
            self._ui.toast(error.line, seconds=8)
        else:
            short = written.relative_to(self._folder) if written.is_relative_to(self._folder) else written
            self._ui.toast(f"Exported to {short}.", seconds=8)

    def stored(self, *, begun: bool = False) -> Library | None:
        """Return the library; None, and told, where nothing is kept or, with `begun`, nothing was said yet."""
        if self.library is None:
            self._ui.toast(NOT_SAVED)
        elif begun and not self.library.session_id:
            self._ui.toast("Nothing was said in this session yet.")
            return None
        return self.library

    async def free_to_copy(self) -> Library | None:
        """Return the library; None, and told, where this session isn't kept, or something runs in it."""
        library = self.stored(begun=True)
        return None if library is None or await self._stays_busy() else library

    async def _stays_busy(self) -> bool:
        await self._conversation.settled()
        return self._is_busy()

    def _is_busy(self) -> bool:
        loading, beside = self._loading.locked(), len(self._conversation.engine.background)
        if busy := loading or self._conversation.busy or beside > 0:
            self._ui.toast(CHANGING if loading else BUSY if self._conversation.busy else in_background(beside))
        return busy


def in_background(count: int) -> str:
    runs, them = ("runs", "it") if count == 1 else ("run", "them")
    return f"{plural(count, 'call')} of this session {runs} in the background. End {them} first (x)."


def _expanded(path: str) -> Path:
    """Expand a typed path; a user who isn't there is a name like any other."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


class Disk:
    """Says once what became of the file that sessions are kept in, as it happens."""

    def __init__(self, library: Library, ui: UiPort) -> None:
        self._store = library.store
        self._ui = ui
        self._problem: str | None = None
        self._set_aside: Path | None = None
        self._salvage_reported = False
        self._store.on_change = self._changed

    def _changed(self) -> None:
        store, ui = self._store, self._ui
        if store.set_aside != self._set_aside:
            self._set_aside = store.set_aside
            ui.tell("warning", f"The session file was damaged. It was kept as {store.set_aside}.")
        elif store.salvaged is not None and not self._salvage_reported:
            self._salvage_reported = True
            kept = "1 session" if store.salvaged == 1 else f"{store.salvaged} sessions"
            ui.tell("info", f"{kept} of the damaged file could be read, in whole or in part, and can be opened.")
        if store.problem is not None:
            ui.tell("warning", store.problem.line)
        elif self._problem is not None:
            ui.tell("info", "Sessions are written again; nothing was lost meanwhile.")
        self._problem = None if store.problem is None else store.problem.line
        ui.changed()


T = TypeVar("T")
NAMED = 5  # calls that are named when they are not undone, and arguments of each; the rest is a number
NOT_RUN = frozenset({Outcome.DENIED, Outcome.BLOCKED, Outcome.SKIPPED, Outcome.INVALID})


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A message of yours that began `turn` or, `steered`, joined it as the `steered`th (from 1). `changes` are the
    calls from there on, not undone."""

    prompt: str
    turn: int
    changes: tuple[CallView, ...]
    turns: int  # that are taken back, this one too
    steered: int = 0

    @property
    def about(self) -> str:
        what = "the rest of its turn" if self.steered else "1 turn"
        if self.turns > 1:
            what = f"{self.turns} turns"
        count = len(self.changes)
        calls = f" · {count} call{'' if count == 1 else 's'} not undone" if count else ""
        return f"undoes {what}{calls}"


def rewind_points(turns: Sequence[TurnView], only_reads: Callable[[str], bool]) -> list[RewindPoint]:
    found: list[RewindPoint] = []
    changes: tuple[CallView, ...] = ()
    for number, turn in enumerate(reversed(turns), 1):
        steered = sum(len(step.steered) for step in turn.steps)
        for step in reversed(turn.steps):
            for message in reversed(step.steered):
                found.append(RewindPoint(message.source or message.content, turn.number, changes, number, steered))
                steered -= 1
            changes = (*(call for call in step.batch.calls if _changed(call, only_reads)), *changes)
        found.append(RewindPoint(turn.prompt, turn.number, changes, number))
    return found[::-1]


def not_undone(changes: Sequence[CallView]) -> str:
    if not changes:
        return ""
    lines = ["Not undone, as these calls may have changed something:"]
    for call in changes[:NAMED]:
        lines += [f"- {one_line(call.label, 80)}", *_arguments(call.arguments or {})]
    if len(changes) > NAMED:
        lines.append(f"and {len(changes) - NAMED} more")
    return "\n".join(lines)


def seq_before(events: Sequence[ev.Event], point: RewindPoint) -> int | None:
    steered = -1  # the first message of a turn is its prompt
    for event in events:
        if not isinstance(event, ev.MessageAdded) or event.agent or event.turn != point.turn:
            continue
        if event.role == "user" and event.origin == "user":
            steered += 1
            if steered == point.steered:
                return event.seq - 1
    return None


def _changed(call: CallView, only_reads: Callable[[str], bool]) -> bool:
    ran = chain((call.started_at,), (run.started_at for run in call.superseded))
    return any(at is not None for at in ran) and call.outcome not in NOT_RUN and not only_reads(call.name)


def _arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in [*arguments.items()][:NAMED]:
        yield f"  {one_line(name, 40)}: {one_line(safe_text.as_text(value), 60)}"
    if len(arguments) > NAMED:
        yield f"  and {len(arguments) - NAMED} more arguments"


def by_turn(points: Iterable[tuple[int, str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for turn, words, point in points:
        label = f"turn {turn} · {words}" if turn else words
        while label in found:
            label += " (again)"
        found[label] = point
    return found


LONG_LOOK = 0.01  # seconds


class FullLooks:
    """A callback for `gc.callbacks` that freezes all objects after a full collection that took long: each would take
    longer than the last. Garbage rings among them stay until another session is opened."""

    def __init__(self, longest: float = LONG_LOOK) -> None:
        self.froze = False
        self._longest, self._began = longest, 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        elif info["generation"] == 2 and time.thread_time() - self._began >= self._longest:
            gc.freeze()
            self.froze = True


full_looks = FullLooks()  # there is one collector


class Collector:
    """Hide an open long session from the garbage collector, and collect what is left of it once it is closed."""

    def __init__(self) -> None:
        self._frozen = False

    def session_opened(self, is_long: bool) -> None:
        """Collect the session that just left the screen, and freeze the objects of a long one that took its place."""
        frozen = self._frozen or full_looks.froze
        if frozen:
            gc.unfreeze()
            gc.collect()
        if is_long or frozen:
            gc.freeze()
        self._frozen = is_long
        full_looks.froze = False
