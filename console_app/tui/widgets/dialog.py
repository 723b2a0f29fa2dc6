"""What every screen above the main one is: a modal screen whose work ends before its widgets go."""

from __future__ import annotations

from typing import TypeVar

from textual import getters
from textual.screen import ModalScreen

from console_app.tui.textual_internals import end_work
from console_app.tui.widgets.too_small import LEAST_COLUMNS, ROOMY
from console_app.tui.widgets.typed_app import typed_app

Result = TypeVar("Result")
LOW = [(0, "-low"), (ROOMY, "-high")]  # of few rows a dialog may have all
NARROW = [(0, "-cramped"), (LEAST_COLUMNS, "-fitting")]


class Dialog(ModalScreen[Result]):
    """Gives `Result`. No worker of it finds its widgets gone: a file or an endpoint may answer while it closes."""

    HORIZONTAL_BREAKPOINTS = NARROW
    VERTICAL_BREAKPOINTS = LOW
    app = getters.app(typed_app)

    async def _message_loop_exit(self) -> None:
        end_work(self)
        await super()._message_loop_exit()
