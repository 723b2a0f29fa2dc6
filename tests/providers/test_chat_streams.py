"""Answers of several vendors of the chat format, ended for any reason, in turns, and in any pieces of bytes.

A call runs only if its own end was sent, with its own name, id and arguments, and each other says what it lacked. Then
the next request: at its own endpoint everything goes back as it came, and at any other it is made legal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import CallBroken, CallClosed, CallOpened, Chunk
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig
from console_app.engine.context import normalise
from console_app.providers.formats.openai_chat import OpenAIChatProvider
from console_app.providers.formats.openai_chat_answer import ChatAnswer
from console_app.providers.stream.calls_in_pieces import PAIRED
from tests.examples import examples
from tests.providers import strict_wire
from tests.providers.chat_vendors import VENDORS, Delta, Vendor, Written
from tests.providers.reading import TOOLS, assert_well_formed, finish_of, message_of, text_of
from tests.providers.test_any_split import Pieces
from tests.providers.test_half_read_calls import read_body
from tests.wire_bytes import DONE, chat_chunk, sse

NAMES = [tool.name for tool in TOOLS]
ENDS = {
    "normal": [chat_chunk({}, "tool_calls"), DONE],
    "stop": [chat_chunk({}, "stop"), DONE],
    "no end mark": [chat_chunk({}, "tool_calls")],
    "limit": [chat_chunk({}, "length"), DONE],
    "filter": [chat_chunk({}, "content_filter"), DONE],
    "unknown": [chat_chunk({}, "went_elsewhere"), DONE],
    "no reason": [DONE],
    "error": [chat_chunk({}, "error", error={"code": 502, "message": "upstream"}), DONE],
    "error alone": [sse({"error": {"code": 502, "message": "upstream"}}), DONE],
    "cut": [],
}
NORMAL = {"normal", "stop", "no end mark"}


def arguments(number: int) -> st.SearchStrategy[str]:
    """Make arguments of the call `number` alone, whose values say whose they are."""
    key = "abcd"[number]
    texts = [f'{{"{key}":[]}}', f'{{"{key}":"{key * 5}","{key}{key}":true}}', f'{{ "{key}": {{"{key}": null}} }}']
    return st.sampled_from(texts)


@st.composite
def answers(draw: st.DrawFn, vendor: Vendor) -> list[Written]:
    """Draw one to four calls."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    sizes = st.sampled_from([1, 4, 50])
    return [Written(name, draw(arguments(n)), vendor.id(n, name), draw(sizes)) for n, name in enumerate(names)]


