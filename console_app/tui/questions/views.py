"""Which view a question has. Imported with the first question: forms are no part of what a start needs."""

from __future__ import annotations

from console_app.console.talk.question_queue import PendingQuestion
from console_app.domain.questions import Elicitation
from console_app.tui.questions.form_view import FormView
from console_app.tui.questions.model_view import ModelView
from console_app.tui.questions.page_view import PageView
from console_app.tui.questions.view import AskedView


def view_of(asked: PendingQuestion, model: str) -> AskedView:
    """The view of a question; `model` is the one that answers servers now."""
    question = asked.question
    if not isinstance(question, Elicitation):
        return ModelView(asked, question, model)
    return PageView(asked, question) if question.mode == "url" else FormView(asked, question)
