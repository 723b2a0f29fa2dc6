"""A command that is typed behind `!` shows what it wrote, without a key."""

from __future__ import annotations

from pathlib import Path

from console_app.domain.tools import ToolSpec
from tests.faces.faces import OneTool
from tests.tui.parts import WrittenModel, app, say, see

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
