"""Events that only one of the two vendors' own formats has, as OpenAI Responses and Anthropic Messages send them."""

from __future__ import annotations

from console_app.domain.chunks import ReasoningFinished
from tests.providers.reading import (
    answer_to,
    assert_well_formed,
    broken_of,
    calls_of,
    finish_of,
    ids_of,
    notices_of,
    reasoning_of,
    text_of,
    usage_of,
)
from tests.wire_bytes import (
    PING,
    Answer,
    Call,
    Text,
    anthropic_delta,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    responses_event,
)
from tests.wire_server import Reply, WireServer

CALC = "calculator_evaluate"


def tool_use(index: int, *parts: str, name: str = CALC) -> list[bytes]:
    """The events of one Anthropic call."""
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    deltas = [anthropic_delta(index, "input_json_delta", partial_json=part) for part in parts]
    start = anthropic_event("content_block_start", index=index, content_block=block)
    return [start, *deltas, anthropic_event("content_block_stop", index=index)]


async def test_anthropic_stops_the_block_of_a_call_that_it_cut_off(server: WireServer) -> None:
    """At max_tokens a block of half a call, or of none of its arguments, is stopped like any other."""
    for parts in (('{"expression": "1',), ("",), ()):
        events = [anthropic_start(), *tool_use(0, "{}"), *tool_use(1, *parts), *anthropic_end("max_tokens")]
        chunks = await answer_to(server, "anthropic", Reply(events))
        assert_well_formed(chunks)
        assert calls_of(chunks) == [(CALC, "{}")]
        assert broken_of(chunks) == [f"cut off by the token limit after {len(''.join(parts))} characters"]


async def test_anthropic_input_given_whole_at_the_start(server: WireServer) -> None:
    block = {"type": "tool_use", "id": "a", "name": CALC, "input": {"expression": "1"}}
    start = anthropic_event("content_block_start", index=0, content_block=block)
    stop = anthropic_event("content_block_stop", index=0)
    chunks = await answer_to(server, "anthropic", Reply([anthropic_start(), start, stop, *anthropic_end("tool_use")]))
    assert calls_of(chunks) == [(CALC, '{"expression": "1"}')]


async def test_anthropic_counts_what_it_wrote_to_its_cache_as_input(server: WireServer) -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1000}
    start = anthropic_event("message_start", message={"usage": {**usage, "output_tokens": 1}})
    events = [start, PING, *Answer(Text("hi")).events("anthropic")[2:]]
    counted = usage_of(await answer_to(server, "anthropic", Reply(events)))
    assert counted is not None
    assert (counted.input_tokens, counted.output_tokens, counted.cached_tokens) == (1110, 5, 100)


async def test_anthropic_reaches_the_end_of_its_window(server: WireServer) -> None:
    events = [*Answer(Text("hi")).events("anthropic")[:-2], *anthropic_end("model_context_window_exceeded")]
    chunks = await answer_to(server, "anthropic", Reply(events))
    assert finish_of(chunks) == "length"
    assert notices_of(chunks) == ["The answer reached the end of the model's context window."]


async def test_anthropic_declines_and_says_why(server: WireServer) -> None:
    delta = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "Not that."}}
    end = [anthropic_event("message_delta", delta=delta, usage={"output_tokens": 1}), anthropic_event("message_stop")]
    chunks = await answer_to(server, "anthropic", Reply([*Answer(Text("hi")).events("anthropic")[:-2], *end]))
    assert finish_of(chunks) == "filtered"
    assert notices_of(chunks) == ["The model declined: Not that."]


async def test_anthropic_blocks_and_events_that_are_not_known(server: WireServer) -> None:
    odd = [
        anthropic_event(
            "content_block_start", index=0, content_block={"type": "server_tool_use", "id": "s", "name": "w"}
        ),
        anthropic_delta(0, "citations_delta", citation={}),
        anthropic_delta(0, "input_json_delta", partial_json=""),
        anthropic_event("content_block_stop", index=0),
        anthropic_event("something_new", index=None, delta=None),
    ]
    text = [anthropic_delta(1, "text_delta", text="hi")]
    chunks = await answer_to(server, "anthropic", Reply([anthropic_start(), *odd, *text, *anthropic_end("end_turn")]))
    assert (text_of(chunks), calls_of(chunks)) == ("hi", [])


