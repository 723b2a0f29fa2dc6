"""Marks a request to Claude so that its beginning is read from the provider's cache: `cache_control`.

The cache holds the prefixes that ended at a mark of an earlier request. A mark finds the longest one that ends at it or
at most 20 blocks in front of it, and a step of 32 calls puts 65 blocks behind the last one. So of the four marks that
are allowed one stands where the newest mark of the last request stood, and one at the end of this request. The other
two keep the tools and the system prompt for conversations that begin alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from console_app.providers.stream.loose_json import arr, obj, text

MARK = {"type": "ephemeral"}
_ROUTERS = re.compile(r"(^|\.)(openrouter\.ai|ai-gateway\.vercel\.sh|requesty\.ai)$")
_UNMARKED = ("thinking", "redacted_thinking")  # blocks that take no mark


def forwards_marks(url: str, model: str) -> bool:
    """Tell whether `url` is of a router that hands marks on, and `model` one that reads them."""
    return "anthropic/" in model and _ROUTERS.search(urlsplit(url).hostname or "") is not None


def mark_anthropic(body: dict[str, Any]) -> None:
    """Mark a request of the Messages API in place; the blocks in it were made for it."""
    if tools := arr(body.get("tools")):
        tools[-1] = {**tools[-1], "cache_control": MARK}
    if system := text(body.get("system")):
        body["system"] = [{"type": "text", "text": system, "cache_control": MARK}]
    # The last message of the user in this request, and in the one before it.
    asked = [message for message in map(obj, arr(body.get("messages"))) if message.get("role") == "user"]
    for message in asked[-2:]:
        _mark_last(arr(message["content"]))


def mark_chat(body: dict[str, Any]) -> None:
    """Mark a chat completion for a router that hands the marks on: in content parts, as it has no other place.

    Routers turn a run of tool messages into one user message; the last of the run is where the mark belongs.
    """
    messages = arr(body.get("messages"))
    if messages and messages[0].get("role") == "system":
        _mark_message(messages[0])
    ends = [
        message
        for number, message in enumerate(messages)
        if (
            message.get("role") == "tool"
            and (number + 1 == len(messages) or messages[number + 1].get("role") != "tool")
        )
        or (message.get("role") == "user" and messages[number - 1].get("role") != "tool")
    ]
    for message in ends[-2:]:
        _mark_message(message)


def with_mark(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `body`, with a field that says so if something in it is marked: for whoever looks for what was refused."""
    inside = [part for one in map(obj, arr(body.get("messages"))) for part in map(obj, arr(one.get("content")))]
    outside = [obj(one) for name in ("tools", "system") for one in arr(body.get(name))]
    return {**body, "cache_control": MARK} if any("cache_control" in one for one in (*inside, *outside)) else body


def _mark_last(content: list[Any]) -> None:
    """Mark the last block, or the last result: what stands behind results may be gone in the next request."""
    places = [n for n, block in enumerate(content) if obj(block).get("type") not in _UNMARKED]
    results = [n for n in places if obj(content[n]).get("type") == "tool_result"]
    if chosen := (results or places)[-1:]:
        content[chosen[0]] = {**content[chosen[0]], "cache_control": MARK}


def _mark_message(message: dict[str, Any]) -> None:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content.strip() else arr(content)
    if parts:
        message["content"] = [*parts[:-1], {**parts[-1], "cache_control": MARK}]
