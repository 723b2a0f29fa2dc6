"""The form of an elicitation as the fields that the console's widgets show: its titles are what people read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from console_app.console.fields import Field
from console_app.domain.forms import FormField, fields_of

MOST_FIELDS = 60


def form_fields(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """A field each, in the form's order; past `MOST_FIELDS` only those that have to be filled in."""
    found = fields_of(schema)
    shown = found[:MOST_FIELDS] + tuple(field for field in found[MOST_FIELDS:] if field.required)
    return tuple(_field(field, schema) for field in shown)


def _field(field: FormField, schema: Mapping[str, Any]) -> Field:
    properties = cast("Mapping[str, Any]", schema["properties"])
    part: Any = properties[field.name]
    return Field(
        field.name,
        field.kind,
        title=field.title,
        about=field.description,
        required=field.required,
        default=field.default,
        choices=tuple(value for value, _ in field.choices),
        labels=tuple(label for _, label in field.choices),
        secret=field.is_secret,
        schema=cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {},
    )
