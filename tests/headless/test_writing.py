"""The parts that write: pieces of text made safe, JSON for terminals, and an output whose reader stops or goes."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import math
import os
import threading
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.safe_text import is_safe, json_line, visible
from console_app.domain.tools import Outcome
from console_app.domain.transcript import CallView, Transcript
from console_app.headless import OutputStreams, call_line
from console_app.headless.writers import SafeStream, TextWriter
from tests.patience import PATIENCE

ODD = st.text(st.sampled_from("a1#\r\n\t\x1b\x9b\u200d\ufe0f\u20e3\u202e\U0001f469\U0001f680\u3042\ud800"), max_size=30)


@given(ODD, st.lists(st.integers(0, 30), max_size=8))
def test_text_in_pieces_is_printed_as_the_whole_would_be(text: str, cuts: list[int]) -> None:
    stream = SafeStream()
    places = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    printed = "".join(map(stream.feed, pieces)) + stream.flush()
    assert printed == visible(text)


def test_an_endless_chain_of_joiners_is_not_held_back_for_ever() -> None:
    stream = SafeStream()
    assert stream.feed("a" + "\u200d" * 1000)
    assert len(stream.flush()) < 1000


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | ODD | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_json_is_one_safe_line_that_reads_back(value: Any) -> None:
    line = json_line(value)
    assert line.isascii()
    assert is_safe(line)
    assert "\n" not in line
    assert json.loads(line, parse_constant=lambda name: 1 / 0) == _finite(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value


async def test_both_streams_come_out_whole_and_each_in_order() -> None:
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    output = OutputStreams(out_write, err_write)
    for number in range(500):
        output.out(f"{number}\n")
        output.error_line(f"line {number}")
    await output.finish()
    await _end(output)
    os.close(out_write)
    os.close(err_write)
    with os.fdopen(out_read) as out, os.fdopen(err_read) as err:
        assert out.read() == "".join(f"{number}\n" for number in range(500))
        assert err.read() == "".join(f"line {number}\n" for number in range(500))


async def test_a_reader_who_is_slow_holds_the_producer_back_and_hurry_lets_it_go() -> None:
    reading, writing = os.pipe()
    output = OutputStreams(writing, writing)
    output.out("x" * 3_000_000)
    waiting = asyncio.create_task(output.drain())
    taken = 0
    while taken < 1_000_000:
        taken += len(await asyncio.to_thread(os.read, reading, 65_536))
    assert not waiting.done()
    output.hurry()
    await asyncio.wait_for(waiting, PATIENCE)
    os.close(reading)
    await asyncio.wait_for(output.lost.wait(), PATIENCE)
    await _end(output)
    os.close(writing)
    assert output.failure == ""


async def _end(output: OutputStreams) -> None:
    """Closes it and waits for its thread, which else would write its rest to whatever is opened next at that number."""
    output.close()
    for thread in [thread for thread in threading.enumerate() if thread.name == "output"]:
        await asyncio.to_thread(thread.join, PATIENCE)
        assert not thread.is_alive()


async def test_a_descriptor_set_to_non_blocking_is_written_whole() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, fcntl.fcntl(writing, fcntl.F_GETFL) | os.O_NONBLOCK)
    output = OutputStreams(writing, writing)
    output.out("x" * 300_000)
    got = 0
    while got < 300_000:
        got += len(await asyncio.to_thread(os.read, reading, 65536))
    await output.finish()
    await _end(output)
    os.close(reading)
    os.close(writing)


async def test_an_output_that_can_not_be_written_says_why() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    output = OutputStreams(full, full)
    output.out("x")
    await asyncio.wait_for(output.lost.wait(), PATIENCE)
    await _end(output)
    os.close(full)
    assert output.failure == "can't write to standard output: No space left on device"


def test_a_call_that_never_ended_is_said_to_be_interrupted_and_no_more() -> None:
    call = CallView("a", 0, "demo_do", "demo", "do", "native", 0.0)
    assert call_line(call).endswith("demo.do · interrupted")


async def test_what_running_calls_write_is_told_line_by_line_where_that_is_asked_for() -> None:
    shown, terminal = os.openpty()
    output, transcript = OutputStreams(terminal, terminal), Transcript()
    writer = TextWriter(output, transcript, shows_output=True)
    pieces = ["one\ntw", "o\n 10%\r 90%\r", "\x1b[32m100%\x1b[0m\n\x1b]0;title\x07", "end"]
    events: list[ev.Event] = [
        ev.TurnStarted(prompt="go"),
        ev.StepStarted(),
        ev.CallAnnounced(call_id="c1", index=0, name="demo_do", server="demo", tool="do"),
        *(ev.CallOutput(call_id="c1", stream="stdout", text=piece, offset=0) for piece in pieces),
        ev.CallFinished(call_id="c1", outcome=Outcome.SUCCEEDED, content="done"),
    ]
    for event in events:
        transcript.apply(event)
        writer.write(event)
    writer.finish()
    await output.finish()
    await _end(output)
    os.close(terminal)
    printed = os.read(shown, 65536).decode().splitlines()
    os.close(shown)
    assert printed[:4] == ["demo.do: one", "demo.do: two", "demo.do: 100%", "demo.do: end"]
    assert len(printed) == 5


async def test_of_a_call_that_writes_without_end_the_first_lines_are_told(tmp_path: Path) -> None:
    with (tmp_path / "told").open("wb") as file:
        output, transcript = OutputStreams(file.fileno(), file.fileno()), Transcript()
        writer = TextWriter(output, transcript, shows_output=True)
        events: list[ev.Event] = [
            ev.TurnStarted(prompt="go"),
            ev.StepStarted(),
            ev.CallAnnounced(call_id="c1", index=0, name="shell_run", server="shell", tool="run"),
            *(ev.CallOutput(call_id="c1", stream="stdout", text="y\n" * 1000, offset=0) for _ in range(100)),
            ev.CallFinished(call_id="c1", outcome=Outcome.SUCCEEDED, content="done"),
        ]
        for event in events:
            transcript.apply(event)
            writer.write(event)
        writer.finish()
        await output.finish()
        await _end(output)
    lines = (tmp_path / "told").read_text().splitlines()
    assert lines[:4000] == ["shell.run: y"] * 4000
    assert lines[4000] == "shell.run: … it wrote 96,000 more lines"


async def test_in_a_terminal_what_happens_meanwhile_never_stands_in_the_middle_of_a_line() -> None:
    shown, terminal = os.openpty()
    output = OutputStreams(terminal, terminal)
    writer = TextWriter(output, Transcript())
    events = [
        ev.TextDelta(text="Two words, \u65e5\u672c"),
        ev.CallAnnounced(call_id="c1", index=0, name="demo_fail"),
        ev.Notice(text="first"),
        ev.Notice(text="second"),
        ev.MessageAdded(role="assistant", content="Two words, \u65e5\u672c"),
        ev.TextDelta(text="And on."),
    ]
    for event in events:
        writer.write(event)
    writer.finish()
    await output.finish()
    await _end(output)
    os.close(terminal)
    printed = os.read(shown, 65536).decode().replace("\r\n", "\n")
    os.close(shown)
    assert printed == "Two words, \u65e5\u672c\nfirst\nsecond\n\nAnd on.\n"
