"""The console as lines, for a screen reader: what happens is said once, in order, and nothing is drawn. No Textual."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.line_console.console import run as run
    from console_app.line_console.dialogue import fill_in as fill_in
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
