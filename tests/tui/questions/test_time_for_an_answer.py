"""A limit of time for an answer: counted down on the board, and at its end both sides are told."""

from __future__ import annotations

import re
from pathlib import Path

from console_app.tui.asking.human_board import HumanBoard
from tests.each import each
from tests.tui.parts import calls, chat, see, seen, until
from tests.tui.questions.stage import Stage, stage

HOUR = 3600.0


def left(s: Stage) -> float | None:
    return s.desk.open[0].left


async def test_the_board_counts_down_but_not_while_the_form_is_filled_in(tmp_path: Path) -> None:
    async with stage(tmp_path, limit=HOUR) as s:
        await s.ask("form")
        await s.come_to_the_board()
        await until(s.pilot, lambda: re.search(r"asks you · ends in 3[56]\d\d s", seen(s.console)), "the countdown")
        await s.press("enter")
        await until(s.pilot, lambda: left(s) is None, "the clock stands")
        assert "ends in" not in seen(s.console)
        await s.pilot.press("escape")
        await see(s.pilot, "ends in 3")
        assert (left(s) or 0) > HOUR - 100  # the whole time again
        await s.come_to_the_board()
        await s.press("y")
        assert await s.ended() == [{"action": "accept", "content": {"name": "Ada", "size": "m"}}]


async def test_a_question_that_nobody_answers_ends_without_a_yes_or_a_no(tmp_path: Path) -> None:
    async with stage(tmp_path, limit=0.05) as s:
        await s.ask("form")
        assert await s.ended() == [{"action": "cancel"}]
        lines = [line.text for line in s.calls[0].log]
        assert lines[-1] == "the question was cancelled: nobody replied within 0.05 s"
        assert s.desk.open == []
        await until(s.pilot, lambda: not chat(s.console).query_one(HumanBoard).is_asking, "the board is gone")


async def test_a_request_for_the_model_that_nobody_answers_is_told_as_that(tmp_path: Path) -> None:
    async with stage(tmp_path, limit=0.05) as s:
        await s.answer(calls(("asking_ask_model", "{}")))
        ((error),) = await s.ended()
        assert error["message"] == "The model could not be asked: No answer: nobody replied within 0.05 s"
        assert s.calls[0].log[-1].text == "the question was not allowed: nobody replied within 0.05 s"


@each("limit", [None, HOUR])
async def test_one_that_waits_behind_another_has_its_own_time_when_its_turn_comes(
    tmp_path: Path, limit: float | None
) -> None:
    async with stage(tmp_path, limit=limit) as s:
        await s.ask("form", "form")
        await s.come_to_the_board()
        await see(s.pilot, "1 of 2")
        first, second = s.desk.open
        assert second.left is None
        assert (first.left is None) == (limit is None)
        await s.press("n")
        await until(s.pilot, lambda: s.desk.open == [second], "the first is answered")
        assert (second.left is None) == (limit is None)
        await s.come_to_the_board()
        await s.press("n")
        assert await s.ended() == [{"action": "decline"}] * 2
