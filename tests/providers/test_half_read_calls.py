"""Nothing half-read runs: an answer cut, ended for any reason or with labels lost, on each wire and in any byte pieces.

A call of the answer may run only if its own end was sent, and only with the arguments that were written for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import Chunk
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.reading import Body, read_answer
from tests.examples import examples
from tests.providers.reading import TOOLS, assert_well_formed, broken_of, calls_of
from tests.providers.test_any_split import DECODERS, Pieces
from tests.wire_bytes import APIS, DONE, Api, anthropic_event, anthropic_start, chat_chunk, responses_event, split, sse

NAMES = [tool.name for tool in TOOLS]
# A half of the first with the whole of the second reads as an object of its own: crossing them can't be seen in it.
ARGUMENTS = ["", "{}", '{"a":[]}', '{"path":"x","all":true}', '{"n":1}']
NORMAL: dict[Api, list[str]] = {
    "openai-chat": ["tool_calls", "stop", "function_call"],
    "openai-responses": ["completed"],
    "anthropic": ["tool_use", "end_turn"],
}
ABNORMAL: dict[Api, list[str]] = {
    "openai-chat": ["length", "content_filter", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL", "error"],
    "openai-responses": ["max_output_tokens", "content_filter", "", "cancelled", "failed"],
    "anthropic": ["max_tokens", "refusal", "pause_turn", "stop_sequence", "model_context_window_exceeded", "error"],
}


@dataclass(frozen=True)
class Event:
    """An event of an answer; `call` is the call that it belongs to, and `ends` says that it marks its end."""

    data: bytes
    call: int = -1
    begins: bool = False
    writes: bool = False
    ends: bool = False


@dataclass(frozen=True)
class Written:
    """A call as the model writes it."""

    name: str
    arguments: str
    size: int


class Labels:
    """Which labels the server writes: all of them, or only some of the time, or the same for every call."""

    def __init__(self, data: st.DataObject, lossy: bool) -> None:
        self._data = data
        self.same_index = lossy and data.draw(st.booleans(), "same index")
        self._dropped = data.draw(st.sets(st.sampled_from(["index", "id"])), "dropped") if lossy else set()
        self._always = lossy and data.draw(st.booleans(), "always dropped")
        self.late_names = lossy and data.draw(st.booleans(), "late names")
        self.repeated_names = data.draw(st.booleans(), "repeated names")

    def keep(self, name: str, value: Any, field: str) -> dict[str, Any]:
        """`field` with its value, or without, or null."""
        if name not in self._dropped or not (self._always or self._data.draw(st.booleans())):
            return {field: 0 if name == "index" and self.same_index else value}
        return self._data.draw(st.sampled_from([{}, {field: None}]))


def chat_events(number: int, call: Written, labels: Labels) -> list[Event]:
    pieces = ["", *split(call.arguments, call.size)]
    out: list[Event] = []
    for at, piece in enumerate(pieces):
        named = at == len(pieces) - 1 if labels.late_names else at == 0 or labels.repeated_names
        function = {"name": call.name} if named else {}
        fragment: dict[str, Any] = {
            **labels.keep("index", number, "index"),
            "function": {**function, "arguments": piece},
        }
        if at == 0 or labels.repeated_names:
            fragment |= labels.keep("id", f"call_{number}", "id")
        out.append(Event(chat_chunk({"tool_calls": [fragment]}), number, at == 0 or named, bool(piece)))
    return out


def responses_events(number: int, call: Written, labels: Labels) -> list[Event]:
    def event(type_: str, **fields: Any) -> bytes:
        where = {**labels.keep("index", number, "output_index"), **labels.keep("id", f"item_{number}", "item_id")}
        return responses_event(type_, **where, **fields)

    def item(type_: str, **fields: Any) -> bytes:
        ids = {**labels.keep("id", f"item_{number}", "id"), "call_id": f"call_{number}"}
        body = {"type": "function_call", "name": call.name, **ids, **fields}
        return responses_event(type_, **labels.keep("index", number, "output_index"), item=body)

    whole = {} if labels.repeated_names else {"arguments": call.arguments}
    return [
        Event(item("response.output_item.added", arguments=""), number, begins=True),
        *(
            Event(event("response.function_call_arguments.delta", delta=piece), number, writes=True)
            for piece in split(call.arguments, call.size)
        ),
        Event(event("response.function_call_arguments.done", **whole), number, ends=True),
        Event(item("response.output_item.done", **whole), number, ends=True),
    ]


def anthropic_events(number: int, call: Written, labels: Labels) -> list[Event]:
    def event(type_: str, **fields: Any) -> bytes:
        return anthropic_event(type_, **labels.keep("index", number, "index"), **fields)

    block = {"type": "tool_use", "id": f"toolu_{number}", "name": call.name, "input": {}}
    deltas = ["", *split(call.arguments, call.size)]
    return [
        Event(event("content_block_start", content_block=block), number, begins=True),
        *(
            Event(
                event("content_block_delta", delta={"type": "input_json_delta", "partial_json": piece}),
                number,
                writes=bool(piece),
            )
            for piece in deltas
        ),
        Event(event("content_block_stop"), number, ends=True),
    ]


def ending(api: Api, reason: str) -> list[bytes]:
    """The events that end an answer for `reason`."""
    if api == "openai-chat":
        more = {"error": {"code": 502, "message": "upstream"}} if reason == "error" else {}
        return [chat_chunk({}, reason, **more), DONE]
    if api == "anthropic":
        if reason == "error":
            return [sse({"type": "error", "error": {"type": "api_error", "message": "upstream"}}, "error")]
        delta = anthropic_event("message_delta", delta={"stop_reason": reason}, usage={})
        return [delta, anthropic_event("message_stop")]
    if reason in ("completed", "failed", "cancelled"):
        type_ = "response.failed" if reason == "failed" else "response.completed"
        return [responses_event(type_, response={"status": reason})]
    response: dict[str, Any] = {"status": "incomplete", "incomplete_details": {"reason": reason} if reason else None}
    return [responses_event("response.incomplete", response=response)]


def interleaved(calls: Sequence[list[Event]], data: st.DataObject) -> list[Event]:
    """The events of all calls, each in its own order; calls begin in call order."""
    if not data.draw(st.booleans(), "interleaved"):
        return [event for events in calls for event in events]
    opening = [events[0] for events in calls]
    return [*opening, *(event for row in zip_longest(*(events[1:] for events in calls)) for event in row if event)]


def may_run(number: int, sent: Sequence[Event], every: Sequence[Event], *, normal: bool, lossy: bool) -> bool:
    """Tell whether a call's end was sent: its closing event, the next call behind a whole one, or the answer's end.

    With labels lost, any fragment of another call may look like its beginning.
    """
    own = [at for at, event in enumerate(every) if event.call == number and event.writes]
    if normal:
        return True
    if own and own[-1] >= len(sent):
        return any(event.ends and event.call == number for event in sent)
    last = own[-1] if own else -1
    marked = any(event.ends and event.call == number for event in sent)
    followed = any((event.begins or lossy) and event.call != number for event in sent[last + 1 :])
    return (marked and (bool(own) or followed)) or (bool(own) and followed)


async def read_body(answer: WireAnswer, pieces: Body) -> list[Chunk]:
    """Return the chunks of a body that arrives in `pieces`, and the error of its loss where it isn't whole."""
    chunks: list[Chunk] = []
    try:
        async for _ in read_answer(pieces, answer):
            chunks += answer.take()
    except Exception:
        answer.cut("a lost connection")
        return [*chunks, *answer.take()]
    finish = answer.end()
    return [*chunks, *answer.take(), finish]


