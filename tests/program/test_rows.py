"""Rows are as pyte writes them, whatever a program sends."""

from __future__ import annotations

from contextlib import suppress

import pyte
from hypothesis import given
from hypothesis import strategies as st

from tests.program.rows import Rows

PIECES = st.one_of(
    st.text(st.sampled_from("ab 界e\u0301\u200b│\n\r\t\b"), max_size=30),
    st.sampled_from(
        ["J", "1J", "2J", "K", "1K", "2P", "3@", "2X", "2L", "M", "4;7H", "9;1H", "A", "2;4r", "r", "1;1H"]
    ).map("\x1b[{}".format),
    st.sampled_from(["\x1bD", "\x1bM", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b#8", "\x1bc", "\x1b[?5h"]),
    st.tuples(st.integers(2, 9), st.integers(2, 12)),
)


@given(st.lists(PIECES, max_size=30))
def test_rows_are_those_of_the_screen(pieces: list[str | tuple[int, int]]) -> None:
    screen = pyte.Screen(10, 6)
    stream, rows = pyte.Stream(screen), Rows(screen)
    for piece in pieces:
        if isinstance(piece, str):
            stream.feed(piece)
        else:
            screen.resize(*piece)
        now = rows.now()
        with suppress(IndexError):  # of pyte, where half a wide letter is written over
            assert now == [line.rstrip() for line in screen.display]
