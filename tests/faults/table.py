"""The faults that Fanout is tried with: `faults.txt` names the test of each by kind; docs/security.md counts them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faults.txt")
PAGE = ROOT / "docs" / "security.md"
_COUNT = re.compile(r"^\| (?P<kind>[\w ]+) \| (?P<count>\d+) \| ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """A fault, and the test (file below `tests/`, function) that tries it in one or more cases."""

    kind: str
    file: str
    name: str

    @property
    def fault(self) -> str:
        return self.name.removeprefix("test_").replace("_", " ")

    @property
    def node(self) -> str:
        """The name that pytest has for it, without a case."""
        return f"tests/{self.file}::{self.name}"


def rows() -> list[Row]:
    """All rows, in their order."""
    found: list[Row] = []
    kind = ""
    for line in LIST.read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            kind = line.strip("[]")
        elif line:
            file, _, name = line.partition("::")
            found.append(Row(kind, file, name))
    return found


def counts() -> dict[str, int]:
    """How many faults of each kind docs/security.md says are tried."""
    section = PAGE.read_text(encoding="utf-8").partition("## Faults that are tried")[2].partition("\n## ")[0]
    return {row["kind"]: int(row["count"]) for row in _COUNT.finditer(section)}


def names_of_tests(file: str) -> list[str]:
    """The names of the test functions in a file below `tests/`; none where there is no such file."""
    path = ROOT / "tests" / file
    if not path.exists():
        return []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [function.name for function in functions if function.name.startswith("test_")]
