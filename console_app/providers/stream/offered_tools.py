"""Reads the calls of an answer by the tools that its request offered: which tool a name means, and what arguments that
are almost JSON hold.

Mending loses nothing and guesses nothing: the text is whole by the endpoint's own word, and every person who is asked
sees it beside what it was read as.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from console_app.domain import ToolSpec
from console_app.domain import chunks as ch
from console_app.providers.faults.tool_schemas import own
from console_app.providers.stream.loose_json import object_problem
from console_app.textcalls import ToolSchemas, ToolSignature, decode_json

ALMOST = "its arguments were not JSON and had to be mended"
LOST = "a character of its arguments could not be read"
ENCODED_TWICE = "arguments that were JSON inside of a JSON text"
HALVES = "half a character, which became �"
_LOSSLESS = {
    *("a comma too many", "a comment", "a key without quotes", "a number not written as in JSON", "single quotes"),
    *("a raw line break or tab inside a string", "True, False or None as in Python"),
}
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_DEFAULT_API = re.compile(r"(?:functions|default_api):(?=[^\d\s])")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class Mended(NamedTuple):
    """Arguments as the JSON text of an object, what was mended in words, and why a person has to see it, if so."""

    arguments: str
    repaired: tuple[str, ...]
    must_ask: str


class OfferedTools:
    """The tools of one request, by the names that they have on the wire.

    `replaced` is set where a character of the answer could not be read, and stands as U+FFFD.
    """

    def __init__(self, specs: Sequence[ToolSpec] = ()) -> None:
        self.replaced = False
        self._specs = specs
        self.names = frozenset(spec.name for spec in specs)

    @cached_property
    def _schemas(self) -> ToolSchemas:
        return ToolSchemas([ToolSignature(spec.name, spec.input_schema) for spec in self._specs])

    def called(self, written: str) -> str:
        """Return the tool that a written name means, where exactly one fits; else the name as it was written.

        A tool whose own name has a dot, which on the wire became `_`, is meant before one behind a `functions.`.
        """
        if written in self.names or not self.names:
            return written
        legal = _ILLEGAL.sub("_", written)
        if legal in self.names:
            return legal
        bare = written.partition("<|")[0]  # a token of the model's own format, left behind the name (gpt-oss)
        return self._schemas.resolve(_DEFAULT_API.sub("functions.", bare)) or written

    def read(self, index: int, written: str, text: str) -> ch.CallClosed | ch.CallBroken:
        """Return the end of the call `index`: `text` are its arguments, complete by the endpoint's own word."""
        name = self.called(written)
        read = Mended("" if text.strip() in ("", "null") else text, (), "")
        if problem := object_problem(text):
            mended = self.mended(name, text)
            if mended is None:
                return ch.CallBroken(index, problem, text)
            read = mended
        arguments, repaired, must_ask = read
        arguments = own(arguments, self._schema(name))
        raw = text if repaired else ""
        if name != written:
            repaired = (*repaired, f"the name, written {written}")
        if _half_characters(arguments) or (self.replaced and "\ufffd" in arguments):
            repaired, must_ask, raw = (*repaired, HALVES), must_ask or LOST, text
        return ch.CallClosed(index, arguments, raw, repaired, must_ask=must_ask)

    def _schema(self, name: str) -> Mapping[str, Any]:
        none: Mapping[str, Any] = {}
        return next((spec.input_schema for spec in self._specs if spec.name == name), none)

    def mended(self, name: str, text: str) -> Mended | None:
        """Complete arguments that are no object, as the object that they mean; None when that isn't plain."""
        try:
            value, repaired = decode_json(text)
        except ValueError:
            return None
        if not _LOSSLESS.issuperset(repaired):
            return None
        if isinstance(value, dict):
            return Mended(_json(value), repaired, ALMOST) if repaired else None
        if value is None or isinstance(value, list):
            return None
        alone = self._alone(name, value)
        if isinstance(value, str) and not repaired and value.strip() and not object_problem(value) and value != "null":
            return Mended(value, (ENCODED_TWICE,), ALMOST if alone else "")
        if alone is None:
            return None
        return Mended(_json(alone), (*repaired, "a lone value, taken for the tool's one parameter"), ALMOST)

    def _alone(self, name: str, value: Any) -> dict[str, Any] | None:
        parameters = list(self._schemas.properties(name))
        if len(parameters) != 1 or not self._schemas.types(name, parameters[0]):
            return None
        arguments = {parameters[0]: value}
        return arguments if self._schemas.accepts(name, arguments) else None


def _half_characters(text: str) -> bool:
    """Tell whether the JSON in `text` escapes half of a surrogate pair: no text can hold that."""
    if _HALF.search(text) is None:
        return False
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        pass
    return False


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
