"""One running item as the conversation that it is, to be read while it goes on."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from console_app.domain import Event, batch, one_line
from console_app.domain.transcript import Transcript
from console_app.tui.lineview import ConversationView, EventRouter
from console_app.tui.widgets.key_hints import KeyHints


class BatchFeed(Protocol):
    """A run that goes on."""

    def snapshot(self) -> batch.BatchSnapshot:
        """Return the state of the batch as it is now. This is cheap."""
        ...

    def watch(self, item_id: str | None) -> None:
        """Has the app be told the turn events of one running item, its first ones too."""
        ...

    def stop_item(self, item_id: str) -> bool:
        """Stops one item; False when it doesn't run any more."""
        ...

    def stop_all(self) -> None:
        """Stop the run. Items that run now run again another time."""
        ...


class ItemScreen(Screen[None]):
    """Shows the events that `happened` is told. When the item ends, its last state stays."""

    DEFAULT_CSS = """
    ItemScreen { background: $background; }
    ItemScreen > #title { height: 1; padding: 0 1; background: $panel; color: $foreground; text-wrap: nowrap; }
    """
    AUTO_FOCUS = "ConversationView"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "stop", "stop this item", id="batch.stop_item"),
        Binding("escape,q", "leave", "back", id="batch.back", priority=True),
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
        """Nothing is looked for or copied in part here: those keys of the view do nothing, and are not named."""
        return action not in ("find_step", "copy_part", "close_find")

    def on_mount(self) -> None:
        """Have the events of the item sent here from now on."""
        self._feed.watch(self.item_id)

    def on_unmount(self) -> None:
        """Nobody looks any more."""
        self._feed.watch(None)

    def happened(self, event: Event) -> None:
        """An event of its turn."""
        self._router.show(event)

    def ended(self, results: str) -> None:
        """Say that the item has ended, and that its result is in the file `results`."""
        if not self._ended:
            self._ended = True
            where = f"it has ended, its result is in {one_line(results, 60)}"
            self.query_one("#title", Static).update(Content(f"Item {one_line(self.item_id, 60)}: {where}"))

    def action_stop(self) -> None:
        """Ends this item alone."""
        if not self._feed.stop_item(self.item_id):
            self.notify("It doesn't run any more.", markup=False)

    def action_leave(self) -> None:
        """Back to the list."""
        self.dismiss()
