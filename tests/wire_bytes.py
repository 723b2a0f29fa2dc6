"""Answers of a model as the exact bytes of the three wire formats, one `bytes` an SSE event.

An `Answer` says what the model writes; `events(api)` says how a provider would send it. Tests that need a quirk of
one format build their events with `chat_chunk`, `responses_event` and `anthropic_event` themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

Api = Literal["openai-chat", "openai-responses", "anthropic"]
APIS: tuple[Api, ...] = ("openai-chat", "openai-responses", "anthropic")
Finish = Literal["stop", "tool_calls", "length", "filtered"]
MODEL = "test-model"


@dataclass(frozen=True)
class Text:
    """Visible text, sent `size` characters at a time."""

    text: str
    size: int = 8


@dataclass(frozen=True)
class Reasoning:
    """Reasoning. `signature` is what Anthropic signs it with and Responses encrypts it to."""

    text: str
    signature: str = "c2lnbmVk"
    size: int = 8


@dataclass(frozen=True)
class Call:
    """A call with the JSON text of its arguments; `id` "" gets one that is unique in the answer."""

    name: str
    arguments: str = "{}"
    id: str = ""
    size: int = 8


Piece = Text | Reasoning | Call


class Answer:
    """An answer that a model writes, piece after piece. `usage` is input, output and cached tokens."""

    def __init__(
        self, *pieces: Piece, finish: Finish | None = None, usage: tuple[int, int, int] | None = (10, 5, 2)
    ) -> None:
        self.pieces = tuple(
            Call(piece.name, piece.arguments, piece.id or f"call_{number}", piece.size)
            if isinstance(piece, Call)
            else piece
            for number, piece in enumerate(pieces)
        )
        calls = any(isinstance(piece, Call) for piece in pieces)
        self.finish: Finish = finish or ("tool_calls" if calls else "stop")
        self.usage = usage

    def events(self, api: Api) -> list[bytes]:
        """The SSE events of the whole answer."""
        return {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic}[api](self)

    def body(self, api: Api) -> bytes:
        """The same in one piece."""
        return b"".join(self.events(api))


def sse(data: Any, event: str = "") -> bytes:
    """Return an SSE event with JSON (or a string, as it is) for data."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def split(text: str, size: int) -> list[str]:
    """`text` in pieces of `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


# -- OpenAI Chat Completions

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"


def chat_chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """Return a `chat.completion.chunk`; without `delta` and `finish` its `choices` is empty."""
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return sse(
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": choices} | more
    )


def chat_call(index: int | None, *, id: str | None = None, name: str | None = None, arguments: Any = None) -> bytes:
    """A chunk with one fragment of a tool call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call: dict[str, Any] = {"function": function}
    if index is not None:
        call["index"] = index
    if id is not None:
        call |= {"id": id, "type": "function"}
    return chat_chunk({"tool_calls": [call]})


def chat_usage(usage: tuple[int, int, int]) -> bytes:
    """The chunk with the usage."""
    return chat_chunk(
        usage={
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": usage[0] + usage[1],
            "prompt_tokens_details": {"cached_tokens": usage[2]},
        }
    )


def _chat(answer: Answer) -> list[bytes]:
    out = [chat_chunk({"role": "assistant", "content": ""})]
    index = -1
    for piece in answer.pieces:
        match piece:
            case Text():
                out += [chat_chunk({"content": part}) for part in split(piece.text, piece.size)]
            case Reasoning():
                out += [chat_chunk({"reasoning_content": part}) for part in split(piece.text, piece.size)]
            case Call():
                index += 1
                out.append(chat_call(index, id=piece.id, name=piece.name, arguments=""))
                out += [chat_call(index, arguments=part) for part in split(piece.arguments, piece.size)]
    finish = {"filtered": "content_filter"}.get(answer.finish, answer.finish)
    out.append(chat_chunk({}, finish))
    if answer.usage:
        out.append(chat_usage(answer.usage))
    return [*out, DONE]


def chat_interleaved(*calls: Call) -> list[bytes]:
    """The fragments of several calls in turns, as some servers send parallel calls."""
    out = [chat_call(n, id=call.id or f"call_{n}", name=call.name, arguments="") for n, call in enumerate(calls)]
    for row in zip_longest(*(split(call.arguments, call.size) for call in calls)):
        out += [chat_call(n, arguments=part) for n, part in enumerate(row) if part is not None]
    return [*out, chat_chunk({}, "tool_calls"), DONE]


# -- OpenAI Responses


def responses_event(type_: str, **fields: Any) -> bytes:
    """Return an event of the Responses API."""
    return sse({"type": type_, "sequence_number": 0, **fields}, type_)


def _response(answer: Answer, status: str, **more: Any) -> dict[str, Any]:
    usage = answer.usage or (0, 0, 0)
    return {
        "id": "resp_1",
        "object": "response",
        "model": MODEL,
        "status": status,
        "output": [],
        "usage": None
        if status == "in_progress" or answer.usage is None
        else {
            "input_tokens": usage[0],
            "input_tokens_details": {"cached_tokens": usage[2], "cache_write_tokens": 0},
            "output_tokens": usage[1],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage[0] + usage[1],
        },
    } | more


