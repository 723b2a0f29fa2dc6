"""Cleans what a server answers, one by one, before the SDK validates it: tools it lists, and content blocks.

The SDK refuses a whole answer over one part of it. A tool that can't be offered is left out with its reason; an unknown
block becomes a text that says so.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from mcp_types import ContentBlock
from pydantic import TypeAdapter, ValidationError

from console_app.mcp_client.connecting import faults
from console_app.mcp_client.connecting.status import RejectedTool
from console_app.mcp_client.tools.schemas import measure
from console_app.mcp_client.transport import cut_of

LONGEST_NAME = 256
LONGEST: Final = 2_000  # characters of an unknown block that are passed on
MOST_BLOCKS: Final = 10_000  # of one result: a list of words may be a block each
_adapter: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)


def clean_listing(result: dict[str, Any]) -> tuple[dict[str, Any], list[RejectedTool]]:
    """Return a `tools/list` result with only the tools that fit the protocol, and those that don't."""
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
    """Leave out optional parts of a wrong type, for which the SDK would refuse the tool.

    A schema without a type is one of an object, since nothing else can be.
    """
    expected = {"title": str, "description": str, "outputSchema": dict, "annotations": dict, "icons": list}
    wrong = {key for key, kind in expected.items() if key in fields and not isinstance(fields[key], kind)}
    wrong |= {"_meta"} if not isinstance(fields.get("_meta", {}), dict) else set()
    if measure(fields.get("outputSchema")).problem:
        wrong |= {"outputSchema"}
    schema = fields["inputSchema"]
    kept = {key: value for key, value in fields.items() if key not in wrong}
    return kept if "type" in schema else kept | {"inputSchema": {"type": "object", **schema}}


def clean_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a `tools/call` result with only blocks that the protocol knows.

    A result without blocks gets an empty list: some servers give structured content alone.
    """
    content: Any = result.get("content")
    if content is None and result.get("resultType", "complete") == "complete":
        return result | {"content": []}
    if not isinstance(content, list):
        return result
    listed = cast("list[Any]", content)
    cut = [{"type": "text", "text": listed.pop()}] if listed and isinstance(listed[-1], str) and cut_of(listed) else []
    blocks = [clean_block(block) for block in listed[:MOST_BLOCKS]]
    if left_out := len(listed) - len(blocks):
        words = f"[{left_out} more blocks are left out: of one result, the first {MOST_BLOCKS} are kept]"
        blocks.append({"type": "text", "text": words})
    return result | {"content": blocks + cut}


def clean_prompt(result: dict[str, Any]) -> dict[str, Any]:
    """Return a `prompts/get` result with only blocks that the protocol knows."""
    messages: Any = result.get("messages")
    if not isinstance(messages, list):
        return result
    cleaned: list[Any] = []
    for message in cast("list[Any]", messages):
        if isinstance(message, dict) and "content" in message:
            fields = cast("dict[str, Any]", message)
            cleaned.append(fields | {"content": clean_block(fields["content"])})
        else:
            cleaned.append(message)
    return result | {"messages": cleaned}


def clean_block(block: Any) -> Any:
    """Return the block itself; a text that names it and what it holds, where it is none that is known."""
    problem: ValidationError | None = None
    try:
        _adapter.validate_python(block, by_name=False)
    except ValidationError as error:
        problem = error
    # The models of the SDK take a block without a type, those of a whole result don't.
    if problem is None and isinstance(block, dict) and "type" in block:
        return block  # pyright: ignore[reportUnknownVariableType]
    return {"type": "text", "text": _named(block, problem)}


def _named(block: Any, error: ValidationError | None) -> str:
    kind: Any = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else None
    text = json.dumps(block, ensure_ascii=False, default=str)
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
    if error is not None and kind in ("text", "image", "audio", "resource_link", "resource"):
        fields = cast("dict[str, Any]", block)
        problem = next((one for one in _problems(error, fields)), faults.first_problem(error))
        return f"[a block of type {kind} that can't be read ({problem}): {shown}]"
    return f"[a block of the unknown type {kind!r:.60}: {shown}]" if kind else f"[a block without a type: {shown}]"


def _problems(error: ValidationError, block: dict[str, Any]) -> list[str]:
    """Say what is wrong with the block's own fields: the union's other members don't count."""
    own = {"text": "TextContent", "image": "ImageContent", "audio": "AudioContent"}
    own |= {"resource_link": "ResourceLink", "resource": "EmbeddedResource"}
    member = own[block["type"]]
    found = [one for one in error.errors(include_url=False, include_input=False) if member in map(str, one["loc"])]
    return [f"{'.'.join(str(part) for part in one['loc'] if part != member)}: {one['msg']}" for one in found]
