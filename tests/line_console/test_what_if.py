"""A result that the user changes by its number: a copy goes on from it, and is told apart call by call."""

from __future__ import annotations

from pathlib import Path

from tests.line_console.test_typed_ahead import opened
from tests.tui.parts import WrittenModel, say
from tests.tui.stored import library
from tests.tui.test_what_if import ALL, MINE, TOOLS, YOURS, two_calls


async def test_lines_change_a_result_and_tell_the_two_apart(tmp_path: Path) -> None:
    model, kept = WrittenModel(two_calls(), say("One failed."), say("Both are good.")), library(tmp_path)
    async with opened(tmp_path, model, TOOLS, store=kept, library=kept, close=kept.close, gate=ALL) as lines:
        lines.type("go")
        await lines.see("One failed.")
        lines.type("/compare")
        await lines.see("There is no fork to compare with")
        lines.type(f"/result 2 {MINE}")
        await lines.see("Both are good.")
        lines.type("/compare")
        await lines.see(f"call 2, lab · read, outcome: failed → {YOURS}")
        await lines.see("answer 1: “One failed.” → “Both are good.”")
        lines.type("/read 1")
        await lines.see(f"{YOURS}: {MINE}")
