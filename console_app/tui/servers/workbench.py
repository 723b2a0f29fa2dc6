"""The workbench of somebody who writes or examines a server: opens a tool and runs it, reads its wire, pings it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from console_app.console.servers import Pings
from console_app.domain import FanoutError, ToolSpec, one_line
from console_app.domain.transcript import CallView
from console_app.engine import ApprovalGate
from console_app.mcp_client import Hub
from console_app.tui.ui import Ui

if TYPE_CHECKING:
    from console_app.console.servers import Offered
    from console_app.mcp_client import ServerStatus


class Run(Protocol):
    """Fills in the form of a tool and runs it; returns whether anything was sent."""

    def __call__(self, label: str, arguments: Mapping[str, Any] | None = None) -> Awaitable[bool]: ...


class Workbench:
    """The workbench of one console.

    `statuses` are the servers as their screen shows them, `calls` those of the session; `run` fills in the form of a
    tool and runs it.
    """

    def __init__(
        self,
        hub: Hub,
        ui: Ui,
        *,
        statuses: Callable[[], Sequence[ServerStatus]],
        gate: ApprovalGate,
        calls: Callable[[], Mapping[str, CallView]],
        run: Run,
        redact: Callable[[str], str],
        folder: Path,
        clock: Callable[[], float],
    ) -> None:
        self._hub = hub
        self._ui = ui
        self._pings = Pings(hub, statuses, redact)
        self._gate = gate
        self._calls = calls
        self._run = run
        self._redact = redact
        self._folder = folder
        self._clock = clock

    async def tool(self, item: Offered) -> bool:
        """Open a tool; return whether calls of it were sent, for the dialog above it to close."""
        from console_app.tui.servers.tool_screen import ToolScreen, ToolSource

        def spec() -> ToolSpec | None:
            return self._hub.tool(item.server, item.name)

        def is_on() -> bool:
            return any((one.server, one.tool) == (item.server, item.name) for one in self._hub.tools())

        def calls() -> Sequence[CallView]:
            found = self._calls().values()
            return [call for call in found if (call.server, call.tool) == (item.server, item.name)]

        source = ToolSource(spec, calls, self._gate, is_on, self._clock)
        while (found := spec()) is not None:
            asked = await self._ui.push(ToolScreen(found, source))
            if asked is None:
                return False
            if await self._run(found.label, asked.arguments):
                return True
        self._ui.toast(f"{one_line(item.server, 40)} has no tool {one_line(item.name, 60)} any more.")
        return False

    async def wire(self, server: str) -> None:
        """Show a server's messages as they pass."""
        from console_app.tui.servers.wire_screen import WireScreen

        await self._ui.push(WireScreen(server, self._hub.traffic(server), self._redact, self._folder))

    async def about(self, server: str) -> None:
        """Show all that is known of a server."""
        from console_app.tui.widgets.text_dialog import TextDialog

        def report() -> str:
            return self._pings.report(server, not_asked="not asked yet: p in the servers", wire="w in the servers")

        await self._ui.push(TextDialog(f"About {one_line(server, 40)}", report, every=0.5))

    async def ping(self, server: str) -> None:
        """Ask a server for a sign of life, and say how long that took."""
        try:
            self._ui.toast(await self._pings.ping(server))
        except FanoutError as error:
            self._ui.toast(one_line(error.line, 300), seconds=8)
