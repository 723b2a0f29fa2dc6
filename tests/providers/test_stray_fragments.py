"""No call runs empty while its arguments went astray: all that an answer holds is read, or its empty calls don't run.

Pieces stand behind the finish or the end, under another choice, field, type of event or delta, or on a damaged line. A
call without arguments runs beside all that endpoints send and that is no part of a call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import CallClosed
from console_app.providers.stream.loose_json import arr, obj
from tests.each import each
from tests.examples import examples
from tests.providers.reading import TOOLS, assert_well_formed, broken_of, calls_of
from tests.providers.test_any_split import DECODERS, Pieces
from tests.providers.test_false_labels import NAME, Change, Event, events_of, holder, is_piece, read, text_in, written
from tests.providers.test_half_read_calls import read_body
from tests.wire_bytes import APIS, DONE, Api, chat_call, chat_chunk, sse


def at(*path: str | int) -> Change:
    """Move the arguments of a piece to another key: `path` leads from its event to it, through what is there or not.
    The last of it may be a `dict` of its own, by a key behind `=`."""

    def moved(event: Event) -> bytes:
        arguments = text_in(event)
        if "choices" in event:
            del holder(event)["function"]["arguments"]
        elif isinstance(event["delta"], dict):
            del event["delta"]["partial_json"]
        else:
            del event["delta"]
        to: Any = event
        for key in path[:-1]:
            to = to[key] if isinstance(key, int) else to.setdefault(key, {})
        to[path[-1]] = arguments
        return sse(event, event.get("type", ""))

    return moved


def changed(change: Callable[[Event], Any]) -> Change:
    def moved(event: Event) -> bytes:
        change(event)
        return sse(event, event.get("type", ""))

    return moved


def of_type(type_: str) -> Change:
    return changed(lambda event: event.update(type=type_))


def of_delta(**fields: Any) -> Change:
    return changed(lambda event: event["delta"].update(fields))


def as_done(event: Event) -> bytes:
    """The closing twin of a delta, under a label of no call."""
    event |= {"type": "response.function_call_arguments.done", "output_index": 9, "item_id": "item_9"}
    event["arguments"] = event.pop("delta")
    return sse(event, event["type"])


def damaged(line: str) -> Change:
    return lambda event: f"{line}{json.dumps(event)}\n\n".encode()


CHOICE, CALLS = ("choices", 0), ("choices", 0, "delta", "tool_calls", 0)
ASTRAY: dict[Api, dict[str, Change]] = {
    "openai-chat": {
        "another choice": changed(lambda event: event["choices"][0].update(index=1)),
        "beside the function": at(*CALLS, "arguments"),
        "another field": at(*CALLS, "function", "input"),
        "another kind of call": at(*CALLS, "custom", "input"),
        "beside the calls": at(*CHOICE, "delta", "tool_call", "arguments"),
        "beside the delta": at(*CHOICE, "arguments"),
        "beside the choices": at("arguments"),
        "a message": changed(lambda event: event["choices"][0].update(message=event["choices"][0].pop("delta"))),
        "one call in place of a list": changed(
            lambda event: event["choices"][0]["delta"].update(tool_calls=holder(event) | {"index": 7})
        ),
        "a part of the content": changed(
            lambda event: event["choices"][0].update(delta={"content": [{"type": "input", "partial": text_in(event)}]})
        ),
        "no choices": changed(lambda event: event.update(delta=event.pop("choices")[0]["delta"])),
    },
    "openai-responses": {
        "done": as_done,
        "another field": at("arguments"),
        "an object": changed(lambda event: event.update(delta={"partial": event["delta"]})),
        **{
            type_: of_type(f"response.{type_}")
            for type_ in (
                "mcp_call_arguments.delta",
                "custom_tool_call_input.delta",
                "function_call.arguments.delta",
                "output_text.delta",
                "reasoning_text.delta",
                "invented",
            )
        },
    },
    "anthropic": {
        "another event": of_type("content_block_more"),
        "text": lambda event: at("delta", "text")(event | {"delta": event["delta"] | {"type": "text_delta"}}),
        "thinking": lambda event: at("delta", "thinking")(
            event | {"delta": event["delta"] | {"type": "thinking_delta"}}
        ),
        "another delta": of_delta(type="input_delta"),
        "no type": changed(lambda event: event["delta"].pop("type")),
        "another field": at("delta", "text"),
        "beside the delta": at("partial_json"),
        "the end": lambda event: at("content_block", "input")(event | {"type": "content_block_stop"}),
        "a bare delta": changed(lambda event: event.update(delta=text_in(event))),
    },
}
EVERYWHERE: dict[str, Change] = {
    "a blank in the field": damaged("data : "),
    "no field": damaged(""),
    "another line": damaged("delta: "),
    "text": lambda event: sse(json.dumps(text_in(event))),
    "a list": lambda event: sse([event]),
}


def path_to(event: Any, leaf: str) -> list[Any]:
    """The keys that lead to the text `leaf`."""
    for key, value in obj(event).items() or enumerate(arr(event)):
        if value is leaf:
            return [key]
        if path := path_to(value, leaf):
            return [key, *path]
    return []


BENT: dict[str, Change] = {
    "in a list": lambda value: [value],
    "in an object": lambda value: {"of": value},
    "as JSON": json.dumps,
}


def bent(depth: int, how: str) -> Change:
    """Bend the shape of an event on the way to its arguments, at a key `depth` steps from them; or rename the key."""

    def moved(event: Event) -> bytes:
        path = path_to(event, text_in(event))
        *way, key = path[: max(1, len(path) - depth)]
        inner = path[len(way) + 1 :]
        to: Any = event
        for step in way:
            to = to[step]
        if how == "renamed" and obj(to):
            to[f"x_{key}"] = to.pop(key)
        elif how == "a level less" and inner:
            to[key] = to[key][inner[0]]
        else:
            to[key] = BENT.get(how, BENT["in a list"])(to[key])
        return sse(event, event.get("type", ""))

    return moved


BENDS = {f"{how}, {depth} up": bent(depth, how) for how in [*BENT, "a level less", "renamed"] for depth in range(6)}


@examples(1_500, 150)
@given(
    api=st.sampled_from(APIS),
    count=st.integers(1, 3),
    size=st.sampled_from([3, 100]),
    brace=st.booleans(),
    pieces=st.sampled_from(["of all calls", "of one call"]),
    data=st.data(),
)
def test_no_call_runs_empty_while_its_arguments_went_astray(
    api: Api, count: int, size: int, brace: bool, pieces: str, data: st.DataObject
) -> None:
    arguments = [written(n, 1) for n in range(count)]
    events, end = events_of(api, arguments, size, ends=False)
    victim = data.draw(st.integers(0, count - 1), "of which call")
    places = sorted([*ASTRAY[api], *EVERYWHERE, *BENDS, "behind the finish", "behind the end"])
    place = data.draw(st.sampled_from(places), "where")
    call, sent, behind = -1, list[bytes](), list[bytes]()
    for event in events:
        begins = not is_piece(event) and not str(event.get("type")).endswith(("done", "stop"))
        call += begins
        if brace and api == "openai-chat" and begins:
            holder(event)["function"]["arguments"] = "{}"
        if brace and str(event.get("type")).endswith("done"):
            event.get("item", event)["arguments"] = "{}"
        if not is_piece(event) or not text_in(event) or (pieces == "of one call" and call != victim):
            sent.append(sse(event, event.get("type", "")))
        elif place.startswith("behind"):
            behind.append(sse(event, event.get("type", "")))
        else:
            sent.append({**EVERYWHERE, **BENDS, **ASTRAY[api]}[place](event))
    last = len(end) if place == "behind the end" else len(end) - 1
    body = b"".join([*sent, *end[:last], *behind, *end[last:]])
    size = data.draw(st.sampled_from([1, 9, 100_000]), "bytes a piece")
    chunks = asyncio.run(
        read_body(DECODERS[api](TOOLS), Pieces([body[at : at + size] for at in range(0, len(body), size)]))
    )
    assert_well_formed(chunks)
    ran = calls_of(chunks)
    assert len(ran) <= count
    assert not [text for _, text in ran if text.strip() in ("", "null", "{}")], broken_of(chunks)


@each("value", [written(0, 1), json.loads(written(0, 1))], ids=["text", "object"])
@each("field", ["parameters", "args", "tool_input"])
@each("api", APIS)
def test_a_call_that_begins_with_its_arguments_in_another_field_does_not_run_empty(
    api: Api, field: str, value: Any
) -> None:
    events, end = events_of(api, [""], 100, ends=False)
    begun = events[0]
    for key in ("choices", 0, "delta", "tool_calls", 0, "function") if api == "openai-chat" else ():
        begun = begun[key]
    begun = begun.get("item") or begun.get("content_block") or begun
    begun[field] = value
    assert not calls_of(read(api, events, end))


def tool_use(value: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "call_9", "name": NAME, "input": value}


def function_call(value: Any) -> dict[str, Any]:
    return {"type": "function_call", "name": NAME, "arguments": value}


def chat_calls(value: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": 9, "function": {"name": NAME, "arguments": value}}]}


def response(type_: str, **fields: Any) -> Event:
    return {"type": f"response.{type_}", "response": {"id": "r", "status": type_, "output": [], **fields}}


ELSEWHERE: dict[Api, dict[str, Callable[[Any], Event]]] = {
    "openai-chat": {
        "a block of Anthropic's": lambda value: {"type": "content_block_delta", "delta": tool_use(value)},
        "an output": lambda value: {"output": [function_call(value)]},
        "beside the choices": chat_calls,
        "beside a delta": lambda value: {"choices": [{"index": 0, "delta": {}, **chat_calls(value)}]},
        "the content": lambda value: {"choices": [{"index": 0, "delta": {"content": tool_use(value)}}]},
        "a part of the content": lambda value: {"choices": [{"index": 0, "delta": {"content": [tool_use(value)]}}]},
    },
    "openai-responses": {
        "chat's choices": lambda value: {"choices": [{"delta": chat_calls(value)}]},
        "an event of its own": lambda value: {"type": "response.tool_call", "item": tool_use(value)},
        "a repeated output": lambda value: response("in_progress", output=[function_call(value)]),
        "a part of a message": lambda value: response(
            "completed", output=[{"type": "message", "content": [tool_use(value)]}]
        ),
        "beside the output": lambda value: response("completed", **chat_calls(value)),
    },
    "anthropic": {
        "chat's choices": lambda value: {"choices": [{"delta": chat_calls(value)}]},
        "the start": lambda value: {"type": "message_start", "message": {"content": [tool_use(value)]}},
        "a delta of the message": lambda value: {"type": "message_delta", "delta": {"content": [tool_use(value)]}},
        "beside a block": lambda value: {
            "type": "content_block_start",
            "index": 9,
            "content_block": {"type": "text"},
            **chat_calls(value),
        },
        "beside that delta": lambda value: {"type": "message_delta", "delta": {}, "content": [tool_use(value)]},
        "an event of its own": lambda value: {"type": "content_block_more", "block": tool_use(value)},
    },
}


@each("value", [written(0, 1), json.loads(written(0, 1))], ids=["text", "object"])
@each(("api", "where"), [(api, where) for api in APIS for where in ELSEWHERE[api]])
def test_a_call_does_not_run_empty_beside_arguments_in_the_form_of_another_place(
    api: Api, where: str, value: Any
) -> None:
    events, end = events_of(api, [""], 100, ends=True)
    assert not calls_of(read(api, [*events, ELSEWHERE[api][where](value)], end))


@each("beside", [{}, {"partial_json": written(0, 1)}])
def test_a_call_does_not_run_empty_beside_arguments_in_a_piece_of_text(beside: dict[str, str]) -> None:
    events, end = events_of("anthropic", [""], 100, ends=True)
    text: list[Event] = [
        {"type": "content_block_start", "index": 9, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x", **beside}},
        {"type": "content_block_stop", "index": 9},
    ]
    assert len(calls_of(read("anthropic", [*events, *text], end))) == (not beside)


@each("again", ["{}", ""])
@each("first", ["{}", ""])
def test_a_call_told_of_twice_under_one_id_is_no_second_call_without_arguments(first: str, again: str) -> None:
    told = [(0, first), (1, again or written(0, 1))]
    body = [*(chat_call(n, id="a", name=NAME, arguments=text) for n, text in told), chat_chunk({}, "tool_calls"), DONE]
    chunks = asyncio.run(read_body(DECODERS["openai-chat"](TOOLS), Pieces(body)))
    assert [text for _, text in calls_of(chunks)] == ([] if again else [written(0, 1)])


@each("ends", [["{}", "{}"], ["", "{}"], ["{}", ""]], ids=str)
@each("begun", [False, True], ids=["arguments first", "call first"])
def test_a_call_whose_end_takes_its_arguments_back_is_not_run_unasked(ends: list[str], begun: bool) -> None:
    events, end = events_of("openai-responses", [written(0, 2)], 4, ends=False)
    added, *pieces, done, item = events
    done["arguments"], item["item"]["arguments"] = ends
    chunks = read(
        "openai-responses", [*([added] if begun else []), *pieces, *([] if begun else [added]), done, item], end
    )
    assert {text for _, text in calls_of(chunks)} <= {written(0, 2)}


def test_a_call_that_only_its_end_tells_of_is_not_lost_under_the_id_of_another() -> None:
    events, end = events_of("openai-responses", [written(0, 1), written(1, 1)], 100, ends=True)
    *first, last = (event for event in events if event["output_index"] == 0 or event is events[-1])
    last["item"]["call_id"] = "call_0"
    assert [text for _, text in calls_of(read("openai-responses", [*first, last], end))] == [
        written(0, 1),
        written(1, 1),
    ]


def test_a_call_does_not_run_empty_in_the_place_of_another_that_never_ended() -> None:
    events, end = events_of("openai-responses", [written(0, 2)], 4, ends=False)
    events[-1]["item"] |= {"id": "item_9", "call_id": "call_9", "arguments": "{}"}
    assert calls_of(read("openai-responses", [*events[:-2], events[-1]], end)) == []


# What endpoints send beside calls, that is no part of one.
BESIDE: dict[Api, list[bytes]] = {
    "openai-chat": [
        chat_chunk({"content": '{"a": 1}', "reasoning": '{"a": 1}', "refusal": None, "annotations": [{"url": "x"}]}),
        chat_chunk({"reasoning_details": [{"type": "reasoning.text", "text": '{"a": 1}', "index": 0}]}),
        chat_chunk({"content": "", "provider_metadata": {"gateway": {"cost": "0"}}, "extra_content": {"a": {"b": 1}}}),
        chat_chunk({"content": "{"}, usage=None, system_fingerprint="fp", service_tier="default", obfuscation="x8Ka"),
        chat_chunk(
            choices=[
                {
                    "index": 0,
                    "delta": {"content": "{"},
                    "logprobs": {"content": [{"token": "{"}]},
                    "finish_reason": None,
                }
            ]
        ),
        chat_chunk(prompt_filter_results=[{"content_filter_results": {"hate": {"filtered": False}}}]),
        chat_chunk(choices=[], x_groq={"id": "req_1"}, timings={"prompt_n": 1}, usage={"prompt_tokens": 1}),
        b": {}\n\nid: 4\nretry: 5\n\n",
    ],
    "openai-responses": [
        sse(
            {
                "type": "response.created",
                "response": {"tools": [{"parameters": {"type": "object"}}], "instructions": "{"},
            }
        ),
        sse({"type": "response.output_item.added", "output_index": 7, "item": {"id": "m", "type": "message"}}),
        sse(
            {
                "type": "response.output_text.delta",
                "output_index": 7,
                "item_id": "m",
                "delta": "{}",
                "logprobs": [{"t": "{"}],
            }
        ),
        sse(
            {
                "type": "response.output_text.annotation.added",
                "output_index": 7,
                "item_id": "m",
                "annotation": {"t": "{"},
            }
        ),
        sse({"type": "response.content_part.done", "output_index": 7, "item_id": "m", "part": {"text": "{}"}}),
        sse(
            {
                "type": "response.output_item.added",
                "output_index": 8,
                "item": {"id": "s", "type": "mcp_call", "name": "n"},
            }
        ),
        sse({"type": "response.mcp_call_arguments.delta", "output_index": 8, "item_id": "s", "delta": '{"a": 1}'}),
        sse({"type": "response.mcp_call_arguments.done", "output_index": 8, "item_id": "s", "arguments": '{"a": 1}'}),
        sse(
            {
                "type": "response.output_item.done",
                "output_index": 8,
                "item": {"id": "s", "type": "mcp_call", "output": "{"},
            }
        ),
        sse({"type": "vendor.rate_limits", "rate_limits": {"primary": {"used_percent": 1}}}),
        sse({"type": "keepalive", "sequence_number": 3}, "keepalive"),
    ],
    "anthropic": [
        sse({"type": "ping"}, "ping"),
        sse({"type": "content_block_start", "index": 7, "content_block": {"type": "text", "text": ""}}),
        sse({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": '{"a": 1}'}}),
        sse(
            {
                "type": "content_block_delta",
                "index": 7,
                "delta": {"type": "citations_delta", "citation": {"cited_text": "{"}},
            }
        ),
        sse({"type": "content_block_stop", "index": 7}),
        sse(
            {
                "type": "content_block_start",
                "index": 8,
                "content_block": {"type": "server_tool_use", "id": "s", "name": "w", "input": {}},
            }
        ),
        sse(
            {
                "type": "content_block_delta",
                "index": 8,
                "delta": {"type": "input_json_delta", "partial_json": '{"q": 1}'},
            }
        ),
        sse({"type": "content_block_stop", "index": 8}),
        sse({"type": "content_block_start", "index": 9, "content_block": {"type": "thinking", "thinking": ""}}),
        sse({"type": "content_block_delta", "index": 9, "delta": {"type": "thinking_delta", "thinking": '{"a": 1}'}}),
        sse({"type": "content_block_delta", "index": 9, "delta": {"type": "signature_delta", "signature": "eyJ9"}}),
        sse({"type": "content_block_stop", "index": 9}),
        sse({"type": "message_delta", "delta": {}, "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}}),
        sse({"type": "metrics", "data": {"tokens": 1}}),
    ],
}


@each("api", APIS)
@each("arguments", ["", "{}"])
def test_a_call_without_arguments_runs_beside_all_that_is_none_of_a_call(api: Api, arguments: str) -> None:
    events, end = events_of(api, [arguments, written(1, 1)], 100, ends=True)
    body = b"".join([*BESIDE[api], *(sse(e, e.get("type", "")) for e in events), *end])
    chunks = asyncio.run(read_body(DECODERS[api](TOOLS), Pieces([body])))
    assert calls_of(chunks) == [(NAME, arguments), (NAME, written(1, 1))], broken_of(chunks)
    assert not [chunk for chunk in chunks if isinstance(chunk, CallClosed) and chunk.must_ask]
