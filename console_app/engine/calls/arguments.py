"""The arguments of a call, read strictly from the model's JSON. Nothing is guessed: text that isn't one JSON object is
a problem, said in one sentence, and the call doesn't run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from console_app.domain import safe_text
from console_app.domain import schema as json_schema
from console_app.domain.tools import INJECTED

_DEEPEST = 100  # levels; events can't be written with many more


class UnreadableArguments(ValueError):
    """Arguments that can't be used; the message says what is wrong with them, for the model and for people."""


def read(text: str) -> dict[str, Any]:
    """Return the object that `text` holds, `{}` for none at all; raises UnreadableArguments for anything else."""
    if not text.strip():
        return {}
    try:
        value: Any = json.loads(text, parse_float=_finite, parse_constant=safe_text.no_constant)
    except RecursionError:
        raise UnreadableArguments("the arguments are nested too deeply") from None
    except json.JSONDecodeError as error:
        raise UnreadableArguments(
            f"the arguments are not valid JSON ({error.msg} at character {error.pos + 1} of {len(text)})"
        ) from None
    except ValueError as error:
        raise UnreadableArguments(f"the arguments are not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise UnreadableArguments(f"the arguments are {json_schema.type_of(value)}, not a JSON object")
    if text.count("{") + text.count("[") > _DEEPEST and _depth(value) > _DEEPEST:
        raise UnreadableArguments("the arguments are nested too deeply")
    if "\\u" not in text and text.isascii():
        return cast("dict[str, Any]", value)
    written = json.dumps(value, ensure_ascii=False)
    clean = safe_text.encodable(written)
    return cast("dict[str, Any]", value if clean is written else json.loads(clean))


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (
                cast("dict[str, Any]", outer).values() if isinstance(outer, dict) else cast("list[Any]", outer)
            )
        ]
    return depth


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):  # it would be sent as `Infinity`, which is not JSON
        raise ValueError(f"{text[:20]} is larger than numbers can be")
    return number


def as_written(text: str, value: Mapping[str, Any]) -> str:
    """Return the JSON text that joins the history: the model's own, unless no UTF-8 can carry its escapes."""
    text = text.strip()
    return compact(value) if not text or "\\ud" in text.lower() or not text.isascii() else text


@lru_cache(maxsize=4096)
def is_object(text: str) -> bool:
    """Tell whether `text` is the JSON text of one object. Cached, as every request asks it of the whole history."""
    try:
        read(text)
    except UnreadableArguments:
        return False
    return bool(text.strip())


def canonical(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def compact(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def declared(schema: Mapping[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments that a call may run with, and the names of those left out: what only Fanout may fill in, and
    what a schema that is closed (`additionalProperties: false`) doesn't declare."""
    closed, known = json_schema.is_closed(schema), json_schema.properties(schema)
    out = tuple(name for name in arguments if name in INJECTED or (closed and name not in known))
    return ({name: value for name, value in arguments.items() if name not in out}, out) if out else (arguments, ())
