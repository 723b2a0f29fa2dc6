"""A question of the model, and the to-do list: what you answer and change reaches the model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.domain import events as ev
from tests.tui.parts import Answer, Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, see, seen, until
from tests.tui.test_reaching_calls import told

QUESTION = (
    "fanout_ask_followup_question",
    '{"question": "Which format?", "options": ["Markdown", "[@click=app.quit]x"]}',
)
OPEN_QUESTION = ("fanout_ask_followup_question", '{"question": "What is it called?"}')
TODO = (
    "fanout_update_todo_list",
    '{"todos": [{"content": "[/b]Read", "status": "completed"}, {"content": "Sum up", "status": "in_progress"}]}',
)


@asynccontextmanager
async def talking(folder: Path, *answers: Answer, size: tuple[int, int] = (100, 40)) -> AsyncGenerator[Pilot[Any]]:
    model = WrittenModel(*answers)
    console = app(folder, model, Tools({("files", "read"): echo}))
    engine = console._services.engine  # pyright: ignore[reportPrivateUsage]
    tools = frozenset({"update_todo_list", "ask_followup_question"})
    engine.settings = replace(engine.settings, builtin_tools=tools)
    async with console.run_test(size=size) as pilot:
        await pilot.press(*"go", "enter")
        yield pilot


def sent(pilot: Pilot[Any]) -> list[str]:
    """Gives the texts of the newest request."""
    model = chat(pilot.app).services.engine.provider
    assert isinstance(model, WrittenModel)
    return [message.content for message in model.requests[-1].messages]


async def reach(pilot: Pilot[Any]) -> None:
    board = chat(pilot.app).boards.questions
    await pilot.press("tab")
    await until(pilot, lambda: board.has_focus_within)
    await pass_by(pilot)


async def test_a_question_is_answered_by_number_or_in_your_own_words(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(QUESTION), say("Good."), calls(QUESTION), say("Better.")) as pilot:
        await see(pilot, "2 [@click=app.quit]x")
        await see(pilot, "A question")
        await reach(pilot)
        await decide(pilot, "2")
        await see(pilot, "Good.")
        assert sent(pilot)[-1] == "The user answered:\n[@click=app.quit]x"
        await until(pilot, lambda: chat(pilot.app).prompt.has_focus)
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: chat(pilot.app).boards.questions.is_asking)
        await reach(pilot)
        await pilot.press("w", *"as a poem", "enter")
        await see(pilot, "Better.")
        assert sent(pilot)[-1] == "The user answered:\nas a poem"


async def click_on(pilot: Pilot[Any], words: str) -> None:
    row, line = next((row, line) for row, line in enumerate(seen(pilot.app).splitlines()) if words in line)
    await pilot.click(offset=(line.index(words), row))


async def test_a_question_is_answered_by_the_mouse_once_it_stood_still(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(QUESTION), say("Good.")) as pilot:
        board = chat(pilot.app).boards.questions
        await see(pilot, "1 Markdown")
        await click_on(pilot, "Markdown")
        await until(pilot, lambda: board.has_focus)
        await pass_by(pilot)
        assert board.is_asking, "the click that came here answered"
        await click_on(pilot, "Markdown")
        await pass_by(pilot)
        await see(pilot, "Good.")
        assert sent(pilot)[-1] == "The user answered:\nMarkdown"


async def test_the_keys_of_a_question_are_broken_between_two(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(QUESTION), say("Good."), size=(60, 24)) as pilot:
        await see(pilot, "1 Markdown")
        await reach(pilot)
        await see(pilot, "esc later")
        await click_on(pilot, "no answer")
        await pass_by(pilot)
        await see(pilot, "Good.")
        assert "does not want to answer" in sent(pilot)[-1]


async def test_a_question_without_answers_takes_words_at_once_and_n_gives_none(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(OPEN_QUESTION, OPEN_QUESTION), say("Good.")) as pilot:
        board = chat(pilot.app).boards.questions
        await see(pilot, "A question, and 1 more")
        await reach(pilot)
        await pilot.press(*"Bo", "enter")
        await until(pilot, lambda: board.border_title == "A question")
        await pilot.press("escape")
        await until(pilot, lambda: board.has_focus)
        await decide(pilot, "n")
        await see(pilot, "Good.")
        outcomes = [str(call.outcome) for call in chat(pilot.app).ui.shown.transcript.calls.values()]
        assert outcomes == ["succeeded", "denied"]
        assert "does not want to answer" in sent(pilot)[-1]


async def test_what_is_typed_on_a_question_is_its_answer_and_what_was_typed_ahead_is_not(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(QUESTION), say("Good.")) as pilot:
        await see(pilot, "Which format?")
        await pilot.press("tab")
        await until(pilot, lambda: chat(pilot.app).boards.questions.has_focus)
        await pilot.press("s")
        assert chat(pilot.app).prompt.text == "s"
        await pilot.press("backspace")
        await reach(pilot)
        await pilot.press(*"a poem", "enter")
        await see(pilot, "Good.")
        assert sent(pilot)[-1] == "The user answered:\na poem"


async def test_a_question_takes_the_focus_from_an_empty_prompt_and_escape_leaves_it_open(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(QUESTION), say("Good.")) as pilot:
        await see(pilot, "Which format?")
        await pass_by(pilot)
        await until(pilot, lambda: chat(pilot.app).boards.questions.has_focus)
        await pass_by(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: chat(pilot.app).prompt.has_focus)
        await pass_by(pilot, 60)
        assert chat(pilot.app).boards.questions.is_asking
        assert chat(pilot.app).prompt.has_focus
        await reach(pilot)
        await decide(pilot, "1")
        await see(pilot, "Good.")


async def test_keys_typed_ahead_choose_no_answer(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(QUESTION), say("Good.")) as pilot:
        await see(pilot, "Which format?")
        board = chat(pilot.app).boards.questions
        await pilot.press("tab", "1", "escape")
        assert board.is_asking
        await reach(pilot)
        await pilot.press("1", "1", "2")
        await pass_by(pilot)
        assert board.is_asking


async def test_the_list_is_seen_and_your_changes_reach_the_model(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(TODO), say("Planned."), say("Seen.")) as pilot:
        await see(pilot, "Planned.")
        await see(pilot, "1 of 2 done")
        assert "● done" in seen(pilot.app)
        chat(pilot.app).prompt_area.take("/todo")
        await until(pilot, lambda: chat(pilot.app).boards.todo.has_focus)
        await pilot.press("j", "space")
        await see(pilot, "2 of 2 done")
        await pilot.press("a", *"Write it", "enter")
        await see(pilot, "Write it")
        await pilot.press("e", *" up", "enter")
        await see(pilot, "Write it up")
        await pilot.press("k", "k", "d")
        await until(pilot, lambda: len(chat(pilot.app).boards.todo.items) == 2)
        await pilot.press(*"why")
        assert chat(pilot.app).prompt.text == "", "no keys of the list"
        await told(pilot, "w does nothing here now. esc goes to the prompt.")
        await pilot.press("escape", *"on", "enter")
        await see(pilot, "Seen.")
        assert any("[x] Sum up\n[ ] Write it up" in text for text in sent(pilot))


async def test_on_a_low_screen_the_list_is_one_line(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(TODO), say("Planned."), size=(80, 24)) as pilot:
        await see(pilot, "1 of 2 done  ◐ in progress  Sum up")
        assert "[/b]Read" not in seen(pilot.app).split("To-do")[1]


async def test_a_list_begins_with_an_item_of_yours(tmp_path: Path) -> None:
    async with talking(tmp_path, say("Hello.")) as pilot:
        await see(pilot, "Hello.")
        chat(pilot.app).prompt_area.take("/todo")
        await until(pilot, lambda: chat(pilot.app).boards.todo.has_focus_within)
        await pilot.press(*"Water plants", "enter")
        await see(pilot, "0 of 1 done")


async def test_another_session_has_another_list(tmp_path: Path) -> None:
    async with talking(tmp_path, calls(TODO), say("Planned.")) as pilot:
        await see(pilot, "Planned.")
        await see(pilot, "1 of 2 done")
        stored = [*chat(pilot.app).ui.shown.transcript.todo]
        chat(pilot.app).prompt_area.take("/new")
        await until(pilot, lambda: "of 2 done" not in seen(pilot.app))
        assert chat(pilot.app).boards.todo.items == ()
        await chat(pilot.app).ui.show_stored([ev.TurnStarted(turn=1, prompt="go"), ev.TodoChanged(items=tuple(stored))])
        await see(pilot, "1 of 2 done")
