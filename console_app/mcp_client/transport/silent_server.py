"""Tells a server that ignores what it doesn't know from one that is slow to start: the first answers a ping.

The newest handshake opens with a request that older servers refuse; some say nothing to it, and the SDK waits ten
seconds for them. A ping is known to all of them, and answered in order. It goes in the newest protocol's envelope: one
that speaks both (the TypeScript SDK's, when it takes more than a moment to start) keeps to the protocol of the first
request that isn't a question for it, and a plain ping made it speak an older one than it had agreed to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mcp_types import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

_PATIENCE: Final = 0.3  # seconds for the answer before it is asked whether anybody is there
_BEHIND: Final = 0.2  # seconds that the answer may come behind that to the ping
_PING: Final = "fanout-ping"


class SilentServer:
    """Watches one handshake. `write` sends a request to the server, `deliver` hands the SDK what it didn't say."""

    def __init__(
        self, write: Callable[[JSONRPCRequest], Awaitable[None]], deliver: Callable[[JSONRPCMessage], Awaitable[None]]
    ) -> None:
        self._write = write
        self._deliver = deliver
        self._probe: int | str | None = None
        self._alive = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def sent(self, message: JSONRPCMessage) -> None:
        """A message of ours is on its way."""
        if isinstance(message, JSONRPCRequest) and message.method == "server/discover" and self._task is None:
            self._probe = message.id
            ping = JSONRPCRequest(jsonrpc="2.0", id=_PING, method="ping", params=message.params)
            self._task = asyncio.create_task(self._watch(message.id, ping), name="mcp-silent-server")

    def heard(self, message: JSONRPCMessage) -> bool:
        """A message of the server; whether it is for us alone."""
        identifier = getattr(message, "id", None)
        if identifier == _PING and not hasattr(message, "method"):
            if isinstance(message, JSONRPCError) and message.error.code == METHOD_NOT_FOUND:
                self.close()  # it says so of what it doesn't know, and speaks a protocol without pings: it will answer
            self._alive.set()
            return True
        if self._probe is not None and identifier == self._probe and not hasattr(message, "method"):
            self.close()
        return False

    def close(self) -> None:
        """There is nothing to watch any more."""
        self._probe = None
        if self._task is not None:
            self._task.cancel()

    async def _watch(self, probe: int | str, ping: JSONRPCRequest) -> None:
        await asyncio.sleep(_PATIENCE)
        await self._write(ping)
        await self._alive.wait()
        await asyncio.sleep(_BEHIND)
        unknown = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
        await self._deliver(JSONRPCError(jsonrpc="2.0", id=probe, error=unknown))


def only_modern(error: ErrorData) -> ErrorData:
    """Of a server that doesn't know `initialize`: the error that makes the SDK ask once more in the newest way.

    One that took too long to start for the SDK's patience may know no other.
    """
    supported = {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": "initialize"}
    return ErrorData(code=UNSUPPORTED_PROTOCOL_VERSION, message=error.message, data=supported)
