"""How chat endpoints end, label and count their answers, where the specification says otherwise: each as real bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console_app.domain.chunks import CallClosed
from console_app.domain.tools import ToolSpec
from tests.providers.reading import (
    ASK,
    KEY,
    TOOLS,
    answer_to,
    assert_well_formed,
    broken_of,
    calls_of,
    failure_of,
    finish_of,
    ids_of,
    kept_of,
    notices_of,
    provider_at,
    reasoning_of,
    request_with,
    text_of,
    usage_of,
)
from tests.wire_bytes import DONE, chat_call, chat_chunk, sse
from tests.wire_server import Gate, Reply, WireServer

A, B = '{"expression": "1+1"}', '{"expression": "2+2"}'
CALC = "calculator_evaluate"
END = [chat_chunk({}, "tool_calls"), DONE]
NO_REASON = "The endpoint ended its answer without a finish reason: it may not be whole."


def message(finish: str | None = "stop", *, index: int = 0, **fields: Any) -> bytes:
    """A chunk with a whole message in place of a delta."""
    choice = {"index": index, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    return sse({"object": "chat.completion", "choices": [choice]})


def whole_call(name: str = CALC, arguments: Any = A, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **fields}


# -- how an answer ends


async def test_text_before_an_end_mark_without_a_reason_is_an_answer(server: WireServer) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"content": "Four."}), DONE]))
    assert (text_of(chunks), finish_of(chunks), notices_of(chunks)) == ("Four.", "stop", [NO_REASON])


async def test_calls_before_an_end_mark_without_a_reason_do_not_run(server: WireServer) -> None:
    events = [chat_call(0, id="a", name=CALC, arguments=A), chat_call(1, id="b", name=CALC, arguments=B), DONE]
    chunks = await answer_to(server, "openai-chat", Reply(events))
    assert_well_formed(chunks)
    assert calls_of(chunks) == [(CALC, A)]  # the next one began behind its whole object
    assert broken_of(chunks) == [f"cut off by an end without a finish reason after {len(B)} characters"]


async def test_an_end_mark_behind_nothing_is_no_answer(server: WireServer) -> None:
    _, error = await failure_of(server, "openai-chat", *[Reply([chat_chunk({"role": "assistant"}), DONE])] * 5)
    assert "ended before" in str(error)


@pytest.mark.parametrize("reason", ["function_call_filter: OTHER", "eos_or_so", "abort"])
async def test_a_reason_that_is_not_known_ends_text_with_a_notice_and_runs_no_call(
    server: WireServer, reason: str
) -> None:
    events = [chat_chunk({"content": "Well."}), chat_call(0, id="a", name=CALC, arguments=A), chat_chunk({}, reason)]
    chunks = await answer_to(server, "openai-chat", Reply([*events, DONE]))
    assert (text_of(chunks), calls_of(chunks)) == ("Well.", [])
    assert notices_of(chunks) == [f"The model stopped for a reason that is not known: {reason}."]
    assert broken_of(chunks) == [f"cut off by the finish reason “{reason}” after {len(A)} characters"]


async def test_a_reason_of_null_as_text_is_none_yet(server: WireServer) -> None:
    events = [chat_chunk({"content": "Fo"}, "null"), chat_chunk({"content": "ur"}, "null"), chat_chunk({}, "stop")]
    chunks = await answer_to(server, "openai-chat", Reply([*events, DONE]))
    assert (text_of(chunks), notices_of(chunks)) == ("Four", [])


# -- a message in place of deltas


async def test_a_message_only_in_the_last_chunk(server: WireServer) -> None:
    calls = [whole_call(id="a"), whole_call(id="b", arguments=B)]
    last = message("tool_calls", content="Let me see.", reasoning_content="Hm.", tool_calls=calls)
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"role": "assistant"}), last, DONE]))
    assert_well_formed(chunks)
    assert (text_of(chunks), reasoning_of(chunks)) == ("Let me see.", "Hm.")
    assert (calls_of(chunks), ids_of(chunks)) == ([(CALC, A), (CALC, B)], ["a", "b"])


async def test_a_message_that_repeats_the_deltas_is_not_read_twice(server: WireServer) -> None:
    def both(piece: str, whole: str, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": {"content": piece}, "message": {"content": whole}, "finish_reason": finish}
        return sse({"choices": [choice]})

    events = [both("Fo", "Fo"), both("ur", "Four"), message("stop", content="Four")]
    chunks = await answer_to(server, "openai-chat", Reply([*events, DONE]))
    assert text_of(chunks) == "Four"


async def test_a_message_that_repeats_the_arguments_of_one_call_gives_them_to_no_other(server: WireServer) -> None:
    begun = [chat_call(0, id="a", name=CALC, arguments=A), chat_call(1, id="b", name=CALC)]
    last = message("tool_calls", tool_calls=[whole_call(id="a"), whole_call(id="b", arguments="")])
    chunks = await answer_to(server, "openai-chat", Reply([*begun, last, DONE]))
    assert calls_of(chunks) == [(CALC, A), (CALC, "")]


async def test_messages_that_grow_are_read_once(server: WireServer) -> None:
    events = [message(None, content="Fo"), message(None, content="Four"), message("stop", content="Four.")]
    chunks = await answer_to(server, "openai-chat", Reply([*events, DONE]))
    assert text_of(chunks) == "Four."


async def test_two_calls_of_a_whole_message_with_nothing_to_tell_them_apart(server: WireServer) -> None:
    last = message("tool_calls", tool_calls=[whole_call("demo_fail", ""), whole_call("demo_fail", "")])
    chunks = await answer_to(server, "openai-chat", Reply([last, DONE]))
    assert calls_of(chunks) == [("demo_fail", ""), ("demo_fail", "")]


@pytest.mark.parametrize("finish", [None, ""])
async def test_a_whole_completion_without_a_reason_runs_no_call(server: WireServer, finish: str | None) -> None:
    said = {"content": "Let me see.", "tool_calls": [whole_call(id="a")]}
    body = {"choices": [{"message": said, "finish_reason": finish}]}
    chunks = await answer_to(server, "openai-chat", Reply.json(body))
    assert (text_of(chunks), calls_of(chunks), notices_of(chunks)) == ("Let me see.", [], [NO_REASON])
    assert broken_of(chunks) == [f"cut off by an end without a finish reason after {len(A)} characters"]


# -- labels


async def test_an_index_as_text(server: WireServer) -> None:
    def fragment(index: str, **fields: Any) -> bytes:
        return chat_chunk({"tool_calls": [{"index": index, **fields}]})

    events = [
        fragment("0", id="a", function={"name": CALC, "arguments": A[:5]}),
        fragment("1", id="b", function={"name": CALC, "arguments": B[:5]}),
        fragment("0", function={"arguments": A[5:]}),
        fragment("1", function={"arguments": B[5:]}),
    ]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    assert (calls_of(chunks), broken_of(chunks)) == ([(CALC, A), (CALC, B)], [])


async def test_two_nameless_calls_of_one_delta_stay_two(server: WireServer) -> None:
    both = [{"function": {"name": "demo_fail"}}, {"function": {"name": "demo_fail", "arguments": ""}}]
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"tool_calls": both}), *END]))
    assert calls_of(chunks) == [("demo_fail", ""), ("demo_fail", "")]


async def test_a_name_that_comes_twice_with_no_label_is_one_call_or_two_and_does_not_run(server: WireServer) -> None:
    events = [chat_call(None, name="demo_fail"), chat_call(None, name="demo_fail")]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    assert calls_of(chunks) == []
    assert len(broken_of(chunks)) == 1


@pytest.mark.parametrize(
    "written",
    [
        f"functions.{CALC}",
        f"functions.{CALC}:0",
        f"default_api:{CALC}",
        f"default_api.{CALC}",
        "calculator.evaluate",
        CALC.upper(),
        f"functions.{CALC.title()}",
    ],
)
async def test_a_name_that_only_one_tool_can_mean(server: WireServer, written: str) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_call(0, id="a", name=written, arguments=A), *END]))
    assert calls_of(chunks) == [(CALC, A)]
    (closed,) = [chunk for chunk in chunks if isinstance(chunk, CallClosed)]
    assert (closed.repaired, closed.must_ask) == ((f"the name, written {written}",), "")


async def test_a_name_that_several_tools_can_mean_stays_as_it_is(server: WireServer) -> None:
    tools = [ToolSpec(name=name, server="s", tool=name) for name in ("get_it", "Get_it", "functions_x", "x")]
    events = [
        chat_call(0, id="a", name="GET_IT", arguments="{}"),
        chat_call(1, id="b", name="functions.x", arguments="{}"),
        chat_call(2, id="c", name="default_api.x", arguments="{}"),
    ]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]), request=request_with(tools))
    # A tool really named `functions.x` is `functions_x` on the wire, and wins.
    assert calls_of(chunks) == [("GET_IT", "{}"), ("functions_x", "{}"), ("x", "{}")]


# -- events and characters


@pytest.mark.parametrize("named", [False, True])
async def test_single_newlines_between_events(server: WireServer, named: bool) -> None:
    events = [chat_chunk({"content": "Fo"}), chat_chunk({"content": "ur"}), chat_chunk({}, "stop"), DONE]
    body = b"".join((b"event: message\n" if named else b"") + event.replace(b"\n\n", b"\n") for event in events)
    chunks = await answer_to(server, "openai-chat", Reply([body[:90], body[90:]]))
    assert (text_of(chunks), finish_of(chunks), notices_of(chunks)) == ("Four", "stop", [])


async def test_events_with_single_newlines_come_as_they_are_written(server: WireServer) -> None:
    """Each is shown as soon as the next begins, not at the end of all."""
    gate = Gate()
    events = [event.replace(b"\n\n", b"\n") for event in (chat_chunk({"content": "Fo"}), chat_chunk({"content": "ur"}))]
    server.script(Reply([*events, gate, chat_chunk({}, "stop"), DONE]))
    provider = provider_at(server, "openai-chat")
    async with provider.stream(ASK) as chunks:
        first = await anext(chunks)
        gate.open()
        rest = [chunk async for chunk in chunks]
    await provider.close()
    assert text_of([first]) == "Fo"
    assert text_of(rest) == "ur"


async def test_halves_of_characters_are_told(server: WireServer) -> None:
    events = [chat_chunk({"content": "a HALF!"}), chat_call(0, id="a", name=CALC, arguments='{"expression": "HALF!"}')]
    body = b"".join([*events, *END]).replace(b"HALF", b"\\ud83d")
    chunks = await answer_to(server, "openai-chat", Reply([body]))
    assert notices_of(chunks) == ["The endpoint sent halves of characters; they are shown as \ufffd."]
    (closed,) = [chunk for chunk in chunks if isinstance(chunk, CallClosed)]
    assert closed.arguments == '{"expression": "\ufffd!"}'
    assert closed.must_ask == "a character of its arguments could not be read"
    assert closed.repaired == ("half a character, which became \ufffd",)


async def test_half_a_character_that_is_escaped_in_the_arguments_is_told(server: WireServer) -> None:
    """The JSON of the event is sound: the half stands in the JSON of the arguments."""
    pair, half = '{"expression": "\\ud83d\\ude00"}', '{"expression": "\\ud83d"}'
    events = [chat_call(n, id=f"{n}", name=CALC, arguments=text) for n, text in enumerate((pair, half))]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    asked = [bool(chunk.must_ask) for chunk in chunks if isinstance(chunk, CallClosed)]
    assert asked == [False, True]


async def test_half_a_character_at_the_very_end_is_told(server: WireServer) -> None:
    body = b"".join([chat_chunk({"content": "ok HALF"}), chat_chunk({}, "stop"), DONE]).replace(b"HALF", b"\\ud83d")
    chunks = await answer_to(server, "openai-chat", Reply([body]))
    assert len(notices_of(chunks)) == 1


# -- usage


@pytest.mark.parametrize("place", ["last chunk", "choice", "x_groq", "beside deltas"])
async def test_usage_in_every_place(server: WireServer, place: str) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": 4}
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    last = {
        "last chunk": [sse({"choices": [choice]}), sse({"choices": [], "usage": usage})],
        "choice": [sse({"choices": [{**choice, "usage": usage}]})],
        "x_groq": [sse({"choices": [choice], "x_groq": {"id": "req_1", "usage": usage}})],
        "beside deltas": [sse({"choices": [choice], "usage": usage}), sse({"choices": [], "usage": None})],
    }[place]
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"content": "4"}), *last, DONE]))
    counted = usage_of(chunks)
    assert counted is not None
    assert (counted.input_tokens, counted.output_tokens, counted.cached_tokens) == (7, 3, 4)


async def test_a_listing_that_wants_a_key_gets_it(server: WireServer) -> None:
    server.script(Reply.json([{"id": "small"}, {"id": "large"}]))
    provider = provider_at(server, "openai-chat")
    assert await provider.models() == ["small", "large"]
    await provider.close()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


# -- what is kept


async def test_ids_are_kept_byte_for_byte_even_late_ones(server: WireServer) -> None:
    events = [
        chat_call(0, name=CALC, arguments=""),
        chat_call(0, id="functions.calculator_evaluate:0", arguments=A),
        chat_call(1, id="x" * 70, name=CALC, arguments=B),
    ]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    assert kept_of(chunks, 0) == {"id": "functions.calculator_evaluate:0"}
    assert kept_of(chunks, 1) == {"id": "x" * 70}


async def test_signed_thoughts_of_calls_and_messages(server: WireServer) -> None:
    signed = {"google": {"thought_signature": "c2ln"}}
    thought = {"content": "First I add.", "extra_content": {"google": {"thought": True}}}
    events = [
        chat_chunk(thought),
        chat_chunk({"content": "Let me see.", "extra_content": {"google": {"thought_signature": "bWVzc2FnZQ"}}}),
        chat_chunk({"tool_calls": [whole_call(index=0, id="a", extra_content=signed)]}),
        chat_chunk({"tool_calls": [whole_call(index=1, id="b", arguments=B)]}),
    ]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    assert (reasoning_of(chunks), text_of(chunks)) == ("First I add.", "Let me see.")
    assert kept_of(chunks) == {"fields": {"extra_content": {"google": {"thought_signature": "bWVzc2FnZQ"}}}}
    assert kept_of(chunks, 0) == {"id": "a", "fields": {"extra_content": signed}}
    assert kept_of(chunks, 1) == {"id": "b"}


async def test_thinking_parts_of_the_content(server: WireServer) -> None:
    def part(piece: str) -> bytes:
        return chat_chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]})

    events = [part("Well, "), part("now."), chat_chunk({"content": "Four"}), chat_chunk({"content": "."}, "stop"), DONE]
    chunks = await answer_to(server, "openai-chat", Reply(events))
    assert (reasoning_of(chunks), text_of(chunks)) == ("Well, now.", "Four.")
    whole = {"type": "thinking", "thinking": [{"type": "text", "text": "Well, now."}]}
    assert kept_of(chunks) == {"parts": [[0, whole]]}


# -- arguments that are almost JSON


@pytest.mark.parametrize(
    ("written", "meant", "what"),
    [
        ('{"expression": "1",}', {"expression": "1"}, "a comma too many"),
        ("{'expression': '1'}", {"expression": "1"}, "single quotes"),
        ('{"expression": "1" /* sum */}', {"expression": "1"}, "a comment"),
        ('{"expression": "1", "exact": True}', {"expression": "1", "exact": True}, "True, False or None as in Python"),
        ('{expression: "1"}', {"expression": "1"}, "a key without quotes"),
        ('{"expression": "1\n2"}', {"expression": "1\n2"}, "a raw line break or tab inside a string"),
    ],
)
async def test_almost_json_is_mended_and_asked_about(
    server: WireServer, written: str, meant: dict[str, Any], what: str
) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_call(0, id="a", name=CALC, arguments=written), *END]))
    (closed,) = [chunk for chunk in chunks if isinstance(chunk, CallClosed)]
    assert json.loads(closed.arguments) == meant
    assert (closed.raw, closed.repaired) == (written, (what,))
    assert closed.must_ask == "its arguments were not JSON and had to be mended"


@pytest.mark.parametrize("written", ['{"a": 1', '{"a": 1}}', '{"a": [1}', '{"a": 1} {"b": 2}', "[1, 2]", "{{'a': 1}}"])
async def test_what_would_have_to_be_guessed_is_not_mended(server: WireServer, written: str) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_call(0, id="a", name=CALC, arguments=written), *END]))
    assert (calls_of(chunks), len(broken_of(chunks))) == ([], 1)


@pytest.mark.parametrize("end", [[chat_chunk({}, "length"), DONE], [DONE], [chat_chunk({}, "content_filter"), DONE]])
async def test_almost_json_that_was_cut_is_not_mended(server: WireServer, end: list[bytes]) -> None:
    chunks = await answer_to(
        server, "openai-chat", Reply([chat_call(0, id="a", name=CALC, arguments="{'a': 1}"), *end])
    )
    assert (calls_of(chunks), len(broken_of(chunks))) == ([], 1)


async def test_arguments_that_are_json_inside_of_a_json_text(server: WireServer) -> None:
    events = [chat_call(0, id="a", name=CALC, arguments=json.dumps(A))]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    (closed,) = [chunk for chunk in chunks if isinstance(chunk, CallClosed)]
    assert (closed.arguments, closed.must_ask) == (A, "")
    assert closed.repaired == ("arguments that were JSON inside of a JSON text",)


@pytest.mark.parametrize(
    ("schema", "written", "meant"),
    [
        ({"n": {"type": "integer"}}, "5", {"n": 5}),
        ({"_value": {"type": "string"}}, '"x"', {"_value": "x"}),
        ({"text": {"type": "string"}}, "'x'", {"text": "x"}),
        ({"n": {"type": "integer"}}, '"five"', None),
        ({"n": {"type": "integer"}, "m": {"type": "integer"}}, "5", None),
        ({}, "5", None),
        ({"n": {}}, "5", None),
    ],
)
async def test_a_lone_value_only_for_the_one_parameter_that_it_fits(
    server: WireServer, schema: dict[str, Any], written: str, meant: dict[str, Any] | None
) -> None:
    tool = ToolSpec(name="one", server="s", tool="one", input_schema={"type": "object", "properties": schema})
    reply = Reply([chat_call(0, id="a", name="one", arguments=written), *END])
    chunks = await answer_to(server, "openai-chat", reply, request=request_with([tool, *TOOLS]))
    closed = [chunk for chunk in chunks if isinstance(chunk, CallClosed)]
    assert [json.loads(chunk.arguments) for chunk in closed] == ([] if meant is None else [meant])
    assert all(chunk.must_ask for chunk in closed)
    assert len(broken_of(chunks)) == (meant is None)
