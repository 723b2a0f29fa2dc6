"""Calls without any marker: JSON and Python that only their shape and the tools' names tell from data and prose."""

from functools import partial
from typing import Any

from console_app.textcalls.bodies.draft import Draft
from console_app.textcalls.bodies.framing import JSON, JSON_DATA, Frame, frame
from console_app.textcalls.bodies.json_body import lists_calls
from console_app.textcalls.bodies.literals import UNQUOTED_KEY, decode_json
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.bodies.region import Region
from console_app.textcalls.bodies.shapes import (
    ARGUMENT_KEYS,
    CALL_KEYS,
    HALF_NAMED,
    LIST_KEYS,
    NAMED,
    NO_CALL,
    SAID,
    WRAPPER_KEYS,
    NotACall,
    Shaped,
    fits_schema,
    shape,
    spread,
)
from console_app.textcalls.model import Unreadable, is_list, is_object
from console_app.textcalls.openings.openers import HALF_KEPT, HALF_LINE, LINE
from console_app.textcalls.openings.scan_state import ScanState
from console_app.textcalls.output import IN_SENTENCE
from console_app.textcalls.patterns import lazily
from console_app.textcalls.source import Reading
from console_app.textcalls.tool_schemas import stripped

_REST_OF_LINE = lazily(r"[^\n]*")
_PRINTED = lazily(r"[ \t]*\r?\n\s*print\(\s*\w+\s*\)")
"""Ways in which code in a fence uses the result that it named."""
_SEPARATOR = lazily(r"\s*[,;](?=\s*[{\[])")
_CALL_KEY = lazily(
    rf"\s*+(?:\[\s*+)?\{{\s*(?:[\"']type[\"']\s*:\s*[\"']function[\"']\s*,\s*)?"
    rf"[\"']?(?:{'|'.join((*LIST_KEYS, *WRAPPER_KEYS, *ARGUMENT_KEYS))})[\"']?\s*:"
)
_LISTED = lazily(rf"\s*+\{{\s*[\"'](?:{'|'.join(LIST_KEYS)})[\"']\s*:{NAMED.pattern}")
_TURN_END = lazily(r"(?:\s*<[|/｜][^<>]*>)*\s*")


def read_object(state: ScanState, key: str) -> Reading[None]:
    """Read an object in running text: calls, all that it holds, or data, of which nothing within counts."""
    src, start = state.src, state.src.at
    why, tool = "no call", None
    if known := state.tools.resolve(key) if key not in CALL_KEYS else None:
        why, tool = state.place().withheld, known
    elif key in CALL_KEYS:
        why = state.place().withheld
        named = (yield from src.match(NAMED, 200)) or (yield from src.match(_LISTED, 200))
        tool = state.tools.resolve(named.group(1)) if named else None
        if named and not tool and state.output.has_text and named.group(1) not in NO_CALL:
            why = why or "no tool has this name"
    if why:
        state.held = False
        yield from frame(src, JSON_DATA)
        src.pos += src.at == start
        if tool:
            state.output.note_text(start, src.at, why, tool)
        return
    draft = state.new_draft("bare_json_lines")
    span = yield from frame(src, JSON, draft.follow)
    closed = span.state == "closed"
    if closed or span.state == "cut" or (yield from Region(start).at_turn_end(src)):
        whole = _take(state, draft, span, closed=closed, tool=tool)
        if whole is not None:
            yield from state.conclude_in_line(draft, alone=whole)
            yield from pass_separator(state)
    elif tool and span.members and src.text(span.end, span.end + 1).isalpha():
        state.refuse(draft, IN_SENTENCE, tool)
    elif tool:
        yield from src.skip(_REST_OF_LINE)
        draft.fail("invalid", span.why, start, src.at, tool)
        state.conclude(draft)
    else:
        state.refuse(draft)


def pass_separator(state: ScanState) -> Reading[None]:
    """Pass over what may stand between a call and the next, and a bracket too many."""
    src, output = state.src, state.output
    if state.structure.floor != src.at:
        return
    if (yield from src.peek()) == "}":
        src.pos += 1
        output.drop(src.at)
    if (yield from src.ahead()) in (",", ";"):
        found = yield from src.match(_SEPARATOR, 64)
        if found or len((src.tail() or "").strip()) == 1:
            yield from src.step()
            output.drop(src.at)


def _take(state: ScanState, draft: Draft, span: Frame, *, closed: bool, tool: str | None) -> bool | None:
    """Take the calls of a value, if it holds nothing else; of a list that the answer's end cut off (not `closed`),
    those that are complete. Return whether they have to be the whole answer; None where it is text.
    """
    text, begun, whole = state.src.text(span.start, span.end), span.start, False
    for begin, end in [(span.start, span.end)] if closed else span.members if lists_calls(text) else ():
        try:
            value, repaired = decode_json(state.src.text(begin, end))
        except Unreadable as error:
            if tool and closed:
                draft.fail("invalid", f"{error.message} (character {error.offset + 1} of it)", begin, end)
            break
        items = list(spread(value))
        found = [shape(item, state.tools) for item in items]
        verdicts = set(map(partial(_judge, state), items, found))
        whole = whole or "unknown" in verdicts
        if "" in verdicts or UNQUOTED_KEY in repaired or (whole and (state.output.has_text or not closed)):
            why = "it is an object of JavaScript" if UNQUOTED_KEY in repaired else ""
            state.refuse(draft, why, tool or "")
            return None
        first = items[0] if items and is_object(items[0]) else {}
        listed = not closed and text[0] != "["
        if listed or (is_object(value) and any(key in value for key in (*LIST_KEYS, "tool_call", "function_call"))):
            draft.dialect = "openai_shape"
        elif is_object(first.get("function")):
            draft.dialect = "nested_function"
        elif is_list(value) or not closed:
            draft.dialect = "bare_json_array"
        else:
            draft.dialect = "llama3_json" if "name" in first and "parameters" in first else "bare_json_lines"
        spans = span.members if closed and len(span.members) == len(items) else [(begin, end)] * len(items)
        for one, place in zip(found, spans, strict=True):
            draft.shaped(one, *place, repaired)
        begun = end
        said = value.get(SAID) if is_object(value) else None
        draft.answer = said if isinstance(said, str) and said.strip() else draft.answer
    if not closed:
        _cut(state, draft, begun, span.end)
    return whole


