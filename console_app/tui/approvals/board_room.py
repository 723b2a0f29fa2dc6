"""How many lines of the screen the board takes, and how many of them are rows."""

from __future__ import annotations

MOST_ROWS = 8
SHARE = 0.6  # of the screen's height that the board may take
ROWS_AND_MORE = 6  # lines, below which the arguments get most of them
BESIDE_IT = 7, 5  # lines of a low screen that it leaves; fewer while it has the keys, and the prompt no frame


def room_of(height: int, taken: int, focused: bool) -> int:
    """Lines for rows, header and arguments: a share of the screen; of a low one, what the rest of it can spare."""
    return max(int(height * SHARE) - 3 - taken, min(height - BESIDE_IT[focused] - 2 - taken, ROWS_AND_MORE), 3)


def rows_of(waiting: int, room: int, *, halves: bool) -> int:
    """How many of the rows are shown; of little room the arguments get most, unless `halves`."""
    share = 2 if halves or room >= ROWS_AND_MORE else ROWS_AND_MORE
    return min(waiting, MOST_ROWS, max(room // share, 1))
