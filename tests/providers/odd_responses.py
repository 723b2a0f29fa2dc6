"""Odd endpoints of OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.providers.odd_endpoints import BOTH, FIRST, NONE, TOOL, Odd, arguments, stream
from tests.wire_bytes import DONE, Answer, Text, responses_event, split, sse
from tests.wire_server import Cut, Reply, Scripted

Event = dict[str, Any]
Change = Callable[[Event], Event | None]
CREATED: Event = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}
COMPLETED: Event = {"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}
CUT = "cut off by "


def item_of(turn: int, call: int, text: str | None = None) -> Event:
    """The item of a call, whole."""
    written = arguments(turn, call) if text is None else text
    ids = {"id": f"fc_{turn}_{call}", "call_id": f"call_{turn}_{call}"}
    return {"type": "function_call", **ids, "name": TOOL, "arguments": written, "status": "completed"}


def events_of(turn: int, call: int) -> list[Event]:
    """All events of a call."""
    item, kind = item_of(turn, call), "response.function_call_arguments"
    where = {"item_id": item["id"], "output_index": call}
    begun = {**item, "arguments": "", "status": "in_progress"}
    return [
        {"type": "response.output_item.added", "output_index": call, "item": begun},
        *({"type": f"{kind}.delta", **where, "delta": piece} for piece in split(item["arguments"], 5)),
        {"type": f"{kind}.done", **where, "arguments": item["arguments"]},
        {"type": "response.output_item.done", "output_index": call, "item": item},
    ]


def written(events: Iterable[Event]) -> list[bytes]:
    return [sse(event, str(event.get("type", ""))) for event in events]


def two(change: Callable[[int, int], Sequence[Event]] = events_of, *, start: Sequence[Event] = (CREATED,),
        end: Sequence[Event] = (COMPLETED,)) -> Callable[[int], Reply]:  # fmt: skip
    """An answer of two calls, each as `change` gives its events."""
    return lambda turn: stream(*written([*start, *change(turn, 0), *change(turn, 1), *end]))


def each(change: Change) -> Callable[[int], Reply]:
    """Two calls with every event of theirs changed; None leaves it out."""
    return two(lambda turn, call: [new for event in events_of(turn, call) if (new := change(dict(event))) is not None])


def without(*kinds: str) -> Callable[[int], Reply]:
    return each(lambda event: None if str(event["type"]).endswith(kinds) else event)


def unlabelled(*names: str) -> Callable[[int], Reply]:
    """Events, and the items in them, without some fields."""

    def change(event: Event) -> Event:
        event = {key: value for key, value in event.items() if key not in names}
        if "item" in event:
            event["item"] = {key: value for key, value in event["item"].items() if key not in names}
        return event

    return each(change)


def with_item(**fields: Any) -> Callable[[int], Reply]:
    return each(lambda event: {**event, "item": {**event["item"], **fields}} if "item" in event else event)


def with_event(**fields: Any) -> Callable[[int], Reply]:
    return each(lambda event: {**event, **{name: value for name, value in fields.items() if name in event}})


def ids_per_event(turn: int, call: int) -> list[Event]:
    """As GitHub's proxy does: another item id in every event."""
    events = events_of(turn, call)
    for number, event in enumerate(events):
        if "item" in event:
            event["item"] = {**event["item"], "id": f"x{turn}{call}{number}"}
        else:
            event["item_id"] = f"x{turn}{call}{number}"
    return events


def listed(turn: int, status: str = "completed", **fields: Any) -> Event:
    """The last event with the whole output."""
    output = [item_of(turn, 0), item_of(turn, 1)]
    return {"type": "response.completed", "response": {"status": status, "output": output, **fields}}


def half(*end: Event) -> Callable[[int], Reply]:
    """The second call lacks its last piece and its end."""
    return lambda turn: stream(*written([CREATED, *events_of(turn, 0), *events_of(turn, 1)[:-3], *end]))


def around(*start: Event, between: Sequence[Event] = ()) -> Callable[[int], Reply]:
    return two(lambda turn, call: [one for event in events_of(turn, call) for one in (event, *between)], start=start)


def done(item: Event, index: int = 7) -> Event:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def says(*events: Event) -> Callable[[int], Scripted]:
    return lambda _: stream(*written([CREATED, *events]))


