"""Standard output of what prints once and ends. Only `sys` is imported before it is written: --version waits for it."""

from __future__ import annotations

import sys


def write_out(text: str) -> None:
    """Write at once. Raises BrokenPipeError without a reader, OutputError where it can't be written."""
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
