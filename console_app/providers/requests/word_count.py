"""Counts words where no tokenizer is: the usage that the built-in models report."""

from __future__ import annotations

from console_app.domain.ports import ModelRequest

_LONG = 20_000  # characters; a longer text is counted by its beginning, since results of megabytes are common


def words(text: str) -> int:
    """About how many words `text` has."""
    if len(text) <= _LONG:
        return len(text.split())
    return len(text[:_LONG].split()) * len(text) // _LONG


def request_words(request: ModelRequest) -> int:
    """About how many words a request has: the system prompt, the conversation and the tools offered."""
    conversation = sum(words(message.content) for message in request.messages)
    offered = sum(words(f"{tool.name} {tool.description} {tool.input_schema}") for tool in request.tools)
    return words(request.system) + conversation + offered
