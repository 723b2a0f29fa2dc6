"""Vendors of the chat format as tests need them: how each streams an answer, and what it takes in the next request."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.providers.strict_wire import ChatRules
from tests.wire_bytes import split

Delta = dict[str, Any]


@dataclass(frozen=True)
class Written:
    """A call as the model writes it, with the id that its endpoint gives it."""

    name: str
    arguments: str
    id: str
    size: int = 6


@dataclass(frozen=True)
class Vendor:
    """`call` are the deltas of the call `number`; `opening` what comes before all of them; `id` how it names a call."""

    name: str
    rules: ChatRules
    id: Callable[[int, str], str]
    call: Callable[[int, Written], list[Delta]]
    opening: Sequence[Delta] = ({"role": "assistant", "content": ""},)
    back: dict[str, Any] = field(default_factory=dict[str, Any])  # fields of the message in the next request
    call_back: Callable[[int], dict[str, Any]] = lambda _: {}
    in_last_message: bool = False  # all of it comes in one message in the last chunk


def _fragments(number: int, call: Written) -> list[Delta]:
    """As OpenAI: the name first, then the arguments in pieces."""
    first = {"index": number, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    pieces = [{"index": number, "function": {"arguments": piece}} for piece in split(call.arguments, call.size)]
    return [{"tool_calls": [one]} for one in (first, *pieces)]


def _text_index(number: int, call: Written) -> list[Delta]:
    return [{"tool_calls": [{**one["tool_calls"][0], "index": str(number)}]} for one in _fragments(number, call)]


def _at_once(number: int, call: Written) -> list[Delta]:
    function = {"name": call.name, "arguments": call.arguments}
    return [{"tool_calls": [{"index": number, "id": call.id, "type": "function", "function": function}]}]


def _signature(number: int) -> dict[str, Any]:
    return {"extra_content": {"google": {"thought_signature": f"c2lnbmVk{number}"}}} if number == 0 else {}


def _signed(number: int, call: Written) -> list[Delta]:
    (delta,) = _at_once(number, call)
    return [{"tool_calls": [{**delta["tool_calls"][0], **_signature(number)}]}]


DETAILS = [{"type": "reasoning.text", "index": 0, "format": "x", "text": "First this.", "signature": "c2ln"}]
VENDORS = [
    Vendor("openai", ChatRules(), lambda n, _: f"call_{n:024}", _fragments),
    Vendor(
        "kimi",
        ChatRules(id=re.compile(r"functions\.[\w-]+:\d+"), fields={"reasoning_content"}),
        lambda n, name: f"functions.{name}:{n}",
        _fragments,
        [{"reasoning_content": "First "}, {"reasoning_content": "this."}],
        {"reasoning_content": "First this."},
    ),
    Vendor(
        "gemini",
        ChatRules(id=re.compile(r".{1,200}", re.DOTALL), call_fields={"extra_content"}),
        lambda n, name: f"function-call-{n}7316/{name}==",
        _signed,
        call_back=_signature,
    ),
    Vendor(
        "mistral",
        ChatRules(id=re.compile(r"[A-Za-z0-9]{9}"), parts={"thinking"}),
        lambda n, _: f"aB3dE6g{n:02}",
        _at_once,
        [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "First this."}]}]}],
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "First this."}]}]},
    ),
    Vendor(
        "router",
        ChatRules(id=re.compile(r".{1,64}"), fields={"reasoning_details"}),
        lambda n, _: f"toolu_vrtx_{n:040}",
        _text_index,
        [
            {"reasoning": "First ", "reasoning_details": [{**DETAILS[0], "text": "First ", "signature": None}]},
            {"reasoning": "this.", "reasoning_details": [{**DETAILS[0], "text": "this."}]},
        ],
        {"reasoning_details": DETAILS},
    ),
    Vendor("last message", ChatRules(), lambda n, _: f"call_{n}", _at_once, in_last_message=True),
]
