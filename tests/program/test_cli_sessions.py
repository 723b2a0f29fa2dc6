"""Sessions of the whole program: whole after `kill -9`, and played in the console."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage, ToolMessage
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.sessions import Store
from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.program.terminal import Terminal

SCRIPT = """
rate = 60
[[answer]]
steps = [
  { reasoning = "Four things at once, and slowly." },
  { text = "I begin with a sentence that is long enough to be cut in the middle of it." },
  { call = "calculator.evaluate", arguments = { expression = "6*7" } },
  { call = "demo.long_task", arguments = { task = "one", duration_seconds = 1 } },
  { call = "demo.long_task", arguments = { task = "two", duration_seconds = 2 } },
]
[[answer]]
steps = [ { text = "And this is the end of it, at last, in so many words that it takes a second to say." } ]
"""


@pytest.mark.parametrize("lines", [2, 5, 9, 14, 20, 27, 34, 40])
async def test_kill_9_of_a_run_loses_nothing_that_was_printed(fanout: Fanout, lines: int) -> None:
    script = fanout.write("script.toml", SCRIPT)
    shown = killed_after(fanout, lines, script)
    store = Store(fanout.home / "data" / "sessions.db")
    stored = await store.recover(shown[0].session_id)
    before, after = Transcript(), Transcript()
    for event in shown:
        before.apply(event)
    for event in stored:
        after.apply(event)
    await store.close()
    assert {event.seq for event in shown if not event.shown_only} <= {event.seq for event in stored}
    for turn, again in zip(before.turns, after.turns, strict=False):
        for step, later in zip(turn.steps, again.steps, strict=False):
            assert later.text.startswith(step.text)
            assert later.reasoning.startswith(step.reasoning)
    for call_id, call in before.calls.items():
        now = after.calls[call_id]
        assert now.outcome is call.outcome or (call.outcome is None and now.outcome is not None)
        assert now.outcome in (Outcome.INTERRUPTED, Outcome.SUCCEEDED)
    asked = [call.id for m in after.history if isinstance(m, AssistantMessage) for call in m.tool_calls]
    assert asked == [m.tool_call_id for m in after.history if isinstance(m, ToolMessage)]
    if lines == 27:
        done = fanout.run("run", "--no-mcp", "-c", "go on", "--output-format", "json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["calls"] == [], "nothing runs again"


def killed_after(fanout: Fanout, lines: int, script: Path) -> list[ev.Event]:
    """Kills a run once it has printed so many events; all that it had printed by then."""
    arguments = ("-m", f"scripted/{script}", "--approval-mode", "yolo", "--output-format", "stream-json", "go")
    with fanout.start("run", *arguments, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.read().splitlines(keepends=True)
    return [ev.EVENT.validate_json(line) for line in printed if line.endswith(b"\n")]


def test_kill_9_of_the_console_and_the_screen_comes_back(fanout: Fanout) -> None:
    script = fanout.write("script.toml", SCRIPT.replace("duration_seconds = 2", "duration_seconds = 60"))
    environment = fanout.environment({"TERM": "xterm-256color"})
    flags = ("-m", f"scripted/{script}", "--approval-mode", "yolo")
    with Terminal(fanout.argv(*flags, "--", "go"), env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect(r"3 calls · 1 running · 2 ok")
        terminal.signal(signal.SIGKILL)
        terminal.process.wait(PATIENCE)
    with Terminal(fanout.argv("-c"), env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect("I begin with a sentence")
        terminal.expect("interrupted")
        terminal.expect("The console ended before this turn did")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


def test_a_session_is_played_in_the_console(fanout: Fanout) -> None:
    assert fanout.run("run", "--no-mcp", "hello there").code == 0
    first = json.loads(fanout.run("sessions", "list", "--jsonl").out)["id"]
    arguments = ("sessions", "show", first, "--replay", "--speed", "20")
    environment = fanout.environment({"TERM": "xterm-256color"})
    with Terminal(fanout.argv(*arguments), env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect("hello there")
        terminal.expect("! replay")
        terminal.expect("done · ")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
