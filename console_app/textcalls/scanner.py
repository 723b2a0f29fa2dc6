"""Reads an answer as it streams in: text goes on the screen, calls are collected until the end decides.

The scanner looks for openings in running text and hands what follows to the grammar of a dialect. It runs as one
generator over a `Source`, so that feeding it whole or in pieces is the same thing."""

import re
from collections.abc import Callable, Generator, Sequence
from typing import Literal

from console_app.records import replace
from console_app.textcalls import model
from console_app.textcalls.bodies.draft import Places
from console_app.textcalls.dialects.coats import HALF, INNER, MAY_BE_TEXT, PLAIN_THINKING, THINKING, is_end, is_inner
from console_app.textcalls.mentions import mentioned
from console_app.textcalls.openings import openers
from console_app.textcalls.openings.bare import read_call_lines, read_list, read_object, read_ticks
from console_app.textcalls.openings.markers import read_label, read_marker, read_opening, read_tool_tag
from console_app.textcalls.openings.scan_state import ANYTHING, MOST_CALLS, ScanOutput, ScanState
from console_app.textcalls.patterns import compiled, lazily, partly
from console_app.textcalls.source import LOOKAHEAD, Match, Reading, Source, first_within
from console_app.textcalls.tool_schemas import ToolSchemas

_HELD = 256
_PATIENCE = 64
_HALF_WORD = 32  # characters held back that are looked at once more with the next piece, for prose holds back so many
_FOREIGN = 1000  # names that are no tool's, as those of elements, which are looked up but once
_SLICE = 1 << 14  # characters that are taken in at once, so that what is held back is moved in small pieces
MOST_IDLE = 20_000  # marks that open no call are looked at in one answer; brackets that are read for it count too
_BRACKETS = 25  # of them cost as much as a mark
LONGEST_ANSWER = 4_000_000  # characters that are read for calls
UNREAD = 16_000  # characters that wait for their end, as of a call: to read so many at once takes 25 ms at most
LOOSE = 50_000  # characters of text whose structure may have to be followed at once, in about as long
_THOUGHTS = 2  # marks in reasoning that are looked at
_THOUGHT = 4000  # characters of each
_NEWEST = 100_000  # characters of reasoning in which they are looked for
_HALF_TAG = lazily(r"<[^<>\n]*")
_HALF_TOKEN = lazily(lambda: rf"{HALF}|{partly(sorted(openers.KIND_OF))}|[,;|]?\s*(?:[\[{{]\s*)*(?:\"\w*\"?)?")


