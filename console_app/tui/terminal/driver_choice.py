"""Choose the driver of an app."""

from __future__ import annotations

import os
import sys

from textual.driver import Driver


def driver_class() -> type[Driver] | None:
    """Our driver on a POSIX terminal; Textual's choice elsewhere, and where the environment names one."""
    if sys.platform == "win32" or "TEXTUAL_DRIVER" in os.environ:
        return None
    from console_app.tui.terminal.driver import ConsoleDriver

    return ConsoleDriver
