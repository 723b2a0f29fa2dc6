"""A prompt with places for an item's fields: `{title}`, `{author.name}`; `{{` and `}}` are braces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from console_app.domain.errors import UsageError

_PART = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}|[{}]")
_MISSING = object()


class Template:
    """`name` is what people call it, as `--prompt`. Raises UsageError for a brace that stands alone."""

    def __init__(self, text: str, name: str) -> None:
        self._parts: list[tuple[str, str | None]] = []  # text, and the field behind it
        begin = 0
        plain = ""
        for match in _PART.finditer(text):
            plain += text[begin : match.start()]
            begin = match.end()
            field, found = match[1], match[0]
            if field is not None:
                self._parts.append((plain, field.strip()))
                plain = ""
            elif len(found) == 2:
                plain += found[0]
            else:
                raise UsageError(
                    f"{name}: the {found} at character {match.start() + 1} names no field",
                    "Write {field}, or {{ and }} for braces.",
                )
        self._parts.append((plain + text[begin:], None))

    @property
    def fields(self) -> list[str]:
        """The fields it names, once each."""
        return list(dict.fromkeys(field for _, field in self._parts if field is not None))

    def missing(self, fields: Mapping[str, Any]) -> list[str]:
        """What it names and `fields` doesn't have."""
        return [name for name in self.fields if _look_up(fields, name) is _MISSING]

    def filled(self, fields: Mapping[str, Any]) -> str:
        """The text with the values in their places; what is no text stands there as JSON."""
        return "".join(text if name is None else text + _written(_look_up(fields, name)) for text, name in self._parts)


def _look_up(fields: Mapping[str, Any], name: str) -> Any:
    if name in fields:
        return fields[name]
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = cast("Mapping[str, Any]", value)[part]
    return value


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
