"""Odd endpoints of Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.providers.odd_endpoints import BOTH, FIRST, NONE, TOOL, Odd, arguments, stream
from tests.wire_bytes import DONE, PING, Answer, Text, anthropic_start, split, sse
from tests.wire_server import Cut, Reply, Scripted

Event = dict[str, Any]
START = anthropic_start()
CUT = "cut off by "


def ends(reason: Any = "tool_use") -> list[Event]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]


def block(index: int, kind: str, **fields: Any) -> list[Event]:
    """A block that comes whole with its beginning."""
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}},
        {"type": "content_block_stop", "index": index},
    ]


def events_of(turn: int, call: int) -> list[Event]:
    """All events of a call."""
    start, stop = block(call, "tool_use", id=f"toolu_{turn}_{call}", name=TOOL, input={})
    deltas = [
        {"type": "content_block_delta", "index": call, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in split(arguments(turn, call), 5)
    ]
    return [start, *deltas, stop]


def written(events: Iterable[Event]) -> list[bytes]:
    return [sse(event, str(event.get("type", ""))) for event in events]


def two(change: Callable[[int, int], Sequence[Event]] = events_of, *, start: Sequence[Event] = (),
        end: Sequence[Event] = tuple(ends()), first: bytes = START) -> Callable[[int], Reply]:  # fmt: skip
    """An answer of two calls, each as `change` gives its events."""
    return lambda turn: stream(first, *written([*start, *change(turn, 0), *change(turn, 1), *end]))


def each(change: Callable[[Event], Event | None]) -> Callable[[int], Reply]:
    """Two calls with every event of theirs changed; None leaves it out."""
    return two(lambda turn, call: [new for event in events_of(turn, call) if (new := change(dict(event))) is not None])


def with_block(**fields: Any) -> Callable[[int], Reply]:
    return each(lambda event: {**event, "content_block": {**event["content_block"], **fields}}
                if "content_block" in event else event)  # fmt: skip


def with_id(id: Callable[[int, int], Any]) -> Callable[[int], Reply]:
    def change(turn: int, call: int) -> list[Event]:
        start, *rest = events_of(turn, call)
        return [{**start, "content_block": {**start["content_block"], "id": id(turn, call)}}, *rest]

    return two(change)


def with_input(given: Callable[[int, int], Any], *, pieces: bool = False) -> Callable[[int], Reply]:
    def change(turn: int, call: int) -> list[Event]:
        start, *rest = events_of(turn, call)
        begun = {**start, "content_block": {**start["content_block"], "input": given(turn, call)}}
        return [begun, *(rest if pieces else rest[-1:])]

    return two(change)


def whole(turn: int, call: int) -> Any:
    return json.loads(arguments(turn, call))


def with_pieces(pieces: Callable[[str], Sequence[str]]) -> Callable[[int], Reply]:
    def change(turn: int, call: int) -> list[Event]:
        start, *_, stop = events_of(turn, call)
        deltas = [{"type": "content_block_delta", "index": call, "delta": {"type": "input_json_delta",
            "partial_json": one}}
                  for one in pieces(arguments(turn, call))]  # fmt: skip
        return [start, *deltas, stop]

    return two(change)


def half(*end: Event) -> Callable[[int], Reply]:
    """The second call lacks its last piece and its stop."""
    return lambda turn: stream(START, *written([*events_of(turn, 0), *events_of(turn, 1)[:-2], *end]))


def before(*events: Event) -> Callable[[int], Reply]:
    """Blocks before the calls, whose indexes are behind them."""
    return two(lambda turn, call: [{**event, "index": call + 5} for event in events_of(turn, call)], start=events)


def around(*between: Event) -> Callable[[int], Reply]:
    return two(lambda turn, call: [one for event in events_of(turn, call) for one in (event, *between)])


def in_turns(turn: int) -> Reply:
    pairs = zip(events_of(turn, 0), events_of(turn, 1), strict=True)
    return stream(START, *written([*(one for pair in pairs for one in pair), *ends()]))


def bare(turn: int) -> Reply:
    """Without the lines that name the events."""
    return stream(START, *(sse(one) for one in [*events_of(turn, 0), *events_of(turn, 1), *ends()]))


def only_named(turn: int) -> Reply:
    """Without the types in the data."""
    events = [*events_of(turn, 0), *events_of(turn, 1), *ends()]
    return stream(START, *(sse({k: v for k, v in one.items() if k != "type"}, one["type"]) for one in events))


def message(turn: int, reason: Any = "tool_use", **changed: Any) -> Event:
    """The whole message as one JSON object."""
    content = [{"type": "tool_use", "id": f"toolu_{turn}_{n}", "name": TOOL, "input": whole(turn, n)} for n in (0, 1)]
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": reason} | changed


def says(*events: Event) -> Callable[[int], Scripted]:
    return lambda _: stream(START, *written(events))


def thinking(signature: str | None = "c2ln") -> list[Event]:
    start, stop = block(0, "thinking", thinking="")
    deltas: list[Event] = [{"type": "thinking_delta", "thinking": "First this."}]
    if signature is not None:
        deltas.append({"type": "signature_delta", "signature": signature})
    return [start, *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas), stop]


def sent_blocks(body: Event) -> list[Event]:
    return [block for said in body["messages"] for block in said["content"]]


def sign(body: Event) -> None:
    """Takes thoughts without a signature for signed ones."""
    for sent in sent_blocks(body):
        if sent["type"] == "thinking":
            sent["signature"] = "c2ln"


def any_ids(body: Event) -> None:
    """Takes an endpoint's own ids for legal ones."""
    for sent in sent_blocks(body):
        for name in {"id", "tool_use_id"} & set(sent):
            sent[name] = str(sent[name]).encode().hex()


