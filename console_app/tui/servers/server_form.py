"""A small form for one server: its name, its command or address, and lines of environment or headers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input, Static, TextArea

from console_app.config.servers import Typed
from console_app.console.reports import tail
from console_app.domain import FanoutError, Level, one_line, safe_text, visible
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.hinted_input import HintedInput
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.pick_list import Choice, PickList
from console_app.tui.widgets.text_dialog import TextDialog


class ServerForm(Dialog[tuple[str, dict[str, Any]] | None]):
    """Gives (name, entry for mcp.json), or None for Escape. The name of a server that is there can't be changed."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../widgets/dialog.tcss", "../forms/form.tcss"]
    DEFAULT_CLASSES = "dialog form"
    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="server_form.save", priority=True),
        Binding("tab", "app.focus_next", "next field", id="server_form.next", priority=True),
        Binding("escape", "leave", "back", id="server_form.back"),
    ]

    def __init__(self, name: str, written: Mapping[str, Any], taken: set[str], file: Path) -> None:
        super().__init__()
        self._server = name
        self._written = written
        self._taken = taken
        self._file = file
        self._first = Typed.of(name, written)
        self._tried = False

    def compose(self) -> ComposeResult:
        """Lay out the fields, each with what is wrong with it."""
        with Vertical(id="box") as dialog:
            dialog.border_title = "Change a server" if self._server else "Add a server"
            dialog.border_subtitle = Content(one_line(str(self._file), 60))  # pyright: ignore[reportAttributeAccessIssue]
            yield Static("Name", classes="label")
            yield Input(
                visible(self._first.name),
                id="name",
                disabled=bool(self._server),
                placeholder="server name",
                select_on_focus=False,
            )
            yield Static(classes="problem", id="name-problem")
            yield Static("Command or address", classes="label")
            yield HintedInput(
                self._first.target,
                id="target",
                hint="npx -y some-server   or   https://example.org/mcp",
                select_on_focus=False,
            )
            yield Static(classes="problem", id="target-problem")
            yield Static(classes="note", id="explained")
            yield Static(Content("Environment or headers, NAME=value a line; ${VAR} is filled in"), classes="label")
            yield TextArea(self._first.lines, id="lines", compact=True)
            yield Static(classes="problem", id="lines-problem")
            yield KeyHints()

    def on_mount(self) -> None:
        if self._server:
            self.query_one("#target", Input).focus()
        self._tell()

    @property
    def _typed(self) -> Typed:
        return Typed(
            self._server or self.query_one("#name", Input).value.strip(),
            self.query_one("#target", Input).value,
            self.query_one("#lines", TextArea).text,
        )

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._tell()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    def _tell(self) -> dict[str, str]:
        typed = self._typed
        wrong = typed.problems(self._taken)
        if not safe_text.is_safe(typed.name):
            wrong.setdefault("name", "has characters that can't be seen")
        for field in ("name", "target", "lines"):
            # Before the first try a field that is still empty is no mistake.
            text = wrong.get(field, "") if self._tried or wrong.get(field, "")[:9] != "is needed" else ""
            line = self.query_one(f"#{field}-problem", Static)
            line.update(Content(f"✗ {text}"))
            line.set_class(bool(text), "-said")
        self.query_one("#explained", Static).update(Content(one_line(typed.explained(), 300)))
        return wrong

    def action_save(self) -> None:
        """Ctrl+S, or Enter in a field."""
        self._tried = True
        wrong = self._tell()
        if wrong:
            self.query_one(f"#{next(iter(wrong))}").focus()
        else:
            typed = self._typed
            self.dismiss((typed.name, typed.fields(self._written)))

    def action_leave(self) -> None:
        self.dismiss(None)


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
