"""Pictures of states at four sizes, dark and light; `pytest --snapshot-update` takes them anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain.approvals import ApprovalMode
from console_app.engine.approval_gate import ApprovalGate
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, echo, pass_by, say, see, until
from tests.tui.test_connect import console_of

Compare = Callable[..., bool]
SIZES = [(60, 15), (80, 24), (120, 40), (200, 60)]
THEMES = ["fanout-dark", "fanout-light"]
every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
dark_and_light = pytest.mark.parametrize("theme", THEMES)


@every_size
@dark_and_light
def test_the_form_that_connects(snap_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    console, _ = console_of(tmp_path, {})

    async def run(pilot: Pilot[Any]) -> None:
        console.theme = theme
        await pilot.press(*"/connect", "enter")
        await see(pilot, "Nothing answers at the usual ports")
        await pilot.press(*"http://127.0.0.1:1234/v1")
        await see(pilot, "http://127.0.0.1:1234/v1")
        await at_rest(pilot)

    assert snap_compare(console, terminal_size=size, run_before=run)


def written(folder: Path, mode: ApprovalMode, theme: str, begun: asyncio.Event) -> Any:
    """A console whose model writes two files, once its words are seen: how calls are drawn depends on the room."""
    answer = calls(
        ("files_write", '{"path": "report.md", "content": "# Report\\n\\nOslo: 3 degrees"}'),
        ("files_write", '{"path": "notes/a-longer-name-of-a-file.md", "content": "Lima: 22 degrees"}'),
        text="I write it down.",
    )
    model = WrittenModel([answer[0], begun, *answer[1:]], say("That is what I **would** write."))
    tools = Tools({("files", "write"): echo}, read_only=False)
    return app(folder, model, tools, gate=ApprovalGate(mode), theme=theme)


async def prompted(pilot: Pilot[Any], begun: asyncio.Event) -> None:
    """Sends a prompt, and has the calls come once the first words are there."""
    await pilot.press(*"write it", "enter")
    await see(pilot, "I write it down.")
    await at_rest(pilot)
    begun.set()


@every_size
@dark_and_light
def test_plan_mode(snap_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    begun = asyncio.Event()

    async def run(pilot: Pilot[Any]) -> None:
        await prompted(pilot, begun)
        await see(pilot, "done ·")
        await until(pilot, lambda: not chat(pilot.app).conversation.busy)
        await at_rest(pilot)

    assert snap_compare(written(tmp_path, ApprovalMode.PLAN, theme, begun), terminal_size=size, run_before=run)


@every_size
@dark_and_light
def test_a_board_that_has_the_keys(snap_compare: Compare, tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    begun = asyncio.Event()

    async def run(pilot: Pilot[Any]) -> None:
        await prompted(pilot, begun)
        await see(pilot, "Approve 1 of 2")
        await pilot.press("tab")
        await until(pilot, lambda: chat(pilot.app).boards.approvals.has_focus)
        await pass_by(pilot)
        await at_rest(pilot)

    assert snap_compare(written(tmp_path, ApprovalMode.ASK, theme, begun), terminal_size=size, run_before=run)
