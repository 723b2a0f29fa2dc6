"""No message inside the console names a flag of the command line: a key, a command or a setting is named there. And
none says what the field has another word for."""

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


BETTER = {
    "a model that isn't listed": "Not listed? Type provider/model",
    "all that is listed": "all listed",
    "asking what there is": "Loading models",
    "at most so many": "maximum number of",
    "brings you here": "to review",
    "come back in": "Retry in",
    "compacted by itself": "compacts automatically",
    "counts here": "is read here",
    "delete right": "delete forward",
    "enter chooses": "enter select",
    "esc leaves": "esc cancel",
    "fits the tool": "valid",
    "for now / for good": "for this session / permanently",
    "kept yet": "no saved … yet",
    "may go without news": "without progress",
    "no news yet": "running",
    "nobody is there to give it": "no one to approve",
    "no rule allows it": "not pre-approved",
    "older session": "resume a session",
    "one by one": "sequential",
    "says it only reads": "read-only (declared by server)",
    "says nothing about itself": "No description.",
    "send what there is": "send partial results",
    "shaken hands": "initialized",
    "sign of life": "ping",
    "space for more": "space to scroll",
    "trusts them": "trust them",
    "wants a key": "unauthorized",
    "what it names": "attachments",
    "written nowhere": "not saved",
}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """A file's texts, docstrings left out."""
    tree = ast.parse(path.read_text())
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.lineno, node.value


def test_messages_of_the_console_name_no_flag() -> None:
    files = [path for floor in FLOORS for path in (CODE / floor).rglob("*.py")]
    assert len(files) > 300
    said = {
        f"{path.relative_to(CODE)}:{line}": flag
        for path in files
        if str(path.relative_to(CODE)) not in ELSEWHERE
        for line, text in texts(path)
        for flag in FLAG.findall(text)
    }
    assert said == {}


def test_what_the_field_has_a_word_for_is_said_in_it() -> None:
    files = list(CODE.rglob("*.py"))
    assert len(files) > 500
    said = {
        f"{path.relative_to(CODE)}:{line}": f"{words}: say {better}"
        for path in files
        for line, text in texts(path)
        for words, better in BETTER.items()
        if words in text.lower()
    }
    assert said == {}
