"""Standard output of what prints once and ends. Only `sys` is imported before it is written: --version waits for it."""

from __future__ import annotations

import asyncio
import os
import sys

from console_app.domain import UsageError
from console_app.headless import Interrupts, OutputStreams


def write_out(text: str) -> None:
    """Writes at once. Raises BrokenPipeError where nobody reads any more, OutputError where it can't be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from console_app.domain import errors

        forget_stdout()
        raise errors.OutputError(f"can't write to standard output: {error.strerror or error}") from None


def forget_stdout() -> None:
    """Send nowhere what Python would still write at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


_STDIN = 0


async def agreed(question: str, flag: str, output: OutputStreams, interrupts: Interrupts) -> bool:
    """Ask and return whether y or yes was typed. Raises UsageError, naming the flag, without a terminal."""
    if not (os.isatty(_STDIN) and os.isatty(sys.stderr.fileno())):
        raise UsageError(f"{question} Nobody can be asked without a terminal", f"To say yes: {flag}.")
    output.error_line(f"{question} [y/N]")
    answer = await interrupts.race(_line())
    return answer.strip().casefold() in {"y", "yes"}


async def _line() -> str:
    """Read the next line of standard input. No thread waits for it, since that could not be ended."""
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
