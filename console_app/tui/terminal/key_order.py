"""Keys take effect in the order they were pressed, however fast they come.

Textual hands a key to the focused widget at once, but runs a key's binding only when the key has bubbled up to the app.
Of "hello", Enter, "more" in one read, "more" would be written before Enter sends. So the keys behind one that writes
nothing wait until that key, and the messages that its binding posted, have gone all the way. A binding with priority
acts before the focused widget has its keys: so a key that writes nothing waits for the text before it, too. A letter
writes only where there is a field for it; elsewhere it is a command like any other key.

No key waits for ever: its action may take long, its widget may be gone. The wait is counted in rounds of the event loop
as well as in time: on a busy machine a key may take longer than any time one would choose.

A lost focus of the terminal is kept in the same order. Textual takes a key for a sign that the focus is here, and one
that was pressed before it went would say so to whoever has to be called.

`TerminalApp` below chooses the driver of an app, and gives the terminal back behind it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App, ReturnType
from textual.constants import TEXTUAL_ANIMATIONS
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from console_app.records import dataclass
from console_app.tui.terminal.edge import EDGE
from console_app.tui.terminal.key_names import writes_text
from console_app.tui.textual_internals import driver_of

if TYPE_CHECKING:
    from textual.worker import Worker

    from console_app.tui.terminal.canvas import Canvas


def driver_class() -> type[Driver] | None:
    """Our driver; Textual's choice where the environment names one."""
    if "TEXTUAL_DRIVER" in os.environ:
        return None
    from console_app.tui.terminal.driver import ConsoleDriver

    return ConsoleDriver


FIRST = 0.04  # seconds for which a key goes before other work, at most


class TerminalApp(App[ReturnType]):
    """Writes through the gate to the terminal, and gives the terminal back whatever ended it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(driver_class=driver_class(), **options)
        self.typed_at = -FIRST  # when the key was read that has not come to where it acts, as `time.monotonic` has it

    @property
    def key_comes(self) -> bool:
        """Tell whether a key is on its way: until what it writes is painted, or until it is where it acts."""
        return time.monotonic() < self.typed_at + FIRST

    def key_came(self) -> None:
        self.typed_at = -FIRST

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), EDGE]

    @property
    def canvas(self) -> Canvas | None:
        return getattr(driver_of(self), "canvas", None)

    def use_motion(self, motion: bool) -> None:
        """Say whether anything moves by itself, in Textual's own setting: its widgets, which glide, follow as well. In
        the environment, `TEXTUAL_ANIMATIONS=none` says it for all programs that are made with Textual."""
        self.animation_level = TEXTUAL_ANIMATIONS if motion else "none"
        self.theme_changed_signal.publish(self.current_theme)  # whoever paints makes its palette anew

    def restore_now(self) -> None:
        if restore := getattr(driver_of(self), "restore_now", None):
            restore()

    async def run_async(self, **options: Any) -> ReturnType | None:
        try:
            return await super().run_async(**options)
        finally:
            if (driver := driver_of(self)) is not None:
                driver.close()
            self.restore_now()


ON_HOLD = -1  # in place of a key's number: all keys wait for `let_go`
LONGEST = 0.2  # seconds that a key may hold up the next on a machine with nothing else to do
WAYS = 10  # of a key's follower, at most: a dialog that opens at once is there by then
LOOKS = 20  # at whether it still does, in that time; each takes a few rounds of the event loop


@dataclass
class KeyPassed(Message):
    """Follows a key on its way up: where this arrives, the key has been. It goes twice, for messages of the key's
    action, and a few times more while a dialog opens."""

    number: int
    again: int


class KeysInOrder(TerminalApp[ReturnType]):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._held: deque[events.Key | events.Paste | events.AppBlur | events.AppFocus] = deque()
        self.longest_hold = LONGEST
        self._under_way = 0  # the number of the key that others wait for; 0: none
        self._numbered = 0
        self._wrote = False  # the newest key passed on is one that writes
        self._opening: tuple[Worker[Any], Screen[Any]] | None = None

    @classmethod
    def typed(cls) -> type[KeysInOrder[int]]:
        return cls  # pyright: ignore[reportReturnType]

    def opening(self, worker: Worker[Any]) -> None:
        """Keep keys until `worker` has opened its dialog, which they are for."""
        self._opening = worker, self.screen

    @property
    def _opens(self) -> bool:
        return self._opening is not None and not self._opening[0].is_finished and self._opening[1] is self.screen

    def hold_keys(self) -> None:
        self._under_way = ON_HOLD

    async def let_go(self) -> None:
        await self._release(ON_HOLD)

    @property
    def held(self) -> list[events.Key | events.Paste]:
        return [event for event in self._held if isinstance(event, events.Key | events.Paste)]

    @property
    def key_under_way(self) -> bool:
        """Tell whether a key was passed on that has not taken effect yet."""
        return self._under_way > 0

    def must_wait(self, event: events.Key | events.Paste) -> bool:
        """Tell whether this key, and with it all behind it, waits for `let_go`."""
        return False

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste | events.AppBlur | events.AppFocus) or event.is_forwarded:
            await super().on_event(event)
        elif self._under_way:
            self._held.append(event)
        else:
            await self._pass_on(event)

    async def _pass_on(self, event: events.Key | events.Paste | events.AppBlur | events.AppFocus) -> None:
        if isinstance(event, events.AppBlur | events.AppFocus):
            await super().on_event(event)
            return
        if self.must_wait(event):
            self.hold_keys()
            self._held.appendleft(event)
            return
        target = self.focused or self.screen
        writes = isinstance(event, events.Paste) or (writes_text(event) and isinstance(target, Input | TextArea))
        if self._wrote and not writes:
            self._wrote = False
            self._held.appendleft(event)
            self._await_passing(target)
            return
        await super().on_event(event)
        self._wrote = writes
        if not writes:
            self.key_came()
            self._await_passing(target)

    def _await_passing(self, target: Widget | Screen[Any]) -> None:
        """All keys wait until `target` has had those that it was passed."""
        self._numbered += 1
        number = self._under_way = self._numbered
        target.post_message(KeyPassed(number, WAYS))
        self._look(number, LOOKS)

    def _look(self, number: int, looks: int) -> None:
        if number != self._under_way:
            return
        if looks:
            # Not Textual's timer: one that is late before it begins never comes.
            later = asyncio.get_running_loop().call_later
            later(self.longest_hold / LOOKS, self.call_later, self._look, number, looks - 1)
        else:
            self.call_later(self._release, number)

    async def on_key_passed(self, message: KeyPassed) -> None:
        """Note that the key, or a message that it posted, arrived here: others wait for that."""
        if message.number == self._under_way and (message.again == WAYS or (message.again and self._opens)):
            (self.focused or self.screen).post_message(KeyPassed(message.number, message.again - 1))
        else:
            await self._release(message.number)

    async def _release(self, number: int) -> None:
        if number != self._under_way:
            return
        self._under_way = 0
        while self._held and not self._under_way:
            await self._pass_on(self._held.popleft())
