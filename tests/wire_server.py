"""A local HTTP/1.1 server that replays scripted bytes, at a pace and with faults, and records what it was asked.

It runs in a thread with an event loop of its own, so that async tests, sync tests, a program in a pseudo-terminal and
benchmarks all use the same one. Nothing of HTTP is hidden behind a library: a reply can be cut or reset at any byte.

    with WireServer() as server:
        server.script(Answer(Call("calculator_evaluate", '{"expression": "1+1"}')), Answer(Text("It is 2.")))
        ...  # point a provider at server.base_url(api)
        assert server.requests[0].body["model"] == "..."
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.patience import PATIENCE
from tests.raw_server import accept_no_more
from tests.wire_bytes import Answer, Api

PATHS: dict[str, Api] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
}


TEMPLATES = ("/props", "/api/show", "/tokenizer_info")  # where endpoints show the template of a chat


def free_port() -> int:
    """A port to listen on later, below those that systems give to connections: none takes it meanwhile."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


class Gate:
    """A point in a reply where the server waits until the test opens it. Thread-safe; `reached` can be awaited."""

    def __init__(self) -> None:
        self._opened: Future[None] = Future()
        self._reached: Future[None] = Future()

    def open(self) -> None:
        """Lets the server go on."""
        if not self._opened.done():
            self._opened.set_result(None)

    async def reached(self) -> None:
        """Waits until the server stands at this gate."""
        await asyncio.wrap_future(self._reached)

    def wait_reached(self, timeout: float = PATIENCE) -> None:
        """The same for a test without an event loop."""
        self._reached.result(timeout)

    async def pass_through(self) -> None:
        """The server's side of it."""
        if not self._reached.done():
            self._reached.set_result(None)
        await asyncio.shield(asyncio.wrap_future(self._opened))


@dataclass(frozen=True)
class Pause:
    """Seconds of silence."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection ends here: `fin` closes it with the body unfinished, `reset` sends a TCP reset."""

    how: Literal["fin", "reset"] = "fin"


@dataclass(frozen=True)
class Hang:
    """Nothing more is ever sent, and the connection stays open."""


Part = bytes | Gate | Pause | Cut | Hang


