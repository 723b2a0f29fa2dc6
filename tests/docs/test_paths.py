"""Tests find each file, folder and name of code that the developers' pages name."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.markdown import ROOT, tokens
from tests.each import each

PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "AGENTS.md", "docs/architecture.md")]
_PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)*(?:/|\.(?:py|md|toml|jsonl?|tcss))|[\w\-]+(?:/[\w\-]+)+")
_MADE = ("console_app/_bundled/",)  # only in a wheel
_PLACEHOLDER = "NAME"
_ROOTS = (ROOT, ROOT / "console_app", ROOT / "docs")


def _is_there(path: str, beside: set[Path]) -> bool:
    """Tell whether a file or a folder is called so, with `.py` or without, from a root or from what its row named."""
    if _PLACEHOLDER in path:
        path = path[: path.index(_PLACEHOLDER)].rpartition("/")[0]
    return any((root / f"{path.rstrip('/')}{ending}").exists() for root in (*_ROOTS, *beside) for ending in ("", ".py"))


def _missing(page: Path) -> list[str]:
    """The names that stand for nothing. A row of a table names its room first, a section one for what follows."""
    missing: list[str] = []
    section: set[Path] = set()
    row: set[Path] | None = None
    for token in tokens(page):
        if token.type == "heading_open":
            section = set()
        elif token.type in ("tr_open", "tr_close"):
            row = set(section) if token.type == "tr_open" else None
        elif token.type == "code_inline" and _PATH.fullmatch(name := token.content) and name not in _MADE:
            rooms = section if row is None else row
            if not _is_there(name, rooms):
                missing.append(name)
            found = [root / name.rstrip("/") for root in (*_ROOTS, *rooms)]
            rooms |= {one if one.is_dir() else one.parent for one in found if one.exists()}
    return missing


@each("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_is_named_is_there(page: Path) -> None:
    assert _missing(page) == []


@each("page", PAGES, ids=lambda page: page.name)
def test_every_name_of_code_is_there(page: Path) -> None:
    code = [path for folder in ("console_app", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    known = set(re.findall(r"\w+", "\n".join(path.read_text() for path in (*code, ROOT / "pyproject.toml"))))
    named = {token.content for token in tokens(page) if token.type == "code_inline"}
    names = {name for name in named if re.fullmatch(r"\w+(\.\w+)*", name)}
    assert {name for name in names if not known.issuperset(name.split("."))} == set()
