"""A server with real consoles behind it, and a page without a browser: a socket, and an emulator for what it draws."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pyte
import websockets
from websockets.asyncio.client import ClientConnection, connect

from console_app.config.secrets.child_environment import for_consoles
from console_app.web import ServeOptions
from console_app.web.server import WebServer, listen
from tests.patience import PATIENCE, until_so
from tests.program.process import children
from tests.program.rows import Rows

OFFLINE = ("-m", "offline/rehearsal", "--no-mcp")
# Pages and server share an event loop, which a machine may leave alone for longer than a ping is waited for.
PATIENT: dict[str, Any] = {"open_timeout": PATIENCE, "ping_interval": None, "close_timeout": PATIENCE}
TOKEN = "a-token-that-was-chosen"


@asynccontextmanager
async def serving(tmp_path: Path, **changes: Any) -> AsyncIterator[WebServer]:
    """A server on a free port of this machine."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("FANOUT_")}
    options = {
        "host": "127.0.0.1",
        "port": 0,
        "token": None,
        "public_urls": (),
        "most": 4,
        "keep": 0.0,
        "alive": PATIENCE,
        "arguments": OFFLINE,
        "environ": for_consoles({**environ, "FANOUT_HOME": str(tmp_path / "home")}, ()),
        "cwd": tmp_path,
        **changes,
    }
    server = WebServer(ServeOptions(**options), listen(options["host"], options["port"]))
    running = asyncio.create_task(server.run())
    try:
        yield server
    finally:
        server.stop()
        await running


@asynccontextmanager
async def browsing(server: WebServer) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that follows nothing."""
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=PATIENCE) as client:
        yield client


class Page:
    """A connected page. `text` is what it shows; `told` what it was told beside that."""

    def __init__(self, socket: ClientConnection, columns: int, rows: int) -> None:
        self.socket = socket
        self.raw = bytearray()
        self.told: list[dict[str, Any]] = []
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._rows = Rows(self.screen)

    @property
    def text(self) -> str:
        return "\n".join(self._rows.now())

    async def until(self, fact: Callable[[Page], Any]) -> None:
        """Reads on until it holds."""
        async with asyncio.timeout(PATIENCE):
            while not fact(self):
                message = await self.socket.recv()
                if isinstance(message, str):
                    self.told.append(json.loads(message))
                else:
                    self.raw += message
                    self._stream.feed(message.replace(b"\x1b[<u", b"").replace(b"\x1b[>1u", b""))
                await asyncio.sleep(0)  # what came already is given without: the server's turn, too

    async def see(self, text: str) -> None:
        """Until it shows `text`."""
        try:
            await self.until(lambda page: text in page.text)
        except (TimeoutError, websockets.ConnectionClosed) as error:
            raise AssertionError(f"{text!r} did not come: {self.told}\n{self.text}") from error

    async def type(self, text: str) -> None:
        """Types it, key by key as fast as it goes."""
        await self.socket.send(text.encode())

    async def resize(self, columns: int, rows: int) -> None:
        """The page has another size."""
        self.screen.resize(rows, columns)
        await self.socket.send(json.dumps({"size": [columns, rows]}))


@asynccontextmanager
async def page_of(
    server: WebServer,
    shows: Mapping[str, Any] | None = None,
    *,
    console: str = "",
    columns: int = 100,
    rows: int = 30,
    name: str = "127.0.0.1",
    **headers: str,
) -> AsyncIterator[Page]:
    """A page of the server's own origin, unless `headers` say another; `name` is the host that it connects to.

    It `shows` the ticket of a page that came in before, unless told otherwise.
    """
    sent = {"Origin": f"http://127.0.0.1:{server.port}", **headers}
    origin = sent.pop("Origin")
    async with connect(
        f"ws://{name}:{server.port}/socket",
        host="127.0.0.1",
        origin=origin or None,
        additional_headers=sent,
        max_size=None,
        max_queue=None,  # a full one is not read, its close neither: unread pictures would hold up the end
        proxy=None,
        **PATIENT,
    ) as socket:
        proof = {"ticket": server.door.ticket} if shows is None else shows
        await socket.send(json.dumps({**proof, "size": [columns, rows], "console": console}))
        yield Page(socket, columns, rows)


def console_processes() -> list[psutil.Process]:
    """The consoles of this process that run, also one that is about to begin; servers of tools are none."""
    servers = children("console_app.servers")
    return [one for one in children("-m console_app") if one not in servers]


async def gone(process: psutil.Process) -> None:
    """Until a process has ended."""

    def is_gone() -> bool:  # its end is told to the server's loop alone
        try:
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    await until_so(is_gone, f"the end of {process.pid}")
