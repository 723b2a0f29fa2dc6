"""/doctor: the report of `fanout doctor`, on the servers that run already, as a text to read and copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console_app.domain.errors import FanoutError

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen


def doctor(screen: ChatScreen, _rest: str) -> None:
    """Opens the report once everything has answered."""
    if screen.services.diagnose is None:
        screen.toast("There is nothing to examine here. In a shell: fanout doctor.")
        return
    screen.toast("Looking ...", 2)
    screen.open_dialog(_report, screen)


async def _report(screen: ChatScreen) -> None:
    from console_app.tui.screens.text_dialog import TextDialog

    assert screen.services.diagnose is not None
    try:
        text = "\n".join(await screen.services.diagnose())
    except FanoutError as error:
        text = error.line
    await screen.app.push_screen_wait(TextDialog("Doctor", lambda: text))