class Scanner:
    """Reads one answer. `tools` are those the model may call; `prefer` names the dialect it was asked to write;
    `level` says which calls count. `licensed` is the form in which the model is known to write: its calls are final as
    soon as each has its own end, though not before the end of reasoning that the prompt opened (`thinks`)."""

    def __init__(
        self,
        tools: Sequence[model.ToolSignature],
        prefer: str | None = None,
        level: model.ReadingLevel = "all",
        *,
        licensed: str | None = None,
        thinks: bool = False,
    ) -> None:
        self._tools = tools
        self._state = ScanState(Source(), ToolSchemas(tools), _read_inner, licensed or prefer, level, licensed, thinks)
        self._state.src.patience = _PATIENCE if licensed is None else 1
        self._reading = read_answer(self._state)
        self._result: model.ScanResult | None = None
        self._apart: list[str] = []
        self.tail_events: list[model.ScanEvent] = []  # that `finish` had to tell beside the result

    def feed(self, chunk: str) -> list[model.ScanEvent]:
        """Read on and return the events that this piece of the answer causes."""
        state, src = self._state, self._state.src
        unread, awaited, end = src.buf[src.pos :] if src.pos else src.buf, src.awaited, 0
        room = LONGEST_ANSWER - src.length
        if len(unread) > _HALF_WORD or len(chunk) > room:
            unread = ""
        elif unread := unread + chunk:
            if awaited:
                end = 0 if awaited in unread else len(unread)
            elif state.running and state.reopening is None:
                found = openers.PLAIN.search(unread)
                if found is None or not openers.LEAD.search(unread, found.start()):
                    end = found.start() if found else len(unread)
            if end and not state.held and state.output.run_on(text := unread[:end]):
                src.pass_over(chunk, unread[end:])
                return [model.VisibleText(text)]
        if len(chunk) > room:  # all beyond is text, told of as it comes: who limits text can count it
            events = list[model.ScanEvent]()
            if not src.ended:
                events, chunk = self.feed(chunk[:room]), chunk[room:]
                _read_out(self._state, self._reading)
                why = f"{model.GAVE_UP}: it is longer than {LONGEST_ANSWER} characters"
                state.output.note(src.length, src.length, why)
                state.output.wait_no_more()
            src.pass_over(chunk)
            state.output.show(src.length)
            return [*events, *state.flush()]
        if unread and awaited and end:
            src.pass_over(chunk)
        else:
            for start in range(0, len(chunk), _SLICE):
                src.feed(chunk[start : start + _SLICE])
                next(self._reading)
        if not state.held:
            state.output.show(state.src.at)
        elif state.draft is not None:
            state.draft.look()
        return state.flush()

    def work(self, chunk: str) -> Literal["none", "some", "much"]:
        """Say how much `chunk` may cost: it may end something long ("much"), or open one behind long text ("some")."""
        state = self._state
        if state.src.length - state.output.mark > UNREAD:
            return "much"
        return "some" if state.src.length - state.structure.upto > LOOSE and openers.PLAIN.search(chunk) else "none"

    def reasoned(self, text: str) -> None:
        """Take reasoning that came apart from the text, none of which then turns out to be part of it."""
        self._apart.append(text)
        self._state.thinks = False

    @property
    def thought(self) -> bool:
        """Tell whether reasoning ended that nothing in the answer opened, so that its prompt did."""
        return self._state.thought

    def finish(self, finish_reason: str | None = None) -> model.ScanResult:
        """Conclude the answer, which a token limit ended if `finish_reason` is "length"; events are `tail_events`."""
        if self._result is None:
            state = self._state
            if not state.src.ended:
                _read_out(self._state, self._reading)
            cut_short = finish_reason in ("length", "max_tokens")
            self._result = state.output.finish(state.tools, state.level, cut_short)
            self.tail_events = state.flush()
            if not self._result.calls and not any(one.name for one in self._result.problems):
                self._result = self._with_thought(self._result)
        return self._result

    def _with_thought(self, result: model.ScanResult) -> model.ScanResult:
        """Tell of a whole marked call that was only thought; talk of calls is none."""
        thought, upto = "\n".join(("".join(self._apart), result.reasoning))[-_NEWEST:], 0
        for _ in range(_THOUGHTS):
            found = mentioned(thought, self._state.tools, unmarked=False, start=upto)
            if found is None:
                break
            begin, upto, name = found
            call = parse(thought[begin : begin + _THOUGHT], self._tools, level="marked").calls[:1]
            if call and call[0].name == name and call[0].marked:
                answer = self._state.src.text(0, self._state.src.length)
                start = max(answer.find(call[0].raw), 0)
                end = start + len(call[0].raw)
                told = Places(answer).problem("ignored", f"{model.IN_REASONING}.", start, end, name)
                return replace(result, problems=(*result.problems, told))
        return result


def _read_out(state: ScanState, reading: Generator[None, None, None]) -> None:
    state.src.ended = True
    for _ in reading:
        raise AssertionError("a grammar waits for text after the end")
    state.output.show(state.src.at)


