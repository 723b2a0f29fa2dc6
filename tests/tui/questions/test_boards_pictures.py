"""Pictures of what servers ask; `pytest --snapshot-update` takes them anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.console.talk.question_queue import QuestionQueue
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.questions import Elicitation, SamplingMessage, SamplingRequest
from console_app.domain.settings import Sampling
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, pass_by, see, until

Compare = Callable[..., bool]
TABLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "the table will be under it"},
        "guests": {"type": "integer", "title": "Guests", "minimum": 1, "maximum": 8, "default": 2},
        "room": {"oneOf": [{"const": "g", "title": "Garden"}, {"const": "h", "title": "Hall"}], "title": "Room"},
        "dishes": {"type": "array", "title": "Dishes", "items": {"enum": ["fish", "rice"]}, "default": ["rice"]},
    },
    "required": ["name", "guests"],
}
QUESTIONS: dict[str, Elicitation | SamplingRequest] = {
    "form": Elicitation("tables", "For how many may I book a table tonight?", "call-0", schema=TABLE),
    "page": Elicitation(
        "tables", "Sign in to pay the deposit.", "call-0", mode="url", url="https://bank.example@pay.example.org/t?n=4"
    ),
    "model": SamplingRequest(
        "tables",
        (SamplingMessage("user", "Which of these tables is quiet?\n1. Garden\n2. Hall"),),
        Sampling(max_tokens=200),
        "call-0",
        "Be brief.",
    ),
}


@pytest.mark.parametrize("size", [(100, 32), (80, 24)], ids=str)
@pytest.mark.parametrize("kind", list(QUESTIONS))
def test_what_a_server_asks(snap_compare: Compare, tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    desk, question = QuestionQueue(), QUESTIONS[kind]

    async def book(_invocation: Invocation, reporter: CallReporter) -> str:
        reporter.asked("For how many may I book a table tonight?")
        asking = desk.ask(question) if isinstance(question, Elicitation) else desk.allow_sampling(question)
        await asyncio.gather(asking, desk.ask(QUESTIONS["page"]))  # pyright: ignore[reportArgumentType]
        return "never"

    async def run(pilot: Pilot[Any]) -> None:
        await see(pilot, "Ask, or / for commands")
        board = chat(pilot.app).boards.human
        chat(pilot.app).prompt_area.send("Book a table")
        await until(pilot, lambda: board.is_asking and board.is_ready)
        board.focus()
        await until(pilot, lambda: board.has_focus)
        await pass_by(pilot)

    model = WrittenModel(calls(("tables_book", '{"when": "tonight"}')))
    console = app(tmp_path, model, Tools({("tables", "book"): book}), human=desk)
    assert snap_compare(console, terminal_size=size, run_before=run)
