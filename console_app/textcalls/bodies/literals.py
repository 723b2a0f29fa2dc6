"""Values written out: strict JSON first, then one forgiving reader for JSON with mistakes, Python and quoted tokens.

Nothing is evaluated: what is no literal is an error that says where. Every mending is noted in words, for approvals."""

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NoReturn

from console_app.records import dataclass, field
from console_app.textcalls.bodies.framing import DEPTH_CAP, PAIRS, PYTHON, quoted
from console_app.textcalls.model import Unreadable, is_list, is_object
from console_app.textcalls.patterns import lazily

_NUMBER = lazily(
    r"[+-]?(?:0[xX][0-9a-fA-F]++|(?:\d[\d_]*+(?:\.(?:\d[\d_]*+)?)?|\.\d[\d_]*+)(?:[eE][+-]?\d++)?)(?![\w.])"
)
_STRICT_FLOAT = lazily(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
KEYWORD = lazily(r"\s*([^\W\d]\w*)\s*=(?!=)")
_WORD = lazily(r"[^\W\d][\w$-]*")
_GAP = lazily(r"(?:\s+|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_SPACE = lazily(r"\s*+")
_DOUBLED = lazily(r"\{\s*(?=\{)")
_BARE = lazily(r"[^,{}\[\]<\n()\"'`]*(?=[,}\]])")
_RAW = lazily(r"[rR](?=[\"'])")
_ESCAPE = lazily(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|\r?\n|.)", re.DOTALL)
_HAS_SURROGATE = lazily(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_PYTHON_ONLY = {"a": "\a", "v": "\v", "0": "\0"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


def decode_json(text: str, closers_may_miss: bool = False) -> tuple[Any, tuple[str, ...]]:
    """Return the value of `text`, and what had to be mended. `closers_may_miss`: an explicit end follows the text."""
    try:
        if nesting(text) > DEPTH_CAP:
            raise Unreadable(f"it nests deeper than {DEPTH_CAP} levels")
        value = _STRICT.decode(text)
        halves = ("\\" in text or not text.isascii()) and _HAS_SURROGATE.search(text)
        return (whole_characters(value) if halves else value), ()
    except json.JSONDecodeError:
        reader = LiteralReader(text, json=True, closers_may_miss=closers_may_miss)
        value = reader.document()
        return value, tuple(reader.repairs)
    except ValueError as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable("it holds a number with too many digits") from None


def nesting(text: str) -> int:
    """Return an upper bound of how deep `text` nests: brackets inside strings are counted only where it matters."""
    if text.count("[") + text.count("{") <= DEPTH_CAP:
        return 0
    depth = deepest = 0
    for token in re.finditer(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', text, re.DOTALL):
        depth += (token.group() in "[{") - (token.group() in "]}")
        deepest = max(deepest, depth)
    return deepest


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Unreadable(f"{text[:40]} is too large for a number, or none that JSON has")
    return number


_STRICT = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def whole_characters(value: Any) -> Any:
    """Return `value` with surrogate pairs joined to the character they mean, and half pairs made U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if is_list(value):
        return [whole_characters(item) for item in value]
    if is_object(value):
        return {whole_characters(key): whole_characters(item) for key, item in value.items()}
    return value


UNQUOTED_KEY = "a key without quotes"


@cache
def _plain_member(quote: str) -> re.Pattern[str]:
    """Return a pattern of a member as most are, whose value is a text or an integer, and of the sign behind it."""
    mark, inside = re.escape(quote), quoted(quote).strings[quote].pattern
    value = rf"(?:{mark}({inside}){mark}|(-?[0-9]{{1,18}}))"
    return re.compile(rf"\s*+({_WORD.pattern}+)\s*+:\s*+{value}\s*+([,}}])", re.DOTALL)


@dataclass(slots=True)
class LiteralReader:
    """Reads literals from a complete text. As `json` it mends what models get wrong in JSON and notes it in `repairs`,
    else it reads Python's, with their quotes and words. `quote` is a token that strings may stand between."""

    text: str
    json: bool = False
    closers_may_miss: bool = False
    quote: str = ""
    bare_words: bool = False
    pos: int = 0
    repairs: dict[str, None] = field(default_factory=dict[str, None])
    _depth: int = 0

    def document(self) -> Any:
        """Return the one value of the text; anything after it but spare closing brackets is an error."""
        value = self.value()
        self.gap()
        rest = self.text[self.pos :]
        if rest and self.json and not rest.strip("}] \t\r\n"):
            self._mend("a closing bracket too many")
        elif rest:
            self.fail("something follows the value")
        return value

    def gap(self) -> None:
        """Move past white space, and in JSON past comments, which are noted."""
        found = (_GAP if self.json else _SPACE).match(self.text, self.pos)
        if found and found.end() > self.pos:
            if self.json and found.group().strip():
                self._mend("a comment")
            self.pos = found.end()

    def fail(self, message: str) -> NoReturn:
        raise Unreadable(message, self.pos)

    def _mend(self, what: str) -> None:
        self.repairs[what] = None

    def value(self) -> Any:
        self.gap()
        char = self.text[self.pos : self.pos + 1]
        if self.quote and self.text.startswith(self.quote, self.pos):
            begin = self.pos + len(self.quote)
            if (end := self.text.find(self.quote, begin)) < 0:
                self.fail("a string is not closed")
            self.pos = end + len(self.quote)
            return self.text[begin:end]
        if char and char in "\"'":
            return self._string()
        if not self.json and char in ("r", "R") and (raw := _RAW.match(self.text, self.pos)):
            self.pos = raw.end()
            return self._string(raw=True)
        if char in PAIRS:
            if self._depth >= DEPTH_CAP:
                self.fail(f"it nests deeper than {DEPTH_CAP} levels")
            self._depth += 1
            if char == "(" and self.json:
                self.fail("round brackets do not belong in JSON")
            value = self._object() if char == "{" else [self.value() for _ in self.members(PAIRS[char])]
            self._depth -= 1
            return value
        number = _NUMBER.match(self.text, self.pos)
        return self._number(number) if number else self._word()

    def _string(self, raw: bool = False) -> str:
        parts: list[str] = []
        while self.text[self.pos : self.pos + 1] in ('"', "'") and self.pos < len(self.text):
            quote = self.text[self.pos]
            if self.json and quote == "'":
                self._mend("single quotes")
            token = quote * 3 if not self.json and self.text.startswith(quote * 3, self.pos) else quote
            found = PYTHON.strings[token].match(self.text, self.pos + len(token))
            if not found or not self.text.startswith(token, found.end()):
                self.fail("a string is not closed")
            inside = found.group()
            if self.json and re.search(r"[\n\r\t]", inside):
                self._mend("a raw line break or tab inside a string")
            self.pos = found.end() + len(token)
            parts.append(inside if raw else whole_characters(_ESCAPE.sub(self._escape, inside)))
            if self.json or raw:
                break
            self.gap()  # Python joins strings that stand side by side
        return "".join(parts)

    def _escape(self, found: re.Match[str]) -> str:
        code = found.group(1)
        if code[0] in "uxU" and len(code) > 1 and not (self.json and code[0] in "xU"):
            number = int(code[1:], 16)
            return chr(number) if number <= 0x10FFFF else "\ufffd"
        if code in _SIMPLE:
            return _SIMPLE[code]
        if not self.json and code in _PYTHON_ONLY:
            return _PYTHON_ONLY[code]
        if not self.json and code in ("\n", "\r\n"):
            return ""
        if self.json:
            self._mend(f"the escape \\{code[0]}, which JSON does not have")
        return found.group()

    def _number(self, found: re.Match[str]) -> int | float:
        text = found.group()
        self.pos = found.end()
        if self.json and not _STRICT_FLOAT.fullmatch(text):
            self._mend("a number not written as in JSON")
        plain = text.replace("_", "")
        try:
            if plain.lower().lstrip("+-").startswith("0x"):
                return int(plain, 16)
            return int(plain) if re.fullmatch(r"[+-]?\d+", plain) else _finite(plain)
        except ValueError as error:
            why = str(error) if isinstance(error, Unreadable) else "a number is too long"
            raise Unreadable(why, self.pos) from None

    def _word(self) -> Any:
        found = _WORD.match(self.text, self.pos)
        if not found:
            self.fail("a value is missing" if self.pos < len(self.text) else "it ends where a value should stand")
        word = found.group()
        if word in _WORDS:
            self.pos = found.end()
            if self.json and word[0].isupper():
                self._mend("True, False or None as in Python")
            return _WORDS[word]
        if self.bare_words:
            bare = _BARE.match(self.text, self.pos)
            if bare and bare.group().strip():
                self.pos = bare.end()
                return bare.group().strip()
        return self.fail(f"{word[:40]} {'stands without quotes' if self.json else 'is not a literal value'}")

    def _object(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        plain = _plain_member(self.quote) if self.quote else None
        while plain and (found := plain.match(self.text, self.pos + 1)):
            key, text, number, end = found.groups()
            result[key] = int(number) if number else text
            self.pos = found.end() - 1
            if end == "}":
                self.pos += 1
                return result
        doubled = _DOUBLED.match(self.text, self.pos) if self.json else None
        if doubled:
            self._mend("doubled braces")
            self.pos = doubled.end()
        for _ in self.members("}"):
            key = self._key()
            self.gap()
            if not self.text.startswith(":", self.pos):
                self.fail("a colon is missing after a key")
            self.pos += 1
            result[key] = self.value()
        if doubled:
            self.gap()
            self.pos += self.text.startswith("}", self.pos)
        return result

    def _key(self) -> str:
        if self.text.startswith((self.quote or '"', '"', "'"), self.pos):
            return self.value()
        found = _WORD.match(self.text, self.pos)
        if not found or not (self.json or self.quote):
            self.fail("a key should be a string")
        self.pos = found.end()
        if self.json:
            self._mend(UNQUOTED_KEY)
        return found.group()

    def members(self, closer: str) -> Iterator[None]:
        """Step through the members up to `closer`; yields where each begins."""
        self.pos += 1
        first = True
        while True:
            self.gap()
            if self.text.startswith(closer, self.pos):
                self.pos += 1
                return
            if not first:
                if self.pos >= len(self.text) and self.closers_may_miss:
                    self._mend("a closing bracket was missing")
                    return
                if self.text.startswith(",", self.pos):
                    self.pos += 1
                elif closer == ")" and KEYWORD.match(self.text, self.pos):
                    self._mend("a comma was missing")
                else:
                    self.fail(f"a comma or {closer} is missing")
                self.gap()
                if self.text.startswith(closer, self.pos):
                    if self.json:
                        self._mend("a comma too many")
                    self.pos += 1
                    return
            first = False
            yield None
