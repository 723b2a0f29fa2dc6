"""Tells where in an answer a place stands, by the structure of the text before it: a call is meant at the top level.

What opens and closes (quotation marks, elements, comments) is followed through the text only when somebody asks, so
that prose costs nothing. No word and no name decides: what is surely quoted is text, and what may be quoted asks."""

import re
from collections import deque
from functools import cached_property, lru_cache

from console_app.records import dataclass
from console_app.textcalls.patterns import compiled, lazily
from console_app.textcalls.source import LOOKAHEAD, WINDOW, Match, Source

_REACH = 400
_INDENTED = 4  # columns from which on a line is code
_FIRST = 8  # blanks, of which more stand only before an answer that a template began
_OPENING = lazily(
    r"(?P<pair>[“„«»「『‹《【‚＂])"
    r"|(?<!\w)(?P<curly>‘)"
    r"|(?<![^\s(\[{:=,>—–*_])(?P<single>'(?!''|[\s\d]))"
    r"|(?P<ascii>(?<!\w)(?:\"\"\"|''')|(?<![^\s(\[{:=,>—–*_])\")"
    r"|(?P<comment><!--|<!\[CDATA\[|(?<![^\s;{}])/\*)"
    r"|(?<![\w`])<(?P<element>[^\W\d_][\w:.-]*)(?:\s[^<>\n]*)?(?<!/)>"
)
_PARAGRAPH = lazily(r"\n[ \t]*\r?\n")
_CLOSING_OF = {
    "“": "[”]", "„": "[“”]", "«": "»", "»": "«", "「": "」", "『": "』", "‹": "›", "《": "》", "【": "】", "‚": "[‘’]",
    "＂": "＂", "‘": r"’(?!\w)", "'": rf"'(?!\w)|{_PARAGRAPH.pattern}", "\"\"\"": "\"\"\"", "'''": "'''",
    '"': rf"(?<![=\"])\"{{1,2}}(?![\">])|{_PARAGRAPH.pattern}",
    "<!--": "-->", "<![CDATA[": r"\]\]>", "/*": r"\*/",
}  # fmt: skip
"""The mark that ends the construct that a token began; any other is an element, which its own end tag ends."""
NO_SENTENCE = "the line before it is no whole sentence"
IN_ELEMENT = "in an element that is open"
_FRONT_MATTER = lazily(r"\s*(---|\+\+\+)[ \t]*\r?\n")
_QUOTED_LINE = lazily(r"^[ \t]*>(?!>>)", re.MULTILINE)
_STOP = r"[.!?…。！？؟।۔።။។॥︒｡]"
_SENTENCE = lazily(
    rf"(?=.*\w\S*\s+\S*\w|.*[^\W\d_!-~]|[^\W\d_]{{3,}}[.!?]+\Z)"
    rf"(?:\*\*(?=\w)|(?![-=*_+.$:^@\[{{<|%&!#~─━═])).*{_STOP}[\"'”’»)\]*_」』]*"
)
"""A line that says something and ends as a sentence does, in whatever script, and begins as none of a markup's."""
_ENDED = lazily(rf"{_STOP}[\"'”’»)\]*_」』]*\s*\Z")


@dataclass(frozen=True)
class Place:
    """`line` is what stands before the place on its line, since the last call; `before` the lines above it, `inside`
    the construct around it, in words. `first`: nothing but white space stands before it."""

    line: str
    before: str
    inside: str = ""
    first: bool = False

    @cached_property
    def line_start(self) -> bool:
        return not self.line.strip()

    @cached_property
    def blockquote(self) -> bool:
        quoted = _QUOTED_LINE.search(_PARAGRAPH.split(self.before)[-1])
        return quoted is not None or self.line.lstrip().startswith(">")

    @cached_property
    def _indent(self) -> int:
        indent = len(self.line.expandtabs(4)) if self.line_start else 0
        return 0 if self.first and indent > _FIRST else indent

    @property
    def _wide(self) -> bool:
        """Tell whether blanks that only layout has stand before it."""
        return self.line_start and not self.line.isascii()

    @cached_property
    def quoted(self) -> str:
        """Return why nothing here is a call of the answer's own; "" where it may be one."""
        if self.inside and self.inside != IN_ELEMENT:
            return f"it stands {self.inside}"
        if self.blockquote:
            return "it stands in a block quote"
        code = self._wide or (self._indent >= _INDENTED and self.before.strip())
        return "it is indented, as code is" if code and not self.first else ""

    @property
    def withheld(self) -> str:
        """Return why a text without a marker is no call here; "" where it may be one."""
        return self.quoted or ("" if self.line_start else "it does not start a line")

    def doubt(self, *, licensed: bool) -> str:
        """Return why a call here may be quoted; "" where nothing hints at it. Where the model is known to write so, the
        line before it matters no more, and a call may follow a sentence on its line."""
        if self.inside:
            return f"it stands {self.inside}"
        if self._wide or (self._indent > 1 and (self.first or self.before.strip())):
            return "it is indented"
        if not self.line_start:
            return "" if licensed and _ENDED.search(self.line) else "other text stands before it on its line"
        return "" if licensed else self.lead_doubt

    @property
    def lead_doubt(self) -> str:
        """Return why the last line before the place may lead to a quotation."""
        lead = (self.before + self.line).rstrip().rpartition("\n")[2].strip()
        return "" if not lead or _SENTENCE.fullmatch(lead) else NO_SENTENCE


