"""Asks a question on the terminal that yes or no answers."""

from __future__ import annotations

import asyncio
import os
import sys

from console_app.domain import UsageError
from console_app.headless import Interrupts, OutputStreams

_STDIN = 0


async def agreed(question: str, flag: str, output: OutputStreams, interrupts: Interrupts) -> bool:
    """Ask and return whether y or yes was typed. Raises UsageError, naming the flag, without a terminal."""
    if not (os.isatty(_STDIN) and os.isatty(sys.stderr.fileno())):
        raise UsageError(f"{question} Nobody can be asked without a terminal", f"To say yes: {flag}.")
    output.error_line(f"{question} [y/N]")
    answer = await interrupts.race(_line())
    return answer.strip().casefold() in {"y", "yes"}


async def _line() -> str:
    """Read the next line of standard input. No thread waits for it, since none could be ended."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(_STDIN)
        if not came.done():
            came.set_result(os.read(_STDIN, 1000).decode("utf-8", "replace"))

    loop.add_reader(_STDIN, read)
    try:
        return await came
    finally:
        loop.remove_reader(_STDIN)
