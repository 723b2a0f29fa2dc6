"""An MCP server over stdio whose results are a file, or a link to a page."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

FILE = base64.b64encode(b"<script>alert(1)</script>").decode()
RESULTS: dict[str, dict[str, Any]] = {
    "report": {"type": "resource", "resource": {"uri": "file:///r.html", "mimeType": "text/html", "blob": FILE}},
    "link": {"type": "resource_link", "uri": "https://example.org/page", "name": "page", "mimeType": "text/html"},
}


def main() -> None:
    """Answers each line."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        tool = message.get("params", {}).get("name", "")
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "filing", "version": "1"},
            },
            "tools/list": {
                "tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in RESULTS]
            },
            "tools/call": {"content": [RESULTS.get(tool, {"type": "text", "text": "what?"})]},
            "ping": {},
        }
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
        found = results.get(message["method"])
        answer |= {"result": found} if found is not None else {"error": {"code": -32601, "message": "no such method"}}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
