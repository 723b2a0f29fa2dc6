"""Where in an answer a place stands, by the structure of the text before it: only at the top level is a call meant.

What opens and closes (quotation marks, elements, comments, blocks of markup) is followed through the text, and only
when somebody asks, so that prose costs nothing; what a line begins with is looked at where it matters.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from console_app.textcalls.openings.segments import LABEL, WRAPPERS, ends_in_colon, is_example
from console_app.textcalls.patterns import lazily
from console_app.textcalls.source import LOOKAHEAD, WINDOW, Match, Source

_REACH = 400
_ELEMENTS = (
    "a|abbr|article|aside|b|blockquote|body|button|caption|center|cite|code|dd|del|details|dfn|div|dl|dt|em|fieldset|"
    "figcaption|figure|font|footer|form|h[1-6]|head|header|html|i|iframe|ins|kbd|label|legend|li|listing|main|mark|"
    "math|menu|nav|noscript|ol|option|output|p|plaintext|pre|q|s|samp|script|section|select|small|span|strike|strong|"
    "style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|tt|u|ul|var|video|xmp|"
    "example|quote|document|page|result|log|file|nowiki"
)
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_BAR = "[-=+~─━═]{3,}"
_OPENING = lazily(
    r"(?P<pair>[“„«»「『‹《【‚＂])"
    r"|(?<!\w)(?P<curly>‘)"
    r"|(?<![^\s(\[{:=,>—–*_])(?P<single>'(?!''|[\s\d]|tis\b|twas\b|em\b|cause\b|til\b|n\b))"
    r"|(?P<ascii>(?<!\w)(?:\"\"\"|''')|(?<![^\s(\[{:=,>—–*_])\")"
    r"|(?P<comment><!--|<!\[CDATA\[|<%)"
    r"|(?<![^\s;{}])(?P<block>/\*|\(\*|\{-|--\[\[|(?<![^\n])=begin(?=\s)|\[\[(?=\n))"
    r"|(?P<template>\{\{)(?=\w+\|)"
    rf"|<(?P<element>{_ELEMENTS})(?:\s[^<>]*)?(?<!/)>"
    rf"|(?:^|(?<=\n))[ \t]*<(?P<other>(?!(?:{_VOID}|{WRAPPERS})(?![\w:.-]))[^\W\d_][\w:.-]*)(?:\s[^<>\n]*)?(?<!/)>"
    rf"|(?<=[^\S\n])<(?P<page>(?!(?:{_VOID}|{WRAPPERS})(?![\w:.-]))[^\W\d_][\w:.-]*)(?:\s[^<>\n]*)?(?<!/)>(?=[ \t]*\n)"
    r"|\[(?P<bracket>code|quote|spoiler|noparse|pre)\b[^\]\n]{0,100}\]"
    r"|\{(?P<brace>code|quote|noformat)\b[^}\n]{0,100}\}"
    r"|\\begin\{(?P<environment>\w+\*?)\}"
    r"|#\+BEGIN_(?P<org>\w+)"
    r"|<<-?\s*['\"]?(?P<here>[A-Z]{2,12})['\"]?(?=\s)"
    rf"|(?<![^\s\"'`])(?P<banner>{_BAR})[ \t]*\w[^\n]{{0,100}}?{_BAR}[ \t]*(?=\n)",
    re.IGNORECASE,
)
_PARAGRAPH = lazily(r"\n[ \t]*\r?\n")
_CLOSING_OF = {
    "“": "[”]", "„": "[“”]", "«": "»", "»": "«", "「": "」", "『": "』", "‹": "›", "《": "》", "【": "】", "‚": "[‘’]",
    "＂": "＂", "‘": r"’(?!\w)", "'": rf"'(?!\w)|{_PARAGRAPH.pattern}", "\"\"\"": "\"\"\"", "'''": "'''",
    '"': rf"(?<![=\"])\"{{1,2}}(?![\">])|{_PARAGRAPH.pattern}",
    "<!--": "-->", "<%": "%>", "<![cdata[": r"\]\]>",
    "/*": r"\*/", "(*": r"\*\)", "{-": r"-\}", "--[[": r"\]\]", "[[": r"\]\]", "{{": r"\}\}", "=begin": r"\n=end\b",
}  # fmt: skip
"""What ends the construct that a token began."""
_CLOSING_WORD = {
    "bracket": r"(?i:\[/WORD\])", "brace": r"(?i:\{WORD\})", "environment": r"\\end\{WORD\}",
    "org": r"(?i:\n#\+END_WORD)", "here": r"\nWORD\b", "banner": rf"\n{_BAR}[^\n]*",
}  # fmt: skip
"""What ends those that begin with a word, where it is no element's end."""
_QUOTATIONS = {"pair", "curly", "single", "ascii"}
_FRONT_MATTER = lazily(r"\s*(---|\+\+\+)[ \t]*\r?\n")
_TEXTILE = r"(?:bc|bq|pre|notextile)(?:\([^()\n]*\))?"
_TEXTILE_BLOCK = lazily(
    rf"[^\w\n]*{_TEXTILE}\.{{1,2}}\s|(?:[\s\S]*\n[ \t]*\r?\n)?[^\w\n]*{_TEXTILE}\.\.\s(?![\s\S]*\n\s*?\r?\n\w+\. )"
)
"""A paragraph of code or of a quotation in Textile, and one that goes on over paragraphs."""
_QUOTED_LINE = lazily(r"^[ \t]*>(?!>>)", re.MULTILINE)
_PART = lazily(
    r"^\s*\||\|\s*$"  # the row of a table
    r"|^[ \t]*(?:[-*+•–:]|\(?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]{2,6})[.)]|\[\^?\w{1,20}\]:)[ \t]+"  # a point of a list
    r"|(?:^|[^\w'])\(?(?:\d{1,3}|[A-Za-z]|[ivxl]{2,6})[.)]\s+$"
    r"|^[ \t]*(?:#|//|--|;|%|REM\b|\$\s)"  # a comment
    rf"|(?:\b{_TEXTILE}\.{{1,2}}"
    r"|^\W+$|(?<=\s):$|[=|(\[{<+@&\\/,^-]|(?:\d:|-)>*|\[/?\w+\]|^\s*[-+>]+|(?:^|[\s(\[{])[*_`~\"'<>]+)\s*$"
)
"""What makes what follows it on a line part of something else, as in `- `, `x = ` or `(`."""
_SENTENCE_ENDS = lazily(
    r"^\s*[A-Z][a-z]+\s+$|\w\)?(?:[.!?…。！？]+[\"'”’»)\]*_]*|[\"'”’»)\]*_]+[.!?…。！？]+)\s+$"
    r"|[^\s;>\u200b-\u200f\u2060\u2190-\u21ff\u2500-\u259f\ufeff]$|[\w\"'|/｜-]>$"
)
"""The end of a sentence, or a word alone ("Ok"), and blanks; or no blank: templates write tokens right after text."""


