"""What was recorded of all servers, and of it what belongs to one call, for whoever inspects one."""

from __future__ import annotations

from console_app.mcp_client.traffic import RawMessage, Traffic


class Exchanges:
    """Of one hub."""

    def __init__(self) -> None:
        self._servers: dict[str, Traffic] = {}

    def traffic(self, server: str) -> Traffic:
        """All that passes between Fanout and a server, over all its connections."""
        return self._servers.setdefault(server, Traffic())

    def of(self, call_id: str) -> tuple[RawMessage, ...]:
        """The messages of a call in their order; none for a call that is unknown or long ago."""
        if not call_id:
            return ()
        return tuple(one for traffic in self._servers.values() for one in traffic.after(0) if one.call_id == call_id)
