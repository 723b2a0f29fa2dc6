"""A provider's prompt cache by the rule that Anthropic publishes: what of a request is read from it, and what written.

The cache holds prefixes of tools, system and messages that ended at a mark of an earlier request. At each mark of a new
one the longest known prefix counts that ends there or up to 20 blocks in front of it. At most four marks.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

LOOK_BACK = 20
MOST_MARKS = 4


@dataclass(frozen=True)
class Counted:
    """Tokens of a request's input."""

    read: int
    written: int
    fresh: int

    @property
    def total(self) -> int:
        """All of the input."""
        return self.read + self.written + self.fresh


class PromptCache:
    """Remembers prefixes. Sizes are counted at four characters a token."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def learn(self, other: PromptCache) -> None:
        """Know what another knows."""
        self._known |= other._known

    def take(self, body: dict[str, Any]) -> Counted:
        """Return the tokens that a request of the Messages API reads from and writes to the cache."""
        blocks = list(_blocks(body))
        marks = [number for number, (_, marked) in enumerate(blocks) if marked]
        assert len(marks) <= MOST_MARKS, f"{len(marks)} marks"
        ends: list[tuple[str, int]] = []  # of the prefix that ends at each block: its name and its tokens
        running, size = hashlib.sha256(), 0
        for words, _ in blocks:
            running.update(words.encode())
            size += len(words)
            ends.append((running.hexdigest(), size // 4))
        read = 0
        for mark in marks:
            places = range(mark, max(mark - LOOK_BACK, 0) - 1, -1)
            read = max(read, next((ends[place][1] for place in places if ends[place][0] in self._known), 0))
        self._known.update(ends[mark][0] for mark in marks)
        marked = ends[marks[-1]][1] if marks else 0
        total = ends[-1][1]
        return Counted(read, max(marked - read, 0), total - max(marked, read))


def _blocks(body: dict[str, Any]) -> Any:
    system = body.get("system", [])
    yield from (_block("tool", tool) for tool in body.get("tools", []))
    yield from (_block("system", part) for part in ([{"text": system}] if isinstance(system, str) else system))
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield _block(message["role"], part)


def _block(role: str, part: dict[str, Any]) -> tuple[str, bool]:
    bare = {name: value for name, value in part.items() if name != "cache_control"}
    return f"{role} {json.dumps(bare, sort_keys=True)}", "cache_control" in part


def as_messages(body: dict[str, Any]) -> dict[str, Any]:
    """A chat completion as a router hands it to Anthropic: marks of content parts become marks of blocks."""
    out: dict[str, Any] = {"tools": body.get("tools", []), "messages": []}
    for message in body["messages"]:
        content: Any = message.get("content") or []
        parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        if message["role"] == "system":
            out["system"] = parts
            continue
        if message["role"] == "tool":
            marks = {name: part[name] for part in parts for name in ("cache_control",) if name in part}
            words = "".join(part["text"] for part in parts)
            parts = [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": words, **marks}]
        calls = [{"type": "tool_use", "id": call["id"], **call["function"]} for call in message.get("tool_calls", [])]
        role = "assistant" if message["role"] == "assistant" else "user"
        out["messages"].append({"role": role, "content": [*parts, *calls]})
    return out
