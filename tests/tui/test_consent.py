"""An approval is for what was displayed: the first key goes to what was not, and only the next one runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import App

from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from tests.examples import EXPLORING, turns
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, see, seen, until
from tests.tui.test_reaching_calls import told

SIZES = [(60, 15), (80, 24), (120, 40)]
HIDDEN = {
    "two hundred line feeds": ({"command": "ls" + "\n" * 200 + "rm -rf /tmp/x"}, "rm -rf /tmp/x"),
    "four hundred blanks": ({"command": "ls" + " " * 400 + "rm -rf /tmp/x"}, "rm -rf /tmp/x"),
    "twenty thousand letters": ({"command": "x" * 20_000 + "§"}, "§"),
    "a 401st argument": ({f"a{n}": f"v{n}" for n in range(1, 402)}, "v401"),
    "two hundred lines": ({"command": "\n".join(f"line {n}" for n in range(1, 201))}, "line 200"),
}


def console_of(folder: Path, *turns: Sequence[dict[str, Any]]) -> App[Any]:
    """A console whose model makes a call of each of the arguments, in one turn after the other."""
    answers = [(calls(*(("lab_run", json.dumps(one)) for one in arguments)), say("Over.")) for arguments in turns]
    model = WrittenModel(*(answer for turn in answers for answer in turn))
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


async def ended(pilot: Any) -> None:
    conversation, prompt = chat(pilot.app).console.conversation, chat(pilot.app).prompt
    await until(pilot, lambda: not conversation.busy and prompt.has_focus, "the end of the turn")


async def test_a_call_runs_only_when_its_end_was_on_the_screen(tmp_path: Path) -> None:
    sizes = SIZES[::2]
    cases = [(what, size) for size in sizes for what in HIDDEN] if EXPLORING else turns(HIDDEN, sizes)
    cases += [("twenty thousand letters", size) for size in sizes]  # one right behind its like
    console = console_of(tmp_path, *([HIDDEN[what][0]] for what, _ in cases))
    async with console.run_test(size=SIZES[0]) as pilot:
        for before, (what, size) in enumerate(cases):
            arguments, tail = HIDDEN[what]
            await pilot.resize_terminal(*size)
            board = await reach(pilot, 1)
            if tail in seen(console):
                assert "x 199" in seen(console) or "x 400" in seen(console), f"blank space is counted: {what}"
            else:
                assert "below" in seen(console), what
                await decide(pilot, "y")
                assert ran(console) == before, what
                await see(pilot, tail)
            await until(pilot, lambda board=board: bool(board.selection.seen), what)
            await decide(pilot, "y")
            await ended(pilot)
            assert ran(console) == before + 1
            assert list(chat(console).ui.shown.transcript.calls.values())[-1].arguments == arguments


async def test_the_key_for_all_runs_only_rows_that_were_seen(tmp_path: Path) -> None:
    cases = turns((4, 1, 30), SIZES)
    console = console_of(tmp_path, *([{"n": n} for n in range(count)] for count, _ in cases))
    async with console.run_test(size=SIZES[0]) as pilot:
        for count, size in cases:
            await pilot.resize_terminal(*size)
            board = await reach(pilot, count)
            if count > 4:
                await see(pilot, "more")
                assert "↓" in seen(console), "a list that is cut says how many more there are"
            presses, already = 0, ran(console)
            while ran(console) == already:
                before = len(board.selection.seen)
                await decide(pilot, "Y")
                presses += 1
                assert presses <= count + 1
                assert ran(console) - already in (0, count)
                if before < count:
                    await told(pilot, "not shown to its end. Here it is: press the key again.")
                    assert ran(console) == already, "a row was decided that was not on the screen"
            assert count > 1 or presses == 1
            await ended(pilot)


async def test_nothing_waits_and_no_board_is_there(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(say("Over.")))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "Over.")
        assert not chat(console).boards.approvals.is_asking
