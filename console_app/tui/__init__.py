"""The console: the only floor that knows Textual."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.tui.app import FanoutApp as FanoutApp
    from console_app.tui.app import StartupParts as StartupParts
    from console_app.tui.batch import BatchApp as BatchApp
    from console_app.tui.themes import load_themes as load_themes
    from console_app.tui.warm_up import WarmUp as WarmUp
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
