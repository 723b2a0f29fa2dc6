"""Servers speak OpenAI Chat Completions almost alike; their quirks with calls and text stand here as real bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console_app.domain.chunks import UsageChunk
from tests.providers.reading import (
    answer_to,
    assert_well_formed,
    broken_of,
    calls_of,
    deltas_of,
    finish_of,
    ids_of,
    notices_of,
    reasoning_of,
    text_of,
    usage_of,
)
from tests.wire_bytes import DONE, KEEP_ALIVE, Call, chat_call, chat_chunk, chat_interleaved, sse
from tests.wire_server import Reply, WireServer

A, B = '{"expression": "1+1"}', '{"expression": "2+2"}'
END = [chat_chunk({}, "tool_calls"), DONE]
CALC = "calculator_evaluate"


async def calls(server: WireServer, *events: bytes, end: list[bytes] = END) -> list[tuple[str, str]]:
    """The calls of an answer made of `events`."""
    chunks = await answer_to(server, "openai-chat", Reply([*events, *end]))
    assert_well_formed(chunks)
    assert not broken_of(chunks)
    return calls_of(chunks)


async def test_interleaved_calls(server: WireServer) -> None:
    events = chat_interleaved(Call(CALC, A), Call(CALC, B), Call("demo_fail", "{}"))
    assert await calls(server, *events, end=[]) == [(CALC, A), (CALC, B), ("demo_fail", "{}")]


async def test_one_index_with_two_ids_is_two_calls(server: WireServer) -> None:
    first = [chat_call(0, id="a", name=CALC, arguments=""), chat_call(0, arguments=A)]
    second = [chat_call(0, id="b", name=CALC, arguments=""), chat_call(0, arguments=B)]
    assert await calls(server, *first, *second) == [(CALC, A), (CALC, B)]


async def test_one_index_with_two_ids_in_turns(server: WireServer) -> None:
    events = [
        chat_call(0, id="a", name=CALC, arguments=A[:5]),
        chat_call(0, id="b", name="demo_fail", arguments=B[:5]),
        chat_call(0, id="a", arguments=A[5:]),
        chat_call(0, id="b", arguments=B[5:]),
    ]
    assert await calls(server, *events) == [(CALC, A), ("demo_fail", B)]


async def test_empty_ids(server: WireServer) -> None:
    events = [chat_call(n, id="", name=CALC, arguments=text) for n, text in enumerate((A, B))]
    chunks = await answer_to(server, "openai-chat", Reply([*events, *END]))
    assert calls_of(chunks) == [(CALC, A), (CALC, B)]
    assert ids_of(chunks) == ["", ""]


async def test_empty_ids_and_one_index(server: WireServer) -> None:
    events = [chat_call(0, name=name, arguments=text) for name, text in ((CALC, A), ("demo_fail", B), (CALC, B))]
    assert await calls(server, *events) == [(CALC, A), ("demo_fail", B), (CALC, B)]


async def test_the_same_tool_twice_without_ids_under_one_index(server: WireServer) -> None:
    events = [chat_call(0, name=CALC), chat_call(0, arguments=A), chat_call(0, name=CALC), chat_call(0, arguments=B)]
    assert await calls(server, *events) == [(CALC, A), (CALC, B)]


async def test_one_id_for_two_indexes(server: WireServer) -> None:
    events = [chat_call(0, id="call_0", name=CALC, arguments=A), chat_call(1, id="call_0", name=CALC, arguments=B)]
    assert await calls(server, *events) == [(CALC, A), (CALC, B)]


async def test_no_index_and_ids(server: WireServer) -> None:
    events = [
        chat_call(None, id="a", name=CALC, arguments=A[:4]),
        chat_call(None, arguments=A[4:]),
        chat_call(None, id="b", name=CALC, arguments=B),
    ]
    assert await calls(server, *events) == [(CALC, A), (CALC, B)]


async def test_no_index_and_no_ids(server: WireServer) -> None:
    events = [
        chat_call(None, name=CALC, arguments=A[:4]),
        chat_call(None, arguments=A[4:]),
        chat_call(None, name=CALC, arguments=B),
        chat_call(None, name="demo_fail"),
    ]
    assert await calls(server, *events) == [(CALC, A), (CALC, B), ("demo_fail", "")]


async def test_two_whole_calls_in_one_delta(server: WireServer) -> None:
    both = [{"id": "a", "function": {"name": CALC, "arguments": A}}, {"function": {"name": CALC, "arguments": B}}]
    assert await calls(server, chat_chunk({"tool_calls": both})) == [(CALC, A), (CALC, B)]


async def test_arguments_as_an_object(server: WireServer) -> None:
    ((name, text),) = await calls(server, chat_call(0, id="a", name=CALC, arguments={"expression": "é"}))
    assert (name, json.loads(text)) == (CALC, {"expression": "é"})


async def test_a_name_split_over_deltas(server: WireServer) -> None:
    parts = [chat_call(0, id="a", name="calcu"), chat_call(0, name="lator_"), chat_call(0, name="evaluate")]
    assert await calls(server, *parts, chat_call(0, arguments=A)) == [(CALC, A)]


async def test_a_name_that_is_the_beginning_of_another(server: WireServer) -> None:
    longer = [chat_call(0, id="a", name="demo_fail"), chat_call(0, name="_twice"), chat_call(0, arguments="{}")]
    assert await calls(server, *longer) == [("demo_fail_twice", "{}")]
    shorter = [chat_call(0, id="a", name="demo_fail"), chat_call(0, arguments="{}")]
    assert await calls(server, *shorter) == [("demo_fail", "{}")]


async def test_name_and_id_repeated_in_every_delta(server: WireServer) -> None:
    events = [chat_call(0, id="a", name=CALC, arguments=part) for part in ("", A[:3], A[3:8], A[8:], "")]
    assert await calls(server, *events) == [(CALC, A)]


@pytest.mark.parametrize(("index", "id"), [(0, "a"), (0, ""), (0, None), (None, "a")])
async def test_blanks_behind_a_whole_object_begin_no_other_call(
    server: WireServer, index: int | None, id: str | None
) -> None:
    """As llama.cpp's Python server repeats the name with each piece, and lets a grammar end in blanks."""
    pieces = [A[:4], A[4:], " ", "", "\n", ""]
    events = [chat_call(index, id=id, name=CALC, arguments=piece) for piece in pieces]
    assert [(name, text.strip()) for name, text in await calls(server, *events)] == [(CALC, A)]


