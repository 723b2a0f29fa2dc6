"""Define the main screen's keys and room, as they are before there is anything to talk to, and after."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from textual import events, getters, messages
from textual.binding import Binding, BindingType
from textual.reactive import var
from textual.widgets.text_area import Selection

from console_app.domain import one_line
from console_app.tui.main_screen.start.welcome import Welcome
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.prompt.prompt_box import PromptBox
from console_app.tui.terminal.key_order import KeysInOrder
from console_app.tui.textual_internals import TimedScreen, end_work
from console_app.tui.widgets.too_small import TooSmall

PROMPT_PERIOD = 1 / 100  # seconds between two paints of what is typed
IDLE = (("/", "commands"), ("@", "files"), ("prompt.help", "help"))  # hints while nothing runs


class MainScreen(TimedScreen):
    """The keys that the hints name. Imports next to nothing, since the first paint waits for it."""

    app = getters.app(KeysInOrder.typed)

    AUTO_FOCUS = "#prompt"
    HORIZONTAL_BREAKPOINTS = TooSmall.BREAKPOINTS_ACROSS
    VERTICAL_BREAKPOINTS = TooSmall.BREAKPOINTS_DOWN
    BINDINGS: ClassVar[list[BindingType]] = [
        # Two bindings of one key: the first that is enabled acts. The line that says what runs names it.
        Binding("escape", "stop", "stop", tooltip="stop the turn", id="chat.stop", show=False),
        Binding("escape", "close", "close what is open", id="chat.close", show=False),
        Binding("ctrl+s", "steer", "send now", tooltip="send into the running turn", id="chat.steer"),
        Binding("alt+up", "go('panel', -1)", "previous panel or message", id="chat.panel_up", show=False),
        Binding("alt+down", "go('panel', 1)", "next panel or message", id="chat.panel_down", show=False),
        *(
            Binding(f"alt+{n}", f"go('call', {n})", "a call of the newest batch", id=f"chat.call_{n}", show=False)
            for n in range(1, 10)
        ),
        Binding(
            "shift+tab",
            "cycle_mode",
            "mode",
            tooltip="approval mode of later calls: ask, auto, plan, yolo",
            id="chat.mode",
        ),
        Binding("alt+p", "toggle_plan", "plan mode, and back", id="chat.plan", show=False),
        Binding("ctrl+f", "command('find')", "find", tooltip="find in the conversation", id="chat.find", show=False),
        Binding("alt+pageup", "go('turn', -1)", "message of the previous turn", id="chat.turn_up", show=False),
        Binding("alt+pagedown", "go('turn', 1)", "message of the next turn", id="chat.turn_down", show=False),
        Binding("alt+e", "go('failed', -1)", "scroll to the previous failed call", id="chat.failed_up", show=False),
        Binding(
            "alt+E,alt+shift+e", "go('failed', 1)", "scroll to the next failed call", id="chat.failed_down", show=False
        ),
        Binding("alt+0", "go('failure', 1)", "select the next failed call", id="chat.call_failed", show=False),
        Binding("tab", "go_on", "next pending approval, or next panel", id="chat.next", show=False),
        Binding("ctrl+o", "toggle_all", "open all", tooltip="open or fold all results", id="chat.toggle_all"),
        Binding("ctrl+t", "command('timeline')", "timeline", id="chat.timeline"),
        Binding("ctrl+l", "command('mcp')", "servers", id="chat.servers"),
        Binding("alt+t", "command('trust')", "trust what the project brings", id="chat.trust", show=False),
        Binding("alt+r", "command('run')", "run a call that was only shown", id="chat.run", show=False),
        Binding("ctrl+r", "search_history", "search the prompt history", id="chat.history", show=False),
        Binding("ctrl+g", "command('editor')", "write in $EDITOR", id="chat.editor", show=False),
        Binding("f1", "command('help')", "help", id="chat.help"),
        Binding("ctrl+p", "commands", "commands", id="app.commands"),
        Binding("ctrl+b", "background", "to the background", id="chat.background", show=False),
        Binding("ctrl+d", "quit_if_empty", "quit on an empty prompt", id="chat.quit", show=False),
        Binding("ctrl+c,super+c", "interrupt", "clear, stop, quit", id="chat.interrupt", show=False),
    ]

    def __init__(self) -> None:
        # As most terminals are: classes that come with the first size would have every widget styled twice.
        super().__init__(classes="-wide-enough -high-enough")

    talking = var(False)  # a conversation is on the screen, and not the opening page
    _resumed = False
    _prompt_painted = 0.0
    _prompt_due = False
    _written = (Selection(), "")

    prompt = getters.query_one("#prompt", Prompt)
    prompt_field = getters.query_one(PromptBox)
    welcome = getters.query_one(Welcome)

    def watch_talking(self, talking: bool) -> None:
        # A class of the screen would have every widget styled anew, which takes longer than to show what was sent.
        self.query_children("#conversation, #welcome").set_class(talking, "-talking")

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Refresh no styles the first time: widgets have theirs from being mounted, and it delays the first paint."""
        event.refresh_styles, self._resumed = self._resumed, True
        self.query_children("ToastRack").remove_class("-under-dialog")

    def on_screen_suspend(self) -> None:
        """Hide the toasts: a dialog above shows them; seen through it, they would stand there twice."""
        self.query_children("ToastRack").add_class("-under-dialog")

    async def _message_loop_exit(self) -> None:
        end_work(self)
        await super()._message_loop_exit()

    async def _on_resize(self, event: events.Resize) -> None:
        """Pass over a size that is out of date: to lay out each of two would call for the other, for ever."""
        if event.size != self.app.size:
            event.prevent_default()

    async def _on_update(self, message: messages.Update) -> None:
        """Paint at once what is typed. Textual's timer comes up to two of its periods after the frame before, and
        frames of a stream come all the time."""
        await super()._on_update(message)
        prompt = message.widget
        if isinstance(prompt, Prompt) and not self._prompt_due:
            before, self._written = self._written, (prompt.selection, prompt.text)
            if self._written == before:  # refreshed only, over and over while the screen opens
                return
            wait = self._prompt_painted + PROMPT_PERIOD - time.monotonic()
            if wait <= 0:
                self._paint_prompt()
            else:
                self._prompt_due = True
                asyncio.get_running_loop().call_later(wait, self.call_later, self._paint_prompt)

    def gives_way(self) -> bool:
        return isinstance(self.focused, Prompt) and self.app.key_comes

    def _paint_prompt(self) -> None:
        self.app.key_came()
        self._prompt_due = False
        self.paint_now(self.prompt)
        self._prompt_painted = time.monotonic()


MANY = 12  # errors
SOON = 10.0  # seconds

log = logging.getLogger(__name__)


class Survival:
    """Counts internal errors: the console goes on after one, unless they come so fast that it is of no use."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=MANY)

    def goes_on(self, error: BaseException) -> bool:
        now = self._clock()
        self._times.append(now)
        if len(self._times) == MANY and now - self._times[0] < SOON:
            return False
        log.error("the console went on after an internal error", exc_info=error)
        return True

    @staticmethod
    def line_of(error: BaseException) -> str:
        return f"Fanout made a mistake and went on: {one_line(repr(error), 160)}. /log has the details."
