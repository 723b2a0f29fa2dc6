"""Calls without any marker: JSON and Python that only their shape and the tools' names tell from data and prose."""

from functools import partial
from typing import Any

from console_app.textcalls.bodies import shapes
from console_app.textcalls.bodies.draft import Draft, Region
from console_app.textcalls.bodies.framing import JSON, JSON_DATA, Frame, frame
from console_app.textcalls.bodies.json_body import lists_calls
from console_app.textcalls.bodies.literals import UNQUOTED_KEY, decode_json
from console_app.textcalls.bodies.python_body import PythonBody
from console_app.textcalls.dialects.table import FAMILIES
from console_app.textcalls.model import IS_PYTHON, Unreadable, is_list, is_object
from console_app.textcalls.openings.openers import EXTENDABLE, HALF_KEPT, HALF_LINE, HELD, LINE, LONGEST, TOKEN
from console_app.textcalls.openings.position import Place
from console_app.textcalls.openings.scan_state import BEHIND, IN_SENTENCE, ScanState
from console_app.textcalls.patterns import compiled, lazily
from console_app.textcalls.source import LOOKAHEAD, Match, Reading
from console_app.textcalls.tool_schemas import stripped

_REST_OF_LINE = lazily(r"[^\n]*")
_PRINTED = lazily(r"[ \t]*\r?\n\s*print\(\s*\w+\s*\)")
_SEPARATOR = lazily(r"\s*[,;](?=\s*[{\[])")
_CALL_KEY = lazily(
    rf"\s*+(?:\[\s*+)?\{{\s*(?:[\"']type[\"']\s*:\s*[\"']function[\"']\s*,\s*)?"
    rf"[\"']?(?:{'|'.join((*shapes.LIST_KEYS, *shapes.WRAPPER_KEYS, *shapes.ARGUMENT_KEYS))})[\"']?\s*:"
)
_LIST_ENDS = lazily(r"[^\n]*\)\s*\]")
_LISTED = lazily(rf"\s*+\{{\s*[\"'](?:{'|'.join(shapes.LIST_KEYS)})[\"']\s*:{shapes.NAMED.pattern}")
_TURN_END = lazily(r"(?:\s*<[|/｜][^<>]*>)*\s*")


