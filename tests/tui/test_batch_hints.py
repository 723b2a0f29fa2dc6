"""The key line of a selected call: what does not fit drops off by importance, and is in help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.binding import Binding

from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.lineview.panel_keys import KEYS
from console_app.tui.main_screen.over.help import key_sections
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, echo, say, see, seen, until
from tests.tui.test_reaching_calls import selected


async def boom(_invocation: Invocation, _reporter: CallReporter) -> str:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("width", "there", "gone"),
    [
        (60, "o open,r retry,e edit,! next failed,esc back,f1 help", "t filter,c copy"),
        (80, "o open,r retry,e edit,t filter,! next failed,esc back,f1 help", "C copy part"),
        (120, "o open,r retry,e edit,c copy,C copy part,i inspect,t filter,! next failed,esc back,f1 help", "ctrl+l"),
    ],
)
async def test_of_the_keys_of_a_batch_the_least_important_drop_off(
    tmp_path: Path, width: int, there: str, gone: str
) -> None:
    """And each that does is in help."""
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
        assert [one for one in there.split(",") if one not in line] == [], line
        assert [one for one in gone.split(",") if one in line] == [], line
        sections = key_sections(pilot.app, [("On a panel", chat(pilot.app).view)])
        named = " ".join(id_ for section in sections for ids in section.ids for id_ in ids)
        assert [binding.id for binding in KEYS if isinstance(binding, Binding) and str(binding.id) not in named] == []
