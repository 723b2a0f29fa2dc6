"""The log of one server: what it wrote to standard error and what it said outside any call, from a level on."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, cast, get_args

from textual.binding import Binding, BindingType

from console_app.console.reports import tail
from console_app.domain import FanoutError, Level, one_line
from console_app.tui.widgets.pick_list import Choice, PickList
from console_app.tui.widgets.text_dialog import TextDialog

LEVELS: tuple[Level, ...] = get_args(Level)
_LINE = re.compile(r"\d\d:\d\d:\d\d \[(\w+)\] ")
_ABOUT = {
    "debug": "everything",
    "info": "what a server says when it is asked for nothing else",
    "warning": "warnings and errors",
    "error": "errors alone",
}


class ServerLogDialog(TextDialog):
    """`set_level` asks the server for lines from a level on; raises FanoutError."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "level", "level", id="log.level")]

    def __init__(self, name: str, path: Path, level: Level, set_level: Callable[[Level], Awaitable[None]]) -> None:
        super().__init__(f"Log of {one_line(name, 40)}", self._filtered, at_end=True, every=0.5)
        self._path = path
        self._level: Level = level
        self._set_level = set_level

    def on_mount(self) -> None:
        self._name_level()
        super().on_mount()

    def _name_level(self) -> None:
        dialog = self.query_one("#box")
        dialog.border_subtitle = f"{self._level} and above · v level · c copy · esc close"

    def _filtered(self) -> str:
        return from_level(tail(self._path), self._level)

    def action_level(self) -> None:
        self.run_worker(self._choose, exclusive=True)

    async def _choose(self) -> None:
        choices = [Choice(level, _ABOUT.get(level, "")) for level in LEVELS]
        note = "The server is told too: lines below it are no longer written."
        picked = await self.app.push_screen_wait(PickList("Log level", choices, current=self._level, note=note))
        if picked is None:
            return
        self._level = cast("Level", picked)
        self._name_level()
        self._show()
        try:
            await self._set_level(self._level)
        except FanoutError as error:
            self.notify(one_line(error.line, 300), severity="warning", markup=False)


def from_level(text: str, level: Level) -> str:
    """Return the lines of a log without those marked as below `level`. Lines without a mark are standard error."""
    least = LEVELS.index(level)
    if not least:
        return text
    lines: list[str] = []
    dropping = False
    for line in text.split("\n"):
        if (marked := _LINE.match(line)) is not None:
            dropping = marked[1] in LEVELS and LEVELS.index(cast("Level", marked[1])) < least
        elif not line.startswith((" ", "\t")):
            dropping = False  # only what is indented goes on from the line above
        if not dropping:
            lines.append(line)
    return "\n".join(lines)
