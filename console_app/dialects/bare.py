"""Calls without any marker: JSON and Python that only their shape and the tools' names tell from data and prose."""

import re
from collections.abc import Mapping
from typing import Any

from console_app.dialects.draft import Draft
from console_app.dialects.framing import JSON, JSON_DATA, Frame, frame
from console_app.dialects.literals import UNQUOTED_KEY, decode_json
from console_app.dialects.model import Unreadable, is_list, is_object
from console_app.dialects.openers import is_call_key, openers
from console_app.dialects.patterns import lazily
from console_app.dialects.python_body import PythonBody
from console_app.dialects.region import Region
from console_app.dialects.scan_state import ScanState
from console_app.dialects.shapes import (
    ARGUMENT_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    NO_CALL,
    SAID,
    WRAPPER_KEYS,
    Shaped,
    fits_schema,
    shape,
    spread,
)
from console_app.dialects.source import Reading

_HEAD = (
    r"\s*\[?\s*\{{1,2}\s*"
    r"(?:[\"'](?:id|type|index|tool_call_id)[\"']\s*:\s*(?:\"[^\"\\]*\"|'[^'\\]*'|\d+)\s*,\s*)*+"
    rf"(?:[\"'](?:{'|'.join(WRAPPER_KEYS)})[\"']\s*:\s*\{{\s*)?"
    rf"[\"']?(?:{'|'.join(NAME_KEYS)})[\"']?\s*:\s*"
)
_NAME = lazily(_HEAD + r"[\"']([^\"'\\]*)[\"']")
_HALF_NAME = lazily(_HEAD + r"(?:[\"']([^\"'\\]*))?$")
_LINE_END = lazily(r"[ \t]*(?:\r?\n)")
_REST_OF_LINE = lazily(r"[^\n]*")
_PRINTED = lazily(r"[ \t]*\r?\n\s*print\(\s*\w+\s*\)")
"""What code in a fence does with the result that it named."""
_SEPARATOR = lazily(r"\s*[,;|](?=\s*[{\[])")


def read_object(state: ScanState, key: str) -> Reading[None]:
    """Read an object in running text: a call, or data, which is skipped whole so that nothing within it counts."""
    if not is_call_key(key):
        yield from _skip_data(state)
    elif why := state.place().withheld:
        start, named = state.src.at, (yield from state.src.match(_NAME, 200))
        yield from _skip_data(state)
        if named is not None and (name := state.tools.resolve(named.group(1))):
            state.output.note(start, state.src.at, f"not taken as a call: {why}", name)
    else:
        yield from _candidate(state)


def read_list(state: ScanState, key: str | None, callee: str | None) -> Reading[None]:
    """Read a list of objects, or of Python calls of which `callee` is the first, in running text."""
    if key is not None or callee is None:
        yield from read_object(state, key or "")
    elif why := state.place().withheld:
        state.output.note(state.src.at, state.src.at + 1, f"not taken as a call: {why}", state.tools.resolve(callee))
        state.src.pos += 1
    else:
        yield from _python_list(state)


def _skip_data(state: ScanState) -> Reading[None]:
    state.held = False
    start = state.src.at
    yield from frame(state.src, JSON_DATA)
    if state.src.at == start:
        state.src.pos += 1


def _candidate(state: ScanState) -> Reading[None]:
    """Read what may be calls: all of it is, or none."""
    src, start = state.src, state.src.at
    fresh = not state.output.has_text
    named = yield from src.match(_NAME, 200)
    tool = state.tools.resolve(named.group(1)) if named is not None else None
    hopeless = named is not None and tool is None and not fresh and named.group(1) not in NO_CALL
    if hopeless:
        yield from _skip_data(state)
        return
    draft = state.new_draft("bare_json_lines", any_name=False)
    span = yield from frame(src, JSON, draft.panels)
    if span.state == "closed":
        _decode(state, draft, span, fresh, tool or "")
        yield from _after(state, draft)
    elif span.state == "cut" or (yield from Region(start, (), (), pretty=False).at_turn_end(src)):
        _cut(state, draft, span)
    elif tool and span.state in ("broken", "open"):
        yield from src.skip(_REST_OF_LINE)
        draft.fail("invalid", span.why, start, src.at, named.group(1) if named else None)
        state.conclude(draft)
    else:
        state.refuse(draft)


