"""Another user of this machine, who does what can be done with a socket. Started as root, it becomes that user first.

`python -m tests.security.stranger USER WAITS FORGED ADDRESS ...` prints as JSON what was done at each address, nothing
where it was refused. FORGED is a list in JSON of what a page would show to `fanout serve`, one after the other.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any

import websockets.sync.client as pages
from distributed.core import connect, send_recv
from distributed.protocol.pickle import dumps
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

WAITS = float(sys.argv[2])  # seconds for an answer


def console(address: str, forged: str) -> str:
    """Has a page of the very host, as a program writes it, and is shown a console."""
    return _shown(f"ws://{address}/socket", address, forged)


def shared_page(address: str, forged: str) -> str:
    """Has the page of the conversation that all devices share, and is shown something of it."""
    return _shown(f"ws://{address}/page-socket", address, forged)


def _shown(url: str, address: str, forged: str) -> str:
    with pages.connect(url, origin=Origin(f"http://{address}"), open_timeout=WAITS, proxy=None) as page:
        page.send(forged)
        while True:
            message = page.recv(timeout=WAITS)
            if isinstance(message, bytes) or "blocks" in message:
                return f"was shown something at {url}"


PAGES = (console, shared_page)


def files(address: str) -> str:
    """Asks for what else a server may have."""
    host, _, port = address.rpartition(":")
    found: list[str] = []
    for path in ("/files/x", "/static/..%2fserver.py", "/info/main/workers.html", "/metrics", "/json/counts.json"):
        connection = HTTPConnection(host.strip("[]"), int(port), timeout=WAITS)
        with suppress(OSError, HTTPException):
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                found.append(path)
        connection.close()
    return f"was given {', '.join(found)}" if found else ""


def cluster(address: str) -> str:
    """Runs a function in the scheduler, worker or nanny that listens, without a client of Dask's."""

    async def run() -> str:
        comm = await asyncio.wait_for(connect(f"tcp://{address}", timeout=WAITS), WAITS)
        kind: str = (await asyncio.wait_for(send_recv(comm, op="identity"), WAITS))["type"]
        how = "run_function" if kind == "Scheduler" else "run"
        ran = await asyncio.wait_for(send_recv(comm, op=how, function=dumps(os.getuid), close=True), WAITS)
        return f"ran in a {kind} as {ran['result']}"

    return asyncio.run(run())


def file_socket(address: str) -> str:
    """Connects to a socket that is a file, or has a name of its own."""
    with socket.socket(socket.AF_UNIX) as mine:
        mine.settimeout(WAITS)
        mine.connect(f"\0{address[1:]}" if address.startswith("@") else address)
        return "connected"


def tried(attempt: Callable[..., str], address: str, *forged: str) -> str:
    """Return the outcome; nothing where it was refused."""
    try:
        return attempt(address, *forged)
    except (OSError, EOFError, TimeoutError, ValueError, HTTPException, WebSocketException):
        return ""


def main() -> None:
    user, forged, addresses = int(sys.argv[1]), [json.dumps(one) for one in json.loads(sys.argv[3])], sys.argv[4:]
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    os.chdir("/")
    done: dict[str, Any] = {}
    for address in addresses:
        attempts = [file_socket] if address[0] in "/@" else [files, cluster]
        shown = [] if address[0] in "/@" else [tried(page, address, one) for one in forged for page in PAGES]
        done[address] = [came for came in (*shown, *(tried(one, address) for one in attempts)) if came]
    print(json.dumps(done))


if __name__ == "__main__":
    main()
