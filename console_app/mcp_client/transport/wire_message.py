"""A JSON-RPC message together with its JSON, which pipe and record share: it is read and written once."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from mcp.shared.message import SessionMessage

from console_app.records import dataclass


@dataclass
class WireMessage(SessionMessage):
    """A message as the SDK passes it between a transport and a session.

    `raw` is b"" where a transport has no JSON of it; `passed_over` notices came just before it and are not handed on.
    """

    raw: bytes = b""
    passed_over: int = 0


class MessagesIn(Protocol):
    """The messages from a server, in their order."""

    async def receive(self) -> SessionMessage | Exception: ...  # why there is none; raises anyio.EndOfStream

    async def aclose(self) -> None: ...


class MessagesOut(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...

    async def aclose(self) -> None: ...


Streams: TypeAlias = tuple[MessagesIn, MessagesOut]
