"""Runs the line console with its commands."""

from __future__ import annotations

from functools import partial

from console_app.console import Services
from console_app.headless import OutputStreams, end_within
from console_app.line_console.commands import line_ways
from console_app.line_console.console import LineConsole
from console_app.line_console.typed_lines import TypedLines

QUITTING = 3.0  # seconds from when a console is left to the end of the process


async def run(services: Services, prompt: str | None) -> int:
    """Runs until it is left; the exit code."""
    output = OutputStreams()
    with TypedLines() as typed:
        code = await LineConsole(services, output, typed, line_ways, partial(end_within, QUITTING)).run(prompt)
    await output.finish()
    output.close()
    return code
