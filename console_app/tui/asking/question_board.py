"""A question of the model to you, in the place of the approvals: answers by number, or in your own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from console_app.console import Services
from console_app.domain import displayed
from console_app.domain.transcript import CallView
from console_app.records import dataclass
from console_app.tui.asking.folding_board import FoldingBoard
from console_app.tui.asking.key_lines import REPLAYED, KeyLines, pressing
from console_app.tui.asking.settled_keys import DisplayedEnd, SettledKeys, place, tell_moves
from console_app.tui.terminal.key_names import writes_text
from console_app.tui.widgets.too_small import TooSmall

NO_ANSWER = ""  # as what was chosen


class QuestionBoard(FoldingBoard):
    """Shows the oldest open question. It answers nothing itself; an answer is posted once it proved to be meant."""

    DEFAULT_CSS = """
    QuestionBoard { border: heavy $accent; border-title-color: $accent; }
    QuestionBoard:blur { border: heavy $accent 60%; }
    QuestionBoard > Static { height: auto; }
    QuestionBoard > VerticalScroll { height: auto; scrollbar-size-vertical: 1; background: $background; }
    QuestionBoard > VerticalScroll > Static { height: auto; }
    QuestionBoard > Input { height: 1; border: none; padding: 0; margin-top: 1; background: $background; }
    QuestionBoard > Input:focus { border: none; background-tint: $foreground 0%; }
    QuestionBoard > Input > .input--placeholder { color: $muted; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(n), f"choose({n})", f"answer {n}", id=f"question.answer{n}", show=False) for n in range(1, 5)),
        Binding("w,enter,tab", "own_words", "your own words", id="question.words", show=False),
        Binding("n", "choose(0)", "give no answer", id="question.decline", show=False),
        Binding("pagedown", "page(1)", "more of the question", id="question.more", show=False),
        Binding("pageup", "page(-1)", "back in the question", id="question.back", show=False),
        Binding("escape", "leave", "decide later", id="question.later", show=False),
    ]

    @dataclass
    class Answered(Message):
        call_id: str
        text: str | None  # None: no answer is given

    def __init__(self, services: Services, spare: Callable[[], int]) -> None:
        super().__init__(services, spare)
        self.can_focus = not self._replayed
        self.keys = SettledKeys[str](self._timing.now)
        self._calls: list[CallView] = []
        self._end = DisplayedEnd()  # of the question and its answers
        self._out_of_words = False  # the focus comes from the line below

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(classes="question--text")
            yield KeyLines(self._timing.now, classes="question--options")
        yield Input(placeholder="Your own words", select_on_focus=False)
        yield KeyLines(self._timing.now, classes="question--keys")

    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        return [("board.read", "calls"), ("question.later", "later")]

    @property
    def is_asking(self) -> bool:
        return bool(self._calls)

    def show(self, calls: Sequence[CallView]) -> None:
        self.query_one(Input).display = not self._replayed
        if [call.id for call in calls] == [call.id for call in self._calls]:
            return
        other = self._calls[:1] != list(calls[:1])
        self._calls = list(calls)
        self.set_class(bool(calls), "-asking")
        if not calls:
            return
        self.border_title = "A question" if len(calls) == 1 else f"A question, and {len(calls) - 1} more"
        if other:
            self.keys.changed()
            field = self.query_one(Input)
            if field.has_focus:
                self.focus()
            field.value = ""
            self._end = DisplayedEnd()
            self._paint()

    def on_key(self, event: events.Key) -> None:
        """Note every key before its binding runs: one right behind another was not meant. Letters begin an answer."""
        if not self.has_focus:
            return
        settled = self.keys.settled
        self.keys.pressed()
        if settled and writes_text(event) and event.character and event.key not in self.screen.active_bindings:
            event.stop()
            field = self.query_one(Input)
            field.focus()
            field.insert_text_at_cursor(event.character)

    def action_choose(self, number: int) -> None:
        if self.has_focus and self._calls and number <= len(self._calls[0].options):
            if number and not self._end.passed(self.query_one(VerticalScroll)):
                self.keys.changed()
            elif self.keys.decide(self._calls[0].options[number - 1] if number else NO_ANSWER):
                self.when_meant(self._choose)
            self.paint_keys()

    def action_own_words(self) -> None:
        self.query_one(Input).focus()

    def action_leave(self) -> None:
        if self.query_one(Input).has_focus:
            self._out_of_words = True
            self.focus()
        else:
            self.post_message(self.Left())

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        if value:
            self.keys.changed()
            if self._calls and not self._calls[0].options and not self._out_of_words:
                self.query_one(Input).focus()
            self._out_of_words = False
        self.on_descendant_focus()

    def on_descendant_focus(self) -> None:
        self.paint_keys()
        if self.is_attached:
            self.say_place()

    on_descendant_blur = on_descendant_focus

    @on(Input.Submitted)
    def _submit_words(self, event: Input.Submitted) -> None:
        if event.value.strip() and self._calls:
            self.post_message(self.Answered(self._calls[0].id, event.value.strip()))

    def action_page(self, direction: int) -> None:
        body = self.query_one(VerticalScroll)
        body.scroll_relative(y=direction * max(body.size.height - 1, 1), animate=False, immediate=True)

    def on_resize(self) -> None:
        field = (1 if self.screen.size.height < TooSmall.ROOMY else 2) * self.query_one(Input).display
        room = self.room_beside(2 + field + self.paint_keys())
        self.query_one(VerticalScroll).styles.max_height = max(room, 1)
        self.call_after_refresh(self.say_place)

    @property
    def asked(self) -> str:
        return self._calls[0].question

    def on_mount(self) -> None:
        tell_moves(self.query_one(VerticalScroll))

    def say_place(self) -> None:
        body = self.query_one(VerticalScroll)
        hidden = "" if self.folded else place(body)
        self.border_subtitle = f"{hidden} · pgdn to scroll" if hidden and self.has_focus_within else hidden
        if self.is_asking and self.screen.is_current and not self.folded:
            self._end.note(body)

    def _choose(self) -> None:
        answer = self.keys.take()
        if answer is not None and self._calls:
            self.post_message(self.Answered(self._calls[0].id, None if answer == NO_ANSWER else answer))
        self.paint_keys()

    def _paint(self) -> None:
        call = self._calls[0]
        self.query_one(".question--text", Static).update(
            Content.styled(displayed.folded_text(call.question), "bold $foreground")
        )
        lines = [
            pressing(
                str(n),
                Content.styled(f" {n} ", "bold $accent") + Content.styled(displayed.folded_text(option), "$foreground"),
            )
            for n, option in enumerate(call.options, 1)
        ]
        self.query_one(".question--options", KeyLines).name_keys(lines)
        self.query_one(VerticalScroll).scroll_home(animate=False)
        self.on_resize()

    def paint_keys(self) -> int:
        if not self.is_attached or not self._calls:
            return 1
        keys = self.query_one(".question--keys", KeyLines)
        if self._replayed:
            keys.name_keys([Content.styled(REPLAYED, "$muted")])
            return 1
        if self.query_one(Input).has_focus:
            pairs = [("enter", "answers"), ("esc", "back")]
        elif self.has_focus:
            count = len(self._calls[0].options)
            answers = [(f"1-{count}" if count > 1 else "1", "answers")] if count else []
            pairs = [*answers, ("w", "your own words"), ("n", "no answer")]
        else:
            pairs = []
        return self.name_keys(keys, pairs, counts=self.keys.settled or not self.has_focus)
