"""What a server lists as its tools, checked one by one: a tool that can't be offered is left out with its reason."""

from __future__ import annotations

from typing import Any, cast

from console_app.mcp_client.connecting.status import RejectedTool
from console_app.mcp_client.tools.schema_check import measure

LONGEST_NAME = 256


def clean_listing(result: dict[str, Any]) -> tuple[dict[str, Any], list[RejectedTool]]:
    """A `tools/list` result with only the tools that fit the protocol, and those that don't."""
    listed: Any = result.get("tools")
    if not isinstance(listed, list):
        return result, []
    accepted: list[Any] = []
    rejected: list[RejectedTool] = []
    for place, tool in enumerate(cast("list[Any]", listed), 1):
        name, problem = _check(tool)
        if problem:
            rejected.append(RejectedTool(name or f"number {place}", problem))
        else:
            accepted.append(_trimmed(tool))
    return result | {"tools": accepted}, rejected


def _check(tool: Any) -> tuple[str, str]:
    if not isinstance(tool, dict):
        return "", "it is not an object"
    fields = cast("dict[str, Any]", tool)
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        return "", "it has no name"
    if len(name) > LONGEST_NAME:
        return name[:40], f"its name is longer than {LONGEST_NAME} characters"
    schema: Any = fields.get("inputSchema")
    if not isinstance(schema, dict):
        return name, "its inputSchema is not an object"
    if (kind := cast("dict[str, Any]", schema).get("type", "object")) != "object":
        return name, f"its inputSchema is of type {kind!r:.80}, not object"
    if problem := measure(schema).problem:
        return name, f"its inputSchema is {problem}"
    return name, ""


def _trimmed(fields: dict[str, Any]) -> dict[str, Any]:
    """Without optional parts of a wrong type, which would only make the SDK refuse the tool; and a schema that doesn't
    say so is one of an object, since nothing else can be."""
    expected = {"title": str, "description": str, "outputSchema": dict, "annotations": dict, "icons": list}
    wrong = {key for key, kind in expected.items() if key in fields and not isinstance(fields[key], kind)}
    wrong |= {"_meta"} if not isinstance(fields.get("_meta", {}), dict) else set()
    if measure(fields.get("outputSchema")).problem:
        wrong |= {"outputSchema"}
    schema = fields["inputSchema"]
    kept = {key: value for key, value in fields.items() if key not in wrong}
    return kept if "type" in schema else kept | {"inputSchema": {"type": "object", **schema}}
