"""An answer of which one event was lost, or came twice: nothing runs whose own end was not sent, and no loss is silent.

Every event of an answer is left out, sent twice in a row, and sent again at every later place, on each wire.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from console_app.domain.chunks import CallBroken, CallClosed, CallOpened, Chunk
from console_app.providers.stream.calls_in_pieces import PAIRED, UNOWNED
from console_app.providers.stream.labelled_calls import NEVER_BEGUN, NOT_MARKED
from tests.each import each
from tests.examples import EXPLORING
from tests.providers.reading import TOOLS, assert_well_formed, broken_of, calls_of, notices_of, text_of
from tests.providers.test_any_split import DECODERS, Pieces
from tests.providers.test_half_read_calls import read_body
from tests.wire_bytes import (
    APIS,
    DONE,
    Answer,
    Api,
    Call,
    Reasoning,
    Text,
    anthropic_delta,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    chat_chunk,
    responses_event,
)

NAMES = [tool.name for tool in TOOLS]
WRITTEN = {"call_a": '{"path":"x","n":12}', "call_b": "", "call_c": '{"all":true}'}
GOLDEN = Answer(
    Reasoning("Two of them."),
    Text("Both at once."),
    *(Call(name, text, id, 5) for name, (id, text) in zip(NAMES, WRITTEN.items(), strict=True)),
)
ENDS = ("content_block_stop", "function_call_arguments.done", "output_item.done")


def read(api: Api, events: list[bytes]) -> list[Chunk]:
    """Return the chunks that the events are read as."""
    chunks = asyncio.run(read_body(DECODERS[api](TOOLS), Pieces([b"".join(events)])))
    assert_well_formed(chunks)
    return chunks


def ends_of(chunks: list[Chunk]) -> dict[str, CallClosed | CallBroken]:
    """How each call ended, by its id."""
    ids = {chunk.index: chunk.id for chunk in chunks if isinstance(chunk, CallOpened)}
    return {ids[chunk.index]: chunk for chunk in chunks if isinstance(chunk, CallClosed | CallBroken)}


def data_of(event: bytes) -> dict[str, Any]:
    """The JSON of one event."""
    data = event.partition(b"data: ")[2]
    return {} if data.strip() == b"[DONE]" else json.loads(data)


def made_in(event: bytes) -> list[Any]:
    """The fragments of calls in a chunk of a chat completion."""
    return [one for choice in data_of(event).get("choices", ()) for one in choice["delta"].get("tool_calls", ())]


def whose(api: Api, event: bytes) -> str:
    """The id of the call that an event is of, "" for none."""
    data, ids = data_of(event), list(WRITTEN)
    if api == "openai-chat":
        return next((ids[one["index"]] for one in made_in(event)), "")
    place = data.get("index", data.get("output_index", -1)) - 2
    return ids[place] if place >= 0 else ""


def fragment(event: bytes) -> str:
    """The arguments that an event adds to a call."""
    if made := made_in(event):
        return str(made[0]["function"].get("arguments", ""))
    delta = data_of(event).get("delta", "")
    return delta if isinstance(delta, str) else str(delta.get("partial_json", ""))


def one_lost(api: Api) -> Iterator[tuple[bytes, list[bytes]]]:
    """Each event of the answer, and the answer without it."""
    events = GOLDEN.events(api)
    yield from ((event, events[:at] + events[at + 1 :]) for at, event in enumerate(events))


@each("api", APIS)
def test_an_event_that_was_lost_runs_nothing_half_read_and_is_told(api: Api) -> None:
    for lost, events in one_lost(api):
        chunks, of = read(api, events), whose(api, lost)
        ends = ends_of(chunks)
        for id, text in WRITTEN.items():
            match ends.get(id):
                case CallClosed(arguments=arguments, must_ask=must_ask) if must_ask:
                    # The only call without arguments, beside the only arguments without a call.
                    assert (must_ask, arguments, text) == (PAIRED, WRITTEN[of], ""), lost
                case CallClosed(arguments=arguments):
                    own = [event for event in events if whose(api, event) == id]
                    assert api == "openai-chat" or any(end in str(event) for event in own for end in ENDS), lost
                    # Chat and Messages repeat nothing, so a fragment that is not there can't be missed.
                    sent = "".join(map(fragment, own)) if api != "openai-responses" else text
                    assert arguments in (sent, text), lost
                case CallBroken(problem=problem):
                    assert problem
                    # What holds nothing runs only where nothing of the answer is missing.
                    assert of == id or not text or "finish_reason" in str(lost), lost
                case None:
                    # Of a call that was one event, or one with arguments of no characters, nothing is left to be seen.
                    paired = any(isinstance(end, CallClosed) and end.must_ask for end in ends.values())
                    assert broken_of(chunks) or notices_of(chunks) or paired or not text, lost
                    assert of == id, lost


@each("api", APIS)
def test_an_event_that_came_twice_runs_no_call_twice_and_no_other(api: Api) -> None:
    events = GOLDEN.events(api)
    for at, event in enumerate(events):
        places = range(at + 1, len(events) + 1)
        for again in places if EXPLORING else [at + 1, *places[1 + at % 3 :: 3]]:
            chunks, of = read(api, [*events[:again], event, *events[again:]]), whose(api, event)
            ran = [id for id, end in ends_of(chunks).items() if isinstance(end, CallClosed)]
            assert len(calls_of(chunks)) == len(ran) <= len(WRITTEN), (event, again)
            for id, end in ends_of(chunks).items():
                if id != of and isinstance(end, CallClosed):
                    assert end.arguments == WRITTEN[id], (event, again)
            if again == at + 1 and not fragment(event):
                assert calls_of(chunks) == list(zip(NAMES, WRITTEN.values(), strict=True)), event
                assert not broken_of(chunks), event


async def test_a_block_that_was_never_stopped_does_not_run_at_a_normal_end() -> None:
    events = Answer(Text("Well."), Call(NAMES[0], '{"path":"x"}')).events("anthropic")
    kept = [event for event in events if "content_block_stop" not in str(event) or data_of(event)["index"] == 0]
    chunks = await read_body(DECODERS["anthropic"](TOOLS), Pieces(kept))
    assert calls_of(chunks) == []
    assert broken_of(chunks) == ["the endpoint never sent the end of this call (content_block_stop)"]


@each("api", ["openai-responses", "anthropic"])
async def test_where_nothing_is_closed_a_person_is_asked_and_what_holds_nothing_does_not_run(api: Api) -> None:
    events = Answer(Call(NAMES[0], '{"a":1}'), Call(NAMES[1], ""), Call(NAMES[2], '{"b":')).events(api)
    kept = [event for event in events if not any(end in str(event) for end in ENDS)]
    chunks = await read_body(DECODERS[api](TOOLS), Pieces(kept))
    assert [(end.arguments, end.must_ask) for end in chunks if isinstance(end, CallClosed)] == [('{"a":1}', NOT_MARKED)]
    assert [problem.partition(" (")[0] for problem in broken_of(chunks)] == [
        "the endpoint never sent the end of this call",
        UNOWNED,
    ]


async def test_of_two_blocks_the_one_that_was_stopped_runs() -> None:
    events = Answer(Call(NAMES[0], '{"a":1}'), Call(NAMES[1], '{"b":2}')).events("anthropic")
    for stopped, name in ((0, NAMES[0]), (1, NAMES[1])):
        kept = [e for e in events if b"content_block_stop" not in e or data_of(e)["index"] == stopped]
        chunks = await read_body(DECODERS["anthropic"](TOOLS), Pieces(kept))
        assert [called for called, _ in calls_of(chunks)] == [name]
        assert len(broken_of(chunks)) == 1


async def test_a_stop_without_its_index_is_that_of_the_one_open_block() -> None:
    def block(number: int, **labels: int) -> list[bytes]:
        tool: dict[str, Any] = {"type": "tool_use", "id": f"t{number}", "name": NAMES[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": f'{{"n":{number}}}'}
        return [
            anthropic_event("content_block_start", content_block=tool, **labels),
            anthropic_event("content_block_delta", delta=delta, **labels),
            anthropic_event("content_block_stop"),
        ]

    wanted = [(NAMES[0], '{"n":0}'), (NAMES[0], '{"n":1}')]
    labelled = [anthropic_start(), *block(0, index=0), *block(1, index=1), *anthropic_end("tool_use")]
    assert calls_of(await read_body(DECODERS["anthropic"](TOOLS), Pieces(labelled))) == wanted
    bare = [anthropic_start(), *block(0), *block(1), *anthropic_end("tool_use")]
    assert calls_of(await read_body(DECODERS["anthropic"](TOOLS), Pieces(bare))) == wanted
    text = [
        anthropic_event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        anthropic_delta(0, "text_delta", text="Hm."),
    ]
    two_open = [anthropic_start(), *text, *block(1, index=1), *anthropic_end("tool_use")]
    chunks = await read_body(DECODERS["anthropic"](TOOLS), Pieces(two_open))
    assert (calls_of(chunks), len(broken_of(chunks)), text_of(chunks)) == ([], 1, "Hm.")


async def test_a_call_that_only_the_last_event_lists_has_its_end_there_on_responses() -> None:
    item = {"type": "function_call", "id": "f", "call_id": "c", "name": NAMES[0], "arguments": ""}
    begun = [
        responses_event("response.output_item.added", output_index=0, item=item),
        responses_event("response.function_call_arguments.delta", output_index=0, item_id="f", delta="{}"),
    ]
    whole = {"status": "completed", "output": [{**item, "arguments": "{}"}]}
    listed = responses_event("response.completed", response=whole)
    chunks = await read_body(DECODERS["openai-responses"](TOOLS), Pieces([*begun, listed]))
    assert [(end.arguments, end.must_ask) for end in chunks if isinstance(end, CallClosed)] == [("{}", "")]


async def test_arguments_of_a_block_that_was_never_begun_are_told() -> None:
    events = Answer(Call(NAMES[0], '{"a":1}'), Call(NAMES[1], '{"b":2}')).events("anthropic")
    kept = [e for e in events if "content_block_start" not in str(e) or data_of(e)["index"] == 0]
    chunks = await read_body(DECODERS["anthropic"](TOOLS), Pieces(kept))
    assert calls_of(chunks) == [(NAMES[0], '{"a":1}')]
    assert notices_of(chunks) == [NEVER_BEGUN]


async def test_a_finish_for_calls_with_one_cut_short_runs_only_the_other() -> None:
    def call(index: int, text: str) -> bytes:
        made = {"index": index, "id": f"c{index}", "function": {"name": NAMES[index], "arguments": text}}
        return chat_chunk({"tool_calls": [made]})

    events = [call(0, '{"path":"/tm'), call(1, '{"b":2}'), chat_chunk({}, "tool_calls"), DONE]
    chunks = await read_body(DECODERS["openai-chat"](TOOLS), Pieces(events))
    assert calls_of(chunks) == [(NAMES[1], '{"b":2}')]
    assert len(broken_of(chunks)) == 1
