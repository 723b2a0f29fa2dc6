"""Reads an answer as it streams in: what is text goes on the screen, what is a call is collected, until the end
decides.

The scanner looks for openings in running text and hands what follows to the grammar of a dialect. It runs as
one generator over a `Source`, so that feeding it whole or in pieces is the same thing.
"""

import re
from collections.abc import Generator, Sequence

from console_app.dialects.bare import read_call_lines, read_list, read_object
from console_app.dialects.context import Context, context_at
from console_app.dialects.desk import Desk
from console_app.dialects.fences import read_ticks
from console_app.dialects.labels import read_label
from console_app.dialects.ledger import Ledger
from console_app.dialects.markers import read_marker, read_tool_tag
from console_app.dialects.model import ScanEvent, ScanResult, ToolSignature
from console_app.dialects.openers import EXTENDABLE, KIND_OF, LONGEST, THINKING, openers
from console_app.dialects.patterns import partly
from console_app.dialects.source import Match, Reading, Source
from console_app.dialects.toolbox import Toolbox

_HELD = 256
_CLOSES_THINKING = {opener: re.compile(re.escape(closer)) for opener, closer in THINKING.items()}
_HALF_TOKEN = re.compile(rf"{partly(sorted(KIND_OF))}|[,;|]?\s*(?:[\[{{]\s*)*(?:\"\w*\"?)?")
_HALF_TAG = re.compile(r"<[^<>\n]*")
_TURN_TOKEN_IN_TEXT = ("</s>", "<eos>", "<turn|>")


class Scanner:
    """Reads one answer. `tools` are those the model may call; `prefer` names the dialect it was asked to write."""

    def __init__(self, tools: Sequence[ToolSignature], prefer: str | None = None) -> None:
        toolbox = Toolbox(tools)
        self._desk = Desk(Source(), toolbox, _read_inner, prefer)
        self._reading = read_answer(self._desk)
        self._result: ScanResult | None = None
        self.tail_events: list[ScanEvent] = []
        """What `finish` had to tell beside the result."""

    def feed(self, chunk: str) -> list[ScanEvent]:
        """Read on; the events that this piece of the answer causes."""
        desk = self._desk
        desk.src.feed(chunk)
        next(self._reading)
        if not desk.held:
            desk.ledger.show(desk.src.at)
        elif desk.draft is not None:
            desk.draft.panels.look(desk.draft.dialect)
        return desk.flush()

    def finish(self, finish_reason: str | None = None) -> ScanResult:
        """The answer has ended; `finish_reason` "length" says that a token limit did it. The events are in
        `tail_events`.
        """
        if self._result is None:
            desk = self._desk
            desk.src.ended = True
            for _ in self._reading:
                raise AssertionError("a grammar waits for text after the end")
            desk.ledger.show(desk.src.at)
            self._result = desk.ledger.finish(cut_short=finish_reason in ("length", "max_tokens"))
            self.tail_events = desk.flush()
        return self._result


def read_answer(desk: Desk) -> Generator[None, None, None]:
    if (yield from desk.src.peek()) == "\ufeff":
        desk.src.pos += 1
        desk.ledger.drop(desk.src.at)
    while True:
        if not desk.ledger.has_text and not desk.ledger.attempts and desk.ledger.mark == desk.src.at:
            yield from read_call_lines(desk)
        found = yield from _next_opener(desk)
        if found is None:
            return
        desk.ledger.show(desk.src.at)
        context = context_at(desk.src, desk.src.at, desk.ledger.floor)
        desk.held = True
        yield from _handle(desk, found, context)
        desk.held = False


def _next_opener(desk: Desk) -> Reading[Match | None]:
    """Move to the next thing that may open something; text before it may be shown as it comes."""
    src, patterns = desk.src, openers()
    while True:
        found = patterns.token.search(src.buf, src.pos)
        if desk.reopening is not None and _reopens(desk, found):
            continue
        if found and (src.ended or _is_sure(desk, found)):
            src.pos = found.start()
            if not _is_foreign(desk, found):
                return found
            src.pos += 1
        elif found is None and src.ended:
            _drop_half_token(desk)
            src.pos = len(src.buf)
            return None
        else:
            _hold_back(desk, found, patterns.held)
            yield


def _hold_back(desk: Desk, found: Match | None, held: re.Pattern[str]) -> None:
    """Move to where text must not be shown yet, because more may make an opener of it."""
    src = desk.src
    start = max(src.pos, len(src.buf) - _HELD)
    half = found or held.search(src.buf, start)
    src.pos = half.start() if half else len(src.buf)
    if desk.reopening is not None:
        mark = "</" if desk.reopening.lead == "<" else desk.reopening.lead
        at = src.buf.find(mark, start)
        src.pos = min(src.pos, at) if at >= 0 else src.pos


