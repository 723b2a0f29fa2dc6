"""The parser of all Markdown that is shown."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_MARK = re.compile(r"[\n\\`~*_\[<&]")  # what may begin more than text


@lru_cache(maxsize=1)
def parser() -> Any:
    """The one parser: CommonMark, tables and strikethrough; HTML is text."""
    # 20 ms: only once an answer is shown.
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

    def read_lines(state: StateCore) -> None:
        """What stands in the lines of blocks. Most cells of tables hold no mark: what they are needs no reading."""
        for token in state.tokens:
            if token.type == "inline" and _MARK.search(token.content):
                token.children = state.md.inline.parse(token.content, state.md, state.env, [])
            elif token.type == "inline":
                token.children = [Token("text", "", 0, content=token.content)] if token.content else []

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 12}).enable(["table", "strikethrough"])
    made.core.ruler.at("inline", read_lines)
    return made
