"""Markdown as it streams in: the same at the end however it was cut, never jumping, never leaving its width."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.style import Style

from console_app.tui.lineview import parser
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.markdown.stream import HUGE, LONG, SLICE, MarkdownStream
from console_app.tui.lineview.markdown.units import MOST_MADE, ClosedBlocks, TextLook
from tests.each import each
from tests.examples import examples
from tests.tui.lineview.scenes import PALETTE, markdown_lines, text_of
from tests.work import work

FRAGMENTS = [
    *("# h\n", "text ", "**b**", "**", "*", "_x_", "`c`", "`", "```py\n", "```\n", "~~~\n", "- a\n", "  - b\n"),
    *("1. x\n", "\n", "\n\n", "> q\n", "| a | b |\n", "|---|--:|\n", "| 1 | 2", "|", "---\n", "===\n", "    code\n"),
    *("[l](http://a.b)", "[x]: http://y.z\n", "![i](u)", "\\*", "漢字", "👩‍🚀 ", "a" * 70, "<b>", "&amp;"),
    *("- [ ] t\n", "\t", "~~s~~", "def f(): pass\n", "  \n", "* * *\n", "+", "2)", " x\r\n", "\x1b[31m", "\u202e"),
]
documents = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join), st.text(max_size=80))


def growing(text: str, cuts: list[int], width: int) -> MarkdownStream:
    stream = MarkdownStream()
    at = 0
    for size in cuts:
        stream.append(text[at : at + size])
        markdown_lines(stream, width)
        at += size
    stream.append(text[at:])
    return stream


def fed(text: str, cuts: list[int], width: int) -> MarkdownStream:
    stream = growing(text, cuts, width)
    stream.finish()
    return stream


@examples(300)
@given(documents, st.lists(st.integers(1, 9), max_size=40), st.sampled_from([1, 3, 20, 60]))
def test_a_text_ends_the_same_however_it_was_cut_into_tokens(text: str, cuts: list[int], width: int) -> None:
    pieces = markdown_lines(fed(text, cuts, width), width)
    assert text_of(pieces) == text_of(markdown_lines(MarkdownStream(text, final=True), width))


@examples(300)
@given(documents, st.lists(st.integers(1, 9), max_size=40), st.sampled_from([1, 3, 20, 60]))
@example("[0]\n\n[0]:0", [1, 1, 1, 4], 60)  # a link whose definition came with it, and one that came before it
def test_a_text_that_goes_on_looks_the_same_however_it_was_cut_into_tokens(
    text: str, cuts: list[int], width: int
) -> None:
    seen = text_of(markdown_lines(growing(text, cuts, width), width))
    assert seen == text_of(markdown_lines(MarkdownStream(text), width))


@examples(60)
@given(documents, st.integers(1, 60), st.integers(1, 2 * SLICE), st.integers(12, 60))
@example("```python\n```python\n| a | b |\n> said\n```\n", 60, SLICE, 60)
@example("```python\nx = 1\nx = 1\n**open\n```python\n```\n", 60, SLICE, 60)
@example("[x]: http://y.z\ntext [x]: http://y.z\n", 40, SLICE, 60)
@example("- a\n\n- b\n", 300, SLICE, 60)
def test_a_long_text_with_an_open_end_looks_the_same_in_slices_as_at_once(
    part: str, times: int, size: int, width: int
) -> None:
    text = part * times + "**open"
    seen = text_of(markdown_lines(growing(text, [size] * (len(text) // size), width), width))
    assert seen == text_of(markdown_lines(MarkdownStream(text), width))


@each("text", ["```\na\0b\n```\nc\0d\n", "a\n\r[x]: http://y.z\n\n[x]", " ```\n\tn\n```\ne"])
def test_what_once_ended_otherwise_ends_the_same_however_it_was_cut(text: str) -> None:
    whole = text_of(markdown_lines(MarkdownStream(text, final=True)))
    assert text_of(markdown_lines(fed(text, [1] * len(text), 60))) == whole


@examples(200)
@given(documents, st.integers(1, 30))
def test_every_line_has_its_width_and_nothing_that_steers_a_terminal(text: str, width: int) -> None:
    for line in markdown_lines(fed(text, [5] * 8, width), width):
        assert sum(segment.cell_length for segment in line) == width
        assert not [char for char in line.text if unicodedata.category(char) in ("Cc", "Cs") or char == "\u202e"]


@each(
    "text",
    [
        "[x]: https://y.z",
        "[^1]: foot",
        "&nbsp;",
        "#",
        ">",
        "```\n```",
        "[a]: b\n[c]: d",
        "<!-- no -->",
        "\u200b",
        "***",
    ],
)
def test_an_answer_of_nothing_but_marks_is_seen_as_it_was_written(text: str) -> None:
    seen = text_of(markdown_lines(fed(text, [1] * 40, 60), 60))
    assert seen.strip()
    assert seen == text_of(markdown_lines(MarkdownStream(text, final=True), 60))
    for hidden in ("https://y.z", "foot", "&nbsp;", "b", "d"):
        assert hidden not in text or hidden in seen
    assert not text_of(markdown_lines(MarkdownStream(" \n\n", final=True), 60)).strip()


@each(
    "text",
    [
        "Some **bold words** here",
        "Some *italic* and ***both*** here",
        "A `code span` here",
        "Gone ~~struck~~ here",
        "See [the page](https://example.org/page) now",
        "- one\n- two **bold**\n- three",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        "Text\n\n```python\nx = 1\n```\n\nmore",
        "1. first\n2. second\n10. tenth",
        "## Heading\n\ntext",
        "> quoted `code`\n> more",
    ],
)
def test_markers_are_never_seen_while_they_arrive(text: str) -> None:
    stream = MarkdownStream()
    for char in text:
        stream.append(char)
        seen = text_of(markdown_lines(stream))
        for marker in ("*", "`", "~~", "](", "|-", "| ", "##", "```", "> "):
            assert marker not in seen, f"{marker!r} after {stream.text!r}: {seen!r}"


def test_words_do_not_change_their_style_once_shown() -> None:
    stream = MarkdownStream()
    styles: dict[str, object] = {}
    for char in "plain **bold** plain `code` plain *slanted* end":
        stream.append(char)
        for line in markdown_lines(stream):
            for text, style, _ in line:
                for word in text.split():
                    if len(word) > 4 and word in ("plain", "slanted"):
                        assert styles.setdefault(word, style) == style


def test_a_growing_block_of_code_is_highlighted_as_a_whole_one() -> None:
    code = "```python\n" + "".join(f'x{n} = """a\nb""" + {n}  # c\n' for n in range(60)) + "```\n"
    stream = MarkdownStream()
    for at in range(0, len(code), 37):
        stream.append(code[at : at + 37])
        markdown_lines(stream)
    stream.finish()
    assert markdown_lines(stream) == markdown_lines(MarkdownStream(code, final=True))


def test_an_open_fence_shows_its_code_in_colour_at_once() -> None:
    stream = MarkdownStream("```python\ndef f():\n    ret")
    lines = markdown_lines(stream)
    assert text_of(lines) == " python\n def f():\n     ret"
    keyword = next(style for text, style, _ in lines[1] if text == "def")
    assert keyword is not None
    assert keyword.color == PALETTE.on_sunken.syntax["keyword"].color


def test_tables_fit_the_width_they_have() -> None:
    table = "| name | note |\n|:--|--:|\n| a | some long words that have to wrap somewhere |\n"
    wide = text_of(markdown_lines(MarkdownStream(table, final=True), 70))
    assert wide.split("\n")[0].endswith("note")
    assert "─┼─" in wide
    narrow = markdown_lines(MarkdownStream(table, final=True), 24)
    assert all(line.cell_length == 24 for line in narrow)
    assert "name: a" in text_of(markdown_lines(MarkdownStream(table, final=True), 9)).replace("\n", " ")


def test_a_long_list_keeps_its_numbers_while_it_streams() -> None:
    text = "".join(f"1. item **{n}** with some words\n" + ("   - inner\n\n" if n % 7 == 0 else "") for n in range(200))
    stream = fed(text, [37] * (len(text) // 37), 60)
    assert text_of(markdown_lines(stream)) == text_of(markdown_lines(MarkdownStream(text, final=True)))
    assert "200. item 199" in text_of(markdown_lines(stream))


def test_only_web_links_can_be_opened() -> None:
    text = "[good](https://example.org) [bad](javascript:alert) [file](file:///etc/passwd)"
    targets = [
        (segment.text, segment.style.meta.get("href"))
        for line in markdown_lines(MarkdownStream(text, final=True), 120)
        for segment in line
        if segment.style is not None and segment.style.meta
    ]
    assert targets == [("good", "https://example.org")]


def test_what_looks_like_our_markup_is_text() -> None:
    text = "[/red] [@click=app.quit]press[/] [bold]x[/bold]"
    assert text_of(markdown_lines(MarkdownStream(text, final=True))) == text


def test_of_a_long_text_that_grows_only_what_is_new_is_laid_out_again() -> None:
    framed: list[Row] = []

    def frame(row: Row) -> Line:
        framed.append(row)
        return Line.fit(row.pieces, 60, PALETTE.base)

    look = TextLook(60, PALETTE, frame, "one look")
    stream = MarkdownStream("\n\n".join(f"part {n}" for n in range(MOST_MADE)))
    assert len(stream.all_lines(look)) == len(framed) == 2 * MOST_MADE - 1
    stream.append("\n\nmore")
    framed.clear()
    assert len(stream.all_lines(look)) == 2 * MOST_MADE + 1
    assert len(framed) < 10


def test_links_defined_at_the_end_are_resolved_when_the_text_ends() -> None:
    stream = MarkdownStream("See [the page][1] first.\n\nMore.\n\n")
    markdown_lines(stream, 80)
    stream.append("[1]: https://example.org/a\n")
    stream.finish()
    assert "the page (https://example.org/a)" in text_of(markdown_lines(stream, 80))


def test_lists_keep_their_numbers_boxes_and_depth() -> None:
    text = "9. nine\n10. ten\n    - inner\n- [x] done\n- [ ] open\n"
    assert text_of(markdown_lines(MarkdownStream(text, final=True))).split("\n") == [
        "9. nine",
        "10. ten",
        "    • inner",
        "",
        "☑ done",
        "☐ open",
    ]


SENTENCE = "Some **bold words** and `code` in a row, 3 of them. "


@each(
    "text",
    [
        SENTENCE * 500,
        (SENTENCE + "\n") * 500,
        "2*3 is " + SENTENCE * 400,
        "| a | b |\n|---|--:|\n" + "| one of the cells | 2 |\n" * 1000,
        "word" * 6000,
        "=" * 25_000,
        ("> " + SENTENCE + "\n") * 500,
        "- " + SENTENCE * 500,
    ],
    ids=["a line", "lines", "never closed", "table", "no spaces", "marks", "quote", "item"],
)
def test_no_frame_parses_more_than_a_few_pages_of_an_endless_block(text: str) -> None:
    stream = MarkdownStream()
    longest = 0
    for at in range(0, len(text), 3000):
        stream.append(text[at : at + 3000])
        markdown_lines(stream, 80)
        longest = max(longest, len(stream._tail))
    assert longest <= HUGE + 3000
    stream.finish()
    seen = text_of(markdown_lines(stream, 80))
    assert text_of(markdown_lines(MarkdownStream(text, final=True), 80)) == seen
    letters = [char for char in text if char.isalnum() or char == "="]
    assert len(letters) <= sum(char.isalnum() or char == "=" for char in seen)


MARKS = re.compile(r"[*_`\[\]<>&\\~!\n]")


@each(
    "part",
    ["[", "![", "[a](", "_a", "**a**b", "*a *b ", "`a``b", "<a", "&", "\\", "~~a", "a\n", "a\\\n", "<div>\n",
     "[a]: b\n", "[a](http://e.x/1) ", "<http://e.x/1> "],
)  # fmt: skip
def test_no_frame_reads_more_than_some_marks_of_an_endless_paragraph(part: str) -> None:
    """Each takes as long as many letters do."""
    text = part * (6000 // len(part))  # some times as many marks as are read at once
    stream, most = MarkdownStream(), 0
    for at in range(0, len(text), 1500):
        stream.append(text[at : at + 1500])
        markdown_lines(stream, 80)
        most = max(most, len(MARKS.findall(stream._tail)))
    stream.finish()
    whole = MarkdownStream(text, final=True)
    seen = text_of(markdown_lines(stream, 80))
    assert text_of(markdown_lines(whole, 80)) == seen
    for one in (stream, whole):
        sources = [unit.source for unit in one._units if isinstance(unit, ClosedBlocks)]
        assert max([most, *(len(MARKS.findall(source)) for source in sources)]) <= HUGE // 8
    if "]:" not in part:
        assert sum(char.isalnum() for line in seen for char in line) == sum(char.isalnum() for char in text)


def test_many_narrow_cells_are_laid_out_in_parts() -> None:
    text = "|a" * 26 + "|\n" + "|-" * 26 + "|\n" + ("|1" * 26 + "|\n") * 450
    stream = MarkdownStream(text, final=True)
    seen = text_of(markdown_lines(stream, 160))
    units = stream._all_units()
    assert len(units) > 10
    assert sum(line.count("1") for line in seen) == 26 * 450
    assert len({line for line in seen if "1" in line}) == 1


@given(st.text("ab \n\\`~*_[]()<>&!|#-:;.é漢", max_size=60))
def test_lines_without_marks_are_read_as_all_others(text: str) -> None:
    plain = MarkdownIt("commonmark", {"html": False, "maxNesting": 12}).enable(["table", "strikethrough"])
    assert [token.as_dict() for token in parser().parse(text)] == [token.as_dict() for token in plain.parse(text)]


@each("text", ["漢字", "👩‍🚀", "word", "漢字の、", "e\u0301"])
def test_a_word_that_does_not_end_is_wrapped_in_a_time_that_grows_as_it_does(text: str) -> None:
    def wrapping(times: int) -> int:
        pieces: list[Piece] = [(text, Style(bold=bool(n % 2))) for n in range(times)]
        rows = Line.wrap(pieces, 80)
        assert "".join(part for row in rows for part, _ in row.pieces) == text * times
        assert max(Line.cells(row.pieces) for row in rows) in (79, 80)
        return work(lambda: Line.wrap(pieces, 80))

    assert wrapping(4_000) < 5 * wrapping(1_000)


def test_no_frame_parses_more_than_a_few_pages_of_endless_definitions() -> None:
    text = "".join(f"[r{n}]: http://x.y/{n}\n  'the\n  page {n}'\n" for n in range(1000)) + "\nSee [r0] and [r999].\n"
    stream = MarkdownStream()
    longest = 0
    for at in range(0, len(text), 500):
        stream.append(text[at : at + 500])
        markdown_lines(stream, 80)
        longest = max(longest, len(stream._tail))
    assert longest <= LONG + 1000
    stream.finish()
    seen = [line.text.strip() for line in markdown_lines(stream, 80)]
    assert seen == [line.text.strip() for line in markdown_lines(MarkdownStream(text, final=True), 80)]
    assert seen == ["See r0 (http://x.y/0) and r999 (http://x.y/999)."]
