"""Tell a key that was meant from one that was typed ahead, held down or pasted. No widget is needed, only a clock.

A key that decides something counts when nothing has changed for half a second, and no other key comes right behind it.
So text typed in one go, repeated by a held key or pasted by a terminal decides nothing. Each key that came too early
begins the half second anew: a key held for a minute approves the one call it was pressed for, and nothing after. Your
own way from row to row takes half of that: enough that `ja` typed as a word allows nothing.

Nothing of a widget that scrolls is accepted before its end was displayed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from textual.message import Message
from textual.widget import Widget

from console_app.domain import plural
from console_app.tui.widgets.key_hints import KeyHints

MOVED = 0.25  # seconds after you went to another row: slower than words are typed, faster than rows are read
ALONE = 0.15  # seconds without another key behind it: slower than held keys repeat, faster than people answer

T = TypeVar("T")


class SettledKeys(Generic[T]):
    """`T` is what a key decides."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._here_since = self._since  # and of what is selected alone
        self.holds: T | None = None  # the decision that waits until its key proves to be alone
        self._held_here = False  # that is for what is selected alone
        self._quiet = float("-inf")  # when the newest key came
        self._newest = ""  # which that was, where it was told
        self._brought = float("-inf")  # when the focus came by itself

    @property
    def settled(self) -> bool:
        """Tell whether a key would count now."""
        return self._clock() - self._since >= KeyHints.SETTLE

    @property
    def settled_here(self) -> bool:
        """Tell whether a key would count that acts on the selected row alone."""
        return self._clock() - self._here_since >= KeyHints.SETTLE

    @property
    def on_its_way(self) -> bool:
        """Tell whether the newest key was a Tab, which leads here, and the focus had just come by itself."""
        return self._newest == "tab" and self._clock() - self._brought < KeyHints.SETTLE

    def brought(self) -> None:
        self._brought = self._clock()

    def changed(self) -> None:
        """Note that another decision is asked for: no key from before counts for it."""
        self._since = self._here_since = self._clock()
        self.holds = None

    def grew(self) -> None:
        """Note that more calls wait, while the selected one is as it was."""
        self._since = self._clock()
        if not self._held_here:
            self.holds = None

    def moved(self) -> None:
        """Note that you went to another row, while the rows themselves are as they were."""
        moved = self._clock() - KeyHints.SETTLE + MOVED
        self._since, self._here_since = max(self._since, moved), max(self._here_since, moved)
        self.holds = None

    def pressed(self, key: str = "") -> None:
        """Any key at all, also a paste: called before what the key does. It voids a decision right before it."""
        now = self._clock()
        if self.holds is not None or now - self._quiet < ALONE:
            self.changed()
        self._quiet, self._newest = now, key

    def decide(self, decision: T, *, here: bool = False) -> bool:
        """Hold the decision of a key until it proves to be alone. False for one too early; `here`: for this row."""
        if not (self.settled_here if here else self.settled):
            self.changed()
            return False
        self.holds, self._held_here = decision, here
        return True

    def take(self) -> T | None:
        """The held decision, once ALONE has passed since it was made; given only once."""
        decision, self.holds = self.holds, None
        return decision


class Moved(Message):
    """Other lines of a widget are in view, or there are more or fewer of them."""


def tell_moves(view: Widget) -> None:
    """Have the widget post `Moved`, by whatever it is scrolled."""

    def moved(_before: object, _now: object) -> None:
        view.post_message(Moved())

    for what in ("scroll_y", "virtual_size"):
        view.watch(view, what, moved, init=False)


def lines_below(view: Widget) -> int:
    return max(view.virtual_size.height - round(view.scroll_offset.y) - view.scrollable_content_region.height, 0)


def place(view: Widget) -> str:
    above, below = round(view.scroll_offset.y), lines_below(view)
    said = f"{plural(above, 'line')} above" if above else ""
    return f"{said}, {below:,} below" if said and below else f"{plural(below, 'line')} below" if below else said


def at_end(view: Widget) -> bool:
    laid_out = view.virtual_size.height > 0 and view.scrollable_content_region.height > 0
    return view.display and laid_out and not lines_below(view)


def show_end(view: Widget) -> None:
    view.scroll_relative(y=lines_below(view), animate=False, immediate=True)


class DisplayedEnd:
    def __init__(self) -> None:
        self._was = False

    def note(self, view: Widget) -> None:
        """The widget can be seen as it is now. What fits is not noted: its lines may not have been broken yet."""
        self._was = self._was or (view.scroll_offset.y > 0 and at_end(view))

    def passed(self, view: Widget) -> bool:
        """Tell whether its end was displayed. Else it is shown now, and the next key is the first that counts."""
        passed = self._was or at_end(view)
        if not passed:
            show_end(view)
        return passed