def read_object(state: ScanState, key: str) -> Reading[None]:
    """Read an object in running text: calls, all that it holds, or data, of which nothing within counts."""
    src, start = state.src, state.src.at
    tool = state.tools.resolve(key) if key not in shapes.CALL_KEYS else None
    why = state.place().withheld if tool else "no call"
    if key in shapes.CALL_KEYS:
        why = state.place().quoted
        named = (yield from src.match(shapes.NAMED, 200)) or (yield from src.match(_LISTED, 200))
        tool = state.tools.resolve(named.group(1)) if named else None
        if named and not tool and state.output.has_text and named.group(1) not in shapes.NO_CALL:
            why = why or "no tool has this name"
    if why:
        state.held = False
        yield from frame(src, JSON_DATA)
        if tool:
            state.output.note_text(start, src.at, why, tool)
        return
    draft, in_line = state.new_draft("bare_json_lines"), not state.structure.lines(start).line_start
    span = yield from (frame(src, JSON_DATA) if in_line else frame(src, JSON, draft.follow))
    closed = span.state == "closed"
    behind = (yield from src.match(BEHIND)) if in_line and closed else None
    if behind and behind["words"] and not behind["words"].startswith("</"):  # as `conclude_in_line` would say of it
        state.refuse(draft, IN_SENTENCE, tool or "")
    elif closed or span.state == "cut" or (yield from Region(start).at_turn_end(src)):
        whole = _take(state, draft, span, closed=closed, tool=tool)
        if whole is not None:
            yield from state.conclude_in_line(draft, alone=whole)
            yield from pass_separator(state)
    elif tool and (in_line or (span.members and src.text(span.end, span.end + 1).isalpha())):
        state.refuse(draft, IN_SENTENCE, tool)
    elif tool:
        if span.string_at is not None:
            src.rewind(span.string_at + 1)  # marks of another call may stand in a string that doesn't end well
        else:
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
    those that are complete. Return whether they have to be the whole answer; None where it is text."""
    text, begun, whole = state.src.text(span.start, span.end), span.start, False
    for begin, end in [(span.start, span.end)] if closed else span.members if lists_calls(text) else ():
        try:
            value, repaired = decode_json(state.src.text(begin, end))
        except Unreadable as error:
            if tool and closed:
                draft.fail("invalid", f"{error.message} (character {error.offset + 1} of it)", begin, end)
            break
        items = list(shapes.spread(value))
        found = [shapes.shape(item, state.tools) for item in items]
        verdicts = set(map(partial(_judge, state), items, found))
        whole = whole or "unknown" in verdicts
        if "" in verdicts or UNQUOTED_KEY in repaired or (whole and (state.output.has_text or not closed)):
            why = "it is an object of JavaScript" if UNQUOTED_KEY in repaired else ""
            state.refuse(draft, why, tool or "")
            return None
        first = items[0] if items and is_object(items[0]) else {}
        listed = not closed and text[0] != "["
        keys = value.keys() if is_object(value) else ()
        if listed or any(key in keys for key in (*shapes.LIST_KEYS, "tool_call", "function_call")):
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
        said = value.get(shapes.SAID) if is_object(value) else None
        draft.answer = said if isinstance(said, str) and said.strip() else draft.answer
    if not closed:
        _cut(state, draft, begun, span.end)
    return whole


def _judge(state: ScanState, item: Any, found: shapes.Shaped | shapes.NotACall) -> str:
    """Tell of an object without a marker that it is a call ("known"), one if it is the whole message, or "" none."""
    if not isinstance(found, shapes.Shaped):
        return ""
    if found.name in shapes.NO_CALL and found.exact:
        return "known"
    inner = next((item[key] for key in shapes.WRAPPER_KEYS if is_object(item.get(key))), item)
    name = state.tools.resolve(found.name)
    if name is None:
        return "unknown" if found.exact and (is_object(found.arguments) or inner is not item) else ""
    if found.flat:
        good = shapes.fits_schema(found.arguments, name, state.tools)
    elif found.arguments is None:
        good = any(key in inner for key in shapes.ARGUMENT_KEYS)
    else:
        good = not is_list(found.arguments) or len(item) == 2
    return "known" if good else ""


def _cut(state: ScanState, draft: Draft, begun: int, end: int) -> None:
    """Take what `begun` where the answer ended for a call, if others stand before it or it looks like one so far."""
    rest = state.src.text(begun, end).lstrip(", \r\n\t")
    if named := shapes.NAMED.match(rest):
        may_be = state.tools.resolve(named.group(1)) is not None
    elif half := shapes.HALF_NAMED.match(rest):
        may_be = any(name.startswith(half.group(1) or "") for name in state.tools.names)
    else:
        may_be = _CALL_KEY.match(rest) is not None
    if draft.attempts or may_be:
        draft.fail("truncated", "the answer ended inside the call", begun, end, named.group(1) if named else None)


def read_list(state: ScanState, callee: str) -> Reading[None]:
    """Read a list of Python calls, of which `callee` is the first: all of known tools, alone on its lines."""
    src, start = state.src, state.src.at
    place = state.place()
    if place.withheld and (place.quoted or not (yield from src.match(_LIST_ENDS))):
        state.output.note_text(start, start + 1, place.withheld, state.tools.resolve(callee))
        src.pos += 1
        return
    draft = state.new_draft("pythonic_list")
    yield from PythonBody(listed=True).read(src, Region(start), draft)
    read = [one for one in draft.attempts if one.failure != "truncated" or one is not draft.attempts[-1]]
    if draft.attempts and all(state.tools.resolve(one.name or "") for one in read):
        yield from state.conclude_in_line(draft)
    else:
        state.refuse(draft)


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
    if draft.attempts[-1].failure == "truncated" or (rest is not None and _TURN_END.fullmatch(rest)):
        state.conclude(draft)
    else:
        state.refuse(draft)


def at_known_call(state: ScanState, *, fenced: bool) -> Reading[bool]:
    """Tell whether the Python call of a known tool begins here; where it is `fenced`, also one in print()."""
    src = state.src
    while not src.ended and (half_name(state, fenced=fenced) or (fenced and HALF_KEPT.match(src.buf, src.pos))):
        yield
    found = LINE.match(src.buf, src.pos)
    if found is None or not (found["callee"] in state.tools or stripped(found["callee"]) in state.tools):
        return False
    return fenced or not (found["print"] or found["kept"])


def half_name(state: ScanState, *, fenced: bool) -> bool:
    found = HALF_LINE.match(state.src.buf, state.src.pos)
    if found is None or (found["kept"] and not fenced):
        return False
    half = found["half"].removeprefix("functions.").removeprefix("default_api.")
    words = (*state.tools.names, "functions.", "default_api.", *(("print(",) if fenced else ()))
    return any(word.startswith(half) for word in words)


_RESULTS = frozenset(("tool_output", "tool_outputs"))
"""Words that an endpoint writes before the results of calls in fences: a model that does makes them up."""
_INFO = lazily(r"[^\n`]*\n")
_LATE_INFO = lazily(r"[\w+-]*[ \t\r]*\n")
"""A pattern of the end of a line with a fence that follows words, as in `For example: ```json`."""
_NAME = lazily(r"[\w.-]+")
_HALF_CLOSING = lazily(r"\n[ \t]*[`~]{1,2}$")
_BULLET = lazily(r"\s*(?:[-*+]|\d{1,3}[.)])?\s*")
_LONGEST_CODE = 8
_RUNS = {"`": lazily("`*"), "~": lazily("~*")}
_NESTED = lazily(r"\s*(?:```|~~~)[^\n]*\w")
_SPAN = lazily(r"(?:(?<=\S)|(?<=\S ))`[^`\n]++`(?=[^`])")
"""A pattern of code within a line between two backticks, as most is: it is seen at once where it has come whole."""
_CODE_ENDS = lazily(r"`|\n[ \t]{0,30}(?=[^ \t])")
_PARAGRAPH_ENDS = lazily(r"\n[ \t]{0,30}(?:\r?\n|```|~~~)")
_WORDS_BEHIND = lazily(r"[^\S\n]*[^\s<]")
_LINE_END = lazily(r"[^\n]*\n")


