"""Whether the structured content of a result says what its text says too, so that it need not be shown twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

MOST_TEXT = 256 * 1024  # characters that are looked through
MOST_LEAVES = 2000


def says_the_same(content: str, structured: dict[str, Any]) -> bool:
    """True where the text is that JSON, or what a single field of it holds, or has every value that stands in it.

    A flag or a null counts as said only where the text is JSON: in prose neither can be told from a word.
    """
    text = content.strip()
    if not structured:
        return True
    if not text or len(text) > MOST_TEXT:
        return False
    only = next(iter(structured.values())) if len(structured) == 1 else None
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    else:
        if parsed == structured or (only is not None and parsed == only):
            return True
    if isinstance(only, str) and only.strip() == text:
        return True
    words = " ".join(text.split())
    found = 0
    for leaf in _leaves(structured):
        found += 1
        if found > MOST_LEAVES or not _said(leaf, words):
            return False
    return found > 0


def _said(leaf: Any, words: str) -> bool:
    if isinstance(leaf, str):
        return " ".join(leaf.split()) in words
    if isinstance(leaf, bool) or leaf is None:
        return False
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?![\w]|\.\d)", words) for form in {str(leaf), f"{leaf:,}"})


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _leaves(one)
    else:
        yield value
