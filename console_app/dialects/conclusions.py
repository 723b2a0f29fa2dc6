"""The attempts of a whole answer as its calls and its problems."""

from collections.abc import Sequence
from typing import TypeAlias

from console_app.dialects.draft import CallAttempt
from console_app.dialects.model import ParsedCall, ScanProblem
from console_app.dialects.places import Places

Note: TypeAlias = tuple[int, int, str, str | None]
"""Where something was ignored, from and to; why; and the tool that it seemed to call."""


def concluded(
    attempts: Sequence[CallAttempt], notes: Sequence[Note], text: str
) -> tuple[tuple[ParsedCall, ...], tuple[ScanProblem, ...]]:
    """The calls in their order, and the problems in the order of the text, which is the whole answer."""
    calls: list[ParsedCall] = []
    problems: list[ScanProblem] = []
    place = Places(text)
    for index, attempt in enumerate(attempts):
        start, end = attempt.start, attempt.end
        if attempt.failure is None and attempt.arguments is not None:
            name = attempt.name or ""
            calls.append(parsed(index, attempt, text[start:end]))
            if attempt.repaired:
                message = f"The call of {name} was mended: {', '.join(attempt.repaired)}."
                problems.append(place.problem("repaired", message, start, end, name, index))
        elif attempt.failure is not None:
            called = f"The call of {attempt.name}" if attempt.name else "A call"
            state = "was cut off" if attempt.failure == "truncated" else "could not be read"
            message = f"{called} {state}: {attempt.why}."
            problems.append(place.problem(attempt.failure, message, start, end, attempt.name, index))
    for start, end, why, name in notes:
        problems.append(place.problem("ignored", f"{why[:1].upper()}{why[1:]}.", start, end, name, None))
    problems.sort(key=lambda problem: problem.start)
    return tuple(calls), tuple(problems)


def parsed(index: int, attempt: CallAttempt, raw: str) -> ParsedCall:
    """A call that could be read; `raw` is its text."""
    assert attempt.arguments is not None, "it was read"
    return ParsedCall(
        index, attempt.name or "", attempt.arguments, attempt.dialect, raw, attempt.start, attempt.end,
        attempt.repaired, attempt.known, attempt.marked, attempt.doubt,
    )  # fmt: skip
