"""The to-do list above the prompt: what the model plans, to be read at a glance and changed by key.

One line while the screen is low or you folded it, some lines else, the whole list while it has the focus. What you
change is posted as the whole new list; the pane shows it once it has come back as an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from console_app.domain import events as ev
from console_app.domain import one_line
from console_app.records import dataclass
from console_app.tui.asking.key_lines import key_lines

GLANCE = 5  # items shown without the focus
MOST_SHOWN = 10  # with it
HIGH = 34  # lines of a screen on which it needs no folding

_LOOKS = {
    ev.TodoStatus.PENDING: ("○", "to do", "$muted"),
    ev.TodoStatus.IN_PROGRESS: ("◐", "in progress", "$warning"),
    ev.TodoStatus.COMPLETED: ("●", "done", "$success"),
}
_NEXT = {
    ev.TodoStatus.PENDING: ev.TodoStatus.IN_PROGRESS,
    ev.TodoStatus.IN_PROGRESS: ev.TodoStatus.COMPLETED,
    ev.TodoStatus.COMPLETED: ev.TodoStatus.PENDING,
}
_KEYS = (("space", "state"), ("e", "edit"), ("a", "add"), ("d", "delete"), ("o", "fold"), ("esc", "back"))
_WRITING = (("enter", "save"), ("esc", "cancel"))


class TodoPane(Vertical, can_focus=True):
    """Shows `items`; hidden while there are none and it hasn't the focus."""

    DEFAULT_CSS = """
    TodoPane { height: auto; margin: 0 1; padding: 0 2; display: none; }
    TodoPane.-shown { display: block; }
    TodoPane:focus-within { border: round $secondary; border-title-color: $secondary; padding: 0 1; }
    TodoPane > Static { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
    TodoPane > Input {
        display: none; height: 1; border: none; padding: 0; margin: 0 2; background: $background;
    }
    TodoPane.-writing > Input { display: block; }
    TodoPane > Input > .input--placeholder { color: $muted; }
    TodoPane > Input:focus { border: none; background-tint: $foreground 0%; }  /* or it frames nothing */
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "cycle", "next state", id="todo.cycle", show=False),
        Binding("e,enter", "edit", "edit the item", id="todo.edit", show=False),
        Binding("a", "add", "add an item", id="todo.add", show=False),
        Binding("d,delete", "delete", "delete the item", id="todo.delete", show=False),
        Binding("j,down", "move(1)", "next item", id="todo.next", show=False),
        Binding("k,up", "move(-1)", "previous item", id="todo.previous", show=False),
        Binding("o", "fold", "fold to a line", id="todo.fold", show=False),
        Binding("escape", "leave", "back to the prompt", id="todo.leave", show=False),
    ]

    @dataclass
    class Edited(Message):
        items: tuple[ev.TodoItem, ...]

    class Left(Message):
        """Escape: the focus should go back to the prompt."""

    def __init__(self) -> None:
        super().__init__()
        self.items: tuple[ev.TodoItem, ...] = ()
        self._cursor = 0
        self._size_shown = (0, 0)  # its width and the height of the screen, when last looked at
        self._folded = False
        self._adds = False  # what is being written is a new item

    def compose(self) -> ComposeResult:
        yield Static(classes="todo--items")
        yield Input(placeholder="What is to be done", select_on_focus=False)
        yield Static(classes="todo--keys")

    def show(self, items: Sequence[ev.TodoItem]) -> None:
        if self._adds and len(items) > len(self.items):
            self._cursor = len(items) - 1
        self.items, self._adds = tuple(items), False
        self._cursor = min(self._cursor, max(len(items) - 1, 0))
        self.refresh_pane()

    # -- keys

    def action_cycle(self) -> None:
        if self.items:
            item = self.items[self._cursor]
            self._put(item.model_copy(update={"status": _NEXT[item.status]}))

    def action_edit(self) -> None:
        if self.items:
            self._write(self.items[self._cursor].content, adds=False)

    def action_add(self) -> None:
        self._write("", adds=True)

    def action_delete(self) -> None:
        if self.items:
            at = self._cursor
            self.post_message(self.Edited((*self.items[:at], *self.items[at + 1 :])))

    def action_move(self, delta: int) -> None:
        if self.items:
            self._cursor = (self._cursor + delta) % len(self.items)
            self.refresh_pane()

    def action_fold(self) -> None:
        self._folded = True
        self.post_message(self.Left())

    def action_leave(self) -> None:
        if self.has_class("-writing"):
            self._stop_writing()
        else:
            self.post_message(self.Left())

    def open(self) -> None:
        self._folded = False
        self.add_class("-shown")
        self.focus()
        if not self.items:
            self.action_add()
        self.refresh_pane()

    def on_resize(self) -> None:
        if self._size_shown != (size := (self.content_size.width, self.screen.size.height)):
            self._size_shown = size
            self.refresh_pane()

    def on_click(self, event: events.Click) -> None:
        if not self.has_focus:
            self.open()

    @on(Input.Submitted)
    def _written(self, event: Input.Submitted) -> None:
        words = " ".join(event.value.split())
        adds = self._adds
        self._stop_writing()
        if words and adds:
            self._adds = True
            self.post_message(self.Edited((*self.items, ev.TodoItem(content=words))))
        elif words and self.items:
            self._put(self.items[self._cursor].model_copy(update={"content": words}))

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.refresh_pane()

    def on_descendant_blur(self) -> None:
        self.call_later(self.refresh_pane)

    def _put(self, item: ev.TodoItem) -> None:
        at = self._cursor
        self.post_message(self.Edited((*self.items[:at], item, *self.items[at + 1 :])))

    def _write(self, text: str, *, adds: bool) -> None:
        self._adds = adds
        self.add_class("-writing")
        field = self.query_one(Input)
        field.value = text
        field.focus()

    def _stop_writing(self) -> None:
        self._adds = False
        self.remove_class("-writing")
        self.focus()

    # -- painting

    def refresh_pane(self) -> None:
        if not self.is_attached:
            return
        here = self.has_focus or self.has_focus_within
        self.set_class(bool(self.items) or here, "-shown")
        done = sum(item.status is ev.TodoStatus.COMPLETED for item in self.items)
        self.border_title = f"To-do · {done} of {len(self.items)} done" if self.items else "To-do"
        keys = self.query_one(".todo--keys", Static)
        keys.display = here
        pairs = _WRITING if self.has_class("-writing") else _KEYS
        lines = key_lines(pairs, max(self.content_size.width, 20), accent="$secondary", counts=True)
        keys.update(Content("\n").join(lines))
        self.query_one(".todo--items", Static).update(Content("\n").join(self._lines(here, done)))

    def _lines(self, here: bool, done: int) -> list[Content]:
        if not here and (self._folded or self.screen.size.height < HIGH):
            return [self._one_line(done)]
        most = MOST_SHOWN if here else GLANCE
        at = self._cursor if here else self._now
        first = max(min(at - most // 2, len(self.items) - most), 0)
        lines = [_item(item, here and n == self._cursor) for n, item in enumerate(self.items)][first : first + most]
        if not here:
            head = Content.styled("To-do", "bold $secondary")
            more = f"  {done} of {len(self.items)} done" + (" · /todo shows all" if len(self.items) > most else "")
            return [head + Content.styled(more, "$muted"), *lines]
        return lines or [Content.styled("Nothing to do yet.", "$muted")]

    @property
    def _now(self) -> int:
        """The item that is being worked on, else the first that is not done."""
        wanted = (ev.TodoStatus.IN_PROGRESS, ev.TodoStatus.PENDING)
        found = (n for status in wanted for n, item in enumerate(self.items) if item.status is status)
        return next(found, max(len(self.items) - 1, 0))

    def _one_line(self, done: int) -> Content:
        line = Content.styled("To-do", "bold $secondary")
        line += Content.styled(f"  {done} of {len(self.items)} done", "$muted")
        if done < len(self.items):
            glyph, word, style = _LOOKS[self.items[self._now].status]
            line += Content.styled(f"  {glyph} {word}  ", style)
            line += Content.styled(one_line(self.items[self._now].content, 120), "$foreground")
        return line


def _item(item: ev.TodoItem, selected: bool) -> Content:
    glyph, word, style = _LOOKS[item.status]
    line = Content.styled("▸ " if selected else "  ", "bold $secondary")
    line += Content.styled(f"{glyph} {word:<11}  ", style)
    done = item.status is ev.TodoStatus.COMPLETED
    return line + Content.styled(
        one_line(item.content, 200), "bold $foreground" if selected else "$muted" if done else "$foreground"
    )