_place = lru_cache(maxsize=64)(Place)  # those of most calls in a row are alike


class Structure:
    """The constructs that are open in an answer. `_opaque` are stretches ahead that are no running text."""

    def __init__(self, src: Source) -> None:
        self._src = src
        self.upto = 0  # before this offset all was followed
        self._close: re.Pattern[str] | None = None
        self._inside = ""
        self._quoted_at = -1  # where the quotation began that ends with its paragraph at the latest
        self._unquoted = 0  # before this offset such a quotation was none: what looks like one opens nothing
        self.floor = 0  # what stands before this offset was read as other than text
        self.backtick = -1  # the newest that nothing closes: what follows it on its line may be code
        self.aside = ""  # where all text stands that comes now, as in a part that is for the user alone
        self._opaque = deque[tuple[int, int]]()

    def skip(self, start: int, end: int, *, floor: bool = True) -> None:
        """Pass over text that is read as something else: nothing in it opens or closes."""
        self._opaque.append((start, end))
        self.floor = end if floor else self.floor

    def restart(self, offset: int) -> None:
        """Forget what was open before: it belonged to something else."""
        self.upto, self._close, self._inside, self.floor = max(offset, self.upto), None, "", offset

    def lines(self, offset: int, inside: str = "") -> Place:
        text = self._src.text(max(self.floor, offset - _REACH), offset)
        before, line_break, line = text.rpartition("\n")
        first = not self.floor and offset <= _REACH and not text.strip()
        if not line_break and offset - self.floor > _REACH:
            line = "…" + line
        return _place(line, before + line_break, inside, first)

    def at(self, offset: int) -> Place:
        self._advance(offset)
        place = self.lines(offset, self._inside or self.aside)
        if place.inside or offset - len(place.line) > self.backtick or place.line == "`":  # which makes it ask
            return place
        return self.lines(offset, "behind a backtick that nothing closes")

    def _advance(self, offset: int) -> None:
        while self._opaque and self._opaque[0][0] < offset:
            start, end = self._opaque.popleft()
            if start > self.upto:
                self._follow(start)
            self.upto = max(self.upto, end)
        if offset > self.upto:
            self._follow(offset)

    def _follow(self, offset: int) -> None:
        begin = max(0, self.upto - 1)
        text, pos = self._src.text(begin, offset), self.upto - begin
        if self.upto == 0 and (found := _FRONT_MATTER.match(text)):
            self._close = compiled(rf"\n{re.escape(found[1])}[ \t]*(?=\r?\n|\Z)")
            self._inside, self._quoted_at, pos = "in front matter", -1, found.end() - 1
        self.upto = offset
        if self._close is None and (pos == len(text) or text[pos:].isspace()):
            return  # as between most calls
        while True:
            if self._close is not None:
                found = _search(self._close, text, pos)
                if found is None:
                    return
                self._close, self._inside, pos = None, "", found.end()
                if self._quoted_at >= begin and found.group()[0] == "\n":
                    self._unquoted, pos = begin + pos, self._quoted_at - begin
            elif found := _search(_OPENING, text, pos):
                pos, kind = found.end(), found.lastgroup or ""
                loose = kind in ("ascii", "single") and len(found[kind]) == 1
                if not loose or begin + pos > self._unquoted:
                    self._close = compiled(_CLOSING_OF.get(found[kind]) or rf"(?i:</{re.escape(found[kind])}\s*>)")
                    self._inside = {"element": IN_ELEMENT, "comment": "in a comment"}.get(kind, "in quotation marks")
                    self._quoted_at = begin + pos if loose else -1
            else:
                return


def _search(pattern: re.Pattern[str], text: str, pos: int) -> Match | None:
    for begin in range(pos, len(text), WINDOW):
        end = begin + WINDOW + LOOKAHEAD
        found = pattern.search(text, begin, end)
        if found and (found.start() < begin + WINDOW or end >= len(text)):
            return found
    return None
