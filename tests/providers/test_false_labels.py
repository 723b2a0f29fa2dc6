"""No call runs without arguments that its answer holds, whatever an endpoint does to the labels of the fragments.

Labels are lost, shifted, swapped, repeated and invented, on each wire, for names, pieces or both, in any pieces of
bytes. With true labels exactly the calls run that were written, and one call alone runs without any label.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import CallClosed, Chunk
from console_app.providers.stream.calls_in_pieces import PAIRED
from tests.each import each
from tests.examples import examples
from tests.providers.reading import TOOLS, assert_well_formed, broken_of, calls_of
from tests.providers.test_any_split import DECODERS, Pieces
from tests.providers.test_half_read_calls import read_body
from tests.wire_bytes import APIS, DONE, Answer, Api, Call, anthropic_end, chat_chunk, sse

NAME = "demo_fail"
LABELS = frozenset({"index", "id", "item_id", "output_index"})
Event = dict[str, Any]
Change = Callable[[Any], Any]


def written(call: int, keys: int) -> str:
    """Arguments in letters that no other call has."""
    return json.dumps({"abcd"[call] * (n + 1): call for n in range(keys)}) if keys else ""


def events_of(api: Api, arguments: list[str], size: int, *, ends: bool) -> tuple[list[Event], list[bytes]]:
    """Return the events of the calls, as JSON, and the end of the answer. With `ends` the end of a call repeats it."""
    answer = Answer(*(Call(NAME, text, f"call_{n}", size) for n, text in enumerate(arguments)))
    events = [json.loads(e.partition(b"data: ")[2]) for e in answer.events(api) if b"[DONE]" not in e]
    if api == "openai-chat":
        return [e for e in events if e["choices"] and e["choices"][0]["delta"].get("tool_calls")], [
            chat_chunk({}, "tool_calls"),
            DONE,
        ]
    if api == "anthropic":
        return [e for e in events if e["type"].startswith("content_block")], anthropic_end("tool_use")
    calls = [e for e in events if "output_index" in e]
    for event in calls if not ends else ():
        if event["type"].endswith("done"):
            event.get("item", event).pop("arguments")
    return calls, [sse(events[-1], "response.completed")]


def holder(event: Event) -> Event:
    """The object that has the labels of a fragment."""
    return event["choices"][0]["delta"]["tool_calls"][0] if "choices" in event else event


def is_piece(event: Event) -> bool:
    """Tell whether an event is of arguments alone, and neither begins nor ends a call."""
    if "choices" in event:
        return "name" not in holder(event)["function"]
    return event["type"].endswith("delta")


def text_in(event: Event) -> str:
    """The arguments that an event holds."""
    if "choices" in event:
        return str(holder(event)["function"].get("arguments", ""))
    delta = event.get("delta", "")
    return delta if isinstance(delta, str) else str(delta.get("partial_json", ""))


def numbered(change: Callable[[int], int]) -> Change:
    """Changes the number of a label: of `item_3` and `call_3` as of 3."""

    def changed(label: int | str) -> int | str:
        if isinstance(label, int):
            return change(label)
        kind, _, number = label.rpartition("_")
        return f"{kind}_{change(int(number))}"

    return changed


CHANGES: dict[str, Change] = {
    "lost": lambda label: None,
    "shifted": numbered(lambda number: number + 1),
    "far": numbered(lambda number: number + 7),
    "swapped": numbered(lambda number: number ^ 1),
    "one for all": numbered(lambda number: 0),
    "another kind": lambda label: str(label) if isinstance(label, int) else f"x{label}",
}
INVENTED = [None, *range(-1, 6), "", *(f"{kind}_{n}" for kind in ("item", "call") for n in range(5))]


def relabel(event: Event, change: Change, names: frozenset[str], *, forged: bool = False) -> None:
    """Changes the labels that an event has; `forged` are ids that pieces of Chat Completions don't have by themselves,
    of the call under their index."""
    labels = holder(event)
    if forged and "function" in labels:
        labels.setdefault("id", f"call_{labels.get('index') or 0}")
    for name in sorted(names & set(labels)):
        value = labels[name]
        if isinstance(value, int) or str(value).startswith(("item_", "call_")):
            labels[name] = change(value)


def read(api: Api, events: list[Event], end: list[bytes], piece: int = 100_000) -> list[Chunk]:
    body = b"".join([*(sse(e, e.get("type", "")) for e in events), *end])
    pieces = Pieces([body[at : at + piece] for at in range(0, len(body), piece)])
    chunks = asyncio.run(read_body(DECODERS[api](TOOLS), pieces))
    assert_well_formed(chunks)
    return chunks


@examples(1_000, 80)
@given(
    api=st.sampled_from(APIS),
    keys=st.lists(st.integers(1, 2), min_size=1, max_size=4),
    size=st.sampled_from([3, 100]),
    names=st.sets(st.sampled_from(sorted(LABELS)), min_size=1).map(frozenset),
    which=st.sampled_from(["every piece", "some pieces", "all events"]),
    order=st.sampled_from(["one by one", "names first", "pieces first"]),
    repeats=st.booleans(),
    ends=st.booleans(),
    forged=st.booleans(),
    data=st.data(),
)
def test_no_call_runs_without_arguments_that_its_answer_holds(
    api: Api,
    keys: list[int],
    size: int,
    names: frozenset[str],
    which: str,
    order: str,
    repeats: bool,
    ends: bool,
    forged: bool,
    data: st.DataObject,
) -> None:
    arguments = [written(n, count) for n, count in enumerate(keys)]
    events, end = events_of(api, arguments, size, ends=ends)
    if order != "one by one":
        ends_of = [e for e in events if str(e.get("type")).endswith(("done", "stop"))]
        begins = [e for e in events if not is_piece(e) and e not in ends_of]
        pieces = [e for e in events if is_piece(e)]
        events = [*begins, *pieces, *ends_of] if order == "names first" else [*pieces, *begins, *ends_of]
    hows = data.draw(st.lists(st.sampled_from([*sorted(CHANGES), "invented"]), min_size=1, max_size=3), "how")
    for event in events:
        if which == "all events" or (is_piece(event) and (which == "every piece" or data.draw(st.booleans()))):
            how = data.draw(st.sampled_from(hows)) if len(hows) > 1 else hows[0]
            invented = data.draw(st.sampled_from(INVENTED)) if how == "invented" else None
            relabel(event, CHANGES.get(how, lambda label, to=invented: to), names, forged=forged)
    if repeats:
        events = [one for e in events for one in ([e, e] if data.draw(st.booleans()) else [e])]
    chunks = read(api, events, end, data.draw(st.sampled_from([1, 9, 100_000]), "bytes a piece"))
    ran = calls_of(chunks)
    assert len(ran) <= len(arguments)
    assert not [text for _, text in ran if text.strip() in ("", "null", "{}")], broken_of(chunks)


@examples(200)
@given(
    api=st.sampled_from(APIS),
    keys=st.lists(st.integers(0, 2), min_size=1, max_size=4),
    size=st.sampled_from([1, 3, 100]),
    ends=st.booleans(),
    piece=st.sampled_from([1, 9, 100_000]),
)
def test_with_true_labels_exactly_the_calls_that_were_written_run(
    api: Api, keys: list[int], size: int, ends: bool, piece: int
) -> None:
    arguments = [written(n, count) for n, count in enumerate(keys)]
    chunks = read(api, *events_of(api, arguments, size, ends=ends), piece)
    assert calls_of(chunks) == [(NAME, text) for text in arguments]
    assert not [chunk for chunk in chunks if isinstance(chunk, CallClosed) and chunk.must_ask]


@each("api", APIS)
@each("first", [False, True])
@each("size", [3, 100])
def test_one_call_alone_runs_without_labels(api: Api, first: bool, size: int) -> None:
    text = written(0, 2)
    events, end = events_of(api, [text], size, ends=False)
    for event in events[not first :]:
        relabel(event, CHANGES["lost"], LABELS)
    assert calls_of(read(api, events, end)) == [(NAME, text)]


@each("api", APIS)
def test_a_name_under_one_label_and_its_arguments_under_another_belong_together_and_ask(api: Api) -> None:
    text = written(0, 2)
    events, end = events_of(api, [text], 3, ends=False)
    for event in filter(is_piece, events):
        relabel(event, CHANGES["far"], LABELS)
    chunks = read(api, events, end)
    assert calls_of(chunks) == [(NAME, text)]
    assert [chunk.must_ask for chunk in chunks if isinstance(chunk, CallClosed)] == [PAIRED]


@each("api", APIS)
def test_of_two_streams_without_an_owner_no_call_runs(api: Api) -> None:
    events, end = events_of(api, [written(0, 1), written(1, 1)], 100, ends=False)
    for event in filter(is_piece, events):
        relabel(event, CHANGES["far"], LABELS)
    chunks = read(api, events, end)
    assert calls_of(chunks) == []
    assert len(broken_of(chunks)) >= 2


def test_a_name_that_comes_with_the_last_fragment_is_read() -> None:
    text = written(0, 2)
    functions = [{"arguments": text[:5]}, {"name": NAME, "arguments": text[5:]}]
    pieces = [{"index": 0, "function": function} for function in functions]
    body = [*(chat_chunk({"tool_calls": [piece]}) for piece in pieces), chat_chunk({}, "tool_calls"), DONE]
    assert calls_of(asyncio.run(read_body(DECODERS["openai-chat"](TOOLS), Pieces(body)))) == [(NAME, text)]
