"""The terminal's own pictures, as far as the conversation needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from rich.color import Color

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels


class PlacedPicture(Protocol):
    """A picture that the terminal has, for as long as this is kept; one that `is_gone` has to be placed again."""

    rows: int
    ink: Color  # of its cells

    @property
    def is_shown(self) -> bool: ...

    @property
    def is_gone(self) -> bool: ...

    def cells(self, row: int) -> str:
        """The text that stands on the screen in place of one row of the picture."""
        ...


class PictureCanvas(Protocol):
    """A terminal that may draw pictures, given as PNG or, where `sixels` is not 0, as pixels. Threads use it."""

    is_open: bool  # pictures can be placed
    sixels: int  # colours of sixels, where these are what it takes

    @property
    def cell(self) -> Callable[[], tuple[int, int]]: ...  # gives the pixels of a cell, side by side and in height

    def place(self, png: bytes, pixels: int, columns: int, rows: int) -> PlacedPicture | None: ...

    def place_sixels(self, picture: Pixels, small: Pixels) -> PlacedPicture | None: ...
