"""Pictures as strips of sixels: what a terminal draws of them is the picture, and only where its cells stand."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.color import ColorSystem

from console_app.tui.terminal import canvas as sixels
from console_app.tui.terminal.canvas import Canvas, Placed, Strips, drawn, strips
from console_app.tui.terminal.edge import cells, cleaned
from console_app.tui.terminal.questions import CELL_ANSWER, COLOURS_ANSWER, ExpectedAnswer, takes_sixels
from tests.each import each

CELL = (4, 10)
COLOURS = [(0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 51, 255), (0, 255, 102)]
INK = "\x1b[38;2;95;135;175;48;2;1;2;3m"


def pixels_of(strip: str) -> list[list[tuple[int, int, int] | None]]:
    """The lines of pixels that a terminal draws of a strip: as DEC's manual has it, and strict."""
    head = re.match(r'\x1bP0;1;0q"1;1;(\d+);(\d+)', strip)
    assert head is not None
    assert strip.endswith("\x1b\\")
    width, height = int(head[1]), int(head[2])
    lines: list[list[tuple[int, int, int] | None]] = [[None] * width for _ in range(height)]
    palette: dict[int, tuple[int, int, int]] = {}
    x = y = colour = 0
    body = strip[head.end() : -2]
    tokens = re.findall(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|(?:!(\d+))?([?-~])|([$-])", body)
    assert len("".join(m[0] for m in re.finditer(r"#\d+(?:;2;\d+;\d+;\d+)?|(?:!\d+)?[?-~]|[$-]", body))) == len(body)
    for number, red, green, blue, times, letter, move in tokens:
        if number:
            colour = int(number)
            if red:
                assert max(int(red), int(green), int(blue)) <= 100
                palette[colour] = (int(red), int(green), int(blue))
        elif letter:
            for _ in range(int(times or 1)):
                for bit in range(6):
                    if ord(letter) - 63 >> bit & 1:
                        lines[y + bit][x] = palette[colour]
                x += 1
            assert x <= width
        else:
            x, y = 0, y + 6 * (move == "-")
    assert y < height, "a move past the last line would scroll the screen"
    return lines


def made(picture: Image.Image, columns: int, lines: int, colours: int = 256) -> Strips:
    small = picture.resize((columns, lines))
    one = strips(picture, small, CELL, colours, ColorSystem.TRUECOLOR)
    assert one is not None
    return one


@given(st.data())
def test_what_a_terminal_draws_is_the_picture(data: st.DataObject) -> None:
    columns, lines = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    sides = columns * CELL[0], -(-lines * CELL[1] // 2)
    kinds = [*((*one, 255) for one in COLOURS), (0, 0, 0, 0)]
    some = data.draw(st.randoms()).choices(kinds, k=sides[0] * sides[1])
    picture = Image.new("RGBA", sides)
    picture.putdata(some)
    one = made(picture, columns, lines)
    found = [line for strip in one.sharp for line in pixels_of(strip)]
    assert len(one.sharp) == len(one.coarse) == -(-lines // 2)
    assert [pixel for line in found for pixel in line] == [
        None if pixel[3] == 0 else tuple(round(shade / 2.55) for shade in pixel[:3]) for pixel in some
    ]


@each("colours", [2, 16, 256, 100_000])
def test_no_more_colours_than_the_terminal_has(colours: int) -> None:
    picture = Image.radial_gradient("L").convert("RGBA")
    for strip in made(picture, 20, 20, colours).sharp:
        assert len(set(re.findall(r"#(\d+);", strip))) <= min(colours, 255)
        assert pixels_of(strip)


def test_what_would_be_too_much_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = Image.effect_noise((80, 80), 90).convert("RGBA")
    made(picture, 20, 20)
    monkeypatch.setattr(sixels, "MOST_STRIPS", 1_000)
    assert strips(picture, picture.resize((20, 20)), CELL, 256, ColorSystem.TRUECOLOR) is None
    monkeypatch.setattr(sixels, "MOST_SIXEL_PIXELS", 1_000)
    assert strips(picture, picture.resize((20, 20)), CELL, 256, ColorSystem.TRUECOLOR) is None


def test_half_blocks_stand_in_and_the_ground_is_seen_where_it_is_open() -> None:
    picture = Image.new("RGBA", (3, 2), (255, 0, 0, 255))
    picture.putpixel((1, 0), (0, 0, 0, 0))
    picture.putpixel((2, 1), (0, 0, 0, 0))
    one = strips(picture, picture, CELL, 256, ColorSystem.TRUECOLOR)
    assert one is not None
    text, coarse = drawn(f"\x1b[3;5H{INK}{cells(7, 0, 3)}\x1b[0m", lambda _: one, last_line=9, is_read=False)
    red = "38;2;255;0;0"
    assert text == f"\x1b[3;5H{INK}\x1b[{red};48;2;255;0;0m▀{INK}\x1b[{red}m▄{INK}\x1b[{red}m▀\x1b[0m"
    assert coarse == {cells(7, 0, 3)}
    assert cleaned(text) == text


def frame(row: str, line: int = 3) -> str:
    return f"\x1b[{line};5H\x1b[1mab語\x1b[0m{INK}{row}\x1b[0mrest\x1b[{line + 1};1Hnext"


@each(
    ("line", "is_read", "first", "sharp"),
    [(3, True, 0, True), (3, False, 0, False), (9, True, 0, False), (3, True, 1, False)],
)
def test_a_whole_row_becomes_its_strip_where_it_stands(line: int, is_read: bool, first: int, sharp: bool) -> None:
    one = made(Image.radial_gradient("L").convert("RGBA"), 4, 4)
    row = cells(7, 1, 4)[first * 4 :]
    text, coarse = drawn(frame(row, line), lambda _: one, last_line=9, is_read=is_read)
    assert (one.sharp[1] in text) is sharp
    assert coarse == (set() if sharp else {row})
    assert text.startswith(f"\x1b[{line};5H\x1b[1mab語\x1b[0m{INK}")
    assert text.endswith(f"\x1b[0mrest\x1b[{line + 1};1Hnext")
    if sharp:
        assert f"{INK}    \x1b[{line};9H{one.sharp[1]}\x1b[{line};13H\x1b[0mrest" in text
    assert text.count("▀") == (0 if sharp else 4 - first)


def test_cells_of_a_picture_that_is_gone_are_empty() -> None:
    assert drawn(frame(cells(7, 1, 4)), lambda _: None, last_line=9, is_read=True) == (frame("    "), frozenset())
    one = made(Image.new("RGBA", (9, 9)), 4, 4)
    assert drawn(frame(cells(7, 2, 4)), lambda _: one, last_line=9, is_read=True) == (frame("    "), frozenset())


def a_canvas(cell: list[tuple[int, int]]) -> Canvas:
    canvas = Canvas(lambda: None, lambda: cell[0])
    canvas.open("truecolor", 256)
    return canvas


def placed(canvas: Canvas) -> Placed:
    one = canvas.place_strips(made(Image.new("RGBA", (9, 9), (255, 0, 0, 255)), 4, 4))
    assert one is not None
    return one


def test_what_is_coarser_than_it_could_be_is_painted_once_more_at_rest_and_then_stays() -> None:
    canvas = a_canvas([CELL])
    one = placed(canvas)
    assert one.is_shown
    whole, part = frame(one.cells(0)), frame(one.cells(1)[4:])
    assert canvas.with_strips("no picture", 9, is_read=False) == ("no picture", False)
    assert canvas.with_strips(whole, 9, is_read=False)[1], "the terminal was slow"
    assert not canvas.with_strips(whole, 9, is_read=True)[1]
    assert canvas.with_strips(part, 9, is_read=True)[1], "perhaps the rest of the row is there already"
    canvas.rest()
    assert not canvas.with_strips(whole + part, 9, is_read=True)[1], "it is covered"
    assert not canvas.with_strips(part, 9, is_read=True)[1]
    canvas.rest()
    assert not canvas.with_strips(whole, 9, is_read=True)[1]
    assert canvas.with_strips(part, 9, is_read=True)[1]


def test_letters_of_another_size_take_the_pictures_away_and_so_does_giving_back() -> None:
    cell = [CELL]
    canvas = a_canvas(cell)
    one = placed(canvas)
    canvas.resized()
    assert not one.is_gone
    cell[0] = (8, 20)
    canvas.resized()
    assert one.is_gone
    assert canvas.place_strips(made(Image.new("RGBA", (9, 9)), 4, 4)) is not None
    other = placed(canvas)
    assert canvas.close() == ""
    assert other.is_gone
    assert canvas.place_strips(made(Image.new("RGBA", (9, 9)), 4, 4)) is None
    assert canvas.with_strips(frame(other.cells(0)), 9, is_read=True)[0] == frame("    ")


@each(
    ("kind", "takes"),
    [("63;1;2;4;6;9", True), ("62;4;22", True), ("1;2", False), ("4", False), ("4;6", False), ("64;14;40", False),
     ("", False)],
)  # fmt: skip
def test_who_takes_sixels(kind: str, takes: bool) -> None:
    assert takes_sixels(kind) is takes


@given(st.data())
def test_answers_are_taken_wherever_they_are_cut(data: st.DataObject) -> None:
    colours, size = data.draw(st.sampled_from([("1024", "\x1b[?1;0;1024S"), (None, "\x1b[?1;3S")])), "\x1b[6;20;10t"
    keys = st.text("abc[1;AS?", max_size=6)
    before, between, behind = data.draw(keys), data.draw(keys), data.draw(keys)
    whole = before + colours[1] + between + size + behind
    escapes = {at + 1 for at, sign in enumerate(whole) if sign == "\x1b"}  # a lone one is a key
    places = st.integers(1, len(whole) - 1).filter(lambda at: at not in escapes)
    cuts = [0, *sorted(data.draw(st.sets(places))), len(whole)]
    first, second = ExpectedAnswer(*COLOURS_ANSWER), ExpectedAnswer(*CELL_ANSWER)
    typed = "".join(second.without(first.without(whole[cut:end])) for cut, end in pairwise(cuts))
    assert typed == before + between + behind
    assert first.found is not None
    assert first.found[1] == colours[0]
    assert second.found is not None
    assert second.found.groups() == ("20", "10")