def _after(state: ScanState, draft: Draft) -> Reading[None]:
    """A call is followed by nothing, by text, or by a separator and the next call."""
    if not state.output.segments or state.output.segments[-1].kind != "calls" or state.output.floor != state.src.at:
        return
    if (yield from state.src.ahead()) == "}":
        yield from state.src.step()
        state.output.drop(state.src.at)
    if (yield from state.src.ahead()) in (",", ";", "|"):
        found = yield from state.src.match(_SEPARATOR, 64)
        if found:
            state.src.pos = found.end()
            state.output.drop(state.src.at)


def _decode(state: ScanState, draft: Draft, span: Frame, fresh: bool, named: str) -> None:
    """Decide about a complete value, and conclude."""
    text = state.src.text(span.start, span.end)
    try:
        value, repaired = decode_json(text)
    except Unreadable as error:
        if named:
            draft.fail("invalid", f"{error.message} (character {error.offset + 1} of it)", span.start, span.end)
            state.conclude(draft)
        else:
            state.refuse(draft)
        return
    if UNQUOTED_KEY in repaired:
        state.refuse(draft, "it is an object of JavaScript", named)
        return
    items = list(spread(value))
    draft.dialect = _dialect_of(value, items)
    verdicts = [_judge(state, item) for item in items]
    if items and all(verdicts):
        whole = "unknown" in verdicts
        if whole and (not fresh or state.in_fence):
            state.refuse(draft)
            return
        spans = span.members if len(span.members) == len(items) else [(span.start, span.end)] * len(items)
        for item, (begin, end) in zip(items, spans, strict=True):
            draft.shaped(shape(item, state.tools), begin, end, repaired)
        said = value.get(SAID) if is_object(value) else None
        if isinstance(said, str) and said.strip():
            _conclude_beside(state, draft, said)
        else:
            state.conclude(draft, provisional="whole" if whole else "")
    else:
        state.refuse(draft)


def _conclude_beside(state: ScanState, draft: Draft, said: str) -> None:
    """Conclude calls in whose object the model also says something: that is the text of the answer."""
    if state.level != "all":
        state.refuse(draft)
        return
    state.conclude(draft)
    if state.output.segments[-1].kind == "calls":
        state.output.drop(state.src.at, replacement=said)


def _judge(state: ScanState, item: Any) -> str:
    """Whether an object without a marker is a call: "known", "unknown" (for a whole message), or "" if it is none."""
    found = shape(item, state.tools)
    if not isinstance(found, Shaped):
        return ""
    if found.name in NO_CALL and found.exact:
        return "known"
    name = state.tools.resolve(found.name)
    if name is None:
        wrapped = any(key in item for key in WRAPPER_KEYS)
        return "unknown" if found.exact and (is_object(found.arguments) or wrapped) else ""
    if found.flat and is_object(found.arguments):
        return "known" if fits_schema(found.arguments, name, state.tools) else ""
    if found.arguments is None and not _has_arguments_key(item):
        return ""
    return "known" if found.exact or not is_list(found.arguments) or len(item) == 2 else ""


def _has_arguments_key(item: Mapping[str, Any]) -> bool:
    inner = next((item[key] for key in WRAPPER_KEYS if is_object(item.get(key))), item)
    return any(key in inner for key in ARGUMENT_KEYS)


def _cut(state: ScanState, draft: Draft, span: Frame) -> None:
    """The answer ended within the value. Complete calls of a list count, the incomplete one is reported."""
    text = state.src.text(span.start, span.end)
    listed = text.startswith("[") or re.match(rf"\{{\s*[\"'](?:{'|'.join(LIST_KEYS)})", text) is not None
    begun = span.start
    for begin, end in span.members if listed else ():
        try:
            value, repaired = decode_json(state.src.text(begin, end))
        except Unreadable:
            break
        if _judge(state, value) != "known":
            state.refuse(draft)
            return
        draft.dialect = _dialect_of([value] if text.startswith("[") else {"tool_calls": []}, [value])
        draft.shaped(shape(value, state.tools), begin, end, repaired)
        begun = end
    rest = state.src.text(begun, span.end).lstrip(", \r\n\t")
    if draft.attempts or _may_be_call(state, rest):
        named = _NAME.match(rest)
        draft.fail("truncated", "the answer ended inside the call", begun, span.end, named.group(1) if named else None)
        state.conclude(draft)
    else:
        state.refuse(draft)