@dataclass(frozen=True)
class Place:
    """`line` is what stands before the place on its line, since the last call; `before` the lines above it, `inside`
    the construct around it, in words. `first`: nothing but white space stands before it.

    What it tells is found out once: of calls in a row most stand at places alike, for which `_place` gives the same.
    """

    line: str
    before: str
    inside: str = ""
    first: bool = False

    @cached_property
    def line_start(self) -> bool:
        return not self.line.strip()

    @property
    def above(self) -> str:
        """The last line above that is not blank."""
        return self.before.rstrip().rpartition("\n")[2]

    @cached_property
    def blockquote(self) -> bool:
        """Whether the line is quoted, or Markdown takes it as the rest of the quoted paragraph above it."""
        if self.line.lstrip().startswith(">"):
            return True
        paragraph = _PARAGRAPH.split(self.before)[-1]
        return _QUOTED_LINE.search(paragraph) is not None

    @property
    def textile(self) -> bool:
        """Whether the paragraph, or one before it that goes on, is one of Textile's blocks that show something."""
        paragraph = _PARAGRAPH.split(self.before)[-1] + self.line
        return any(_TEXTILE_BLOCK.match(text) for text in (paragraph, self.before))

    @property
    def example(self) -> str:
        """Return why the text that follows is an example, where the words that lead to it say so."""
        called = is_example(self.above) if self.line_start else is_example(self.line, in_line=True)
        return "it is called an example" if called else ""

    @cached_property
    def quoted(self) -> str:
        """Return why a marked call is none of the answer's own here; "" at the top level."""
        if self.inside:
            return f"it stands {self.inside}"
        if self.blockquote:
            return "it stands in a block quote"
        if self.textile:
            return "it stands in a block of markup"
        if self.line_start:
            indent = len(self.line.expandtabs(4))
            # A template of DeepSeek begins an answer with twenty blanks, some tokenizers a line with one.
            indented = 2 <= indent <= 8 if self.first else indent > 1 and self.before.strip()
            wide = not self.line.isascii()  # blanks that only layout has
            return "it is indented, as code or a part of a list" if indented or wide else ""
        if _PART.search(self.line):
            return "it is part of something else on its line"
        sentence = ends_in_colon(self.line) and not LABEL.fullmatch(self.line.strip())
        if not sentence and not _SENTENCE_ENDS.search(self.line):
            return "it is part of a sentence"
        return ""

    @property
    def withheld(self) -> str:
        """Return why a text without a marker is no call here; "" where it may be one."""
        return self.quoted or self.example or ("" if self.line_start else "it does not start a line")


