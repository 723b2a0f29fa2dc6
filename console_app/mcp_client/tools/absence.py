"""Why a tool that somebody calls isn't offered, where its server is the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.mcp_client.connecting.status import ServerState, ServerStatus
from console_app.mcp_client.tools.naming import plain

_LONGEST = 300  # characters of a reason: it is the server's words


def why_missing(wire_name: str, statuses: Sequence[ServerStatus], off: Iterable[ToolSpec]) -> str:
    """A few words: the tool is switched off, its server is down or off, or left it out; "" where none of these is so.

    `off` are the tools that are switched off. A server that lists nothing is known by how the names of
    its tools begin.
    """
    if switched_off := next((spec for spec in off if spec.name == wire_name), None):
        return f"{one_line(switched_off.label, 100)} is switched off"
    named = [status for status in statuses if wire_name.startswith(plain(status.name, ""))]
    if not named:
        return ""
    server = max(named, key=lambda status: len(status.name))
    name = one_line(server.name, 60)
    reason = one_line(server.reason, _LONGEST)
    match server.state:
        case ServerState.READY:
            refused = (one for one in server.rejected if one.name and plain(server.name, one.name) == wire_name)
            tool = next(refused, None)
            return f"{name}.{one_line(tool.name, 60)} is left out: {one_line(tool.reason, _LONGEST)}" if tool else ""
        case ServerState.FAILED:
            return f"server {name} failed: {reason}"
        case ServerState.DISABLED:
            return f"server {name} is switched off" + (f": {reason}" if reason else "")
        case _:
            return f"server {name} is {server.state}" + (f": {reason}" if reason else "")
