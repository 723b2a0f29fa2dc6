"""A server's form: its message, a widget a field, and the three answers that the protocol knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from console_app.console.talk.question_queue import PendingQuestion, Reply
from console_app.domain.questions import Elicitation, ElicitationAnswer
from console_app.domain.schema.forms import fields_asked
from console_app.tui.forms.field_widget import LEFT_OUT, FieldWidget
from console_app.tui.forms.field_widgets import widget_for
from console_app.tui.questions.view import AskedView, message_of

MOST_FIELDS = 60  # past them only those that have to be filled in
A_TIME = 6  # fields that are mounted together
ROOMY = 14  # lines, below which the empty ones between fields are left out


class FormView(AskedView):
    """The fields hold what the schema proposes; nothing else is filled in."""

    # The same sheet as the forms in dialogs, here on the board: a few lines where those have a dialog around them.
    SCOPED_CSS = False
    DEFAULT_CSS = (
        (Path(__file__).parents[1] / "forms" / "form.tcss").read_text(encoding="utf-8")
        + """
    FormView.form .label { margin: 1 1 0 0; }
    FormView.form.-tight .label { margin-top: 0; }
    FormView.form .problem { margin: 0; }
    FormView Input { height: 1; padding: 0 1; border: none; }
    FormView ChoiceLine, FormView CheckList { margin: 0; }
    FormView Input:focus { border: none; background-tint: $foreground 0%; }
    FormView Input > .input--placeholder { color: $muted; }
    """
    )

    wants = "asks you"
    choices = (("y", "accept"), ("n", "decline"), ("x", "cancel"))

    def __init__(self, asked: PendingQuestion, question: Elicitation) -> None:
        super().__init__(asked)
        self.add_class("form")
        self._question = question
        asked_for = fields_asked(question.schema)
        self._fields = [one for place, one in enumerate(asked_for) if place < MOST_FIELDS or one.required]
        self._left_out = len(asked_for) - len(self._fields)
        self._widgets: list[FieldWidget] = []

    def compose(self) -> ComposeResult:
        """The message; the fields come after it."""
        with VerticalScroll(can_focus=False):
            yield Static(message_of(self._question.message))
            if self._left_out:
                yield Static(f"{self._left_out:,} more optional fields aren't shown.", classes="note")

    def on_mount(self) -> None:
        """The first fields at once, the others a few at a time, so that keys pass between."""
        self._more_fields()

    def _more_fields(self) -> None:
        there = len(self._widgets)
        fresh = [
            widget_for(field, LEFT_OUT if field.default is None else field.default, label=field.title)
            for field in self._fields[there : there + A_TIME]
        ]
        if fresh and self.is_attached:
            self._widgets += fresh
            self.body.mount(*fresh)
            self.call_after_refresh(self._more_fields)

    @on(Input.Changed)
    def _typed(self) -> None:
        """What is wrong stands below the field: it comes into view with it."""
        wrong = next((widget for widget in self._widgets if widget.problem and widget.has_focus_within), None)
        if wrong is not None:
            self.call_after_refresh(wrong.scroll_visible, animate=False)

    @property
    def is_ready(self) -> bool:
        return len(self._widgets) == len(self._fields) and all(widget.is_mounted for widget in self._widgets)

    def reply(self, key: str) -> Reply | None:
        """`y` only with values that fit; else the cursor goes to what is wrong."""
        match key:
            case "n":
                return ElicitationAnswer("decline")
            case "x":
                return ElicitationAnswer("cancel")
            case _:
                return self._filled_in()

    def _filled_in(self) -> ElicitationAnswer | None:
        if not self.is_ready:
            return None
        values: dict[str, Any] = {widget.field.name: widget.read() for widget in self._widgets}
        wrong = next((found for widget in self._widgets if (found := widget.first_problem())), None)
        if wrong is not None:
            wrong.focus_control()
            self.call_after_refresh(wrong.scroll_visible, animate=False)  # its problem has a line of its own now
            return None
        return ElicitationAnswer("accept", {name: value for name, value in values.items() if value is not LEFT_OUT})

    def lay_out(self, width: int, room: int) -> None:
        """Where there is little room, fields stand close together."""
        super().lay_out(width, room)
        self.set_class(room < ROOMY, "-tight")

    @property
    def can_enter(self) -> bool:
        return bool(self._fields)

    def enter(self) -> None:
        if self.is_ready and self._widgets:
            self._widgets[0].focus_control()
