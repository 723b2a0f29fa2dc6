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
    from console_app.console.files.attachments import Chip

GAP = "   "
MOST = 500  # cells that a chip takes at most, which no terminal has
LEAST = 24  # cells that a chip is given at least
LEAST_NAME = 12  # cells of a name, and of why it can't go
MORE = 12  # cells that are kept for how many more there are


class AttachmentChips(Widget):
    """Shows chips in one line; hidden while there are none."""

    DEFAULT_CSS = """
    AttachmentChips {
        height: auto; max-height: 1;  /* see ActivityLine */
        padding: 0 2; color: $muted; text-wrap: nowrap; display: none;
    }
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
        waiting = sorted(self.chips, key=lambda chip: not chip.refused)
        sizes = [_piece(chip, MOST).cell_length for chip in waiting]
        whole = sum(sizes) + len(GAP) * (len(waiting) - 1)
        most = room if whole <= room else room // 2 - MORE // 2
        pair = len(waiting) == 2 and room >= 2 * LEAST + len(GAP)
        counts = len(waiting) > 1 and whole > room and not pair
        if pair:  # none is left to count
            most = max((room - len(GAP)) // 2, room - len(GAP) - sizes[1])
        line = Content()
        while waiting:
            gap = GAP if line else ""
            left = room - line.cell_length - len(gap) - (MORE if counts and len(waiting) > 1 else 0)
            if line and left < min(LEAST, sizes[-len(waiting)]):
                break
            piece = _piece(waiting[0], left if len(waiting) == 1 else min(max(most, LEAST), left))
            if line and piece.cell_length > left:
                break
            line += Content(gap) + piece
            waiting.pop(0)
        return line + Content.styled(f"{GAP}+ {len(waiting)} more" if waiting else "", "$muted")


def _piece(chip: Chip, room: int) -> Content:
    """One chip in at most `room` cells. The folders of a path give way first, then what is said of it, a part after the
    other from behind; why it can't go stays."""
    mark, ink = ("! ", "$warning") if chip.refused else ("+ ", "$primary")
    name, said = one_line(chip.name), one_line(chip.about).split(" · ")
    short = cell_len(_shortened(name, 0))
    while not chip.refused and said and 2 + short + sum(cell_len(part) + 3 for part in said) > room:
        said.pop()
    about = Content.styled("".join(f" · {part}" for part in said), "$warning" if chip.refused else "$muted")
    if chip.refused:
        about = about.truncate(max(room - 2 - min(short, LEAST_NAME), LEAST_NAME), ellipsis=True)
    name = _shortened(name, max(room - 2 - about.cell_length, LEAST_NAME))
    while cell_len(name) > max(room - 2 - about.cell_length, LEAST_NAME):
        name = f"{name.removesuffix('…')[:-1]}…"
    return Content.styled(mark, ink) + Content.styled(name, "$foreground") + about


def _shortened(path: str, room: int) -> str:
    """The path without so many of its first folders that it takes `room` cells; its last part is there, whole."""
    parts = path.split("/")
    ways = (path, *(f"…/{'/'.join(parts[n:])}" for n in range(1, len(parts)) if parts[n:] != [""]))
    return next((way for way in ways if cell_len(way) <= room), min(ways, key=cell_len))
