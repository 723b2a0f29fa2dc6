"""What can be done with sessions from the main screen: go on with one, fork, rename, undo, export, delete.

The screen shows and the library stores; here is only what happens in between, and what is said when it can't be done.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.domain import events as ev
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.tui.long_lived import LongLived

if TYPE_CHECKING:
    from console_app.sessions.library import Library
    from console_app.sessions.places import Place
    from console_app.sessions.tables import SessionInfo
    from console_app.tui.screens.chat import ChatScreen
    from console_app.tui.screens.sessions import Picked

FORMS_ABOUT = {"md": "Markdown", "html": "a page", "jsonl": "events, to import again"}
FORMATS = {"md": "markdown", "html": "html", "jsonl": "jsonl"}
NOT_KEPT = "Sessions are not kept in this console (--no-save, or save_sessions in the configuration)."
LONG = 5_000  # events of a session that are many
READ_ONLY = "This session is open to read only. /fork makes a copy to go on with, /new begins another."


class SessionActions:
    """The sessions of one chat screen. What waits for an answer must run in a worker of that screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._library = screen.services.library
        self._loading = asyncio.Lock()
        self._problem: str | None = None
        self._set_aside: Path | None = None
        self._told_salvaged = False
        self._long_lived = LongLived()
        if self._library is not None:
            self._library.store.on_change = self._storage_changed

    @property
    def read_only(self) -> bool:
        """Whether nothing can be sent in this session."""
        return self._screen.services.replay is not None or (self._library is not None and self._library.read_only)

    async def settled(self) -> None:
        """Returns when no session is being loaded."""
        async with self._loading:
            pass

    async def first(self) -> None:
        """What the command line asks for: a session to go on with, or one to play."""
        services = self._screen.services
        if services.resume:
            await self.resume(services.resume)
        if services.replay is not None:
            async for event in services.replay.play():
                self._screen.show_event(event)

    def begin(self) -> None:
        """/new: the next prompt opens a session of its own."""
        self._screen.services.engine.begin()
        if self._library is not None:
            self._library.begin()
        self._screen.call_later(self._long_lived.session_opened, False)  # once the screen has let go of the old one

    # -- going on with another

    async def browse(self, query: str = "", select: str = "") -> None:
        """The list, again after each change that was made in it, until one is picked or it is left."""
        from console_app.tui.screens.sessions import SessionsScreen

        if (library := self._ready()) is None:
            return
        while True:
            screen = SessionsScreen(
                library.store,
                current=library.session_id,
                query=query,
                select=select,
                clock=self._screen.services.clock,
            )
            picked = await self._screen.app.push_screen_wait(screen)
            if picked is None:
                return
            query, select = picked.query, picked.info.id
            try:
                if not await self._act(picked, library):
                    return
            except FanoutError as error:
                self._screen.toast(error.line, seconds=8)

    async def resume(self, prefix: str) -> None:
        """Goes on with the session whose id begins so."""
        if (library := self._ready()) is None:
            return
        try:
            await self._open((await library.store.find(prefix)).id, library)
        except FanoutError as error:
            self._screen.tell("error", error.line)

    async def _act(self, picked: Picked, library: Library) -> bool:
        """Does what was picked; whether the list comes back."""
        info = picked.info
        match picked.action:
            case "resume":
                await self._open(info.id, library)
                return False
            case "fork":
                await self._open(await library.store.fork(info.id), library)
                return False
            case "rename":
                if title := await self._ask_title(info):
                    await library.store.rename(info.id, title)
            case "delete":
                if await self._ask(f"Delete “{one_line(info.title, 50)}”?", {"keep": "keep it", "delete": "for good"}):
                    await library.delete(info.id)
            case "export":
                form = await self._choose(
                    "Export as", {"md": "Markdown", "html": "a page", "jsonl": "events, to import"}
                )
                if form:
                    await self._export(info.id, form, "", library)
        return True

    async def _open(self, session_id: str, library: Library, *, read_only: bool = False) -> None:
        from console_app.sessions.library import SessionInUse, collector_at_rest

        screen = self._screen
        if screen.driver.busy and self._started:
            screen.toast("A turn is running. Esc stops it.")
            return
        try:
            async with self._loading:
                opened = await library.open(session_id, read_only=read_only)
                with collector_at_rest():
                    await screen.show_stored(opened.events)
                self._long_lived.session_opened(len(opened.events) > LONG)
                screen.services.engine.go_on(
                    opened.info.id, screen.transcript, first_turn=opened.next_turn, first_seq=opened.next_seq
                )
        except SessionInUse as error:
            options = {"fork": "a copy to go on with", "read": "only to read it"}
            how = await self._choose(f"“{one_line(error.info.title, 40)}” is open in another console", options)
            if how:
                other = await library.store.fork(session_id) if how == "fork" else session_id
                await self._open(other, library, read_only=how == "read")
            else:
                self._take_back()
            return
        screen.refresh_status()
        if opened.read_only:
            screen.toast(READ_ONLY, seconds=8)
            self._take_back()

    def _take_back(self) -> None:
        """A prompt that waited for its session, which did not open: back into the prompt, not into another one."""
        while (text := self._screen.driver.take_back()) is not None:
            self._screen.prompt.put(text)

    @property
    def _started(self) -> bool:
        return self._screen.driver.turn is not None

    # -- changing this one

    async def rename(self, title: str) -> None:
        """/rename: gives this session a title."""
        if (library := self._ready(kept=True)) is None:
            return
        try:
            info = await library.store.find(library.session_id)
            if wanted := title or await self._ask_title(info):
                await library.store.rename(info.id, wanted)
                self._screen.toast(f"This session is called “{one_line(wanted, 60)}”.")
        except FanoutError as error:
            self._screen.tell("error", error.line)

    async def fork(self, turn: str) -> None:
        """/fork: a copy up to a turn, or up to a message that you pick, to go on with."""
        from console_app.sessions.places import Place, end_of_turn, places

        if (library := self._ready(kept=True)) is None or self._is_busy():
            return
        try:
            events = await library.store.load(library.session_id)
            if turn:
                end = end_of_turn(events, int(turn)) if turn.isdecimal() else None
                place = Place("", end, int(turn)) if end is not None else None
                if place is None:
                    self._screen.toast(f"There is no turn {one_line(turn, 20)}. /fork alone shows all places.")
            else:
                place = await self._ask_place([*places(events), Place("behind everything", events[-1].seq, 0)])
            if place is None:
                return
            await self._open(await library.store.fork(library.session_id, place.up_to), library)
            if place.prompt:
                self._screen.prompt.put(place.prompt)
        except FanoutError as error:
            self._screen.tell("error", error.line)

    async def undo(self) -> None:
        """/undo: the newest turn leaves the history and the screen; its prompt comes back to be changed."""
        screen = self._screen
        turn = screen.transcript.turn
        if self.read_only:
            screen.toast(READ_ONLY)
        elif turn is None:
            screen.toast("There is nothing to undo.")
        elif not self._is_busy():
            engine = screen.services.engine
            await screen.driver.deliver(engine.stamp(ev.TurnUndone(undone=turn.number)))
            engine.take_back(screen.transcript)
            if not screen.prompt.text:
                screen.prompt.put(turn.prompt)
            screen.toast("The last turn is undone; nothing that tools did is. /fork can bring it back.")

    async def export(self, rest: str) -> None:
        """/export [md|html|jsonl] [PATH]."""
        if (library := self._ready(kept=True)) is None:
            return
        form, _, path = rest.partition(" ")
        if form not in FORMATS:
            path = rest
            form = Path(path).suffix.removeprefix(".") if Path(path).suffix.removeprefix(".") in FORMATS else "md"
        try:
            await self._export(library.session_id, form, path.strip(), library)
        except FanoutError as error:
            self._screen.toast(error.line, seconds=8)

    async def _export(self, session_id: str, form: str, path: str, library: Library) -> None:
        from console_app.sessions.export import export, write_new

        info, events = await library.store.find(session_id), await library.store.load(session_id)
        text = await asyncio.to_thread(export, events, FORMATS[form], info.title)
        folder = self._screen.services.working_folder
        target = folder / Path(path).expanduser() if path else folder / f"fanout-{session_id[:8]}.{form}"
        self._screen.toast(f"Exported to {await asyncio.to_thread(write_new, target, text)}.", seconds=8)

    # -- asking

    async def _choose(self, title: str, options: dict[str, str]) -> str | None:
        from console_app.tui.screens.pick_list import Choice, PickList

        choices = [Choice(value, about) for value, about in options.items()]
        return await self._screen.app.push_screen_wait(PickList(title, choices, hint="arrows and enter"))

    async def _ask(self, title: str, options: dict[str, str]) -> bool:
        """Whether the second of two options was picked; the first is the harmless one, and highlighted."""
        return await self._choose(title, options) == list(options)[1]

    async def _ask_title(self, info: SessionInfo) -> str:
        from console_app.tui.screens.pick_list import PickList

        hint = one_line(info.title, 60)
        return (
            await self._screen.app.push_screen_wait(PickList("Rename", (), hint=f"instead of: {hint}", free_text=True))
            or ""
        )

    async def _ask_place(self, places: list[Place]) -> Place | None:
        """Picks a place, the newest first."""
        from console_app.tui.screens.pick_list import Choice, PickList

        by_label = {f"{number}. {place.label}": place for number, place in enumerate(places, 1)}
        choices = [Choice(label) for label in reversed(by_label)]
        picked = await self._screen.app.push_screen_wait(PickList("Fork", choices))
        return by_label.get(picked or "")

    def _ready(self, *, kept: bool = False) -> Library | None:
        """The library; None, and said why, where nothing is kept, or with `kept` nothing of this session yet."""
        if self._library is None:
            self._screen.toast(NOT_KEPT)
        elif kept and not self._library.session_id:
            self._screen.toast("Nothing was said in this session yet.")
            return None
        return self._library

    def _is_busy(self) -> bool:
        if self._screen.driver.busy:
            self._screen.toast("A turn is running. Esc stops it.")
            return True
        return False

    # -- the disk

    def _storage_changed(self) -> None:
        """Says at once what became of the disk; the status bar says it as long as it lasts."""
        assert self._library is not None
        store = self._library.store
        if store.set_aside != self._set_aside:
            self._set_aside = store.set_aside
            text = f"The session file was damaged. It was kept as {store.set_aside}."
            self._screen.tell("warning", text)
            if not self._screen.talking:  # the first prompt met it, and takes the opening page away
                self._screen.view.add_notice("warning", text)
        elif store.salvaged is not None and not self._told_salvaged:
            self._told_salvaged = True
            kept = "1 session" if store.salvaged == 1 else f"{store.salvaged} sessions"
            self._screen.tell(
                "info", f"{kept} of the damaged file could be read, in whole or in part, and can be opened."
            )
        if store.problem is not None:
            self._screen.tell("warning", store.problem.line)
        elif self._problem is not None:
            self._screen.tell("info", "Sessions are written again; nothing was lost meanwhile.")
        self._problem = None if store.problem is None else store.problem.line
        self._screen.refresh_status()
