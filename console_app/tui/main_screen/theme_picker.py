"""Picks a theme, showing each as you move; leaving puts back the one you had."""

from __future__ import annotations

from collections.abc import Sequence

from textual import getters

from console_app.tui.themes import LoadedTheme
from console_app.tui.widgets.pick_list import Choice, PickList
from console_app.tui.widgets.typed_app import typed_app


class ThemePicker(PickList):
    """The result is a theme's name; the app already wears it."""

    app = getters.app(typed_app)

    def __init__(self, themes: Sequence[LoadedTheme], current: str) -> None:
        super().__init__(
            "Theme", [Choice(theme.theme.name, theme.about) for theme in themes], current=current, hint="type to search"
        )
        self._before = current

    def highlighted(self, choice: Choice | None) -> None:
        """Wears the highlighted theme."""
        if choice is not None and self.app.theme != choice.value:
            self.app.theme = choice.value

    def action_leave(self) -> None:
        """Escape: as before."""
        self.app.theme = self._before
        super().action_leave()
