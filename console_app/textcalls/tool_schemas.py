"""Reads what the tools' schemas say about names and values: which tool is meant, and which type a written value has."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from console_app.domain import schema as json_schema
from console_app.textcalls.bodies.literals import decode_json
from console_app.textcalls.model import Arguments, Schema, ToolSignature, Unreadable, is_list, is_object
from console_app.textcalls.patterns import lazily

_AROUND = lazily(r"^(?:functions\.)?(?:default_api\.)?|:\d+$")
_CANONICAL_INT = lazily(r"-?(?:0|[1-9]\d*)")
_CANONICAL_NUMBER = lazily(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ENTITY = lazily(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});")
_CDATA = lazily(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_NOTHING = ("null", "None")
"""How a value that may be text or nothing is written when it is nothing: as JSON has it, or as templates print it."""
_LITERAL = {"true": True, "false": False, "True": True, "False": False}


class ToolSchemas:
    """The tools of one answer, looked up by the names models write."""

    def __init__(self, tools: Sequence[ToolSignature]) -> None:
        self._schemas: dict[str, Schema] = {tool.name: tool.parameters for tool in tools}
        self._properties = {tool.name: json_schema.properties(tool.parameters) for tool in tools}
        self.names = tuple(self._schemas)
        self._types: dict[tuple[str, str], frozenset[str]] = {}
        folded: dict[str, list[str]] = {}
        for name in self._schemas:
            folded.setdefault(name.casefold(), []).append(name)
        self._folded = {key: names[0] for key, names in folded.items() if len(names) == 1}

    def __contains__(self, name: str) -> bool:
        return name in self._schemas

    def resolve(self, written: str) -> str | None:
        """Return the tool meant by a written name: exact, else without prefix, index, origin or its double, else the
        one alike but for case."""
        if written in self._schemas:
            return written
        bare = stripped(whole := written.strip())
        first, _, rest = bare.partition(".")  # doubled, as Muse's template has it
        for name in (whole, bare, bare.rpartition("/")[2], first if first == rest else ""):
            if name in self._schemas:
                return name
        return self._folded.get(bare.casefold())

    def begins(self, half: str) -> bool:
        return self.resolve(half) is not None or any(name.startswith(half) for name in self._schemas)

    def properties(self, name: str) -> Mapping[str, Any]:
        return self._properties.get(name, {})

    def required(self, name: str) -> tuple[str, ...]:
        return json_schema.required(self._schemas.get(name, {}))

    def types(self, name: str, key: str) -> frozenset[str]:
        """Return the JSON types a parameter may have; empty where the schema does not say."""
        if (known := self._types.get((name, key))) is not None:
            return known
        root = self._schemas.get(name, {})
        found = frozenset(json_schema.types(self.properties(name).get(key, json_schema.others(root)), root))
        if key in self.properties(name):
            self._types[name, key] = found
        return found

    def accepts(self, name: str, arguments: Arguments) -> bool:
        """Tell whether these are the arguments a tool needs and declares, each of the type that its schema says."""
        known, more = self.properties(name), json_schema.others(self._schemas.get(name, {}))
        open_ended = not known if more is None else bool(more)
        return (
            set(self.required(name)) <= set(arguments)
            and (open_ended or set(arguments) <= set(known))
            and all(json_schema.is_of(value, self.types(name, key)) for key, value in arguments.items())
        )

    def typed(self, name: str, key: str, raw: str, *, trim: bool = False, exact: bool = False) -> Any:
        """Return the value of a parameter written as raw text between tags, with the type the schema gives it.

        Text stays text: `exact` to the last character, else less one line break at each end where the first character
        is one, and with `trim` less the white space around a single line and with its entities resolved. Anything else
        is read as JSON; what can't be read so stays text, for the tool to refuse."""
        kinds, meant = self.types(name, key), raw if exact else _between_line_breaks(raw)
        meant = meant.strip() if trim and "\n" not in meant else meant
        text, plain = meant, _unescaped(meant) if trim else meant
        if cdata := "<" in raw and _CDATA.fullmatch(raw):
            text = plain = cdata.group(1).replace("]]><![CDATA[", "")
        if "string" in kinds or not kinds:
            if "null" in kinds and text.strip() in _NOTHING and not cdata:
                return None
            if kinds or cdata or key not in self.properties(name) or text.lstrip()[:1] not in ("{", "["):
                return plain
        try:
            return decode_json(text.strip())[0]
        except Unreadable:
            return plain

    def fitted(self, name: str, key: str, value: Any) -> Any:
        """Give the texts in a value made of tags the types that the schema has at their places."""
        return _fitted(value, self.properties(name).get(key), self._schemas.get(name, {}))

    def coerced(self, name: str, arguments: Arguments) -> Arguments:
        """`arguments` with text turned into the type the schema wants, wherever that loses nothing ("3" to 3)."""
        meant: Arguments = {}
        for key, value in arguments.items():
            kinds = self.types(name, key) if isinstance(value, str) else ()
            meant[key] = _coerced(value, kinds) if kinds and "string" not in kinds else value
        return meant


def _coerced(text: str, kinds: frozenset[str]) -> Any:
    if "boolean" in kinds and text in _LITERAL:
        return _LITERAL[text]
    if "null" in kinds and text == "null":
        return None
    numeric = "integer" in kinds and _CANONICAL_INT.fullmatch(text)
    numeric = numeric or ("number" in kinds and _CANONICAL_NUMBER.fullmatch(text))
    try:
        wanted = numeric or {"[": "array", "{": "object"}.get(text.lstrip()[:1]) in kinds
        return decode_json(text)[0] if wanted else text
    except Unreadable:
        return text


def stripped(written: str) -> str:
    """A name without the prefixes and call numbers that some models put around it."""
    return _AROUND.sub("", written)


def _fitted(value: Any, schema: Any, root: Schema) -> Any:
    schema = json_schema.followed(json_schema.as_schema(schema), root)
    if is_list(value):
        return [_fitted(one, json_schema.item(schema), root) for one in value]
    if is_object(value):
        known, more = json_schema.properties(schema), json_schema.others(schema)
        return {key: _fitted(one, known.get(key, more), root) for key, one in value.items()}
    kinds = json_schema.types(schema, root)
    if "string" in kinds:
        return value
    if not value.strip() and ("array" in kinds or "object" in kinds):
        return [] if "array" in kinds else {}
    try:
        decoded, repaired = decode_json(value)
    except Unreadable:
        return value
    return value if repaired else decoded


def _between_line_breaks(raw: str) -> str:
    """Return a value that stands on lines of its own without the breaks around it, any other as it is."""
    begin = 2 if raw.startswith("\r\n") else 1 if raw.startswith("\n") else 0
    inside = raw[begin:]
    return inside.removesuffix("\r\n" if inside.endswith("\r\n") else "\n") if begin else raw


def _unescaped(text: str) -> str:
    """Entities resolved, in a single line that holds no raw markup beside them: only then were they meant as such."""
    if "&" not in text or "\n" in text or "<" in text or ">" in text or "&" in _ENTITY.sub("", text):
        return text
    return html.unescape(text)