written = st.builds(Written, st.sampled_from(NAMES), st.sampled_from(ARGUMENTS), st.sampled_from([1, 3, 6, 100]))
EVENTS = {"openai-chat": chat_events, "openai-responses": responses_events, "anthropic": anthropic_events}


@examples(600, 60)
@given(api=st.sampled_from(APIS), calls=st.lists(written, min_size=1, max_size=4), lossy=st.booleans(), data=st.data())
def test_only_a_call_whose_end_was_sent_runs_and_with_its_own_arguments(
    api: Api, calls: list[Written], lossy: bool, data: st.DataObject
) -> None:
    labels = Labels(data, lossy)
    every = interleaved([EVENTS[api](number, call, labels) for number, call in enumerate(calls)], data)
    how = data.draw(st.sampled_from(["normal", "abnormal", "cut"]), "how")
    sent = every if how == "normal" else every[: data.draw(st.integers(0, len(every)), "sent")]
    reasons = {"normal": NORMAL, "abnormal": ABNORMAL}.get(how)
    end = ending(api, data.draw(st.sampled_from(reasons[api]), "reason")) if reasons else []
    start = (
        [anthropic_start()]
        if api == "anthropic"
        else [chat_chunk({"content": "Well."})]
        if api == "openai-chat"
        else []
    )
    body = b"".join([*start, *(event.data for event in sent), *end])
    size = data.draw(st.sampled_from([1, 7, 64, 10_000]), "bytes a piece")
    pieces = Pieces([body[at : at + size] for at in range(0, len(body), size)])
    chunks = asyncio.run(read_body(DECODERS[api](TOOLS), pieces))
    assert_well_formed(chunks)
    allowed = [
        (call.name, call.arguments)
        for number, call in enumerate(calls)
        if may_run(number, sent, every, normal=how == "normal", lossy=lossy)
    ]
    for call in calls_of(chunks):
        assert call in allowed, (call, broken_of(chunks))
        allowed.remove(call)
    if how == "normal" and not lossy:
        assert len(calls_of(chunks)) == len(calls)
