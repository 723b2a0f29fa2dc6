"""The place that a browser comes back to after a sign-in: a small HTTP server on loopback that waits for one answer.

Other users of the machine reach it too: an answer counts only with the `state` of this sign-in, errors as well.

Source: RFC 8252, section 7.3 (loopback redirect), RFC 6749, 4.1.2 (`state`), RFC 9207 (`iss`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import html
import socket
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from console_app.mcp_client.auth.sign_in import SignInRefused

PATH = "/callback"
_LONGEST_REQUEST = 32_768
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Fanout</title>"
    "<body style='font-family:sans-serif;margin:4em auto;max-width:32em'><h1>{title}</h1><p>{text}</p>"
)


@dataclass(frozen=True, slots=True)
class Returned:
    """The answer that came back with the browser."""

    code: str
    state: str
    iss: str | None = None


class Callback:
    """Listens on `preferred`, or on any free port. Only the first answer counts; what else is asked for is not found.

    A port that the system chose is bound from the start, for its number is given away before anything listens on it.
    Raises SignInRefused where no port is free.
    """

    def __init__(self, preferred: int | None = None) -> None:
        self._bound: socket.socket | None = None
        if preferred is not None and _is_free(preferred):
            self.port = preferred
        else:
            self._bound = socket.socket()
            self._bound.setsockopt(
                socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
            )  # so that the next sign-in can have it too
            try:
                self._bound.bind(("127.0.0.1", 0))
            except OSError as error:
                self.release()
                raise SignInRefused("no port on loopback is free for the sign-in to come back to") from error
            self.port = int(self._bound.getsockname()[1])
        self._server: asyncio.Server | None = None
        self._state = ""
        self._returned: asyncio.Future[Returned] | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._silent: set[asyncio.StreamWriter] = set()

    async def open(self, state: str) -> None:
        """Begin to listen for the answer with `state`. Raises SignInRefused where the port was taken meanwhile."""
        self._state = state
        self._returned = asyncio.get_running_loop().create_future()
        try:
            if self._bound is None:
                self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=_LONGEST_REQUEST)
            else:
                self._server = await asyncio.start_server(self._serve, sock=self._bound, limit=_LONGEST_REQUEST)
                self._bound = None  # the server's now
        except OSError as error:
            raise SignInRefused(f"port {self.port}, where the sign-in comes back to, is taken") from error

    async def returned(self) -> Returned:
        """Wait for the answer that comes back. Raises SignInRefused when the user or the server said no."""
        assert self._returned is not None, "open comes first"
        return await self._returned

    async def close(self) -> None:
        """Listen no more. Who has asked gets an answer; a browser also opens connections that it may never use."""
        if self._returned is not None:
            self._returned.cancel()
        if self._server is not None:
            self._server.close()
            for writer in self._silent:
                writer.transport.abort()
            await asyncio.gather(*self._serving, return_exceptions=True)
            self._server = None

    def release(self) -> None:
        """Give back a port that nothing listened on."""
        if self._bound is not None:
            self._bound.close()
            self._bound = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        self._silent.add(writer)
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                self._silent.discard(writer)
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
            self._silent.discard(writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, method: str, target: str) -> tuple[str, str, str]:
        url = urlsplit(target)
        waiting = self._returned
        if method != "GET" or url.path != PATH or waiting is None:
            return "404 Not Found", "Not found", "Nothing is here."
        fields = {key: values[0] for key, values in parse_qs(url.query).items()}
        if not self._state or not hmac.compare_digest(fields.get("state", "").encode(), self._state.encode()):
            return "400 Bad Request", "Not signed in", "This is no answer to the sign-in that Fanout waits for."
        if waiting.done():
            return "409 Conflict", "Too late", "This sign-in is over."
        if "error" in fields:
            why = fields.get("error_description") or fields["error"]
            waiting.set_exception(SignInRefused(f"the sign-in was refused: {why[:200]}"))
            return "200 OK", "Not signed in", why[:200]
        if not fields.get("code"):
            return "400 Bad Request", "Not signed in", "The answer holds no code."
        waiting.set_result(Returned(fields["code"], self._state, fields.get("iss")))
        return "200 OK", "Signed in", "You can close this page and go back to Fanout."


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