def incomplete(reason: str) -> Event:
    response = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    return {"type": "response.incomplete", "response": response}


def bare(turn: int) -> Reply:
    """Without the lines that name the events."""
    return stream(*(sse(event) for event in [CREATED, *events_of(turn, 0), *events_of(turn, 1), COMPLETED]))


def only_named(turn: int) -> Reply:
    """Without the types in the data."""
    events = [CREATED, *events_of(turn, 0), *events_of(turn, 1), COMPLETED]
    return stream(*(sse({k: v for k, v in one.items() if k != "type"}, one["type"]) for one in events))


def in_turns(turn: int) -> Reply:
    pairs = zip(events_of(turn, 0), events_of(turn, 1), strict=True)
    return stream(*written([CREATED, *(one for pair in pairs for one in pair), COMPLETED]))


def shorten(body: Event) -> None:
    """Takes an endpoint's long ids for short ones."""
    for item in body["input"]:
        if "call_id" in item:
            item["call_id"] = item["call_id"][:64]


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "First this."}]}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
ERROR = {"code": "server_error", "message": "upstream died"}
FAILED: Event = {"type": "response.failed", "response": {"status": "failed", "error": ERROR}}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]}

RESPONSES = [
    Odd("in turns", in_turns),
    Odd("no names of events", bare),
    Odd("no types of events", only_named),
    # -- labels
    Odd("another item id in every event", two(ids_per_event)),
    Odd("no item ids", unlabelled("item_id", "id")),
    Odd("no places", unlabelled("output_index")),
    Odd("one place for both", with_event(output_index=0)),
    Odd("places that begin with 3", two(lambda turn, call: [
        {**event, "output_index": call + 3} for event in events_of(turn, call)])),
    Odd("no labels at all, one call after the other", unlabelled("item_id", "id", "output_index")),
    Odd("no call ids", unlabelled("call_id")),
    Odd("empty call ids", with_item(call_id="")),
    Odd("the same call id for both", with_item(call_id="call")),
    Odd("call ids that begin anew", two(lambda turn, call: [
        {**event, "item": {**event["item"], "call_id": f"call_{call}"}} if "item" in event else event
        for event in events_of(turn, call)])),
    Odd("call ids of 200 characters", two(lambda turn, call: [
        {**event, "item": {**event["item"], "call_id": f"{turn}{call}" * 100}} if "item" in event else event
        for event in events_of(turn, call)]), mend=shorten),
    Odd("numbers for ids", with_item(call_id=5, id=6)),
    Odd("one item id for both", each(lambda event: {**event, "item": {**event["item"], "id": "fc"}} if "item" in event
        else {**event, "item_id": "fc"})),
    # -- arguments
    Odd("no pieces", without(".delta")),
    Odd("no end of the arguments", without("arguments.done")),
    Odd("no end of the items", without("output_item.done")),
    Odd("no ends: asks", without("output_item.done", "arguments.done")),
    Odd("no end of the second", lambda turn: stream(*written([
        CREATED, *events_of(turn, 0), *events_of(turn, 1)[:-2], COMPLETED])), runs=FIRST, told="never sent the end"),
    Odd("only the ends of the items", without("added", "arguments.done", ".delta")),
    Odd("no beginnings", without("added")),
    Odd("only the last event", lambda turn: stream(*written([listed(turn)]))),
    Odd("all again in the last event", lambda turn: stream(
        *written([CREATED, *events_of(turn, 0), *events_of(turn, 1), listed(turn)]))),
    Odd("all again in the last event, under other ids", lambda turn: stream(*written([
        CREATED, *events_of(turn, 0), *events_of(turn, 1),
        listed(turn, output=[{**item_of(turn, n), "id": f"other_{n}"} for n in (0, 1)])]))),
    Odd("all again in the last event, the other way round", lambda turn: stream(*written([
        CREATED, *events_of(turn, 0), *events_of(turn, 1), listed(turn, output=[item_of(turn, 1), item_of(turn,
            0)])]))),
    Odd("the arguments with the beginning", two(lambda turn, call: [
        {**events_of(turn, call)[0], "item": item_of(turn, call)}, *events_of(turn, call)[-2:]])),
    Odd("the arguments with the beginning, and in pieces", two(lambda turn, call: [
        {**events_of(turn, call)[0], "item": item_of(turn, call)}, *events_of(turn, call)[1:]])),
    Odd("an empty object with the beginning", two(lambda turn, call: [
        {**events_of(turn, call)[0], "item": item_of(turn, call, "{}")}, *events_of(turn, call)[1:]])),
    Odd("pieces that lack some, and a whole end", two(lambda turn, call: [
        events_of(turn, call)[0], events_of(turn, call)[1], *events_of(turn, call)[-2:]])),
    Odd("an empty end behind pieces", with_event(arguments="")),
    Odd("arguments as objects", each(lambda event: {**event, "item": {**event["item"], "arguments": json.loads(
        event["item"]["arguments"] or "{}")}} if "item" in event else None)),
    Odd("arguments of null", each(lambda event: {**event, "item": {**event["item"], "arguments": None}}
        if event["type"].endswith("added") else event)),
    Odd("pieces that are no text", two(lambda turn, call: [
        events_of(turn, call)[0], {**events_of(turn, call)[1], "delta": 5}, *events_of(turn, call)[-2:]])),
    Odd("ends twice", two(lambda turn, call: [*events_of(turn, call), *events_of(turn, call)[-2:]])),
    Odd("everything twice", two(lambda turn, call: [one for event in events_of(turn, call) for one in (event, event)]),
        runs=BOTH),
    # -- names
    Odd("the name only with the end", each(lambda event: {**event, "item": {**event["item"], "name": ""}}
        if event["type"].endswith("added") else event)),
    Odd("no name", unlabelled("name"), runs=NONE),
    Odd("functions. before the name", with_item(name=f"functions.{TOOL}")),
    Odd("a tool that isn't there", with_item(name="no such tool\x1b[2J"), runs=NONE),
    # -- ends
    Odd("response.done", two(end=[{**COMPLETED, "type": "response.done"}])),
    Odd("no status", two(end=[{"type": "response.completed", "response": {"output": []}}])),
    Odd("no response in the end", two(end=[{"type": "response.completed"}])),
    Odd("an output of null", two(end=[{"type": "response.completed", "response": {"status": "completed",
        "output": None}}])),
    Odd("an end mark behind", lambda turn: stream(*two()(turn).parts, DONE)),
    Odd("an end mark alone", lambda turn: stream(*two(end=())(turn).parts, DONE)),
    Odd("no end at all", two(end=())),
    Odd("a status that isn't known", two(end=[{**COMPLETED, "response": {"status": "what\x1b[2J"}}])),
    Odd("a status of no text", two(end=[{**COMPLETED, "response": {"status": 5}}])),
    Odd("words behind the end", lambda turn: stream(*two()(turn).parts, b"data: not JSON\n\n")),
    Odd("a call behind the end", lambda turn: stream(
        *written([*events_of(turn, 0), COMPLETED, *events_of(turn, 1)])), runs=FIRST),
    Odd("usage of nonsense", two(end=[{**COMPLETED, "response": {"status": "completed",
        "usage": {"input_tokens": "x"}}}])),
    # -- beside the calls
    Odd("nothing before", two(start=())),
    Odd("events that aren't known", around({"type": "response.queued"}, {"type": "keepalive", "x": 1},
        between=[{"type": "response.heartbeat"}, {}])),
    Odd("reasoning that is encrypted", around(CREATED, done({**REASONING, "encrypted_content": "x"}, 0))),
    Odd("reasoning that is kept elsewhere", around(CREATED, done(REASONING, 0))),
    Odd("reasoning in words", around(CREATED, done({**REASONING, "content": [{"type": "reasoning_text",
        "text": "x"}]}, 0))),
    Odd("reasoning behind the calls", two(end=[done({**REASONING, "encrypted_content": "x"}), COMPLETED])),
    Odd("a search of its own", around(CREATED, done(SEARCH, 0))),
    Odd("a search without status or action", around(CREATED, done({"type": "web_search_call", "id": "ws_1"}, 0)),
        mend=lambda body: body.update(input=[one for one in body["input"] if one.get("type") != "web_search_call"])),
    Odd("an item that isn't known", around(CREATED, done({"type": "hologram\x1b[2J", "id": "h_1"}, 0)),
        mend=lambda body: body.update(input=[one for one in body["input"] if "hologram" not in one.get("type", "")])),
    Odd("items that are no objects", around(CREATED, {"type": "response.output_item.done", "item": None},
        {"type": "response.output_item.added", "item": [1]})),
    Odd("text before the calls", around(CREATED, done(MESSAGE, 5))),
    Odd("blank text before the calls", around(CREATED, done({**MESSAGE, "content": [{"type": "output_text",
        "text": " \n"}]}, 5))),
    Odd("a message without content", around(CREATED, done({**MESSAGE, "content": None}, 5))),
    Odd("one JSON object", lambda turn: Reply.json(listed(turn)["response"])),
    Odd("one JSON object that was cut", lambda turn: stream(json.dumps(listed(turn)["response"]).encode()[:-30]),
        runs=NONE, goes_well=False),
    # -- answers in words
    Odd("nothing said to the results", two(), said=says(COMPLETED), goes_well=False, told="empty"),
    Odd("only ends of text", two(), said=says(
        {"type": "response.output_text.done", "item_id": "m", "output_index": 0, "content_index": 0, "text": "Hi."},
            COMPLETED)),
    Odd("text only in the last event", two(),
        said=says({"type": "response.completed", "response": {"output": [MESSAGE]}})),
    Odd("a refusal in words", two(),
        said=says(done({**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]}), COMPLETED)),
    Odd("thoughts alone", two(), said=says(done({**REASONING, "encrypted_content": "x"}), COMPLETED),
        goes_well=False, told="empty"),
    # -- broken off
    Odd("the connection is closed", lambda turn: stream(*half()(turn).parts, Cut()), runs=FIRST, told=CUT),
    Odd("the connection is reset", lambda turn: stream(*half()(turn).parts, Cut("reset")), runs=FIRST, told=CUT),
    Odd("the stream ends early", half(), runs=FIRST, told=CUT),
    Odd("the token limit", half(incomplete("max_output_tokens")), runs=FIRST, told=CUT),
    Odd("a filter", half(incomplete("content_filter")), runs=FIRST, told=CUT),
    Odd("half a call at a normal end", half(COMPLETED), runs=FIRST, told="never sent the end"),
    Odd("half a call, whole in the last event", lambda turn: stream(*half(listed(turn))(turn).parts)),
    Odd("half a call, listed as incomplete", lambda turn: stream(*half({
        **incomplete("max_output_tokens"), "response": {**incomplete("max_output_tokens")["response"], "output": [
            item_of(turn, 0), {**item_of(turn, 1, '{"n": "'), "status": "incomplete"}]}})(turn).parts),
            runs=FIRST, told=CUT),
    Odd("a failed response", half(FAILED), runs=FIRST, told=CUT),
    Odd("an error event", half({"type": "error", **ERROR}), runs=FIRST, told=CUT),
    Odd("an error without a name", lambda turn: stream(*half()(turn).parts, sse({"error": ERROR})), runs=FIRST,
        told=CUT),
    Odd("cancelled", half({**COMPLETED, "response": {"status": "cancelled"}}), runs=FIRST, told=CUT),
    # -- refusals
    Odd("overloaded once", two(), before=[Reply.json({"error": ERROR}, 503)]),
    Odd("include refused", two(), before=[Reply.json({"error": {"message": "Unknown parameter: 'include'."}}, 400)]),
    Odd("an error with status 200", lambda _: Reply.json({"error": ERROR}), runs=NONE, goes_well=False,
        told="upstream died"),
    Odd("a failed response as JSON", lambda _: Reply.json({"status": "failed", "error": ERROR, "output": []}),
        runs=NONE, goes_well=False, told="upstream died"),
    Odd("chat chunks", lambda _: Reply(Answer(Text("Hi.")).events("openai-chat")), runs=NONE, goes_well=False),
    Odd("nothing", lambda _: stream(), runs=NONE, goes_well=False),
    Odd("only a beginning", lambda _: stream(responses_event("response.created")), runs=NONE, goes_well=False),
    Odd("words in place of calls", lambda _: Answer(Text("No calls.")), runs=NONE),
]  # fmt: skip
