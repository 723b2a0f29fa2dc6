"""The app of a batch in a terminal: how far it is, what runs, what failed. It ends when the batch does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

from rich.style import Style
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import ProgressBar, Static

from console_app.domain import CallState, Event, Outcome, batch, call_description, one_line
from console_app.domain.transcript import Transcript
from console_app.tui.lineview import ConversationView, EventRouter, spinner
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.terminal.key_order import TerminalApp
from console_app.tui.themes import StyleSheet, load_themes
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.row_list import RowList

_ID, _TIME = 24, 12  # cells
_MOST_LANES = 40


class RunningList(RowList):
    """Lists the running items in the order in which they began. The cursor stays on its item while others end."""

    def __init__(self) -> None:
        super().__init__(id="running")
        self._items: Sequence[batch.RunningItem] = ()
        self._now = 0.0

    @property
    def selected(self) -> str | None:
        return self._items[self.cursor].id if 0 <= self.cursor < len(self._items) else None

    def show(self, items: Sequence[batch.RunningItem], now: float) -> None:
        before = self.selected
        self._items, self._now = items, now
        place = next((at for at, item in enumerate(items) if item.id == before), max(self.cursor, 0))
        self.set_count(len(items), place)

    def paint_row(self, row: int, width: int, palette: Palette) -> Line:
        item = self._items[row]
        name = _column(one_line(item.id), _ID, palette.strong)
        took = _column(batch.duration(max(self._now - item.started_at, 0.0)), _TIME, palette.muted)
        pieces: list[Piece] = [*name, *took]
        lanes = item.lanes[-_MOST_LANES:]
        pieces += [_mark(lane, self._now, palette) for lane in lanes]
        open_ones = [lane.label for lane in lanes if lane.state is not CallState.FINISHED]
        what = open_ones[-1] if open_ones else "the model"
        pieces.append((f"{' ' if lanes else ''}{one_line(what)}", palette.base if open_ones else palette.muted))
        return Line.fit(Line.trim(pieces, width), width, palette.base)


def _column(text: str, cells: int, style: Style) -> list[Piece]:
    pieces = Line.trim([(text, style)], cells - 1)
    return [*pieces, (" " * (cells - Line.cells(pieces)), style)]


def _mark(lane: batch.Lane, now: float, palette: Palette) -> Piece:
    sign, outcome = call_description.sign_of(lane.state, lane.outcome), lane.outcome
    if outcome is None:
        return (sign, palette.muted) if sign else (spinner(palette.turning(now)), palette.primary)
    good = palette.success if outcome is Outcome.SUCCEEDED else palette.warning
    return sign, palette.error if outcome.is_error else good


_LOOK = 0.25  # seconds between two looks at the run
_CAUSES = 3
_DEFAULT_THEME = "fanout-dark"


class BatchApp(TerminalApp[None]):
    """Shows a run. `theme_dirs` are where `theme` may be found."""

    CSS = """
    Screen { background: $background; color: $foreground; }
    Toast { background: $panel; color: $foreground; }
    #head { height: auto; padding: 0 1; background: $panel; }
    #head Static { height: 1; text-wrap: nowrap; }
    #bar { padding: 0 1; height: 1; background: $panel; }
    #bar Bar { width: 1fr; }
    #running { margin: 0 1; }
    #causes { height: auto; max-height: 4; padding: 0 1; color: $error; text-wrap: nowrap; }
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "RunningList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", id="batch.open"),
        Binding("s", "stop_item", "stop item", id="batch.stop_item"),
        Binding("q,ctrl+c", "stop_all", "stop all", id="batch.stop_all", priority=True),
    ]

    def __init__(self, feed: BatchFeed, theme: str, theme_dirs: Sequence[Path], *, motion: bool = True) -> None:
        super().__init__()
        self._feed = feed
        themes, _ = load_themes(theme_dirs)
        for entry in themes:
            self.register_theme(entry.theme)
        self.theme = next(name for name in (theme, _DEFAULT_THEME, "textual-dark") if name in self.available_themes)
        self.stylesheet = StyleSheet(variables=self.get_css_variables())
        self.use_motion(motion)
        self._head, self._causes = Static(id="head", markup=False), Static(id="causes", markup=False)
        self._bar = ProgressBar(id="bar", show_eta=False)
        self._list = RunningList()
        self._stopping = False

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._bar
        yield self._list
        yield self._causes
        yield KeyHints()

    def on_mount(self) -> None:
        self._look()
        self.set_interval(self._list.pace(_LOOK), self._look)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        return ()

    def happened(self, item_id: str, event: Event) -> None:
        if self.is_running and isinstance(self.screen, ItemScreen) and self.screen.item_id == item_id:
            self.screen.happened(event)

    def _look(self) -> None:
        if not self.is_running:  # it ends, and its parts may be gone
            return
        now = self._feed.snapshot()
        self._head.update(Content(f"{one_line(now.name, 40)} · {now.line}"))
        self._bar.update(total=max(now.total, 1), progress=now.ended + now.earlier)
        causes = [f"✗ {one.count} {one.status.replace('_', ' ')}: {one.words}" for one in now.causes[:_CAUSES]]
        self._causes.update(Content("\n".join(causes)))
        self._list.show(now.running, now.at)
        shown = self.screen
        if isinstance(shown, ItemScreen) and shown.is_mounted and all(one.id != shown.item_id for one in now.running):
            shown.ended(Path(now.results).name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("open", "stop_item") or len(self.screen_stack) == 1

    def action_open(self) -> None:
        if (item := self._list.selected) is not None:
            self.push_screen(ItemScreen(self._feed, item))

    def action_stop_item(self) -> None:
        if (item := self._list.selected) is not None:
            self._feed.stop_item(item)

    def action_stop_all(self) -> None:
        if self._stopping:
            self._feed.stop_all()
            return
        self._stopping = True
        self.notify("Again to stop the whole batch; the same command goes on with it later.", markup=False, timeout=4)
        self.set_timer(4, partial(setattr, self, "_stopping", False))

    def on_running_list_clicked(self, event: RunningList.Clicked) -> None:
        if event.again:
            self.action_open()


class BatchFeed(Protocol):
    """A run that goes on."""

    def snapshot(self) -> batch.BatchSnapshot:
        """Return the state of the batch as it is now. This is cheap."""
        ...

    def watch(self, item_id: str | None) -> None:
        """Have the app told the turn events of one running item, its first ones too."""

    def stop_item(self, item_id: str) -> bool:
        """Stop one item; False when it doesn't run any more."""
        ...

    def stop_all(self) -> None:
        """Stop the run. Items that run now run again another time."""


class ItemScreen(Screen[None]):
    """Shows the events that `happened` is told. When the item ends, its last state stays."""

    DEFAULT_CSS = """
    ItemScreen { background: $background; }
    ItemScreen > #title { height: 1; padding: 0 1; background: $panel; color: $foreground; text-wrap: nowrap; }
    """
    AUTO_FOCUS = "ConversationView"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", "stop this item", id="batch.stop_item"),
        Binding("escape,q", "dismiss(None)", "back", id="batch.back", priority=True),
    ]

    def __init__(self, feed: BatchFeed, item_id: str) -> None:
        super().__init__()
        self.item_id = item_id
        self._feed = feed
        self._ended = False
        self._view = ConversationView()
        self._router = EventRouter(self._view, Transcript())

    def compose(self) -> ComposeResult:
        yield Static(f"Item {one_line(self.item_id, 60)}", id="title", markup=False)
        yield self._view
        yield KeyHints()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("find_step", "copy_part", "close_find")

    def on_mount(self) -> None:
        self._feed.watch(self.item_id)

    def on_unmount(self) -> None:
        self._feed.watch(None)

    def happened(self, event: Event) -> None:
        self._router.show(event)

    def ended(self, results: str) -> None:
        if not self._ended:
            self._ended = True
            where = f"it has ended, its result is in {one_line(results, 60)}"
            self.query_one("#title", Static).update(Content(f"Item {one_line(self.item_id, 60)}: {where}"))

    def action_stop(self) -> None:
        if not self._feed.stop_item(self.item_id):
            self.notify("It doesn't run any more.", markup=False)