def read_answer(state: ScanState) -> Generator[None, None, None]:
    src, output = state.src, state.output
    if (yield from src.peek()) == "\ufeff":
        src.pos += 1
        output.drop(src.at)
    if not state.in_fence:
        yield from read_opening(state)
    while True:
        if state.level != "none" and not output.has_text and not output.attempts and output.mark == src.at:
            yield from read_call_lines(state)
        found = yield from _next_opener(state)
        if found is None:
            return
        if state.idle > MOST_IDLE or output.attempts >= MOST_CALLS:  # nobody writes so but to keep a reader busy
            many = f"it holds more than {MOST_CALLS} of them"
            idle = "too much before it looks like the beginning of one"
            state.gave_up = f"{model.GAVE_UP}: {idle if state.idle > MOST_IDLE else many}"
            output.note(src.at, src.at, state.gave_up)
            yield from src.skip(ANYTHING)
            return
        start, calls = src.at, output.calls
        output.show(start)
        state.held = True
        yield from _handle(state, found)
        if state.licensed:
            yield from state.start_calls()
        state.held = False
        if output.calls == calls:
            read = src.text(start, min(src.at, start + MOST_IDLE * _BRACKETS))
            state.idle += 1 + (read.count("{") + read.count("[")) // _BRACKETS


def _next_opener(state: ScanState) -> Reading[Match | None]:
    """Move to the next thing that may open something, and show text before it that can't become part of one."""
    src = state.src
    while True:
        found, held = _search(src)
        if state.reopening is not None and _reopens(state, found):
            continue
        sure = src.ended or (found and found.group() not in openers.EXTENDABLE)
        if found and (sure or len(src.buf) - found.start() >= openers.LONGEST):  # no more text makes it longer
            src.pos = found.start()
            name = found["tag"] or found["callee"]
            if name is None or (name not in state.foreign and state.tools.resolve(name)):
                return found
            src.pos += 1  # it looks like the call of a tool, but there is no such tool
            if len(state.foreign) < _FOREIGN:
                state.foreign.add(name)
        elif found is None and src.ended:
            if not state.output.cut_off:  # where a grammar stopped is where its call was cut off
                src.pos = held
            _drop_half_token(state)
            src.pos = len(src.buf)
            return None
        else:
            start, src.pos = max(src.pos, len(src.buf) - _HELD), held
            if state.reopening is not None and (at := src.buf.find(state.reopening.lead, start)) >= 0:
                src.pos = min(src.pos, at)
            state.running = True
            yield
            state.running = False


def _search(src: Source) -> tuple[Match | None, int]:
    """Return the next opener in what has come, unless half of one stands before it, and up to where neither does."""
    at, end = src.pos, len(src.buf)
    from_word = max(at, end - openers.LONGEST)
    while lead := openers.LEAD.search(src.buf, at):
        at = lead.start()
        if found := openers.TOKEN.match(src.buf, at):
            return found, at
        if not src.ended and end - at <= _HELD and openers.HELD.match(src.buf, at):
            end = at
            break
        at += 1
    if src.ended:
        half = openers.HELD.search(src.buf, max(src.pos, end - _HELD))
    else:
        half = openers.HALF_WORD.search(src.buf, from_word)
    return None, min(half.start(), end) if half else end


def _reopens(state: ScanState, found: Match | None) -> bool:
    """Extend the last call if the real end of its last value comes before the next opener."""
    assert state.reopening is not None, "there is a call to reopen"
    src = state.src
    begin = max(src.pos, state.unended - src.offset(0))
    if found and src.buf.find(state.reopening.lead, begin, found.start()) < 0:
        return False
    end = first_within(state.reopening.end, src.buf, begin, len(src.buf))
    state.unended = src.offset(end.start() if end else max(begin, len(src.buf) - LOOKAHEAD))
    if end is None or (found is not None and found.start() < end.start()):
        return False
    value_end = src.offset(end.start())
    state.output.show(value_end)
    src.pos = end.end()
    state.output.extend(src.at, value_end, state.reopening)
    return True


def _drop_half_token(state: ScanState) -> None:
    """Drop half a token directly after a call, where the answer ended."""
    src, output = state.src, state.output
    rest = (src.tail() or "").lstrip()
    half = _HALF_TAG if output.cut_off else _HALF_TOKEN
    start = src.length - len(rest)
    alone = rest and output.attempts and half.fullmatch(rest.rstrip()) and rest.strip() != "]"
    if alone and not src.text(state.structure.floor, start).strip():
        src.at = start
        output.show(start)
        src.pos = len(src.buf)
        output.drop(src.at)


