"""Backticks: code in a line is never a call; a fence is one when it holds nothing else and was not shown as an
example.
"""

import re
from dataclasses import replace
from functools import lru_cache

from console_app.dialects.context import Context
from console_app.dialects.desk import Desk
from console_app.dialects.draft import Attempt
from console_app.dialects.source import Match, Reading

INFOS = frozenset((
    "", "json", "jsonc", "json5", "xml", "text", "txt", "plaintext", "tool", "tool_call", "tool_calls",
    "tool_code", "tool_use", "function", "function_call", "function_calls", "functions", "action", "tools",
    "call",
))  # fmt: skip
"""What may stand after the ticks of a fence that holds calls: no program language."""

_RESULTS = frozenset(("tool_output", "tool_outputs"))
"""What an endpoint writes before the results of calls in fences: a model that does makes them up."""

_INFO = re.compile(r"[^\n`]*\n")
_LATE_INFO = re.compile(r"[\w+-]*[ \t\r]*\n")
"""What ends the line of a fence that follows words, as in `For example: ```json`."""
_CALL_LIKE = re.compile(r"\s*(?:[<{\[]|[A-Za-z_>][\w.]*\s*[(:]|>>>|functools)")
_HALF_NAME = re.compile(r"[\w.]+")
_HALF_CLOSING = re.compile(r"\n[ \t]*[`~]{1,2}$")
_LONGEST_CODE = 8
_BARE = frozenset({"bare_json_lines", "bare_json_array", "llama3_json"})


def read_ticks(desk: Desk, ticks: str, context: Context) -> Reading[None]:
    """Read a fence or inline code."""
    src = desk.src
    char, start = ticks[0], src.at
    yield from src.skip(_RUNS[char])
    ticks = char * min(src.at - start, 100)
    if len(ticks) >= 3 and not context.continues_blockquote:
        info = yield from src.match(_INFO if context.may_open_fence else _LATE_INFO, 200)
        if info:
            yield from _fence(desk, ticks, start, info, context)
            return
    if char == "`" and len(ticks) <= _LONGEST_CODE:
        yield from _inline(desk, len(ticks))


def _inline(desk: Desk, width: int) -> Reading[None]:
    """Code within a paragraph, up to as many backticks as opened it; without them the backticks are only that."""
    src, begin = desk.src, desk.src.at
    if begin < desk.unclosed_code.get(width, 0):
        return
    while True:
        found = yield from src.find(_CODE_ENDS, "`\n", 64)
        if found is None:
            begin = yield from _next_line(desk, begin)
            break
        if found.group() != "`":
            if (yield from src.match(_PARAGRAPH_ENDS, 40)):
                break
            src.pos = src.pos + len(found.group())
            continue
        run = src.at
        yield from src.skip(_RUNS["`"])
        if src.at - run == width:
            return
    desk.unclosed_code[width] = src.at
    src.rewind(begin)


def _next_line(desk: Desk, begin: int) -> Reading[int]:
    """Where to go on when the answer ended in code that began at `begin`: what stands on its line stays code."""
    src, end = desk.src, desk.src.at
    if not src.rewind(begin):
        return end
    found = yield from src.find(_NEWLINE, "\n", 1)
    return src.at if found else end


_NEWLINE = re.compile("\n")
_RUNS = {"`": re.compile("`*"), "~": re.compile("~*")}
_CODE_ENDS = re.compile(r"`|\n[ \t]{0,30}(?=[^ \t])")
_PARAGRAPH_ENDS = re.compile(r"\n[ \t]{0,30}(?:\r?\n|```|~~~)")


@lru_cache(maxsize=64)
def _closing(char: str, width: int) -> re.Pattern[str]:
    return re.compile(rf"\n[ \t]{{0,30}}{char}{{{width}}}")


_LINE_END = re.compile(r"[^\n]*\n")


