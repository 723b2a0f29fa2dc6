"""Programs that a task waits for, each in a process group that ends with it, and programs that go on without us.

The one place that starts a program on the event loop, but for those of MCP servers (`mcp_client/transport`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from console_app.config.secrets import child_environment


async def start(*words: str, **options: Any) -> asyncio.subprocess.Process:
    """Start a program with the options of `asyncio.create_subprocess_exec`. Raises OSError where it can't.

    Cancelled while it starts a program, asyncio may wait for ever for pipes that it has yet to connect. Here the
    program starts first, and is ended then.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*words, start_new_session=True, **options))
    cancelled: asyncio.CancelledError | None = None
    while not starting.done():
        try:
            await asyncio.wait({starting})
        except asyncio.CancelledError as error:
            cancelled = error
    process = starting.result()
    if cancelled is not None:
        await end(process)
        raise cancelled
    return process


async def end(process: asyncio.subprocess.Process) -> None:
    """End a program, if it hasn't ended, and all that it left running; close its pipes, whoever else holds them."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    pause = 0.0005
    try:
        while process.returncode is None:  # noqa: ASYNC110  (`wait` may wait for its pipes too, perhaps for ever)
            await asyncio.sleep(pause := min(2 * pause, 0.01))
    finally:
        process._transport.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # no public name
    await asyncio.sleep(0)  # its pipes are closed by the loop


def start_apart(words: Sequence[str]) -> tuple[subprocess.Popen[bytes], threading.Thread]:
    """Start a program that goes on without us, and a thread that waits for its end. Raises OSError where it can't."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment.for_own_programs(os.environ),
        start_new_session=True,
    )
    waiting = threading.Thread(target=process.wait, name="program", daemon=True)
    waiting.start()
    return process, waiting
