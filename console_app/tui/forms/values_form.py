"""A form of texts that a server asks for: the arguments of a prompt, or the names in a resource template.

What the server proposes for a field appears behind the cursor as it is typed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.suggester import Suggester
from textual.types import CSSPathType
from textual.widgets import Input, Static

from console_app.domain import one_line, safe_text
from console_app.domain import schema as json_schema
from console_app.domain.schema import forms
from console_app.mcp_client import PromptArgument
from console_app.tui.forms.field_widgets import FieldWidget, LineWidget, widget_for
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints

PAUSE = 0.15  # seconds of no typing before the server is asked

Propose = Callable[[str, str, dict[str, str]], Awaitable[Sequence[str]]]
"""(field, what is typed of it, the other fields) to what the server proposes."""


class ValuesForm(Dialog[dict[str, str] | None]):
    """Gives the values that were filled in, those left out left out; None for Escape."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../widgets/dialog.tcss", "form.tcss", "values_form.tcss"]
    DEFAULT_CLASSES = "dialog form"
    AUTO_FOCUS = "Input, TextArea"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "go_on", "go on", id="values.go_on", priority=True),
        Binding("tab", "app.focus_next", "next field", id="values.next", priority=True),
        Binding("shift+tab", "app.focus_previous", "field before", id="values.previous", show=False, priority=True),
        Binding("escape", "leave", "back", id="values.back"),
    ]

    def __init__(
        self,
        title: str,
        about: str,
        arguments: Sequence[PromptArgument],
        initial: Mapping[str, str],
        propose: Propose | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._about = about
        self._propose = propose
        members = {one.name: {"type": "string", "description": one.description} for one in arguments}
        schema = json_schema.object_of(members, [one.name for one in arguments if one.required])
        self._widget: FieldWidget = widget_for(forms.form_of(schema), dict(initial), label="")

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as dialog:
            dialog.border_title = Content(one_line(self._title, 80))  # pyright: ignore[reportAttributeAccessIssue]
            if self._about:
                yield Shortened(one_line(self._about, 600), 4, classes="note", id="about")
            with VerticalScroll(can_focus=False):
                yield self._widget
            yield KeyHints()

    def on_mount(self) -> None:
        if (propose := self._propose) is not None:
            for line in self.query(LineWidget):
                line.query_one(Input).suggester = _Proposals(self, line, propose)
        empty = [line for line in self.query(LineWidget) if line.field.required and line.is_blank()]
        if empty:
            empty[0].focus_control()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_go_on()

    def action_go_on(self) -> None:
        values = self._widget.read()
        wrong = self._widget.first_problem()
        if wrong is not None:
            wrong.focus_control()
            wrong.scroll_visible(animate=False)
        else:
            self.dismiss(cast("dict[str, str]", values))


class _Proposals(Suggester):
    """Suggests the first proposal that continues the typed text, once typing has paused."""

    def __init__(self, form: ValuesForm, line: LineWidget, propose: Propose) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._form, self._line, self._propose = form, line, propose

    async def get_suggestion(self, value: str) -> str | None:
        await asyncio.sleep(PAUSE)
        if self._line.query_one(Input).value != value:
            return None
        others = {
            other.field.name: other.query_one(Input).value
            for other in self._form.query(LineWidget)
            if other is not self._line and not other.is_blank()
        }
        for proposed in await self._propose(self._line.field.name, value, others):
            if proposed.startswith(value) and safe_text.is_safe(proposed) and proposed.isprintable():
                return proposed
        return None


class Shortened(Static):
    """Shows at most `most` lines, the last with an ellipsis where there is more."""

    def __init__(self, text: str, most: int, *, classes: str = "", id: str | None = None) -> None:
        super().__init__(Content(text), classes=classes, id=id)
        self._text, self._most = Content(text), most

    def render(self) -> Content:
        width = self.content_size.width
        if width <= 0:
            return self._text
        lines = self._text.wrap(width)
        if len(lines) <= self._most:
            return self._text
        last = Content(" ").join(line.rstrip() for line in lines[self._most - 1 : self._most + 1])
        return Content("\n").join([*lines[: self._most - 1], last.truncate(width, ellipsis=True)])
