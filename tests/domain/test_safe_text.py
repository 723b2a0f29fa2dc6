"""Nothing foreign reaches the terminal: what could move, hide or reorder is shown as a mark."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.safe_text import is_safe, one_line, visible
from tests.each import each

HOSTILE = {
    "an escape": ("a\x1b[31mb", "a␛[31mb"),
    "OSC 52": ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
    "OSC as C1": ("\x9d0;title\x9c", "<U+009D>0;title<U+009C>"),
    "a carriage return that overwrites": ("good\rbad", "good␍bad"),
    "a bell": ("\x07", "␇"),
    "delete": ("\x7f", "␡"),
    "right-to-left override": ("\u202egnp.exe", "<U+202E>gnp.exe"),
    "isolates": ("\u2066x\u2069", "<U+2066>x<U+2069>"),
    "zero width space": ("pay\u200bpal", "pay<U+200B>pal"),
    "a joiner between letters": ("a\u200db", "a<U+200D>b"),
    "byte order mark": ("\ufeffx", "<U+FEFF>x"),
    "line separator": ("a\u2028b", "a<U+2028>b"),
    "a tag character": ("\U000e0041", "<U+E0041>"),
    "a lone surrogate": ("\ud83d", "<U+D83D>"),
    "soft hyphen": ("a\u00adb", "a<U+00AD>b"),
}
PLAIN = ["", "plain", "tab\tand\nnewline", "Ünïcødé", "日本語", "👩‍👩‍👧 family", "❤️ heart", "1️⃣", "नमस्ते", "e\u0301"]


@each(("text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_shown_as_marks(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert not is_safe(text)


@each("text", PLAIN)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert is_safe(text)


def test_windows_line_ends_become_newlines_even_beside_marks() -> None:
    assert visible("a\r\n\x1b\r\n") == "a\n␛\n"


@given(st.text(st.characters()))
def test_no_text_leaves_a_control_or_a_bidi_character(text: str) -> None:
    shown = visible(text)
    assert all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} or c in "\n\t" for c in shown)
    assert all(
        unicodedata.bidirectional(c) not in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"}
        for c in shown
    )
    assert visible(shown) == shown


@given(st.text(st.characters()), st.integers(1, 40))
def test_one_line_is_one_line_no_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert "\t" not in line


def test_one_line_says_that_it_was_cut() -> None:
    assert one_line("a b  c\n\nd", 5) == "a b …"
    assert one_line("a\r\nb\tc") == "a b c"


def test_megabytes_cost_one_line_nothing() -> None:
    assert one_line("x" * 10_000_000, 3) == "xx…"


@each("end", ["", "…", "文\t\n", "\x07", "1\ufe0f", "1\u200d", "文\u202e", "👩\u200d💻", "\ufe0f"])
@each("before", ["", "\x07"])
def test_a_long_text_is_as_safe_as_each_of_its_parts(before: str, end: str) -> None:
    """The plain beginning of megabytes is looked through otherwise; the characters at its edge are judged with it."""
    assert is_safe("a" * 20_000 + before + "b" * 20_000 + end) == (not before and is_safe("b" + end))
    assert visible(before + "b" * 20_000 + end) == visible(before) + "b" * 19_999 + visible("b" + end)
