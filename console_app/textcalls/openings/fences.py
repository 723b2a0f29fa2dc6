"""Backticks: code in a line is never a call; a fence of three signs is when it holds nothing else and was not shown as
an example. It asks, unless calls of its form are written in such a fence.
"""

from dataclasses import replace

from console_app.textcalls.bodies.draft import CallAttempt
from console_app.textcalls.bodies.shapes import CALL_KEYS
from console_app.textcalls.dialects.table import FAMILIES
from console_app.textcalls.model import IS_PYTHON
from console_app.textcalls.openings.bare import at_known_call, half_name
from console_app.textcalls.openings.openers import EXTENDABLE, HELD, LONGEST, TOKEN
from console_app.textcalls.openings.position import Place
from console_app.textcalls.openings.scan_state import ScanState
from console_app.textcalls.patterns import compiled, lazily
from console_app.textcalls.source import LOOKAHEAD, Match, Reading

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
_CODE_ENDS = lazily(r"`|\n[ \t]{0,30}(?=[^ \t])")
_PARAGRAPH_ENDS = lazily(r"\n[ \t]{0,30}(?:\r?\n|```|~~~)")
_LINE_END = lazily(r"[^\n]*\n")


def read_ticks(state: ScanState, ticks: str) -> Reading[None]:
    src = state.src
    char, start = ticks[0], src.at
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
        if not (yield from _inline(state, len(ticks))):
            state.structure.backtick = start
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
    readable = state.level != "none" and not state.in_fence and len(ticks) == len("```")
    readable = readable and not state.structure.at(start).quoted
    may_be, told = readable and not output.unfenced, readable and info == "tool_code"
    if may_be:
        src.pos += 1
        may_be = yield from _may_call(state)
        src.rewind(body_start - 1)
    state.held = may_be
    closed = yield from _to_end(state, ticks)
    body = src.text(body_start, max(body_start, src.at)) if may_be or told else ""
    src.pos += closed or 0
    if may_be:
        whole = body if closed is not None else _HALF_CLOSING.sub("", body)
        _judge(state, info, whole, body_start, closed is not None)
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
        return key in CALL_KEYS or tools.resolve(key) is not None
    name = found["tag"] or found["callee"]
    return name is None or tools.resolve(name) is not None


def _to_end(state: ScanState, ticks: str) -> Reading[int | None]:
    src, char = state.src, ticks[0]
    closing = compiled(rf"\n[ \t]{{0,30}}{char}{{{len(ticks)}}}")
    while (found := (yield from src.find(closing, "\n", 31 + len(ticks)))) is not None:
        width = found.end() - found.start()
        src.pos += width
        yield from src.match(_LINE_END, 100)
        rest = src.buf[src.pos : src.pos + 100].partition("\n")[0]
        if not rest.strip(" \t\r" + char):
            src.pos -= width
            return width + len(rest)
    return None


def _judge(state: ScanState, info: str, body: str, offset: int, closed: bool) -> None:
    """Take the calls of a fence if it holds nothing but calls of known tools; of one that the answer's end cut off the
    last may be cut off too.
    """
    inner = state.read_inner(state, body)
    attempts = [_moved(attempt, offset, info) for segment in inner.segments for attempt in segment.attempts]
    draft = state.new_draft("gemma_tool_code" if info == "tool_code" and not attempts else "fenced_json")
    half = body.strip().removeprefix("print(").removeprefix("default_api.")
    if not closed and not attempts and info == "tool_code" and state.tools.begins(half):
        draft.fail("truncated", "the answer ended where the call begins", offset, state.src.at)
    elif not inner.has_text and all(
        attempt.known
        if attempt.failure is None
        else state.tools.resolve(attempt.name or "")
        if closed
        else attempt.failure == "truncated" and attempt is attempts[-1]
        for attempt in attempts
    ):
        for attempt in attempts:
            draft.take(replace(attempt, marked=draft.marked))
        if not closed:
            draft.unclosed()
    opening = f"```{info}\n" if info else "```"
    own = all(FAMILIES[attempt.dialect].opening.startswith(opening) for attempt in draft.attempts)
    state.conclude(draft, fenced=True, doubt="" if own else "it stands in a fence")


def _moved(attempt: CallAttempt, offset: int, info: str) -> CallAttempt:
    row, dialect = FAMILIES[attempt.dialect].row.name, attempt.dialect
    if row == "bare_json_lines":
        dialect = "fenced_json"
    elif row == "pythonic_list" and info == "tool_code":
        dialect = "gemma_tool_code"
    return replace(attempt, start=attempt.start + offset, end=attempt.end + offset, dialect=dialect)
