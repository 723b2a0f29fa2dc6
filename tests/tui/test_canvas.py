"""Pictures that the terminal draws itself: what is asked, sent and deleted, and the cells that stand for them."""

from __future__ import annotations

import base64
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from console_app.domain.safe_text import PLACEHOLDER, visible
from console_app.tui.terminal import canvas as canvas_module
from console_app.tui.terminal.canvas import Canvas, Placed
from console_app.tui.terminal.edge import EDGE, INK, LOW_BYTES, MARKS, cells, cleaned
from console_app.tui.terminal.questions import NAME_ANSWER, PICTURES_ANSWER, ExpectedAnswer, draws_cells, may_be_asked
from tests.each import each

NAME, TAKES = "\x1bP>|kitty(0.35.2)\x1b\\", "\x1b_Gi=31;OK\x1b\\"
SENT = re.compile(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\")


def a_canvas(colours: str | None = "truecolor") -> Canvas:
    canvas = Canvas(lambda: None, lambda: (10, 20))
    canvas.open(colours)
    return canvas


def placed(canvas: Canvas, png: bytes = b"png", pixels: int = 100) -> Placed:
    one = canvas.place(png, pixels, 4, 2)
    assert one is not None
    return one


def taken(canvas: Canvas) -> str:
    """All that is to be written."""
    out = ""
    while canvas.pending:
        out += canvas.take()
    return out


def number(sent: str) -> str:
    found = re.search(r"[,_G]i=(\d+)", sent)
    assert found is not None
    return found[1]


@each(
    ("name", "draws"),
    [("kitty(0.28.0)", True), ("kitty(1.0.0)", True), ("kitty(0.26.5)", False), ("ghostty 1.1.3", True),
     ("Konsole 24.1", False), ("WezTerm 20240203", False), ("tmux 3.4", False), ("XTerm(379)", False), ("", False)],
)  # fmt: skip
def test_only_terminals_that_know_the_cells_are_asked_for_pictures(name: str, draws: bool) -> None:
    assert draws_cells(name) is draws


@each(
    ("environ", "asked"),
    [({"TERM": "xterm-kitty"}, True), ({"TERM": "xterm-256color"}, True), ({"TERM": "linux"}, False),
     ({"TERM": "dumb"}, False), ({"TERM": "vt100"}, False), ({}, False), ({"TERM": "tmux-256color"}, False),
     ({"TERM": "xterm-256color", "TMUX": "/tmp/t,1,0"}, False), ({"TERM": "xterm", "STY": "1.a"}, False)],
)  # fmt: skip
def test_who_may_be_asked(environ: dict[str, str], asked: bool) -> None:
    assert may_be_asked(environ) is asked


@pytest.mark.parametrize("answer", [NAME, TAKES, "\x1b_Gi=31;ENOTSUP:no pictures\x1b\\", "\x1bP>|\x1b\\"])
@given(data=st.data())
def test_an_answer_is_taken_wherever_it_is_cut_and_keys_stay_keys(answer: str, data: st.DataObject) -> None:
    keys = st.text("abc[1;AG>|", max_size=6)
    before, behind = data.draw(keys), data.draw(keys)
    whole = before + answer + behind
    places = st.integers(1, len(whole) - 1).filter(lambda at: at != len(before) + 1)
    cuts = [0, *sorted(data.draw(st.sets(places))), len(whole)]
    reader = ExpectedAnswer(*(NAME_ANSWER if "P>" in answer else PICTURES_ANSWER))
    assert "".join(reader.without(whole[cut:end]) for cut, end in pairwise(cuts)) == before + behind
    assert reader.found is not None


@given(st.lists(st.text("ab\x1bP>|_Gi=;\\", max_size=5), max_size=6))
def test_what_is_no_answer_is_typed(pieces: list[str]) -> None:
    for reader in (ExpectedAnswer(*NAME_ANSWER), ExpectedAnswer(*PICTURES_ANSWER)):
        typed = "".join(reader.without(piece) for piece in pieces)
        typed += "".join(reader.tick() for _ in range(9))
        assert reader.found is not None or typed == "".join(pieces)


def test_a_picture_is_sent_once_in_pieces_and_shown_when_all_of_it_was() -> None:
    canvas, png = a_canvas(), bytes(range(256)) * 100
    one = placed(canvas, png)
    assert not one.is_shown
    first = canvas.take()
    assert not one.is_shown
    sent = SENT.findall(first + taken(canvas))
    assert one.is_shown
    assert not canvas.pending
    assert base64.b64decode("".join(data for _, data in sent)) == png
    assert all(len(data) <= 4096 and "q=2" in keys for keys, data in sent)
    assert "a=T,U=1,f=100,t=d,q=2,i=" in sent[0][0]
    assert ",c=4,r=2,m=1" in sent[0][0]
    assert [keys[-3:] for keys, _ in sent] == ["m=1"] * (len(sent) - 1) + ["m=0"]


def test_one_that_nobody_shows_any_more_is_deleted() -> None:
    canvas = a_canvas()
    one, other = placed(canvas), placed(canvas)
    sent = taken(canvas)
    mine = number(sent)
    assert other.is_shown
    del one
    assert taken(canvas) == f"\x1b_Ga=d,d=I,i={mine},q=2;\x1b\\"
    never = placed(canvas)
    del never
    assert "a=T" not in taken(canvas), "it was not worth sending"


def test_one_let_go_half_way_is_ended_and_the_next_arrives_whole() -> None:
    canvas = a_canvas()
    one = placed(canvas, bytes(100_000))
    mine = number(canvas.take())
    del one
    after = placed(canvas, b"next")
    rest = taken(canvas)
    assert rest.startswith(f"\x1b_Gm=0,q=2;\x1b\\\x1b_Ga=d,d=I,i={mine},q=2;\x1b\\\x1b_Ga=T")
    assert after.is_shown


def test_the_terminal_is_given_back_without_pictures_and_they_are_placed_again() -> None:
    canvas = a_canvas()
    shown, half = placed(canvas), placed(canvas, bytes(100_000))
    first = canvas.take()
    second = canvas.take()
    end = canvas.close()
    assert end.startswith("\x1b_Gm=0")
    assert f"i={number(first)}," in end
    assert f"i={number(second)}," in end
    assert end.count("a=d") == 2
    assert shown.is_gone
    assert half.is_gone
    assert not canvas.pending
    assert canvas.place(b"png", 100, 4, 2) is None
    canvas.open("truecolor")
    del shown, half
    assert placed(canvas).is_shown is False
    assert "a=d" not in taken(canvas)


def test_what_the_terminal_keeps_and_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    canvas = a_canvas()
    monkeypatch.setattr(canvas_module, "MOST_KEPT", 4_000)
    oldest, newer = placed(canvas, pixels=500), placed(canvas, pixels=400)
    taken(canvas)
    newest = placed(canvas, pixels=500)
    assert (oldest.is_gone, newer.is_gone, newest.is_gone) == (True, False, False)
    assert "a=d" in taken(canvas)
    assert canvas.place(b"png", 2_000, 4, 2) is None
    monkeypatch.setattr(canvas_module, "MOST_KEPT", 4_000_000)
    many: list[Placed] = []
    for _ in range(canvas_module.MOST_PICTURES + 300):
        many.append(placed(canvas, pixels=1))
        taken(canvas)
    assert sum(not one.is_gone for one in many) == canvas_module.MOST_PICTURES
    assert len({one.cells(0) for one in many if not one.is_gone}) == canvas_module.MOST_PICTURES
    monkeypatch.setattr(canvas_module, "MOST_DUE", 1_000)
    assert canvas.place(bytes(2_000), 1, 4, 2) is None


@each("colours", ["standard", "windows", None])
def test_without_colours_to_name_a_picture_by_none_is_placed(colours: str | None) -> None:
    assert a_canvas(colours).place(b"png", 100, 4, 2) is None


def test_a_cell_names_its_picture_row_and_column() -> None:
    assert len(set(MARKS)) == len(MARKS) == 297
    text = cells(3, 1, 2)
    assert text == f"{PLACEHOLDER}\u030d\u0305\u0310{PLACEHOLDER}\u030d\u030d\u0310"
    assert cell_len(cells(255, 19, len(MARKS))) == len(MARKS)
    one = placed(canvas := a_canvas("256"))
    assert int(number(taken(canvas))) & 0xFFFFFF == LOW_BYTES["256"]
    assert len(one.cells(1)) == 4 * 4
    assert INK.get_ansi_codes() == ("38", "2", "95", "135", "175")
    triplet = INK.triplet
    assert triplet is not None
    assert triplet.red << 16 | triplet.green << 8 | triplet.blue == LOW_BYTES["truecolor"]


@each(
    "text",
    [
        cells(7, 3, 107),
        "cafe\u0301 \u0e02\u0e36\u0e49\u0e19 a\u0300\u0301\u0302b" * 6,
        "a\U0001f469\u200d\U0001f52cb\u8a9e" * 9,
    ],
    ids=["picture", "accents", "joined"],
)
def test_a_dialog_cuts_no_letter_from_its_marks(text: str) -> None:
    line = Strip([Segment(text)]).apply_filter(EDGE, Color(0, 0, 0))
    for first in range(1, line.cell_length):
        for last in {first + 1, first + 20, line.cell_length - 1} & set(range(first + 1, line.cell_length)):
            parts = line.divide([first, last, line.cell_length])
            assert [cell_len(part.text) for part in parts] == [part.cell_length for part in parts]
            assert all(cell_len(part.text[0]) > 0 for part in parts), "a mark is left over"
            assert line.crop(first, last).text == parts[1].text


def test_the_gate_gives_cells_their_ink_back_and_lets_no_others_through() -> None:
    text = cells(3, 1, 2)
    tinted = Segment(text, Style(color="#123456", bgcolor="#000010", link="https://example.org"))
    (through,) = EDGE.apply([tinted], Color(0, 0, 0))
    assert through.text == text
    assert through.style is not None
    assert through.style.color == INK
    assert through.style.bgcolor == tinted.style.bgcolor if tinted.style else False
    assert through.style.link is None
    assert cleaned(f"\x1b[38;2;95;135;175m{text}\x1b[0m").count(PLACEHOLDER) == 2
    foreign = "a" + PLACEHOLDER + "\u030d\u0305\u0310"
    (stopped,) = EDGE.apply([Segment(foreign)], Color(0, 0, 0))
    assert PLACEHOLDER not in stopped.text
    assert visible(foreign).startswith("a<U+10EEEE>")
