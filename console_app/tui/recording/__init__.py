"""A session as a moving picture: played in a console that nobody sees, its screens kept with their times."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.tui.recording.recorder import record as record
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
