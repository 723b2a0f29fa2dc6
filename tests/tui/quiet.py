"""When an app in a test has nothing left to do: every key has acted, what it set going is as far as it can be, and the
screen shows it.

Pilot guesses this by how busy the processor is, which takes 40 ms a key and is wrong on a machine that does more than
these tests. The event loop and the screen know it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App

from console_app.tui.terminal.key_order import KeysInOrder
from tests.patience import PATIENCE


async def quiet(*_seconds: float) -> None:
    """Returns when nothing on this event loop can go on without time, a thread or another program.

    A frame that is owed is painted at once, and no key holds up the next for longer.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    app = active_app.get(None)
    while True:
        await asyncio.sleep(0)
        if ready or (app is not None and _painted_a_frame(app)):
            continue
        if not isinstance(app, KeysInOrder):
            return
        app.longest_hold = PATIENCE
        if not app.key_under_way or app.return_value is not None:  # the key that quits is under way for ever
            return
        await app._release(app._under_way)


def _painted_a_frame(app: App[Any]) -> bool:
    if resized := app._resize_timer is not None:
        app._check_resize()
    owing = [screen for screen in app.screen_stack if screen._update_timer._active.is_set()]
    for screen in owing:
        screen._on_timer_update()
    return resized or bool(owing)


def let_pilot_know() -> None:
    """Has Pilot wait for this after each key, click and pause."""
    textual.app.wait_for_idle = textual.pilot.wait_for_idle = quiet  # type: ignore[attr-defined]
