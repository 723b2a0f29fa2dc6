"""A hook that denies a call denies it on every face, whoever made the call, and the hook after a call hears of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.domain import ApprovalMode
from console_app.domain.tools import ToolSpec
from console_app.engine import ApprovalGate
from console_app.workplace import WorkingFolder
from tests.each import each
from tests.faces.faces import EditorFace, OneTool, answer, written
from tests.headless.conftest import fanout as fanout
from tests.headless.inside import Inside
from tests.line_console.test_typed_ahead import opened as lines_opened
from tests.tui.parts import app, see

DENIES = "echo no sums here >&2; exit 2"
SUMS = ToolSpec(name="calculator_evaluate", server="calculator", tool="evaluate")
ARGUMENTS = '{"expression": "1+1"}'
CALL = f"calculator.evaluate {ARGUMENTS}"
TABLE = f"""
[[hooks.PreToolUse]]
matcher = "mcp__calculator__.*"
hooks = [{{ type = "command", command = "{DENIES}" }}]
"""


def place(folder: Path) -> WorkingFolder:
    """A folder whose user has a hook that denies all calls of the calculator."""
    environ = {"FANOUT_HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"}
    hook = {"matcher": "mcp__calculator__.*", "hooks": [{"type": "command", "command": DENIES}]}
    return WorkingFolder(Paths.find(environ), folder, environ, {"PreToolUse": [hook]})


@each("face", ["screen", "lines", "editor"])
async def test_what_a_hook_denies_is_denied_where_a_model_calls(tmp_path: Path, face: str) -> None:
    tool, gate = OneTool(SUMS), ApprovalGate(ApprovalMode.YOLO)
    model = written(answer(SUMS, ARGUMENTS))
    if face == "screen":
        console = app(tmp_path, model, tool, gate=gate, workplace=place(tmp_path))  # type: ignore[arg-type]
        async with console.run_test(size=(160, 40)) as pilot:
            await pilot.press(*"go", "enter")
            await see(pilot, "a hook denied it: no sums here")
            await see(pilot, "Over.")
    elif face == "lines":
        made = lines_opened(tmp_path, model, tool, gate=gate, workplace=place(tmp_path))  # type: ignore[arg-type]
        async with made as lines:
            lines.type("go")
            await lines.see("a hook denied it: no sums here")
            await lines.see("Over.")
    else:
        editor = EditorFace(tmp_path, tool, answer(SUMS, ARGUMENTS), gate, workplace=place(tmp_path))
        await editor.run("reject")
        assert not editor.asked
        (call,) = editor.updates.transcript.calls.values()
        assert call.error == "a hook denied it: no sums here"
    assert not tool.ran


def run(fanout: Inside) -> str:
    done = fanout.run("run", "-m", "offline/rehearsal", "Calculate 355/113 and sqrt(2)")
    return done.out + done.err


def call(fanout: Inside) -> str:
    done = fanout.run("call", *CALL.split(" ", 1))
    return done.out + done.err


def batch_of_calls(fanout: Inside) -> str:
    item = {"id": "a", "tool": "calculator.evaluate", "arguments": json.loads(ARGUMENTS)}
    items = fanout.write("calls.jsonl", json.dumps(item) + "\n")
    done = fanout.run("call", "--from", str(items), "-o", "out.jsonl", "--plain")
    return done.out + done.err + (fanout.cwd / "out.jsonl").read_text()


def batch(fanout: Inside) -> str:
    items = fanout.write("items.jsonl", json.dumps({"id": "a", "prompt": "Calculate 355/113 and sqrt(2)"}) + "\n")
    done = fanout.run(
        "batch", str(items), "-m", "offline/rehearsal", "-o", "out.jsonl", "--events", "events", "--plain"
    )
    events = "".join(file.read_text() for file in (fanout.cwd / "events").iterdir())
    return done.out + done.err + events


def program(fanout: Inside) -> str:
    code = fanout.write("sums.py", "print(await calculator_evaluate(expression='1+1'))\n")
    done = fanout.run("program", str(code))
    return done.out + done.err


@pytest.mark.parametrize("way", [run, call, batch_of_calls, batch, program])
def test_the_hook_after_a_call_hears_of_it_and_what_one_denies_is_denied_without_a_face(
    fanout: Inside, way: Callable[[Inside], str]
) -> None:
    heard = fanout.cwd / "heard"
    fanout.write("home/config.toml", TABLE.replace("PreToolUse", "PostToolUse").replace(DENIES, f"cat >> {heard}"))
    assert "no sums here" not in way(fanout)
    told = json.loads(heard.read_text().partition("}{")[0].removesuffix("}") + "}")
    assert told["tool_name"] == "mcp__calculator__evaluate"
    assert told["tool_response"]["is_error"] is False
    fanout.write("home/config.toml", TABLE)
    (fanout.cwd / "out.jsonl").unlink(missing_ok=True)
    assert "a hook denied it: no sums here" in way(fanout)