def _fence(desk: Desk, ticks: str, start: int, opening: Match, context: Context) -> Reading[None]:
    """Read a fence that began at `start`; `opening` is the rest of its first line."""
    src, ledger = desk.src, desk.ledger
    info = opening.group().strip()
    src.pos = opening.end() - 1
    body_start = src.at + 1
    cued = context.cued or (
        desk.fence_cued and not src.text(max(desk.fence_end, 0), start).strip() and desk.fence_end >= 0
    )
    language = info.split()[0].lower() if info else ""
    if language in _RESULTS and ledger.attempts and not cued and src.rewind(start):
        yield from desk.cut(ticks + language, context)
        return
    may_be = language in INFOS and not cued and not ledger.unfenced and not desk.in_fence
    if may_be:
        src.pos += 1
        may_be = yield from _starts_like_call(desk)
        src.rewind(body_start - 1)
    desk.held = may_be
    closed = yield from _to_end(desk, ticks)
    body_end = src.at
    if closed is not None:
        src.pos += closed
    desk.fence_end, desk.fence_cued = src.at, cued
    if may_be:
        body = src.text(body_start, max(body_start, body_end))
        if closed is None:
            body = _HALF_CLOSING.sub("", body)
        _judge(desk, language, body, body_start, closed is not None)
    else:
        ledger.show(src.at)


def _starts_like_call(desk: Desk) -> Reading[bool]:
    yield from desk.src.skip()
    found = yield from desk.src.match(_CALL_LIKE, 64)
    return found is not None or _HALF_NAME.fullmatch(desk.src.tail() or "") is not None


def _to_end(desk: Desk, ticks: str) -> Reading[int | None]:
    """Move to the line that closes the fence; how long it is, or None when the answer ends first."""
    src = desk.src
    closing = _closing(ticks[0], len(ticks))
    while True:
        found = yield from src.find(closing, "\n", 31 + len(ticks))
        if found is None:
            return None
        width = found.end() - found.start()
        src.pos += width
        yield from src.match(_LINE_END, 100)
        rest = src.buf[src.pos : src.pos + 100].partition("\n")[0]
        if not rest.strip(" \t\r" + ticks[0]):
            src.pos -= width
            return width + len(rest)


def _judge(desk: Desk, language: str, body: str, offset: int, closed: bool) -> None:
    """Take the calls of a fence if it holds nothing but calls of known tools."""
    inner = desk.inner(body)
    attempts = [attempt for part in inner.parts for attempt in part.attempts]
    if not closed and not attempts and language == "tool_code" and _is_half_call(desk, body):
        draft = desk.new_draft("gemma_tool_code")
        draft.fail("truncated", "the answer ended where the call begins", offset, desk.src.at)
        desk.conclude(draft, provisional="fenced")
        return
    good = [attempt for attempt in attempts if attempt.failure is None and attempt.known]
    failed = [attempt for attempt in attempts if attempt.failure is not None]
    cut = not closed and len(failed) == 1 and failed[0] is attempts[-1] and failed[0].failure == "truncated"
    wrong = bool(failed) and closed and all(attempt.name and desk.tools.resolve(attempt.name) for attempt in failed)
    if inner.has_text or not attempts or len(good) + len(failed) < len(attempts) or (failed and not cut and not wrong):
        desk.ledger.show(desk.src.at)
        return
    draft = desk.new_draft("fenced_json")
    for attempt in attempts:
        draft.adopt(_moved(attempt, offset, language))
    if not closed:
        draft.unclosed()
    desk.conclude(draft, provisional="fenced")


def _is_half_call(desk: Desk, body: str) -> bool:
    """Whether a fence that was not closed holds no more than the beginning of a tool's name."""
    written = body.strip().removeprefix("print(").removeprefix("default_api.")
    return any(name.startswith(written) for name in desk.tools.names)


def _moved(attempt: Attempt, offset: int, language: str) -> Attempt:
    dialect = "fenced_json" if attempt.dialect in _BARE else attempt.dialect
    if language == "tool_code" and dialect == "pythonic_list":
        dialect = "gemma_tool_code"
    return replace(attempt, start=attempt.start + offset, end=attempt.end + offset, dialect=dialect)
