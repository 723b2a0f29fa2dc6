"""Opens web pages for the user: in the page that shows this console, or in a browser of this machine.

The page is there where `fanout serve` shows the console, and may be on another machine. Lines of JSON go to the server
through a socket whose number FANOUT_PAGE names. A line that comes back says that another page has taken over, which has
yet to be painted."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import cache

from console_app.config.machine import child_programs


class BrowserPage:
    """Our end of the socket. A method that sends raises OSError where the server is gone or far behind; none waits."""

    CHANNEL = "FANOUT_PAGE"

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel

    def open_url(self, url: str) -> None:
        """Have the page open a web address, or show it to be clicked where the browser wants a click."""
        self._send({"open": url})

    def save_file(self, path: str) -> None:
        self._send({"file": path})

    def when_taken_over(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        """Have `call` called on `loop` for each new page that shows this console. The last `call` counts."""

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

    @staticmethod
    @cache
    def in_use() -> BrowserPage | None:
        """Return the page of this process; None in any other terminal, and for a number that is no socket of ours."""
        number = os.environ.get(BrowserPage.CHANNEL, "")
        if not number.isdecimal():
            return None
        try:
            channel = socket.socket(fileno=int(number))
        except OSError:
            return None
        channel.set_inheritable(False)
        return BrowserPage(channel)


_PROGRAM = "import sys, webbrowser; webbrowser.open(sys.argv[1])"


def start_browser(url: str) -> subprocess.Popen[bytes]:
    """Start a browser of this machine with `url`, and return the process that does so. Raises OSError where it can't.

    The process is one of its own without any secret of Fanout's environment: Python's `webbrowser` gives a browser all
    that the calling process has.
    """
    return child_programs.start_apart([sys.executable, "-P", "-c", _PROGRAM, url])[0]