ERROR = {"type": "error", "error": {"type": "api_error", "message": "upstream died"}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

ANTHROPIC = [
    Odd("in turns", in_turns),
    Odd("no names of events", bare),
    Odd("no types of events", only_named),
    # -- labels
    Odd("no stops: asks", each(lambda event: None if event["type"] == "content_block_stop" else event)),
    Odd("no stop of the second", lambda turn: stream(START, *written([
        *events_of(turn, 0), *events_of(turn, 1)[:-1], *ends()])), runs=FIRST, told="never sent the end"),
    Odd("stops twice", two(lambda turn, call: [*events_of(turn, call), events_of(turn, call)[-1]])),
    Odd("stops at the end", lambda turn: stream(START, *written([
        *events_of(turn, 0)[:-1], *events_of(turn, 1)[:-1], events_of(turn, 0)[-1], events_of(turn, 1)[-1], *ends()]))),
    Odd("an index of 0 for both", each(lambda event: {**event, "index": 0})),
    Odd("no index", each(lambda event: {key: value for key, value in event.items() if key != "index"})),
    Odd("an index as text", each(lambda event: {**event, "index": str(event["index"])})),
    Odd("an index that begins with 4", each(lambda event: {**event, "index": event["index"] + 4})),
    Odd("the same index for the text before", before(*block(5, "text", text="Hm."))),
    Odd("the same id for both", with_block(id="toolu")),
    Odd("ids that begin anew", with_id(lambda turn, call: f"call_{call}")),
    Odd("empty ids", with_block(id="")),
    Odd("ids of null", with_block(id=None)),
    Odd("numbers for ids", with_id(lambda turn, call: call)),
    Odd("ids with other characters", with_id(lambda turn, call: f"functions.{TOOL}:{turn}:{call}"), mend=any_ids),
    Odd("ids of 300 characters", with_id(lambda turn, call: f"{turn}{call}" * 150)),
    # -- arguments
    Odd("the input with the beginning", with_input(whole)),
    Odd("the input with the beginning, and in pieces", with_input(whole, pieces=True)),
    Odd("the input as text", with_input(arguments)),
    Odd("the input as text, and in pieces", with_input(arguments, pieces=True)),
    Odd("an input of null", with_block(input=None)),
    Odd("an input of blank text", with_block(input="")),
    Odd("an input that is a list", with_block(input=[])),
    Odd("one piece", with_pieces(lambda text: [text])),
    Odd("empty pieces", with_pieces(lambda text: ["", text, ""])),
    Odd("an empty object, then pieces", with_pieces(lambda text: ["{}", text]), runs=NONE),
    Odd("pieces that grow", with_pieces(lambda text: [text[:4], text[:8], text]), runs=NONE),
    Odd("arguments twice", with_pieces(lambda text: [text, text]), runs=NONE),
    Odd("arguments encoded twice", with_pieces(lambda text: [json.dumps(text)])),
    Odd("pieces that are objects", each(lambda event: {**event, "delta": {
        "type": "input_json_delta", "partial_json": {"n": "x"}}} if "delta" in event else event), runs=NONE),
    # -- names
    Odd("a tool that isn't there", with_block(name="no such\x1b[2J tool"), runs=NONE),
    Odd("no name", with_block(name=None), runs=NONE),
    Odd("functions. before the name", with_block(name=f"functions.{TOOL}")),
    # -- ends
    *(Odd(f"the stop reason {reason}", two(end=ends(reason))) for reason in ("end_turn", "stop", "tool_calls")),
    # What a stopped block holds is whole, whatever the message's end.
    *(Odd(f"the stop reason {reason!r}", two(end=ends(reason)))
      for reason in ("max_tokens", "model_context_window_exceeded", "refusal", "what\x1b[2J")),
    Odd("a stop reason of null", two(end=ends(None))),
    Odd("a stop reason that is no text", two(end=ends({"type": "tool_use"}))),
    Odd("no message_stop", two(end=ends()[:1])),
    Odd("no message_delta", two(end=ends()[1:])),
    Odd("no end", two(end=())),
    Odd("an end mark of another format", lambda turn: stream(*two()(turn).parts, DONE)),
    Odd("an end mark of another format alone", lambda turn: stream(*two(end=())(turn).parts, DONE)),
    Odd("words behind the end", lambda turn: stream(*two()(turn).parts, b"data: not JSON\n\n")),
    Odd("the end before the stops", lambda turn: stream(START, *written([
        *events_of(turn, 0)[:-1], *events_of(turn, 1)[:-1], ends()[0], events_of(turn, 0)[-1],
        events_of(turn, 1)[-1], ends()[1]]))),
    Odd("the end before the last stop, and no more", lambda turn: stream(START, *written([
        *events_of(turn, 0), *events_of(turn, 1)[:-1], ends()[0]])), runs=FIRST, told="never sent the end"),
    Odd("a call behind the end", lambda turn: stream(START, *written([
        *events_of(turn, 0), *ends(), *events_of(turn, 1)])), runs=FIRST),
    Odd("a call between the two ends", lambda turn: stream(START, *written([
        *events_of(turn, 0), ends()[0], *events_of(turn, 1), ends()[1]])), runs=BOTH),
    # -- beside the calls
    Odd("no message_start", two(first=PING)),
    Odd("a start of null", two(first=sse({"type": "message_start", "message": None}, "message_start"))),
    Odd("pings and what isn't known", around({"type": "ping"}, {"type": "news\x1b", "x": 1},
        {"type": "content_block_delta"})),
    Odd("deltas of no block", around({"type": "content_block_delta", "index": 99, "delta": {"type": "text_delta",
        "text": "x"}},
        {"type": "content_block_delta", "index": 98, "delta": None})),
    Odd("blank text before", before(*block(0, "text", text="\n\n"))),
    Odd("empty text before", before(*block(0, "text", text=""))),
    Odd("text behind", two(end=[*block(7, "text", text="There."), *ends()])),
    Odd("blank text behind", two(end=[*block(7, "text", text=" "), *ends()])),
    Odd("signed thinking", before(*thinking())),
    Odd("thinking without a signature", before(*thinking(None)), mend=sign),
    Odd("thinking with an empty signature", before(*thinking("")), mend=sign),
    Odd("thinking behind the calls", two(end=[*({**one, "index": 7} for one in thinking()), *ends()])),
    Odd("redacted thinking", before(*block(0, "redacted_thinking", data="c2ln"))),
    Odd("a search of its own, with its result", before(
        *block(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"}),
        *block(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[]))),
    Odd("a search of its own, without a result", before(
        *block(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"}))),
    Odd("a result of its own, without a call", before(
        *block(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[]))),
    Odd("one JSON object", lambda turn: Reply.json(message(turn))),
    Odd("one JSON object without a reason", lambda turn: Reply.json(message(turn, None))),
    Odd("one JSON object that was cut", lambda turn: stream(json.dumps(message(turn)).encode()[:-30]),
        runs=NONE, goes_well=False),
    # -- answers in words
    Odd("nothing said to the results", two(), said=says(*ends("end_turn")), goes_well=False, told="empty"),
    Odd("blanks said to the results", two(), said=says(*block(0, "text", text=" \n"), *ends("end_turn")),
        goes_well=False, told="empty"),
    Odd("thoughts alone", two(), said=says(*thinking(), *ends("end_turn")), goes_well=False, told="empty"),
    Odd("text whole with its beginning", two(), said=says(*block(0, "text", text="Done."), *ends("end_turn"))),
    # -- broken off
    Odd("the connection is closed", lambda turn: stream(*half()(turn).parts, Cut()), runs=FIRST, told=CUT),
    Odd("the connection is reset", lambda turn: stream(*half()(turn).parts, Cut("reset")), runs=FIRST, told=CUT),
    Odd("the stream ends early", half(), runs=FIRST, told=CUT),
    Odd("the token limit", half(*ends("max_tokens")), runs=FIRST, told=CUT),
    Odd("the token limit, with a stop", half({"type": "content_block_stop", "index": 1}, *ends("max_tokens")),
        runs=FIRST, told=CUT),
    Odd("half a call at a normal end", half({"type": "content_block_stop", "index": 1}, *ends()), runs=FIRST,
        told="not valid JSON"),
    Odd("an error", half(ERROR), runs=FIRST, told=CUT),
    Odd("an overload in the middle", half(OVERLOADED), runs=FIRST, told=CUT),
    Odd("an error of another format", lambda turn: stream(*half()(turn).parts, sse({"error": {"message": "died"}})),
        runs=FIRST, told=CUT),
    Odd("an error in words", lambda turn: stream(*half()(turn).parts, sse("upstream died", "error")), runs=FIRST,
        told=CUT),
    # -- refusals
    Odd("overloaded once", two(), before=[Reply.json(OVERLOADED, 529)]),
    Odd("overloaded in the stream once", two(), before=[stream(sse(OVERLOADED, "error"))]),
    Odd("an error with status 200", lambda _: Reply.json(ERROR), runs=NONE, goes_well=False, told="upstream died"),
    Odd("chat chunks", lambda _: Reply(Answer(Text("Hi.")).events("openai-chat")), runs=NONE, goes_well=False),
    Odd("nothing", lambda _: stream(), runs=NONE, goes_well=False),
    Odd("only a beginning", lambda _: stream(START), runs=NONE, goes_well=False),
    Odd("words in place of calls", lambda _: Answer(Text("No calls.")), runs=NONE),
]  # fmt: skip