async def test_a_new_id_in_every_delta(server: WireServer) -> None:
    events = [
        chat_call(0, id="a", name=CALC),
        chat_call(0, id="b", arguments=A[:6]),
        chat_call(0, id="c", arguments=A[6:]),
    ]
    assert await calls(server, *events) == [(CALC, A)]


async def test_the_whole_call_repeated_at_the_end(server: WireServer) -> None:
    events = [chat_call(0, id="a", name=CALC), chat_call(0, arguments=A), chat_call(0, id="a", name=CALC, arguments=A)]
    assert await calls(server, *events) == [(CALC, A)]


async def test_calls_with_finish_stop(server: WireServer) -> None:
    chunks = await answer_to(
        server, "openai-chat", Reply([chat_call(0, id="a", name=CALC, arguments=A), chat_chunk({}, "stop"), DONE])
    )
    assert calls_of(chunks) == [(CALC, A)]
    assert finish_of(chunks) == "tool_calls"


async def test_finish_tool_calls_with_none(server: WireServer) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"content": "Hm."}), *END]))
    assert finish_of(chunks) == "stop"
    assert notices_of(chunks) == ["The model said that it calls tools, but named none."]


async def test_finish_in_the_delta_that_holds_the_call(server: WireServer) -> None:
    call = {"index": 0, "id": "a", "function": {"name": CALC, "arguments": A}}
    assert await calls(server, chat_chunk({"tool_calls": [call]}, "tool_calls"), end=[DONE]) == [(CALC, A)]


async def test_null_and_empty_deltas(server: WireServer) -> None:
    nothing: list[Any] = [
        {"content": None, "tool_calls": None, "role": None, "reasoning_content": None, "refusal": None},
        {"tool_calls": [None]},
        {"tool_calls": [{"index": 0}]},
        {"tool_calls": [{"index": 0, "function": None}]},
        {"tool_calls": {}},
        {"content": 5},
    ]
    odd = [chat_chunk(delta) for delta in nothing]
    shapes = [
        sse({"choices": None}),
        sse({"choices": [None]}),
        sse({"choices": [{"delta": None}]}),
        sse({}),
        sse([]),
        sse(7),
    ]
    call = chat_call(0, id="a", name=CALC, arguments=A)
    null_arguments = chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": None, "name": None}}]})
    assert await calls(server, *odd, *shapes, KEEP_ALIVE, call, null_arguments, *odd) == [(CALC, A)]


