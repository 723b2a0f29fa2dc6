"""Every screen above the main one is a dialog: a modal screen whose work ends before its widgets go."""

from __future__ import annotations

from typing import TypeVar

from rich.cells import cell_len
from textual import getters
from textual.containers import Vertical
from textual.screen import ModalScreen

from console_app.tui.textual_internals import end_work
from console_app.tui.widgets.too_small import LEAST_COLUMNS, ROOMY
from console_app.tui.widgets.typed_app import typed_app

BETWEEN = " · "
CORNERS = 6  # cells of the edge that a title can't have


def fitted(keys: str, room: int) -> str:
    """`a this · b that · esc close` in so many cells: what stands before the last goes first."""
    parts = keys.split(BETWEEN)
    while len(parts) > 1 and cell_len(BETWEEN.join(parts)) > room:
        del parts[-2]
    return BETWEEN.join(parts)


class DialogBox(Vertical):
    """`keys` are named by importance, the one that leaves last."""

    def __init__(self, keys: str) -> None:
        super().__init__(id="box")
        self._keys = keys

    def name_keys(self, keys: str) -> None:
        self._keys = keys
        self.on_resize()

    def on_resize(self) -> None:
        self.border_subtitle = fitted(self._keys, self.outer_size.width - CORNERS)


Result = TypeVar("Result")
LOW = [(0, "-low"), (ROOMY, "-high")]  # of few rows a dialog may have all
NARROW = [(0, "-cramped"), (LEAST_COLUMNS, "-fitting")]


class Dialog(ModalScreen[Result]):
    """Gives `Result`. No worker of it finds its widgets gone: a file or an endpoint may answer while it closes."""

    HORIZONTAL_BREAKPOINTS = NARROW
    VERTICAL_BREAKPOINTS = LOW
    app = getters.app(typed_app)

    def action_leave(self) -> None:
        self.dismiss(None)

    async def _message_loop_exit(self) -> None:
        end_work(self)
        await super()._message_loop_exit()
