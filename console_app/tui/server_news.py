"""Says once of each server that it failed, and again when it fails after it had worked."""

from __future__ import annotations

from collections.abc import Callable

from console_app.domain.events import Level
from console_app.domain.safe_text import one_line
from console_app.tui.services import ConsoleServices


class ServerNews:
    """Of one chat screen; `tell` says what stays on screen."""

    def __init__(self, services: ConsoleServices, tell: Callable[[Level, str], None]) -> None:
        self._services = services
        self._tell = tell
        self._failed: set[str] = set()

    def changed(self) -> None:
        """Some server's status is another one."""
        statuses = self._services.server_statuses()
        failed = {server.name: server.reason for server in statuses if server.state == "failed"}
        for name in failed.keys() - self._failed:
            reason = one_line(failed[name], 200).rstrip(".")
            self._tell("warning", f"Server {one_line(name, 40)} failed: {reason}. Ctrl+L shows all servers.")
        self._failed = set(failed)
