"""Look for words in the whole conversation (Ctrl+F, /find), in a line above the prompt while it is open.

Typing finds. Enter goes on with n and N in the conversation, on the panel of the match. Escape closes the bar.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from console_app.tui.lineview import ConversationView, Finder
from console_app.tui.widgets.key_hints import KeyHints

RECOUNT = 0.5  # seconds between two looks at what came while it is open
OTHERS, GO, CLOSE = "↑↓ other matches", "enter go there", "esc close"
OTHERS_THERE = "n N other matches"  # once you went there
WORDS_ROOM = 32  # cells that the words have before the keys: of these, what there is room for is named


class FindBar(Horizontal):
    DEFAULT_CSS = """
    FindBar { height: 1; padding: 0 1; background: $panel; display: none; }
    FindBar.-open { display: block; }
    FindBar > Static { width: auto; }
    FindBar > #find-keys { margin-left: 2; color: $muted; }
    FindBar > Input, FindBar > Input:focus {
        width: 1fr; height: 1; margin: 0 1; padding: 0; border: none; background: $panel;
        background-tint: $foreground 0%;
    }
    FindBar > Input > .input--placeholder { color: $muted; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "screen.close_find", "close", id="find.close", show=False),
        Binding(
            "enter", "settle", "go there", tooltip="to the match, where n and N go on", id="find.settle", show=False
        ),
        Binding("down", "step(1)", "next", tooltip="next match", id="find.down", show=False),
        Binding("up", "step(-1)", "previous", tooltip="previous match", id="find.up", show=False),
    ]

    def __init__(self, view: ConversationView) -> None:
        super().__init__()
        self._view = view
        self.finder = Finder(view)
        self._from: Widget | None = None  # what had the focus before it opened

    def search(self, view: ConversationView) -> None:
        self.close()
        self._view, self.finder = view, Finder(view)

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("Find", "bold $primary"))
        yield Input(placeholder="in the whole conversation, results too")
        yield Static(id="found")
        yield Static(id="find-keys")

    @on(events.Resize)
    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _name_keys(self) -> None:
        """Name the keys that go on from where the focus is, fewer where the words need the room."""
        here = self.has_focus_within
        finder = self.finder
        several = [OTHERS if here else OTHERS_THERE] if finder.total - bool(finder.place) else []
        keys = " · ".join([*several, *([GO] if here and finder.place else []), CLOSE])
        self.query_one("#find-keys", Static).update(KeyHints.fitted(keys, self.size.width - WORDS_ROOM))

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def open(self, words: str = "") -> None:
        """Open the bar with `words`, or with the words from before, which typing replaces."""
        if not self.is_open:
            self._from = self.screen.focused
        self.add_class("-open")
        self._recounting.resume()
        field = self.query_one(Input)
        if words:
            field.value = words
        field.focus()
        field.select_all()
        self._look(field.value)

    def on_mount(self) -> None:
        self._recounting = self.set_interval(RECOUNT, self._recount, pause=True)

    def _recount(self) -> None:
        if not self.finder.is_counted:
            self._then_tell(self.finder.recount, "count")

    def _then_tell(self, search: Callable[[], Awaitable[object]], group: str = "find") -> None:
        async def run() -> None:
            await search()
            self._tell()

        self.run_worker(run, group=group, exclusive=True)

    def close(self) -> bool:
        """Close the bar; the view stays where it is. Return whether a panel had the focus before, and has it again."""
        self._recounting.pause()
        self.finder.close()
        self.remove_class("-open")
        if self._from is self._view:
            self.screen.set_focus(self._view)
        return self._from is self._view

    @on(Input.Submitted)
    def action_settle(self) -> None:
        if self.finder.place:
            self.screen.set_focus(self._view)  # not `focus`, which comes later, and shows where its block begins
            self._view.call_later(self.finder.show)

    def action_step(self, delta: int) -> None:
        self._then_tell(partial(self.finder.step, delta))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if self.is_open:
            self._look(event.value)

    def _look(self, words: str) -> None:
        self._then_tell(partial(self.finder.look_for, words))

    def _tell(self) -> None:
        finder = self.finder
        if finder.total:
            said = Content.styled(f"{finder.place:,} of {finder.total:,}", "bold $foreground")
        else:
            said = Content.styled("nothing found" if finder.words.strip() else "", "$muted")
        self.query_one("#found", Static).update(said)
        self._name_keys()
