"""The terminal's own pictures, as far as the conversation needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rich.color import Color

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels


class PlacedPicture(Protocol):
    """A picture that the terminal has, for as long as this is kept."""

    @property
    def rows(self) -> int: ...

    @property
    def ink(self) -> Color:
        """The colour of its cells."""
        ...

    @property
    def is_shown(self) -> bool:
        """Whether the terminal has all of it."""
        ...

    @property
    def is_gone(self) -> bool:
        """Whether it has to be placed again."""
        ...

    def cells(self, row: int) -> str:
        """What stands in a row of the screen in place of a row of the picture."""
        ...


class PictureCanvas(Protocol):
    """A terminal that may draw pictures. Threads use it."""

    @property
    def is_open(self) -> bool:
        """Whether pictures can be placed."""
        ...

    @property
    def sixels(self) -> int:
        """The colours of sixels, where these are what it takes; else 0."""
        ...

    @property
    def cell(self) -> Callable[[], tuple[int, int]]:
        """Gives the pixels of a cell, side by side and in height."""
        ...

    def place(self, png: bytes, pixels: int, columns: int, rows: int) -> PlacedPicture | None:
        """Has a picture of so many pixels drawn; None where that can't be now."""
        ...

    def place_sixels(self, picture: Pixels, small: Pixels) -> PlacedPicture | None:
        """The same as sixels; `small` has a pixel for each half block."""
        ...
