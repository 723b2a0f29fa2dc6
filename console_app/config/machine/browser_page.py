"""The page that this console is shown in, where it is `fanout serve` that shows it.

What opens or is saved for the user does so in their browser, which may be on another machine. Lines of JSON go to the
server through a socket whose number FANOUT_PAGE names; a line of the server's says that another page has taken over,
which has yet to be painted.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable
from functools import cache

CHANNEL = "FANOUT_PAGE"


class BrowserPage:
    """One end of the socket. Sending raises OSError where the server is gone or far behind; it never waits."""

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel

    def open_url(self, url: str) -> None:
        """Has the page open a web address, or show it to be clicked where the browser wants a click."""
        self._send({"open": url})

    def save_file(self, path: str) -> None:
        """Has the page download a file of this machine."""
        self._send({"file": path})

    def when_taken_over(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        """Has `call` called on `loop` for each new page that shows this console. The last `call` counts."""

        def readable() -> None:
            try:
                more = self._channel.recv(4096)
            except BlockingIOError:
                return
            except OSError:
                more = b""
            if more:
                call()
            else:
                loop.remove_reader(self._channel)

        loop.add_reader(self._channel, readable)

    def _send(self, message: dict[str, str]) -> None:
        data = json.dumps(message).encode() + b"\n"
        if self._channel.send(data) != len(data):
            raise OSError("the page's server does not read")


@cache
def page_in_use() -> BrowserPage | None:
    """The page of this process; None in any other terminal. A number that is no socket of ours is none."""
    number = os.environ.get(CHANNEL, "")
    if not number.isdecimal():
        return None
    try:
        channel = socket.socket(fileno=int(number))
    except OSError:
        return None
    channel.set_inheritable(False)
    return BrowserPage(channel)
