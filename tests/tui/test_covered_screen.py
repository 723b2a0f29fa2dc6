"""A terminal that becomes too small covers the screen: what had the focus keeps it, and keys decide nothing there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widget import Widget

from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from tests.examples import EXPLORING, turns
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, decide, echo, pass_by, say, see, seen

QUESTION = '{"question": "Which format?", "options": ["Markdown", "CSV"]}'
PLACES = {
    "the prompt": [],
    "the board": ["tab"],
    "a panel": ["alt+up"],
    "find": ["ctrl+f"],
    "the servers": ["ctrl+l"],
    "commands": ["ctrl+p"],
    "the history": ["ctrl+r"],
    "help": ["f1"],
    "completions": ["slash"],
}
TOURS = [(80, 12)], [(20, 5), (60, 15)], [(40, 24)], [(40, 12)]


@asynccontextmanager
async def two_calls_wait(folder: Path) -> AsyncGenerator[Pilot[Any]]:
    model = WrittenModel(calls(("lab_do", "{}"), ("lab_do", '{"n": 1}')), say("Done."))
    console = app(folder, model, Tools({("lab", "do"): echo}), gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 need you")
        yield pilot


async def test_the_focus_stays_where_it_is_through_every_size(tmp_path: Path) -> None:
    async with two_calls_wait(tmp_path) as pilot:
        console = pilot.app
        for place, *tours in [(place, *TOURS) for place in PLACES] if EXPLORING else turns(PLACES, TOURS):
            keys = PLACES[place]
            chat(console).prompt.focus()
            await pilot.press(*keys)
            await at_rest(pilot)
            before: Widget | None = console.focused
            assert before is not None
            for tour in tours:
                for size in tour:
                    await pilot.resize_terminal(*size)
                    await at_rest(pilot)
                    assert console.focused is before, (place, size, console.focused)
                    if console.screen is chat(console) and size != (60, 15):
                        assert "needs 60x15" in seen(console).replace("\n", " ")
                        assert "lab" not in seen(console)
                await pilot.resize_terminal(100, 40)
                await at_rest(pilot)
                assert console.focused is before, (place, tour, console.focused)
            while console.screen is not chat(console):
                await pilot.press("escape")
            if keys:
                await pilot.press("escape")
            chat(console).prompt.put("")
            await at_rest(pilot)


async def test_no_key_decides_what_is_covered(tmp_path: Path) -> None:
    async with two_calls_wait(tmp_path) as pilot:
        console = pilot.app
        board = chat(console).boards.approvals
        board.focus()
        await pass_by(pilot)
        for size, key in (product if EXPLORING else turns)([(20, 5), (40, 24), (80, 12)], "yYnNae"):
            await pilot.resize_terminal(*size)
            await decide(pilot, key)
            await pilot.resize_terminal(100, 40)
            await see(pilot, "2 need you")
            assert console.focused is board, (size, key)
        await decide(pilot, "Y")
        await see(pilot, "Done.")
        assert not board.is_asking