_place = lru_cache(maxsize=64)(Place)


class Structure:
    """The constructs that are open in an answer. `_opaque` are stretches that are no running text, in order."""

    def __init__(self, src: Source) -> None:
        self._src = src
        self.upto = 0
        """Before this offset all was followed."""
        self._close: re.Pattern[str] | None = None
        self._inside = ""
        self._quoted_at = -1
        """Where the quotation began that ends with its paragraph at the latest; -1 for any other construct."""
        self._unquoted = 0
        """Before this offset such a quotation was none: what looks like one there opens nothing."""
        self.floor = 0
        """What stands before this offset was read as other than text."""
        self.backtick = -1
        """Where the newest backtick stands that nothing closes: what follows it on its line may be code."""
        self._opaque: list[tuple[int, int]] = []
        self._passed = 0

    def skip(self, start: int, end: int, *, floor: bool = True) -> None:
        """Pass over text that is read as something else: nothing in it opens or closes."""
        self._opaque.append((start, end))
        if floor:
            self.floor = end

    def restart(self, offset: int) -> None:
        """Whatever was open before is not: it belonged to something else."""
        self.upto, self._close, self._inside, self.floor = max(offset, self.upto), None, "", offset

    def lines(self, offset: int, inside: str = "") -> Place:
        """The place at `offset`, as its lines show it."""
        text = self._src.text(max(self.floor, offset - _REACH), offset)
        before, line_break, line = text.rpartition("\n")
        first = not self.floor and offset <= _REACH and not text.strip()
        if not line_break and offset - self.floor > _REACH:
            line = "…" + line
        return _place(line, before + line_break, inside, first)

    def at(self, offset: int) -> Place:
        """The place at `offset`, with what is open around it."""
        self._advance(offset)
        place = self.lines(offset, self._inside)
        if place.inside or offset - len(place.line) > self.backtick:
            return place
        return self.lines(offset, "behind a backtick that nothing closes")

    def _advance(self, offset: int) -> None:
        while self._passed < len(self._opaque):
            start, end = self._opaque[self._passed]
            if start >= offset:
                break
            if start > self.upto:
                self._follow(start)
            self.upto = max(self.upto, end)
            self._passed += 1
        if offset > self.upto:
            self._follow(offset)

    def _follow(self, offset: int) -> None:
        begin = max(0, self.upto - 1)
        text, pos = self._src.text(begin, offset), self.upto - begin
        if self.upto == 0 and (found := _FRONT_MATTER.match(text)):
            self._close = re.compile(rf"\n{re.escape(found[1])}[ \t]*(?=\r?\n|\Z)")
            self._inside, self._quoted_at, pos = "in front matter", -1, found.end() - 1
        self.upto = offset
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
                    self._close = _closing(kind, found[kind])
                    self._inside = (
                        "in quotation marks" if kind in _QUOTATIONS else "in an element, a comment or a block"
                    )
                    self._quoted_at = begin + pos if loose else -1
            else:
                return


def _search(pattern: re.Pattern[str], text: str, pos: int) -> Match | None:
    """The next match, a window at a time."""
    while pos < len(text):
        end = pos + WINDOW + LOOKAHEAD
        found = pattern.search(text, pos, end)
        if found and (found.start() < pos + WINDOW or end >= len(text)):
            return found
        pos += WINDOW
    return None


@lru_cache(maxsize=256)
def _closing(kind: str, token: str) -> re.Pattern[str]:
    """Return the pattern that ends the construct which `token` began."""
    ends = _CLOSING_OF.get(token.lower()) or _CLOSING_WORD.get(kind, r"(?i:</WORD\s*>)")
    return re.compile(ends.replace("WORD", re.escape(token)))
