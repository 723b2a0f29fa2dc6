"""Picks the model that answers; any `PROVIDER/MODEL` may be typed, listed or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from console_app.domain.errors import FanoutError
from console_app.tui.screens.pick_list import Choice, PickList


class ModelPicker(PickList):
    """The result is `PROVIDER/MODEL`. The list is asked for while the dialog is open already."""

    def __init__(self, known_models: Callable[[], Awaitable[Sequence[str]]], current: str) -> None:
        super().__init__(
            "Model",
            [Choice(current)],
            current=current,
            hint="type to search, or any PROVIDER/MODEL",
            note="asking what there is…",
            free_text=True,
        )
        self._known_models = known_models
        self._now = current

    def on_mount(self) -> None:
        """Asks in the background."""
        super().on_mount()
        self.run_worker(self._ask(), exclusive=True)

    async def _ask(self) -> None:
        note = "a model that isn't listed can be typed"
        try:
            names = await self._known_models()
        except FanoutError as error:
            names, note = (), error.line
        everything = list(dict.fromkeys([self._now, *names]))
        self.offer([Choice(name) for name in everything], note)
