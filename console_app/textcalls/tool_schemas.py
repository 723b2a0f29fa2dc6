"""What the tools' schemas say about names and values: which tool is meant, and which type a written value has."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console_app.textcalls.literals import decode_json
from console_app.textcalls.model import Arguments, Schema, ToolSignature, Unreadable, is_list, is_object
from console_app.textcalls.patterns import lazily

_PREFIXES = ("functions.", "default_api.")
_INDEX = lazily(r":\d+$")
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
        self._types: dict[tuple[str, str], frozenset[str]] = {}
        folded: dict[str, list[str]] = {}
        for name in self._schemas:
            folded.setdefault(name.casefold(), []).append(name)
        self._folded = {key: names[0] for key, names in folded.items() if len(names) == 1}

    def __contains__(self, name: str) -> bool:
        return name in self._schemas

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schemas)

    def resolve(self, written: str) -> str | None:
        """The tool meant by a written name: exact, else without prefix and index, else the one alike but for case."""
        if written in self._schemas:
            return written
        written = written.strip()
        if written in self._schemas:
            return written
        bare = stripped(written)
        return bare if bare in self._schemas else self._folded.get(bare.casefold())

    def begins(self, half: str) -> bool:
        """Whether the beginning of a tool's name, or one in another form, is written here."""
        return self.resolve(half) is not None or any(name.startswith(half) for name in self._schemas)

    def properties(self, name: str) -> Mapping[str, Any]:
        """The schemas of a tool's parameters, in the order its schema gives them."""
        found = self._schemas.get(name, {}).get("properties")
        return found if is_object(found) else {}

    def required(self, name: str) -> list[str]:
        found = self._schemas.get(name, {}).get("required")
        return [key for key in found if isinstance(key, str)] if is_list(found) else []

    def sole_parameter(self, name: str) -> str | None:
        """The one parameter a lone value can be meant for."""
        required = self.required(name)
        if len(required) == 1:
            return required[0]
        properties = list(self.properties(name))
        return properties[0] if not required and len(properties) == 1 else None

    def types(self, name: str, key: str) -> frozenset[str]:
        """The JSON types a parameter may have; empty where the schema does not say."""
        if (known := self._types.get((name, key))) is not None:
            return known
        root = self._schemas.get(name, {})
        schema = self.properties(name).get(key, root.get("additionalProperties"))
        types = frozenset(_types(schema, root) if is_object(schema) else ())
        if key in self.properties(name):
            self._types[name, key] = types
        return types

    def accepts(self, name: str, arguments: Arguments) -> bool:
        """Whether these arguments are the tool's: all that are required, none that it does not declare, each of the
        type that its schema says.
        """
        properties, root = self.properties(name), self._schemas.get(name, {})
        open_ended = bool(root.get("additionalProperties", not properties))
        return (
            set(self.required(name)) <= set(arguments)
            and (open_ended or set(arguments) <= set(properties))
            and all(_is_of(value, self.types(name, key)) for key, value in arguments.items())
        )

    def typed(self, name: str, key: str, raw: str, *, trim: bool = False, exact: bool = False) -> Any:
        """The value of a parameter written as raw text between tags, with the type the schema gives it.

        Text stays text: `exact` to the last character, else less one line break at each end where the first character
        is one, and with `trim` less the white space around a single line and with its entities resolved. Anything else
        is read as JSON; what can't be read so stays text, for the tool to refuse.
        """
        cdata = _CDATA.fullmatch(raw)
        if cdata:
            text = cdata.group(1).replace("]]><![CDATA[", "")
        else:
            text = raw if exact else _between_line_breaks(raw)
            if trim and "\n" not in text:
                text = text.strip()
        types = self.types(name, key)
        if "string" in types or not types:
            if "null" in types and text.strip() in _NOTHING and not cdata:
                return None
            if types or cdata or key not in self.properties(name) or text.lstrip()[:1] not in ("{", "["):
                return _unescaped(text) if trim and not cdata else text
        try:
            value, _ = decode_json(text.strip())
        except Unreadable:
            return _unescaped(text) if trim and not cdata else text
        return value

    def fitted(self, name: str, key: str, value: Any) -> Any:
        """A value made of tags, whose texts get the types that the schema gives them at their places."""
        root = self._schemas.get(name, {})
        return _fitted(value, self.properties(name).get(key), root)

    def coerced(self, name: str, arguments: Arguments) -> Arguments:
        """`arguments` with text turned into the type the schema wants, wherever that loses nothing ("3" to 3)."""
        return {key: self._coerce(name, key, value) for key, value in arguments.items()}

    def _coerce(self, name: str, key: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        types = self.types(name, key)
        if not types or "string" in types:
            return value
        if "boolean" in types and value in _LITERAL:
            return _LITERAL[value]
        if "null" in types and value == "null":
            return None
        numeric = ("integer" in types and _CANONICAL_INT.fullmatch(value)) or (
            "number" in types and _CANONICAL_NUMBER.fullmatch(value)
        )
        wants = {"[": "array", "{": "object"}.get(value.lstrip()[:1])
        if not numeric and wants not in types:
            return value
        try:
            return decode_json(value)[0]
        except Unreadable:
            return value


def stripped(written: str) -> str:
    """A name without the prefixes and call numbers that some models put around it."""
    for prefix in _PREFIXES:
        written = written.removeprefix(prefix)
    return _INDEX.sub("", written)


def _fitted(value: Any, schema: Any, root: Schema) -> Any:
    schema = _target(schema, root) if is_object(schema) else {}
    if is_list(value):
        return [_fitted(item, schema.get("items"), root) for item in value]
    if is_object(value):
        properties: Any = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        return {key: _fitted(item, properties.get(key, others), root) for key, item in value.items()}
    types = frozenset(_types(schema, root))
    if "string" in types:
        return value
    if not value.strip() and types & {"array", "object"}:
        return [] if "array" in types else {}
    try:
        decoded, repaired = decode_json(value)
    except Unreadable:
        return value
    return value if repaired else decoded


def _target(schema: Mapping[str, Any], root: Schema) -> Mapping[str, Any]:
    """The schema that a reference within the root means; any other as it is."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return schema
    target: Any = root
    for part in reference[2:].split("/"):
        target = target.get(part) if is_object(target) else None
    return target if is_object(target) else {}


def _types(schema: Mapping[str, Any], root: Schema) -> Iterator[str]:
    """The types that a schema names, each part of it looked at once however often it is referred to."""
    waiting, seen = [schema], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        named = part.get("type")
        if isinstance(named, str):
            yield named
        elif is_list(named):
            yield from (kind for kind in named if isinstance(kind, str))
        if "$ref" in part:
            waiting.append(_target(part, root))
        for branch in ("anyOf", "oneOf", "allOf"):
            options = part.get(branch)
            waiting += [option for option in options if is_object(option)] if is_list(options) else []
        if named is None:
            choices = part.get("enum")
            for value in [*(choices if is_list(choices) else ()), *([part["const"]] if "const" in part else ())]:
                yield type_of(value)


def _is_of(value: Any, types: frozenset[str]) -> bool:
    kind = type_of(value)
    if isinstance(value, int | float) and kind != "boolean" and "number" in types:
        return True
    return not types or kind in types or ("integer" in types and isinstance(value, float) and value.is_integer())


def type_of(value: Any) -> str:
    """The type of a JSON value, as a schema calls it."""
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "object"


def _between_line_breaks(raw: str) -> str:
    """A value that stands on lines of its own, without the breaks around it; one that begins beside its tag as it
    is.
    """
    begin = 2 if raw.startswith("\r\n") else 1 if raw.startswith("\n") else 0
    end = len(raw)
    if begin and end > begin and raw.endswith("\n"):
        end -= 2 if raw.endswith("\r\n") and end - begin >= 2 else 1
    return raw[begin:end]


def _unescaped(text: str) -> str:
    """Entities resolved, in a single line that holds no raw markup beside them: only then were they meant as such."""
    if "&" not in text or "\n" in text or "<" in text or ">" in text or "&" in _ENTITY.sub("", text):
        return text
    return html.unescape(text)
