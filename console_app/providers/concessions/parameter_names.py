"""Names of tools' parameters where an endpoint takes only plain ones (Claude: letters, digits, `_`, `.` and `-`).

One server whose tool has a parameter `$filter` or `StartTime<` would have every request refused. Such a name goes out
in plain letters, the same always, and what the model writes under it comes back under its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from console_app.domain.schema import properties, rename_members
from console_app.providers.stream.loose_json import arr, obj

_LONGEST: Final = 64
_ODD: Final = re.compile(r"[^a-zA-Z0-9_.-]")


def plain(name: str) -> str:
    """`name` as every endpoint takes it: an odd character as its number, a long name cut and told apart by a hash."""
    written = _ODD.sub(lambda odd: f"_{ord(odd[0]):X}", name) or "_"
    if len(written) <= _LONGEST:
        return written
    return f"{written[: _LONGEST - 9]}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def odd_in(body: Mapping[str, Any]) -> bool:
    """Whether a tool of `body` has a parameter with a name that is not plain."""
    return any(plain(name) != name for holder in _holders(body) for name in properties(holder))


def make_plain(body: Mapping[str, Any]) -> None:
    """Gives the parameters of all tools plain names, in the arguments of older calls too; in place."""
    for schema in _holders(body):
        rename_members(schema, plain)
    for message in map(obj, arr(body.get("messages"))):
        for block in map(obj, arr(message.get("content"))):
            if block.get("type") == "tool_use":
                block["input"] = {plain(name): value for name, value in obj(block.get("input")).items()}


def own(arguments: str, schema: Mapping[str, Any]) -> str:
    """The text of an object of arguments, with the names that `schema` has for its parameters."""
    known = properties(schema)
    names = {plain(name): name for name in known if plain(name) != name}
    if not names or not arguments.strip():
        return arguments
    given = obj(json.loads(arguments))
    if names.keys().isdisjoint(given):
        return arguments
    return json.dumps(
        {name if name in known else names.get(name, name): value for name, value in given.items()},
        ensure_ascii=False,
    )


def _holders(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The schemas of the tools' parameters."""
    tools = [obj(tool) for tool in arr(body.get("tools"))]
    found = (
        obj(holder.get(name))
        for tool in tools
        for holder, name in ((tool, "input_schema"), (tool, "parameters"), (obj(tool.get("function")), "parameters"))
    )
    return [schema for schema in found if schema]
