"""The folder that a conversation works in: what it tells the model, and the programs that it has run around calls."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.workplace.git import Worktree as Worktree
    from console_app.workplace.workplace import HooksOfCalls as HooksOfCalls
    from console_app.workplace.workplace import WorkingFolder as WorkingFolder
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
