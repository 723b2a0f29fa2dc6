"""What a server lists as its tools, checked one by one: a tool that can't be offered is left out with its reason."""

from __future__ import annotations

from typing import Any, cast

from console_app.mcp_client.status import RejectedTool

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
    if (kind := cast("dict[str, Any]", schema).get("type")) != "object":
        return name, f"its inputSchema is of type {kind!r}, not object" if kind else "its inputSchema has no type"
    return name, ""


def _trimmed(fields: dict[str, Any]) -> dict[str, Any]:
    """Without optional parts of a wrong type, which would only make the SDK refuse the tool."""
    expected = {"title": str, "description": str, "outputSchema": dict, "annotations": dict, "icons": list}
    wrong = {key for key, kind in expected.items() if key in fields and not isinstance(fields[key], kind)}
    wrong |= {"_meta"} if not isinstance(fields.get("_meta", {}), dict) else set()
    return {key: value for key, value in fields.items() if key not in wrong}


def check_schema(schema: dict[str, Any]) -> str:
    """Why `schema` is not valid JSON Schema, in a few words, or "": a model's API refuses every tool over one such."""
    # jsonschema takes 0.1 s to import; the SDK needs it as well, for structured results.
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        where = ".".join(map(str, error.absolute_path))
        return f"its inputSchema is not valid JSON Schema ({f'{where}: ' if where else ''}{error.message[:120]})"
    except Exception as error:  # a schema can make the checker itself fail (recursion, a bad regular expression)
        return f"its inputSchema can't be checked ({type(error).__name__})"
    return ""
