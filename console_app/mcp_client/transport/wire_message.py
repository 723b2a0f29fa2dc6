"""A JSON-RPC message together with its JSON, which pipe and record share: it is read and written once."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.shared.message import SessionMessage


@dataclass
class WireMessage(SessionMessage):
    """As the SDK passes it between a transport and a session; `raw` is b"" where a transport has no JSON of it.
    `passed_over` notices came just before it and are not handed on."""

    raw: bytes = b""
    passed_over: int = 0
