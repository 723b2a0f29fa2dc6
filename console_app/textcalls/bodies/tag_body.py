"""Calls as tags around raw values, which may hold anything, their own tags included.

A value's closing tag counts only where something may legally follow it: the next parameter, the end of the call, or
that of the answer. A whole call within a value is data, so openings and ends of calls are counted while it is read."""

import re
from functools import cache, lru_cache, partial
from typing import Any

from console_app.records import dataclass, field
from console_app.textcalls.bodies.draft import Draft, Region, Reopening, close_region
from console_app.textcalls.bodies.framing import JSON, frame
from console_app.textcalls.bodies.literals import decode_json
from console_app.textcalls.dialects.coats import CLOSE_TAG, HALF_TAG
from console_app.textcalls.model import Arguments, Unreadable
from console_app.textcalls.patterns import IDENT, any_of, compiled, lazily, unnamed
from console_app.textcalls.source import LOOKAHEAD, Match, Reading, Source
from console_app.textcalls.tool_schemas import ToolSchemas

_STRAY = "something other than a parameter stands in it"
_PLAIN = lazily(r"<(?:invoke|function|(?:tool|function)_calls?>)")
_SPACED = lazily(r"<function\s*(?:\s[^<>]*)?name")
_CDATA = lazily(r"\s*<!\[CDATA\[")


@dataclass(frozen=True, eq=False)  # its patterns are found by it for each call
class TagBody:
    """Patterns of the tags. `call` has a group `name`; `param` a group `key`, and `type` or `string` where tags
    tell it.

    In any of them NAMES stands for any name, NAME for this one, KEYS for its parameters and KEY for this one; a group
    `server` of `call` is the first half of a tool's name, where there is such a tool. `inner`: the call's opening as it
    looks within a value, where it differs. `empty`: an opening that is the whole call. `json`: one JSON object may
    stand in place of the parameters. `exact`: every character of a value is part of it, line breaks at its ends
    included; None: the coat says it. `trim`: white space around a single-line value is not part of it, and entities
    stand for characters. `wrapper`: what may stand before the parameters. `nested`: a prefix by which values hold tags
    again. `open_end`: the token that ends a call may have been taken away with the answer's end."""

    call: str
    param: str
    param_end: str
    call_end: str
    lead: str = "<"
    exact: bool | None = False
    trim: bool = False
    nested: str = ""
    empty: str = r"(?!)"
    inner: str = ""
    json: bool = False
    wrapper: str = ""
    open_end: bool = False

    @property
    def start(self) -> str:
        param = unnamed(self.param.replace("KEYS", r"[\w.-]+"))
        json = r"|\{" if self.json else ""
        wrapped = rf"(?:{self.wrapper}\s*)?" if self.wrapper else ""
        whole = "" if self.empty == TagBody.empty else "(?<=/>)|"
        return rf"\s*{self.call}(?:{whole}(?=\s*{wrapped}(?:{param}|{self.call_end}|</{json})))"

    def read(self, src: Source, region: Region, draft: Draft) -> Reading[None]:
        yield from src.skip()
        begin = src.at
        head = yield from src.match_like(tag_pattern(self.call))
        if head is None:
            yield from region.fail_and_skip(src, draft, region.start, "the tag that opens the call is broken")
            return
        written, server = head["name"].strip(), (head.groupdict().get("server") or "").strip()
        if server and draft.tools.resolve(f"{server}_{written}"):
            written = f"{server}_{written}"
        src.pos += head.end()
        draft.open(written, src.at)
        yield from self.read_behind(head, written, begin, src, region, draft)

    def read_behind(
        self, head: Match, written: str, begin: int, src: Source, region: Region, draft: Draft
    ) -> Reading[None]:
        """Read on behind the opening of a call, which began at `begin`."""
        name = draft.name_of(written)
        patterns = _patterns(self, written, tuple(draft.tools.properties(name)), region.opens, region.closes)
        exact = _by_coat(head.group(), region.token) if self.exact is None else self.exact
        yield from _Call(self, src, region, draft, name, begin, exact, patterns).read(head)
        yield from close_region(src, region, draft, required=False)


