"""Cuts JSON text at a depth, so that what is nested a thousand levels deep costs itself alone."""

from __future__ import annotations

import re
from typing import Final

DEEPEST: Final = 150  # levels; readers of JSON on the way give up at 200
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def shallow(text: str) -> str:
    """`text` with `null` in place of every object and list that is deeper than DEEPEST; else as it is."""
    kept: list[str] = []
    depth, done, cut_at = 0, 0, 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                depth += 1
                if depth == DEEPEST + 1:
                    cut_at = token.start()
            case "}" | "]":
                if depth == DEEPEST + 1:
                    kept += [text[done:cut_at], "null"]
                    done = token.end()
                depth -= 1
            case _:
                pass
    return "".join([*kept, text[done:]])
