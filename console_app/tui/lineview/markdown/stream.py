"""Markdown that grows: blocks that are complete are laid out once, and only the open tail is parsed again.

Complete are all top-level blocks but the last, which nothing written later can change (link definitions aside: those
are resolved when the text ends). An open code fence is not parsed at all but taken in line by line. Painting asks for
lines once a frame, so a burst of tokens costs one parse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from console_app.records import replace
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.markdown.code import Code
from console_app.tui.lineview.markdown.rows import language_of
from console_app.tui.lineview.markdown.units import (
    AsWritten,
    BlocksRead,
    ClosedBlocks,
    CodeHead,
    CodeSlice,
    Laid,
    References,
    Tail,
    TextLook,
    Unit,
)

MOST_HELD = 200  # characters of a line that are held back: what is longer is meant to be seen
_MARKS_ONLY = re.compile(r"[ \t]*(?:[-*+>#=_~`|:!\[ \t]*|\d{1,9}[.)]?|[-*+] \[[ xX]?\]?|[`~]{3,}.*)[ \t]*\Z")
_TABLE_LINE = re.compile(r" {0,3}\|")
_DELIMITER_PART = re.compile(r"[ \t|:\-]*\Z")
_FRESH_LINE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|#{1,6}|>)[ \t]|$)", re.MULTILINE)
_FENCE_LINE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*(?:`{3,}[^`\n]*|~{3,}.*)$", re.MULTILINE)
_OPEN_LINK = re.compile(r"!?\[[^\[\]\n]*\]\([^()\s]*\Z")
_TICKS = re.compile(r"`+")
_MARK = re.compile(r"\\.|\*{1,3}|_{1,3}|~~?", re.DOTALL)


def mend(tail: str) -> str:
    """Return `tail`, the last block of a growing text, without what is open and with what is needed to close it."""
    tail = _hold_table(_hold_marks(tail))
    begin = 0
    in_code = False
    for line_start in (0, *(found.end() for found in re.finditer("\n", tail))):
        if _FENCE_LINE.match(tail, line_start):
            in_code = not in_code
            begin = tail.find("\n", line_start) + 1 or len(tail)
        elif not in_code and _FRESH_LINE.match(tail, line_start):
            begin = line_start
    if in_code or begin >= len(tail):
        return tail
    return _hold_marks(tail[:begin] + _close_inline(tail[begin:]))


def is_closed(text: str) -> bool:
    return _close_inline(text) == text


def _hold_marks(tail: str) -> str:
    """Without a last line that so far is made of markers alone."""
    begin = tail.rfind("\n") + 1
    return tail[:begin] if begin < len(tail) < begin + MOST_HELD and _MARKS_ONLY.match(tail, begin) else tail


def _hold_table(tail: str) -> str:
    """Without the head of a table whose second line is not known yet, and without a row still being written."""
    lines = tail.split("\n")
    last = len(lines) - 1 if lines[-1] else len(lines) - 2
    first = last
    while first >= 0 and _TABLE_LINE.match(lines[first]):
        first -= 1
    first += 1
    count = last - first + 1
    if count <= 0:
        return tail
    partial = bool(lines[-1])
    if count == 1 or (count == 2 and partial and _DELIMITER_PART.match(lines[last])):
        return "".join(line + "\n" for line in lines[:first])
    if partial and count > 2 and "-" in lines[first + 1] and _DELIMITER_PART.match(lines[first + 1]):
        return "".join(line + "\n" for line in lines[:last])
    return tail


def _close_inline(text: str) -> str:
    """The text with its open code, emphasis and link closed, and without a marker at its very end."""
    plain: list[tuple[int, int]] = []  # spans outside of code
    at = 0
    ticks = list(_TICKS.finditer(text))
    index = 0
    while index < len(ticks):
        opening = ticks[index]
        closing = next((n for n in range(index + 1, len(ticks)) if ticks[n].group() == opening.group()), None)
        plain.append((at, opening.start()))
        if closing is None:
            body = text.rstrip()
            if opening.end() < len(body):
                body = body.rstrip("`").rstrip()
            if opening.end() >= len(body):
                return _close_emphasis(text[: opening.start()], plain)
            return _close_emphasis(body + opening.group(), plain)
        at = ticks[closing].end()
        index = closing + 1
    plain.append((at, len(text)))
    if _OPEN_LINK.search(text, at):
        return _close_emphasis(text + ")", plain)
    return _close_emphasis(text, plain)


def _close_emphasis(text: str, plain: list[tuple[int, int]]) -> str:
    stack: list[str] = []
    for begin, end in plain:
        for match in _MARK.finditer(text, begin, min(end, len(text))):
            mark = match.group()
            if mark[0] == "\\":
                continue
            before = text[match.start() - 1 : match.start()]
            after = text[match.end() : match.end() + 1]
            if match.end() == len(text) and not (stack and stack[-1] == mark):
                text = text[: match.start()]  # may open or close something: not known before more arrives
                break
            _take(stack, mark, before, after)
    body = text.rstrip()
    return body + "".join(reversed(stack)) + text[len(body) :] if stack else text


def _take(stack: list[str], mark: str, before: str, after: str) -> None:
    """Opens or closes emphasis as CommonMark's flanking rules would, near enough for a moment."""
    if before and not before.isspace() and mark in stack:
        del stack[stack.index(mark) :]
        return
    if mark == "***" and before and not before.isspace() and {"*", "**"} <= set(stack):
        stack[:] = [open_mark for open_mark in stack if open_mark not in ("*", "**")]
        return
    inside_word = mark[0] == "_" and before.isalnum()
    if after and not after.isspace() and not inside_word and mark != "~":
        stack.append(mark)


