"""No message inside the console names a flag of the command line: a key, a command or a setting is named there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

CODE = Path(__file__).parents[1] / "console_app"
FLOORS = ("engine", "conversation", "providers", "mcp_client", "sessions", "tui", "line_console", "domain", "dialects")
FLAG = re.compile(r"(?<![\w<!-])--[a-z][a-z-]{2,}")
ELSEWHERE = {
    "providers/fault_wordings.py",  # what servers say, to be recognised
    "tui/transcript_view/results/diff.py",  # how a diff begins
    "dialects/page.py",  # a page of the docs
    "sessions/export.py",  # of `fanout sessions import`, which has no key
}


def flags_said(path: Path) -> Iterator[tuple[int, str]]:
    """The flags in a file's texts, docstrings left out."""
    tree = ast.parse(path.read_text())
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield from ((node.lineno, found) for found in FLAG.findall(node.value))


def test_messages_of_the_console_name_no_flag() -> None:
    files = [path for floor in FLOORS for path in (CODE / floor).rglob("*.py")]
    assert len(files) > 300
    said = {
        f"{path.relative_to(CODE)}:{line}": flag
        for path in files
        if str(path.relative_to(CODE)) not in ELSEWHERE
        for line, flag in flags_said(path)
    }
    assert said == {}
