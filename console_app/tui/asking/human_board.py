"""Show the questions of servers above the prompt: one at a time, the oldest first, with its form, page or request.

It answers nothing itself: a reply is posted once its key proved to be meant. Forms are filled in only after a key that
goes into them, so that what is typed ahead lands in no field and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from console_app.console import PendingQuestion, Reply, Services
from console_app.domain import one_line, questions
from console_app.records import dataclass
from console_app.tui.asking.folding_board import FoldingBoard
from console_app.tui.asking.key_lines import KeyLines
from console_app.tui.asking.settled_keys import DisplayedEnd, SettledKeys, place
from console_app.tui.terminal.key_names import writes_text

if TYPE_CHECKING:
    from console_app.tui.asking.question_views import AskedView


class HumanBoard(FoldingBoard):
    DEFAULT_CSS = """
    HumanBoard {
        border: heavy $accent; border-title-color: $accent; border-title-style: bold;
    }
    HumanBoard:blur { border: heavy $accent 60%; }
    HumanBoard > .human--keys { height: auto; margin-top: 1; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "press('y')", "accept, open, allow once", id="asked.yes", show=False),
        Binding("a", "press('a')", "allow for this session", id="asked.session", show=False),
        Binding("n", "press('n')", "decline", id="asked.no", show=False),
        Binding("x", "press('x')", "cancel: no answer", id="asked.cancel", show=False),
        Binding("c", "copy", "copy the address", id="asked.copy", show=False),
        Binding("enter", "enter", "fill in, go on, send", id="asked.enter", show=False),
        Binding("ctrl+s", "send", "accept with what is filled in", id="asked.send", show=False, priority=True),
        Binding("tab", "field(1)", "next field", id="asked.next", show=False),
        Binding("shift+tab", "field(-1)", "field before", id="asked.previous", show=False),
        Binding("j,down", "scroll(1)", "down", id="asked.down", show=False),
        Binding("k,up", "scroll(-1)", "up", id="asked.up", show=False),
        Binding("pagedown,space", "page(1)", "more", id="asked.more", show=False),
        Binding("pageup", "page(-1)", "back", id="asked.back", show=False),
        Binding("escape", "leave", "decide later", id="asked.later", show=False),
    ]

    @dataclass
    class Replied(Message):
        asked: PendingQuestion
        reply: Reply

    @dataclass
    class CopyRequested(Message):
        text: str

    class Closed(Message):
        """Says that the form of a question which is gone was closed."""

    def __init__(self, services: Services, spare: Callable[[], int]) -> None:
        super().__init__(services, spare)
        self.keys = SettledKeys[tuple[PendingQuestion, Reply]](self._timing.now)
        self._engine = services.engine
        self._label: Callable[[str], str] = lambda _call_id: ""
        self._open: list[PendingQuestion] = []
        self._view: AskedView | None = None
        self._end = DisplayedEnd()  # of the view
        self._replied: PendingQuestion | None = None
        self._hidden = False  # something else has the place above the prompt

    def compose(self) -> ComposeResult:
        yield KeyLines(self._timing.now, classes="human--keys")

    # -- what is shown

    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        return [("board.read", "calls"), ("asked.later", "later")]

    @property
    def is_asking(self) -> bool:
        """Tell whether a question is open, or the form of one that is gone is not yet closed."""
        return bool(self._open) or self._withdrawn

    @property
    def is_ready(self) -> bool:
        return self._view is not None and self._view.is_ready

    def show(self, open: Sequence[PendingQuestion], label: Callable[[str], str], *, hidden: bool = False) -> None:
        """The open questions, the oldest first. `label` names the call of an id, "" where there is none."""
        self._open, self._label = list(open), label
        current = self._view.asked if self._view is not None else None
        if current is not None and current not in self._open and not self._withdrawn:
            self._gone(current)
        if self._view is None and self._open:
            from console_app.tui.asking.question_views import view_of  # 50 ms, with the forms: not at the start

            self._put(view_of(self._open[0], self._engine.provider.model))
        self._hidden = hidden
        self.set_class(self.is_asking and not hidden, "-asking")
        self._keep_time()
        self._paint()

    @property
    def _shown(self) -> AskedView | None:
        return self._view if self._view is not None and self._view.is_mounted else None

    @property
    def _withdrawn(self) -> bool:
        return self._view is not None and self._view.withdrawn

    def _gone(self, asked: PendingQuestion) -> None:
        """Take a question away that isn't open any more: you answered it, or its call has ended under your hands."""
        from console_app.tui.asking.question_views import WithdrawnView

        inside = self._is_in_a_field
        self._drop()
        if inside and asked is not self._replied:
            self._put(WithdrawnView(asked))

    def _put(self, view: AskedView) -> None:
        self._view, self._end = view, DisplayedEnd()
        self.border_title = ""  # a heading is only ever painted over the question it belongs to
        self.mount(view, before=0)
        self.keys.changed()
        self.call_after_refresh(self._paint)

    def _drop(self) -> None:
        if self._view is not None:
            if self._is_in_a_field:
                self.screen.set_focus(self)
            self._view.display = False
            self._view.remove()
            self._view = None

    @property
    def _fields(self) -> list[Widget]:
        return [widget for widget in self._view.query(Widget) if widget.focusable] if self._view is not None else []

    @property
    def _is_in_a_field(self) -> bool:
        focused = self.screen.focused
        return focused is not None and focused is not self and self in focused.ancestors

    # -- the time for an answer

    def on_mount(self) -> None:
        self._countdown = self.set_interval(1.0, self._paint_title, pause=True)

    def _keep_time(self) -> None:
        """No time runs while you fill the form in, nor while the board can't be seen."""
        asked = self._view.asked if self._view is not None else None
        if asked is not None and asked in self._open:
            if self._hidden or self._is_in_a_field:
                asked.hold()
            else:
                asked.count()
        if asked is None or asked.left is None:
            self._countdown.pause()
        else:
            self._countdown.resume()

    # -- keys

    def on_key(self, event: events.Key) -> None:
        """Note every key before its binding runs: one right behind another was not meant for the board."""
        if self.has_focus:
            self.keys.pressed()
        meant_here = self._withdrawn or (self._is_in_a_field and event.key not in self.screen.active_bindings)
        if meant_here and writes_text(event):
            event.stop()  # what no field takes was not meant for the prompt

    def action_press(self, key: str) -> None:
        if self.has_focus:
            self._decide(key)

    def action_enter(self) -> None:
        """Go into the form; in it, to the next field; behind the last, send. A form whose question is gone closes."""
        if (view := self._shown) is None or not self.on_screen:
            return
        if not self.has_focus:
            self._go_on()
        elif not self.keys.settled:
            self.keys.changed()
            self.paint_keys()
        elif self._withdrawn:
            self._close()
        else:
            view.enter()

    def action_send(self) -> None:
        if not self.has_focus and not self._withdrawn:
            self._decide("y")

    def action_field(self, delta: int) -> None:
        places: list[Widget] = [self, *self._fields]
        at = next((at for at, widget in enumerate(places) if widget.has_focus), 0)
        if at or self.keys.settled:
            places[(at + delta) % len(places)].focus()

    def action_copy(self) -> None:
        if self.has_focus and self._view is not None and (text := self._view.text_to_copy):
            self.post_message(self.CopyRequested(text))

    def action_scroll(self, delta: int) -> None:
        if self.has_focus and (view := self._shown) is not None:
            view.body.scroll_relative(y=delta, animate=False, immediate=True)

    def action_page(self, direction: int) -> None:
        if (view := self._shown) is not None:
            self.action_scroll(direction * max(view.body.size.height - 1, 1))

    def action_leave(self) -> None:
        if not self.has_focus:
            self.focus()
        elif self._withdrawn:
            self._close()
        else:
            self.post_message(self.Left())

    @on(Input.Submitted)
    def _go_on(self) -> None:
        fields = self._fields
        at = next((at for at, widget in enumerate(fields) if widget.has_focus), -1)
        if 0 <= at < len(fields) - 1:
            fields[at + 1].focus()
        else:
            self._decide("y")

    def _decide(self, key: str) -> None:
        view = self._shown
        if view is None or not self.on_screen or key not in dict(view.choices):
            return
        if not self.keys.settled or (key in ("y", "a") and not self._end.passed(view.body)):
            self.keys.changed()
        elif (reply := view.reply(key)) is not None and self.keys.decide((view.asked, reply)):
            self.when_meant(self._reply)
        self.paint_keys()

    def _reply(self) -> None:
        decided = self.keys.take() if self.on_screen else None
        if decided is not None and decided[0] in self._open:
            self._replied = decided[0]
            self.post_message(self.Replied(*decided))
        self.paint_keys()

    def _close(self) -> None:
        self._drop()
        self.post_message(self.Closed())

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.keys.changed()
        self.paint_keys()
        self.say_place()

    def on_descendant_focus(self) -> None:
        self._keep_time()
        self._paint_title()
        self.paint_keys()
        self.say_place()

    on_descendant_blur = on_descendant_focus

    # -- painting

    def on_resize(self) -> None:
        self._paint()

    def _paint(self) -> None:
        if (view := self._shown) is None:
            return
        self._paint_title()
        view.lay_out(max(self.content_size.width, 20), max(self.room_beside(3 + self.paint_keys()), 1))
        self.call_after_refresh(self.say_place)

    def _paint_title(self) -> None:
        if (view := self._shown) is None:
            return
        question = view.asked.question
        which = "" if question.call_id else questions.one_of(question.candidates)
        who = self._label(question.call_id) or (f"{question.server}: {which}" if which else question.server)
        count = f" · 1 of {len(self._open)}" if len(self._open) > 1 else ""
        left = "" if view.withdrawn or view.asked.left is None else f" · ends in {view.asked.left:.0f} s"
        self.border_title = Content(f"{one_line(who, 50)} {view.wants}{count}{left}")  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def asked(self) -> str:
        return "" if self._withdrawn or self._view is None else questions.first_words(self._view.asked.question)

    def say_place(self) -> None:
        if (view := self._shown) is not None:
            hidden = "" if self.folded else place(view.body)
            self.border_subtitle = f"{hidden} · space to scroll" if hidden and self.has_focus else hidden
            if view.is_ready and self.on_screen and not self.folded:
                self._end.note(view.body)

    def paint_keys(self) -> int:
        if not self.is_attached or self._view is None:
            return 1
        settled = self.keys.settled and self.keys.holds is None
        if self.has_focus:
            fill_in = [("enter", "fill in")] if self._view.can_enter else []
            pairs = [("enter", "close")] if self._withdrawn else [*fill_in, *self._view.choices]
        elif self.has_focus_within:
            pairs = [("enter", "next field"), ("ctrl+s", "accept"), ("esc", "back")]
        else:
            pairs, settled = [], True
        return self.name_keys(self.query_one(KeyLines), pairs, counts=settled)