def in_pieces(draw: Any, body: bytes) -> list[bytes]:
    cuts = sorted(draw(st.sets(st.integers(1, max(len(body) - 1, 1)), max_size=8), "cuts"))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def last_message(calls: Sequence[Written], finish: str | None) -> bytes:
    called = [{"id": one.id, "function": {"name": one.name, "arguments": one.arguments}} for one in calls]
    message = {"role": "assistant", "content": "Well.", "tool_calls": called}
    return sse({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


def check_calls(chunks: list[Chunk], sent: Sequence[Written], whole: Sequence[bool]) -> None:
    """`whole` says of each call whether its own end was sent."""
    assert_well_formed(chunks)
    opened = {chunk.index: chunk for chunk in chunks if isinstance(chunk, CallOpened)}
    by_id = {call.id: (call, ended) for call, ended in zip(sent, whole, strict=True)}
    for chunk in chunks:
        if isinstance(chunk, CallClosed):
            call, ended = by_id[opened[chunk.index].id]
            assert ended, (chunk, call)
            assert (opened[chunk.index].name, chunk.arguments) == (call.name, call.arguments)
            assert not chunk.must_ask
        elif isinstance(chunk, CallBroken):
            assert chunk.problem


@examples(400, 40)
@given(vendor=st.sampled_from(VENDORS), how=st.sampled_from(list(ENDS)), data=st.data())
def test_only_a_call_whose_end_was_sent_runs_and_with_its_own_arguments(
    vendor: Vendor, how: str, data: st.DataObject
) -> None:
    calls = data.draw(answers(vendor), "calls")
    deltas: list[tuple[int, Delta]] = [(n, d) for n, call in enumerate(calls) for d in vendor.call(n, call)]
    if data.draw(st.booleans(), "in turns"):
        rows = zip_longest(*(vendor.call(n, call) for n, call in enumerate(calls)))
        deltas = [(n, delta) for row in rows for n, delta in enumerate(row) if delta is not None]
    sent = deltas[: data.draw(st.integers(0, len(deltas)), "sent")] if how not in NORMAL else deltas
    if vendor.in_last_message:
        finish = {"normal": "tool_calls", "no end mark": "stop", "filter": "content_filter"}.get(how)
        events = [last_message(calls, finish), *ENDS[how][-1:]] if how != "stop" else [last_message(calls, "stop")]
        whole = [how in NORMAL or call is not calls[-1] for call in calls]
    else:
        events = [*(chat_chunk(delta) for delta in (*vendor.opening, *(d for _, d in sent))), *ENDS[how]]
        # Behind a whole object, the beginning of the next call is an end as well.
        begun = {n: min(at for at, (m, _) in enumerate(deltas) if m == n) for n in range(len(calls))}
        done = {n: max(at for at, (m, _) in enumerate(deltas) if m == n) for n in range(len(calls))}
        followed = [any(done[n] < begun[m] < len(sent) for m in begun) for n in range(len(calls))]
        whole = [how in NORMAL or after for after in followed]
    body = b"".join(events)
    if data.draw(st.booleans(), "single newlines"):
        body = body.replace(b"\n\n", b"\n")
    chunks = asyncio.run(read_body(ChatAnswer(TOOLS), Pieces(in_pieces(data.draw, body))))
    check_calls(chunks, calls, whole)
    if how in NORMAL:
        assert sum(isinstance(chunk, CallClosed) for chunk in chunks) == len(calls)
    elif how == "cut" and not vendor.in_last_message:
        assert finish_of(chunks) is None


@examples(200)
@given(vendor=st.sampled_from([one for one in VENDORS if not one.in_last_message]), data=st.data())
def test_shuffled_fragments_never_cross(vendor: Vendor, data: st.DataObject) -> None:
    calls = data.draw(answers(vendor), "calls")
    events = [chat_chunk(d) for n, call in enumerate(calls) for d in vendor.call(n, call)]
    events = data.draw(st.permutations([*events, chat_chunk({}, "tool_calls")]), "order")
    chunks = asyncio.run(read_body(ChatAnswer(TOOLS), Pieces([*events, DONE])))
    assert_well_formed(chunks)
    ids = {chunk.index: chunk.id for chunk in chunks if isinstance(chunk, CallOpened)}
    for chunk in chunks:
        # One call and one stream at the finish belong together, and a person is asked.
        if isinstance(chunk, CallClosed) and chunk.must_ask != PAIRED:
            own = "abcd"[[call.id for call in calls].index(ids[chunk.index])]
            assert set(chunk.arguments) & set("abcd") <= {own}, chunk


# -- the next request


def body_for(vendor: Vendor, *messages: Any) -> dict[str, Any]:
    """The request to `vendor` with this history."""
    provider = OpenAIChatProvider(config_of(vendor))
    return provider._body(ModelRequest(normalise(messages), tools=TOOLS))


def config_of(vendor: Vendor) -> ProviderConfig:
    host = vendor.name.replace(" ", "-")
    return ProviderConfig("test", "openai-chat", f"{host}-large", f"https://{host}.example/v1", "k")


def answer_of(vendor: Vendor, calls: Sequence[Written], text: str) -> AssistantMessage:
    """The message that an answer of `vendor` becomes."""
    said = [chat_chunk({"content": text})] if text else []
    events = [chat_chunk(delta) for delta in vendor.opening]
    events += said + [chat_chunk(d) for n, call in enumerate(calls) for d in vendor.call(n, call)]
    if vendor.in_last_message:
        events = [last_message(calls, "tool_calls")]
    answer = ChatAnswer(TOOLS, f"test {config_of(vendor).url}")
    chunks = asyncio.run(read_body(answer, Pieces([*events, chat_chunk({}, "tool_calls"), DONE])))
    assert text_of(chunks) == ("Well." if vendor.in_last_message else text)
    return message_of(chunks, config_of(vendor).identity)


@examples(250, 30)
@given(data=st.data(), text=st.sampled_from(["", "Well."]))
def test_what_an_endpoint_gave_goes_back_as_it_came_and_to_others_legal(data: st.DataObject, text: str) -> None:
    first, second = data.draw(st.sampled_from(VENDORS), "first"), data.draw(st.sampled_from(VENDORS), "second")
    history: list[Any] = []
    given_ids: dict[str, list[str]] = {first.name: [], second.name: []}
    for turn, vendor in enumerate([first, second, first]):
        calls = data.draw(answers(vendor), f"calls {turn}")
        calls = [Written(c.name, c.arguments, vendor.id(n + 4 * turn, c.name)) for n, c in enumerate(calls)]
        message = answer_of(vendor, calls, text)
        history += [UserMessage(content="Go on."), message]
        history += [ToolMessage(tool_call_id=call.id, content="done") for call in message.tool_calls]
        given_ids[vendor.name] += [call.id for call in calls]
    for vendor in (first, second):
        body = body_for(vendor, *history)
        strict_wire.check_chat(body, vendor.rules)
        messages = [one for one in body["messages"] if one["role"] == "assistant"]
        sent = [call["id"] for message in messages for call in message["tool_calls"]]
        assert [id for id in sent if id in given_ids[vendor.name]] == given_ids[vendor.name]
        for own, message in zip((first, second, first), messages, strict=True):
            if own.name != vendor.name:
                continue
            for field, value in vendor.back.items():
                said = (
                    [{"type": "text", "text": text}] if text and isinstance(value, list) and field == "content" else []
                )
                assert message[field] == value + said if said else message[field] == value
            for number, call in enumerate(message["tool_calls"]):
                kept = {key: value for key, value in call.items() if key not in ("id", "type", "function")}
                assert kept == vendor.call_back(number)
        assert body == body_for(vendor, *history)  # each request repeats the last one's words


def test_an_id_that_an_endpoint_gives_twice_is_made_another_the_second_time() -> None:
    vendor = VENDORS[1]
    call = Written(NAMES[0], "{}", "functions.calculator_evaluate:0")
    one = answer_of(vendor, [call], "")
    again = one.model_copy(update={"tool_calls": (one.tool_calls[0].model_copy(update={"id": "call_2_1_0"}),)})
    history = [
        UserMessage(content="Go."),
        one,
        ToolMessage(tool_call_id=one.tool_calls[0].id, content="1"),
        again,
        ToolMessage(tool_call_id="call_2_1_0", content="2"),
    ]
    body = body_for(vendor, *history)
    strict_wire.check_chat(body, vendor.rules)
    assert [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"] == [
        "functions.calculator_evaluate:0",
        "functions.calculator_evaluate:1",
    ]
