"""Choose the driver of an app, and give the terminal back behind it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App, ReturnType
from textual.driver import Driver
from textual.filter import LineFilter

from console_app.tui.terminal.edge import EDGE
from console_app.tui.textual_internals import driver_of

if TYPE_CHECKING:
    from console_app.tui.terminal.canvas import Canvas


def driver_class() -> type[Driver] | None:
    """Our driver on a POSIX terminal; Textual's choice elsewhere, and where the environment names one."""
    if sys.platform == "win32" or "TEXTUAL_DRIVER" in os.environ:
        return None
    from console_app.tui.terminal.driver import ConsoleDriver

    return ConsoleDriver


class TerminalApp(App[ReturnType]):
    """Writes through the gate to the terminal, and gives the terminal back whatever ended it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(driver_class=driver_class(), **options)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), EDGE]

    @property
    def canvas(self) -> Canvas | None:
        return getattr(driver_of(self), "canvas", None)

    def restore_now(self) -> None:
        if restore := getattr(driver_of(self), "restore_now", None):
            restore()

    async def run_async(self, **options: Any) -> ReturnType | None:
        try:
            return await super().run_async(**options)
        finally:
            if (driver := driver_of(self)) is not None:
                driver.close()
            self.restore_now()
