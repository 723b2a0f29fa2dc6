"""The conversation's scroll bar: it moves with each new line, and paints all of itself for that at once."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from console_app.tui.lineview.scrolling.scroll_internals import set_virtual_size_without_layout


def set_total(view: ScrollView, width: int, height: int) -> None:
    """A view has so many lines."""
    size = Size(width, height)
    if size == view.virtual_size:
        return
    room = view.container_size.height
    if (view.virtual_size.height > room) != (height > room):
        view.virtual_size = size  # the scroll bar comes or goes: a layout
        return
    # A layout of the whole screen for each new line would be the dearest part of streaming.
    set_virtual_size_without_layout(view, size)


class QuickScrollBar(ScrollBar):
    """Looks as Textual's own, whose lines are each drawn as a whole widget's would be: 34 of them took an eighth of
    what a streamed answer costs. A bar has five kinds of cells at most, and neither border nor padding."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """The bar's cells from top to bottom."""
        bar, (width, height) = self.render(), self.size
        if not isinstance(bar, ScrollBarRender) or not isinstance(bar.style, Style) or crop != Region(0, 0, 1, height):
            return super().render_lines(crop)
        back, front = bar.style.bgcolor, bar.style.color
        if back is None or front is None or width != 1:
            return super().render_lines(crop)
        cells = bar.render_bar(
            size=height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=bar.thickness,
            vertical=bar.vertical,
            back_color=back,
            bar_color=front,
        ).segments
        base = self.rich_style
        painted: dict[int, Strip] = {}
        return [painted.get(id(cell)) or painted.setdefault(id(cell), self._strip(cell, base)) for cell in cells]

    def _strip(self, cell: Segment, base: Style) -> Strip:
        strip = Strip([Segment(cell.text, base + cell.style if cell.style else base)], 1)
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background_colors[1])
        return strip
