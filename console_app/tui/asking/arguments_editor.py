"""The arguments of a call, changed in a form made from the tool's schema, or as JSON; checked with every key.

The form comes first where it can say exactly what the arguments say; F2 goes between the two with what is filled in.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from console_app.domain import CallState, ToolSpec, call_description, one_line, visible
from console_app.domain import schema as json_schema
from console_app.domain.schema import forms
from console_app.domain.transcript import CallView, results
from console_app.engine import ApprovalGate
from console_app.tui.asking.field_widgets import CheckList, ChoiceLine, ObjectWidget
from console_app.tui.asking.settled_keys import DisplayedEnd, Moved, place, tell_moves
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints

MOST_LISTED = 12  # arguments of the tool that are named beside the text

Check = Callable[[str], dict[str, Any]]

RESULT = "result"  # the name of the field


class ArgumentsEditor(Dialog[dict[str, Any] | None], sheets=("form.tcss", "arguments_editor.tcss")):
    """Gives the arguments that `check` made of the edited JSON, or None when it was left. `check` raises ValueError
    with the fault in one sentence; such arguments can't be accepted."""

    DEFAULT_CLASSES = "dialog form -tall"
    AUTO_FOCUS = None  # of the form or the text, whichever is there

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", id="arguments.back", priority=True),
        Binding("ctrl+s", "accept", "run with these", id="arguments.accept", priority=True),
        Binding("f3", "result", "its result", tooltip="change the result instead", id="arguments.result"),
        Binding("f2", "json", "form/JSON", tooltip="fill in the form, or write JSON", id="arguments.json"),
        Binding("tab", "app.focus_next", "next field", id="arguments.next", show=False),
        Binding("shift+tab", "app.focus_previous", "field before", id="arguments.previous", show=False),
    ]

    def __init__(
        self,
        title: str,
        arguments: Mapping[str, Any],
        schema: Mapping[str, Any],
        check: Check,
        *,
        accept: str = "run with these",
        result: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """F3 leaves for the `result` where there is one, which `wants_result` tells."""
        super().__init__()
        self._title = title
        self._arguments = dict(arguments)
        self._schema = schema
        self._check = check
        self._accept = accept
        self._result = result
        self.wants_result = False
        self._clock = clock
        self._opened_at = clock()
        self._end = DisplayedEnd()  # of the form or the text
        self._form: ObjectWidget | None = None  # None: the text is what counts

    @classmethod
    def of(
        cls, call: CallView, spec: ToolSpec | None, gate: ApprovalGate, *, accept: str, clock: Callable[[], float]
    ) -> ArgumentsEditor:
        """The form; a tool that is gone has no schema, and everything fits it."""

        def check(text: str) -> dict[str, Any]:
            if not text.strip():
                raise ValueError("the arguments are one JSON object; a call without any has {}")
            return gate.edited(spec, text, waits=call.state is CallState.WAITING)

        title, schema = f"Edit the arguments of {one_line(call.label, 60)}", spec.input_schema if spec else {}
        result = not call_description.refusal(call, call_description.Act.RESULT)
        return cls(title, call.arguments or {}, schema, check, accept=accept, result=result, clock=clock)

    @classmethod
    def of_result(cls, call: CallView, clock: Callable[[], float]) -> ArgumentsEditor:
        text = results.shown_text(call)

        def check(written: str) -> dict[str, Any]:
            if (read := json.loads(written))[RESULT] == text:
                raise ValueError("this is the result as it is")
            return read

        field = {"type": "string", "title": "the model reads", "format": "multi-line"}
        schema = {"type": "object", "properties": {RESULT: field}, "required": [RESULT]}
        title = f"Change the result of {one_line(call.label, 60)}"
        return cls(title, {RESULT: text}, schema, check, accept="goes on from it, in a copy", clock=clock)

    def compose(self) -> ComposeResult:
        with self.box(self._title):
            yield VerticalScroll(can_focus=False)
            yield TextArea(
                written(self._arguments), show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False
            )
            yield Static(classes="arguments--verdict")
            yield Static(Content("\n").join(schema_lines(self._schema)), classes="arguments--schema")

    async def on_mount(self) -> None:
        for view in (self.query_one(VerticalScroll), self.query_one("#box > TextArea", TextArea)):
            tell_moves(view)
        if not await self._fill_form(self._arguments):
            self._show(None)
        self._judge()

    async def _fill_form(self, arguments: Mapping[str, Any]) -> bool:
        """Shows them as a form. False, and nothing is shown, where a form would not say the same."""
        place, field = self.query_one(VerticalScroll), forms.form_of(self._schema)
        await place.remove_children()
        if field.kind != "object" or not field.fields:
            return False
        form = ObjectWidget(field, arguments, label="")
        place.display = True  # else it would not be laid out
        await place.mount(form)
        read = form.read()
        if form.first_problem() is not None or not same(read, arguments):
            await form.remove()
            return False
        self._show(form)
        return True

    def _show(self, form: ObjectWidget | None) -> None:
        self._form = form
        area = self.query_one("#box > TextArea", TextArea)
        self.query_one(VerticalScroll).display = form is not None
        area.display = self.query_one(".arguments--schema").display = form is None
        if form is None:
            area.focus()
        else:
            self.set_focus(self.focus_chain[0], scroll_visible=False)  # its label stays in view
        self._say_place()

    @property
    def _scrolls(self) -> Widget:
        return self.query_one("#box > TextArea" if self._form is None else VerticalScroll)

    @on(Moved)
    def _moved(self) -> None:
        self.call_after_refresh(self._say_place)

    def _say_place(self) -> None:
        key = "enter" if self._is_one_line else "ctrl+s"
        said = f"{hidden} · " if (hidden := place(self._scrolls)) else ""
        other = " · f3 its result" if self._result else ""
        self.name_keys(f"{said}{key} {self._accept}{other} · f2 form/JSON · esc back")
        if self.is_current:
            self._end.note(self._scrolls)

    @property
    def _is_one_line(self) -> bool:
        """Tell whether a single line is all there is to fill in: Enter runs the call then, as in other forms."""
        fields = self.focus_chain
        return len(fields) == 1 and isinstance(fields[0], Input)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._judge()

    @on(Input.Submitted)
    def _entered(self) -> None:
        if self._is_one_line:
            self.action_accept()
        elif self.focused is self.focus_chain[-1]:
            self._say(Content.styled("The last field: ctrl+s runs it.", "$accent"))
        else:
            self.focus_next()

    async def action_json(self) -> None:
        if self._form is not None:
            if (text := self._form_text(self._form)) is not None:
                self.query_one("#box > TextArea", TextArea).text = text
                self._show(None)
        elif (arguments := self._judge()) is not None and not await self._fill_form(arguments):
            self._say(Content.styled("The tool's form has no place for these: they stay JSON.", "$warning"))

    def action_accept(self) -> None:
        """Accept right arguments that were displayed, by a key that was not pressed before they were there."""
        if self._clock() - self._opened_at < KeyHints.SETTLE:
            return
        if (arguments := self._judge()) is None:
            return
        if self._end.passed(self._scrolls):
            self.dismiss(arguments)
        else:
            self._opened_at = self._clock()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "result" or self._result

    def action_result(self) -> None:
        self.wants_result = True
        self.dismiss(None)

    @on(TextArea.Changed)
    @on(Input.Changed)
    @on(ChoiceLine.Changed)
    @on(CheckList.Changed)
    def _judge(self) -> dict[str, Any] | None:
        text = self.query_one("#box > TextArea", TextArea).text if self._form is None else self._form_text(self._form)
        if text is None:
            return None
        try:
            arguments = self._check(text)
        except ValueError as error:
            self._say(Content.styled(f"✗ {one_line(str(error), 300)}", "$error"))
            return None
        changed = "changed; the model is told" if text != written(self._arguments) else "unchanged"
        self._say(Content.styled("✓ ", "$success") + Content.styled(f"valid · {changed}", "$muted"))
        return arguments

    def _form_text(self, form: ObjectWidget) -> str | None:
        """The form as JSON, in the order of the call while unchanged; None where a field is wrong, which is said."""
        read = form.read()
        if (wrong := form.first_problem()) is not None:
            self._say(Content.styled(f"✗ {one_line(wrong.field.name, 60)}: {one_line(wrong.problem)}", "$error"))
            return None
        return written(self._arguments if same(read, self._arguments) else read)

    def _say(self, verdict: Content) -> None:
        self.query_one(".arguments--verdict", Static).update(verdict)


def same(one: object, other: object) -> bool:
    """Tell whether two values are the same JSON: the order of members doesn't matter, but 1, 1.0 and true differ."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def written(arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON to edit: what can't be seen stands as an escape, so that it survives editing."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    if text == visible(text):
        return text
    return "".join(character if character == visible(character) else json.dumps(character)[1:-1] for character in text)


def schema_lines(schema: json_schema.Schema) -> list[Content]:
    known, needed = json_schema.properties(schema), json_schema.required(schema)
    widest = min(max((len(one_line(name, 24)) for name in known), default=0), 24)
    lines: list[Content] = []
    for name, declared in list(known.items())[:MOST_LISTED]:
        rule = json_schema.as_schema(declared)
        kind = one_line(str(rule.get("type", "any")), 16) + ("" if name in needed else "?")
        line = Content.styled(f"{one_line(name, 24):<{widest}}", "$secondary")
        line += Content.styled(f"  {kind:<9}", "$accent")
        lines.append(line + Content.styled(f"  {one_line(str(rule.get('description', '')), 120)}", "$muted"))
    if len(known) > MOST_LISTED:
        lines.append(Content.styled(f"and {len(known) - MOST_LISTED} more", "$muted"))
    return lines or [Content.styled("The tool says nothing of its arguments.", "$muted")]