async def test_a_whole_anthropic_message_in_place_of_a_stream(server: WireServer) -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "a", "name": CALC, "input": {"expression": "1"}},
    ]
    body = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 3}}
    chunks = await answer_to(server, "anthropic", Reply.json(body))
    assert_well_formed(chunks)
    assert (reasoning_of(chunks), text_of(chunks)) == ("Hm.", "Let me see.")
    assert (calls_of(chunks), finish_of(chunks)) == ([(CALC, '{"expression": "1"}')], "tool_calls")


async def test_responses_may_give_arguments_only_when_they_are_done(server: WireServer) -> None:
    events = Answer(Call(CALC, '{"expression": "1"}', "a")).events("openai-responses")
    events = [event for event in events if b"arguments.delta" not in event]
    chunks = await answer_to(server, "openai-responses", Reply(events))
    assert_well_formed(chunks)
    assert (calls_of(chunks), ids_of(chunks)) == ([(CALC, '{"expression": "1"}')], ["a"])


async def test_responses_with_calls_in_turns(server: WireServer) -> None:
    first, second = (Answer(Text("x"), Call(CALC, f'{{"expression": "{n}"}}')) for n in "12")
    one = [event for event in first.events("openai-responses") if b'"output_index":1' in event]
    two = [event.replace(b'"output_index":1', b'"output_index":2') for event in second.events("openai-responses")]
    two = [event for event in two if b'"output_index":2' in event]
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    end = Answer().events("openai-responses")[-1:]
    chunks = await answer_to(server, "openai-responses", Reply([*mixed, *end]))
    assert_well_formed(chunks)
    assert calls_of(chunks) == [(CALC, '{"expression": "1"}'), (CALC, '{"expression": "2"}')]


async def test_responses_cut_at_the_limit_though_the_call_is_marked_done(server: WireServer) -> None:
    done = responses_event("response.function_call_arguments.done", output_index=0, arguments='{"expression": "1')
    events = Answer(Call(CALC, '{"expression": "1'), finish="length").events("openai-responses")
    chunks = await answer_to(server, "openai-responses", Reply([*events[:-1], done, events[-1]]))
    assert broken_of(chunks) == ["cut off by the token limit after 17 characters"]


async def test_the_parts_of_a_summary_are_paragraphs(server: WireServer) -> None:
    parts = [
        responses_event("response.reasoning_summary_text.delta", output_index=0, summary_index=n, delta=text)
        for n, text in ((0, "One."), (1, "Two."))
    ]
    end = Answer(Text("hi")).events("openai-responses")[1:]
    chunks = await answer_to(server, "openai-responses", Reply([*parts, *end]))
    assert reasoning_of(chunks) == "One.\n\nTwo."
    (kept,) = [chunk.reasoning for chunk in chunks if isinstance(chunk, ReasoningFinished)]
    assert (kept.text, kept.data) == ("One.\n\nTwo.", {})


async def test_a_refusal_is_text(server: WireServer) -> None:
    refusal = responses_event("response.refusal.delta", output_index=0, delta="I can't.")
    end = Answer().events("openai-responses")[-1:]
    assert text_of(await answer_to(server, "openai-responses", Reply([refusal, *end]))) == "I can't."


async def test_a_whole_response_in_place_of_a_stream(server: WireServer) -> None:
    output = [
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "e",
        },
        {"type": "message", "content": [{"type": "output_text", "text": "Let me see."}]},
        {"type": "function_call", "call_id": "a", "name": CALC, "arguments": '{"expression": "1"}'},
    ]
    body = {"status": "completed", "output": output, "error": None, "usage": {"input_tokens": 3, "output_tokens": 2}}
    chunks = await answer_to(server, "openai-responses", Reply.json(body))
    assert_well_formed(chunks)
    assert (text_of(chunks), calls_of(chunks)) == ("Let me see.", [(CALC, '{"expression": "1"}')])
    (kept,) = [chunk.reasoning for chunk in chunks if isinstance(chunk, ReasoningFinished)]
    assert kept.data["block"]["encrypted_content"] == "e"
