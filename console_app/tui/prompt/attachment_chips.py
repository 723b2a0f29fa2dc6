"""What goes along with the message that is being written: a line above the prompt, a few words each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from console_app.domain.safe_text import one_line

if TYPE_CHECKING:
    from console_app.conversation.attachments import Chip

GAP = "   "
LEAST = 24  # cells that a chip is given at least
LEAST_NAME = 12  # cells of a name, and of what is said of it
MORE = 12  # cells that are kept for how many more there are


class AttachmentChips(Widget):
    """Shows chips in one line; hidden while there are none."""

    DEFAULT_CSS = """
    AttachmentChips { height: 1; padding: 0 2; color: $muted; text-wrap: nowrap; display: none; }
    AttachmentChips.-some { display: block; }
    """

    chips: reactive[tuple[Chip, ...]] = reactive(())

    def show(self, chips: Sequence[Chip]) -> None:
        """What goes along now."""
        self.set_class(bool(chips), "-some")
        self.chips = tuple(chips)

    def render(self) -> Content:
        """As many as there is room for, those that can't go first, and how many more there are."""
        room = max(self.content_size.width, 1)
        most = room if len(self.chips) == 1 else max(room // 2 - MORE // 2, LEAST)
        line = Content()
        waiting = sorted(self.chips, key=lambda chip: not chip.refused)
        while waiting:
            gap = GAP if line else ""
            left = room - line.cell_length - len(gap) - (MORE if len(waiting) > 1 else 0)
            piece = _piece(waiting[0], min(most, left))
            if line and piece.cell_length > left:
                break
            line += Content(gap) + piece
            waiting.pop(0)
        return line + Content.styled(f"{GAP}+ {len(waiting)} more" if waiting else "", "$muted")


def _piece(chip: Chip, room: int) -> Content:
    """One chip in at most `room` cells. A long path gives way first, from its start, which says least."""
    mark, ink = ("! ", "$warning") if chip.refused else ("+ ", "$primary")
    name, note = one_line(chip.name), f" · {one_line(chip.about)}"
    about = Content.styled(note, "$warning" if chip.refused else "$muted")
    about = about.truncate(max(room - 2 - min(cell_len(name), LEAST_NAME), LEAST_NAME), ellipsis=True)
    left = max(room - 2 - about.cell_length, LEAST_NAME)
    if cell_len(name) > left:
        while cell_len(name) >= left:
            name = name[1:]
        name = f"…{name}"
    return Content.styled(mark, ink) + Content.styled(name, "$foreground") + about