LONG = 8000  # weight of a block beyond which it is cut: its characters, of which some take as long to read as many
HUGE = 2 * LONG  # of one that is cut only because it has to be
_MARK_WEIGHS = 10  # what a mark weighs
_LINE = 20  # the end of a line
_CELL = 6  # the edge of a cell
_TRIES = 24  # places looked at: each look reads all before it
_MARKS = re.compile(r"[*_`\[\]<>&\\~!|\n]")
_AS_WRITTEN = ("fence", "code_block")  # where a mark is a character as any other
_SENTENCE = re.compile(r"(?:(?<=[.!?:;,])[ \n]|(?<=[。！？：；，、])\n?)(?=[^\W\d_])")
_WORD = re.compile(r"[ \n](?=[*_`(<~!\[]{0,2}[^\W\d_])(?!\[[^\]\n]*\]:)")
_LETTER = re.compile(r"(?=[^\W\d_])")


def cut_after(kind: str, text: str) -> int:
    """Count the characters of a block of the `kind` that can be laid out for good; 0 while it is short."""
    end = reach(text, LONG, kind)
    if end == len(text):
        return 0
    if kind == "paragraph_open":
        return _in_paragraph(text, end)
    if kind == "table_open":
        end = text.rfind("\n", 0, end) + 1
        return end if text.count("\n", 0, end) > 2 else 0  # there are rows beside the head
    if kind == "blockquote_open" and (line := text.rfind("\n>", 0, end)) > 0:
        return line + 1
    end = reach(text, HUGE, kind)
    return 0 if end == len(text) else text.rfind("\n", 0, end) + 1 or end


def reach(text: str, most: int, kind: str = "paragraph_open") -> int:
    """Count the characters from the beginning that together weigh `most`; all of a text that weighs less."""
    if len(text) * _LINE <= most:
        return len(text)
    weights = {"\n": 0, "|": _CELL - 1} if kind == "table_open" else {"\n": _LINE - 1, "|": 0}
    extra = 0
    for mark in () if kind in _AS_WRITTEN else _MARKS.finditer(text, 0, most):
        extra += weights.get(mark[0], _MARK_WEIGHS - 1)
        if mark.end() + extra > most:
            return mark.end()
    return min(most - extra, len(text))


