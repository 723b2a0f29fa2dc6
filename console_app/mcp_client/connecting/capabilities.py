"""What both sides of a connection said they can do when they shook hands, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from console_app.mcp_client.traffic import Traffic

_CLIENT: Final = "io.modelcontextprotocol/clientCapabilities"  # in `_meta`, from 2026-07-28 on
_SERVERS: Final = {
    "tools": "offers tools",
    "prompts": "offers prompts",
    "resources": "offers resources",
    "completions": "proposes values for arguments",
    "logging": "sends log lines of a level that is asked for",
}
_OURS: Final = {
    "roots": "names folders the server may work in (roots)",
    "sampling": "lets the server ask the model (sampling)",
    "elicitation": "lets the server ask you (elicitation)",
}
_MORE: Final = {"listChanged": "tells when they change", "subscribe": "one can be watched", "form": "forms"} | {
    "url": "pages",
    "tools": "with tools",
    "context": "with context",
}


def in_words(traffic: Traffic) -> tuple[list[str], list[str]]:
    """What the server can do and what Fanout offered it, a line each; empty before they shook hands. Of what neither
    knows only the name is told, and that is the server's: hostile."""
    if traffic.handshake is None:
        return [], []
    request, answer = traffic.handshake
    params = _mapping(_mapping(request.data).get("params"))
    ours = _mapping(params.get("capabilities")) or _mapping(_mapping(params.get("_meta")).get(_CLIENT))
    theirs = _mapping(_mapping(_mapping(answer.data).get("result")).get("capabilities"))
    return _lines(theirs, _SERVERS), _lines(ours, _OURS)


def _lines(capabilities: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name, value in capabilities.items():
        if value is None or value is False:
            continue
        more = [_MORE.get(key, key) for key, on in _mapping(value).items() if name in known and on not in (None, False)]
        inside = list(_mapping(value)) if name not in known else []
        words = ", ".join((*more, *inside))
        lines.append(known.get(name, name) + (f": {words}" if words else ""))
    return lines


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
