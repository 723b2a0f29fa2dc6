"""Docstrings are sentences."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

CODE = Path(__file__).parents[1] / "console_app"
NO_SUBJECT = ("See", "Of", "By", "Around", "With", "Whether")  # first words of what is no sentence
BEGINS_SO = re.compile(rf"""["'][\s\\]*(?:{"|".join(NO_SUBJECT)})\b""")


def first_words() -> Counter[str]:
    """The first words of docstrings, counted, in files in which some text begins with such a word."""
    found: Counter[str] = Counter()
    for path in CODE.rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(code)) if BEGINS_SO.search(code) else ():  # few files have such a text at all
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                words = re.match(r"[A-Za-z]+", ast.get_docstring(node) or "")
                found[words[0] if words else ""] += 1
    return found


def test_no_docstring_begins_with_a_word_that_leaves_its_subject_out() -> None:
    found = first_words()
    assert {word: found[word] for word in NO_SUBJECT if found[word]} == {}
