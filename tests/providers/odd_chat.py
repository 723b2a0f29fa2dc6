"""Odd endpoints of OpenAI Chat Completions."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from tests.providers.odd_endpoints import FIRST, NONE, TOOL, Odd, arguments, stream
from tests.providers.strict_wire import ChatRules
from tests.wire_bytes import DONE, Answer, Text, chat_call, chat_chunk, chat_usage, split, sse
from tests.wire_server import Cut, Reply, Scripted

ROLE = chat_chunk({"role": "assistant", "content": ""})
END = [chat_chunk({}, "tool_calls"), DONE]
Id = Callable[[int, int], Any]
Shape = Callable[[int, int], Iterable[bytes]]


ANY_ID = ChatRules(id=re.compile(r".+", re.DOTALL), fields=frozenset({"reasoning_content"}))
CUT = "cut off by "


def own_id(turn: int, call: int) -> str:
    return f"call_{turn}_{call}"


def raw(fragment: Any) -> bytes:
    """A chunk with `fragment` as the only one of its calls."""
    return chat_chunk({"tool_calls": [fragment]})


def pieces(turn: int, call: int, *, index: Any = "own", id: Any = "own", name: str = TOOL) -> list[bytes]:
    """A call as OpenAI streams it, but for what is given: None is left out."""
    label: dict[str, Any] = {"index": call if index == "own" else index}
    given = own_id(turn, call) if id == "own" else id
    first = {**label, "id": given, "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{**label, "function": {"arguments": piece}} for piece in split(arguments(turn, call), 5)]
    return [raw({key: value for key, value in one.items() if value is not None}) for one in (first, *rest)]


def whole(turn: int, call: int, **changed: Any) -> dict[str, Any]:
    """A call in one fragment."""
    function = {"name": TOOL, "arguments": arguments(turn, call)}
    return {"index": call, "id": own_id(turn, call), "type": "function", "function": function} | changed


def two(shape: Shape, *, start: Iterable[bytes] = (ROLE,), end: Iterable[bytes] = tuple(END)) -> Callable[[int], Reply]:
    """An answer of two calls, each in the events of `shape`."""
    return lambda turn: stream(*start, *shape(turn, 0), *shape(turn, 1), *end)


def shaped(**how: Any) -> Callable[[int], Reply]:
    """Two calls in pieces, changed as `pieces` takes it."""
    return two(lambda turn, call: pieces(turn, call, **how))


def with_ids(id: Id, **how: Any) -> Callable[[int], Reply]:
    return two(lambda turn, call: pieces(turn, call, id=id(turn, call), **how))


def as_is(shape: Callable[[int, int], Any]) -> Callable[[int], Reply]:
    """Two calls of one fragment each."""
    return two(lambda turn, call: [raw(shape(turn, call))])


def with_arguments(written: Callable[[str], Any]) -> Callable[[int], Reply]:
    return as_is(
        lambda turn, call: whole(turn, call, function={"name": TOOL, "arguments": written(arguments(turn, call))})
    )


def named(name: str) -> Callable[[int], Reply]:
    return shaped(name=name)


def ended(*end: bytes) -> Callable[[int], Reply]:
    return two(pieces, end=end)


def around(*, start: Iterable[bytes] = (ROLE,), between: Iterable[bytes] = ()) -> Callable[[int], Reply]:
    """`start` before two calls, and `between` behind every event of them."""
    return two(lambda turn, call: [part for one in pieces(turn, call) for part in (one, *between)], start=start)


def bytes_changed(change: Callable[[bytes], bytes], **how: Any) -> Callable[[int], Reply]:
    def reply(turn: int) -> Reply:
        body = b"".join(part for part in shaped()(turn).parts if isinstance(part, bytes))
        return stream(change(body), **how)

    return reply


def body(turn: int, finish: Any = "tool_calls", **changed: Any) -> dict[str, Any]:
    """The whole answer as one JSON object."""
    message = {"role": "assistant", "content": None, "tool_calls": [whole(turn, 0), whole(turn, 1)]} | changed
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data)


def in_turns(turn: int) -> Reply:
    pairs = zip(pieces(turn, 0), pieces(turn, 1), strict=True)
    return stream(ROLE, *(one for pair in pairs for one in pair), *END)


def cumulative(turn: int, call: int) -> list[bytes]:
    text = arguments(turn, call)
    return [raw(whole(turn, call, function={"name": TOOL, "arguments": text[:end]})) for end in (0, 4, 8, len(text))]


def cut_at(how: Any) -> Callable[[int], Reply]:
    return lambda turn: stream(ROLE, *pieces(turn, 0), *pieces(turn, 1)[:-1], how)


def half(*end: bytes) -> Callable[[int], Reply]:
    """The second call lacks its last piece when the answer ends with `end`."""
    return lambda turn: stream(ROLE, *pieces(turn, 0), *pieces(turn, 1)[:-1], *end)


def refusal(message: str, status: int = 400, **headers: str) -> Reply:
    return Reply.json({"error": {"message": message, "type": "invalid_request_error"}}, status, headers)


def says(*events: bytes) -> Callable[[int], Scripted]:
    """The answer to the results."""
    return lambda _: stream(*events)


OLD = [chat_chunk({"function_call": {"name": TOOL, "arguments": ""}})]
REASONED = [chat_chunk({"reasoning_content": "First "}), chat_chunk({"reasoning_content": "this."})]
LONG = "x" * 70_000
ERROR = {"message": "upstream died", "code": 502}

CHAT = [
    Odd("in turns", in_turns),
    # -- labels
    Odd("the same id for both calls", with_ids(lambda turn, call: "call")),
    Odd("ids that begin anew with every answer", with_ids(lambda turn, call: f"functions.{TOOL}:{call}"), rules=ANY_ID),
    Odd("ids that begin anew, and one index", with_ids(lambda turn, call: f"call_{call}", index=0)),
    Odd("empty ids", with_ids(lambda turn, call: "")),
    Odd("no ids", shaped(id=None)),
    Odd("ids of null", as_is(lambda turn, call: whole(turn, call, id=None))),
    Odd("numbers for ids", with_ids(lambda turn, call: call)),
    Odd("objects for ids", with_ids(lambda turn, call: {"id": call})),
    Odd("ids that are blank", with_ids(lambda turn, call: "  ")),
    Odd("ids of 200 characters", with_ids(lambda turn, call: f"{turn}{call}" * 100), rules=ANY_ID),
    Odd("ids with control characters", with_ids(lambda turn, call: f"a\x1b[2J\n{turn}\0{call}"), rules=ANY_ID),
    Odd("ids in another script", with_ids(lambda turn, call: f"调用-{turn}-{call}"), rules=ANY_ID),
    Odd("an index of 0 for both, and ids", shaped(index=0)),
    Odd("no index, whole calls", as_is(lambda turn, call: whole(turn, call, index=None))),
    Odd("no index and no id, whole calls", as_is(lambda turn, call: whole(turn, call, index=None, id=None))),
    Odd("an index that begins with 1", two(lambda turn, call: pieces(turn, call, index=call + 1))),
    Odd("an index as text", two(lambda turn, call: pieces(turn, call, index=str(call)))),
    Odd("an index as a float", two(lambda turn, call: pieces(turn, call, index=float(call)))),
    Odd("an index below zero", two(lambda turn, call: pieces(turn, call, index=call - 5))),
    Odd("an index beyond all numbers", two(lambda turn, call: pieces(turn, call, index=10**30 + call))),
    Odd("the second call first", lambda turn: stream(ROLE, *pieces(turn, 1), *pieces(turn, 0), *END)),
    Odd("the id in the last piece", two(lambda turn, call: [
        *pieces(turn, call, id=None), raw({"index": call, "id": own_id(turn, call), "function": {"arguments": ""}})])),
    Odd("another id in every piece", two(lambda turn, call: [
        raw({"index": call, "id": f"{turn}{call}{number}",
            "function": {"arguments": piece} | ({} if number else {"name": TOOL})})
        for number, piece in enumerate(["", *split(arguments(turn, call), 5)])])),
    Odd("both calls in one delta", lambda turn: stream(
        chat_chunk({"tool_calls": [whole(turn, 0), whole(turn, 1)]}), *END)),
    Odd("both calls in one delta, unlabelled", lambda turn: stream(
        chat_chunk({"tool_calls": [whole(turn, n, index=None, id=None) for n in (0, 1)]}), *END)),
    Odd("calls as an object and not a list", lambda turn: stream(
        chat_chunk({"tool_calls": whole(turn, 0)}), chat_chunk({}, "tool_calls"), DONE), runs=NONE, told="named none"),
    # -- arguments
    Odd("arguments as objects", with_arguments(json.loads)),
    Odd("arguments encoded twice", with_arguments(json.dumps)),
    Odd("arguments in a fence", with_arguments(lambda text: f"```json\n{text}\n```"), runs=NONE),
    Odd("arguments behind an empty object", with_arguments(lambda text: "{}" + text), runs=NONE),
    Odd("arguments behind an empty object, in pieces", two(lambda turn, call: [
        raw(whole(turn, call, function={"name": TOOL, "arguments": "{}"})), *pieces(turn, call)[1:]]), runs=NONE),
    Odd("an object in place of text, then pieces", two(lambda turn, call: [
        raw(whole(turn, call, function={"name": TOOL, "arguments": {}})), *pieces(turn, call)[1:]]), runs=NONE,
            told="Extra data"),
    Odd("arguments that grow with every piece", two(cumulative), runs=NONE),
    Odd("arguments twice", with_arguments(lambda text: text + text), runs=NONE),
    Odd("blank lines around arguments", with_arguments(lambda text: f"\n\n {text}\r\n\t")),
    Odd("arguments with a byte order mark", with_arguments(lambda text: f"\ufeff{text}"), runs=NONE),
    Odd("arguments as a list", with_arguments(lambda text: f"[{text}]"), runs=NONE),
    Odd("arguments as a list that is no text", with_arguments(lambda text: [json.loads(text)]), runs=NONE),
    Odd("NaN in arguments", with_arguments(lambda text: text[:-1] + ', "x": NaN}'), runs=NONE),
    Odd("nested too deeply", with_arguments(lambda text: text[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}"),
        runs=NONE),
    Odd("a key twice", with_arguments(lambda text: '{"n": "other", ' + text[1:])),
    Odd("large arguments", with_arguments(lambda text: text[:-1] + f', "x": "{LONG}"}}')),
    Odd("half a character", with_arguments(lambda text: text[:-1] + ', "x": "\\ud83d"}')),
    Odd("a number of 5,000 digits", with_arguments(lambda text: text[:-1] + f', "x": {"9" * 5000}}}'), runs=NONE),
    # -- names
    Odd("a name in pieces", two(lambda turn, call: [
        raw(whole(turn, call, function={"name": "demo_", "arguments": ""})),
        raw({"index": call, "function": {"name": "do"}}), *pieces(turn, call)[1:]])),
    Odd("the name in every piece", two(lambda turn, call: [
        raw({"index": call, "id": own_id(turn, call), "function": {"name": TOOL, "arguments": piece}})
        for piece in ["", *split(arguments(turn, call), 5)]])),
    Odd("an empty name in every other piece", two(lambda turn, call: [pieces(turn, call)[0], *(
        raw({"index": call, "id": "", "function": {"name": "", "arguments": piece}})
        for piece in split(arguments(turn, call), 5))])),
    Odd("a null name in every other piece", two(lambda turn, call: [pieces(turn, call)[0], *(
        raw({"index": call, "id": None, "type": None, "function": {"name": None, "arguments": piece}})
        for piece in split(arguments(turn, call), 5))])),
    Odd("functions. before the name", named(f"functions.{TOOL}")),
    Odd("default_api: before the name", named(f"default_api:{TOOL}")),
    Odd("blanks around the name", named(f" {TOOL}\n")),
    Odd("another case", named("Demo_Do")),
    Odd("a name that ends in a token", named(f"{TOOL}<|channel|>commentary")),
    Odd("a tool that isn't there", named("no_such_tool"), runs=NONE),
    Odd("a name with control characters", named("x\x1b[2J\ny"), runs=NONE),
    Odd("a name of 5,000 characters", named("x" * 5000), runs=NONE),
    Odd("no name", as_is(lambda turn, call: whole(turn, call, function={"arguments": arguments(turn, call)})),
        runs=NONE),
    Odd("no function", as_is(lambda turn, call: {"index": call, "id": own_id(turn, call)}), runs=NONE),
    # -- ends
    *(Odd(f"the finish reason {reason}", ended(chat_chunk({}, reason), DONE))
      for reason in ("stop", "STOP", "function_call", "tool_use", "TOOL_CALLS", "end_turn", "eos")),
    *(Odd(f"the finish reason {reason!r}", ended(chat_chunk({}, reason), DONE), runs=FIRST)
      for reason in ("length", "content_filter", "MALFORMED_FUNCTION_CALL", "abort", "x\x1b[2Jy\n", "a" * 5000)),
    *(Odd(f"{reason!r} for a finish reason", ended(sse({"choices": [{"delta": {}, "finish_reason": reason}]}),
          DONE), runs=FIRST)
      for reason in ("", 5, {"type": "tool_calls"}, ["stop"], True)),
    Odd("a finish reason twice", ended(chat_chunk({}, "tool_calls"), chat_chunk({}, "stop"), DONE)),
    Odd("a normal end, then a cut one", ended(chat_chunk({}, "tool_calls"), chat_chunk({}, "length"), DONE)),
    Odd("no end mark", ended(chat_chunk({}, "tool_calls"))),
    Odd("two end marks", ended(*END, DONE)),
    Odd("an end mark without a blank", ended(END[0], b"data:[DONE]\n\n")),
    Odd("an end mark and no empty line", ended(END[0], b"data: [DONE]")),
    Odd("an end mark alone", ended(DONE), runs=FIRST),
    Odd("words behind the end", ended(*END, b"data: not JSON\n\n")),
    Odd("words behind the finish reason", ended(END[0], chat_chunk({"content": "More."}), DONE)),
    Odd("a call behind the finish reason", lambda turn: stream(*pieces(turn, 0), END[0], *pieces(turn, 1), DONE),
        runs=FIRST),
    Odd("the finish reason with the last piece", two(lambda turn, call: [
        chat_chunk({"tool_calls": [whole(turn, call)]}, "tool_calls" if call else None)], end=[DONE])),
    Odd("the usage in every chunk", around(between=[chat_usage((5, 1, 0))])),
    Odd("a usage of nonsense", ended(END[0], chat_chunk(usage={"prompt_tokens": "many", "completion_tokens": -1}),
        DONE)),
    Odd("a usage that is a list", ended(END[0], chat_chunk(usage=[1, 2]), DONE)),
    # -- chunks
    Odd("no role", two(pieces, start=())),
    Odd("a first chunk without choices", around(start=[chat_chunk(prompt_filter_results=[{"index": 0}]), ROLE])),
    Odd("empty chunks", around(between=[chat_chunk({}), sse({}), sse({"choices": [None]}), sse({"choices": None})])),
    Odd("events that are no objects", around(between=[sse("5"), sse("null"), sse('"x"'), sse("[]"), b"data:\n\n"])),
    Odd("comments", around(start=[b": OPENROUTER PROCESSING\n\n", ROLE], between=[b": ping\n", b":\n\n"])),
    Odd("named events", bytes_changed(lambda data: data.replace(b"data: {",
        b"event: message\nid: 7\nretry: 5\ndata: {"))),
    Odd("no blank behind the colon", bytes_changed(lambda data: data.replace(b"data: ", b"data:"))),
    Odd("line ends of Windows", bytes_changed(lambda data: data.replace(b"\n", b"\r\n"))),
    Odd("line ends of old", bytes_changed(lambda data: data.replace(b"\n", b"\r"))),
    Odd("single line ends", bytes_changed(lambda data: data.replace(b"\n\n", b"\n"))),
    Odd("three line ends", bytes_changed(lambda data: data.replace(b"\n\n", b"\n\n\n"))),
    Odd("a byte order mark", bytes_changed(lambda data: b"\xef\xbb\xbf" + data)),
    Odd("JSON over several lines", bytes_changed(lambda data: data.replace(b'"choices":', b'\ndata: "choices":'))),
    Odd("another content type", bytes_changed(lambda data: data, content_type="application/json")),
    Odd("no content type", bytes_changed(lambda data: data, content_type=None)),
    Odd("compressed", bytes_changed(gzipped, headers={"Content-Encoding": "gzip"})),
    Odd("an end by closing", bytes_changed(lambda data: data, framing="close")),
    Odd("an end by length", bytes_changed(lambda data: data, framing="length")),
    Odd("lines of JSON and no stream", bytes_changed(lambda data: data.replace(b"data: ", b"").replace(b"\n\n", b"\n")),
        runs=NONE, goes_well=False),
    Odd("several choices", two(lambda turn, call: [
        sse({"choices": [{"index": 1, "delta": {"tool_calls": [whole(turn, 1 - call)]}},
                         {"index": 0, "delta": {"tool_calls": [whole(turn, call)]}}]})])),
    Odd("choices as an object", lambda turn: stream(
        sse({"choices": {"index": 0, "delta": {"tool_calls": [whole(turn, 0)]}, "finish_reason": "tool_calls"}}), DONE),
        runs=NONE, goes_well=False),
    Odd("the choice that is read is number 1", two(lambda turn, call: [
        sse({"choices": [{"index": 1, "delta": {"tool_calls": [whole(turn, call)]}}]})],
        start=(), end=[sse({"choices": [{"index": 1, "delta": {}, "finish_reason": "tool_calls"}]}), DONE])),
    Odd("one JSON object", lambda turn: Reply.json(body(turn))),
    Odd("one JSON object, and stop", lambda turn: Reply.json(body(turn, "stop"))),
    Odd("one JSON object, unlabelled", lambda turn: Reply.json(body(turn, tool_calls=[
        whole(turn, n, index=None, id=None) for n in (0, 1)]))),
    Odd("one JSON object that was cut", lambda turn: stream(
        json.dumps(body(turn)).encode()[:-30], content_type="application/json"), runs=NONE, goes_well=False),
    Odd("a message in the last chunk", lambda turn: stream(
        sse({"choices": [{"index": 0, "message": body(turn)["choices"][0]["message"],
            "finish_reason": "tool_calls"}]}), DONE)),
    Odd("a message that repeats the deltas", lambda turn: stream(
        ROLE, *pieces(turn, 0), *pieces(turn, 1),
        sse({"choices": [{"index": 0, "delta": {}, "message": body(turn)["choices"][0]["message"],
            "finish_reason": "tool_calls"}]}),
        DONE)),
    Odd("the old function_call", lambda turn: stream(
        ROLE, *OLD, chat_chunk({"function_call": {"arguments": arguments(turn, 0)}}), chat_chunk({}, "function_call"),
            DONE),
        runs=FIRST),
    # -- beside the calls
    Odd("text before, between and behind", lambda turn: stream(
        chat_chunk({"content": "One"}), *pieces(turn, 0), chat_chunk({"content": "Two"}), *pieces(turn, 1),
        chat_chunk({"content": "Three"}), *END)),
    Odd("blank text", around(start=[chat_chunk({"content": "\n\n"})])),
    Odd("content in parts", around(start=[chat_chunk({"content": [{"type": "text", "text": "Hm."}]})])),
    Odd("content of another kind", around(start=[chat_chunk({"content": 5}), chat_chunk({"content": {"text": "x"}})])),
    Odd("reasoning", around(start=REASONED)),
    Odd("blank reasoning", around(start=[chat_chunk({"reasoning_content": ""}), chat_chunk({"reasoning": None})])),
    Odd("reasoning that is an object", around(start=[chat_chunk({"reasoning": {"text": "x"},
        "reasoning_details": "x"})])),
    Odd("audio, annotations and log probabilities", around(start=[
        chat_chunk({"audio": {"id": "a", "data": "AA=="}, "annotations": [{"type": "url_citation"}],
            "logprobs": {"content": []}})])),
    # -- answers in words
    Odd("nothing said to the results", shaped(), said=says(chat_chunk({}, "stop"), DONE), goes_well=False,
        told="empty"),
    Odd("blanks said to the results", shaped(),
        said=says(chat_chunk({"content": " \n"}), chat_chunk({}, "stop"), DONE), goes_well=False, told="empty"),
    Odd("thoughts alone to the results", shaped(), said=says(*REASONED, chat_chunk({}, "stop"), DONE),
        goes_well=False, told="empty"),
    Odd("a refusal of the results", shaped(), said=says(chat_chunk({"refusal": "No."}), chat_chunk({}, "stop"), DONE)),
    Odd("words cut by a filter", shaped(),
        said=says(chat_chunk({"content": "Well"}), chat_chunk({}, "content_filter"), DONE), goes_well=False,
            told="content filter"),
    Odd("words and no finish reason", shaped(), said=says(chat_chunk({"content": "Done."}), DONE)),
    # -- broken off
    Odd("the connection is closed", cut_at(Cut()), runs=FIRST, told=CUT),
    Odd("the connection is reset", cut_at(Cut("reset")), runs=FIRST, told=CUT),
    Odd("the stream ends early", half(), runs=FIRST, told=CUT),
    Odd("the token limit", half(chat_chunk({}, "length"), DONE), runs=FIRST, told=CUT),
    Odd("half a call at a normal end", half(*END), runs=FIRST),
    Odd("an error in the stream", half(sse({"error": ERROR})), runs=FIRST, told=CUT),
    Odd("an error with a finish reason", half(chat_chunk({}, "error", error=ERROR), DONE), runs=FIRST, told=CUT),
    Odd("an error as text", half(sse({"error": "upstream died"})), runs=FIRST, told=CUT),
    Odd("an error event", half(sse(ERROR, "error")), runs=FIRST, told=CUT),
    Odd("an error in words", half(b"Internal Server Error\n\n"), runs=FIRST, told=CUT),
    Odd("half an event", half(chat_call(1, arguments="x")[:30]), runs=FIRST, told=CUT),
    Odd("a web page in the stream", half(b"data: <html>\n\n"), runs=FIRST, told=CUT),
    # -- refusals
    Odd("overloaded once", shaped(), before=[refusal("busy", 503)]),
    Odd("a rate limit once", shaped(), before=[refusal("slow down", 429, **{"Retry-After": "1"})]),
    Odd("a rate limit with a date of nonsense", shaped(), before=[refusal("slow", 429, **{"Retry-After": "soon"})]),
    Odd("stream_options refused", shaped(), before=[refusal("Unknown parameter: 'stream_options'.")]),
    Odd("an error with status 200", lambda _: Reply.json({"error": {"message": "no"}}), runs=NONE, goes_well=False),
    Odd("a web page", lambda _: Reply.html("<html><title>Sign in\x1b[2J</title>"), runs=NONE, goes_well=False),
    Odd("nothing", lambda _: stream(), runs=NONE, goes_well=False),
    Odd("no content", lambda _: Reply((), 204, framing="length"), runs=NONE, goes_well=False),
    Odd("words", lambda _: stream(b"upstream connect error\n", content_type="text/plain"), runs=NONE, goes_well=False),
    Odd("null", lambda _: Reply.json(None), runs=NONE, goes_well=False),
    Odd("a list", lambda _: Reply.json([]), runs=NONE, goes_well=False),
    Odd("a redirect to nowhere", lambda _: Reply((), 302, {"Location": "/"}, framing="length"), runs=NONE,
        goes_well=False),
    Odd("an error that is no JSON", lambda _: Reply([b"\xff\xfe\0"], 400, framing="length"), runs=NONE,
        goes_well=False),
    Odd("an unknown status", lambda _: Reply([b"{}"], 599, framing="length"), runs=NONE, goes_well=False),
    Odd("only the end mark", lambda _: stream(DONE), runs=NONE, goes_well=False),
    Odd("only a finish reason", lambda _: stream(chat_chunk({}, "tool_calls"), DONE), runs=NONE, told="named none"),
    Odd("words in place of calls", lambda _: Answer(Text("I will not call tools.")), runs=NONE),
]  # fmt: skip