async def test_arguments_null_mean_none(server: WireServer) -> None:
    assert await calls(server, chat_call(0, id="a", name="demo_fail", arguments="null")) == [("demo_fail", "")]


async def test_a_call_that_names_no_tool(server: WireServer) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_call(0, id="a", arguments="{}"), *END]))
    assert broken_of(chunks) == ["the call names no tool"]


async def test_text_behind_a_whole_object(server: WireServer) -> None:
    chunks = await answer_to(server, "openai-chat", Reply([chat_call(0, id="a", name=CALC, arguments=A + "{}"), *END]))
    assert broken_of(chunks) == [f"arguments are not valid JSON: Extra data at character {len(A) + 1}"]
    assert deltas_of(chunks, 0) == A + "{}"


async def test_the_old_function_call_field(server: WireServer) -> None:
    events = [chat_chunk({"function_call": {"name": CALC}}), chat_chunk({"function_call": {"arguments": A}})]
    assert await calls(server, *events, end=[chat_chunk({}, "function_call"), DONE]) == [(CALC, A)]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_in_a_field_of_its_own(server: WireServer, field: str) -> None:
    events = [chat_chunk({field: part}) for part in ("Think", "ing.")]
    chunks = await answer_to(server, "openai-chat", Reply([*events, chat_chunk({"content": "4"}, "stop"), DONE]))
    assert reasoning_of(chunks) == "Thinking."
    assert text_of(chunks) == "4"


async def test_reasoning_in_two_fields_at_once_is_shown_once(server: WireServer) -> None:
    events = [chat_chunk({"reasoning": part, "reasoning_content": part}) for part in ("Think", "ing.")]
    chunks = await answer_to(server, "openai-chat", Reply([*events, chat_chunk({}, "stop"), DONE]))
    assert reasoning_of(chunks) == "Thinking."


async def test_reasoning_details_are_kept_whole(server: WireServer) -> None:
    events = [
        chat_chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": part, "signature": None}]})
        for part in ("Think", "ing.")
    ]
    events.append(chat_chunk({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]}))
    chunks = await answer_to(server, "openai-chat", Reply([*events, chat_call(0, id="a", name=CALC), *END]))
    assert reasoning_of(chunks) == "Thinking."
    kept = next(chunk.reasoning for chunk in chunks if hasattr(chunk, "reasoning"))
    assert kept.data["value"] == [
        {"type": "reasoning.text", "index": 0, "text": "Thinking.", "signature": None},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


async def test_content_in_parts(server: WireServer) -> None:
    parts = [{"type": "text", "text": "Fo"}, {"type": "text", "text": "ur"}]
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"content": parts}, "stop"), DONE]))
    assert text_of(chunks) == "Four"


async def test_usage_in_the_last_chunk_with_choices(server: WireServer) -> None:
    last = chat_chunk({}, "stop", usage={"prompt_tokens": 7, "completion_tokens": 3, "prompt_cache_hit_tokens": 4})
    chunks = await answer_to(server, "openai-chat", Reply([chat_chunk({"content": "4"}), last, DONE]))
    usage = usage_of(chunks)
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (7, 3, 4)
    chunks = await answer_to(
        server, "openai-chat", Reply([chat_chunk({}, "stop", usage={"completion_tokens": 3}), DONE])
    )
    assert usage_of(chunks) == UsageChunk(0, 3)


async def test_no_end_mark_and_no_last_empty_line(server: WireServer) -> None:
    last = chat_chunk({"content": "4"}, "stop").rstrip()
    chunks = await answer_to(server, "openai-chat", Reply([last]))
    assert text_of(chunks) == "4"


async def test_a_whole_completion_in_place_of_a_stream(server: WireServer) -> None:
    call = {"id": "a", "type": "function", "function": {"name": CALC, "arguments": A}}
    message = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    chunks = await answer_to(server, "openai-chat", Reply.json(body))
    assert_well_formed(chunks)
    assert (text_of(chunks), calls_of(chunks), finish_of(chunks)) == ("Let me see.", [(CALC, A)], "tool_calls")


