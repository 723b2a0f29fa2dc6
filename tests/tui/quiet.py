"""When an app in a test has nothing left to do: every key has acted, what it set going is as far as it can be, and the
screen shows it.

Pilot guesses this by how busy the processor is, which takes 40 ms a key and is wrong on a machine that does more than
these tests. The event loop and the screen know it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import textual.app
import textual.pilot
import textual.screen
from textual._context import active_app
from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.screen import Screen

from console_app.tui.terminal.key_order import KeysInOrder
from tests.patience import PATIENCE

FRAME = 0.1  # seconds: `quiet` paints what is owed; the clock does where nobody waits for quiet


async def quiet(*_seconds: float, painting: bool = True) -> None:
    """Returns when nothing on this event loop can go on without time, a thread or another program.

    A frame that is owed is painted at once, and no key holds up the next for longer. Without `painting`, one in which
    nothing has another place waits for the next: so do frames between keys that come fast.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    app = active_app.get(None)
    while True:
        await asyncio.sleep(0)
        if ready or (app is not None and _painted_a_frame(app, painting)):
            continue
        if not isinstance(app, KeysInOrder):
            return
        app.longest_hold = PATIENCE
        if not app.key_under_way or app.return_value is not None:  # the key that quits is under way for ever
            return
        await app._release(app._under_way)


def _painted_a_frame(app: App[Any], colours_too: bool) -> bool:
    if resized := app._resize_timer is not None:
        app._check_resize()
    owing = [screen for screen in app.screen_stack if screen._update_timer._active.is_set()]
    if not colours_too:
        owing = [screen for screen in owing if _places_change(screen)]
    for screen in owing:
        screen._on_timer_update()
    return resized or bool(owing)


def _places_change(screen: Screen[Any]) -> bool:
    return bool(screen._layout_required or screen._scroll_required or screen._recompose_required or screen._callbacks)


async def _all_read(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
    """Has Pilot ask every widget whether it read its messages only while one of them has any: that takes milliseconds
    for each key."""
    await quiet()
    if all(_waits_for_messages(one) for one in (pilot.app, *pilot.app.screen.walk_children(with_self=True))):
        return True
    return await _ask_all(pilot, timeout)


_ask_all = Pilot._wait_for_screen


def _waits_for_messages(one: MessagePump) -> bool:
    queue = one._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)  # type: ignore[attr-defined]


def let_pilot_know() -> None:
    """Has Pilot wait for this after each key, click and pause."""
    textual.pilot.wait_for_idle = quiet  # type: ignore[attr-defined]
    textual.app.wait_for_idle = partial(quiet, painting=False)  # type: ignore[attr-defined]
    Pilot._wait_for_screen = _all_read  # type: ignore[method-assign]
    textual.screen.UPDATE_PERIOD = FRAME  # type: ignore[misc]
