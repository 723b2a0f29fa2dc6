"""Source is told from its text where no path says what it is; prose, logs and what a shell printed stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from console_app.tui.lineview.results.kind import kind_of
from console_app.tui.lineview.results.source import language_of_text
from tests.each import each
from tests.examples import examples

SAMPLES = re.findall(
    r"^@@ (\w+): (.+)\n((?:(?!@@ ).*\n)+)", Path(__file__).with_name("samples_of_source.txt").read_text(), re.MULTILINE
)
SOURCE = {name: (language, text) for language, name, text in SAMPLES if language != "none"}
PROSE = {name: text for language, name, text in SAMPLES if language == "none"}


def test_there_are_many_samples_both_ways() -> None:
    assert min(len(SOURCE), len(PROSE)) >= 30


@each("name", SOURCE)
def test_source_is_told_from_its_text(name: str) -> None:
    language, text = SOURCE[name]
    found = kind_of(text, {"query": "parts"})
    assert (found.kind, found.language) == ("source", language)


@each("name", PROSE)
def test_what_is_no_source_stays_as_it_is(name: str) -> None:
    assert kind_of(PROSE[name], {}).kind in ("text", "markdown")
    assert language_of_text(PROSE[name]) == ""


@each("text", ["", "\n", "\n\n\n", "import os", "def main(): pass"])
def test_one_line_alone_is_no_source(text: str) -> None:
    assert kind_of(text, {}).kind == "text"


def test_the_end_of_a_line_may_be_that_of_windows() -> None:
    assert language_of_text("import os\r\n\r\ndef main():\r\n    return os.name\r\n") == "python"


@each("name", SOURCE)
def test_words_around_code_keep_it_plain(name: str) -> None:
    """A colour for what is words would say that they are code."""
    text = SOURCE[name][1]
    assert kind_of(f"This is what was found, as you wished.\n\n{text}", {}).kind != "source"


KEYWORDS = """
    the of a to and import from class def select where function return const package use for while if else in with as
    public static void let var type struct interface set done case end create table update values run copy
"""
WORDS = st.sampled_from(KEYWORDS.split())
SENTENCE = st.builds(
    lambda words, mark: f"{' '.join(words).capitalize()}{mark}",
    st.lists(WORDS, min_size=5, max_size=14),
    st.sampled_from([".", "?", "!"]),
)
PARAGRAPH = st.lists(SENTENCE, min_size=2, max_size=12)


@examples(300)
@given(PARAGRAPH.map("\n".join) | PARAGRAPH.map("\n\n".join))
def test_sentences_are_never_source(text: str) -> None:
    assert language_of_text(text) == ""


@examples(300)
@given(st.text(max_size=600) | st.text(alphabet="#!/<>?{}()[];:=\"'\\\n\t abdefimnoprt@$.,-*", max_size=600))
@example("#!\n\n")
@example("<a\n</a>")
@example('"""\n' * 50)
def test_any_text_is_looked_at(text: str) -> None:
    found = kind_of(text, {"path": "main.py"})
    assert found.kind == "text" or found.text in text or found.first


@each("what", ["x", "word ", "(", " ", "\n", "a\n", "/*\n", "def f(\n", "[a]", "a[", "#"])
def test_no_more_is_read_than_the_beginning(what: str) -> None:
    """The end of a long text decides nothing, whatever its beginning is: of one that is longer it is the same."""
    begin = (what * 10_000)[:10_000]
    assert language_of_text(begin) == language_of_text(begin + "\nWords, after all, and many of them.\n" * 1000)
