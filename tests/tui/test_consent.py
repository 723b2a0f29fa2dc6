"""An approval is for what was displayed: the first key goes to what was not, and only the next one runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, see, seen, until

SIZES = [(60, 15), (80, 24), (120, 40)]
HIDDEN = {
    "two hundred line feeds": ({"command": "ls" + "\n" * 200 + "rm -rf /tmp/x"}, "rm -rf /tmp/x"),
    "four hundred blanks": ({"command": "ls" + " " * 400 + "rm -rf /tmp/x"}, "rm -rf /tmp/x"),
    "twenty thousand letters": ({"command": "x" * 20_000 + "§"}, "§"),
    "a 401st argument": ({f"a{n}": f"v{n}" for n in range(1, 402)}, "v401"),
    "two hundred lines": ({"command": "\n".join(f"line {n}" for n in range(1, 201))}, "line 200"),
}


def console_of(folder: Path, *arguments: dict[str, Any]) -> App[Any]:
    model = WrittenModel(calls(*(("lab_run", json.dumps(one)) for one in arguments)), say("Over."))
    tools = Tools({("lab", "run"): echo}, read_only=False)
    return app(folder, model, tools, gate=ApprovalGate(ApprovalMode.ASK))


def ran(console: App[Any]) -> int:
    return sum(call.outcome is not None for call in chat(console).ui.shown.transcript.calls.values())


async def reach(pilot: Any, count: int) -> Any:
    await pilot.press(*"go", "enter")
    await see(pilot, f"{count} need")
    await pilot.press("tab")
    board = chat(pilot.app).boards.approvals
    await until(pilot, lambda: board.has_focus)
    await pass_by(pilot)
    return board


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", HIDDEN)
async def test_a_call_runs_only_when_its_end_was_on_the_screen(
    what: str, size: tuple[int, int], tmp_path: Path
) -> None:
    arguments, tail = HIDDEN[what]
    console = console_of(tmp_path, arguments)
    async with console.run_test(size=size) as pilot:
        board = await reach(pilot, 1)
        if tail in seen(console):
            assert "x 199" in seen(console) or "x 400" in seen(console), "blank space is counted"
        else:
            assert "below" in seen(console)
            await decide(pilot, "y")
            assert ran(console) == 0
            await see(pilot, tail)
        await until(pilot, lambda: bool(board.selection.seen))
        await decide(pilot, "y")
        await until(pilot, lambda: ran(console) == 1)
        (call,) = chat(console).ui.shown.transcript.calls.values()
        assert call.arguments == arguments


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 4, 30])
async def test_the_key_for_all_runs_only_rows_that_were_seen(count: int, size: tuple[int, int], tmp_path: Path) -> None:
    console = console_of(tmp_path, *({"n": n} for n in range(count)))
    async with console.run_test(size=size) as pilot:
        board = await reach(pilot, count)
        presses = 0
        while ran(console) == 0:
            before = len(board.selection.seen)
            await decide(pilot, "Y")
            presses += 1
            assert presses <= count + 1
            assert ran(console) in (0, count)
            if before < count:
                assert ran(console) == 0, "a row was decided that was not on the screen"
        assert count > 1 or presses == 1


async def test_a_list_that_is_cut_says_how_many_more_there_are(tmp_path: Path) -> None:
    console = console_of(tmp_path, *({"n": n} for n in range(12)))
    async with console.run_test(size=(80, 24)) as pilot:
        await reach(pilot, 12)
        await see(pilot, "more")
        assert "↓" in seen(console)


async def test_nothing_waits_and_no_board_is_there(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(say("Over.")))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "Over.")
        assert not chat(console).boards.approvals.is_asking
