"""A terminal that becomes too small covers the screen: what had the focus keeps it, and keys decide nothing there."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widget import Widget

from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
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
TOURS = [[(20, 5)], [(40, 12)], [(80, 12)], [(40, 24)], [(20, 5), (40, 12), (60, 15)], [(40, 24), (80, 12), (20, 5)]]


@pytest.mark.parametrize("place", PLACES)
async def test_the_focus_stays_where_it_is_through_every_size(tmp_path: Path, place: str) -> None:
    model = WrittenModel(calls(("lab_do", "{}"), ("lab_do", '{"n": 1}')), say("Done."))
    console = app(tmp_path, model, Tools({("lab", "do"): echo}), gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 need you")
        chat(console).prompt.focus()
        await pilot.press(*PLACES[place])
        await at_rest(pilot)
        before: Widget | None = console.focused
        assert before is not None
        for tour in TOURS:
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


@pytest.mark.parametrize("size", [(20, 5), (40, 24), (80, 12)])
async def test_no_key_decides_what_is_covered(tmp_path: Path, size: tuple[int, int]) -> None:
    model = WrittenModel(calls(("lab_do", "{}"), ("lab_do", '{"n": 1}')), say("Done."))
    console = app(tmp_path, model, Tools({("lab", "do"): echo}), gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 need you")
        board = chat(console).boards.approvals
        board.focus()
        await pass_by(pilot)
        for key in "yYnNae":
            await pilot.resize_terminal(*size)
            await decide(pilot, key)
            await pilot.resize_terminal(100, 40)
            await see(pilot, "2 need you")
            assert console.focused is board, key
        await decide(pilot, "Y")
        await see(pilot, "Done.")
        assert not board.is_asking
