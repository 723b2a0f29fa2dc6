"""The rule for arithmetic: every calculation in the prompt becomes a call of the calculator, all in one answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console_app.providers.offline.rule import AnswerRule, AskedPrompt, RuleFinding, missing
from console_app.providers.offline.rules.expressions import Expression
from console_app.providers.offline.toolbox import Match, OfflineTools

_NUMBERED = re.compile(r"(?<![\w).])(?:\((\d{1,2}|[a-h])\)|(\d{1,2}|[a-h])[.)])[ \t]+(?![-+*/^=][ \t])", re.IGNORECASE)
_BULLET = re.compile(r"^[ \t]*[-*•][ \t]+", re.MULTILINE)
_START = re.compile(r"[\d.(√πτ−-]|\b(?=[A-Za-z])", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z_]+|\d+|.", re.DOTALL)
_CUE = re.compile(
    r"\b(?:calculat\w*|comput\w*|evaluat\w*|work(?:ing)?\s+out|what(?:'s|’s|\s+is|\s+are)|how\s+much|solve|result\s+of|sum)\b|=",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"(?:^|[\n,;:.?!]|\b(?:and|or|then|also|plus|about|now|is|of|are))[\s\"'`*(“‘]*$", re.IGNORECASE)
_AFTER = re.compile(r"[ \t\"'`*)=?”’]*(?:$|[\n,;:.?!]|(?:and|or|then|also|please)\b)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{4}|24/7")
_WEAK = frozenset({"+", "-", "/", "//", "%"})


def _calculator(tools: OfflineTools) -> Match | None:
    return tools.find(("evaluate", "calculate", "calc", "calculator", "compute"), expression=("expression", "expr"))


def expressions(text: str) -> Iterator[tuple[int, int, str]]:
    """The calculations in `text` that are surely meant as such: where each starts and ends, and how it is written."""
    text = without_numbering(text)
    cue = _CUE.search(text) is not None
    open_ends: set[int] = set()
    at = 0
    while found := _START.search(text, at):
        expression = Expression(text, found.start(), open_ends)
        end = expression.end
        if not expression.found or not _stands_alone(text, found.start(), end):
            token = _TOKEN.match(text, found.start())
            at = max(token.end() if token else 0, end, found.start() + 1)
            continue
        if _sure(text, found.start(), expression, cue=cue):
            yield found.start(), end, expression.written
        at = max(end, found.start() + 1)


def without_numbering(text: str) -> str:
    """`text` with list marks blanked out: `(1)`, `2.`, `c)` when they count up from the first, and bullets."""
    expected = {"1", "a"}
    for found in list(_NUMBERED.finditer(text)):
        mark = (found[1] or found[2]).lower()
        if mark in expected:
            expected = {str(int(mark) + 1) if mark.isdecimal() else chr(ord(mark) + 1)}
            text = text[: found.start()] + "\n" + " " * (found.end() - found.start() - 1) + text[found.end() :]
    return _BULLET.sub(lambda bullet: "\n" + " " * (len(bullet[0]) - 1), text)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether it is no part of a word, a path, a version, a time or a name."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if before and (before.isalnum() or before in "_.$#@/\\-:<>&%"):
        return before == ":" and start >= 2 and not text[start - 2].isalnum()
    if after and (after.isalnum() or after in "_/\\%@$°<>&"):
        return False
    return not (after in (".", "-", ":", ",") and text[end + 1 : end + 2].isalnum() and after != ",")


def _sure(text: str, start: int, expression: Expression, *, cue: bool) -> bool:
    source = text[start : expression.end]
    if _DATE.fullmatch(source.strip()):
        return False
    whole = _BEFORE.search(text[max(0, start - 60) : start]) and _AFTER.match(text, expression.end)
    if not expression.operators:
        return bool(cue and whole and source.strip().lower() in ("pi", "e", "tau", "π", "τ"))
    return bool(not expression.operators <= _WEAK or cue or whole)


def _read(asked: AskedPrompt, tools: OfflineTools) -> Iterator[RuleFinding]:
    calculator = _calculator(tools)
    reported = False
    for start, end, expression in expressions(asked.text):
        if calculator:
            yield RuleFinding(start, end, (calculator.call(expression=expression),))
        else:
            problem = missing(f"work out `{expression}`", "`evaluate(expression)` of a calculator")
            yield RuleFinding(start, end, problem="" if reported else problem, server="calculator")
            reported = True


ARITHMETIC = AnswerRule(
    name="arithmetic",
    can="work out arithmetic: `(1) 355/113, (2) sqrt(2), (3) e^pi`",
    able=lambda tools: _calculator(tools) is not None,
    read=_read,
)
