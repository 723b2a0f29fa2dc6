"""Regular expressions of strangers, tried only where they can't take for ever: Python's engine backtracks, and nothing
can stop `(a+)+$`. So no group that repeats may hold a repetition or a choice, and the rest can't add up to many ways.
What isn't tried is left to the server."""

from __future__ import annotations

import re
import warnings

MOST_WAYS = 10_000_000  # through a value: a tenth of a second or two
LONGEST_PATTERN = 500
_QUANTIFIER = re.compile(r"[*+]|\{\d*,\d*\}|\{\d+\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def matches(pattern: str, value: str) -> bool | None:
    """Tell whether `pattern` is found in `value`; None where that isn't tried."""
    if _ways(pattern, len(value)) > MOST_WAYS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of patterns whose meaning may change one day
            return re.search(pattern, value) is not None
    except (re.error, OverflowError, RecursionError):
        return None


def _ways(pattern: str, length: int) -> float:
    """About how many ways the engine may try at the worst; endless where that isn't known."""
    endless = float("inf")
    if len(pattern) > LONGEST_PATTERN:
        return endless
    at, ways = 0, float(max(length, 1))  # from every place
    wild = [False]  # for every open group: whether it holds a repetition or a choice
    choices = [1]  # and how many alternatives
    while at < len(pattern) and ways <= MOST_WAYS:
        character = pattern[at]
        found = _CLASS.match(pattern, at) if character == "[" else _QUANTIFIER.match(pattern, at)
        if character == "[" and found is None:
            return endless
        if character == "\\":
            if pattern[at + 1 : at + 2].isdigit():
                return endless  # a reference back
            at += 2
        elif character == "[" and found:
            at = found.end()
        elif character == "(":
            if pattern.startswith(("(?P=", "(?("), at):
                return endless
            wild.append(False)
            choices.append(1)
            at += 2 if pattern.startswith("(?", at) else 1
        elif character == ")":
            if len(wild) == 1:
                return endless
            inner, at = wild.pop(), at + 1
            ways *= choices.pop()
            if inner and _QUANTIFIER.match(pattern, at):
                return endless
            wild[-1] |= inner
        elif found or character in "|?":
            wild[-1] = True
            if character == "|":
                choices[-1] += 1
            else:
                ways *= max(length, 1) if found and (found[0][-1] != "}" or "," in found[0]) else 2
            at = found.end() if found else at + 1
        else:
            at += 1
    return ways * choices[0] if len(wild) == 1 else endless
