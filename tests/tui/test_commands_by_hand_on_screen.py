"""A user runs a command behind `!`, and a call that an answer only showed by a key."""

from __future__ import annotations

from pathlib import Path

from console_app.domain.tools import ToolSpec
from console_app.providers import TextProtocol
from tests.faces.faces import OneTool
from tests.tui.parts import WrittenModel, app, decide, say, see

RUN = ToolSpec(
    name="shell_run",
    server="shell",
    tool="run",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}},
)


async def test_what_a_typed_command_wrote_is_open(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(say("Never asked.")), OneTool(RUN))  # type: ignore[arg-type]
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press("exclamation_mark", *"ls", "enter")
        await see(pilot, "result · 1 line")


async def test_a_key_runs_a_call_that_was_only_shown_and_asks_first(tmp_path: Path) -> None:
    shown = 'I would run `{"name": "shell_run", "arguments": {"command": "ls"}}`.'
    tool = OneTool(RUN)
    model = TextProtocol(WrittenModel(say(shown), say("It was not run.")))
    console = app(tmp_path, model, tool)  # type: ignore[arg-type]
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"Go", "enter")
        await see(pilot, "It was not run.")
        await see(pilot, "alt+r runs it")
        await pilot.press("alt+r")
        await see(pilot, "an answer only showed it")
        assert tool.ran == []
        await pilot.press("tab")
        await decide(pilot, "y")
        await see(pilot, "✓ run")
    assert tool.ran == [{"command": "ls"}]
