"""Recognises arithmetic in a sentence and writes it the way calculators read it; it never works anything out itself.

A recursive-descent reader over the text. Depth, length and runs of signs are bounded, so that hostile text costs
time in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from console_app.providers.offline.rule import AnswerRule, AskedPrompt, Match, OfflineTools, RuleFinding, missing
from console_app.records import replace

_FUNCTIONS = (
    "sqrt|cbrt|exp|log10|log2|log|ln|asin|acos|atan2|atan|sinh|cosh|tanh|sin|cos|tan|abs|round|floor|ceil"
    "|factorial|gcd|lcm|min|max|pow|hypot|degrees|radians|comb|perm|sum|mean"
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])")
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)
_CONSTANT = re.compile(r"(?:pi|tau|e)(?![\w(])|[πτ]", re.IGNORECASE)
_CALL = re.compile(rf"({_FUNCTIONS})\s*\(", re.IGNORECASE)
_BARE_CALL = re.compile(r"(sqrt|ln|log|sin|cos|tan)\s+(?:of\s+)?(?=[\d.(π])", re.IGNORECASE)
_ROOT = re.compile(r"(?:the\s+)?square\s+root\s+of\s+|√\s*", re.IGNORECASE)
_CUBE_ROOT = re.compile(r"(?:the\s+)?cube\s+root\s+of\s+", re.IGNORECASE)
_FACTORIAL_OF = re.compile(r"(?:the\s+)?factorial\s+of\s+", re.IGNORECASE)
_OPERATORS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), symbol)
    for pattern, symbol in (
        (r"(?:raised\s+)?to\s+the\s+power\s+(?:of\s+)?(?=[\d(.-])", "^"),
        (r"\*\*|\^", "^"),
        (r"multiplied\s+by\b|times\b|[*×·⋅]", "*"),
        (r"(?<=\s)x(?=\s+[\d(])", "*"),
        (r"//", "//"),
        (r"divided\s+by\b|over\b(?=\s+[\d(])|[/÷]", "/"),
        (r"plus\b|\+", "+"),
        (r"minus\b|[-−]", "-"),
        (r"mod(?:ulo)?\b|%(?=\s*[\d(])", "%"),
        (r"(?:%|percent)\s*of\b", "/100*"),
    )
)
_POSTFIX: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), power)
    for pattern, power in ((r"\s+squared\b|²", "^2"), (r"\s+cubed\b|³", "^3"))
)
_FACTORIAL = re.compile(r"!(?!=)|\s+factorial\b(?!\s+of\b)", re.IGNORECASE)
_SPACE = re.compile(r"[ \t]*")
_DEPTH = 25
_SIGNS = 3
_LENGTH = 500  # characters of one expression; a longer one is not one


class Expression:
    """Reads the longest expression at `start` of `text`: then `end` is after it and `written` is it, normalised.

    `operators` holds the symbols and functions in it; `found` is False when there is none. `open_ends` remembers, for
    all expressions of one text, the parentheses that don't close: without it nested ones would be tried over and over.
    """

    def __init__(self, text: str, start: int, open_ends: set[int]) -> None:
        self._text = text
        self._open_ends = open_ends
        self._limit = min(len(text), start + _LENGTH)
        self.end = start
        self._out: list[str] = []
        self.operators: set[str] = set()
        self.found = self._sum(0, in_call=False)

    @property
    def written(self) -> str:
        """Return the expression in the notation of the `evaluate` tool."""
        return "".join(self._out)

    def _sum(self, depth: int, *, in_call: bool) -> bool:
        if not self._signed(depth, in_call=in_call):
            return False
        while self.end < self._limit:
            mark, length = self.end, len(self._out)
            space = self._skip()
            operator = self._operator()
            if operator is None:
                self.end = mark
                return True
            spaced = " " if space and operator in ("+", "-", "*", "/", "//", "%") else ""
            self._out.append(f"{spaced}{operator}{spaced}")
            self._skip()
            if not self._signed(depth, in_call=in_call):
                self._back(mark, length)
                return True
            self.operators.add(operator)
        return True

    def _operator(self) -> str | None:
        for pattern, symbol in _OPERATORS:
            if found := pattern.match(self._text, self.end, self._limit):
                self.end = found.end()
                return symbol
        return None

    def _signed(self, depth: int, *, in_call: bool) -> bool:
        mark, length = self.end, len(self._out)
        signs = 0
        while self.end < self._limit and signs < _SIGNS and self._text[self.end] in "+-−":
            self._out.append("-" if self._text[self.end] in "-−" else "")
            self.end += 1
            signs += 1
        if depth < _DEPTH and self._value(depth, in_call=in_call):
            self._postfix(length)
            return True
        return self._back(mark, length)

    def _back(self, mark: int, length: int) -> bool:
        self.end = mark
        del self._out[length:]
        return False

    def _postfix(self, start: int) -> None:
        """Read powers written as words or small digits, and the factorial, which is a function, behind a value."""
        for pattern, power in _POSTFIX:
            if found := pattern.match(self._text, self.end, self._limit):
                self._out.append(power)
                self.operators.add("^")
                self.end = found.end()
        if found := _FACTORIAL.match(self._text, self.end, self._limit):
            sign = start
            while sign < len(self._out) and self._out[sign] in ("-", ""):
                sign += 1
            # `5!` with nothing behind it is an exclamation at the end of a sentence.
            behind = self._text[found.end() : self._limit].lstrip(" \t")
            if self._text[found.start()] != "!" or behind.startswith(tuple("+-*/^)×,")):
                self._out[sign:] = ["factorial(", *self._out[sign:], ")"]
                self.operators.add("factorial")
                self.end = found.end()

    def _value(self, depth: int, *, in_call: bool) -> bool:
        text, at, limit = self._text, self.end, self._limit
        if not in_call and (found := _GROUPED.match(text, at, limit)):
            return self._take(found, found[0].replace(",", ""))
        if found := _NUMBER.match(text, at, limit):
            self._take(found, found[0])
            return self._implied_product(depth)
        if at in self._open_ends:
            return False
        if found := _CALL.match(text, at, limit):
            return self._call(found, depth)
        for prefix, head, tail in (
            (_ROOT, "sqrt(", ")"),
            (_CUBE_ROOT, "cbrt(", ")"),
            (_FACTORIAL_OF, "factorial(", ")"),
            (_BARE_CALL, "", ")"),
        ):
            if found := prefix.match(text, at, limit):
                return self._prefixed(found, head or f"{found[1].lower()}(", tail, depth)
        if found := _CONSTANT.match(text, at, limit):
            return self._take(found, {"π": "pi", "τ": "tau"}.get(found[0].lower(), found[0].lower()))
        if at < limit and text[at] == "(":
            return self._parenthesis(depth)
        return False

    def _take(self, found: re.Match[str], written: str) -> bool:
        self.end = found.end()
        self._out.append(written)
        return True

    def _implied_product(self, depth: int) -> bool:
        """Read `2pi` and `3(4+5)` as products, when nothing stands between."""
        mark, length = self.end, len(self._out)
        if self._text[self.end : self.end + 1] in ("(", "π") or self._text[self.end : self.end + 2].lower() == "pi":
            self._out.append("*")
            if self._signed(depth + 1, in_call=False):
                self.operators.add("*")
            else:
                self._back(mark, length)
        return True

    def _prefixed(self, found: re.Match[str], head: str, tail: str, depth: int) -> bool:
        mark, length = self.end, len(self._out)
        self.end = found.end()
        self._out.append(head)
        if not self._signed(depth + 1, in_call=False):
            return self._back(mark, length)
        self._out.append(tail)
        self.operators.add(head)
        return True

    def _call(self, found: re.Match[str], depth: int) -> bool:
        mark, length = self.end, len(self._out)
        self.end = found.end()
        self._out.append(f"{found[1].lower()}(")
        while True:
            self._skip()
            if not self._sum(depth + 1, in_call=True):
                break
            self._skip()
            if self._text[self.end : self.end + 1] == ",":
                self.end += 1
                self._out.append(", ")
                continue
            if self._close():
                self.operators.add(found[1].lower())
                return True
            break
        return self._unclosed(mark, length)

    def _parenthesis(self, depth: int) -> bool:
        mark, length = self.end, len(self._out)
        self.end += 1
        self._out.append("(")
        self._skip()
        if self._sum(depth + 1, in_call=False):
            self._skip()
            if self._close():
                return True
        return self._unclosed(mark, length)

    def _unclosed(self, mark: int, length: int) -> bool:
        self._open_ends.add(mark)
        return self._back(mark, length)

    def _close(self) -> bool:
        if self.end < self._limit and self._text[self.end] == ")":
            self.end += 1
            self._out.append(")")
            return True
        return False

    def _skip(self) -> bool:
        found = _SPACE.match(self._text, self.end, self._limit)
        self.end = found.end() if found else self.end
        return bool(found and found[0])


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
    """Return the calculations in `text` that are surely meant as such: start, end, and how each is written."""
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
    """Return `text` with list marks blanked out: `(1)`, `2.`, `c)` when they count up from the first, and bullets."""
    expected = {"1", "a"}
    for found in list(_NUMBERED.finditer(text)):
        mark = (found[1] or found[2]).lower()
        if mark in expected:
            expected = {str(int(mark) + 1) if mark.isdecimal() else chr(ord(mark) + 1)}
            text = text[: found.start()] + "\n" + " " * (found.end() - found.start() - 1) + text[found.end() :]
    return _BULLET.sub(lambda bullet: "\n" + " " * (len(bullet[0]) - 1), text)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tell whether an expression is no part of a word, a path, a version, a time or a name."""
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
            yield RuleFinding((start, end), (calculator.call(expression=expression),))
        else:
            finding = missing((start, end), f"work out `{expression}`", "calculator.evaluate")
            yield replace(finding, problem="") if reported else finding
            reported = True


ARITHMETIC = AnswerRule(
    can="work out arithmetic: `(1) 355/113, (2) sqrt(2), (3) e^pi`",
    able=lambda tools: _calculator(tools) is not None,
    read=_read,
)
