"""A session as a moving picture: what the console showed, when it did, in files that nothing foreign can act in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest
from rich.segment import Segment
from rich.style import Style

from console_app.tui.recording.svg import MOST, Recording, Screen, StyledRun, row_of
from tests.headless.inside import Inside, process_restored

SCRIPT = """
[[answer]]
steps = [
  { text = "Two at once." },
  { call = "calculator.evaluate", arguments = { expression = "6*7" } },
  { call = "demo.long_task", arguments = { task = "one", duration_seconds = 1 } },
]
[[answer]]
steps = [ { text = "Forty-two, and <b>bold</b> & done." } ]
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def fanout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    with process_restored():
        yield Inside(tmp_path, monkeypatch, capfd)


@pytest.fixture
def session(fanout: Inside) -> str:
    fanout.write("script.toml", SCRIPT)
    assert fanout.run("run", "-m", "scripted/script.toml", "What is 6 times 7?").code == 0
    return json.loads(fanout.run("sessions", "list", "--jsonl").out)["id"]


def test_a_session_is_exported_as_a_picture_that_moves_by_itself(fanout: Inside, session: str) -> None:
    done = fanout.run("sessions", "export", session, "-o", "talk.svg", "--size", "90x24")
    assert (done.code, done.out, done.err) == (0, "talk.svg\n", "")
    text = (fanout.cwd / "talk.svg").read_text()
    whole = ElementTree.fromstring(text)
    assert whole.tag == f"{SVG}svg"
    shown = " ".join("".join(one.itertext()) for one in whole.iter(f"{SVG}text"))
    for seen in ("What is 6 times 7?", "Two at once.", "long_task", "Forty-two"):
        assert seen in shown
    assert "@keyframes" in text
    assert "prefers-reduced-motion" in text
    assert {one.tag.removeprefix(SVG) for one in whole.iter()} == {"svg", "style", "g", "rect", "text"}
    assert not re.search(r"(?:href|src|url\(|@import|@font-face)", text)
    assert len(text) < 1_000_000
    again = fanout.run("sessions", "export", session, "-o", "talk.svg", "--size", "90x24")
    assert again.out == "talk-2.svg\n"


def test_an_asciicast_shows_the_same_screens_in_a_terminal(fanout: Inside, session: str) -> None:
    done = fanout.run("sessions", "export", session, "--format", "cast", "--size", "80x24", "--speed", "2")
    header, *lines = (json.loads(line) for line in done.out.splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    times = [at for at, _, _ in lines]
    assert times == sorted(times)
    screen = pyte.Screen(80, 24)
    stream = pyte.Stream(screen)
    seen: list[str] = []
    for _, kind, data in lines:
        assert kind == "o"
        stream.feed(data)
        seen.append("\n".join(screen.display))
    running = next(number for number, one in enumerate(seen) if "1 running" in one)
    ended = next(number for number, one in enumerate(seen) if "Forty-two" in one)
    assert 0 < running < ended
    assert 0.3 < times[ended] - times[running] < 1.0  # a second of work, twice as fast; in recorded time
    assert "✓ done" in seen[-1]


def test_a_session_is_drawn_alike_every_time_and_everywhere(fanout: Inside, session: str) -> None:
    drawn = [
        fanout.run("sessions", "export", session, "--format", "svg", "--size", "70x15", env=env).out
        for env in ({"TZ": "UTC"}, {"TZ": "Asia/Tokyo", "TERM": "dumb"}, {"COLORTERM": "", "COLUMNS": "40"})
    ]
    assert drawn[0].startswith("<svg")
    assert drawn[1] == drawn[0]
    assert drawn[2] == drawn[0]


def test_known_secrets_are_not_in_a_picture(fanout: Inside) -> None:
    fanout.write("script.toml", '[[answer]]\nsteps = [{ text = "the key is sk-test-abcdefghijklmnop" }]\n')
    environment = {"OPENAI_API_KEY": "sk-test-abcdefghijklmnop"}
    assert fanout.run("run", "-m", "scripted/script.toml", "go on", env=environment).code == 0
    session = json.loads(fanout.run("sessions", "list", "--jsonl").out)["id"]
    for form in ("svg", "cast"):
        done = fanout.run("sessions", "export", session, "--format", form, env=environment)
        assert done.code == 0
        assert "the key is" in done.out
        assert "abcdefghijklmnop" not in done.out


@pytest.mark.parametrize("size", ["20x10", "x", "100", "999x999", "axb"])
def test_a_size_that_is_none_is_one_line(fanout: Inside, size: str) -> None:
    done = fanout.run("sessions", "export", "x", "--format", "svg", "--size", size)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "size from 60x15 to 240x80" in done.err


def test_a_row_keeps_its_cells_looks_and_no_control_character() -> None:
    bold = Style.parse("bold #ff0000 on #000000")
    row = row_of([Segment("a", bold), Segment("b", bold), Segment("界", None), Segment("\x1b[2J", None)])
    assert row[0] == StyledRun(0, 2, "ab", bold)
    assert (row[1].at, row[1].text[0]) == (2, "界")
    assert row[1].text.isprintable()


def test_a_long_recording_has_fewer_screens_and_a_bounded_size() -> None:
    rows = [
        tuple((StyledRun(0, 60, f"{number:06} {line:06} " + "x" * 46, Style.null()),) for line in range(40))
        for number in range(700)
    ]
    screens = tuple(Screen(number / 8, row) for number, row in enumerate(rows))
    text = Recording(60, 40, screens, 100.0).as_svg()
    assert len(text) <= MOST
    assert "000000 000000" in text
    assert "000699 000039" in text


def test_what_is_markup_elsewhere_is_text() -> None:
    hostile = '</text><script>x()</script>&"]]>'
    recording = Recording(60, 1, (Screen(0.0, ((StyledRun(0, len(hostile), hostile, Style.null()),),)),), 1.0)
    whole = ElementTree.fromstring(recording.as_svg())
    assert [one.text for one in whole.iter(f"{SVG}text")] == [hostile]
    assert json.loads(recording.as_cast().splitlines()[1])[2].count("\x1b") < 8
