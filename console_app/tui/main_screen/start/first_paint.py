"""Paint and take keys before there is anything to talk to: the slow parts load after the first paint.

Imports, settings, servers and the engine take twice as long as an empty Textual app takes to open. So there is first a
screen of the same look that can only be written in, while a thread loads the rest. Then the chat screen takes its
place, with the text that was written. It gets every key that means more than writing, in the order of the keys.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ReturnType
from textual.widget import Widget

from console_app.tui.main_screen.start.startup_screen import StartupScreen
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.terminal.key_order import KeysInOrder
from console_app.tui.textual_internals import end_work

if TYPE_CHECKING:
    from console_app.console import Services
    from console_app.tui.main_screen.screen import ChatScreen

INTERRUPT, QUIT_IF_EMPTY = "screen.interrupt", "delete_or_quit"  # what Ctrl+C and Ctrl+D do in the prompt
MOMENT = 0.01  # seconds
LONGEST_WAIT = 5.0  # seconds for a widget to be done with its keys
LONGEST_JOIN = 2.0  # seconds that the end of the program waits for what is still being loaded

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartupParts:
    """Holds what the first paint needs to know; the rest comes from `load`."""

    load: Callable[[], Services]  # called in a thread; what it raises ends the console
    history_path: Path
    theme_dirs: Sequence[Path]  # as in Services; so are those that follow
    theme: str
    working_folder: Path
    keymap: Mapping[str, str] = field(default_factory=dict[str, str])
    write_crash_report: Callable[[BaseException], Path | None] | None = None
    theme_is_set: bool = True  # False: nobody said one, so that the terminal's background decides


class StartupApp(KeysInOrder[ReturnType]):
    """An app whose first screen is a `StartupScreen`, if it is given `StartupParts`; else its default screen."""

    def __init__(self, parts: StartupParts | None, **options: Any) -> None:
        super().__init__(**options)
        self._parts = parts
        self._startup_screen: StartupScreen | None = None
        self._unpainted = ExitStack()  # holds the first paint back until what was typed before it is in it
        self._moving = False  # from the startup screen to the chat screen
        self._loader: threading.Thread | None = None
        self.failure: BaseException | None = None  # why there is nothing to talk to

    @abstractmethod
    def load(self, parts: StartupParts) -> Callable[[], ChatScreen]:
        """Load everything, in a thread. The function that it returns makes the chat screen, on the event loop."""

    def startup_screen(self) -> StartupScreen:
        """Return the first screen. Keys from before it is there wait for it."""
        assert self._parts is not None
        parts = self._parts
        self.hold_keys()
        self._unpainted.enter_context(self.batch_update())
        self._startup_screen = StartupScreen(parts.history_path, parts.working_folder)
        return self._startup_screen

    async def on_startup_screen_ready(self, message: StartupScreen.Ready) -> None:
        """Begin the slow work when the prompt is painted."""
        message.stop()
        await self.let_go()
        self._unpainted.close()
        # The first frame reaches the terminal before a thread takes turns with the one that writes it.
        # Not by Textual's timer: one that is late before it begins never comes.
        message.screen.call_after_refresh(asyncio.get_running_loop().call_later, MOMENT, self._begin)

    # -- keys

    def must_wait(self, event: events.Key | events.Paste) -> bool:
        """Tell whether a key must wait for the chat screen. Ctrl+D quits all the same, when the prompt is empty by
        then."""
        screen = self._startup_screen
        if screen is None or (screen.writes(event) and not self._moving):
            return False
        if screen.ready and screen.action_of(event) == QUIT_IF_EMPTY:
            screen.prompt.call_later(self._quit_if_empty, event)
        return True

    def _quit_if_empty(self, event: events.Key | events.Paste) -> None:
        """Quit if the prompt is empty, now that it has every key from before `event`."""
        screen = self._startup_screen
        if screen is not None and not screen.prompt.text and self.held[:1] == [event]:
            self.exit()

    async def on_event(self, event: events.Event) -> None:
        """Ctrl+C twice quits although nothing else acts yet."""
        await super().on_event(event)
        screen = self._startup_screen
        if screen is None or not screen.ready or (held := self.held)[-1:] != [event]:
            return
        if [screen.action_of(key) for key in held[-2:]] == [INTERRUPT, INTERRUPT]:
            self.exit()

    # -- loading

    def _begin(self) -> None:
        self._loader = threading.Thread(target=self._load, args=(asyncio.get_running_loop(),), daemon=True)
        self._loader.start()

    def _load(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._parts is not None
        try:
            outcome = self.load(self._parts)
        except BaseException as error:  # nobody else would hear of it, and the console would wait for ever
            outcome = error
        with suppress(RuntimeError):  # the loop is closed: it was quit meanwhile
            loop.call_soon_threadsafe(self.call_later, self._finish_loading, outcome)

    async def _finish_loading(self, outcome: Callable[[], ChatScreen] | BaseException) -> None:
        if self.return_code is not None:
            return  # it was quit meanwhile
        if isinstance(outcome, BaseException):
            self.failure = outcome
            self.exit()
            return
        self._moving = True
        if self.key_under_way:  # its binding acts when the key has come up to the app, which is busy here
            asyncio.get_running_loop().call_later(MOMENT, self.call_later, self._finish_loading, outcome)
            return
        opened, self._startup_screen = self._startup_screen, None
        assert opened is not None
        self.hold_keys()
        await _done_with_keys(opened.prompt)
        with self.batch_update():  # or a frame would show the chat screen half made
            chat = outcome()
            await self.push_screen(chat)
            if not chat.query("#prompt"):
                return  # it was quit meanwhile
            chat.prompt.take_over(opened.prompt)
            await _done_with_keys(chat.prompt_field)
            for text in opened.sent:
                chat.prompt_area.take(text)
            if opened.begins and not (opened.sent or chat.prompt.text):
                chat.prompt.post_message(Prompt.BeginRequested())
        await self.let_go()
        end_work(opened)  # before its widgets go: a list of files may come just now
        opened.remove_children()  # the screen itself stays below: Textual never takes away the first


async def _done_with_keys(widget: Widget) -> None:
    """Return when `widget` has taken every key that was sent to it so far."""
    done = asyncio.Event()
    if widget.call_later(done.set):
        try:
            await asyncio.wait_for(done.wait(), LONGEST_WAIT)
        except TimeoutError:
            log.warning("%s did not take its keys", widget)
