"""Answers that have to be JSON of a given shape: how the model is asked for them, and what is wrong with one."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from console_app.domain import one_line, safe_text
from console_app.domain import schema as json_schema

_FENCED = re.compile(r"\A```[\w-]*\s*\n(.*?)\n?```\Z", re.DOTALL)
_LONGEST = 500  # characters of a complaint


class NotFitting(ValueError): ...


def request(schema: dict[str, Any]) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return f"Your last message has to be one JSON value that fits this JSON Schema, and nothing else:\n{text}"


def again(reason: str) -> str:
    return f"That answer doesn't fit the JSON Schema: {reason}. Answer again, with the JSON value alone."


def read(answer: str, schema: dict[str, Any]) -> Any:
    """Return an answer's value, which a code fence may enclose. Raises NotFitting."""
    library = _library()
    text = answer.strip()
    fenced = _FENCED.match(text)
    try:
        value: Any = json.loads(fenced[1] if fenced else text, parse_constant=safe_text.no_constant)
    except (ValueError, RecursionError) as error:
        raise NotFitting(f"it is not JSON: {one_line(str(error), 120)}") from None
    validator = library.validators.validator_for(schema, library.Draft202012Validator)(schema)
    if (wrong := library.exceptions.best_match(validator.iter_errors(value))) is not None:
        where = "".join(f"[{part!r}]" for part in wrong.absolute_path)
        raise NotFitting(one_line(f"{where}: {wrong.message}" if where else str(wrong.message), _LONGEST))
    return value


def schema_problem(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "it is no JSON object"
    library, schema = _library(), cast("dict[str, Any]", schema)
    try:
        library.validators.validator_for(schema, library.Draft202012Validator).check_schema(schema)
    except library.SchemaError as error:
        return one_line(str(error.message), _LONGEST)
    return next((f"it refers to {ref}" for ref in json_schema.references(schema) if not ref.startswith("#")), "")


def _library() -> Any:
    """Import the library (60 ms), only where a schema is asked for; it has no types."""
    import jsonschema

    return jsonschema
