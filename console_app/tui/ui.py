"""The console as its rooms and commands see it: what a conversation may ask of any front end, and a few things more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import ParamSpec, Protocol, TypeVar

from textual.screen import Screen

from console_app.console import UiPort
from console_app.tui.terminal.key_order import KeysInOrder

P = ParamSpec("P")
T = TypeVar("T")


class Ui(UiPort, Protocol):
    """Shows dialogs and the prompt for the rooms and commands. `open` starts the worker for what awaits a dialog."""

    @property
    def app(self) -> KeysInOrder[int]: ...

    @property
    def written(self) -> str: ...

    def put(self, text: str) -> None:
        """Puts `text` into the prompt in place of what is there."""

    async def push(self, screen: Screen[T]) -> T:
        """Open a dialog, and return its result once it is closed."""
        ...

    def open(self, dialog: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """Runs what opens dialogs, in place of another such."""

    def open_beside(self, work: Callable[P, Coroutine[object, object, None]], *args: P.args, **named: P.kwargs) -> None:
        """Runs what asks nobody, beside whatever is open: called once it begins, as the console may end before."""

    def copy(self, text: str, what: str = "") -> None:
        """Puts `text` on the clipboard, and says so: how much, and `what` it is."""
