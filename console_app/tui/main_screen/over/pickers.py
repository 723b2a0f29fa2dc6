"""Pickers of a model and of a theme."""

from __future__ import annotations

from collections.abc import Sequence

from textual import getters

from console_app.console import Models
from console_app.domain import FanoutError
from console_app.tui.themes import LoadedTheme
from console_app.tui.widgets.pick_list import Choice, PickList, best
from console_app.tui.widgets.typed_app import typed_app


class ModelPicker(PickList):
    """The result is `PROVIDER/MODEL`. The list is asked for while the dialog is open already."""

    def __init__(self, models: Models) -> None:
        current = models.name
        super().__init__(
            "Model",
            [Choice(current)] if current else [],
            current=current,
            hint="type to search",
            note="Loading models…",
            free_text=True,
        )
        self._models = models
        self._listed = False
        self._wanted = ""  # typed and entered while the list was not there yet

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._ask, exclusive=True)

    async def _ask(self) -> None:
        note = "Not listed? Type provider/model"
        try:
            names = await self._models.known()
            if self._models.silent:
                first, *more = self._models.silent
                together = f"{first} and {len(more)} more" if more else first
                note = f"No list from {together}: /doctor says why"
        except FanoutError as error:
            names, note = [*filter(None, [self._models.name])], error.line
        self.offer([Choice(name) for name in names], note)
        self._listed = True
        if self._wanted:
            self.dismiss(next(iter(best(self._wanted, names, 1)), self._wanted))

    def typed(self, text: str) -> None:
        """Wait for the list with a part of a name, so that it means a model that there is."""
        if self._listed or "/" in text:
            self.dismiss(text)
        else:
            self._wanted = text
            self.offer([], f"taking the first model like {text} once they are listed · esc cancel")


class ThemePicker(PickList):
    """The result is a theme's name; the app already wears it."""

    app = getters.app(typed_app)

    def __init__(self, themes: Sequence[LoadedTheme], current: str) -> None:
        super().__init__(
            "Theme", [Choice(theme.theme.name, theme.about) for theme in themes], current=current, hint="type to search"
        )
        self._before = current

    def highlighted(self, choice: Choice | None) -> None:
        if choice is not None and self.app.theme != choice.value:
            self.app.theme = choice.value

    def action_leave(self) -> None:
        self.app.theme = self._before
        super().action_leave()
