"""Show each kind of question in a view. It is imported with the first question: no start needs forms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from console_app.console import PendingQuestion, Reply
from console_app.domain import (
    displayed,
    one_line,
    questions,
    visible,
    web_address,
)
from console_app.domain.schema import forms
from console_app.tui.asking.field_widgets import LEFT_OUT, FieldWidget, first_value, widget_for
from console_app.tui.asking.settled_keys import tell_moves
from console_app.tui.widgets.text_view import TextView


class AskedView(Vertical):
    """Shows one question. Nothing in it decides anything: the board asks for the reply of a key that was meant."""

    DEFAULT_CSS = """
    AskedView { height: auto; }
    AskedView > VerticalScroll { height: auto; scrollbar-size-vertical: 1; background: $background; }
    AskedView Static { height: auto; }
    AskedView .message { text-style: bold; scrollbar-size-vertical: 0; }
    """

    wants: ClassVar[str] = ""
    """Says what the server wants, behind its name."""
    choices: ClassVar[Sequence[tuple[str, str]]] = ()
    """The keys that decide, and what each does."""
    text_to_copy = ""  # by `c`
    can_enter = False  # there is something to fill in
    withdrawn: ClassVar[bool] = False
    """Tells whether the question is closed."""

    def __init__(self, asked: PendingQuestion) -> None:
        super().__init__()
        self.asked = asked

    def on_mount(self) -> None:
        tell_moves(self.body)

    @abstractmethod
    def reply(self, key: str) -> Reply | None:
        """The reply of a key; None where it can't decide that yet, which is shown."""

    @property
    def is_ready(self) -> bool:
        """Tell whether all of the question is there to be decided on."""
        return self.is_mounted

    @property
    def body(self) -> Widget:
        return self.query_one(VerticalScroll)

    def lay_out(self, width: int, room: int) -> None:
        self.body.styles.max_height = room
        for text in self.query(TextView):  # as high as all of it: what scrolls is what holds it
            text.styles.height = text.rows_at(width - 1)  # one cell is the scroll bar's

    def enter(self) -> None:
        """Puts the cursor into the first field."""


class WithdrawnView(AskedView):
    wants = "asks no longer"
    withdrawn = True

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(Content.styled("The question was withdrawn: the call that asked has ended.", "$warning"))

    def reply(self, key: str) -> Reply | None:
        return None


ANSWERS: Mapping[str, Literal["accept", "decline", "cancel"]] = {"y": "accept", "n": "decline", "x": "cancel"}
MOST_FIELDS = 60  # past them only those that have to be filled in
A_TIME = 6  # fields that are mounted together
ROOMY = 14  # lines, below which the empty ones between fields are left out


class FormView(AskedView):
    """The fields hold what the schema proposes; nothing else is filled in."""

    # The same sheet as the forms in dialogs, here on the board: a few lines where those have a dialog around them.
    SCOPED_CSS = False
    DEFAULT_CSS = (
        (Path(__file__).parent / "form.tcss").read_text(encoding="utf-8")
        + """
    FormView.form .label { margin: 1 1 0 0; }
    FormView.form.-tight .label { margin-top: 0; }
    FormView.form .problem { margin: 0; }
    FormView Input { height: 1; padding: 0 1; border: none; }
    FormView ChoiceLine, FormView CheckList { margin: 0; }
    FormView Input:focus { border: none; background-tint: $foreground 0%; }
    FormView Input > .input--placeholder { color: $muted; }
    """
    )

    wants = "asks you"
    choices = (("y", "accept"), ("n", "decline"), ("x", "cancel"))

    def __init__(self, asked: PendingQuestion, question: questions.Elicitation) -> None:
        super().__init__(asked)
        self.add_class("form")
        self._question = question
        asked_for = forms.fields_asked(question.schema)
        self._fields = [one for place, one in enumerate(asked_for) if place < MOST_FIELDS or one.required]
        self._left_out = len(asked_for) - len(self._fields)
        self.can_enter = bool(self._fields)
        self._widgets: list[FieldWidget] = []

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield message_of(self._question)
            if self._left_out:
                yield Static(f"{self._left_out:,} more optional fields aren't shown.", classes="note")

    def on_mount(self) -> None:
        """The first fields at once, the others a few at a time, so that keys pass between."""
        self._more_fields()

    def _more_fields(self) -> None:
        there = len(self._widgets)
        more = self._fields[there : there + A_TIME]
        fresh = [widget_for(field, first_value(field), label=field.title) for field in more]
        if fresh and self.is_attached:
            self._widgets += fresh
            self.body.mount(*fresh)
            self.call_after_refresh(self._more_fields)

    @on(Input.Changed)
    def _typed(self) -> None:
        wrong = next((widget for widget in self._widgets if widget.problem and widget.has_focus_within), None)
        if wrong is not None:
            self.call_after_refresh(wrong.scroll_visible, animate=False)

    @property
    def is_ready(self) -> bool:
        return len(self._widgets) == len(self._fields) and all(widget.is_mounted for widget in self._widgets)

    def reply(self, key: str) -> Reply | None:
        """Take `y` only with values that fit; else the cursor goes to the first fault."""
        if key in ("n", "x"):
            return questions.ElicitationAnswer(ANSWERS[key])
        if not self.is_ready:
            return None
        values: dict[str, Any] = {widget.field.name: widget.read() for widget in self._widgets}
        wrong = next((found for widget in self._widgets if (found := widget.first_problem())), None)
        if wrong is not None:
            wrong.focus_control()
            self.call_after_refresh(wrong.scroll_visible, animate=False)  # its problem has a line of its own now
            return None
        return questions.ElicitationAnswer(
            "accept", {name: value for name, value in values.items() if value is not LEFT_OUT}
        )

    def lay_out(self, width: int, room: int) -> None:
        super().lay_out(width, room)
        self.set_class(room < ROOMY, "-tight")

    def enter(self) -> None:
        if self.is_ready and self._widgets:
            self._widgets[0].focus_control()


