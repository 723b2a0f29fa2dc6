"""An MCP server whose calls take a processor: what a batch whose items compute is measured with."""

from __future__ import annotations

import time

from console_app.servers.parts.server import Arguments, CallContext, StdioServer, Tool


async def burn(arguments: Arguments, context: CallContext) -> str:
    """Works until this process has had that much of a processor, and lets nobody else run meanwhile."""
    until = time.process_time() + float(arguments["seconds"])
    while time.process_time() < until:
        pass
    return "done"


if __name__ == "__main__":
    seconds = {"seconds": {"type": "number"}}
    StdioServer("burning", (Tool(burn, "Takes a processor.", seconds, {"readOnlyHint": True}),)).run()
