"""A prompt that waits for a server which never answers, in the real program: seen, started without it, and kept."""

from __future__ import annotations

import json
import signal

from tests.program.process import Fanout
from tests.program.terminal import Terminal

MUTE = {"mcpServers": {"mute": {"command": "python", "args": ["-c", "import time; time.sleep(600)"]}}}


def opened(fanout: Fanout, *arguments: str) -> Terminal:
    environment = fanout.environment({"TERM": "xterm-256color"})
    return Terminal(fanout.argv(*arguments), env=environment, cwd=fanout.cwd, rows=24, columns=80)


def mute(fanout: Fanout) -> tuple[str, str]:
    return "--mcp-config", str(fanout.write("work/mute.json", json.dumps(MUTE)))


def test_enter_starts_without_a_server_that_does_not_answer(fanout: Fanout) -> None:
    with opened(fanout, *mute(fanout)) as terminal:
        terminal.type("what can you do?\r")
        terminal.expect(r"▌ what can you do\?")
        terminal.expect(r"Waiting for server mute(, \d+ s)? · enter starts without it")
        terminal.expect(r"connecting server mute \d+ s(.|\n)*esc take back")
        terminal.press("enter")
        terminal.expect("Started without server mute, still connecting")
        terminal.expect("done ·")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0


def test_what_waited_when_the_console_was_killed_is_in_the_prompt_history(fanout: Fanout) -> None:
    with opened(fanout, *mute(fanout)) as terminal:
        terminal.type("keep this\r")
        terminal.expect("Waiting for server mute")
        terminal.signal(signal.SIGKILL)
        assert terminal.wait_exit() == -signal.SIGKILL
    with opened(fanout, "--no-mcp") as terminal:
        terminal.expect("Ask, or / for commands")
        terminal.press("up")
        terminal.expect("│ keep this +│")
        terminal.press("ctrl+c", "ctrl+d")
        assert terminal.wait_exit() == 0