class ModelView(AskedView):
    """`model` is the one that would answer."""

    DEFAULT_CSS = """
    ModelView > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    ModelView > TextView { margin-top: 1; }
    """

    wants = "wants to use the model"
    choices = (("y", "allow once"), ("a", "allow for session"), ("n", "deny"))

    def __init__(self, asked: PendingQuestion, request: questions.SamplingRequest, model: str) -> None:
        super().__init__(asked)
        self._request = request
        self._model = model

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("\n".join(self._facts), "$muted"))
        yield _text(displayed.as_text(displayed.sampling_lines(self._request)))

    @property
    def _facts(self) -> list[str]:
        request, most = self._request, self._request.sampling.max_tokens or 0
        facts = [f"{one_line(self._model, 40)} answers, at most {most:,} tokens; its cost is counted"]
        if request.model_hints:
            facts.append(f"It prefers {', '.join(one_line(hint, 30) for hint in request.model_hints[:3])}")
        return facts

    @property
    def body(self) -> Widget:
        return self.query_one(TextView)

    def lay_out(self, width: int, room: int) -> None:
        rows = self.query_one(TextView).rows_at(width - 1)  # one cell is the scroll bar's
        self.body.styles.height = max(min(rows, room - len(self._facts) - 1), 1)

    def reply(self, key: str) -> Reply | None:
        replies: dict[str, Reply] = {"y": "once", "a": "session", "n": "deny"}
        return replies.get(key)


def message_of(question: questions.Elicitation) -> TextView:
    return _text(displayed.folded_text(question.message.strip()), classes="message")


def _text(text: str, classes: str = "") -> TextView:
    view = TextView(text)
    view.can_focus = False
    view.set_classes(classes)
    return view


class PageView(AskedView):
    """Accepting is the consent to open it; the hub does that."""

    DEFAULT_CSS = """
    PageView .page--address { margin: 1 0; }
    """

    wants = "wants you to open a page"
    choices = (("y", "open in the browser"), ("c", "copy"), ("n", "decline"), ("x", "cancel"))

    def __init__(self, asked: PendingQuestion, question: questions.Elicitation) -> None:
        super().__init__(asked)
        self._question = question
        self.text_to_copy = question.url

    def compose(self) -> ComposeResult:
        address = web_address.read_address(self._question.url)
        with VerticalScroll(can_focus=False):
            yield message_of(self._question)
            if address is None:
                yield Static(Content.styled(visible(self._question.url), "$foreground"), classes="page--address")
                return
            whole = Content.styled(address.before, "$muted") + Content.styled(address.host, "bold $accent")
            yield Static(whole + Content.styled(address.after, "$foreground"), classes="page--address")
            for warning in address.warnings:
                yield Static(Content.styled(f"! {warning}", "bold $warning"))
            yield Static(Content.styled("Fanout sees nothing of what you do there.", "$muted"))

    def reply(self, key: str) -> Reply | None:
        return questions.ElicitationAnswer(ANSWERS[key]) if key in ANSWERS else None


def view_of(asked: PendingQuestion, model: str) -> AskedView:
    question = asked.question
    if not isinstance(question, questions.Elicitation):
        return ModelView(asked, question, model)
    return PageView(asked, question) if question.mode == "url" else FormView(asked, question)
