"""The Textual app: registers themes and pushes the chat screen; and leaves the terminal as it found it.

Imports, settings, servers and the engine take twice as long as an empty Textual app takes to open. So there is first a
screen of the same look that can only be written in, while a thread loads the rest. Then the chat screen takes its
place, with the text that was written. It gets every key that means more than writing, in the order of the keys.

An internal error is told and survived where that can be; else the terminal is given back and one file says what
happened.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.notifications import Notify
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.worker import WorkerFailed

from console_app.config.machine import BrowserPage
from console_app.console import files
from console_app.records import dataclass, field
from console_app.tui.main_screen.base import Survival
from console_app.tui.main_screen.start.startup_screen import StartupScreen
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.terminal.key_order import KeysInOrder
from console_app.tui.textual_internals import end_by_error, end_work, forget_toasts
from console_app.tui.themes import LoadedTheme, StyleSheet, load_themes, themes_named
from console_app.tui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from rich.console import RenderableType

    from console_app.console import Services
    from console_app.tui.main_screen.screen import ChatScreen

INTERRUPT, QUIT_IF_EMPTY = "screen.interrupt", "delete_or_quit"  # what Ctrl+C and Ctrl+D do in the prompt
MOMENT = 0.01  # seconds
LONGEST_WAIT = 5.0  # seconds for a widget to be done with its keys
LONGEST_JOIN = 2.0  # seconds that the end of the program waits for what is still being loaded
DEFAULT_THEME = "fanout-dark"
LIGHT_THEME = "fanout-light"  # in place of the default in a light terminal, where nobody chose one
# In their places where a terminal has sixteen colours: mixed ones come out unreadable.
SIXTEEN_COLOURS, SIXTEEN_ON_LIGHT = "terminal", "terminal-light"
UNCHOSEN = (DEFAULT_THEME, LIGHT_THEME, SIXTEEN_COLOURS, SIXTEEN_ON_LIGHT)
FALLBACK_THEME = "textual-dark"  # of Textual itself: there even if every file of ours is broken
ENDING = 3.0  # seconds from a quit or a signal to the end of the process, whatever hangs
STOPPING = 1.0  # of these, that what runs may take to end,
CLOSING = 1.6  # and then servers and files
ENDING_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT")  # in the program's raw mode Ctrl+C is a key, not SIGINT

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


class FanoutApp(KeysInOrder[int]):
    """The console. Its result is the exit code: 0, or 128 and the number of the signal that ended it."""

    TITLE = "fanout"
    AUTO_FOCUS = "#prompt"
    ENABLE_COMMAND_PALETTE = False  # ours is a list like the others
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "suspend_process", "to the shell", id="app.suspend", priority=True, show=False),
    ]

    def __init__(self, start: Services | StartupParts, *, prompt: str | None = None) -> None:
        """Open on services that are there, or, with `StartupParts`, at once; they are loaded after the first paint."""
        parts = start if isinstance(start, StartupParts) else None
        # The main screen's sheet is named here because Textual reads none for a default screen.
        super().__init__(css_path=["app.tcss", "main_screen/main_screen.tcss"])
        self._parts = parts
        self._startup_screen: StartupScreen | None = None
        self._unpainted = ExitStack()  # holds the first paint back until what was typed before it is in it
        self._moving = False  # from the startup screen to the chat screen
        self._loader: threading.Thread | None = None
        self.failure: BaseException | None = None  # why there is nothing to talk to
        self._services: Services | None = None
        self._prompt = prompt
        self._few_colours = False
        self._survival = Survival()
        self._ending: asyncio.Task[None] | None = None
        self.crash: BaseException | None = None  # what ended the console, when nobody asked for it
        self.crash_report: Path | None = None
        self.kept_session = ""  # at the end: the stored session that was on screen, if anything was said in it
        self._write_crash_report = start.write_crash_report
        self._make_chat: Callable[[], ChatScreen] | None = None
        self.asks_background = parts is not None and not parts.theme_is_set
        ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]  # `FG;BG` or `FG;default;BG`, of sixteen colours
        self._is_light = self.asks_background and ground in ("7", "15")
        if isinstance(start, StartupParts):
            names = (start.theme, DEFAULT_THEME, LIGHT_THEME, SIXTEEN_COLOURS, SIXTEEN_ON_LIGHT)
            self._install_themes(start.theme, themes_named(names, start.theme_dirs), start.keymap)
        else:
            self._make_chat = self._chat_on(start)
        self.stylesheet = StyleSheet(variables=self.get_css_variables())

    def get_default_screen(self) -> Screen[Any]:
        """Return the chat screen, or where services are still to come the one before it; earlier keys wait for it."""
        if self._make_chat is not None:
            return self._make_chat()
        assert self._parts is not None
        self.hold_keys()
        self._unpainted.enter_context(self.batch_update())
        self._startup_screen = StartupScreen(self._parts.history_path, self._parts.working_folder)
        return self._startup_screen

    def _chat_on(self, services: Services) -> Callable[[], ChatScreen]:
        """Return a function that makes the chat screen, to be called on the event loop."""
        from console_app.tui.main_screen.screen import ChatScreen  # takes as long as the first paint

        self._services, self._write_crash_report = services, services.write_crash_report
        themes, problems = load_themes(services.theme_dirs)

        def make() -> ChatScreen:
            self._install_themes(services.theme, themes, services.keymap)
            self.use_motion(services.motion)
            unknown = services.theme not in self.available_themes
            missing = [f"There is no theme {services.theme}. /theme shows what there is."] if unknown else []
            return ChatScreen(services, themes, [*services.problems, *problems, *missing], prompt=self._prompt)

        return make

    def _install_themes(self, theme: str, themes: Iterable[LoadedTheme], keymap: Mapping[str, str]) -> None:
        for entry in themes:
            self.register_theme(entry.theme)
        self._apply_theme(theme)
        self.set_keymap(dict(keymap))

    def _apply_theme(self, theme: str) -> None:
        """Put on a theme, or the one that comes nearest to it."""
        names = [theme]
        if theme == DEFAULT_THEME or (self.asks_background and theme in UNCHOSEN):
            few = SIXTEEN_ON_LIGHT if self._is_light else SIXTEEN_COLOURS
            names = [few, FALLBACK_THEME] if self._few_colours else [LIGHT_THEME if self._is_light else DEFAULT_THEME]
        self.theme = next(name for name in (*names, DEFAULT_THEME, FALLBACK_THEME) if name in self.available_themes)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Define the variables that our style sheets name and Textual's own themes, the last resort, lack."""
        return {"muted": "#a0a0a0"}

    def background_is(self, light: bool) -> None:
        """Take the terminal's word for its background, which decides until a theme is chosen."""
        if self.theme in UNCHOSEN:
            self._is_light = light
            self._apply_theme(DEFAULT_THEME)

    async def run_async(self, **options: Any) -> int:
        """Runs until you quit or a signal ends it; the services are closed whatever happened."""
        handlers = self._install_signal_handlers()
        self._few_colours = not options.get("headless") and self.console.color_system == "standard"
        self._apply_theme(self.theme)
        try:
            result = await super().run_async(**options)
        finally:
            if self._loader is not None:  # not to be cut off, as long as that takes no time
                self._loader.join(LONGEST_JOIN)
            await self._close_services()
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return self.return_code or 0 if result is None else result

    def copy_to_clipboard(self, text: str) -> None:
        """Copy to the terminal's clipboard (OSC 52) and, inside tmux, to tmux's."""
        super().copy_to_clipboard(text)
        if not self.is_headless:
            self.run_worker(partial(files.copy_in_tmux, text, os.environ), group="tmux", exclusive=True)

    # -- the first paint

    async def on_startup_screen_ready(self, message: StartupScreen.Ready) -> None:
        """Begin the slow work when the prompt is painted."""
        message.stop()
        await self.let_go()
        self._unpainted.close()
        message.screen.call_later(message.screen.paint_all_now)
        # The first frame reaches the terminal before a thread takes turns with the one that writes it.
        # Not by Textual's timer: one that is late before it begins never comes.
        message.screen.call_later(asyncio.get_running_loop().call_later, MOMENT, self._begin)

    # -- keys

    def must_wait(self, event: events.Key | events.Paste) -> bool:
        """Tell whether a key must wait for the chat screen. Ctrl+D quits all the same, on an empty prompt."""
        screen = self._startup_screen
        if screen is None or (screen.writes(event) and not self._moving):
            return False
        if screen.ready and screen.action_of(event) == QUIT_IF_EMPTY:
            screen.prompt.call_later(self._quit_if_empty, event)
        return True

    def _quit_if_empty(self, event: events.Key | events.Paste) -> None:
        screen = self._startup_screen
        if screen is not None and not screen.prompt.text and self.held[:1] == [event]:
            self.exit()

    # -- loading

    def _begin(self) -> None:
        self._loader = threading.Thread(target=self._load, args=(asyncio.get_running_loop(),), daemon=True)
        self._loader.start()

    def _load(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._parts is not None
        try:
            outcome = self._chat_on(self._parts.load())
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

    # -- the end

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Ends the console: first what runs and the servers, with the screen kept as long as that takes."""
        if self._ending is not None:
            return
        if not self.is_headless:
            self._end_within(ENDING, result or return_code)
        if self._services is None:
            super().exit(result, return_code, message)
            return
        self._ending = asyncio.create_task(self._end(partial(super().exit, result, return_code, message)))

    async def _end(self, leave: Callable[[], None]) -> None:
        self.notify("Ending …", timeout=ENDING)
        try:
            from console_app.tui.main_screen.screen import ChatScreen  # loaded, since there are services

            for screen in self.screen_stack:
                if isinstance(screen, ChatScreen):
                    await asyncio.wait({asyncio.ensure_future(screen.end())}, timeout=STOPPING)
            await asyncio.wait({asyncio.ensure_future(self._close_services())}, timeout=CLOSING)
        finally:
            leave()

    async def _close_services(self) -> None:
        services, self._services = self._services, None
        try:
            if services is not None:
                if services.library is not None and services.replay is None and services.engine.transcript.turns:
                    self.kept_session = services.engine.session_id
                await services.close()
        except Exception:
            log.exception("closing the services failed")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Keep cursors from blinking: one would move, and repaint an idle program twice a second."""
        if isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    def on_notify(self, event: Notify) -> None:
        """Take away older toasts that say the same, so that each stands once."""
        forget_toasts(self, event.notification.message)

    async def on_event(self, event: events.Event) -> None:
        """Drop keys that would begin something while the console ends, and on a covered screen all but those that stop
        and leave."""
        ends = self._ending is not None and isinstance(event, events.InputEvent | events.Paste)
        leaves = isinstance(event, events.Key) and event.key in ("ctrl+c", "ctrl+d")
        unseen = isinstance(event, events.Key | events.Paste) and not leaves
        if ends or (unseen and self.screen_stack and TooSmall.covers(self.screen)):
            return
        await super().on_event(event)
        screen = self._startup_screen
        if screen is None or not screen.ready or (held := self.held)[-1:] != [event]:
            return
        if [screen.action_of(key) for key in held[-2:]] == [INTERRUPT, INTERRUPT]:
            self.exit()  # although nothing else acts yet

    def _end_within(self, seconds: float, code: int) -> None:
        def end_now() -> None:
            log.error("the console did not end by itself")
            self.restore_now()
            os._exit(code)

        timer = threading.Timer(seconds, end_now)
        timer.daemon = True
        timer.start()

    # -- internal errors

    async def _dispatch_action(self, namespace: DOMNode, action_name: str, params: Any) -> bool:
        try:
            return await super()._dispatch_action(namespace, action_name, params)
        except Exception as error:
            if not self.went_on(error):
                raise
            return True

    def went_on(self, error: Exception) -> bool:
        """Tells an internal error and goes on; False when there were so many that the console had better end."""
        if not self._survival.goes_on(error):
            return False
        self.notify(self._survival.line_of(error), severity="error", markup=False, timeout=10)
        return True

    def _handle_exception(self, error: Exception) -> None:
        """Go on after an error in the task of a dialog, which ends alone. Any other has broken a part for good."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and not self.is_running:
            log.debug("work went on while the console ended, and a part of it was gone", exc_info=cause)
            return
        if isinstance(error, WorkerFailed) and isinstance(cause, Exception) and self.went_on(cause):
            return
        if end_by_error(self, error):
            self.crash = cause
            log.critical("the console ended by an internal error", exc_info=cause)
            if self._write_crash_report is not None:
                self.crash_report = self._write_crash_report(cause)

    # -- the terminal

    def action_suspend_process(self) -> None:
        """Go back to the shell; a page in a browser has none behind it."""
        if BrowserPage.in_use() is None:
            super().action_suspend_process()
        else:
            self.notify("There is no shell behind this page.")

    def _install_signal_handlers(self) -> dict[int, Any]:
        """Have a signal end the app like a key does; Textual alone would leave the terminal raw. Return the handlers
        from before. Plain handlers, as the event loop's own would never run while it hangs."""
        if threading.current_thread() is not threading.main_thread():
            return {}
        loop = asyncio.get_running_loop()

        def ended(number: int, _frame: object) -> None:
            loop.call_soon_threadsafe(self.exit, 128 + number)
            self._end_within(ENDING, 128 + number)

        numbers = [getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)]
        return {number: signal.signal(number, ended) for number in numbers}


async def _done_with_keys(widget: Widget) -> None:
    """Return when `widget` has taken every key that was sent to it so far."""
    done = asyncio.Event()
    if widget.call_later(done.set):
        try:
            await asyncio.wait_for(done.wait(), LONGEST_WAIT)
        except TimeoutError:
            log.warning("%s did not take its keys", widget)
