"""The gate before the terminal: the console's own sequences pass, any other loses what makes it one."""

from __future__ import annotations

import os
import select
import threading
import tty
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from console_app.tui.terminal import driver
from console_app.tui.terminal.driver import PIXELS_OFF, RESTORE, TerminalWriter
from console_app.tui.terminal.edge import EDGE, cleaned
from tests.each import each
from tests.escape_reader import read
from tests.hostile import CONTROL, PAYLOADS, UNICODE
from tests.patience import PATIENCE

REORDERING = UNICODE[:3]  # invisible letters are stopped where text and its neighbours are seen together

OURS = [
    "\x1b[3;14H\x1b[38;2;1;2;3;48;5;7;1mwörds │ ✓\x1b[0m\x1b[1;1H",
    "\x1b[?1049h",
    "\x1b[?25l",
    "\x1b[>25u",
    "\x1b[<u",
    "\x1b[?2026$p",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]22;pointer\x07",
    "\x07",
    RESTORE,
    PIXELS_OFF,
    "👨‍👩‍👧 ❤️",
]


@each("data", OURS, ids=ascii)
def test_what_the_console_writes_passes(data: str) -> None:
    assert cleaned(data) == data


@pytest.mark.parametrize("payload", [*CONTROL, *REORDERING], ids=ascii)
def test_what_foreign_text_writes_does_not(payload: str) -> None:
    if payload in ("\x1b[31mred\x1b[0m", "\x1b[8mhidden\x1b[0m") or payload.startswith(
        ("\x1b[?", "\x1b[1;1H", "\x1b[>")
    ):
        pytest.skip("as bytes it is like the console's own: the line filter stops it, which sees text apart")
    assert read(cleaned(f"\x1b[1mfine {payload} fine\x1b[0m")).faults == []


@given(st.text() | st.lists(st.sampled_from([*PAYLOADS, *OURS, "\x1b", "[", "m", "a"])).map("".join))
def test_whatever_is_written_only_known_sequences_come_out(data: str) -> None:
    out = cleaned(data)
    assert cleaned(out) == out
    assert not [fault for fault in read(out).faults if out not in OURS and "characters" not in fault]


@given(st.lists(st.text(max_size=12) | st.sampled_from(PAYLOADS), max_size=5))
def test_a_line_keeps_its_width_and_loses_what_is_not_text(texts: list[str]) -> None:
    link = Style(bold=True, link="http://evil.example/\x1b\\")
    segments = [Segment(text, link if n % 2 else None) for n, text in enumerate(texts)]
    kept = EDGE.apply([*segments, Segment("\x1b[2J", None, [(3,)])], Color(0, 0, 0))  # type: ignore[list-item]
    assert not any(segment.control or (segment.style and segment.style.link) for segment in kept)
    assert all(read(segment.text).faults == [] for segment in kept)
    assert sum(segment.cell_length for segment in kept) == sum(segment.cell_length for segment in segments)


def terminal() -> tuple[int, int]:
    reader, writing_end = os.openpty()
    tty.setraw(writing_end)
    return reader, writing_end


@each("ends", [os.pipe, terminal])
def test_a_terminal_that_stops_reading_never_holds_the_console_up(
    ends: Callable[[], tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FULL", 300_000)
    reader, writing_end = ends()
    recovered = threading.Event()
    writer = TerminalWriter(writing_end, recovered=recovered.set, lost=lambda: None)
    writer.start()
    for _ in range(100):
        writer.write("x" * 10_000)  # a pipe takes 65,536
    writer.write("\x1b[?25h")
    got = b""
    while not got.endswith(b"\x1b[?25h"):
        got += os.read(reader, 65_536)
    assert recovered.wait(PATIENCE)
    assert 200_000 < len(got) < 500_000
    writer.stop()
    os.close(reader)
    os.close(writing_end)


def test_what_a_terminal_takes_at_once_waits_for_no_thread() -> None:
    reader, writing_end = terminal()
    writer = TerminalWriter(writing_end, recovered=lambda: None, lost=lambda: None)
    writer.start()
    for frame in ("one", "two"):
        writer.write(frame)
        assert select.select([reader], [], [], 0)[0]
        assert os.read(reader, 100).decode() == frame
    writer.stop()
    os.close(reader)
    os.close(writing_end)


def test_a_terminal_that_is_gone_is_told_once_and_nothing_waits() -> None:
    reader, writing_end = os.pipe()
    os.close(reader)
    lost = threading.Event()
    writer = TerminalWriter(writing_end, recovered=lambda: None, lost=lost.set)
    writer.start()
    writer.write("anybody there?")
    assert lost.wait(PATIENCE)
    for _ in range(1000):
        writer.write("x" * 100_000)
    writer.stop()
    os.close(writing_end)
