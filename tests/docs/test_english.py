"""The docs say things in sentences that a reader takes in at once."""

from __future__ import annotations

import re
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).parents[2]
MADE = {"keys.md", "commands.md", "configuration.md", "outputs.md", "dialects.md"}
PROSE = [ROOT / name for name in ("README.md", "CHANGELOG.md")]
PAGES = [*PROSE, *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in MADE)]
LONGEST = 30  # words of a sentence
_CHAIN = re.compile(r"\b(?:which|that) (?:isn't|is not)\b[^.]*\bis(?:n't| not)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"^(?:One|Those|Such a one|Of these,)\s+(?:that|of|which|one)\b")


def sentences(page: Path) -> list[str]:
    """The sentences of the prose of a page, links as their words."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(?:\||#|!|<).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) ", text)
    flat = [" ".join(re.sub(r"`[^`]*`", "code", block).split()) for block in blocks]
    return [one for block in flat for one in re.split(r"(?<=[.!?:;])\s+(?=\S)", block) if one]


def long_ones(page: Path) -> list[str]:
    return [one for one in sentences(page) if len(one.split()) > LONGEST]


@each("page", PAGES, ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    assert long_ones(page) == []


@each("page", PAGES, ids=lambda page: page.name)
def test_no_sentence_hides_its_subject_or_turns_twice(page: Path) -> None:
    assert [one for one in sentences(page) if _CHAIN.search(one) or _PRONOUN.match(one)] == []


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name}" not in index]
    assert missing == ["index.md"]
