"""The frame of a dialog that names its keys on its lower edge: what there is room for, and how to leave."""

from __future__ import annotations

from rich.cells import cell_len
from textual.containers import Vertical

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
        """Other keys."""
        self._keys = keys
        self.on_resize()

    def on_resize(self) -> None:
        """The edge is as long as the box is wide."""
        self.border_subtitle = fitted(self._keys, self.outer_size.width - CORNERS)
