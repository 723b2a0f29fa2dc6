"""Help, made from the bindings as they are now (after your configuration) and from the command registry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console_app.tui.commands.registry import Command

KEY_CELLS = 34


@dataclass(frozen=True, slots=True)
class KeyRow:
    """Keys that do the same, as people write them, and the ids that bind them anew in `[keys]`."""

    keys: str
    what: str
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class KeySection:
    """The keys of one place, in the order of its bindings."""

    title: str
    rows: Sequence[KeyRow]


class HelpScreen(ModalScreen[None]):
    """Keys by place, then commands."""

    CSS_PATH = "../widgets/dialog.tcss"
    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "VerticalScroll"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark", "leave", "close", id="help.close"),
        Binding("j", "scroll(1)", "down", id="help.down", show=False),
        Binding("k", "scroll(-1)", "up", id="help.up", show=False),
    ]

    def __init__(self, sections: Sequence[KeySection], commands: Iterable[Command]) -> None:
        super().__init__()
        self._sections = sections
        self._commands = list(commands)

    def compose(self) -> ComposeResult:
        """One long text, scrolled."""
        with Vertical(id="box") as box:
            box.border_title = "Help"
            box.border_subtitle = "esc closes"
            with VerticalScroll():
                yield Static(self._text())

    def _text(self) -> Content:
        lines: list[Content] = []
        for section in self._sections:
            lines += [Content.styled(section.title, "bold $primary")]
            lines += [_row(row.keys, row.what) for row in section.rows]
            lines += [Content("")]
        lines += [Content.styled("Commands", "bold $primary")]
        lines += [_row(f"/{command.name} {command.argument}".rstrip(), command.about) for command in self._commands]
        lines += [_row("/server:prompt", "a prompt of a server, with its arguments as words or name=value")]
        lines += [_row("@path", 'attaches a file, picture or folder; @"a name.txt", lines as @path:10-40')]
        lines += [_row("@server:uri", "attaches a resource of a server")]
        return Content("\n").join(lines)

    def action_scroll(self, direction: int) -> None:
        """j, k."""
        self.query_one(VerticalScroll).scroll_relative(y=direction, animate=False)

    def action_leave(self) -> None:
        """Escape."""
        self.dismiss(None)


def _row(keys: str, what: str) -> Content:
    gap = " " * max(KEY_CELLS - len(keys), 2)
    return Content.styled(f"  {keys}", "bold $foreground") + Content.styled(gap + what, "$muted")
