"""How many lines of the screen the board takes, and how many of them are rows."""

from __future__ import annotations

from dataclasses import dataclass

MOST_ROWS = 8
LEAST_ROWS = 3  # that stay beside what needs all the room
SHARE = 0.6  # of the screen's height that the board may take
ROWS_AND_MORE = 6  # lines, below which the arguments get most of them
AIRY = 14  # lines beside which an empty one, between the rows and what is selected, takes nothing away
BESIDE_IT = 7, 5  # lines of a low screen that it leaves; fewer while it has the keys, and the prompt no frame

STYLES = """
ApprovalBoard {
    height: auto; margin: 0 1; padding: 0 1; display: none;
    border: heavy $warning; border-title-color: $warning; border-subtitle-color: $muted;
}
ApprovalBoard:blur { border: heavy $warning 60%; }
ApprovalBoard.-waiting { display: block; }
ApprovalBoard > Static { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
ApprovalBoard > .board--rule { display: none; }
ApprovalBoard > Input { display: none; height: 3; border: round $warning; background: $background; }
ApprovalBoard > Input:focus { border: round $warning; background-tint: $foreground 0%; }
ApprovalBoard > Input > .input--placeholder { color: $muted; }
ApprovalBoard.-words > Input { display: block; }
ApprovalBoard.-rule > .board--rule { display: block; }
ApprovalBoard.-rule > ArgumentsView, ApprovalBoard > ArgumentsView.-in-row { display: none; }
"""


@dataclass(frozen=True, slots=True)
class BoardRoom:
    """Lines of the rows, of an empty one below them, and of the arguments."""

    rows: int
    gap: int
    arguments: int


class SteadyHeight:
    """The most lines that were needed `of` the same: who goes from row to row finds the rows where they were."""

    def __init__(self) -> None:
        self._of: object = None
        self._most = 0

    def left(self, of: object, needed: int, spare: int) -> int:
        """The lines, of `spare` ones at most, that stay empty where fewer are needed now."""
        self._most = max(needed, self._most if of == self._of else 0)
        self._of = of
        return max(min(self._most, spare) - needed, 0)


def room_of(height: int, taken: int, focused: bool) -> int:
    """Lines for rows, header and arguments: a share of the screen; of a low one, what the rest of it can spare."""
    return max(int(height * SHARE) - 3 - taken, min(height - BESIDE_IT[focused] - 2 - taken, ROWS_AND_MORE), 3)


def shared(room: int, spare: int, waiting: int, lines: int, *, whole: bool, in_row: bool) -> BoardRoom:
    """How rows and arguments, `lines` of them, share `room`. What is to be seen `whole` may have up to `spare` in its
    place, and the rows make way; `in_row`: the arguments need no line. A single call has no row."""
    least = min(waiting, LEAST_ROWS if max(room, spare) > ROWS_AND_MORE else 1)
    if whole:
        room = max(room, min(least + lines, spare))
    gap = int(waiting > 0 and room >= max(AIRY, least + lines + 1 if whole else 0))
    room -= gap
    share = 2 if in_row or room >= ROWS_AND_MORE else ROWS_AND_MORE  # of little room the arguments get most
    rows = min(waiting, MOST_ROWS, max(room // share, 1))
    if whole:
        rows = min(rows, max(room - lines, least))
    return BoardRoom(rows, gap, max(min(lines, room - rows), 1))


def rows_of(lines: int, waiting: int) -> int:
    """How many calls have a row in so many lines: of a list that is cut, one line tells how many more there are."""
    return lines - 1 if waiting > lines >= LEAST_ROWS else min(lines, waiting)


def first_row(before: int, selected: int, waiting: int, rows: int) -> int:
    """Which row is at the top, from 0: as before, as far as the selected one is among the rows that are shown."""
    return max(min(before, selected, waiting - rows), selected - rows + 1, 0)
