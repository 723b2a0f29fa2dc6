"""The keys of a dialog's list while the focus stays in the field above it."""

from __future__ import annotations

from textual.binding import Binding
from textual.widgets import OptionList


def list_keys(dialog: str) -> list[Binding]:
    """Bindings of `action_move`, whose ids begin with the dialog's name."""
    return [
        Binding("up,ctrl+p", "move(-1)", "up", id=f"{dialog}.up", show=False, priority=True),
        Binding("down,ctrl+n", "move(1)", "down", id=f"{dialog}.down", show=False, priority=True),
        Binding("pageup", "move(-10)", "page up", id=f"{dialog}.page_up", show=False, priority=True),
        Binding("pagedown", "move(10)", "page down", id=f"{dialog}.page_down", show=False, priority=True),
    ]


def move_highlight(options: OptionList, delta: int) -> None:
    """Moves the highlight; single steps go round the ends."""
    if count := options.option_count:
        place = (options.highlighted if options.highlighted is not None else -1) + delta
        options.highlighted = place % count if abs(delta) == 1 else max(0, min(place, count - 1))
