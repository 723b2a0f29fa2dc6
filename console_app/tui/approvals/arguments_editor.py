"""A form for the arguments of a call: their JSON, checked against the tool's schema with every key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.types import CSSPathType
from textual.widgets import Static, TextArea

from console_app.domain.safe_text import one_line, visible
from console_app.tui.widgets.settled_keys import SETTLE

MOST_LISTED = 12  # arguments of the tool that are named beside the text

Check = Callable[[str], dict[str, Any]]


class ArgumentsEditor(ModalScreen[dict[str, Any] | None]):
    """The result is what `check` made of the text, or None when it was left.

    `check` raises ValueError with what is wrong, in one sentence; what is wrong can't be accepted.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = ["../widgets/dialog.tcss", "arguments_editor.tcss"]
    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "TextArea"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", id="arguments.back", priority=True),
        Binding("ctrl+s", "accept", "run with these", id="arguments.accept", priority=True),
    ]

    def __init__(
        self,
        title: str,
        arguments: Mapping[str, Any],
        schema: Mapping[str, Any],
        check: Check,
        *,
        accept: str = "run with these",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = written(arguments)
        self._schema = schema
        self._check = check
        self._accept = accept
        self._clock = clock
        self._opened_at = clock()

    def compose(self) -> ComposeResult:
        """The text, what is wrong with it, and what the tool takes."""
        with Vertical(id="box") as dialog:
            dialog.border_title = self._title
            dialog.border_subtitle = f"ctrl+s {self._accept} · esc back"
            yield TextArea(self._text, show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False)
            yield Static(classes="arguments--verdict")
            yield Static(Content("\n").join(schema_lines(self._schema)), classes="arguments--schema")

    def on_mount(self) -> None:
        """The cursor at the start; the verdict on what is there."""
        self._judge()

    @on(TextArea.Changed)
    def _typed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._judge()

    def action_accept(self) -> None:
        """Ctrl+S: only what is right, and not by a key that was pressed before the form was there."""
        if self._clock() - self._opened_at < SETTLE:
            return
        if (arguments := self._judge()) is not None:
            self.dismiss(arguments)

    def action_leave(self) -> None:
        """Escape."""
        self.dismiss(None)

    def _judge(self) -> dict[str, Any] | None:
        text = self.query_one(TextArea).text
        verdict = self.query_one(".arguments--verdict", Static)
        try:
            arguments = self._check(text)
        except ValueError as error:
            verdict.update(Content.styled(f"✗ {one_line(str(error), 300)}", "$error"))
            return None
        changed = "changed; the model is told" if text != self._text else "unchanged"
        verdict.update(Content.styled("✓ ", "$success") + Content.styled(f"valid · {changed}", "$muted"))
        return arguments


def written(arguments: Mapping[str, Any]) -> str:
    """Arguments as JSON to edit: what can't be seen stands as an escape, so that it survives editing."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    if text == visible(text):
        return text
    return "".join(character if character == visible(character) else json.dumps(character)[1:-1] for character in text)


def schema_lines(schema: Mapping[str, Any]) -> list[Content]:
    """A line an argument of the tool: its name, type, whether it must be there, and what it is for."""
    properties = schema.get("properties")
    known = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
    listed: Any = schema.get("required")
    required = cast("list[Any]", listed) if isinstance(listed, list) else []
    widest = min(max((len(one_line(name, 24)) for name in known), default=0), 24)
    lines: list[Content] = []
    for name, declared in list(known.items())[:MOST_LISTED]:
        rule = cast("dict[str, Any]", declared) if isinstance(declared, dict) else {}
        kind = one_line(str(rule.get("type", "any")), 16) + ("" if name in required else "?")
        line = Content.styled(f"{one_line(name, 24):<{widest}}", "$secondary")
        line += Content.styled(f"  {kind:<9}", "$accent")
        lines.append(line + Content.styled(f"  {one_line(str(rule.get('description', '')), 120)}", "$muted"))
    if len(known) > MOST_LISTED:
        lines.append(Content.styled(f"and {len(known) - MOST_LISTED} more", "$muted"))
    return lines or [Content.styled("The tool says nothing of its arguments.", "$muted")]
