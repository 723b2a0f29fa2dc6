"""The rule for web searches: each thing to look for becomes a search of its own, all at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console_app.providers.offline.rule import (
    COUNT,
    AnswerRule,
    AskedPrompt,
    Match,
    OfflineTools,
    RuleFinding,
    listed,
    missing,
)

_SEARCH = re.compile(
    r"\b(?:search(?:ing)?\s+(?:(?:the\s+)?(?:web|internet)\s+|online\s+)?(?:for|about)\b|google\b"
    rf"|(?:{COUNT}\s+)?searches(?:\s+at\s+once)?\s*(?::|for\b))\s*:?\s*([^\n;?!]{{1,400}})",
    re.IGNORECASE,
)
_END = re.compile(
    r"\.(?:\s|$)|\s+and\s+(?:also\s+)?(?:calculate|compute|read|list|look|get|add|update|create|run|show)\b", re.I
)
_AND_FOR = re.compile(r"(?:,\s*|\s+)and\s+(?:also\s+)?for\s+", re.IGNORECASE)


def _searcher(tools: OfflineTools) -> Match | None:
    names = ("search_and_fetch", "web_search", "search_web", "duckduckgo_search", "search")
    return tools.find(names, query=("query", "q"), maybe_results=("max_results",))


def _read_searches(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    for found in _SEARCH.finditer(asked.text):
        text = found[1]
        if stop := _END.search(text):
            text = text[: stop.start()]
        end = found.start(1) + len(text)
        tool = _searcher(tools)
        if tool is None:
            yield missing((found.start(), end), "search the web", "duckduckgo.search_and_fetch")
            continue
        queries = listed(_AND_FOR.sub(", ", text), split_and=False)
        yield RuleFinding((found.start(), end), tuple(tool.call(query=query, results=3) for query in queries))


SEARCHES = AnswerRule(
    can="search the web: `search for 'structured concurrency', 'trio' and 'asyncio'`",
    able=lambda tools: _searcher(tools) is not None,
    read=_read_searches,
)