def _is_foreign(desk: Desk, found: Match) -> bool:
    """Whether it looks like the call of a tool, but there is no such tool."""
    name = found["tag"] or found["callee"]
    return name is not None and desk.tools.resolve(name) is None


def _reopens(desk: Desk, found: Match | None) -> bool:
    """Extend the last call if the real end of its last value comes before the next opener."""
    assert desk.reopening is not None, "there is a call to reopen"
    end = desk.reopening.end.search(desk.src.buf, desk.src.pos)
    if end is None or (found is not None and found.start() < end.start()):
        return False
    desk.reopen(end)
    return True


def _drop_half_token(desk: Desk) -> None:
    """Half a token directly after a call, where the answer ended, is never shown."""
    src, ledger = desk.src, desk.ledger
    rest = (src.tail() or "").lstrip()
    half = _HALF_TAG if ledger.cut_off else _HALF_TOKEN
    start = src.length - len(rest)
    if rest and ledger.attempts and half.fullmatch(rest.rstrip()) and not src.text(ledger.floor, start).strip():
        src.at = start
        ledger.show(start)
        src.pos = len(src.buf)
        ledger.drop(src.at)


def _is_sure(desk: Desk, found: Match) -> bool:
    """Whether no more text could make an opener longer."""
    available = len(desk.src.buf) - found.start()
    return found.group() not in EXTENDABLE or available >= LONGEST


def _handle(desk: Desk, found: Match, context: Context) -> Reading[None]:
    """Read what an opening opens; what turns out to be text is left to be shown."""
    kind = found.lastgroup
    token = found.group()
    if context.blockquote and not (kind == "label" and token == ">>>"):
        desk.src.pos += len(token)
    elif kind == "literal":
        yield from _literal(desk, KIND_OF[token], token, context)
    elif kind == "spaced":
        yield from read_marker(desk, token, found.group("spaced"), context)
    elif kind == "tag":
        yield from read_tool_tag(desk, token, context)
    elif kind == "label":
        yield from read_label(desk, token, context)
    elif kind == "ticks":
        yield from read_ticks(desk, token, context)
    elif kind in ("member", "callee"):
        yield from read_list(desk, found["member"], context)
    else:
        yield from read_object(desk, found["key"], context)


def _literal(desk: Desk, kind: str, token: str, context: Context) -> Reading[None]:
    src, ledger = desk.src, desk.ledger
    if kind == "marker":
        yield from read_marker(desk, token, token, context)
    elif kind == "thinking":
        src.pos += len(token)
        found = yield from src.find(_CLOSES_THINKING[token], THINKING[token][0], 32)
        held = src.text(ledger.mark + len(token), src.at)
        if found:
            src.pos = found.end()
        ledger.drop(src.at, "thought", held)
    elif kind == "thought":
        src.pos += len(token)
        ledger.show(src.at)
        ledger.forget(len(token))
        desk.reopening = None
        ledger.floor = src.at
    elif kind == "fabricated":
        yield from desk.cut(token, context)
    elif kind == "silent":
        src.pos += len(token)
        ledger.drop(src.at)
    elif kind == "closer":
        src.pos += len(token)
        if token == desk.shown_section:
            desk.shown_section = ""
        elif token.startswith(("<|", "<｜")) or ledger.awaits(token) or (context.line_start and ledger.attempts):
            ledger.drop(src.at)
    else:
        yield from _turn_token(desk, token, context)


def _turn_token(desk: Desk, token: str, context: Context) -> Reading[None]:
    """A token that ends a turn is dropped; one that may be meant as text, only where the text ends."""
    src = desk.src
    src.pos += len(token)
    following = yield from src.ahead()
    if token not in _TURN_TOKEN_IN_TEXT or not following or (following == "<" and context.line_start):
        desk.ledger.drop(src.at)


def _read_inner(outer: Desk, text: str) -> Ledger:
    """Read the body of a fence for itself, in one piece."""
    desk = Desk(Source(), outer.tools, _read_inner, outer.prefer, in_fence=True)
    desk.src.feed(text)
    desk.src.ended = True
    for _ in read_answer(desk):
        raise AssertionError("a grammar waits for text after the end")
    desk.ledger.show(desk.src.at)
    return desk.ledger


def parse(
    text: str, tools: Sequence[ToolSignature], chunk: int | None = None, finish_reason: str | None = None
) -> ScanResult:
    """Read a whole answer, fed `chunk` characters at a time (all at once unless told)."""
    scanner = Scanner(tools)
    step = chunk or max(1, len(text))
    for start in range(0, len(text), step):
        scanner.feed(text[start : start + step])
    return scanner.finish(finish_reason)
