"""A question that the editor has no form for is declined."""

from __future__ import annotations

from typing import Any

from console_app.acp_agent.asking import EditorQuestions
from console_app.domain.questions import Elicitation


async def test_a_page_of_which_the_editor_can_t_be_told_is_declined() -> None:
    nobody: Any = None  # an editor that is asked nothing
    notes: list[str] = []
    questions = EditorQuestions(nobody, "s", forms=True, pages=True, limit=None, note=notes.append, tell=lambda _: None)
    for url in ("https://127.1.1.999/", "https://xn--/"):
        answer = await questions.ask(Elicitation(server="pays", message="Pay here", mode="url", url=url))
        assert answer.action == "decline"
    assert len(notes) == 2
    assert notes[0].startswith("pays: Pay here\n")