def read_ticks(state: ScanState, ticks: str) -> Reading[None]:
    src = state.src
    char, start = ticks[0], src.at
    if start > state.structure.floor + 1 and (span := _SPAN.match(src.buf, src.pos)):
        src.pos = span.end()
        state.structure.skip(start, src.at, floor=False)
        return
    yield from src.skip(_RUNS[char])
    ticks = char * min(src.at - start, 100)
    place = state.structure.lines(start)
    if len(ticks) >= 3 and not place.line.lstrip().startswith(">"):
        info = yield from src.match(_INFO if _BULLET.fullmatch(place.line) else _LATE_INFO, 200)
        if info:
            yield from _fence(state, ticks, start, info, place)
            state.structure.skip(start, src.at, floor=False)
            return
    if char == "`" and len(ticks) <= _LONGEST_CODE:
        begin, may_be = src.at, place.line_start and state.level != "none" and not state.in_fence
        may_be = may_be and not state.output.unfenced and (yield from _may_call(state))
        src.rewind(begin)
        if not (yield from _inline(state, len(ticks))):
            state.structure.backtick = start
        elif may_be and not state.structure.at(start).quoted and not (yield from src.match(_WORDS_BEHIND)):
            _judge_fence(state, "`", "", src.text(begin, src.at - len(ticks)), begin, closed=True)
        state.structure.skip(start, src.at, floor=False)


def _inline(state: ScanState, width: int) -> Reading[bool]:
    """Code within a paragraph, up to as many backticks as opened it; whether there are any."""
    src, begin = state.src, state.src.at
    if begin < state.unclosed_code.get(width, 0):
        return False
    while (found := (yield from src.find(_CODE_ENDS, "`\n", 64))) is not None:
        if found.group() == "`":
            run = src.at
            yield from src.skip(_RUNS["`"])
            if src.at - run == width:
                return True
        elif (yield from src.match(_PARAGRAPH_ENDS, 40)):
            break
        else:
            src.pos += len(found.group())
    state.unclosed_code[width] = src.at
    src.rewind(begin)
    return False


def _fence(state: ScanState, ticks: str, start: int, opening: Match, place: Place) -> Reading[None]:
    """Read a fence that began at `start`; `opening` is the rest of its first line."""
    src, output, info = state.src, state.output, opening.group().strip().lower()
    src.pos = opening.end() - 1
    body_start = src.at + 1
    if info in _RESULTS and output.attempts and src.rewind(start):
        yield from state.cut(ticks + info, place)
        return
    readable = state.level != "none" and not state.in_fence
    if len(ticks) == len("```") and readable and (yield from src.ahead()) in _RUNS and (yield from src.match(_NESTED)):
        output.suspect("it stands in a fence")  # in another fence
        return
    may_be, told = readable and not output.unfenced, readable and info == "tool_code"
    if may_be:
        src.pos += 1
        may_be = yield from _may_call(state)
        src.rewind(body_start - 1)
    if (may_be or told or output.unfenced) and state.structure.at(start).quoted:
        readable = may_be = told = False
    state.held = may_be
    closed = yield from _to_end(state, ticks, loosely=may_be)
    body = src.text(body_start, max(body_start, src.at)) if may_be or told else ""
    src.pos += closed or 0
    if may_be:
        whole = body if closed is not None else _HALF_CLOSING.sub("", body)
        _judge_fence(state, ticks, info, whole, body_start, closed=closed is not None)
        noted = output.notes and output.notes[-1][0] >= start
        told = told and output.segments[-1].kind == "text" and not noted
    else:
        output.show(src.at)
        if not (readable and output.unfenced):
            output.shown_fences.append((start, src.at))
    if told and body.strip():
        words = _NAME.findall(body[:LOOKAHEAD])
        output.note(start, src.at, IS_PYTHON, next((word for word in words if word in state.tools), None))


