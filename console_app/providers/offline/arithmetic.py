"""Recognises arithmetic in a sentence and writes it the way calculators read it; it never works anything out itself.

One pass over the text, a value and what stands behind it at a time. Depth and length are bounded, so that hostile text
costs time in proportion to its length.
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
_OF = r"(?:the\s+)?(?:square\s+root|cube\s+root|factorial)\s+of|(?:sqrt|ln|log|sin|cos|tan)(?:\s+of)?(?=[ (])|√"
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?"
_GROUPED = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|"


def _value(number: str) -> re.Pattern[str]:
    """Make the pattern of a value: a number or a constant, or the parenthesis that opens one."""
    constant = r"(?:pi|tau|e)(?![\w(])|[πτ]"
    factorial = r"!(?!=)(?=[ \t]*[-+*/^)×,])|\s+factorial\b(?!\s+of\b)"  # else `!` ends the sentence
    alone = rf"(?:(?P<of>{_OF})\s*)?(?:(?P<number>{number})(?P<factorial>{factorial})?|(?P<constant>{constant}))"
    return re.compile(rf"(?P<signs>[-+−]{{0,3}})(?:{alone}|(?P<opens>(?:{_OF}|{_FUNCTIONS})?)\s*\([ \t]*)", re.I)


_VALUE, _ARGUMENT = _value(_GROUPED + _NUMBER), _value(_NUMBER)  # commas part the arguments of a function
_FACTOR = re.compile(r"\(|π|pi", re.IGNORECASE)  # what may stand behind a number, which it is a factor of
_POWER = re.compile(r"\s+squared\b|²|(\s+cubed\b|³)", re.IGNORECASE)
_CLOSED, _COMMA = re.compile(r"[ \t]*\)"), re.compile(r"[ \t]*,[ \t]*")
_OPERATORS = tuple(
    (re.compile(rf"([ \t]*)(?:{pattern})[ \t]*", re.IGNORECASE), symbol)
    for pattern, symbol in (
        (r"(?:raised\s+)?to\s+the\s+power\s+(?:of\s+)?(?=[\d(.-])|\*\*|\^", "^"),
        (r"multiplied\s+by\b|times\b|[*×·⋅]|(?<=\s)x(?=\s+[\d(])", "*"),
        (r"//", "//"),
        (r"divided\s+by\b|over\b(?=\s+[\d(])|[/÷]", "/"),
        (r"plus\b|\+", "+"),
        (r"minus\b|[-−]", "-"),
        (r"mod(?:ulo)?\b|%(?=\s*[\d(])", "%"),
        (r"(?:%|percent)\s*of\b", "/100*"),
    )
)
_SYMBOLS = {"π": "pi", "τ": "tau", "√": "sqrt", "squareroot": "sqrt", "cuberoot": "cbrt"}
_DEPTH = 25
_LENGTH = 500  # characters of one expression; a longer one is not one


def _called(words: str) -> str:
    """Return the name that calculators have for a function or a constant."""
    name = "".join(word for word in words.lower().split() if word not in ("the", "of"))
    return _SYMBOLS.get(name, name)


def _longest(text: str, start: int, unclosed: set[int]) -> tuple[int, str, set[str]]:
    """Read the longest expression at `start` in which nothing stands open.

    Return its end, how it is written, and the signs and functions in it; "" where there is none. `unclosed` keeps, for
    all expressions of a text, the parentheses that don't close: nested ones would be tried over and over.
    """
    at, limit, best = start, min(len(text), start + _LENGTH), (start, "", set[str]())
    out, used, opened = list[str](), set[str](), list[tuple[str, int]]()

    def taken(pattern: re.Pattern[str], written: str | None = None) -> re.Match[str] | None:
        nonlocal at
        if found := pattern.match(text, at, limit):
            at = found.end()
            out.extend([] if written is None else [written])
        return found

    in_call = False
    while len(opened) < _DEPTH and (found := taken(_ARGUMENT if in_call else _VALUE)) and at not in unclosed:
        out.append("".join("-" for sign in found["signs"] if sign != "+"))
        name = _called(found["opens"] or found["of"] or "")
        used |= {name} - {""}
        if found["opens"] is not None:
            out.append(f"{name}(")
            opened.append((name, at))
            in_call = bool(name)
            continue
        value = (found["number"] or _called(found["constant"])).replace(",", "")
        for function in ("factorial"[: 9 * bool(found["factorial"])], name):
            value = f"{function}({value})" if function else value
        used |= {"factorial"} if found["factorial"] else set()
        out.append(value)
        factor = found["number"] and "," not in found["number"] and _FACTOR.match(text, at, limit)
        while True:
            while power := taken(_POWER):
                out.append("^3" if power[1] else "^2")
                used.add("^")
            if not opened:
                best = at, "".join(out), used.copy()
            if factor or not opened or not taken(_CLOSED, ")"):
                break
            opened.pop()
        in_call = bool(opened and opened[-1][0])
        if factor:
            out.append("*")
            used.add("*")
        elif not in_call or not taken(_COMMA, ", "):
            behind = next(((found, symbol) for pattern, symbol in _OPERATORS if (found := taken(pattern))), None)
            if behind is None:
                break
            gap, symbol = behind[0][1], behind[1]
            out.append(f" {symbol} " if gap and symbol not in ("^", "/100*") else symbol)
            used.add(symbol)
    unclosed.update(place for _, place in opened)
    return best


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
    unclosed, at = set[int](), 0
    while found := _START.search(text, at):
        start = found.start()
        end, written, used = _longest(text, start, unclosed)
        if not written or not _stands_alone(text, start, end):
            token = _TOKEN.match(text, start)
            at = max(token.end() if token else 0, end, start + 1)
            continue
        if _sure(text, start, end, used, cue=cue):
            yield start, end, written
        at = max(end, start + 1)


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


def _sure(text: str, start: int, end: int, used: set[str], *, cue: bool) -> bool:
    source = text[start:end]
    if _DATE.fullmatch(source.strip()):
        return False
    whole = _BEFORE.search(text[max(0, start - 60) : start]) and _AFTER.match(text, end)
    if not used:
        return bool(cue and whole and source.strip().lower() in ("pi", "e", "tau", "π", "τ"))
    return bool(not used <= _WEAK or cue or whole)


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
    "work out arithmetic: `(1) 355/113, (2) sqrt(2), (3) e^pi`", lambda tools: _calculator(tools) is not None, (_read,)
)
