"""Calls as Python writes them, one a line or in a list; read as literals, never evaluated."""

import re
from functools import lru_cache
from typing import Any

from console_app.records import dataclass
from console_app.textcalls.bodies.draft import Draft, Region, close_region
from console_app.textcalls.bodies.framing import PYTHON, frame
from console_app.textcalls.bodies.literals import KEYWORD, LiteralReader
from console_app.textcalls.model import UNQUOTED, Arguments, Unreadable, is_object
from console_app.textcalls.patterns import any_of, lazily
from console_app.textcalls.source import Reading, Source
from console_app.textcalls.tool_schemas import ToolSchemas

NAME = r"[A-Za-z_][\w.\-]*"
_ENDED = lazily(rf"\s*(?:[,)]|{KEYWORD.pattern})")
_LIST = lazily(rf"\s*\[\s*{NAME}\s*\(")
_CALL = lazily(
    r"\s*(?:[A-Za-z_]\w{0,40}\s*=\s*)?(?P<print>print\s*\(\s*)?"
    rf"(?P<name>(?:(?:functions|default_api)\.)?{NAME})\s*\("
)


@dataclass(frozen=True)
class PythonBody:
    """NAME(key=literal, ...), also in print() or with a name for the result; `listed` when a list must hold them."""

    listed: bool = False

    @property
    def start(self) -> str:
        return _LIST.pattern if self.listed else rf"\s*(?:\[\s*)?{NAME}\s*\("

    def read(self, src: Source, region: Region, draft: Draft) -> Reading[None]:
        while True:
            listed = (yield from src.ahead()) == "["
            if listed:
                yield from src.step()
            if not (yield from self._calls(src, region, draft, listed)):
                return
            char = yield from src.ahead()
            more = _LIST if char == "[" else _CALL if char.isalpha() and region.closes else None
            if more is None or not (yield from src.match(more)):
                break
        yield from close_region(src, region, draft)

    def _calls(self, src: Source, region: Region, draft: Draft, listed: bool) -> Reading[bool]:
        """Read calls up to the end of the list or of the run of lines; false when one has no end."""
        while True:
            head = yield from src.match(_CALL)
            if head is None:
                return (yield from self._no_call(src, region, draft))
            yield from src.skip()
            begin = src.at
            src.pos = head.end() - 1
            written = head.group("name").removesuffix(".call")
            draft.open(written, src.at)
            span = yield from frame(src, PYTHON)
            if span.state != "closed":
                if span.state == "cut":
                    draft.fail("truncated", "the answer ended inside the call", begin, span.end, written)
                else:
                    yield from region.fail_and_skip(src, draft, begin, span.why)
                return False
            name = draft.name_of(written)
            try:
                arguments, repaired = read_arguments(src.text(span.start, src.at), name, draft.tools)
            except Unreadable as error:
                why = f"{error.message} (character {error.offset + 1} of its arguments)"
                draft.fail("invalid", why, begin, src.at, written)
            else:
                draft.done(written, draft.tools.coerced(name, arguments), begin, src.at, repaired)
            if head.group("print") and (yield from src.ahead()) == ")":
                yield from src.step()
            char = yield from src.ahead()
            if not listed:
                if char in (",", ";"):
                    yield from src.step()
                elif not (region.closes and char and (char.isalpha() or char == "_")):
                    return True
            elif char == ",":
                yield from src.step()
                if (yield from src.ahead()) == "]":
                    yield from src.step()
                    return True
            elif char == "]":
                yield from src.step()
                return True
            else:
                return (yield from self._no_call(src, region, draft))

    def _no_call(self, src: Source, region: Region, draft: Draft) -> Reading[bool]:
        """Something else stands where a call is due: the end of the answer, the end of the region, or a mistake."""
        yield from src.skip()
        rest = src.tail()
        if rest is not None and re.fullmatch(r"[\w.]*", rest):
            src.pos = len(src.buf)
            draft.fail("truncated", "the answer ended within the list of calls", region.start, src.at)
        elif (yield from region.at_close(src)):
            return True
        else:
            yield from region.fail_and_skip(src, draft, src.at, "something other than a call stands among the calls")
        return False


def read_arguments(text: str, name: str, tools: ToolSchemas) -> tuple[Arguments, tuple[str, ...]]:
    """Return the arguments between round brackets, those without a name by the schema's order, and what was mended."""
    reader = LiteralReader(text, json=False)
    order = list(tools.properties(name))
    arguments: Arguments = {}
    position = 0
    for _ in reader.members(")"):
        keyword = KEYWORD.match(text, reader.pos)
        if keyword:
            key, reader.pos = keyword.group(1), keyword.end()
            arguments[key] = _value(reader, tuple(order), is_text={*tools.types(name, key)} == {"string"})
        elif text.startswith("**", reader.pos):
            reader.pos += 2
            spread = reader.value()
            if not is_object(spread):
                reader.fail("only an object can be spread into arguments")
            arguments.update(spread)
        elif len(arguments) > position:
            reader.fail("an argument without a name follows one with a name")
        elif position < len(order):
            value = reader.value()
            if position == 0 and is_object(value) and value and set(value) <= set(order) and not arguments:
                arguments.update(value)  # all the arguments as one object
            else:
                arguments[order[position]] = value
            position += 1
        else:
            reader.value()
            reader.fail("it has more arguments than the tool has parameters")
    return arguments, tuple(reader.repairs)


def _value(reader: LiteralReader, names: tuple[str, ...], *, is_text: bool) -> Any:
    """Return the value of an argument. A text may lack its quotes or have others in it, as templates write that add or
    escape none: then it ends before the name of the next argument, or with the last one."""
    text, begin = reader.text, reader.pos
    try:
        value = reader.value()
        if _ENDED.match(text, reader.pos):
            return value if not is_text or value is None or isinstance(value, str) else text[begin : reader.pos]
    except Unreadable:
        pass
    reader.pos, found = begin, _loose(names).match(text, begin) if names else None
    if found is None or not (is_text or found["literal"]):
        return reader.value()
    reader.pos = found.end()
    if found["literal"]:
        return found["literal"] if is_text else LiteralReader(found["literal"]).value()
    reader.repairs[UNQUOTED] = None
    written = found["inside"] or found["bare"] or ""
    return written.strip() if text[1:2].isspace() else written


@lru_cache(maxsize=256)
def _loose(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of a value that the name of the next argument follows at once, for want of a comma, and of a
    text without quotes of its own, or with some of others."""
    following = rf"(?:{any_of(names)})\s*=(?!=)"
    return re.compile(
        rf"\s*(?P<literal>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|True|False|None)(?={following})"
        rf"|(?:(?P<bare>[^\"'(){{}}\[\]]*?)|(?P<mark>[\"'])(?P<inside>(?:(?!(?P=mark)).)*(?P=mark)\w.*?)(?P=mark))"
        rf"(?=,\s*{following}|\)\Z)",
        re.DOTALL,
    )
