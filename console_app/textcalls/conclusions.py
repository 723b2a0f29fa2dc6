"""The attempts of a whole answer as its calls and its problems, each with the place where it stands."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from console_app.textcalls.draft import CallAttempt
from console_app.textcalls.model import ParsedCall, ProblemKind, ScanProblem

RAW_LIMIT = 500
Note: TypeAlias = tuple[int, int, str, str | None]
"""Where something was ignored, from and to; why; and the tool that it seemed to call."""


class Places:
    """Lines and columns of offsets in an answer."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.end() for found in re.finditer("\n", self._text)]

    def problem(
        self, kind: ProblemKind, message: str, start: int, end: int, name: str | None, index: int | None = None
    ) -> ScanProblem:
        """What is wrong with the text from `start` to `end`."""
        line = bisect_right(self._breaks, start)
        column = start - (self._breaks[line - 1] if line else 0)
        raw = self._text[start : min(end, start + RAW_LIMIT)]
        return ScanProblem(kind, message, start, end, line + 1, column + 1, raw, name, index)


def concluded(
    attempts: Sequence[CallAttempt], notes: Sequence[Note], text: str
) -> tuple[tuple[ParsedCall, ...], tuple[ScanProblem, ...]]:
    """The calls in their order, and the problems in the order of the text, which is the whole answer."""
    place = Places(text)
    calls: list[ParsedCall] = []
    problems: list[ScanProblem] = []
    for index, attempt in enumerate(attempts):
        start, end, name = attempt.start, attempt.end, attempt.name
        if attempt.failure is not None:
            called = f"The call of {name}" if name else "A call"
            state = "was cut off" if attempt.failure == "truncated" else "could not be read"
            message = f"{called} {state}: {attempt.why}."
            problems.append(place.problem(attempt.failure, message, start, end, name, index))
            continue
        calls.append(parsed(index, attempt, text[start:end]))
        if attempt.repaired:
            message = f"The call of {name} was mended: {', '.join(attempt.repaired)}."
            problems.append(place.problem("repaired", message, start, end, name, index))
    for start, end, why, name in notes:
        problems.append(place.problem("ignored", f"{why[:1].upper()}{why[1:]}.", start, end, name))
    return tuple(calls), tuple(sorted(problems, key=lambda problem: problem.start))


def parsed(index: int, attempt: CallAttempt, raw: str) -> ParsedCall:
    """A call that could be read; `raw` is its text."""
    assert attempt.arguments is not None, "it was read"
    return ParsedCall(
        index, attempt.name or "", attempt.arguments, attempt.dialect, raw, attempt.start, attempt.end,
        attempt.repaired, attempt.known, attempt.marked, attempt.doubt,
    )  # fmt: skip
