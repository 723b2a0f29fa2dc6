"""The first moment of the real program: what is typed then, what is wrong then, and how it is left then.

An mcp.json that is a pipe nobody writes to holds the loading up for as long as a test wants.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal

Open = Callable[..., AbstractContextManager[Terminal]]
READY = "Ask, or / for commands"
LOADED = "A scripted model answers"
# What the first paint has no use for, and takes longer to import than the paint takes.
HEAVY = {
    "pydantic",
    "pydantic_core",
    "openai",
    "anthropic",
    "mcp",
    "httpx2",
    "sqlite3",
    "markdown_it",
    "pygments",
    "hashlib",
}
HEAVY_OF_OURS = {"wiring", "engine", "sessions", "providers", "mcp_client", "textcalls", "headless"}
# The real program until it loads what the first paint does not need: it lists the modules that are there by then.
PAINTED = """
import os, sys

class FirstOfTheRest:
    def find_spec(self, name, path=None, target=None):
        if name == "console_app.commands.console":
            with open(os.environ["MODULES"], "w") as listed:
                print(*sys.modules, sep="\\n", file=listed)
            os._exit(0)

sys.meta_path.insert(0, FirstOfTheRest())
sys.argv = ["fanout"]
from console_app.cli import main
main()
"""

# The real program with a fault put into it.
FAULTY = """
import sys
from console_app.commands import console
from console_app.tui.main_screen.start.startup_screen import StartupScreen
def fault(*_, **__): raise RuntimeError("the fault sk-canary-0123456789abcdef")
{where} = fault
sys.argv = ["fanout", "--no-mcp"]
from console_app.cli import main
main()
"""


@pytest.fixture
def console(fanout: Fanout) -> Open:
    """Opens the console with the given arguments."""

    def opened(*arguments: str, stderr: int | None = None, anew: bool = False) -> Terminal:
        environment = fanout.environment({"TERM": "xterm-256color"})
        return Terminal(fanout.argv(*arguments), env=environment, cwd=fanout.cwd, stderr=stderr, anew=anew)

    return opened


@pytest.fixture
def held(fanout: Fanout) -> Iterator[Path]:
    """A pipe to be given as --mcp-config; whoever opens it for reading waits."""
    pipe = fanout.cwd / "pipe.json"
    os.mkfifo(pipe)
    yield pipe
    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))  # nobody waits on


def test_keys_typed_before_the_program_reads_them_are_kept(console: Open) -> None:
    with console("--no-mcp", anew=True) as terminal:
        terminal.type("typed at once")
        terminal.expect("│ typed at once +│")
        terminal.expect(LOADED)
        terminal.expect("│ typed at once +│")


def test_enter_before_the_program_reads_it_sends(console: Open) -> None:
    with console("--no-mcp", anew=True) as terminal:
        terminal.type("what can you do?\r")
        terminal.type("and the next")
        terminal.expect("│ and the next +│")
        terminal.expect_gone("runs many tool calls")


@pytest.mark.parametrize("when", ["at once", "on the page"])
def test_enter_before_it_is_known_what_to_begin_with_begins_once_it_is(console: Open, when: str) -> None:
    with console(anew=when == "at once") as terminal:
        if when == "on the page":
            terminal.expect(READY)
        terminal.press("enter")
        terminal.expect("Show me what you can do")


def test_the_prompt_answers_while_the_rest_is_loaded_and_what_was_sent_is_sent_then(console: Open, held: Path) -> None:
    with console("--mcp-config", str(held)) as terminal:
        terminal.expect(READY)
        terminal.type("hello therf")
        terminal.press("backspace")
        terminal.type("e")
        terminal.expect("│ hello there +│")
        terminal.resize(24, 80)
        terminal.expect("│ hello there +│$")
        terminal.press("enter")
        terminal.type("next")
        held.write_text('{"mcpServers": {}}')
        terminal.expect_gone("runs many tool calls")
        terminal.expect(r"│ next +│")
        terminal.press("ctrl+c", "ctrl+d")
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


@pytest.mark.parametrize("keys", [["ctrl+d"], ["ctrl+c", "ctrl+c"]], ids=["ctrl+d", "ctrl+c twice"])
def test_keys_that_quit_do_so_while_it_loads(console: Open, held: Path, keys: list[str]) -> None:
    with console("--mcp-config", str(held)) as terminal:
        terminal.expect(READY)
        terminal.press(*keys)
        assert terminal.wait_exit() == 0
        assert terminal.left_changed() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_while_it_loads(console: Open, held: Path, number: signal.Signals) -> None:
    with console("--mcp-config", str(held)) as terminal:
        terminal.expect(READY)
        terminal.signal(number)
        assert terminal.wait_exit() == 128 + number
        assert terminal.left_changed() == []


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        ('theme = "fanout-dark"\nmodell = "x"', [], r"config\.toml:2:1: unknown key \"modell\""),
        ("theme = [", [], r"config\.toml:1:\d+"),
        ("", ["-m", "nobody/x"], "nobody"),
        ("", ["-C", "no-such-folder"], "no-such-folder"),
        ("", ["-r", "no-such-session"], "no-such-session"),
    ],
    ids=["unknown key", "no TOML", "unknown model", "no folder", "no session"],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(
    console: Open, fanout: Fanout, tmp_path: Path, text: str, arguments: list[str], says: str
) -> None:
    if text:
        fanout.write("home/config.toml", text)
    with (tmp_path / "err").open("wb") as err, console(*arguments, stderr=err.fileno()) as terminal:
        terminal.type("typed\r")
        assert terminal.wait_exit() == 2
        assert terminal.left_changed() == []
    told = (tmp_path / "err").read_text()
    assert told.startswith("fanout: ")
    assert told.count("\n") == 1
    assert re.search(says, told), told


def test_nothing_that_the_first_paint_has_no_use_for_is_imported_before_it(fanout: Fanout, tmp_path: Path) -> None:
    listed = tmp_path / "modules"
    environment = fanout.environment({"MODULES": str(listed), "TERM": "xterm-256color"})
    argv = [sys.executable, "-P", "-c", PAINTED]
    with Terminal(argv, env=environment, cwd=fanout.cwd, anew=True) as terminal:
        assert terminal.wait_exit() == 0
    names = set(listed.read_text().split())
    assert "console_app.tui.main_screen.start.startup_screen" in names
    assert HEAVY.isdisjoint(names)
    assert HEAVY_OF_OURS.isdisjoint(name.split(".")[1] for name in names if name.startswith("console_app."))


@pytest.mark.parametrize("where", ["StartupScreen.on_mount", "console.open_services"])
def test_an_internal_error_leaves_one_file_one_line_and_a_clean_terminal(fanout: Fanout, where: str) -> None:
    environment = fanout.environment({"TERM": "xterm-256color", "OPENAI_API_KEY": "canary-key-in-the-environment"})
    argv = [sys.executable, "-P", "-c", FAULTY.format(where=where)]
    with Terminal(argv, env=environment, cwd=fanout.cwd) as terminal:
        assert terminal.wait_exit() == 1
        assert terminal.left_changed() == []
        last = bytes(terminal.raw).rpartition(b"\x1b[?25h")[2].decode()
        assert re.search(r"fanout: .*RuntimeError.* What happened: \S+crash-\S+\.txt", last)
        assert "Traceback" not in last
    (report,) = (fanout.home / "state").glob("crash-*.txt")
    text = report.read_text()
    assert "RuntimeError: the fault" in text
    assert "canary" not in text
