"""The newest output of a call: bounded, written over, and with nothing in it that a terminal would obey."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.safe_text import LONGEST_LINE, SGR, is_safe
from console_app.domain.transcript.views import MOST_KEPT, OutputTail
from tests.each import each

RED, END = "\x1b[31m", "\x1b[0m"
AS_IT_STANDS = {
    "plain lines": ("a\nb\n", ["a", "b"]),
    "an unfinished line": ("a\nb", ["a", "b"]),
    "blank lines": ("a\n\n  \n\nb\n\n", ["a", "b"]),
    "CR LF": ("a\r\nb\r\n", ["a", "b"]),
    "a progress bar": ("start\n 10%\r 55%\r100%\n", ["start", "100%"]),
    "a bar that went back to write over itself": ("10%\r", ["10%"]),
    "colours": (f"{RED}bad{END}\n", [f"{RED}bad{END}"]),
    "nothing but colours": (f"{RED}{END}\na\n", ["a"]),
    "erasing a line": ("10%\r\x1b[K20%\x1b[?25l\n", ["20%"]),
    "a title": ("\x1b]0;owned\x07done\n", ["done"]),
    "the clipboard": ("\x1b]52;c;ZXZpbA==\x1b\\done\n", ["done"]),
    "a link": ("\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\\n", ["text"]),
    "a spinner": ("|\b/\b-\b\\\bdone\n", ["done"]),
    "more backspaces than text": ("\b\b\bx\n", ["x"]),
    "another character set": ("\x1b(0lqk\x1b(B\n", ["lqk"]),
}


@each("name", AS_IT_STANDS)
def test_lines_stand_as_a_terminal_would_have_left_them(name: str) -> None:
    written, lines = AS_IT_STANDS[name]
    tail = OutputTail()
    tail.add("stdout", written, 0)
    assert tail.lines() == lines


def told(*pieces: tuple[ev.OutputStream, str, int]) -> list[str]:
    tail = OutputTail()
    for piece in pieces:
        tail.add(*piece)
    return tail.lines()


def test_a_gap_says_how_much_is_missing_where_it_is() -> None:
    assert told(("stdout", "one\ntw", 0), ("stdout", "three\n", 1006)) == [
        "one",
        "tw",
        "[1,000 bytes came too fast to keep]",
        "three",
    ]


def test_two_streams_are_no_one_line() -> None:
    assert told(("stdout", "50 %", 0), ("stderr", "warning\n", 4), ("stdout", "60 %", 12)) == [
        "50 %",
        "warning",
        "60 %",
    ]


def test_without_end_only_the_newest_is_kept_and_an_endless_line_too() -> None:
    tail = OutputTail()
    for number in range(20_000):
        tail.add("stdout", f"line {number}\n", tail.received)
    assert tail.lines(2) == ["line 19998", "line 19999"]
    assert len(str(tail)) <= 2 * MOST_KEPT
    endless = OutputTail()
    for number in range(20_000):
        endless.add("stdout", f"\r{number} of 20000", endless.received)
    assert endless.lines() == ["19999 of 20000"]
    endless.add("stdout", "." * 10**6, endless.received)
    assert [len(line) for line in endless.lines()] == [LONGEST_LINE]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=8))
def test_whatever_is_written_its_lines_are_safe(pieces: list[str]) -> None:
    tail = OutputTail()
    for piece in pieces:
        tail.add("stdout", piece, tail.received)
    for line in tail.plain_lines(100):
        assert is_safe(line)
        assert "\n" not in line
    assert tail.received == sum(len(piece.encode()) for piece in pieces)


def test_binary_output_shows_as_marks() -> None:
    tail = OutputTail()
    tail.add("stdout", bytes(range(256)).decode("latin-1"), 0)
    assert all(is_safe(SGR.sub("", line)) for line in tail.plain_lines(9))
