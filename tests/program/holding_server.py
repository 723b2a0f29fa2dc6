"""An MCP server over stdio: `do` answers at once, `hold` only when it is cancelled, or asked once more for the same
`again`. It writes down every call."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": name, "description": name, "inputSchema": SCHEMA} for name in ("do", "hold")]
STARTED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "holding", "version": "1"},
}


def main() -> None:
    log = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        result: dict[str, Any] = {}
        match message["method"]:
            case "initialize":
                result = STARTED
            case "tools/list":
                result = {"tools": TOOLS}
            case "tools/call":
                text = message["params"]["arguments"]["text"]
                again = text.startswith("again") and log.exists() and text in log.read_text()
                with log.open("a") as file:
                    file.write(json.dumps(message["params"]["arguments"]) + "\n")
                if message["params"]["name"] == "hold" and not again:
                    continue
                result = {"content": [{"type": "text", "text": f"did {text}"}]}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()


main()
