"""Each fragment of a Responses or Messages answer has one owner, whatever happens to the answer on its way.

Answers of texts, thinking, the provider's own calls and ours are interleaved, shuffled, cut at any byte and ended for
any reason. A call of ours runs only with what was written for it, and only when its own end or a normal end was sent;
each that doesn't run says why.
"""

from __future__ import annotations

import asyncio
import json
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import CallBroken, CallClosed, CallOpened, Chunk
from tests.examples import examples
from tests.providers.reading import TOOLS, assert_well_formed
from tests.providers.test_any_split import DECODERS, Pieces
from tests.providers.test_half_read_calls import ABNORMAL, NORMAL, ending, read_body
from tests.providers.test_server_tools import CITED, FOUND, REASONING, SEARCH, THOUGHT, WEB, block_events, message_item
from tests.wire_bytes import Api, anthropic_delta, anthropic_event, anthropic_start, responses_event, split

NAME = "demo_fail"
WIRES: tuple[Api, ...] = ("openai-responses", "anthropic")


@dataclass(frozen=True)
class Sent:
    """An event of the call `call`; `ends` where it closes that call."""

    data: bytes
    call: int = -1
    ends: bool = False


def written(call: int, keys: int) -> str:
    """Arguments in letters that no other call has."""
    letter = string.ascii_lowercase[call]
    return json.dumps({letter * (n + 1): letter for n in range(keys)}) if keys else ""


def responses_call(call: int, arguments: str, size: int) -> list[Sent]:
    item = {"type": "function_call", "id": f"fc_{call}", "call_id": f"call_{call}", "name": NAME}
    where = {"output_index": call, "item_id": f"fc_{call}"}
    kind = "response.function_call_arguments"
    done = {**item, "arguments": arguments, "status": "completed"}
    return [
        Sent(responses_event("response.output_item.added", output_index=call, item={**item, "arguments": ""}), call),
        *(Sent(responses_event(f"{kind}.delta", delta=piece, **where), call) for piece in split(arguments, size)),
        Sent(responses_event(f"{kind}.done", arguments=arguments, **where), call, ends=True),
        Sent(responses_event("response.output_item.done", output_index=call, item=done), call, ends=True),
    ]


def anthropic_call(call: int, arguments: str, size: int) -> list[Sent]:
    block = {"type": "tool_use", "id": f"call_{call}", "name": NAME, "input": {}}
    deltas = [anthropic_delta(call, "input_json_delta", partial_json=piece) for piece in ["", *split(arguments, size)]]
    return [
        Sent(anthropic_event("content_block_start", index=call, content_block=block), call),
        *(Sent(delta, call) for delta in deltas),
        Sent(anthropic_event("content_block_stop", index=call), call, ends=True),
    ]


def beside(api: Api, place: int) -> list[list[Sent]]:
    """Draw the other parts of an answer: each part's own events stay in their order."""
    if api == "anthropic":
        return [
            [Sent(one) for one in block_events(place + n, b)] for n, b in enumerate([THOUGHT, SEARCH, FOUND, CITED])
        ]
    items = [REASONING, WEB, message_item(1, "Hm.")]
    return [
        [
            Sent(responses_event(f"response.output_item.{end}", output_index=place + n, item=item))
            for end in ("added", "done")
        ]
        for n, item in enumerate(items)
    ]


CALLS: dict[Api, Callable[[int, str, int], list[Sent]]] = {
    "openai-responses": responses_call,
    "anthropic": anthropic_call,
}


def mixed(parts: list[list[Sent]], data: st.DataObject, how: str) -> list[Sent]:
    """The events of all parts: one part after the other, in turns, or in any order at all."""
    if how == "in order":
        return [event for part in parts for event in part]
    if how == "shuffled":
        return data.draw(st.permutations([event for part in parts for event in part]))
    order = data.draw(st.permutations([number for number, part in enumerate(parts) for _ in part]))
    left = [iter(part) for part in parts]
    return [next(left[number]) for number in order]


def results_of(chunks: list[Chunk]) -> dict[str, CallClosed | CallBroken]:
    """How each call ended, by its id."""
    ids = {chunk.index: chunk.id for chunk in chunks if isinstance(chunk, CallOpened)}
    return {ids[chunk.index]: chunk for chunk in chunks if isinstance(chunk, CallClosed | CallBroken)}


@examples(500, 50)
@given(
    api=st.sampled_from(WIRES),
    keys=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    how=st.sampled_from(["in order", "in turns", "shuffled"]),
    end=st.sampled_from(["normal", "abnormal", "none"]),
    data=st.data(),
)
def test_a_call_runs_whole_with_its_own_or_says_why_not(
    api: Api, keys: list[int], how: str, end: str, data: st.DataObject
) -> None:
    size = data.draw(st.sampled_from([1, 4, 100]), "characters a fragment")
    arguments = [written(number, count) for number, count in enumerate(keys)]
    calls = [CALLS[api](number, text, size) for number, text in enumerate(arguments)]
    events = mixed([*calls, *beside(api, len(calls))], data, how)
    start = anthropic_start() if api == "anthropic" else b""
    body = start + b"".join(event.data for event in events)
    reasons = {"normal": NORMAL[api], "abnormal": ABNORMAL[api]}.get(end)
    if end == "none":
        body = body[: data.draw(st.integers(0, len(body)), "bytes that came")]
    elif reasons:
        body += b"".join(ending(api, data.draw(st.sampled_from(reasons), "reason")))
    piece = data.draw(st.sampled_from([1, 9, 100_000]), "bytes a piece")
    chunks = asyncio.run(
        read_body(DECODERS[api](TOOLS), Pieces([body[at : at + piece] for at in range(0, len(body), piece)]))
    )
    assert_well_formed(chunks)
    came, ended = len(start), set[int]()
    for event in events:
        came += len(event.data)
        if event.ends and came <= len(body):
            ended.add(event.call)
    for call_id, result in results_of(chunks).items():
        number = int(call_id.removeprefix("call_"))
        if isinstance(result, CallBroken):
            assert result.problem
            continue
        assert end == "normal" or number in ended
        if how != "shuffled" or api == "openai-responses":
            assert result.arguments == arguments[number]
        else:  # no event repeats what the fragments add up to, so their order can't be known: but whose they are can
            assert set(result.arguments) <= set(arguments[number])
    if end == "normal" and how != "shuffled":
        assert not [result for result in results_of(chunks).values() if isinstance(result, CallBroken)]
        assert len(results_of(chunks)) == len(calls)


def test_what_a_call_lacks_is_said_of_that_call() -> None:
    first, second, third = (responses_call(number, written(number, 1), 4) for number in range(3))
    events: list[Any] = [*first, *second[:2], third[0], *third[1:-2]]
    body = b"".join(event.data for event in events)
    results = results_of(asyncio.run(read_body(DECODERS["openai-responses"](TOOLS), Pieces([body]))))
    assert isinstance(results["call_0"], CallClosed)
    problems = [result.problem for result in results.values() if isinstance(result, CallBroken)]
    assert problems == [
        "cut off by a lost connection after 4 characters",
        "cut off by a lost connection after 10 characters",
    ]
