"""Hubs on real servers: small programs over stdio, and the SDK's own server over HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from console_app.config.servers import ServerConfig
from console_app.domain.chunks import UsageChunk
from console_app.domain.events import Level, OutputStream
from console_app.domain.ports import Invocation
from console_app.domain.tools import ToolResult, ToolSpec
from console_app.mcp_client import Asking, Hub, ServerState, ServerStatus
from tests.patience import PATIENCE, until_so

FIXTURES = Path(__file__).parent / "fixtures"


def faulty(mode: str, *more: str, name: str = "odd", **fields: Any) -> ServerConfig:
    """A server that misbehaves as `mode` says (fixtures/faulty_server.py)."""
    args = ("-S", str(FIXTURES / "faulty_server.py"), mode, *more)
    return ServerConfig(name=name, command=sys.executable, args=args, **fields)


class Told:
    """A server whose tool `work` is described as it is told, V1 at first (faulty_server.py, "told")."""

    def __init__(self, folder: Path) -> None:
        pipe = folder / "told"
        os.mkfifo(pipe)
        self._pipe = os.open(pipe, os.O_RDWR)  # both ends, so that opening it waits for nobody
        self.config = faulty("told", str(pipe))

    def become(self, description: str) -> None:
        """The server says that its tools have changed, and describes the tool so."""
        os.write(self._pipe, description.encode() + b"\n")

    def close(self) -> None:
        """Ends the pipe."""
        os.close(self._pipe)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """A server that becomes another when told."""
    server = Told(tmp_path)
    yield server
    server.close()


def program(file: str, *, name: str = "sdk", **fields: Any) -> ServerConfig:
    """A server among the fixtures."""
    return ServerConfig(name=name, command=sys.executable, args=(str(FIXTURES / file),), **fields)


@dataclass
class Reports:
    """The reports of a call while it ran; `news` is set with each."""

    progressed: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    logged: list[tuple[Level, str]] = field(default_factory=list)
    written: list[tuple[OutputStream, str, int]] = field(default_factory=list)
    dropped: int = 0  # lines that came too fast
    unsure: int = 0  # questions that may be another call's
    news: asyncio.Event = field(default_factory=asyncio.Event)
    holds: int = 0
    held_ever: bool = False
    usage: list[UsageChunk] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progressed.append((progress, total, message))
        self.news.set()

    def log(self, level: Level, text: str, *, dropped: int = 0) -> None:
        self.logged.append((level, text))
        self.dropped += dropped
        self.news.set()

    def output(self, stream: OutputStream, text: str, *, dropped: int = 0) -> None:
        self.written.append((stream, text, dropped))
        self.news.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        self.holds += 1
        self.held_ever = True
        try:
            yield
        finally:
            self.holds -= 1

    def asked(self, what: str, *, sure: bool = True) -> None:
        self.unsure += not sure
        self.questions.append(what)
        self.news.set()

    def answered(self, what: str, how: str) -> None:
        assert what in self.questions
        self.answers.append(how)
        self.news.set()

    def used(self, usage: UsageChunk) -> None:
        self.usage.append(usage)


@dataclass
class Bench:
    """A hub with what tests ask of it."""

    folder: Path
    hub: Hub
    changed: asyncio.Event
    calls: int = 0

    def status(self, name: str = "") -> ServerStatus:
        statuses = {status.name: status for status in self.hub.statuses()}
        return statuses[name] if name else next(iter(statuses.values()))

    def spec(self, tool: str, server: str = "") -> ToolSpec:
        return next(spec for spec in self.hub.tools() if spec.tool == tool and server in {"", spec.server})

    def invocation(self, tool: str, server: str = "", **arguments: Any) -> Invocation:
        self.calls += 1
        return Invocation(f"call{self.calls}", self.spec(tool, server), arguments)

    async def call(
        self, tool: str, reports: Reports | None = None, *, server: str = "", **arguments: Any
    ) -> ToolResult:
        return await self.hub.call(self.invocation(tool, server, **arguments), reports or Reports())

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for changes of the hub until `condition` holds."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await self.changed.wait()
                self.changed.clear()

    async def until_state(self, state: ServerState, name: str = "") -> ServerStatus:
        await self.until(lambda: self.status(name).state is state)
        return self.status(name)

    async def until_logged(self, text: str, name: str = "odd") -> None:
        """Waits until the server's log holds `text`: the log is a file, so there is only looking."""
        path = self.folder / "logs" / f"{name}.log"
        await until_so(lambda: path.exists() and text in path.read_text(), f"{text!r} in {path.name}")


StartHub = Callable[..., Any]


@pytest.fixture
async def start_hub(tmp_path: Path) -> AsyncIterator[StartHub]:
    """Starts a hub on the given servers and waits until they have settled; closes it after the test."""
    opened: list[Hub] = []

    async def start(
        *servers: ServerConfig,
        wait: bool = True,
        asking: Asking | None = None,
        injected: Mapping[str, Any] | None = None,
    ) -> Bench:
        changed = asyncio.Event()
        hub = Hub(
            servers,
            log_dir=tmp_path / "logs",
            files_dir=tmp_path / "files",
            on_change=changed.set,
            asking=asking,
            definitions=tmp_path / "tools.json",
            injected=injected,
            retry_delays=(0.01, 0.01, 0.01),
        )
        opened.append(hub)
        await hub.start()
        if wait:
            await hub.ready(PATIENCE)
        return Bench(tmp_path, hub, changed)

    yield start
    for hub in opened:
        await hub.close()


SaidServer = Callable[..., ServerConfig]


@pytest.fixture
def said_server(tmp_path: Path) -> SaidServer:
    """Makes a server that says these messages (fixtures/said_server.py); the file `heard` has what it hears."""

    def made(messages: Mapping[str, Any], name: str = "odd", **fields: Any) -> ServerConfig:
        file = tmp_path / f"{name}-says.json"
        file.write_text(json.dumps(messages))
        args = ("-S", str(FIXTURES / "said_server.py"), str(file), str(tmp_path / "heard"))
        return ServerConfig(name=name, command=sys.executable, args=args, **fields)

    return made
