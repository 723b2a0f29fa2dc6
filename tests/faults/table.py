"""The faults that Fanout is tried with: the rows of the table in docs/security.md, each with the test that tries it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
HEADING = "## Faults that are tried"
_ROW = re.compile(r"^\| (?P<kind>[\w ]+) \| (?P<fault>[^|]+) \| `(?P<file>[\w/]+\.py)::(?P<name>\w+)` \|$")


@dataclass(frozen=True, slots=True)
class Row:
    """A fault, and the test (file below `tests/`, function) that tries it in one or more cases."""

    kind: str
    fault: str
    file: str
    name: str

    @property
    def node(self) -> str:
        """The name that pytest has for it, without a case."""
        return f"tests/{self.file}::{self.name}"


def rows() -> list[Row]:
    """All rows, in their order. Raises ValueError for one that can't be read."""
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    found: list[Row] = []
    for line in section.splitlines():
        if not line.startswith("|") or line.startswith(("| Kind", "|---")):
            continue
        if (match := _ROW.match(line)) is None:
            raise ValueError(f"docs/security.md: this row names no test: {line}")
        found.append(Row(**match.groupdict()))
    return found


def names_of_tests(file: str) -> list[str]:
    """The names of the test functions in a file below `tests/`; none where there is no such file."""
    path = ROOT / "tests" / file
    if not path.exists():
        return []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [function.name for function in functions if function.name.startswith("test_")]
