"""Messages in the one order that some take: the user and the model by turns, and an answer behind results.

Mistral refuses a prompt behind results, and templates that models are run with refuse two prompts in a row. Both stand
in a conversation for good once a turn was stopped before its answer, or told something while it ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console_app.providers.stream.loose_json import arr, obj

BETWEEN = "Noted."  # where the model had no say: an empty answer is refused, too


def in_order(messages: Any) -> list[dict[str, Any]]:
    """Chat messages with neighbours of one role joined, and a word of the model between results and a prompt."""
    out: list[dict[str, Any]] = []
    for message in map(obj, arr(messages)):
        before: Mapping[str, Any] = out[-1] if out else {}
        role = message.get("role")
        if role == before.get("role") and (role == "user" or (role == "assistant" and not before.get("tool_calls"))):
            out[-1] = {**before, **message, "content": joined(before.get("content"), message.get("content"))}
            continue
        if role == "user" and before.get("role") == "tool":
            out.append({"role": "assistant", "content": BETWEEN})
        out.append(dict(message))
    return out


def joined(first: Any, second: Any) -> Any:
    """Two contents as one: a text, or parts where one of them has parts."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return _parts(first) + _parts(second)


def _parts(content: Any) -> list[Any]:
    return arr(content) if isinstance(content, list) else [{"type": "text", "text": content}]
