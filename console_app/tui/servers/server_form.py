"""A small form for one server: its name, its command or address, and lines of environment or headers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input, Static, TextArea

from console_app.config.servers import Typed
from console_app.domain import one_line, safe_text, visible
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.hinted_input import HintedInput
from console_app.tui.widgets.key_hints import KeyHints


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
        """Say what the fields mean."""
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