def _in_paragraph(text: str, end: int) -> int:
    """Behind a sentence at which no emphasis, code or link is open, else behind any word."""
    for places in (_SENTENCE, _WORD):
        if place := _closed_at(places, text, end):
            return place
    if words := list(_WORD.finditer(text, end // 2, end)):
        return words[-1].end()
    end = reach(text, HUGE)
    if end == len(text):
        return 0
    if place := _closed_at(_LETTER, text, end):
        return place
    letters = list(_LETTER.finditer(text, end // 2, end))
    return letters[-1].end() if letters else end


def _closed_at(places: re.Pattern[str], text: str, end: int) -> int:
    """The end of the first of some places at which nothing is open; 0 where there is none among so many."""
    for found in islice(places.finditer(text, end // 2, end), _TRIES):
        if is_closed(text[: found.start()]):
            return found.end()
    return 0


SLICE = 1500  # characters that are taken in at once where there are more: a few milliseconds
LONG_LIST = 2000  # characters of a list beyond which its complete items are laid out for good
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})(.*)\Z", re.DOTALL)


class _Fence:
    def __init__(self, indent: int, marker: str, info: str, *, gap: bool) -> None:
        self._indent = indent
        self._gap = gap
        self._closing = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*\Z")
        self._marks = marker[0]
        self._code = Code(language_of(info))
        self._given = 0  # units that it became
        self.closed = False
        self._head = bool(self._code.language)

    def take(self, text: str, final: bool) -> str:
        """Takes in what belongs to the fence and returns the rest: "" or what stands behind the closing line."""
        lines = text.split("\n")
        rest = lines.pop()
        for number, line in enumerate(lines):
            if self._closing.match(line):
                self._code.add([self._strip(kept) for kept in lines[:number]])
                self._close()
                return "\n".join([*lines[number + 1 :], rest])
        self._code.add([self._strip(line) for line in lines])
        if final and self._closing.match(rest):
            self._close()
            return ""
        self._code.tail = "" if not final and not rest.strip(f" {self._marks}") else self._strip(rest)
        if final and rest:
            self._code.add([self._strip(rest)])
            self._code.tail = rest = ""
        return rest

    def new_units(self) -> list[Unit]:
        units: list[Unit] = []
        if self._head and not self._given:
            units.append(CodeHead(self._code.language, gap=self._gap))
            self._given = 1
        for number in range(self._given - self._head, self._code.closed_slices):
            units.append(CodeSlice(self._code, number, gap=self._gap and not self._given))
            self._given += 1
        if self.closed and not self._given:
            units.append(self.open_unit())
        return units

    def open_unit(self) -> Unit:
        return CodeSlice(self._code, -1, gap=self._gap and not self._given)

    def _close(self) -> None:
        self._code.tail = ""
        self._code.close()
        self.closed = True

    def _strip(self, line: str) -> str:
        """The line without the fence's own indent, of which a tab may be a part (CommonMark 2.2)."""
        at = column = 0
        while column < self._indent and line[at : at + 1] in (" ", "\t"):
            column += 1 if line[at] == " " else 4 - column % 4
            at += 1
        return " " * max(0, column - self._indent) + line[at:]


class MarkdownStream:
    """A Markdown text that grows. `append` is cheap; `lines` does the work, for all that came since."""

    def __init__(self, text: str = "", *, final: bool = False) -> None:
        self._pieces: list[str] = [text] if text else []
        self.length = len(text)
        self._taken = 0  # characters of it that are taken in
        self._due = bool(text)  # whether there is something to take in
        self._rest = False  # whether that is left for later on purpose
        self._whole = final  # whether all of it came at once
        self._final = final
        self._written = False  # whether it is to be seen if it shows anything, now that it has ended
        self._units: list[Unit] = []  # what is complete
        self._fence: _Fence | None = None  # that is open
        self._tail = ""  # what isn't complete yet
        self._tail_read: BlocksRead | None = None
        self._tail_unit: Unit | None = None  # made of it
        self._tail_number: int | None = None  # of its first item, when it goes on with a list
        self._tail_tight = False
        self._references: References = {}
        self._defined: References = {}  # references so far
        self.laid: Laid | None = None
        self._at = (0, 0)  # the width last asked for, and the first units that are laid out in it

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def is_blank(self) -> bool:
        return not self.text or self.text.isspace()

    @property
    def is_long(self) -> bool:
        return self.length > SLICE

    def append(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)
        self._due = True

    def replace(self, text: str, *, final: bool = False) -> None:
        self.__init__(text, final=final)

    def finish(self) -> None:
        """The text is complete: nothing at its end is held back any more."""
        if not self._final:
            self._final = self._due = True

    def forget(self) -> None:
        """Drop the lines that were laid out, to save memory. Of a complete text, only the source is kept."""
        if self._final:
            self.replace(self.text, final=True)
        else:
            self.laid = None

    @property
    def unfinished(self) -> bool:
        """Tell whether its lines were asked for in slices, and some are not laid out yet."""
        return self._rest or (self.laid is not None and self._next() < len(self._units))

    def lay_out(self, look: TextLook) -> None:
        if self._rest:
            known = len(self._units)
            self._absorb(SLICE)
            for unit in () if self._whole else self._units[known:]:
                unit.lay_out(self._as_defined(look))
        elif self.unfinished:
            self._units[self._next()].lay_out(self._as_defined(look))

    def lines(self, look: TextLook) -> Laid:
        """All lines. Of much text that came at once, the beginning is laid out first, and the rest estimated."""
        begin = not self._units and self._whole
        known = len(self._units)
        if self._due:
            self._absorb(SLICE)
        while begin and self._rest and self._taken < reach(self.text, LONG):
            self._absorb(SLICE)
        if not self.is_long:
            return self._laid_in(look, self._units)
        return self._laid_in(look, () if self._whole else self._units[known:])

    def all_lines(self, look: TextLook) -> list[Line]:
        if self._due or self._rest:
            self._absorb(0)
        laid = self._laid_in(look, self._units, keep_all=True)
        return [line for unit in self._all_units() for line in laid.all_of(unit)]

    def height(self, width: int) -> int:
        """Return the lines that it takes at a width; those that are not laid out yet are estimated."""
        return sum(unit.height(width) for unit in self._all_units()) + self._left_height(width)

    def _left_height(self, width: int) -> int:
        if not (self._due or self._rest):
            return 0
        return self.text.count("\n", self._taken) + (self.length - self._taken) // width

    def _laid_in(self, look: TextLook, now: Sequence[Unit], *, keep_all: bool = False) -> Laid:
        look = self._as_defined(look)
        units = self._all_units()
        if self._written and not any(text.strip() for unit in units for text in _texts(unit, look)):
            # Definitions of links alone, an entity that is a blank: it stands as it was written.
            self._units, self._fence, self._tail_read = [], None, None
            self._tail_unit = AsWritten(self.text)
            units = [self._tail_unit]
        self._written = False
        tail = [] if self._tail_unit is None else [self._tail_unit]
        rest = self._left_height(look.width) if self._whole else 0
        self.laid = Laid(units, look, rest, self.laid, [*now, *tail], keep_all=keep_all)
        return self.laid

    def _as_defined(self, look: TextLook) -> TextLook:
        return replace(look, references=self._references, key=(look.key, len(self._references)))

    def _next(self) -> int:
        width, at = self._at
        if self.laid is not None and self.laid.look.width != width:
            width, at = self.laid.look.width, 0
        while at < len(self._units) and self._units[at].said(width) is not None:
            at += 1
        self._at = (width, at)
        return at

    def _all_units(self) -> list[Unit]:
        if self._tail_unit is None:
            gap = bool(self._units) and not self._tail_tight
            if self._fence is not None:
                self._tail_unit = self._fence.open_unit()
            elif self._tail_read is not None:
                self._tail_unit = Tail(self._tail_read, self._tail_number, gap=gap)
        return self._units if self._tail_unit is None else [*self._units, self._tail_unit]

    @property
    def _ended(self) -> bool:
        return self._final and not self._rest

    def _absorb(self, most: int) -> None:
        """Takes in what came; about `most` characters of it, unless that is 0."""
        text, self._due = self.text, False
        least = self._taken + most if most else len(text)
        end = text.find("\n", least, least + SLICE) + 1 or min(least + SLICE, len(text))
        self._rest = end < len(text)
        if text[:end].endswith("\r") and not (self._final and not self._rest):
            end -= 1  # half a line break, perhaps
        new, self._taken = text[self._taken : end], end
        self._tail += new.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\u2400")
        while self._advance():
            pass
        if self._ended:
            self._end()

    def _end(self) -> None:
        """End the text: references are what they are defined as, wherever that is."""
        if self._tail_read is not None:
            self._define(self._tail)
        if self._defined:
            self._references = self._defined
            for unit in self._units:
                unit.forget()
            self._at = (0, 0)
            if self._tail_read is not None:
                self._read(self._tail)
        self._written = not self.is_blank

    def _define(self, source: str) -> None:
        if "]:" in source:
            for name, target in BlocksRead(source, {}).references.items():
                self._defined.setdefault(name, target)

    def _read(self, text: str) -> BlocksRead:
        self._tail_read, self._tail_unit = BlocksRead(text, self._references), None
        return self._tail_read

    def _advance(self) -> bool:
        """Move complete blocks out of the tail. Return True when there may be more."""
        if (fence := self._fence) is not None:
            self._tail = fence.take(self._tail, self._ended)
            self._units += fence.new_units()
            self._tail_read = self._tail_unit = None
            if fence.closed:
                self._fence = None
            return fence.closed and bool(self._tail)
        shown: str = self._tail if self._ended else mend(self._tail)
        read = self._read(shown)
        blocks = [token for token in read.blocks if token.level == 0 and token.map and token.type != "inline"]
        if not blocks or (len(blocks) == 1 and blocks[0].map[0]):
            if self._take_definitions():
                return True
            if not blocks:
                return False
        last = blocks[-1]
        begin: int = last.map[0]
        source = self._tail.split("\n")
        if len(blocks) > 1:  # the last one is mended and read by itself, as it is when the others came long before it
            self._close(shown.split("\n")[:begin])
            self._tail = "\n".join(source[begin:])
            return True
        if last.type == "fence" and (opening := _FENCE.match(source[begin])):
            self._fence = _Fence(len(opening[1]), opening[2], opening[3], gap=bool(self._units))
            self._tail = "\n".join(source[begin + 1 :])
            return True
        is_list = len(self._tail) > LONG_LIST and last.type in ("bullet_list_open", "ordered_list_open")
        if is_list and self._split_list(read.blocks, source):
            return True
        block = "\n".join(source[begin:])
        cut = cut_after(last.type, block)
        return cut > 0 and self._cut(last.type, source[:begin], block, cut)

    def _take_definitions(self) -> bool:
        """Complete all but the last of very many link definitions, which show nothing; False where there are none."""
        end = self._tail.rfind("\n[") + 1 if reach(self._tail, LONG) < len(self._tail) else 0
        if not end or (read := BlocksRead(self._tail[:end], self._defined)).blocks:
            return False
        self._defined, self._tail = read.references, self._tail[end:]
        return True

    def _close(self, lines: list[str]) -> None:
        source = "\n".join(lines) + "\n"
        self._define(source)
        self._units.append(ClosedBlocks(source, self._tail_number, gap=bool(self._units) and not self._tail_tight))
        self._tail_number, self._tail_tight = None, False

    def _cut(self, kind: str, above: list[str], block: str, at: int) -> bool:
        """The first characters of a very long block are laid out for good, below the empty lines above it."""
        self._close([*above, block[:at].rstrip("\n")])
        self._tail = block[at:]
        if kind == "table_open":
            # The rest of a table needs its first two lines too.
            self._tail = "".join(f"{line}\n" for line in block.split("\n", 2)[:2]) + self._tail
        else:
            self._tail_tight = True
        return True

    def _split_list(self, tokens: Sequence[Any], source: list[str]) -> bool:
        """Complete all items of a long list but the last; False where there are none."""
        items = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
        if len(items) < 2:
            return False
        opener = next(token for token in tokens if token.type.endswith("_list_open"))
        first = self._tail_number if self._tail_number is not None else int(opener.attrs.get("start", 1))
        at: int = items[-1].map[0]
        self._close(source[:at])
        if opener.type == "ordered_list_open":
            self._tail_number = first + len(items) - 1
        self._tail_tight = bool(source[at - 1].strip())
        self._tail = "\n".join(source[at:])
        return True


def _texts(unit: Unit, look: TextLook) -> list[str]:
    unit.lay_out(look)
    said = unit.said(look.width)
    return [text for _, _, text in said.rows] if said is not None else []
