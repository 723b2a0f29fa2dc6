"""Where a browser comes back to after a sign-in: a small HTTP server on loopback that waits for one answer.

Source: RFC 8252, section 7.3 (loopback redirect), RFC 9207 (`iss`).
"""

from __future__ import annotations

import asyncio
import html
import socket
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

PATH = "/callback"
_LONGEST_REQUEST = 32_768
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Fanout</title>"
    "<body style='font-family:sans-serif;margin:4em auto;max-width:32em'><h1>{title}</h1><p>{text}</p>"
)


class SignInRefused(Exception):
    """The sign-in did not happen: one line."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What came back with the browser."""

    code: str
    state: str
    iss: str | None = None


def free_port(preferred: int | None) -> int:
    """`preferred` where that is free, else any port that is."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise SignInRefused("no port on loopback is free for the sign-in to come back to")


class Callback:
    """Listens while it is entered. Only the first answer counts; whatever else is asked for is not found."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._returned: asyncio.Future[Returned] | None = None

    async def open(self) -> None:
        """Begins to listen. Raises SignInRefused where the port was taken meanwhile."""
        self._returned = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=_LONGEST_REQUEST)
        except OSError as error:
            raise SignInRefused(f"port {self._port}, where the sign-in comes back to, is taken") from error

    async def returned(self) -> Returned:
        """What came back. Raises SignInRefused when the user or the server said no."""
        assert self._returned is not None, "open comes first"
        return await self._returned

    async def close(self) -> None:
        """Listens no more."""
        if self._returned is not None:
            self._returned.cancel()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
                status, title, text = self._answer(method, rest.partition(" ")[0])
                body = _PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a browser that went away, or something else that knocked
        finally:
            writer.close()

    def _answer(self, method: str, target: str) -> tuple[str, str, str]:
        url = urlsplit(target)
        waiting = self._returned
        if method != "GET" or url.path != PATH or waiting is None:
            return "404 Not Found", "Not found", "Nothing is here."
        fields = {key: values[0] for key, values in parse_qs(url.query).items()}
        if waiting.done():
            return "409 Conflict", "Too late", "This sign-in is over."
        if "error" in fields:
            why = fields.get("error_description") or fields["error"]
            waiting.set_exception(SignInRefused(f"the sign-in was refused: {why[:200]}"))
            return "200 OK", "Not signed in", why[:200]
        if not fields.get("code"):
            return "400 Bad Request", "Not signed in", "The answer holds no code."
        waiting.set_result(Returned(fields["code"], fields.get("state", ""), fields.get("iss")))
        return "200 OK", "Signed in", "You can close this page and go back to Fanout."
