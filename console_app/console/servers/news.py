"""Says once of each server that it failed or wants you to sign in, and again when that comes after it had worked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console_app.console.talk.readiness import ServerView
from console_app.domain import Level, one_line


class ServerNews:
    """Of one chat screen; `notify` shows what stays on screen."""

    def __init__(self, statuses: Callable[[], Sequence[ServerView]], notify: Callable[[Level, str], None]) -> None:
        self._statuses = statuses
        self._notify = notify
        self._notified: dict[str, str] = {}  # server to its state

    def changed(self) -> None:
        """Some server's status is another one."""
        troubled = [one for one in self._statuses() if one.state in ("failed", "needs sign-in")]
        for server in troubled:
            if self._notified.get(server.name) != server.state:
                self._notify("warning", _line(server))
        self._notified = {server.name: server.state for server in troubled}


def _line(server: ServerView) -> str:
    name = one_line(server.name, 40)
    if server.state == "failed":
        why = one_line(server.reason, 200).rstrip(".")
        return f"Server {name} failed: {why}{'' if why.endswith('…') else '.'} Ctrl+L shows all servers."
    return f"Server {name} needs you to sign in: s on it in the servers (Ctrl+L), or fanout mcp auth {name}."
