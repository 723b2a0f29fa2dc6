"""A yes or no on the terminal, for what a script must say with a flag."""

from __future__ import annotations

import asyncio
import os
import sys

from console_app.domain.errors import UsageError
from console_app.headless.interrupts import Interrupts
from console_app.headless.output import OutputStreams

STDIN = 0


async def agreed(question: str, flag: str, output: OutputStreams, interrupts: Interrupts) -> bool:
    """Whether somebody typed y or yes. Raises UsageError, naming the flag, where nobody can be asked."""
    if not (os.isatty(STDIN) and os.isatty(sys.stderr.fileno())):
        raise UsageError(f"{question} Nobody can be asked without a terminal", f"To say yes: {flag}.")
    output.error_line(f"{question} [y/N]")
    answer = await interrupts.race(_line())
    return answer.strip().casefold() in {"y", "yes"}


async def _line() -> str:
    """The next line of standard input; a thread that waits for it could not be ended."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(STDIN)
        if not came.done():
            came.set_result(os.read(STDIN, 1000).decode("utf-8", "replace"))

    loop.add_reader(STDIN, read)
    try:
        return await came
    finally:
        loop.remove_reader(STDIN)
