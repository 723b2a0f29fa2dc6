"""Recognises arithmetic in a sentence and writes it the way calculators read it; it never works anything out itself.

One pass over the text, which keeps what stands open in a list. Depth, length and runs of signs are bounded, so that
hostile text costs time in proportion to its length.
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
_OF_ONE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), function)
    for pattern, function in (
        (r"(?:the\s+)?square\s+root\s+of\s+|√\s*", "sqrt"),
        (r"(?:the\s+)?cube\s+root\s+of\s+", "cbrt"),
        (r"(?:the\s+)?factorial\s+of\s+", "factorial"),
        *((rf"{name}\s+(?:of\s+)?(?=[\d.(π])", name) for name in ("sqrt", "ln", "log", "sin", "cos", "tan")),
    )
)
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
_SIGNS = re.compile(r"[-+−]{1,3}")
_FACTOR = re.compile(r"\(|π|pi", re.IGNORECASE)  # what may stand behind a number, which it is a factor of
_SPACE, _COMMA, _OPENED, _CLOSED = (re.compile(pattern) for pattern in (r"[ \t]+", ",", r"\(", r"\)"))
_DEPTH = 25
_LENGTH = 500  # characters of one expression; a longer one is not one


class Expression:
    """Reads the longest expression at `start` of `text`: then `end` is after it and `written` is it, normalised.

    `operators` holds the symbols and functions in it; `found` is False when there is none. What goes wrong ends the
    expression at the last place where nothing stood open. `open_ends` remembers, for all expressions of one text, the
    parentheses that don't close: without it nested ones would be tried over and over.
    """

    def __init__(self, text: str, start: int, open_ends: set[int]) -> None:
        self._text = text
        self._open_ends = open_ends
        self._limit = min(len(text), start + _LENGTH)
        self._at = self.end = start
        self._out: list[str] = []
        self._used: set[str] = set()
        # What stands open: "(", "call", or "of one" for a function without parentheses, and its places in `_out` and in
        # the text.
        self._open: list[tuple[str, int, int]] = []
        self.written = ""  # in the notation of the `evaluate` tool
        self.operators: set[str] = set()
        while self._value() and self._behind():
            pass
        self.found = bool(self.written)
        open_ends.update(place for _, _, place in self._open)

    def _take(self, pattern: re.Pattern[str], written: str | None = None) -> re.Match[str] | None:
        if found := pattern.match(self._text, self._at, self._limit):
            self._at = found.end()
            self._out += [written] if written is not None else []
        return found

    def _value(self) -> bool:
        """Read a value with the signs before it, and what opens in front of it; False where there is none."""
        while len(self._open) < _DEPTH:
            if signs := self._take(_SIGNS):
                self._out += ["-" for sign in signs[0] if sign != "+"]
            began, at = len(self._out), self._at
            if self._open[-1:] and self._open[-1][0] == "call":
                number = self._take(_NUMBER)  # its commas part arguments
            else:
                number = self._take(_GROUPED) or self._take(_NUMBER)
            if number:
                self._out.append(number[0].replace(",", ""))
                if "," in number[0] or not _FACTOR.match(self._text, self._at, self._limit):
                    return self._whole(began)
                self._mark()
                self._out.append("*")
                self._used.add("*")
            elif self._at in self._open_ends:
                return False
            elif found := self._take(_CALL):
                self._enter("call", found[1].lower(), began, at)
            elif name := next((name for pattern, name in _OF_ONE if self._take(pattern)), ""):
                self._enter("of one", name, began, at)
            elif found := self._take(_CONSTANT):
                self._out.append({"π": "pi", "τ": "tau"}.get(found[0].lower(), found[0].lower()))
                return self._whole(began)
            elif self._take(_OPENED):
                self._enter("(", "", began, at)
            else:
                return False
        return False

    def _enter(self, kind: str, function: str, began: int, place: int) -> None:
        self._open.append((kind, began, place))
        self._out.append(f"{function}(")
        self._used |= {function} - {""}
        self._take(_SPACE)

    def _behind(self) -> bool:
        """Read what is behind a value, up to the beginning of the next one; False where there is none."""
        while True:
            space = self._take(_SPACE)
            if symbol := next((symbol for pattern, symbol in _OPERATORS if self._take(pattern)), ""):
                self._out.append(f" {symbol} " if space and symbol not in ("^", "/100*") else symbol)
                self._used.add(symbol)
                self._take(_SPACE)
                return True
            kind, began, _ = self._open[-1] if self._open else ("", 0, 0)
            if kind == "call" and self._take(_COMMA, ", "):
                self._take(_SPACE)
                return True
            if not kind or not self._take(_CLOSED, ")"):
                return False
            self._open.pop()
            self._whole(began)

    def _whole(self, began: int) -> bool:
        """Read what belongs to the value that is whole now; it may be what a function without parentheses is of."""
        self._postfix(began)
        while self._open and self._open[-1][0] == "of one":
            _, began, _ = self._open.pop()
            self._out.append(")")
            self._postfix(began)
        self._mark()
        return True

    def _mark(self) -> None:
        if all(kind == "of one" for kind, _, _ in self._open):
            self.end, self.operators = self._at, self._used.copy()
            self.written = "".join(self._out) + ")" * len(self._open)

    def _postfix(self, began: int) -> None:
        """Read powers written as words or small digits, and the factorial, which is a function, behind a value."""
        for pattern, power in _POSTFIX:
            if self._take(pattern, power):
                self._used.add("^")
        if found := _FACTORIAL.match(self._text, self._at, self._limit):
            # `5!` with nothing behind it is an exclamation at the end of a sentence.
            behind = self._text[found.end() : self._limit].lstrip(" \t")
            if self._text[found.start()] != "!" or behind.startswith(tuple("+-*/^)×,")):
                self._out[began:] = ["factorial(", *self._out[began:], ")"]
                self._used.add("factorial")
                self._at = found.end()


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
