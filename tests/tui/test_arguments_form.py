"""A waiting call's arguments are changed in a form of the schema, or as JSON; being shown alters none of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from console_app.domain.tools import ToolSpec
from console_app.tui.asking.arguments_editor import ArgumentsEditor
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, see, seen, until

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Which file."},
        "old": {"type": "string"},
        "times": {"type": "integer"},
        "ratio": {"type": "number"},
        "every": {"type": "boolean"},
        "mode": {"enum": ["fast", "exact", None]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"line": {"type": "integer"}}},
    },
    "required": ["path"],
}
ODD: list[dict[str, Any]] = [
    {"path": "a.md", "old": "one\ntwo\n\tthree\n", "times": 3, "every": False},
    {"path": "a.md", "old": "one\r\ntwo\rthree\n"},
    {"path": "", "old": "", "tags": [], "where": {}, "mode": "exact"},
    {"path": " a.md ", "times": 2**70, "ratio": 1.0},
    {"path": "a.md", "ratio": 1e-9, "mode": None, "every": True, "tags": ["a", "a\nb", ""], "where": {"line": 1}},
    {"path": "a.md", "beside": "what the schema does not know", "where": {"line": 1, "column": 2}},
    {"path": "a\u200bb\x1b[31m.md", "old": '"quoted" \\n and \u2028'},
]


@dataclass
class Formed(Tools):
    """A toolset of one tool, with a schema of many kinds."""

    schema: dict[str, Any] = field(default_factory=lambda: SCHEMA)

    def tools(self) -> Sequence[ToolSpec]:
        return [spec.model_copy(update={"input_schema": self.schema}) for spec in super().tools()]


def console(folder: Path, *arguments: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> Any:
    model = WrittenModel(calls(*(("files_edit", json.dumps(one)) for one in arguments)), say("All decided."))
    return app(folder, model, Formed({("files", "edit"): echo}, read_only=False, schema=schema))


async def editor(pilot: Pilot[Any]) -> ArgumentsEditor:
    """Opens it for the selected call, and lets its half second pass."""
    await decide(pilot, "e")
    await until(pilot, lambda: isinstance(pilot.app.screen, ArgumentsEditor))
    await see(pilot, "unchanged")
    await pass_by(pilot)
    opened = pilot.app.screen
    assert isinstance(opened, ArgumentsEditor)
    return opened


async def board(pilot: Pilot[Any]) -> None:
    await pilot.press("g", "enter")
    await see(pilot, "need")
    await pilot.press("tab")
    await until(pilot, lambda: chat(pilot.app).boards.approvals.has_focus)


def ran(pilot: Pilot[Any]) -> list[Any]:
    return [call.arguments for call in chat(pilot.app).ui.shown.transcript.calls.values()]


async def test_a_text_of_lines_is_changed_as_lines_and_enter_runs_nothing(tmp_path: Path) -> None:
    one = {"path": "a.md", "old": "one\ntwo", "every": False}
    async with console(tmp_path, one).run_test(size=(80, 24)) as pilot:
        await board(pilot)
        opened = await editor(pilot)
        await see(pilot, "path *  text  Which file.")
        assert "{" not in seen(pilot.app).split("Edit the arguments", 1)[1]
        assert isinstance(opened.focused, Input)
        await pilot.press("end", *"x", "enter")
        await until(pilot, lambda: isinstance(opened.focused, TextArea))
        await pilot.press("down", "end", *" 2")
        await see(pilot, "changed; the model is told")
        await decide(pilot, "ctrl+s")  # to its end
        await see(pilot, "above")
        await decide(pilot, "ctrl+s")
        await see(pilot, "All decided.")
        assert ran(pilot) == [{"path": "a.mdx", "old": "one\ntwo 2", "every": False}]


def of_texts(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


async def test_enter_runs_a_form_of_one_line(tmp_path: Path) -> None:
    async with console(tmp_path, {"path": "a.md"}, schema=of_texts("path")).run_test(size=(80, 24)) as pilot:
        await board(pilot)
        await editor(pilot)
        await see(pilot, "enter runs it with these")
        await pilot.press("end", *"x", "enter")
        await see(pilot, "All decided.")
        assert ran(pilot) == [{"path": "a.mdx"}]


async def test_enter_on_the_last_field_of_several_says_what_runs_it(tmp_path: Path) -> None:
    one = {"old": "one", "new": "two"}
    async with console(tmp_path, one, schema=of_texts(*one)).run_test(size=(80, 24)) as pilot:
        await board(pilot)
        opened = await editor(pilot)
        await pilot.press("enter", "enter")
        await see(pilot, "The last field: ctrl+s runs it.")
        assert pilot.app.screen is opened
        await pilot.press("ctrl+s")
        await see(pilot, "All decided.")


async def test_a_wrong_value_is_said_beside_its_field_and_cant_run(tmp_path: Path) -> None:
    async with console(tmp_path, {"path": "a.md", "times": 3}).run_test(size=(80, 30)) as pilot:
        await board(pilot)
        opened = await editor(pilot)
        await pilot.press("tab", "tab", *"x")
        await see(pilot, "times: must be a whole number")
        await pilot.press("ctrl+s")
        assert pilot.app.screen is opened
        await pilot.press("backspace")
        await see(pilot, "unchanged")
        await pilot.press("f2")
        await see(pilot, '"times": 3')
        opened.query_one("#box > TextArea", TextArea).text = '{"path": "b.md", "times": 4}'
        await pilot.press("f2")
        await see(pilot, "path *  text")
        await decide(pilot, "ctrl+s", "ctrl+s")  # the first goes to its end
        await see(pilot, "All decided.")
        assert ran(pilot) == [{"path": "b.md", "times": 4}]


async def test_arguments_that_are_only_looked_at_stay_as_they_are(tmp_path: Path) -> None:
    async with console(tmp_path, *ODD).run_test(size=(100, 40)) as pilot:
        await board(pilot)
        for left in range(len(ODD), 0, -1):
            await see(pilot, f"{left} need")
            await until(pilot, lambda: chat(pilot.app).boards.approvals.has_focus)
            await editor(pilot)
            while isinstance(pilot.app.screen, ArgumentsEditor):  # the first key may go to its end
                await decide(pilot, "ctrl+s")
        await see(pilot, "All decided.")
        assert ran(pilot) == ODD
        assert not any(call.edited for call in chat(pilot.app).ui.shown.transcript.calls.values())