@lru_cache(maxsize=256)
def tool_tag(token: str, name: str, keys: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of a tag with a tool's name, and of what has to follow it unless it is empty."""
    key = any_of(keys) or r"[\w.-]+"
    inside = rf"\s*(?:<args>\s*)?(?:<(?:{key})>|</{re.escape(name)}>|\{{\s*[\"}}])"
    return compiled(re.escape(token) + ("" if token.endswith("/>") else inside))


@cache
def tag_pattern(pattern: str) -> re.Pattern[str]:
    """Return a tag's pattern for any name: a pattern of thousands of tools would take long."""
    return compiled(pattern.replace("NAMES", IDENT))


class _Patterns:
    """The patterns of the calls of one tool between the same tokens: made once, however many calls an answer has."""

    def __init__(self, tags: TagBody, written: str, keys: tuple[str, ...], opens: str, closes: str) -> None:
        self.param = param = tags.param.replace("KEYS", any_of(keys) or r"[\w.-]+").replace("NAME", re.escape(written))
        self.done = done = tags.call_end.replace("NAME", re.escape(written))
        self.closers = closes or r"(?!)"
        inner = (tags.inner or tags.call).replace("NAMES", re.escape(written))
        self.inner = rf"{inner}\s*(?:{unnamed(param)}|{done})"
        self.steps = rf"\s*(?:(?P<param>{param})|(?P<done>{done})|(?P<close>{self.closers}))"
        self.step, self.empty = compiled(self.steps), compiled(tags.empty)
        inside = unnamed(f"{param}|{done}")
        wrapped = rf"\s*(?:(?P<around>{tags.wrapper})\s*(?P<next>\S)|(?!{tags.wrapper})(?:{inside}|[^\s<]))"
        self.wrapper = compiled(wrapped) if tags.wrapper else None
        self.lead = tags.lead + ("/" if tags.lead == "<" and "</" in tags.param_end else "")
        told = {"string": "true", "type": "string"}
        self.told, self.text = next(((one, told[one]) for one in told if one in self.step.groupindex), ("", ""))
        named = "KEY" in tags.param + tags.param_end  # as of a parameter, which may have any
        self.half = None if named or (tags.inner or tags.call)[0] != "<" else HALF_TAG
        self._opens = opens or r"(?!)"
        self._param_end = tags.param_end
        self._values: dict[str, _ValueEnd] = {}

    def value_end(self, key: str) -> "_ValueEnd":
        key = key if "KEY" in self._param_end else ""
        if key not in self._values:
            self._values[key] = _ValueEnd(self, self._param_end.replace("KEY", re.escape(key)))
        return self._values[key]

    def next_call(self, end: str) -> re.Pattern[str]:
        """Return a pattern of a value's closing tag directly before the opening of another call."""
        return compiled(rf"(?:{end})\s*(?:{self._opens}\s*)?(?:{self.inner})")


class _ValueEnd:
    """`follow` is the closing tag of a value and then a step, `tokens` all that matters within the value, `next_call`
    the tag directly before another `call`, `reopens` the tag and then the end of the call."""

    def __init__(self, of: _Patterns, end: str) -> None:
        self.follow = compiled(rf"(?P<end>{end}){of.steps}")
        # the names stand behind, so that the engine sees the sign with which all begin, and skips to it
        kinds = {"end": end, "call": of.inner, "done": of.done, "next": of.param}
        self.tokens = compiled("|".join(f"(?:{one})(?P<{kind}>)" for kind, one in kinds.items()))
        self.next_call, self.call = of.next_call(end), compiled(of.inner)
        self.reopens = compiled(rf"(?:{end})\s{{0,64}}(?:{of.done})")


_patterns = lru_cache(maxsize=256)(_Patterns)


@dataclass(slots=True)
class _Call:
    """A call from after its opening tag to after its end, while it is read."""

    tags: TagBody
    src: Source
    region: Region
    draft: Draft
    name: str
    begin: int
    exact: bool | None
    patterns: _Patterns
    arguments: Arguments = field(default_factory=dict[str, Any])
    repaired: dict[str, None] = field(default_factory=dict[str, None])
    last: tuple[str, bool | None, int, _ValueEnd] | None = None
    stray: bool = False
    open: bool = False

    def read(self, head: Match) -> Reading[None]:
        src = self.src
        if not self.patterns.empty.match(head.group()):
            if self.patterns.wrapper:
                found = yield from src.match(self.patterns.wrapper)
                if found and found["next"] in ("<", "{"):
                    src.pos = found.end("around")
            step = self.patterns.step.match(src.buf, src.pos, src.pos + LOOKAHEAD)
            is_json = step is None and (yield from src.ahead()) == "{"
            if not (yield from self._json_arguments() if is_json else self._parameters(step)):
                return
        arguments = self.draft.tools.coerced(self.name, self.arguments) if self.tags.nested else self.arguments
        self.draft.done(self.name, arguments, self.begin, src.at, repaired=tuple(self.repaired))
        if self.open:
            self.draft.unclosed()
        if self.last is not None and not self.repaired:
            (key, is_text, start, end), lead = self.last, self.patterns.lead
            decode = partial(_decode, self.tags, self.draft.tools, self.name, key, is_text, self.exact is True)
            self.draft.reopening = Reopening(  # which knows no draft: so a call is gone with its last use
                start, end.reopens, lead, lambda raw: {**arguments, key: decode(_outdented(src, start, raw))}
            )

    def _parameters(self, found: Match | None) -> Reading[bool]:
        src = self.src
        while True:
            found = found or (yield from src.match(self.patterns.step))
            if found is None and self.last is not None and (yield from src.match(self.patterns.next_call(""))):
                self.repaired["the end of the call was missing"] = None
                return True
            if found is None:
                yield from src.skip()
                rest = src.tail()
                self.open = rest == "" and self.tags.open_end and self.last is not None
                if self.open:
                    return True
                if rest == "" or (rest and rest[0] in self.tags.lead and ">" not in rest[1:] and "\n" not in rest):
                    self._cut("the answer ended before the call did")
                else:
                    yield from self.region.fail_and_skip(src, self.draft, self.begin, _STRAY)
                return False
            if found["close"] is not None:
                self.repaired["the end of the call was missing"] = None
                return True
            src.pos = found.end()
            if found["done"] is not None:
                return True
            stop = yield from self._value(found)
            if stop is None:
                return False
            found = stop if stop["end"] is not None and stop.lastgroup != "end" else None

    def _cut(self, why: str) -> None:
        self.draft.fail("truncated", why, self.begin, self.src.at, self.name)
        self.src.pos = len(self.src.buf)

    def _json_arguments(self) -> Reading[bool]:
        yield from self.src.skip()
        span = yield from frame(self.src, JSON)
        if span.state == "cut":
            self._cut("the answer ended inside the arguments")
            return False
        if span.state == "closed":
            try:
                value, repaired = decode_json(self.src.text(span.start, span.end))
            except Unreadable as error:
                yield from self.region.fail_and_skip(self.src, self.draft, self.begin, error.message)
                return False
            self.arguments = self.draft.tools.coerced(self.name, value)
            self.repaired.update(dict.fromkeys(repaired))
            end = yield from self.src.match(
                compiled(rf"\s*(?:(?P<done>{self.patterns.done})|(?={self.patterns.closers}))")
            )
            if end:
                self.src.pos = end.end()
                return True
            if self.src.ended:
                self._cut("the answer ended before the call did")
                return False
        why = span.why or "something follows its arguments"
        yield from self.region.fail_and_skip(self.src, self.draft, self.begin, why)
        return False

    def _value(self, head: Match) -> Reading[Match | None]:
        """Read one parameter's raw value and its closing tag. Return what ended it, with the next step where that is
        known; None when the answer ended first."""
        src, key = self.src, head["key"].strip()
        start, begin = src.at, src.pos
        end = self.patterns.value_end(key)
        plain = src.buf.find(self.tags.lead, begin)  # most values hold no sign with which a tag begins
        stop = end.follow.match(src.buf, plain, plain + LOOKAHEAD) if plain >= 0 else None
        raw = src.buf[begin:plain] if stop else ""
        if stop is None or (self.tags.lead != "<" and "<" in raw):
            if (yield from src.ahead()) == "<" and (cdata := (yield from src.match(_CDATA, 64))):
                src.pos = cdata.end()
                yield from src.find(compiled(r"\]\]>"), "]", 3)
            stop = yield from self._find_end(end)
            raw = src.text(start, src.at)
        if stop is None:
            if self.stray:
                yield from self.region.fail_and_skip(src, self.draft, self.begin, _STRAY)
            else:
                self._cut("the answer ended inside a value")
            return None
        if stop["end"] is not None:
            src.pos = stop.end("end")
        else:
            self.repaired["the end of a value was missing"] = None
            if not raw.startswith("\n"):
                raw = raw.removesuffix("\n").removesuffix("\r")  # what stands on the next line ends the value
        raw = _outdented(src, start, raw)
        on_lines = raw.startswith(("\n", "\r\n")) and raw.endswith("\n")
        self.exact = True if self.exact is None and not on_lines else self.exact
        told = head[self.patterns.told] if self.patterns.told else None
        is_text, tools = told == self.patterns.text if told else None, self.draft.tools
        self.arguments[key] = _decode(self.tags, tools, self.name, key, is_text, self.exact is True, raw)
        self.last = (key, is_text, start, end)
        return stop

    def _find_end(self, end: _ValueEnd) -> Reading[Match | None]:
        """Move to where the value ends and return its closing tag, or what implies it; None where the answer ended, or
        (`stray`) where something that is no parameter follows the closing tag."""
        src = self.src
        depth = 0
        start, fallback, before_call, closed = src.at, None, None, False
        while True:
            found = yield from src.find(end.tokens, self.tags.lead, LOOKAHEAD, src.patience, self.patterns.half)
            if found is None:
                ended = rf"(?:{self.patterns.done})\s*(?:{self.patterns.closers}\s*)*$"
                rest = src.text(max(self.begin, src.length - 200), src.length)
                if before_call is not None and depth == 0 and compiled(ended).search(rest):  # nothing was cut off
                    fallback = before_call
                elif fallback is not None and not self._ends_there(fallback):
                    fallback = None
                elif fallback is not None and closed:
                    self.stray = src.rewind(fallback)
                    return None
                if fallback is not None and src.rewind(fallback):
                    return end.tokens.match(src.buf, src.pos)
                return None
            kind = found.lastgroup
            if kind == "next" and (yield from src.match(end.call)):
                kind = "call"  # the opening of a parameter may be the beginning of that of a call
            if kind == "end":
                if depth == 0 and (legal := (yield from self._legal(end))):
                    return legal
                if depth == 0 and before_call is None and (yield from src.match(end.next_call)):
                    before_call = src.at
                closed = closed or depth == 0
            elif kind == "call":
                depth += 1
            elif kind == "done":
                if depth == 0 and fallback is None:
                    fallback = src.at
                depth = max(0, depth - 1)
            elif depth == 0 and self._is_next(found, start):
                self.stray = closed
                return None if closed else found
            src.pos += found.end() - found.start() if kind != "call" else 1

    def _ends_there(self, offset: int) -> bool:
        """Tell whether the ends of the call and of the region stand at `offset`: only the value's is missing."""
        rest = self.src.text(offset, self.src.length)
        closer = self.patterns.closers if self.region.closes else ""
        if CLOSE_TAG in self.tags.call_end:
            closer = rf"(?:{self.patterns.closers})?"  # one tag ends both the call and the region
        return compiled(rf"(?:{self.patterns.done})\s*{closer}\s*(?:$|{self.patterns.inner})").match(rest) is not None

    def _is_next(self, found: Match, start: int) -> bool:
        """Tell whether the opening of a parameter inside a value means that the value's end was forgotten."""
        key = found.group("key").strip()
        return key in self.draft.tools.properties(self.name) and key not in self.arguments and self.src.at > start

    def _legal(self, end: _ValueEnd) -> Reading[Match | None]:
        """Return the closing tag that stands here, with the next step, if what stands after it may follow one."""
        src = self.src
        follow = yield from src.match(end.follow)
        found = None if follow or src.tail() is None else end.tokens.match(src.buf, src.pos)
        return follow or (found if found and not src.buf[found.end() :].strip() else None)


@lru_cache(maxsize=256)
def _by_coat(head: str, token: str) -> bool | None:
    """Return `exact` of tags: coats with a prefix keep line breaks, at least where values stand beside their tags."""
    if _SPACED.match(head):
        return True
    plain = not token or _PLAIN.match(token) is not None
    if "function" in head.partition("=")[0]:
        return False if plain else None
    return not plain or _PLAIN.match(head) is None


def _decode(tags: TagBody, tools: ToolSchemas, name: str, key: str, is_text: bool | None, exact: bool, raw: str) -> Any:
    if is_text:
        return raw
    if is_text is not None:
        try:
            return decode_json(raw)[0]
        except Unreadable:
            return raw
    if tags.nested and (tags.nested in raw or not raw.strip()):
        return tools.fitted(name, key, nested_value(raw, tags.nested))
    return tools.typed(name, key, raw, trim=tags.trim, exact=exact)


def _outdented(src: Source, start: int, raw: str) -> str:
    """Return a value from `start` on without the indentation that the model gave to each line of its call."""
    if not raw[-1:].isspace() or raw[-1] == "\n":
        return raw
    line = src.text(max(0, start - LOOKAHEAD), start).rpartition("\n")[2]
    indent = line[: -len(line.lstrip())]
    if not indent or raw[:1] not in ("\n", "\r") or not raw.endswith(f"\n{indent}"):
        return raw
    lines = raw.removesuffix(indent).split("\n")
    each = all(one.startswith(indent) or not one.strip() for one in lines[1:])
    return "\n".join(one.removeprefix(indent) if each else one for one in lines)


def nested_value(raw: str, prefix: str) -> Any:
    """Return a value that is tags with a prefix: items make a list, other names an object, the rest is text."""
    tag = re.compile(rf"{re.escape(prefix)}<(/?)([\w.-]+)>")
    stack: list[tuple[str, list[tuple[str, Any]], int]] = [("", [], 0)]
    for found in tag.finditer(raw):
        closing, name = found.groups()
        if not closing:
            stack.append((name, [], found.end()))
        elif len(stack) > 1 and stack[-1][0] == name:
            _, members, begin = stack.pop()
            stack[-1][1].append((name, _members(members) if members else raw[begin : found.start()]))
        else:
            return raw
    return _members(stack[0][1]) if len(stack) == 1 and stack[0][1] else raw


def _members(members: list[tuple[str, Any]]) -> Any:
    if all(name == "item" for name, _ in members):
        return [value for _, value in members]
    return dict(members)
