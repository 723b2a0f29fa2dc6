"""`fanout` in a real terminal: it opens, does the main job, tells what is wrong, and leaves the terminal as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

Open = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def console(fanout: Fanout) -> Open:
    """Opens the console with the given arguments."""

    def opened(*arguments: str, term: str = "xterm-256color", **env: str) -> Terminal:
        environment = fanout.environment({"TERM": term, **env})
        return Terminal(fanout.argv(*arguments), env=environment, cwd=fanout.cwd)

    return opened


def test_a_prompt_on_the_command_line_is_answered_as_the_console_opens(console: Open) -> None:
    with console("Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi") as terminal:
        terminal.expect(r"3 calls · 3 ok")
        terminal.expect(r"23\.1406926\d*[^╮]*23\.1406926")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


def test_the_same_console_runs_on_an_endpoint(console: Open) -> None:
    with WireServer() as server:
        call = Call("calculator_evaluate", '{"expression": "6*7"}')
        server.script(Answer(Text("Let me see."), call), Answer(Text("It is forty-two.")))
        with console("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"), "--", "go") as terminal:
            terminal.expect("test-model")
            terminal.expect("It is forty-two")
            terminal.press("ctrl+d")
            assert terminal.wait_exit() == 0
        assert len(server.requests) == 2


def test_without_servers_the_opening_page_offers_what_works_without_tools(console: Open) -> None:
    with console("--no-mcp", "-m", "offline/rehearsal") as terminal:
        terminal.expect(r"Enter sends an example\.")
        assert "twelve" not in terminal.text()
        terminal.press("enter")
        terminal.expect("▌ What can you do here without any tools")
        terminal.expect("No tool that I know how to use is on")
        terminal.press("ctrl+d")
        assert terminal.wait_exit() == 0


def test_a_broken_mcp_json_is_told_on_the_screen_and_the_console_works(console: Open, fanout: Fanout) -> None:
    fanout.write("home/mcp.json", '{"mcpServers":\n  {"a": }}')
    with console() as terminal:
        terminal.expect(r"mcp\.json:2:9")
        terminal.type("hello")
        terminal.expect("hello")
        terminal.press("ctrl+c", "ctrl+d")
        assert terminal.wait_exit() == 0


def test_an_untrusted_project_is_told_on_the_screen(console: Open, fanout: Fanout) -> None:
    fanout.write("mcp.json", '{"mcpServers": {"theirs": {"command": "x"}}}')
    with console() as terminal:
        terminal.expect(r"mcp\.json of this project waits for your trust: alt\+t shows it all")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_can_not_be_drawn_on_is_told(console: Open, term: str) -> None:
    with console(term=term) as terminal:
        terminal.expect(r"the console can't draw on this terminal \(TERM=.*\)\. As lines: fanout --screen-reader\.")
        assert terminal.wait_exit() == 2


@pytest.mark.parametrize(
    ("arguments", "says"), [(["-m", "openai/x"], "OPENAI_API_KEY"), (["--mcp-config", "no"], "no:")]
)
def test_what_a_flag_has_wrong_is_one_line_before_the_console_opens(
    console: Open, arguments: list[str], says: str
) -> None:
    with console(*arguments) as terminal:
        terminal.expect(f"fanout: Configuration: .*{says}")
        assert terminal.wait_exit() == 2
        assert terminal.left_changed() == []
