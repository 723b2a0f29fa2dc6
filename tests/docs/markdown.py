"""The pages as they are read here: links, anchors, code blocks and code in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    (*ROOT.glob("docs/*.md"), *(ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md"))),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block and where it begins."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def tokens(page: Path) -> tuple[Token, ...]:
    """All tokens, those within lines behind their line."""
    found = MarkdownIt("commonmark", {"html": True}).enable("table").parse(page.read_text(encoding="utf-8"))
    return tuple(token for outer in found for token in (outer, *(outer.children or ())))


def blocks() -> Iterator[Block]:
    """Every fenced block of every page."""
    for page in PAGES:
        for token in tokens(page):
            if token.type == "fence" and token.map:
                yield Block(page, token.map[0] + 1, token.info.split(" ")[0], token.content)


def codes() -> Iterator[tuple[Path, str]]:
    """Every piece of code within a line; a table's bars are unescaped."""
    for page in PAGES:
        yield from ((page, token.content.replace("\\|", "|")) for token in tokens(page) if token.type == "code_inline")


def links(page: Path) -> Iterator[str]:
    """Return the targets that a page links to or shows."""
    for token in tokens(page):
        for name in ("href", "src"):
            if value := token.attrGet(name):
                yield str(value)


def anchors(page: Path) -> set[str]:
    """The headings as the site and GitHub name them."""
    found: set[str] = set()
    read = tokens(page)
    for number, token in enumerate(read):
        if token.type == "heading_open":
            text = "".join(
                one.content for one in read[number + 1].children or () if one.type in ("text", "code_inline")
            )
            found.add(re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()))
    return found
