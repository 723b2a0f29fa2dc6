"""Lines and columns of the places in an answer that a problem names."""

import re
from bisect import bisect_right
from functools import cached_property

from console_app.dialects.model import ProblemKind, ScanProblem

RAW_LIMIT = 500


class Places:
    """Lines and columns of offsets."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.end() for found in re.finditer("\n", self.text)]

    def problem(
        self, kind: ProblemKind, message: str, start: int, end: int,
        name: str | None, index: int | None,
    ) -> ScanProblem:  # fmt: skip
        line = bisect_right(self._breaks, start)
        column = start - (self._breaks[line - 1] if line else 0)
        raw = self.text[start : min(end, start + RAW_LIMIT)]
        return ScanProblem(kind, message, start, end, line + 1, column + 1, raw, name, index)


def folded(text: str) -> str:
    """With each stretch of white space as one blank."""
    return " ".join(text.split())