def _responses(answer: Answer) -> list[bytes]:
    out = [responses_event("response.created", response=_response(answer, "in_progress"))]
    for index, piece in enumerate(answer.pieces):
        last = index == len(answer.pieces) - 1 and answer.finish == "length"
        out += _responses_item(piece, index, cut=last)
    if answer.finish in ("length", "filtered"):
        reason = "max_output_tokens" if answer.finish == "length" else "content_filter"
        response = _response(answer, "incomplete", incomplete_details={"reason": reason})
        return [*out, responses_event("response.incomplete", response=response)]
    return [*out, responses_event("response.completed", response=_response(answer, "completed"))]


def _responses_item(piece: Piece, index: int, *, cut: bool) -> list[bytes]:
    """The events of one output item; a cut one ends without its `done` events."""
    where: dict[str, Any] = {"item_id": f"item_{index}", "output_index": index}
    item: dict[str, Any]
    match piece:
        case Text():
            item = {"id": where["item_id"], "type": "message", "role": "assistant", "content": []}
            where["content_index"] = 0
            deltas = [("response.output_text.delta", part) for part in split(piece.text, piece.size)]
            done = [("response.output_text.done", {"text": piece.text})]
            content = [{"type": "output_text", "text": piece.text, "annotations": []}]
            final = {**item, "status": "completed", "content": content}
        case Reasoning():
            item = {"id": where["item_id"], "type": "reasoning", "summary": [], "encrypted_content": ""}
            where["summary_index"] = 0
            deltas = [("response.reasoning_summary_text.delta", part) for part in split(piece.text, piece.size)]
            done = [("response.reasoning_summary_text.done", {"text": piece.text})]
            summary = [{"type": "summary_text", "text": piece.text}]
            final = {**item, "summary": summary, "encrypted_content": piece.signature}
        case Call():
            item = {"id": where["item_id"], "type": "function_call", "call_id": piece.id, "name": piece.name}
            item |= {"arguments": "", "status": "in_progress"}
            deltas = [("response.function_call_arguments.delta", p) for p in split(piece.arguments, piece.size)]
            done = [("response.function_call_arguments.done", {"arguments": piece.arguments})]
            final = {**item, "arguments": piece.arguments, "status": "completed"}
    out = [responses_event("response.output_item.added", output_index=index, item=item)]
    out += [responses_event(type_, delta=part, **where) for type_, part in deltas]
    if not cut:
        out += [responses_event(type_, **fields, **where) for type_, fields in done]
        out.append(responses_event("response.output_item.done", output_index=index, item=final))
    return out


# -- Anthropic Messages

PING = sse({"type": "ping"}, "ping")


def anthropic_event(type_: str, **fields: Any) -> bytes:
    """Return an event of the Messages API."""
    return sse({"type": type_, **fields}, type_)


def anthropic_start(usage: tuple[int, int, int] = (10, 5, 2)) -> bytes:
    """`message_start`, with the input tokens."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    counted = {"input_tokens": usage[0] - usage[2], "cache_read_input_tokens": usage[2], "output_tokens": 1}
    return anthropic_event("message_start", message=message | {"stop_reason": None, "usage": counted})


def anthropic_delta(index: int, type_: str, **fields: Any) -> bytes:
    """Return a `content_block_delta`."""
    return anthropic_event("content_block_delta", index=index, delta={"type": type_, **fields})


def anthropic_end(stop_reason: str, output_tokens: int = 5) -> list[bytes]:
    """`message_delta` and `message_stop`."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    usage = {"output_tokens": output_tokens}
    return [anthropic_event("message_delta", delta=delta, usage=usage), anthropic_event("message_stop")]


def _anthropic(answer: Answer) -> list[bytes]:
    usage = answer.usage or (0, 0, 0)
    out = [anthropic_start(usage), PING]
    for index, piece in enumerate(answer.pieces):
        match piece:
            case Text():
                block: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [anthropic_delta(index, "text_delta", text=p) for p in split(piece.text, piece.size)]
            case Reasoning():
                block = {"type": "thinking", "thinking": "", "signature": ""}
                parts = split(piece.text, piece.size)
                deltas = [anthropic_delta(index, "thinking_delta", thinking=p) for p in parts]
                deltas.append(anthropic_delta(index, "signature_delta", signature=piece.signature))
            case Call():
                block = {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
                parts = ["", *split(piece.arguments, piece.size)]
                deltas = [anthropic_delta(index, "input_json_delta", partial_json=p) for p in parts]
        out += [anthropic_event("content_block_start", index=index, content_block=block), *deltas]
        out.append(anthropic_event("content_block_stop", index=index))
    reasons = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "filtered": "refusal"}
    return out + anthropic_end(reasons[answer.finish], usage[1])
