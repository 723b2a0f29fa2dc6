"""The key line of a selected call, and the menu of all that can be done with it."""

from __future__ import annotations

import json
from pathlib import Path

from textual.binding import Binding

from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.lineview.view import KEYS
from console_app.tui.main_screen.over.help import key_sections
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, echo, say, see, seen, until
from tests.tui.test_reaching_calls import selected


async def boom(_invocation: Invocation, _reporter: CallReporter) -> str:
    raise RuntimeError("no")


@each("width", [60, 80, 120])
async def test_a_call_has_five_hints_and_a_menu_with_all_that_can_be_done(tmp_path: Path, width: int) -> None:
    """And each key is in help."""
    tools = Tools({("lab", "echo"): echo, ("lab", "boom"): boom})
    answer = calls(*[("lab_boom" if n in (2, 5) else "lab_echo", json.dumps({"n": n})) for n in range(12)])
    async with app(tmp_path, WrittenModel(answer, say("Done.")), tools).run_test(size=(width, 24)) as pilot:
        chat(pilot.app).services.engine.gate.mode = ApprovalMode.YOLO
        await pilot.press(*"go", "enter")
        await see(pilot, "✓ done")
        await at_rest(pilot)
        await pilot.press("alt+3")
        await until(pilot, lambda: selected(pilot) is not None)
        await at_rest(pilot)
        line = seen(pilot.app).rstrip().splitlines()[-1]
        assert line.split() == ["enter", "menu", "o", "open", "r", "run", "again", "esc", "back", "?", "help"]
        await pilot.press("enter")
        menu = ("o  open", "r  run again", "e  change and run", "c  copy", "i  look inside", "t  filter", "!  next")
        for act in menu:
            await see(pilot, act)
        await pilot.press("o")
        await see(pilot, "o close")
        sections = key_sections(pilot.app, [("On a panel", chat(pilot.app).view)])
        named = " ".join(id_ for section in sections for ids in section.ids for id_ in ids)
        assert [binding.id for binding in KEYS if isinstance(binding, Binding) and str(binding.id) not in named] == []
