"""Intents that tell of the requests to the model, of this program and of what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from console_app.console.reports import tail
from console_app.console.reports.context_report import context_report, cost_report, request_report
from console_app.domain import FanoutError

if TYPE_CHECKING:
    from console_app.console.console import Console

READ_AGAIN = 0.2  # seconds between two looks at a report that is still written


async def context(console: Console, _rest: str) -> None:
    engine = console.services.engine
    await console.ui.report("Context", lambda: context_report(engine, console.ui.transcript, console.models.window))


async def request(console: Console, _rest: str) -> None:
    await console.ui.report("Request", lambda: request_report(console.services.engine))


async def cost(console: Console, _rest: str) -> None:
    await console.ui.report("Cost", lambda: cost_report(console.ui.transcript))


async def log(console: Console, _rest: str) -> None:
    await console.ui.report("Log", lambda: tail(console.services.log_path), at_end=True, every=1.0)


async def doctor(console: Console, _rest: str) -> None:
    if (diagnose := console.services.diagnose) is None:
        console.ui.toast("There is nothing to examine here. In a shell: fanout doctor.")
        return

    async def read() -> str:
        return "\n".join(await diagnose())

    await report_once_read(console, "Doctor", read)


async def report_once_read(console: Console, title: str, read: Callable[[], Awaitable[str]]) -> None:
    """Show a report that takes a while. It is there at once: keys typed behind the command are its own."""
    text = "Looking…"

    async def look() -> None:
        nonlocal text
        try:
            text = await read()
        except FanoutError as error:
            text = error.line

    looking = asyncio.create_task(look())
    try:
        await console.ui.report(title, lambda: text, every=READ_AGAIN, whole=looking)
    finally:
        looking.cancel()
