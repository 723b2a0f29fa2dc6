"""Keeps what an endpoint wants back unchanged, and where it stood in its answer: reasoning, server tools, marks of
texts.

A block is a `Reasoning` of the message, with text where people read some. Its `data` holds `source` (the endpoint), how
much text and how many calls came before it, and the `block` itself. A mark, in place of a block, holds the fields of
the `text` that begins there, so that text and calls keep the order in which they were written. What parts a text from
that before it for people (`APART`) is no part of either: a mark says with `gap` how much of it stands in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from console_app.domain import AssistantMessage, Reasoning, ToolCall
from console_app.providers.stream.loose_json import obj

APART = "\n\n"  # between two texts of an answer that something else stands between

TextBlock = Callable[[str, dict[str, Any]], dict[str, Any]]


def placed(source: str, text_before: int, calls_before: int, **what: Any) -> dict[str, Any]:
    """Return the `data` of a block, or of a mark."""
    return {"source": source, **what, "calls_before": calls_before, "text_before": text_before}


def in_order(
    message: AssistantMessage,
    blocks: Sequence[Reasoning],
    text_block: TextBlock,
    call_block: Callable[[ToolCall], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Return an assistant message in the order in which it was written: texts with their fields, calls, and blocks.

    Between two blocks or marks text is put before the calls. Blank text is left out.
    """
    text_at = calls_at = 0
    fields: dict[str, Any] = {}
    for block in sorted(blocks, key=_position):
        text_end, calls_end = _position(block)
        text_end = max(text_at, min(text_end, len(message.content)))
        calls_end = max(calls_at, min(calls_end, len(message.tool_calls)))
        words_end = max(text_at, text_end - int(block.data.get("gap", 0)))
        yield from _stretch(message, (text_at, words_end), (calls_at, calls_end), fields, text_block, call_block)
        fields = obj(block.data.get("text"))
        if "text" not in block.data:
            yield dict(block.data.get("block") or block.data)
        text_at, calls_at = text_end, calls_end
    rest = len(message.content), len(message.tool_calls)
    yield from _stretch(message, (text_at, rest[0]), (calls_at, rest[1]), fields, text_block, call_block)


def _position(block: Reasoning) -> tuple[int, int]:
    return int(block.data.get("text_before", 0)), int(block.data.get("calls_before", 0))


def _stretch(
    message: AssistantMessage,
    text: tuple[int, int],
    calls: tuple[int, int],
    fields: dict[str, Any],
    text_block: TextBlock,
    call_block: Callable[[ToolCall], dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    piece = message.content[slice(*text)]
    if piece.strip():
        yield text_block(piece, fields)
    for call in message.tool_calls[slice(*calls)]:
        yield call_block(call)
