"""A server over stdio for the workbench, without an SDK. Modes: deep, many, none."""

from __future__ import annotations

import json
import sys
from typing import Any

NOTHING: dict[str, Any] = {"type": "object"}
GREET: dict[str, Any] = {
    "name": "greet",
    "description": "Greets somebody.\nAnd says it twice.",
    "inputSchema": {
        "type": "object",
        "required": ["who"],
        "properties": {
            "who": {"type": "string", "maxLength": 20, "description": "Whom to greet."},
            "how": {"enum": ["loud", "soft"], "default": "soft"},
            "others": {"type": "array", "items": {"$ref": "#/$defs/person"}},
        },
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


def deep() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": "the bottom"}
    for level in reversed(range(50)):
        schema = {"type": "object", "properties": {f"level{level}": schema}}
    return {"name": "abyss", "description": "Goes down.", "inputSchema": schema}


def tools() -> list[dict[str, Any]]:
    match sys.argv[1:]:
        case ["deep"]:
            return [deep()]
        case ["many"]:
            return [{"name": f"tool_{n}", "inputSchema": NOTHING} for n in range(1000)]
        case ["none"]:
            return []
        case _:
            return [GREET, {"name": "fail", "inputSchema": NOTHING}, {"name": "flood", "inputSchema": NOTHING}]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] == "fail":
        return {"content": [{"type": "text", "text": "on purpose"}], "isError": True}
    if params["name"] == "flood":
        for n in range(4_000):
            send({"method": "notifications/message", "params": {"level": "info", "data": f"line {n}"}})
        return {"content": [{"type": "text", "text": "poured"}]}
    text = f"Hello, {params['arguments']['who']}"
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"text": text}}


def main() -> None:
    sys.stderr.write("ready to greet\n")
    sys.stderr.flush()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result: dict[str, Any] | None = None
        match message["method"]:
            case "initialize":
                result = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}, "logging": {}},
                    "serverInfo": {"name": "bench", "version": "1"},
                }
            case "tools/list":
                result = {"tools": tools()}
            case "tools/call":
                result = call(message["params"])
            case "ping":
                result = {}
            case _:
                send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        if result is not None:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
