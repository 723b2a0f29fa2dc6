"""Two calls never cross: not those of two choices, nor what a call opens with and what is then written for it."""

from __future__ import annotations

from tests.each import each
from tests.providers.reading import TOOLS, broken_of, calls_of
from tests.providers.test_any_split import chunks_of
from tests.wire_bytes import (
    DONE,
    anthropic_delta,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    chat_call,
    chat_chunk,
    responses_event,
    sse,
)

NAME = TOOLS[0].name


@each("in_one_event", [False, True])
async def test_only_the_first_choice_is_read(in_one_event: bool) -> None:
    def delta(index: int, text: str) -> dict[str, object]:
        call = {"index": 0, "id": f"id_{index}", "function": {"name": NAME, "arguments": text}}
        return {"index": index, "delta": {"content": text, "tool_calls": [call]}, "finish_reason": None}

    def more(index: int, text: str) -> dict[str, object]:
        return {"index": index, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}}

    def end(index: int) -> dict[str, object]:
        return {"index": index, "delta": {}, "finish_reason": "tool_calls"}

    choices = [delta(0, '{"path":'), delta(1, '{"other":'), more(1, '"/"}'), end(1), more(0, '"x"}'), end(0)]
    pieces = [sse({"choices": [choice]}) for choice in choices]
    if in_one_event:
        other = [sse({"choices": [end(1), choice]}) for choice in choices if choice["index"] == 0]
        pieces = [sse({"choices": [choices[0]]}), *other[1:]]
    chunks = await chunks_of("openai-chat", [*pieces, DONE])
    assert calls_of(chunks) == [(NAME, '{"path":"x"}')]
    assert not broken_of(chunks)


async def test_the_end_of_another_choice_ends_nothing() -> None:
    first = chat_call(0, id="a", name=NAME, arguments='{"path":')
    other = sse({"choices": [{"index": 1, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]})
    ends = sse({"choices": [{"index": 1, "delta": {}, "finish_reason": "tool_calls"}]})
    chunks = await chunks_of("openai-chat", [first, other, ends, chat_chunk(finish="length"), DONE])
    assert not calls_of(chunks)
    assert len(broken_of(chunks)) == 1


async def test_arguments_that_came_with_a_name_wait_for_the_calls_own_end_on_responses() -> None:
    def added(index: int) -> bytes:
        item = {"type": "function_call", "id": f"f{index}", "call_id": f"c{index}", "name": NAME, "arguments": "{}"}
        return responses_event("response.output_item.added", output_index=index, item=item)

    def written(index: int, text: str) -> list[bytes]:
        where = {"output_index": index, "item_id": f"f{index}"}
        return [
            responses_event("response.function_call_arguments.delta", delta=text, **where),
            responses_event("response.function_call_arguments.done", arguments=text, **where),
        ]

    end = responses_event("response.completed", response={"status": "completed", "usage": None})
    pieces = [added(0), added(1), *written(1, '{"b":2}'), *written(0, '{"a":1}'), end]
    chunks = await chunks_of("openai-responses", pieces)
    assert calls_of(chunks) == [(NAME, '{"a":1}'), (NAME, '{"b":2}')]


async def test_arguments_that_came_with_a_name_wait_for_the_calls_own_end_on_anthropic() -> None:
    def start(index: int) -> bytes:
        block = {"type": "tool_use", "id": f"t{index}", "name": NAME, "input": {"path": "/"}}
        return anthropic_event("content_block_start", index=index, content_block=block)

    def written(index: int, text: str) -> list[bytes]:
        delta = anthropic_delta(index, "input_json_delta", partial_json=text)
        return [delta, anthropic_event("content_block_stop", index=index)]

    pieces = [anthropic_start(), start(0), start(1), *written(1, '{"b":2}'), *written(0, '{"a":1}')]
    chunks = await chunks_of("anthropic", [*pieces, *anthropic_end("tool_use")])
    assert calls_of(chunks) == [(NAME, '{"a":1}'), (NAME, '{"b":2}')]
