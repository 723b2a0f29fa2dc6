"""Small readers that the rules share: counts, quoted words, lists."""

from __future__ import annotations

import re

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTS = {word: index for index, word in enumerate(_WORDS, 1)}
COUNT = r"(?:\d{1,2}|an?|" + "|".join(_COUNTS) + ")"
"""Pattern of a small count: digits, a word, or an article."""

QUOTED = r"(?:\"[^\"\n]{1,300}\"|(?<!\w)'[^\n]{1,300}?'(?!\w)|‘[^’\n]{1,300}’|“[^”\n]{1,300}”|`[^`\n]{1,300}`)"
"""Pattern of words in quotation marks, the marks included."""

AND = r"(?:\s*,\s*(?:and\s+)?(?:also\s+)?|\s+and\s+(?:also\s+)?|\s*&\s*)"
"""Pattern of what stands between two things of a list."""

_IS_QUOTED = re.compile(QUOTED)
_BETWEEN = re.compile(AND, re.IGNORECASE)


def count_of(text: str | None) -> int:
    """The number that `text` says, 1 for an article or nothing."""
    if not text:
        return 1
    return max(int(text), 1) if text.isdecimal() else _COUNTS.get(text.lower(), 1)


def unquoted(text: str) -> str:
    """`text` without the quotation marks around it."""
    text = text.strip()
    return text[1:-1].strip() if _IS_QUOTED.fullmatch(text) else text


def listed(text: str, *, split_and: bool = True) -> list[str]:
    """The things that `text` lists: the quoted ones if any are, else what commas (and `and`) part."""
    marked = [unquoted(one) for one in _IS_QUOTED.findall(text)]
    if marked:
        return [one for one in marked if one]
    parts = _BETWEEN.split(text) if split_and or "," in text else [text]
    return [part.strip(" \t\"'`.!?") for part in parts if part.strip(" \t\"'`.!?")]
