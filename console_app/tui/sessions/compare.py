"""Two conversations side by side, where there is room; else one after the other, with a key between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from console_app.domain import Event, one_line
from console_app.domain.transcript import CallView, Transcript
from console_app.tui.lineview import CallBlock, ConversationView, EventRouter
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.text_dialog import TextDialog

WIDE = 120  # cells from which two columns stand side by side


class ReadView(ConversationView):
    """A conversation that is only read: no key acts on its calls."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        acts = ("call", "menu", "files", "copy", "filter", "failed")
        return action not in acts and super().check_action(action, parameters)


class Column(Vertical):
    """Shows one of the two conversations below its title."""

    def __init__(self, title: str, happened: Sequence[Event]) -> None:
        super().__init__()
        self._title = title
        self._happened = happened
        self.view = ReadView()
        self.transcript = Transcript()
        self._router = EventRouter(self.view, self.transcript)

    def compose(self) -> ComposeResult:
        yield Static(one_line(self._title, 200), markup=False)
        yield self.view

    async def load(self) -> None:
        await self._router.show_all(self._happened)

    def reveal(self, call: CallView) -> None:
        for block in self.view.blocks:
            if isinstance(block, CallBlock) and block.call is call:
                self.view.reveal(block)


class CompareScreen(Screen[None]):
    """Shows a pair of conversations, both at the first call that differs."""

    DEFAULT_CSS = """
    CompareScreen { background: $background; }
    CompareScreen > Horizontal { height: 1fr; }
    CompareScreen Column { width: 1fr; }
    CompareScreen Column > Static { height: 1; padding: 0 1; background: $panel; color: $muted; text-wrap: nowrap; }
    CompareScreen Column.-shown > Static { color: $foreground; text-style: bold; }
    CompareScreen.-narrow Column { display: none; }
    CompareScreen.-narrow Column.-shown { display: block; }
    """
    AUTO_FOCUS = ""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab", "other", "the other one", id="compare.other", priority=True),
        Binding(
            "d",
            "differences",
            "differences",
            tooltip="what differs, call by call",
            id="compare.differences",
            priority=True,
        ),
        Binding("escape,q", "dismiss(None)", "back", id="compare.back", priority=True),
    ]

    def __init__(self, before: tuple[str, Sequence[Event]], now: tuple[str, Sequence[Event]], differences: str) -> None:
        """Each conversation has its title and its events; `differences` says in lines what differs."""
        super().__init__()
        self._columns = Column(f"1 · {before[0]}", before[1]), Column(f"2 · this one · {now[0]}", now[1])
        self._differences = differences

    def compose(self) -> ComposeResult:
        yield Horizontal(*self._columns)
        yield KeyHints()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("find_step", "copy_part", "close_find", "command")

    async def on_mount(self) -> None:
        self._show(self._columns[1])
        for column in self._columns:
            await column.load()
        one, other = ([call for turn in column.transcript.turns for call in turn.calls] for column in self._columns)
        facts = ("name", "arguments", "content", "by_user")
        pairs = zip(one, other, strict=False)
        part = next((pair for pair in pairs if any(getattr(pair[0], of) != getattr(pair[1], of) for of in facts)), ())
        for column, call in zip(self._columns, part, strict=False):
            column.reveal(call)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < WIDE, "-narrow")

    def action_other(self) -> None:
        self._show(next(one for one in self._columns if not one.has_class("-shown")))

    def _show(self, column: Column) -> None:
        for one in self._columns:
            one.set_class(one is column, "-shown")
        column.view.focus()

    def action_differences(self) -> None:
        dialog = TextDialog("Differences", lambda: self._differences)
        self.app.push_screen(dialog)  # pyright: ignore[reportUnknownMemberType]