async def test_an_emoji_cut_between_two_deltas(server: WireServer) -> None:
    events = [
        b'data: {"choices":[{"delta":{"content":"ok \\ud83d"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\ude00 \\ud83d!"}}]}\n\n',
    ]
    chunks = await answer_to(server, "openai-chat", Reply([*events, chat_chunk({}, "stop"), DONE]))
    assert text_of(chunks) == "ok 😀 \ufffd!"


async def test_half_characters_are_replaced_wherever_they_stand(server: WireServer) -> None:
    half = "\\ud83d"
    events = [
        chat_chunk({"reasoning_details": [{"type": "reasoning.text", "text": "a HALF!", "signature": "s HALF"}]}),
        chat_call(0, id="id HALF", name="HALF name", arguments='{"a": "b HALF'),
        chat_call(0, arguments='HALF c"}'),
        chat_call(1, id="other", name=CALC, arguments='{"expression": "HALF'),
        chat_call(1, arguments='LOW"}'),
    ]
    body = b"".join([*events, *END]).replace(b"HALF", half.encode()).replace(b"LOW", b"\\ude00")
    chunks = await answer_to(server, "openai-chat", Reply([body]))
    assert reasoning_of(chunks) == "a \ufffd!"
    assert calls_of(chunks) == [("\ufffd name", '{"a": "b \ufffd\ufffd c"}'), (CALC, '{"expression": "😀"}')]
    assert ids_of(chunks) == ["id \ufffd", "other"]


async def test_line_separators_bom_and_bad_bytes(server: WireServer) -> None:
    events = [
        b"\xef\xbb\xbf",
        chat_chunk({"content": "a\u2028b\u2029c\x85d"}),
        chat_chunk({"content": "XY"}).replace(b"XY", b"\xff\xfe"),
    ]
    chunks = await answer_to(server, "openai-chat", Reply([*events, chat_chunk({}, "stop"), DONE]))
    assert text_of(chunks) == "a\u2028b\u2029c\x85d\ufffd\ufffd"
    assert notices_of(chunks) == ["The endpoint sent bytes that are not UTF-8; they are shown as \ufffd."]


@pytest.mark.parametrize("newline", [b"\r\n", b"\r"])
async def test_other_line_ends(server: WireServer, newline: bytes) -> None:
    body = b"".join([chat_chunk({"content": "4"}), KEEP_ALIVE, *END]).replace(b"\n", newline)
    chunks = await answer_to(server, "openai-chat", Reply([body]))
    assert text_of(chunks) == "4"


def other_choice(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """A piece of an answer's second choice."""
    return sse({"object": "chat.completion.chunk", "choices": [{"index": 1, "delta": delta, "finish_reason": finish}]})


def named(arguments: str) -> dict[str, Any]:
    """A call that is whole in one piece."""
    return {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": CALC, "arguments": arguments}}]}


async def test_text_and_calls_in_two_choices_are_one_answer(server: WireServer) -> None:
    events = [chat_chunk({"content": "Let me see."}), chat_chunk({}, "tool_calls")]
    events += [other_choice(named(A)), other_choice({}, "tool_calls")]
    assert await calls(server, *events, end=[DONE]) == [(CALC, A)]


@pytest.mark.parametrize(
    "own",
    [[chat_chunk({"content": "No."}), chat_chunk({}, "stop")], [chat_chunk(named(B)), chat_chunk({}, "tool_calls")]],
)
async def test_calls_of_another_choice_are_told_where_the_answer_has_its_own(
    server: WireServer, own: list[bytes]
) -> None:
    events = [*own, other_choice(named(A)), other_choice({}, "tool_calls"), DONE]
    chunks = await answer_to(server, "openai-chat", Reply(events))
    assert (CALC, A) not in calls_of(chunks)
    assert "Another choice of the answer calls tools: its calls were not run." in notices_of(chunks)


async def test_calls_of_another_choice_that_was_cut_do_not_run(server: WireServer) -> None:
    events = [chat_chunk({"content": "Let me see."}), chat_chunk({}, "tool_calls"), other_choice(named(A)), DONE]
    chunks = await answer_to(server, "openai-chat", Reply(events))
    assert calls_of(chunks) == []
    assert "Another choice of the answer calls tools: its calls were not run." in notices_of(chunks)