def _judge(state: ScanState, item: Any, found: Shaped | NotACall) -> str:
    """Tell of an object without a marker that it is a call ("known"), one if it is the whole message, or "" none."""
    if not isinstance(found, Shaped):
        return ""
    if found.name in NO_CALL and found.exact:
        return "known"
    inner = next((item[key] for key in WRAPPER_KEYS if is_object(item.get(key))), item)
    name = state.tools.resolve(found.name)
    if name is None:
        return "unknown" if found.exact and (is_object(found.arguments) or inner is not item) else ""
    if found.flat:
        good = fits_schema(found.arguments, name, state.tools)
    elif found.arguments is None:
        good = any(key in inner for key in ARGUMENT_KEYS)
    else:
        good = not is_list(found.arguments) or len(item) == 2
    return "known" if good else ""


def _cut(state: ScanState, draft: Draft, begun: int, end: int) -> None:
    """Take what `begun` where the answer ended for a call, if others stand before it or it looks like one so far."""
    rest = state.src.text(begun, end).lstrip(", \r\n\t")
    if named := NAMED.match(rest):
        may_be = state.tools.resolve(named.group(1)) is not None
    elif half := HALF_NAMED.match(rest):
        may_be = any(name.startswith(half.group(1) or "") for name in state.tools.names)
    else:
        may_be = _CALL_KEY.match(rest) is not None
    if draft.attempts or may_be:
        draft.fail("truncated", "the answer ended inside the call", begun, end, named.group(1) if named else None)


def read_list(state: ScanState, callee: str) -> Reading[None]:
    """Read a list of Python calls, of which `callee` is the first: all of known tools, alone on its lines."""
    src, start = state.src, state.src.at
    if why := state.place().withheld:
        state.output.note_text(start, start + 1, why, state.tools.resolve(callee))
        src.pos += 1
        return
    draft = state.new_draft("pythonic_list")
    yield from PythonBody(listed=True).read(src, Region(start), draft)
    known = all(state.tools.resolve(one.name or "") for one in draft.attempts[: -1 if _is_cut(draft) else None])
    if draft.attempts and known:
        yield from state.conclude_in_line(draft)
    else:
        state.refuse(draft)


def _is_cut(draft: Draft) -> bool:
    return bool(draft.attempts) and draft.attempts[-1].failure == "truncated"


def read_call_lines(state: ScanState) -> Reading[None]:
    """At the start of an answer: Python calls on lines of their own, when the whole answer is nothing else."""
    src = state.src
    state.held = True
    yield from src.skip()
    draft = state.new_draft("gemma_tool_code" if state.in_fence else "pythonic_list")
    region = Region(src.at)
    while (yield from at_known_call(state, fenced=state.in_fence)):
        yield from PythonBody().read(src, region, draft)
        if state.in_fence and (printed := (yield from src.match(_PRINTED, 96))):
            src.pos = printed.end()
        yield from src.skip()
    state.held = False
    if not draft.attempts:
        return
    rest = src.tail()
    if rest and half_name(state, fenced=state.in_fence):
        draft.fail("truncated", "the answer ended within a call", src.at, src.length)
        src.pos = len(src.buf)
    if _is_cut(draft) or (rest is not None and _TURN_END.fullmatch(rest)):
        state.conclude(draft)
    else:
        state.refuse(draft)


def at_known_call(state: ScanState, *, fenced: bool) -> Reading[bool]:
    """Tell whether the Python call of a known tool begins here; where it is `fenced`, also one in print()."""
    src = state.src
    while not src.ended and (half_name(state, fenced=fenced) or (fenced and HALF_KEPT.match(src.buf, src.pos))):
        yield
    found = LINE.match(src.buf, src.pos)
    if found is None or not {found["callee"], stripped(found["callee"])} & set(state.tools.names):
        return False
    return fenced or not (found["print"] or found["kept"])


def half_name(state: ScanState, *, fenced: bool) -> bool:
    """Tell whether all that is unread may become the opening of a known tool's call."""
    found = HALF_LINE.match(state.src.buf, state.src.pos)
    if found is None or (found["kept"] and not fenced):
        return False
    half = found["half"].removeprefix("functions.").removeprefix("default_api.")
    words = (*state.tools.names, "functions.", "default_api.", *(("print(",) if fenced else ()))
    return any(word.startswith(half) for word in words)