@dataclass(frozen=True)
class Reply:
    """A response: `parts` are written one by one, each flushed. `framing` is how its end is marked."""

    parts: Sequence[Part] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str | None = "text/event-stream"
    framing: Literal["chunked", "length", "close"] = "chunked"
    before_headers: Sequence[Part] = ()  # a pause, gate, cut or hang before the first byte of the response

    @classmethod
    def json(cls, body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        """A plain JSON response."""
        return cls([json.dumps(body).encode()], status, headers or {}, "application/json", "length")

    @classmethod
    def html(cls, text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        """A web page, as a proxy answers."""
        return cls([text.encode()], status, headers or {}, "text/html; charset=utf-8", "length")


@dataclass(frozen=True)
class Request:
    """A request as it came. Header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON of the body, None when there is none."""
        return json.loads(self.raw) if self.raw else None

    @property
    def api(self) -> Api | None:
        """Which wire format its path asks for."""
        path = self.path.partition("?")[0]
        return next((api for end, api in PATHS.items() if path.endswith(end)), None)


Scripted = Reply | Answer
Handler = Callable[[Request], Scripted]


class WireServer:
    """The server. `script` queues replies in order; `handler` answers when the queue is empty."""

    def __init__(self, handler: Handler | None = None, *, port: int = 0) -> None:
        self.requests: list[Request] = []
        self.shows: dict[str, Any] = {}  # path -> what shows the template of a chat; asking for it takes no reply
        self.looked: list[Request] = []  # for a template
        self.connections = 0
        self.closed_early = 0  # connections that the client closed while a reply was being written
        self._handler = handler
        self._queue: list[Scripted] = []
        self._port = port
        self._changed = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._started: Future[int] = Future()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._transports: set[asyncio.WriteTransport] = set()

    # -- for tests

    def script(self, *replies: Scripted) -> None:
        """Adds replies; each request takes the next one."""
        self._queue.extend(replies)

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._port}"

    def base_url(self, api: Api) -> str:
        """The base URL to configure for a wire format: with `/v1` for the OpenAI formats."""
        return self.url if api == "anthropic" else f"{self.url}/v1"

    def wait_requests(self, count: int, timeout: float = PATIENCE) -> None:
        """Blocks until `count` requests have come in."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} of {count} requests came in")

    async def arrived(self, count: int, timeout: float = PATIENCE) -> None:
        """Waits until `count` requests have come in, with the event loop running."""
        await asyncio.to_thread(self.wait_requests, count, timeout)

    def wait_closed_early(self, count: int = 1, timeout: float = PATIENCE) -> None:
        """Blocks until the client has left `count` replies before their end."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.closed_early >= count, timeout):
                raise TimeoutError(f"the client left {self.closed_early} of {count} replies early")

    # -- its life

    def __enter__(self) -> WireServer:
        self._thread = threading.Thread(target=self._run, name="wire-server", daemon=True)
        self._thread.start()
        self._port = self._started.result(PATIENCE)
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join(PATIENCE)

    async def __aenter__(self) -> WireServer:
        return self.__enter__()

    async def __aexit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, PATIENCE)

    def serve_forever(self) -> None:
        """Runs in this thread, for a process of its own; prints its URL on standard output once it listens."""
        self._started.add_done_callback(lambda future: print(f"http://127.0.0.1:{future.result()}", flush=True))
        self._run()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", self._port, limit=2**26)
        self._started.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        await accept_no_more(server)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for transport in self._transports:
            transport.abort()  # what the client didn't take is dropped: a transport that still flushes would outlive us
        await asyncio.sleep(0)

    # -- HTTP

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._transports.add(writer.transport)
        self.connections += 1
        reading = asyncio.ensure_future(_read_request(reader))
        try:
            while (request := await reading) is not None:
                with self._changed:
                    if request.path.endswith(TEMPLATES):
                        self.looked.append(request)
                        shown = self.shows.get(request.path)
                        missing = Reply.json({"error": "not found"}, 404)
                        reply = shown if isinstance(shown, Reply) else missing if shown is None else Reply.json(shown)
                    else:
                        reply = self._next_reply(request)
                        self.requests.append(request)
                    self._changed.notify_all()
                # The next request is awaited meanwhile: its end without a request is the client hanging up.
                reading = asyncio.ensure_future(_read_request(reader))
                if not await self._write_watched(writer, reply, reading):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self._left_early()
        except NotHttp:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        except asyncio.CancelledError:
            pass  # the server stops: what it was writing ends here
        finally:
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):  # the server may stop just now
                await asyncio.gather(reading, return_exceptions=True)
            writer.close()
            if not writer.transport.get_write_buffer_size():
                self._transports.discard(writer.transport)
            self._tasks.discard(task)  # last: whoever stops the server waits for what is in there

    def _next_reply(self, request: Request) -> Reply:
        scripted: Scripted
        if self._queue:
            scripted = self._queue.pop(0)
        elif self._handler is not None:
            scripted = self._handler(request)
        else:
            scripted = Reply.json({"error": {"message": "the script of this test has no more replies"}}, 418)
        if isinstance(scripted, Answer):
            api = request.api
            if api is None:
                return Reply.json({"error": {"message": f"no such path: {request.path}"}}, 404)
            return Reply(scripted.events(api))
        return scripted

    def _left_early(self) -> None:
        with self._changed:
            self.closed_early += 1
            self._changed.notify_all()

    async def _write_watched(
        self, writer: asyncio.StreamWriter, reply: Reply, reading: asyncio.Task[Request | None]
    ) -> bool:
        """Writes `reply`, and stops when the client hangs up meanwhile. Says whether the connection lives on."""
        writing = asyncio.ensure_future(_write(writer, reply))
        try:
            await asyncio.wait({writing, reading}, return_when=asyncio.FIRST_COMPLETED)
            if not writing.done() and reading.result() is None:
                self._left_early()
                return False
            return await writing
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)


class NotHttp(Exception):
    """The bytes that came are no request: most often they begin a TLS connection."""


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        start = await reader.readexactly(1)
        if not start.isalpha():
            raise NotHttp
        head = start + await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    elif length := int(headers.get("content-length", "0")):
        body = await reader.readexactly(length)
    return Request(method, path, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    for part in reply.before_headers:
        if not await _write_part(writer, part, _as_is):
            return False
    headers = {"Connection": "close" if reply.framing == "close" else "keep-alive", **reply.headers}
    if reply.content_type is not None:
        headers.setdefault("Content-Type", reply.content_type)
    if reply.framing == "chunked":
        headers.setdefault("Transfer-Encoding", "chunked")
    elif reply.framing == "length":
        headers.setdefault("Content-Length", str(sum(len(part) for part in reply.parts if isinstance(part, bytes))))
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    frame = _chunk if reply.framing == "chunked" else _as_is
    for part in reply.parts:
        if not await _write_part(writer, part, frame):
            return False
    if reply.framing == "chunked":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return reply.framing != "close"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _as_is(data: bytes) -> bytes:
    return data


async def _write_part(writer: asyncio.StreamWriter, part: Part, frame: Callable[[bytes], bytes]) -> bool:
    """Writes or does one part; False when the connection is gone after it."""
    match part:
        case bytes():
            if part:
                writer.write(frame(part))
                await writer.drain()
        case Gate():
            await part.pass_through()
        case Pause():
            await asyncio.sleep(part.seconds)
        case Hang():
            await _forever()
        case Cut(how="fin"):
            return False
        case Cut():
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
    return True


async def _forever() -> None:
    never: Awaitable[None] = asyncio.get_running_loop().create_future()
    await never


def paced(events: Sequence[bytes], per_second: float) -> list[Part]:
    """`events` with the silence between them that makes `per_second`."""
    parts: list[Part] = []
    for event in events:
        parts += [event, Pause(1 / per_second)]
    return parts