def _handle(state: ScanState, found: Match) -> Reading[None]:
    """Read what an opening opens; what turns out to be text is left to be shown."""
    src, token, kind = state.src, found.group(), found.lastgroup or ""
    if kind == "literal":
        kind = openers.KIND_OF[token]
        if token in PLAIN_THINKING:
            tool = state.tools.resolve(token[1:-1])
            kind = "tag" if tool else kind if state.structure.lines(src.at).line_start else "text"
    if kind == "text" or (state.level == "none" and kind in _UNMARKED) or (kind == "mark" and is_inner(token)):
        src.pos += len(token)
    elif kind == "mark" and is_end(token):
        yield from _stray(state, "closer", token)
    elif kind in ("mark", "marker", "begin"):
        yield from read_marker(state, token, inside=kind == "begin" or token in openers.BEGINS)
    elif kind in _READERS:
        yield from _READERS[kind](state, found["callee"] or found["member"] or found["key"] or token)
    elif kind == "fabricated":
        yield from state.cut(token, state.structure.lines(src.at))
    else:
        yield from _stray(state, kind, token)


def _thinking(state: ScanState, token: str) -> Reading[None]:
    src, output = state.src, state.output
    src.pos += len(token)
    ends = re.escape(THINKING[token])
    if token == INNER[0]:  # the calls of Apertus stand between its thoughts
        ends, state.inner = rf"{ends}|(?=<\|tools_prefix\|>)", True
    found = yield from src.find(compiled(ends), "<" if state.inner else THINKING[token][0], 32)
    held = src.text(output.mark + len(token), src.at)
    if found:
        src.pos = found.end()
        state.thinks = False
        state.inner = state.inner and not found.group()
    output.drop(src.at, "thought", held)


def _stray(state: ScanState, kind: str, token: str) -> Reading[None]:
    """Read a token that opens nothing. One that may be meant as text is dropped only where a call or the text ends."""
    src, output, line_start = state.src, state.output, state.structure.lines(state.src.at).line_start
    src.pos += len(token)
    if kind == "thought" and token == INNER[1] and state.inner:
        state.inner = False
        output.drop(src.at)
    elif kind == "thought":
        state.thinks, state.thought = False, True
        output.forget(src.at)
        state.reopening = None
    elif kind == "closer" and state.shown_section:
        state.shown_section = False
    elif kind == "closer":
        state.section = ""
        if token.startswith(("<|", "<｜")) or (output.attempts and line_start):
            output.drop(src.at)
    elif token not in MAY_BE_TEXT or (yield from src.ahead()) in ("", "<" if line_start else ""):
        output.drop(src.at)


_READERS: dict[str, Callable[[ScanState, str], Reading[None]]] = {
    "tag": read_tool_tag, "label": read_label, "ticks": read_ticks, "callee": read_list, "member": read_object,
    "key": read_object, "thinking": _thinking,
}  # fmt: skip
_UNMARKED = ("tag", "label", "callee", "member", "key")


def _read_inner(outer: ScanState, text: str) -> ScanOutput:
    state = ScanState(Source(), outer.tools, _read_inner, outer.prefer, in_fence=True)
    state.src.feed(text)
    _read_out(state, read_answer(state))
    if state.gave_up:
        outer.output.note(outer.src.at, outer.src.at, state.gave_up)
    return state.output


def parse(
    text: str,
    tools: Sequence[model.ToolSignature],
    chunk: int | None = None,
    finish_reason: str | None = None,
    level: model.ReadingLevel = "all",
    licensed: str | None = None,
    prefer: str | None = None,
) -> model.ScanResult:
    """Read a whole answer, fed `chunk` characters at a time (all at once unless told)."""
    scanner = Scanner(tools, prefer, level, licensed=licensed)
    step = chunk or max(1, len(text))
    for start in range(0, len(text), step):
        scanner.feed(text[start : start + step])
    return scanner.finish(finish_reason)