def _may_call(state: ScanState) -> Reading[bool]:
    """Tell whether what begins here may hold calls of known tools and nothing else."""
    src, tools = state.src, state.tools
    yield from src.skip()
    if (yield from at_known_call(state, fenced=True)):
        return True
    while True:
        found, left = TOKEN.match(src.buf, src.pos), len(src.buf) - src.pos
        half = HELD.match(src.buf, src.pos) if found is None else found.group() in EXTENDABLE and left < LONGEST
        if src.ended or not half:
            break
        yield
    if found is None:
        return half is not None or (src.ended and half_name(state, fenced=True))
    if key := found["member"] or found["key"]:
        return key in shapes.CALL_KEYS or tools.resolve(key) is not None
    name = found["tag"] or found["callee"]
    return found["ticks"] is None and (name is None or tools.resolve(name) is not None)


def _to_end(state: ScanState, ticks: str, *, loosely: bool) -> Reading[int | None]:
    """Move to the line that ends a fence; return how long its end is; `loosely`: words or a fence may be behind it."""
    src, char = state.src, ticks[0]
    closing = compiled(rf"\n[ \t]{{0,30}}{char}{{{len(ticks)}}}")
    half = compiled(rf"{closing.pattern}|\n[ \t]{{0,30}}{char}{{0,{len(ticks) - 1}}}\Z")
    while (found := (yield from src.find(closing, "\n", 31 + len(ticks), half=half))) is not None:
        width = found.end() - found.start()
        src.pos += width
        yield from src.match(_LINE_END, 100)
        rest = src.buf[src.pos : src.pos + 100].partition("\n")[0]
        blank = not rest.strip(" \t\r" + char)
        if blank or (loosely and not rest[0].isalnum() and len(rest) - len(rest.lstrip(char)) in (0, len(ticks))):
            src.pos -= width
            return width + (len(rest) if blank else 0)
    return None


def _judge_fence(state: ScanState, ticks: str, info: str, body: str, offset: int, *, closed: bool) -> None:
    """Take the calls of a fence that holds nothing but calls of known tools, the last of which may be cut off."""
    sole = _sole_call(state, body) if closed else None
    inner = None if sole else state.read_inner(state, body)
    attempts = [attempt for segment in inner.segments for attempt in segment.attempts] if inner else []
    for attempt in attempts:
        row = FAMILIES[attempt.dialect].row.name
        if row == "bare_json_lines":
            attempt.dialect = "fenced_json"
        elif row == "pythonic_list" and info == "tool_code":
            attempt.dialect = "gemma_tool_code"
        attempt.start += offset
        attempt.end += offset
    draft = state.new_draft("gemma_tool_code" if info == "tool_code" and inner and not attempts else "fenced_json")
    half = body.strip().removeprefix("print(").removeprefix("default_api.")
    if sole:
        draft.shaped(sole, begin := offset + body.index("{"), begin + len(body.strip()), ())
    elif not closed and not attempts and info == "tool_code" and state.tools.begins(half):
        draft.fail("truncated", "the answer ended where the call begins", offset, state.src.at)
    elif not (inner and inner.has_text) and all(
        attempt.known
        if attempt.failure is None
        else state.tools.resolve(attempt.name or "")
        if closed
        else attempt.failure == "truncated" and attempt is attempts[-1]
        for attempt in attempts
    ):
        for attempt in attempts:
            attempt.marked = draft.marked
            draft.take(attempt)
        if not closed:
            draft.unclosed()
    opening = f"```{info}\n" if info else "```"
    own = ticks == "```" and all(FAMILIES[one.dialect].opening.startswith(opening) for one in draft.attempts)
    code = "a fence" if len(ticks) >= len("```") else "inline code"
    state.conclude(draft, fenced=True, doubt="" if own else f"it stands in {code}")


def _sole_call(state: ScanState, body: str) -> shapes.Shaped | None:
    """Return the call that a body is, in strict JSON, as most are: no scanner has to read it."""
    token = TOKEN.match(text := body.strip())
    try:
        value, repaired = decode_json(text) if token and token["key"] in shapes.CALL_KEYS else (dict[str, Any](), ())
    except Unreadable:
        return None
    found = shapes.shape(value, state.tools) if len(value) == 2 and not repaired else None
    if not isinstance(found, shapes.Shaped) or not found.exact or not is_object(found.arguments):
        return None
    sure = found.name not in (shapes.PARALLEL, *shapes.NO_CALL) and state.tools.resolve(found.name)
    return found if sure and any(one is found.arguments for one in value.values()) else None
