"""Cells of text in whose place a terminal draws a part of a picture are kitty's Unicode placeholders.

A cell is a private character with three marks over it: the row of the picture, the column, and the highest byte of the
picture's number. The lower bytes are the cell's ink. That is one ink for all pictures, as the gate in `edge` gives it
back to cells that were tinted under a dialog, selected or dimmed.
"""

from __future__ import annotations

import re
from typing import Final

from rich.color import Color

from console_app.domain import safe_text

# The marks for 0, 1, 2 … as the protocol lists them, in order, first to last of each run.
_RUNS = """
305 30d-30e 310 312 33d-33f 346 34a-34c 350-352 357 35b 363-36f 483-487 592-595 597-599 59c-5a1 5a8-5a9 5ab-5ac 5af 5c4
610-617 657-65b 65d-65e 6d6-6dc 6df-6e2 6e4 6e7-6e8 6eb-6ec 730 732-733 735-736 73a 73d 73f-741 743 745 747 749-74a
7eb-7f1 7f3 816-819 81b-823 825-827 829-82d 951 953-954 f82-f83 f86-f87 135d-135f 17dd 193a 1a17 1a75-1a7c 1b6b
1b6d-1b73 1cd0-1cd2 1cda-1cdb 1ce0 1dc0-1dc1 1dc3-1dc9 1dcb-1dcc 1dd1-1de6 1dfe 20d0-20d1 20d4-20d7 20db-20dc 20e1 20e7
20e9 20f0 2cef-2cf1 2de0-2dff a66f a67c-a67d a6f0-a6f1 a8e0-a8f1 aab0 aab2-aab3 aab7-aab8 aabe-aabf aac1 fe20-fe26
10a0f 10a38 1d185-1d189 1d1aa-1d1ad 1d242-1d244
"""
MARKS: Final = "".join(
    chr(code) for run in _RUNS.split() for code in range(int(run.split("-")[0], 16), int(run.split("-")[-1], 16) + 1)
)
MOST_COLUMNS: Final = len(MARKS)
# Number 67 of the 256 colours in its very shade, so that a terminal without more gets that number.
INK: Final = Color.from_rgb(0x5F, 0x87, 0xAF)
LOW_BYTES: Final = {"truecolor": 0x5F87AF, "256": 67}  # of a picture's number, by the colours that are written
CELLS: Final = re.compile(f"(?:{safe_text.PLACEHOLDER}[{MARKS}]{{3}})+")


def cells(picture: int, row: int, columns: int) -> str:
    """The cells of one row of a picture, of which `picture` is the highest byte of its number."""
    return "".join(f"{safe_text.PLACEHOLDER}{MARKS[row]}{MARKS[column]}{MARKS[picture]}" for column in range(columns))
