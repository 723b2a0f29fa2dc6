"""Someone without keys knocks at ports of this machine, as a client of Dask's and as a browser: a JSON list of what
let them in. The first argument is the user to knock as, or `-`: this process changes to it once all is imported, since
another user may not read this Python."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import pwd
import sys
import urllib.error
import urllib.request
from contextlib import suppress

import distributed
from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: F401  of Security.temporary
from distributed.core import rpc


async def _by_dask(address: str) -> str | None:
    security = distributed.Security.temporary() if address.startswith("tls") else distributed.Security()
    with suppress(OSError, TimeoutError):
        async with rpc(address, timeout=2, connection_args=security.get_connection_args("client")) as remote:
            await asyncio.wait_for(remote.identity(), 5)
            return address
    return None


def _by_http(url: str) -> str | None:
    with suppress(OSError, http.client.HTTPException):
        try:
            urllib.request.urlopen(url, timeout=2).read()
        except urllib.error.HTTPError:
            pass  # an answer all the same
        return url
    return None


async def main(ports: list[str]) -> None:
    """Prints what let it in."""
    addresses = [f"{protocol}://127.0.0.1:{port}" for port in ports for protocol in ("tcp", "tls")]
    urls = [f"http://127.0.0.1:{port}/{page}" for port in ports for page in ("", "status", "health")]
    let_in = await asyncio.gather(*map(_by_dask, addresses), *(asyncio.to_thread(_by_http, url) for url in urls))
    print(json.dumps([one for one in let_in if one]))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    distributed.Security.temporary().get_connection_args("client")
    if (user := sys.argv[1]) != "-":
        entry = pwd.getpwnam(user)
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
    asyncio.run(main(sys.argv[2:]))
