"""A server that wants to ask the model, at your expense: everything it would send, and for how long it may."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from console_app.console.talk.question_queue import PendingQuestion, Reply
from console_app.domain.questions import SamplingRequest
from console_app.domain.safe_text import one_line
from console_app.tui.questions.view import AskedView
from console_app.tui.widgets.text_view import TextView


class ModelView(AskedView):
    """`model` is the one that would answer."""

    DEFAULT_CSS = """
    ModelView > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    ModelView > TextView { margin-top: 1; }
    """

    wants = "wants to use the model"
    choices = (("y", "allow once"), ("a", "allow for session"), ("n", "deny"))

    def __init__(self, asked: PendingQuestion, request: SamplingRequest, model: str) -> None:
        super().__init__(asked)
        self._request = request
        self._model = model

    def compose(self) -> ComposeResult:
        """Who answers and how much, then all that is sent."""
        yield Static(Content.styled("\n".join(self._facts), "$muted"))
        text = TextView("\n\n".join(_parts(self._request)))
        text.can_focus = False
        yield text

    @property
    def _facts(self) -> list[str]:
        request, most = self._request, self._request.sampling.max_tokens or 0
        facts = [f"{one_line(self._model, 40)} answers, at most {most:,} tokens; its cost is counted"]
        if request.model_hints:
            facts.append(f"It prefers {', '.join(one_line(hint, 30) for hint in request.model_hints[:3])}")
        return facts

    @property
    def body(self) -> Widget:
        """All that is sent."""
        return self.query_one(TextView)

    def lay_out(self, width: int, room: int) -> None:
        """The text takes what the facts leave."""
        rows = self.query_one(TextView).rows_at(width - 1)  # one cell is the scroll bar's
        self.body.styles.height = max(min(rows, room - len(self._facts) - 1), 1)

    def reply(self, key: str) -> Reply | None:
        """Once, this session, or not."""
        match key:
            case "y":
                return "once"
            case "a":
                return "session"
            case "n":
                return "deny"
            case _:
                return None


def _parts(request: SamplingRequest) -> Iterator[str]:
    if request.system:
        yield f"system\n{_indented(request.system)}"
    for message in request.messages:
        yield f"{message.role}\n{_indented(message.text)}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
