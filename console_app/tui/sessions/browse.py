"""/sessions: the list, again after each change that was made in it, until a session is opened or it is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from console_app.console.talk.sessions import Sessions
from console_app.domain.errors import FanoutError
from console_app.sessions import Library
from console_app.tui.sessions.screen import Picked, SessionsScreen
from console_app.tui.ui import Ui


async def browse(sessions: Sessions, ui: Ui, clock: Callable[[], float], query: str = "") -> None:
    """Opens the list with `query` typed; to be run by `Ui.open`."""
    library, select = sessions.stored(), ""
    while library is not None:
        picked = await ui.push(
            SessionsScreen(library.store, current=library.session_id, query=query, select=select, clock=clock)
        )
        if picked is None:
            return
        query, select = picked.query, picked.info.id
        try:
            if not await _act(picked, sessions, library):
                return
        except FanoutError as error:
            ui.toast(error.line, seconds=8)


async def _act(picked: Picked, sessions: Sessions, library: Library) -> bool:
    """Does what was picked; whether the list comes back."""
    info = picked.info
    match picked.action:
        case "resume":
            await sessions.open(info.id)
            return False
        case "fork":
            await sessions.open(info.id, copy=True)
            return False
        case "rename":
            await sessions.rename(session_id=info.id)
        case "delete":
            await sessions.delete(info)
        case "export":
            await sessions.export(session_id=info.id)
        case _:
            assert_never(picked.action)
    return True
