"""Other people's model servers as processes: each listens on a port of its own choice, and says so once it does.

One that ends before its tests do is told with the last that it said, as nothing else explains why all of them failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# uvicorn's line, which both servers write once they listen. Told to take any port, they can't lose it to another.
_LISTENS = re.compile(rb"Uvicorn running on http://127\.0\.0\.1:(\d+)")


@contextmanager
def served(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> Iterator[int]:
    """The port of a server that runs in `folder`, until the context is left; what it says is in `folder/log`."""
    pipe = subprocess.PIPE
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0"],
            cwd=folder, env={**os.environ, **env}, stdout=pipe, stderr=subprocess.STDOUT,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        said = threading.Thread(target=_copy, args=(process.stdout, log), name="said by a model server")
        try:
            port = _port(process.stdout, log)
            said.start()
            yield port
            ended = process.poll()
        finally:
            process.kill()
            process.wait()
            if said.ident is not None:
                said.join()
        assert ended is None, f"the server ended with {ended} while it was used: {_last(folder / 'log')}"


def _last(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])


def _port(out: IO[bytes], log: IO[bytes]) -> int:
    last = b""
    for line in out:
        log.write(line)
        if found := _LISTENS.search(line):
            log.flush()
            return int(found[1])
        last = line.strip() or last
    raise AssertionError(f"the server ended before it listened: {last.decode(errors='replace')}")


def _copy(out: IO[bytes], log: IO[bytes]) -> None:
    for line in out:
        log.write(line)
        log.flush()
