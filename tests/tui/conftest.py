"""Pictures are taken of a screen at rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.tui.parts import at_rest
from tests.tui.quiet import let_pilot_know
from tests.tui.stored import close_libraries

let_pilot_know()


@pytest.fixture
async def closed_libraries() -> AsyncIterator[None]:
    """Behind the test every library that `stored.library` opened is closed."""
    yield
    await close_libraries()


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool]) -> Callable[..., bool]:
    """The comparison of pictures, once nothing on the screen moves any more."""

    def compare(app: Any, *, run_before: Callable[[Pilot[Any]], Awaitable[None]] | None = None, **options: Any) -> bool:
        async def run(pilot: Pilot[Any]) -> None:
            if run_before is not None:
                await run_before(pilot)
            screen = pilot.app.screen
            for field in (*screen.query(Input), *screen.query(TextArea)):
                field.cursor_blink = False
            await at_rest(pilot)

        return snap_compare(app, run_before=run, **options)

    return compare
