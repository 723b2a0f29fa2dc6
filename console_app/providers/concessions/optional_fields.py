"""Which optional field of a request an endpoint complains of, so that it can be sent again without it, once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from console_app.providers.faults.fault import Fault
from console_app.providers.stream.loose_json import arr, obj


def refused_field(fault: Fault, body: Mapping[str, Any], optional: Mapping[str, Iterable[str]]) -> str:
    """The first of `optional` that `body` has and the fault names; "" when there is none.

    `optional` maps a field to further words that stand for it in messages. `tools.strict` is `strict` inside `tools`.
    xAI and Gemini write names as in `topP`, whatever the request has.
    """
    if fault.error.status not in (400, 422):
        return ""
    message = f"{fault.param} {fault.message}"
    for field, words in optional.items():
        name = field.rpartition(".")[2]
        names = (name, re.sub(r"_([a-z])", lambda found: found[1].upper(), name), *words)
        if _holds(body, field) and any(re.search(rf"(?<![a-z]){re.escape(name)}(?![a-z_])", message) for name in names):
            return field
    return ""


def without(body: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """`body` without `fields`. Objects inside it are changed in place: they were made for this request."""
    out = dict(body)
    for field in fields:
        head, _, inner = field.partition(".")
        if inner:
            for part in _inside(body, head):
                part.pop(inner, None)
        else:
            out.pop(field, None)
    return out


def _holds(body: Mapping[str, Any], field: str) -> bool:
    head, _, inner = field.partition(".")
    return any(inner in part for part in _inside(body, head)) if inner else field in body


def _inside(body: Mapping[str, Any], head: str) -> list[dict[str, Any]]:
    value = body.get(head)
    return [obj(part) for part in arr(value)] if isinstance(value, list) else [obj(value)]
