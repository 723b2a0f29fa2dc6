"""Tells how much of a widget that scrolls is out of sight: nothing of it is accepted before its end was displayed."""

from __future__ import annotations

from textual.message import Message
from textual.widget import Widget

from console_app.domain import plural


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
    """Say how many lines are out of sight; "" where all can be seen."""
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
