"""Approvals and what servers ask at the same time: one board at a time, and none takes a form from under your hands."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.widgets import Input

from console_app.domain.chunks import CallClosed, CallOpened, FinishChunk, UsageChunk
from console_app.engine import Rule
from tests.tui.parts import Answer, chat, decide, see, seen, until
from tests.tui.questions.stage import Stage, stage


def one_after_the_other(gate: asyncio.Event) -> Answer:
    """An answer that calls `form`, and `where` once the gate is open."""
    return [
        *(CallOpened(0, "call-0", "asking_form"), CallClosed(0, "{}"), gate),
        *(CallOpened(1, "call-1", "asking_where"), CallClosed(1, "{}")),
        *(UsageChunk(1500, 120), FinishChunk("tool_calls")),
    ]


async def approve(s: Stage) -> None:
    board = chat(s.console).boards.approvals
    board.focus()
    await until(s.pilot, lambda: board.has_focus)
    await decide(s.pilot, "y")


async def test_a_call_that_wants_an_approval_takes_no_form_from_under_your_hands(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        chat(s.console).services.engine.gate.rules.append(Rule("ask", "asking.where", "test"))
        gate = asyncio.Event()
        await s.answer(one_after_the_other(gate))
        await s.come_to_the_board()
        await s.press("enter", "end", *"XY")
        gate.set()
        await see(s.pilot, "2 calls · 2 need you")
        assert "1 needs you" not in seen(s.console)
        field = chat(s.console).boards.human.query(Input).first()
        assert field.has_focus
        await s.press("ctrl+s")
        await see(s.pilot, "1 needs you")
        await until(s.pilot, lambda: chat(s.console).boards.approvals.has_focus, "the next board has the focus")
        await approve(s)
        assert (await s.ended())[0]["content"] == {"name": "AdaXY", "size": "m"}


async def test_what_was_filled_in_is_still_there_after_an_approval(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        chat(s.console).services.engine.gate.rules.append(Rule("ask", "asking.where", "test"))
        gate = asyncio.Event()
        await s.answer(one_after_the_other(gate))
        await s.come_to_the_board()
        await s.press("enter", "end", *"XY", "escape", "escape")
        await until(s.pilot, lambda: chat(s.console).prompt.has_focus)
        gate.set()
        await see(s.pilot, "1 needs you")
        assert "asking · form asks you" not in seen(s.console)
        await approve(s)
        await see(s.pilot, "asking · form asks you")
        await s.come_to_the_board()
        await s.press("y")
        assert (await s.ended())[0]["content"] == {"name": "AdaXY", "size": "m"}
