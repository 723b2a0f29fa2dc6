"""The forms in which a secret may turn up in a text: as it is, in a URL, in JSON, Python or HTML, in base64 and in hex.

Only what the standard writers make of a value is known here; a secret that a program enciphered, compressed or wrote
backwards is not found.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

_LONGEST_LINE_LEFT_ALONE = 15  # characters of a line of a secret with many lines: `-----END KEY-----` is longer
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def forms(secret: str) -> set[str]:
    """Every form of `secret`; of one with several lines also its long lines, since logs come line by line."""
    found: set[str] = set()
    for text in {secret, *(line for line in map(str.strip, secret.splitlines()) if _is_long(line))}:
        found.update(_written(text))
        found.update(_encoded(text.encode("utf-8", "surrogateescape")))
    return {form for form in found if form}


def _is_long(line: str) -> bool:
    return len(line) > _LONGEST_LINE_LEFT_ALONE


def _written(text: str) -> Iterator[str]:
    yield text
    data = text.encode("utf-8", "surrogateescape")
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield quoted
        yield _lower_hex(quoted)
    for ascii_only in (True, False):
        inner = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield inner
        yield inner.replace("/", "\\/")
        yield json.dumps(inner, ensure_ascii=ascii_only)[1:-1]  # JSON inside a string of JSON
    yield repr(text)[1:-1]
    yield repr(data)[2:-1]
    yield text.translate(_HTML)
    yield text.translate(_HTML).replace("&#x27;", "&#39;")


def _lower_hex(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)


def _encoded(data: bytes) -> Iterator[str]:
    """Hex, and base64 wherever the secret begins in what was encoded: only characters that are all its own."""
    yield data.hex()
    yield data.hex().upper()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode()
        first = -(-before * 8 // 6)  # the characters that hold a bit of what stands before
        last = (before + len(data)) * 8 // 6
        inner = whole[first:last]
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))


class Trie:
    """Texts by their beginnings: one pattern over all of them, and whether a text ends inside one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._root: dict[str, Any] = {}
        self.longest = 0
        for text in texts:
            node = self._root
            for character in text:
                node = node.setdefault(character, {})
            node[""] = {}  # a text ends here
            self.longest = max(self.longest, len(text))

    def pattern(self) -> str:
        """A regular expression for the longest text at a place. Common beginnings are tried once, not once a text."""
        return _pattern(self._root)

    def open_from(self, text: str) -> int:
        """Where the first of our texts begins that `text` ends in the middle of; its length where there is none."""
        for begin in range(max(0, len(text) - self.longest + 1), len(text)):
            node: dict[str, Any] = self._root
            for character in text[begin:]:
                node = node.get(character, {})
                if not node:
                    break
            if any(node):  # something goes on from here
                return begin
        return len(text)


def _pattern(root: dict[str, Any]) -> str:
    # Written without recursion: a certificate is thousands of characters deep.
    done: dict[int, str] = {}
    stack = [(root, False)]
    while stack:
        node, children_done = stack.pop()
        if not children_done:
            stack.append((node, True))
            stack.extend((child, False) for character, child in node.items() if character)
            continue
        branches = [re.escape(character) + done.pop(id(child)) for character, child in node.items() if character]
        if not branches:
            done[id(node)] = ""
            continue
        whole = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
        # A group only where the rest may be missing: nesting them for every character would be too deep for `re`.
        done[id(node)] = f"(?:{whole})?" if "" in node else whole
    return done[id(root)]
