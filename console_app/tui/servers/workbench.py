"""What somebody who writes or examines a server does with it: opens a tool and runs it, reads its wire, pings it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from console_app.console.reports.server_report import server_report
from console_app.domain.amounts import measured
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.domain.transcript import CallView
from console_app.engine.approval_gate import ApprovalGate
from console_app.mcp_client.hub import Hub
from console_app.tui.ui import Ui

if TYPE_CHECKING:
    from console_app.console.servers.switches import Offered
    from console_app.mcp_client.connecting.status import ServerStatus


class Run(Protocol):
    """Fills in the form of a tool and runs it; whether anything was sent."""

    def __call__(self, label: str, arguments: Mapping[str, Any] | None = None) -> Awaitable[bool]: ...


class Workbench:
    """Of one console. `statuses` are the servers as their screen shows them, `calls` those of the session; `run` fills
    in the form of a tool and runs it."""

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
        self._statuses = statuses
        self._gate = gate
        self._calls = calls
        self._run = run
        self._redact = redact
        self._folder = folder
        self._clock = clock
        self._latency: dict[str, str] = {}  # of the newest ping

    async def tool(self, item: Offered) -> bool:
        """Opens a tool; whether calls of it were sent, for the dialog above it to close."""
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
        """A server's messages as they pass."""
        from console_app.tui.servers.wire_screen import WireScreen

        await self._ui.push(WireScreen(server, self._hub.traffic(server), self._redact, self._folder))

    async def about(self, server: str) -> None:
        """All that is known of a server."""
        from console_app.tui.widgets.text_dialog import TextDialog

        await self._ui.push(TextDialog(f"About {one_line(server, 40)}", lambda: self._text(server), every=0.5))

    async def ping(self, server: str) -> None:
        """Asks a server for a sign of life, and says how long that took."""
        name = one_line(server, 40)
        status = next((one for one in self._statuses() if one.name == server), None)
        if status is not None and status.state.value != "ready":
            if status.state.value == "starting":
                why = "still starting; a ping has no answer before it is ready"
            else:
                why = ": ".join(filter(None, (status.state.value, one_line(status.reason, 200))))
                self._latency[server] = f"no answer: it is {why}"
            self._ui.toast(f"{name} is {why.rstrip('.')}.")
            return
        try:
            took = await self._hub.ping(server)
        except FanoutError as error:
            self._latency[server] = f"no answer: {one_line(error.line, 200)}"
            self._ui.toast(one_line(error.line, 300), seconds=8)
            return
        self._latency[server] = measured(took)
        self._ui.toast(f"{name} answered in {measured(took)}.")

    def _text(self, server: str) -> str:
        status = next((one for one in self._statuses() if one.name == server), None)
        if status is None:
            return "It is not in mcp.json any more."
        ping = self._latency.get(server, "not asked yet: p in the servers")
        return self._redact(server_report(status, self._hub.traffic(server), ping, "w in the servers"))
