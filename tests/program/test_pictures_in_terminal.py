"""A picture in the whole program: drawn by a terminal that says it can, with half blocks in every other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from console_app.domain.safe_text import PLACEHOLDER
from tests.each import each
from tests.escape_reader import read
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_server import Reply, Request, WireServer

NAME = re.compile(rb"\x1b\[>q")
PICTURES = re.compile(rb"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\")
COLOURS, SIZE = re.compile(rb"\x1b\[\?1;1;0S"), re.compile(rb"\x1b\[16t")
STRIP = re.compile(rb'\x1b\[(\d+);\d+H\x1bP0;1;0q"1;1;(\d+);(\d+)[^\x1b]+\x1b\\\x1b\[\d+;\d+H')
CELL = PLACEHOLDER.encode()
SENT = re.compile(rb"\x1b_Ga=T,U=1,f=100,t=d,q=2,i=(\d+),c=\d+,r=\d+,m=\d;")


def named(name: bytes, takes: bytes = b"OK") -> list[tuple[re.Pattern[bytes], bytes]]:
    return [(NAME, b"\x1bP>|%s\x1b\\" % name), (PICTURES, b"\x1b_Gi=31;%s\x1b\\" % takes)]


def refuse(_: Request) -> Reply:
    """The answer of an endpoint that is not asked again."""
    return Reply.json({"error": {"message": "no"}}, 400)


@contextmanager
def with_picture(
    root: Path,
    answers: list[tuple[re.Pattern[bytes], bytes]],
    term: str = "xterm-kitty",
    *,
    kind: bytes = b"?62;22",
    cell: tuple[int, int] = (0, 0),
    environment: dict[str, str] | None = None,
) -> Iterator[Terminal]:
    """The console with a picture in a message; the endpoint refuses it."""
    fanout = Fanout(root)
    noise = Image.frombytes("RGB", (300, 200), os.urandom(180_000))
    noise.save(fanout.cwd / "noise.png")
    more = {"TERM": term, "COLORTERM": "truecolor", "OPENAI_API_KEY": "none", **(environment or {})}
    env = fanout.environment(more)
    with WireServer(refuse) as server:
        argv = fanout.argv("-m", "gpt-4o", "--base-url", server.base_url("openai-chat"), "--no-mcp")
        shape = {"rows": 40, "columns": 100, "kind": kind, "cell": cell}
        with Terminal(argv, env=env, cwd=fanout.cwd, answers=answers, **shape) as terminal:
            yield terminal


def opened(it: Terminal) -> None:
    it.expect("/ for commands")
    it.type("see @noise.png now")
    it.expect(r"noise\.png · ")
    it.press("enter")
    it.expect("failed")
    it.press("alt+up")
    it.expect("enter open")
    it.press("o")
    it.expect("enter close")


def test_a_terminal_that_draws_pictures_gets_it_once_and_nothing_is_left(tmp_path: Path) -> None:
    with with_picture(tmp_path, named(b"kitty(0.35.2)")) as it:
        opened(it)
        assert it.wait_until(lambda _: CELL in it.raw)
        (number,) = SENT.findall(it.raw)
        deleted = b"\x1b_Ga=d,d=I,i=%s,q=2;\x1b\\" % number
        shown = it.raw.index(CELL)
        assert it.raw.rindex(b"m=0;", 0, shown) > it.raw.index(b"a=T"), "the terminal has it before it is to draw it"
        assert deleted not in it.raw
        it.press("o")
        assert it.wait_until(lambda _: deleted in it.raw)
        it.press("o")
        assert it.wait_until(lambda _: len(SENT.findall(it.raw)) == 2)
        it.type("\x03\x03\x03")
        assert it.wait_exit() == 0
        assert it.raw.count(b"a=d,d=I") == 2
        assert it.raw.rindex(b"a=d,d=I") < it.raw.rindex(b"\x1b[?1049l")
        assert it.left_changed() == []
        assert it.left_to_read() == b""


@pytest.mark.parametrize(
    ("answers", "asked"),
    [([], False), (named(b"kitty(0.26.5)"), False), (named(b"Konsole 24.1"), False),
     (named(b"kitty(0.35.2)", b"ENOTSUP:none"), True), (named(b"ghostty 1.1.3")[:1], True),
     ([(NAME, b"\x1bP>|kitty(;;\x1b\\")], False)],
)  # fmt: skip
def test_any_other_terminal_draws_half_blocks(
    tmp_path: Path, answers: list[tuple[re.Pattern[bytes], bytes]], asked: bool
) -> None:
    with with_picture(tmp_path, answers) as it:
        opened(it)
        it.expect("▀▀▀▀")
        it.type("\x03\x03\x03")
        assert it.wait_exit() == 0
        assert (PICTURES.search(it.raw) is not None) is asked
        assert NAME.search(it.raw) is not None
        assert not SENT.search(it.raw)
        assert CELL not in it.raw
        assert it.left_to_read() == b""


def test_a_console_without_a_window_is_not_asked(tmp_path: Path) -> None:
    with with_picture(tmp_path, named(b"kitty(0.35.2)"), term="linux") as it:
        it.expect("/ for commands")
        it.type("\x03\x03\x03")
        assert it.wait_exit() == 0
        assert NAME.search(it.raw) is None


@each(
    ("details", "cell"),
    [([(COLOURS, b"\x1b[?1;0;256S"), (SIZE, b"\x1b[6;9;9t")], (10, 20)),
     ([(COLOURS, b"\x1b[?1;3S"), (SIZE, b"\x1b[6;20;10t")], (0, 0))],
)  # fmt: skip
def test_a_terminal_that_takes_sixels_gets_a_strip_for_each_row(
    tmp_path: Path, details: list[tuple[re.Pattern[bytes], bytes]], cell: tuple[int, int]
) -> None:
    with with_picture(tmp_path, details, "xterm-256color", kind=b"?63;1;2;4;6", cell=cell) as it:
        opened(it)
        assert it.wait_until(lambda _: len(STRIP.findall(it.raw)) >= 20)
        first = STRIP.findall(it.raw)
        assert {(width, height) for _, width, height in first} == {(b"600", b"20")}
        lines = [int(line) for line, _, _ in first[:20]]
        assert lines == list(range(lines[0], lines[0] + 20)), "each in its own line, from the first on"
        assert it.screen.cursor.y < 40
        before = len(first)
        it.press("ctrl+p")
        it.expect("Search for commands")
        it.press("escape")
        it.expect_gone("Search for commands")
        assert it.wait_until(lambda _: len(STRIP.findall(it.raw)) >= before + 20), "what covered it is gone"
        it.type("\x03\x03\x03")
        assert it.wait_exit() == 0
        assert CELL not in it.raw
        assert read(bytes(it.raw), newlines=True).faults == []
        assert it.left_changed() == []
        assert it.left_to_read() == b""


@each(
    ("kind", "cell", "environment"),
    [(b"?63;4", (0, 0), {}), (b"?63;4", (10, 20), {"TMUX": "/tmp/none,1,0"}), (b"?63;4", (10, 20), {"NO_COLOR": "1"})],
)  # fmt: skip
def test_where_sixels_would_not_fit_or_are_not_known_there_are_none(
    tmp_path: Path, kind: bytes, cell: tuple[int, int], environment: dict[str, str]
) -> None:
    with with_picture(tmp_path, [], "xterm-256color", kind=kind, cell=cell, environment=environment) as it:
        opened(it)
        if "NO_COLOR" not in environment:
            it.expect("▀▀▀▀")
        it.type("\x03\x03\x03")
        assert it.wait_exit() == 0
        assert STRIP.search(it.raw) is None
        assert CELL not in it.raw
        assert it.left_to_read() == b""
