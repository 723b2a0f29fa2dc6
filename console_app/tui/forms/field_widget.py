"""One field of a form as a widget: its name, its control, and what is wrong with what is in it.

Each reads itself (`read`) and shows its problem in its own place, so a form of any depth is widgets in widgets.
"""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from console_app.domain.safe_text import one_line
from console_app.domain.schema.forms import Field


class _LeftOut(Enum):
    LEFT_OUT = "not set"


LEFT_OUT: Final = _LeftOut.LEFT_OUT
"""In place of a value: the field is not sent."""


class FieldWidget(Vertical):
    """One field. `read` gives its value or LEFT_OUT, and shows what is wrong; `problem` is that, "" where it can go."""

    DEFAULT_CSS = """
    FieldWidget { height: auto; }
    """

    def __init__(self, field: Field, value: Any = LEFT_OUT, *, label: str | None = None) -> None:
        super().__init__()
        self.field = field
        self.value = value
        self.problem = ""
        self._label = field.name if label is None else label

    def compose(self) -> ComposeResult:
        """Label, control, problem."""
        if self._label:
            yield Static(self._heading(), classes="label")
        yield from self.control()
        yield Static(classes="problem")

    def _heading(self) -> Content:
        field = self.field
        heading = Content.styled(one_line(self._label, 60), "bold $foreground")
        if field.required:
            heading += Content.styled(" *", "bold $warning")
        about = field.about or (field.title if field.title.casefold() != field.name.casefold() else "")
        heading += Content.styled(f"  {field.type_words}", "not bold $accent")
        return heading + Content.styled(f"  {one_line(about, 300)}", "not bold $muted") if about else heading

    @abstractmethod
    def control(self) -> ComposeResult:
        """The widgets that it is filled in with."""

    @abstractmethod
    def is_blank(self) -> bool:
        """Whether nothing was filled in."""

    @abstractmethod
    def take(self) -> tuple[Any, str]:
        """(value, problem) of what is filled in; only asked when it isn't blank."""

    def read(self) -> Any:
        """The value, or LEFT_OUT; `problem` is set and shown."""
        value, problem = self._blank() if self.is_blank() else self.take()
        self.show_problem(problem)
        return value

    def _blank(self) -> tuple[Any, str]:
        if not self.field.required:
            return LEFT_OUT, ""
        return (None, "") if self.field.nullable else (LEFT_OUT, "required")

    def show_problem(self, problem: str) -> None:
        """Shows what is wrong."""
        self.problem = problem
        line = self.query(".problem").last(Static)
        line.update(Content(f"✗ {one_line(problem, 200)}"))
        line.set_class(bool(problem), "-said")

    def first_problem(self) -> FieldWidget | None:
        """The first field in it that can't go."""
        return self if self.problem else None

    def focus_control(self) -> None:
        """Brings the cursor to where it is filled in."""
        for widget in self.query("*"):
            if widget.focusable:
                widget.focus()
                return
