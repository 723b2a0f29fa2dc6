"""No message inside the console names a flag of the command line: a key, a command or a setting is named there. And
none says what the field has another word for."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

CODE = Path(__file__).parents[1] / "console_app"
FLOORS = ("engine", "console", "providers", "mcp_client", "sessions", "tui", "line_console", "domain", "textcalls")
FLAG = re.compile(r"(?<![\w<!-])--[a-z][a-z-]{2,}")
ELSEWHERE = {
    "providers/faults/wordings.py",  # what servers say, to be recognised
    "tui/lineview/results/diff.py",  # how a diff begins
    "domain/tools.py",  # of git, in a command
    "textcalls/provenance/questions.py",  # of commands
    "providers/offline/planner.py",  # a command that it pretends to run
    "domain/batch.py",  # of results that a command line gave
    "sessions/export.py",  # of `fanout sessions import`, which has no key
}


ESCAPE = {
    "back",  # to what stood before: a page, a field, the prompt
    "cancel",  # what goes on, or a choice
    "close",  # what stands over the conversation
    "decide later",
    "goes to the prompt",
    "later",
    "stop",
    "take back",  # what was sent
}
BEYOND = {"back to the prompt", "close what is open", "leave them"}  # said in help alone, or on a key of its own
OPENED = re.compile(r"\bo (?:shows?|folds?|opens|closes)\b")


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
WORSE = re.compile("|".join(map(re.escape, BETTER)))


@functools.cache
def texts(path: Path) -> list[tuple[int, str]]:
    """A file's texts, docstrings left out."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
    ]


def said_in(files: Iterable[Path], words: str) -> Iterator[tuple[Path, int, str]]:
    """Return the texts of the files that hold such words. Few files do, and no other is parsed; `words` begins with no
    boundary, for what stands behind a line break in a text stands behind an `n` in its file."""
    for path in files:
        joined = re.sub(r"""["']\s*[bfr]*["']""", "", path.read_text())  # a text may go on in the next line
        if re.search(words, joined.lower()):
            yield from ((path, line, text) for line, text in texts(path))


def test_messages_of_the_console_name_no_flag() -> None:
    files = [path for floor in FLOORS for path in (CODE / floor).rglob("*.py")]
    assert len(files) > 300
    said = {
        f"{path.relative_to(CODE)}:{line}": flag
        for path, line, text in said_in(files, "--[a-z]")
        if str(path.relative_to(CODE)) not in ELSEWHERE
        for flag in FLAG.findall(text)
    }
    assert said == {}


def test_what_the_field_has_a_word_for_is_said_in_it() -> None:
    files = list(CODE.rglob("*.py"))
    assert len(files) > 500
    said = {
        f"{path.relative_to(CODE)}:{line}": f"{words}: say {better}"
        for path, line, text in said_in(files, WORSE.pattern)
        if WORSE.search(text.lower())
        for words, better in BETTER.items()
        if words in text.lower()
    }
    assert said == {}


def test_escape_is_called_by_one_list_of_words_and_what_a_page_says_is_what_its_key_is_called() -> None:
    wrong: list[str] = []
    for path in (CODE / "tui").rglob("*.py"):
        told = said_in([path], "esc [a-z]")
        said = {found for _, _, text in told for found in re.findall(r"\besc ([a-z ]*[a-z])", text)}
        called = set(called_escape(path))
        allowed = called & ESCAPE if called else ESCAPE
        allowed |= {"goes to the prompt"} if "back" in called else set()
        wrong += [f"{path.relative_to(CODE)}: esc {words}" for words in said - allowed]
        wrong += [f"{path.relative_to(CODE)}: binding {words}" for words in called - ESCAPE - BEYOND]
    assert wrong == []


def called_escape(path: Path) -> Iterator[str]:
    """Return the names that the bindings of a file have for Escape."""
    code = path.read_text()
    for node in ast.walk(ast.parse(code if "Binding(" in code and "escape" in code else "")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Binding":
            keys, _, words, *_ = [
                *(one.value if isinstance(one, ast.Constant) else "" for one in node.args),
                "",
                "",
                "",
            ]
            if "escape" in str(keys).split(","):
                yield str(words)


def test_what_a_key_opens_and_closes_is_called_by_these_words() -> None:
    said = [
        f"{path.name}:{line}"
        for path, line, text in said_in((CODE / "tui").rglob("*.py"), OPENED.pattern.removeprefix(r"\b"))
        if OPENED.search(text)
    ]
    assert said == []
