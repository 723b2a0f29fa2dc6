"""Show who may run what: the mode, and every rule with what it matches and where it was written; add and remove
rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from console_app.console import PermissionRow, Permissions
from console_app.domain import one_line
from console_app.domain import rules as written
from console_app.engine import Action
from console_app.tui.asking.mode_switch import ModeSwitch
from console_app.tui.widgets.dialog import Dialog, HintedInput

_STYLES: dict[str, str] = {"deny": "bold $error", "ask": "bold $warning", "allow": "bold $success"}
_ACTIONS: dict[str, Action] = {"allow": "allow", "ask": "ask", "deny": "deny"}
KEYS = "a add for session · A permanently · m mode · d remove · esc close"


class PermissionsScreen(Dialog[None]):
    """The rules in force. `changed` is called when a rule or the mode has changed."""

    DEFAULT_CSS = """
    PermissionsScreen > #box { max-width: 140; }
    PermissionsScreen #mode { margin: 0 1; }
    PermissionsScreen Input { display: none; margin-top: 1; }
    PermissionsScreen.-adding Input { display: block; }
    """
    AUTO_FOCUS = "OptionList"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close", id="permissions.close"),
        Binding("a", "add('session')", "add a rule for this session", id="permissions.add"),
        Binding("A", "add('always')", "add a rule to your configuration", id="permissions.add_always"),
        Binding("d,delete", "remove", "remove the rule", id="permissions.remove"),
        Binding("m", "mode", "next mode", id="permissions.mode"),
        Binding("j", "focused.cursor_down", "next rule", id="permissions.next", show=False),
        Binding("k", "focused.cursor_up", "previous rule", id="permissions.previous", show=False),
    ]

    def __init__(self, permissions: Permissions, modes: ModeSwitch, changed: Callable[[], None]) -> None:
        super().__init__()
        self._modes = modes
        self._permissions = permissions
        self._changed = changed
        self._rows: list[PermissionRow] = []
        self._keep = False

    def compose(self) -> ComposeResult:
        with self.box("Permissions", KEYS):
            yield Static(id="mode")
            yield OptionList(markup=False)
            yield HintedInput(hint="allow SERVER.TOOL · deny files.* · ask files.write_file(path=docs/*)")
            yield Static(classes="dialog--note")

    def on_mount(self) -> None:
        self._modes.on_change = self._mode_changed
        self._fill()

    def on_unmount(self) -> None:
        self._modes.on_change = lambda: None

    def action_add(self, how: str) -> None:
        self._keep = how == "always"
        self.add_class("-adding")
        self.query_one(Input).focus()
        self._note("Saved in your settings." if self._keep else "For this session only.")

    def action_remove(self) -> None:
        """d: out of force; a rule of yours out of your configuration too."""
        at = self.query_one(OptionList).highlighted
        if at is None or at >= len(self._rows):
            return
        row = self._rows[at]
        if row.rule is None:
            self._note("mcp.json asks for this tool: take it out of require_approval there.")
        elif row.source.startswith("project"):
            self._note(f"A rule of the project is changed in its file: {one_line(row.rule.source, 200)}")
        elif self._permissions.remove_rule(row.rule):
            self._note("Removed." if row.lasting else "Removed until you leave: the next start has it again.")
            self._fill()
            self._changed()

    def action_mode(self) -> None:
        self._modes.next()

    def _mode_changed(self) -> None:
        self._fill()
        self._changed()

    def action_leave(self) -> None:
        if self.has_class("-adding"):
            self._stop_adding()
        else:
            self.dismiss(None)

    @on(Input.Submitted)
    def _added(self, event: Input.Submitted) -> None:
        word, _, text = event.value.strip().partition(" ")
        action = _ACTIONS.get(word)
        if action is None:
            self._note("A rule begins with allow, ask or deny, as in: allow files.read_*", wrong=True)
            return
        try:
            text = str(written.parse_rule(text))
        except ValueError as error:
            self._note(str(error), wrong=True)
            return
        if self._permissions.add_rule(action, text, keep=self._keep):
            self._stop_adding()
            self._fill()
            self._permissions.reconsider()
            self._changed()
        else:
            self._note("It could not be written; the conversation says why.", wrong=True)

    def _stop_adding(self) -> None:
        self.query_one(Input).value = ""
        self.remove_class("-adding")
        self._note("")
        self.query_one(OptionList).focus()

    def _note(self, text: str, *, wrong: bool = False) -> None:
        self.query_one(".dialog--note", Static).update(Content.styled(text, "$error" if wrong else "$muted"))

    def _fill(self) -> None:
        mode = self._modes.shown
        self.query_one("#mode", Static).update(
            self._modes.strip(mode) + Content.styled(f"  {self._permissions.MODES[mode]}", "$muted")
        )
        self._rows = self._permissions.rows()
        options = self.query_one(OptionList)
        at = options.highlighted
        options.clear_options()
        rule = min(max((len(row.text) for row in self._rows), default=0), 44)
        source = min(max((len(row.source) for row in self._rows), default=0), 28)
        options.add_options(Option(_line(row, rule, source)) for row in self._rows)
        if not self._rows:
            options.add_option(Option(Content.styled("No rules: the mode alone decides.", "$muted"), disabled=True))
        elif at is not None:
            options.highlighted = min(at, len(self._rows) - 1)


def _line(row: PermissionRow, rule: int, source: int) -> Content:
    line = Content.styled(f"{row.action:<5}  ", _STYLES[row.action])
    line += Content.styled(f"{one_line(row.text, 60):<{rule}}", "$foreground")
    line += Content.styled(f"  {row.source:<{source}}  ", "$muted")
    return line + Content.styled(row.matches, "$muted")
