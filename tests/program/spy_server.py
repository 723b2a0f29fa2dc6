"""An MCP server over stdio that writes down every line it is sent, byte for byte, and does nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOLS = [{"name": "do", "description": "does it", "inputSchema": {"type": "object"}}]


def main() -> None:
    log = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        with log.open("ab") as file:
            file.write(line)
        message = json.loads(line)
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "spy", "version": "1"},
            },
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": "noted"}]},
            "ping": {},
        }
        if "id" not in message:
            continue
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in results:
            answer["result"] = results[message["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "no such method"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
