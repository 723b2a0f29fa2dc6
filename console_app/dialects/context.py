"""What stands before a place in an answer, as far as it decides whether something there is meant or only shown."""

import re
from dataclasses import dataclass

from console_app.dialects.source import Source

_REACH = 400

_CUE = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|looks? like|such as|sample|syntax|would (?:be|look)|could (?:be|look)|"
    r"formats?|template|illustrat\w*|demonstrat\w*|hypothetical\w*|placeholder|schema|usage|"
    r"never|don't|do not|instead of|avoid|wrong)",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:for (?:example|instance)\b|e\.g\.|an example\b|looks? like\b|would (?:be|look)\b|such as\b|syntax is\b)"
    r"[^.!?\n]{0,80}$",
    re.IGNORECASE,
)
"""An example in so many words, in the sentence that leads to it."""
_QUOTE = re.compile(r"(?:^|[\s(\[])[\"'“‘«„]$")
_REPORT = re.compile(
    r"\b(?:called|earlier|previous(?:ly)?|returned|responded|invoked|was|were|ran|used|sent|already|last time)\b",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])?\s*")


@dataclass(frozen=True)
class Context:
    """`line` is what stands before the place on its line, since the last call; `before` the lines above it."""

    line: str
    before: str

    @property
    def above(self) -> str:
        """The last line above that is not blank."""
        return self.before.rstrip().rpartition("\n")[2]

    @property
    def line_start(self) -> bool:
        return not self.line.strip()

    @property
    def may_open_fence(self) -> bool:
        return _BULLET.fullmatch(self.line) is not None

    @property
    def blockquote(self) -> bool:
        return self.line.lstrip().startswith(">")

    @property
    def continues_blockquote(self) -> bool:
        """Whether Markdown takes this line as the rest of the quoted paragraph above it."""
        above = self.before.removesuffix("\n").rpartition("\n")[2].lstrip()
        return above.startswith(">") and not above.startswith(">>>") and self.line_start

    @property
    def cued(self) -> bool:
        """Whether what follows was announced as an example."""
        return _CUE.search(self.line if self.line.strip() else self.above) is not None

    @property
    def announced(self) -> bool:
        """Whether the line above says that an example follows. Only what has no marker is judged by this."""
        return self.line_start and self.above.rstrip().endswith(":") and _CUE.search(self.above) is not None

    @property
    def shown(self) -> bool:
        """Whether what follows is in quotation marks or called an example: not even a marker means it then."""
        if self.line_start:
            above = self.above.rstrip()
            return above.endswith(":") and _EXAMPLE.search(above[:-1]) is not None
        line = self.line.rstrip(" \t:,")
        return _QUOTE.search(self.line) is not None or _EXAMPLE.search(line) is not None

    @property
    def reported(self) -> bool:
        """Whether the line tells of something that happened."""
        return _REPORT.search(self.line) is not None

    @property
    def within_code(self) -> bool:
        """Whether the character before, as in `x = {`, makes what follows part of something else."""
        last = self.line.rstrip()[-1:]
        return last != "" and last in "=|([,'\"<+$&%"


def context_at(src: Source, offset: int, floor: int) -> Context:
    """The context of `offset`; what stands before `floor` was read as something other than text."""
    text = src.text(max(floor, offset - _REACH), offset)
    before, line_break, line = text.rpartition("\n")
    if not line_break and offset - floor > _REACH:
        line = "…" + line
    return Context(line, before + line_break)