def _may_be_call(state: ScanState, text: str) -> bool:
    """Whether an incomplete object looks like a call of a tool there is."""
    named = _NAME.match(text)
    if named:
        return state.tools.resolve(named.group(1)) is not None
    half = _HALF_NAME.match(text)
    if half:
        return any(name.startswith(half.group(1) or "") for name in state.tools.names)
    keys = "|".join((*LIST_KEYS, *WRAPPER_KEYS, *ARGUMENT_KEYS))
    typed = r"(?:[\"']type[\"']\s*:\s*[\"']function[\"']\s*,\s*)?"
    return re.match(rf"\s*\[?\s*\{{\s*{typed}[\"']?(?:{keys})[\"']?\s*:", text) is not None


def _dialect_of(value: Any, items: list[Any]) -> str:
    first = items[0] if items and is_object(items[0]) else {}
    if is_object(value) and any(key in value for key in (*LIST_KEYS, "tool_call", "function_call")):
        return "openai_shape"
    if is_object(first.get("function")):
        return "nested_function"
    if is_list(value):
        return "bare_json_array"
    return "llama3_json" if "name" in first and "parameters" in first else "bare_json_lines"


def _python_list(state: ScanState) -> Reading[None]:
    """A list of Python calls on lines of its own, all of known tools."""
    row = PythonBody(listed=True)
    draft = state.new_draft("pythonic_list")
    start = state.src.at
    yield from row.read(state.src, Region(start, (), (), pretty=False), draft)
    foreign = any(attempt.name is None or not state.tools.resolve(attempt.name) for attempt in draft.attempts[:-1])
    last = draft.attempts[-1] if draft.attempts else None
    cut = last is not None and last.failure == "truncated"
    if last is None or foreign or not (cut or (last.name and state.tools.resolve(last.name))):
        state.refuse(draft)
    elif cut or (yield from _line_ends(state)):
        state.conclude(draft)
    else:
        state.refuse(draft)


def _line_ends(state: ScanState) -> Reading[bool]:
    """Whether nothing more stands on this line but a token that ends the turn."""
    src = state.src
    following = yield from src.ahead()
    if following in ("", "<", "["):
        return True
    found = yield from src.match(_LINE_END, 96)
    return found is not None


def read_call_lines(state: ScanState) -> Reading[None]:
    """At the start of an answer: Python calls on lines of their own, when the whole answer is nothing else."""
    src = state.src
    state.held = True
    yield from src.skip()
    start = src.at
    draft = state.new_draft("gemma_tool_code" if state.in_fence else "pythonic_list", any_name=False)
    region = Region(start, (), (), pretty=False)
    while (yield from _at_known_call(state)):
        yield from PythonBody().read(src, region, draft)
        if state.in_fence and (printed := (yield from src.match(_PRINTED, 96))):
            src.pos = printed.end()
        if not (yield from _line_ends(state)):
            break
        yield from src.skip()
    state.held = False
    if not draft.attempts:
        return
    rest = src.tail()
    if rest and draft.calls and _half_name(state):
        draft.fail("truncated", "the answer ended within a call", src.at, src.length)
        src.pos = len(src.buf)
    if draft.attempts[-1].failure == "truncated" or (rest is not None and _is_turn_end(rest)):
        state.conclude(draft)
    else:
        state.refuse(draft)


def _at_known_call(state: ScanState) -> Reading[bool]:
    """Whether the Python call of a known tool begins here."""
    src = state.src
    while not src.ended and _half_name(state):
        yield
    found = openers().line.match(src.buf, src.pos)
    return (
        found is not None
        and found["callee"] in state.tools
        and (state.in_fence or not (found["print"] or found["kept"]))
    )


def _half_name(state: ScanState) -> bool:
    """Whether all that is unread may become the opening of a known tool's call."""
    found = openers().half_line.match(state.src.buf, state.src.pos)
    if found is None:
        return False
    half = found["half"].removeprefix("functions.").removeprefix("default_api.")
    words = (*state.tools.names, "functions.", "default_api.", *(("print(",) if state.in_fence else ()))
    return any(word.startswith(half) for word in words)


def _is_turn_end(rest: str) -> bool:
    return re.fullmatch(r"(?:\s*<[|/｜][^<>]*>)*\s*", rest) is not None
