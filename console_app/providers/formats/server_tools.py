"""Tools that the provider runs itself (web search, code, MCP connectors): what people are shown of their results.

The blocks themselves go back as they came; nothing here is sent to a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from console_app.domain import Outcome
from console_app.domain import chunks as ch
from console_app.providers.stream.loose_json import arr, obj, text

MOST_SHOWN = 20_000  # characters of a result in a panel
# Items that the Responses API wants back, and nothing for them. Others want an output of ours: none is asked for.
RESPONSES_CALLS = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "image_generation_call": "image_generation",
    "tool_search_call": "tool_search",
    "mcp_call": "",
    "mcp_list_tools": "list_tools",
}
# Items that want an output of ours. Nothing here gives one, so they go back only with that of somebody who did.
RESPONSES_ASKED = frozenset(
    (
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "local_shell_call",
        "mcp_approval_request",
        "shell_call",
        "tool_search_call",  # that its client is to make: `execution` says so
    )
)
# Items beside these that the API wants back as they came; none of their text is the arguments of a call.
RESPONSES_KEPT = frozenset(
    (
        "additional_tools",
        "apply_patch_call_output",
        "compaction",
        "computer_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_approval_response",
        "shell_call_output",
        "tool_search_output",
    )
)
_READABLE = ("text", "stdout", "stderr", "output", "logs", "title", "filename", "error_message", "error_code", "error")
_NEVER_SHOWN = frozenset({"encrypted_content", "encrypted_stdout", "data", "result", "type", "id", "signature"})


def responses_started(item: dict[str, Any], id: str) -> ch.ProviderCallStarted:
    """Read an `output_item.added`."""
    kind = text(item.get("type"))
    name = RESPONSES_CALLS.get(kind) or text(item.get("name")) or kind
    return ch.ProviderCallStarted(id, name, text(item.get("server_label")))


def responses_finished(item: dict[str, Any], id: str) -> ch.ProviderCallFinished:
    """Read an item that is done."""
    failed = item.get("status") in ("failed", "incomplete") or item.get("error") not in (None, "")
    shown = [text(item.get("output")), *(_lines(item.get(name)) for name in ("outputs", "results", "tools", "error"))]
    content = "\n".join(part for part in shown if part)
    return ch.ProviderCallFinished(id, _outcome(failed), content[:MOST_SHOWN], _responses_arguments(item))


def program_written(item: dict[str, Any]) -> ch.ProviderCallStarted:
    """Read a `program`: it waits for the calls that name it, and its output may come in a later answer."""
    return ch.ProviderCallStarted(text(item.get("call_id")), "program", "", _json({"code": text(item.get("code"))}))


def program_ended(item: dict[str, Any]) -> ch.ProviderCallFinished:
    """Read a `program_output`."""
    outcome = _outcome(item.get("status") == "incomplete")
    return ch.ProviderCallFinished(text(item.get("call_id")), outcome, text(item.get("result"))[:MOST_SHOWN])


def _responses_arguments(item: dict[str, Any]) -> str:
    match item.get("type"):
        case "web_search_call":
            return _json({name: value for name, value in obj(item.get("action")).items() if name != "sources"})
        case "file_search_call":
            return _json({"queries": arr(item.get("queries"))})
        case "code_interpreter_call":
            return _json({"code": text(item.get("code"))})
        case _:
            arguments = item.get("arguments")
            return _json(obj(arguments)) if isinstance(arguments, dict) else text(arguments)


def anthropic_started(block: dict[str, Any]) -> ch.ProviderCallStarted:
    """Read a `server_tool_use` or `mcp_tool_use` block that is whole."""
    name, server = text(block.get("name")), text(block.get("server_name"))
    return ch.ProviderCallStarted(text(block.get("id")), name, server, _json(obj(block.get("input"))))


def anthropic_finished(block: dict[str, Any]) -> ch.ProviderCallFinished:
    """Read a `…_tool_result` block."""
    content = block.get("content")
    code = obj(content).get("return_code")
    failed = bool(block.get("is_error")) or text(obj(content).get("type")).endswith("_error") or code not in (None, 0)
    return ch.ProviderCallFinished(text(block.get("tool_use_id")), _outcome(failed), _lines(content)[:MOST_SHOWN])


def _outcome(failed: bool) -> Outcome:
    return Outcome.FAILED if failed else Outcome.SUCCEEDED


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(value: Any) -> str:
    return "\n".join(_readable(value))


def _readable(value: Any, depth: int = 0) -> Iterator[str]:
    """Return the words in a result: of each object what people read, its title and address on one line."""
    if isinstance(value, str):
        yield value
    elif depth > 8:
        return
    elif isinstance(value, list):
        for item in arr(value):
            yield from _readable(item, depth + 1)
    elif fields := obj(value):
        if url := text(fields.get("url")):
            yield " · ".join(part for part in (text(fields.get("title")), url) if part)
            return
        if name := text(fields.get("name")):
            yield " · ".join(part for part in (name, text(fields.get("description"))) if part)
            return
        for name in _READABLE:
            yield from (part for part in _readable(fields.get(name), depth + 1) if part)
        for name, inner in fields.items():
            if name not in _NEVER_SHOWN and name not in _READABLE and isinstance(inner, dict | list):
                yield from _readable(inner, depth + 1)
