"""Hold the code of a conversation's view that relies on what Textual doesn't promise."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.geometry import Size
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.reactive import Reactive
    from textual.scrollbar import ScrollBar


def set_virtual_size_without_layout(widget: Widget, size: Size) -> None:
    """Set a height that changes neither the room nor whether there is a scroll bar."""
    widget.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
    if widget.show_vertical_scrollbar:
        widget.vertical_scrollbar.window_virtual_size = size.height


def give_scroll_bar(widget: Widget, kind: type[ScrollBar]) -> None:
    """Makes the widget's vertical scroll bar, as `Widget.vertical_scrollbar` would when asked, but of this kind."""
    if widget._vertical_scrollbar is None:
        bar = kind(vertical=True, name="vertical", thickness=widget.scrollbar_size_vertical)
        bar.display = False
        widget._vertical_scrollbar = bar
        widget.app._start_widget(widget, bar)  # pyright: ignore[reportUnknownMemberType]
