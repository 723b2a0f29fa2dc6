"""The console on a real server that has prompts and resources."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.config.files import Paths
from console_app.config.servers import Selection, ServerChoice, ServerConfig
from console_app.console.servers.switches import HubSwitches
from console_app.console.services import Services
from console_app.domain.ports import CallReporter, Invocation
from console_app.mcp_client import Hub
from console_app.tui.app import FanoutApp
from console_app.tui.main_screen.screen import ChatScreen
from tests.mcp_client.conftest import Reports
from tests.patience import PATIENCE
from tests.tui import parts

SERVER = Path(__file__).parents[2] / "mcp_client" / "fixtures" / "offering_server.py"


def config(*modes: str, name: str = "notes") -> ServerConfig:
    """The server in some of its modes."""
    return ServerConfig(name=name, command=sys.executable, args=("-S", str(SERVER), *modes))


@dataclass
class Console:
    """A console that runs on a hub."""

    pilot: Pilot[Any]
    hub: Hub
    model: parts.WrittenModel

    @property
    def chat(self) -> ChatScreen:
        return parts.chat(self.pilot.app)

    @property
    def text(self) -> str:
        """The text in the prompt."""
        return self.chat.prompt.text

    @property
    def labels(self) -> list[str]:
        """The labels in the completion list."""
        popup = self.chat.prompt_field.popup
        return [one.label for one in popup.completions] if popup.is_open else []

    @property
    def sent(self) -> str:
        """The newest message of the user in the newest request."""
        return [message.content for message in self.model.requests[-1].messages if message.role == "user"][-1]

    async def type(self, text: str) -> None:
        """Types, key by key."""
        self.chat.prompt.focus()
        for character in text:
            await self.pilot.press("space" if character == " " else character)

    async def put(self, text: str) -> None:
        """Text into the prompt, at once."""
        self.chat.prompt.put(text)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool], what: str = "") -> None:
        await parts.until(self.pilot, holds, what)

    async def see(self, text: str) -> None:
        await parts.see(self.pilot, text)

    @property
    def screen(self) -> str:
        return parts.seen(self.pilot.app)

    async def toast(self, text: str) -> None:
        """Waits for a line that goes away by itself."""
        told = self.pilot.app._notifications  # pyright: ignore[reportPrivateUsage]
        await self.until(lambda: any(text in one.message for one in told), text)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Calls a tool of the server, past the model."""
        spec = next(spec for spec in self.hub.tools() if spec.tool == tool)
        return (await self.hub.call(Invocation("past", spec, arguments), reporter())).content


def reporter() -> CallReporter:
    return Reports()


OpenConsole = Callable[..., Any]


@pytest.fixture
def console(tmp_path: Path) -> OpenConsole:
    """Opens the console on servers; ready once they have told what they offer."""

    @asynccontextmanager
    async def opened(
        *servers: ServerConfig, size: tuple[int, int] = (100, 30), model: parts.WrittenModel | None = None
    ) -> AsyncGenerator[Console]:
        configs = servers or (config(),)
        listeners: list[Callable[[], None]] = []
        desks: list[HubSwitches] = []

        def changed() -> None:
            for desk in desks:
                desk.changed()
            for listener in listeners:
                listener()

        hub = Hub(configs, log_dir=tmp_path / "logs", files_dir=tmp_path / "files", on_change=changed)
        paths = Paths.find({"FANOUT_HOME": str(tmp_path / "home")})
        choice = ServerChoice(servers=tuple(configs))
        desks.append(HubSwitches(hub, paths, tmp_path, choice, Selection()))
        written = model or parts.WrittenModel()
        await hub.start()
        try:
            services: Services = parts.services(
                tmp_path,
                written,
                hub,
                hub=hub,
                servers=desks[0],
                server_statuses=hub.statuses,
                on_servers_changed=listeners.append,
            )
            app = FanoutApp(services)
            async with app.run_test(size=size, notifications=True) as pilot:
                shown = Console(pilot, hub, written)
                await asyncio.wait_for(hub.ready(), PATIENCE)
                await shown.until(lambda: all(one.prompts or one.problems for one in hub.statuses()), "the lists")
                await pilot.pause()
                yield shown
        finally:
            await hub.close()

    return opened
