"""The command line before anything is answered: the version, the help, and every way to get it wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from console_app._version import __version__
from tests.examples import turns
from tests.patience import PATIENCE
from tests.program.process import Fanout

HEAVY = ("textual", "pydantic", "asyncio", "argparse", "openai", "anthropic", "mcp", "typing", "logging")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_told_without_importing_anything(fanout: Fanout, flag: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *fanout.argv(flag)[1:]],
        env=fanout.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"fanout {__version__}\n")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "console_app.cli" in imported
    assert imported.isdisjoint(HEAVY)


INTERRUPTED_IMPORT = """
import sys
from console_app.cli import run

class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "console_app.command_line":
            class Cut:
                def __set_name__(self, owner, name):
                    raise KeyboardInterrupt
            class Made:
                cut = Cut()

sys.meta_path.insert(0, Interrupt())
sys.exit(run(["doctor"]))
"""


def test_ctrl_c_while_a_class_is_made_is_an_interrupt_and_no_error(fanout: Fanout) -> None:
    argv = [sys.executable, "-c", INTERRUPTED_IMPORT]
    done = subprocess.run(argv, env=fanout.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_help_names_every_command_and_shows_examples(fanout: Fanout) -> None:
    done = fanout.run("--help")
    assert done.code == 0
    for word in ("run", "call", "mcp", "models", "themes", "config", "examples:", "exit codes:", "--model"):
        assert word in done.out


@pytest.mark.parametrize("command", ["run", "call", "parse", "mcp", "models", "themes", "config"])
def test_each_command_has_help_of_its_own(fanout: Fanout, command: str) -> None:
    done = fanout.run(command, "--help")
    assert done.code == 0
    assert f"usage: fanout {command}" in done.out


@pytest.mark.parametrize("arguments", [["--modle", "x"], ["run", "-m", "nobody/x", "hi"], ["config", "alter"]])
def test_a_mistake_is_one_line_and_exit_code_2(fanout: Fanout, arguments: list[str]) -> None:
    done = fanout.run(*arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("fanout: ")


def test_without_a_terminal_the_console_says_what_to_use(fanout: Fanout) -> None:
    done = fanout.run("hello there")
    assert done.code == 2
    assert done.err == "fanout: the console needs a terminal. Without one: fanout run PROMPT.\n"


def test_closed_standard_streams_end_in_an_exit_code_too(fanout: Fanout) -> None:
    shell = 'exec "$0" "$@" <&- >&- 2>&-'
    for arguments, code in ((["config", "path"], 1), (["modles"], 2), (["run", "--no-mcp", "hello"], 1), (["-V"], 1)):
        done = subprocess.run(
            ["sh", "-c", shell, *fanout.argv(*arguments)], cwd=fanout.cwd, env=fanout.environment(), check=False
        )
        assert done.returncode == code


STARTING = [
    (["call", "calculator.evaluate", '{"expression": "1+1"}'], 1),
    (["mcp", "test", "calculator"], 1),
    (["run", "-m", "offline/rehearsal", "6*7"], 0),  # the model answers, without that server
    (["mcp", "list", "--check"], 1),
]


@pytest.mark.parametrize(("command", "most"), turns(STARTING, [8, 16]))
def test_a_server_for_which_no_descriptor_is_left_is_told_of(
    fanout: Fanout, command: tuple[list[str], int], most: int
) -> None:
    arguments, code = command
    argv = ["sh", "-c", f'ulimit -n {most}; exec "$0" "$@"', *fanout.argv(*arguments)]
    done = subprocess.run(argv, cwd=fanout.cwd, env=fanout.environment(), capture_output=True, check=False)
    assert re.search("Server calculator failed: .*Too many open files", done.stderr.decode())
    assert done.returncode == code


PRINTING = [["-V"], ["-V", "-v"], ["themes"], ["config", "path"], ["schema"], ["man"], ["models", "-m", "offline"]]


@pytest.mark.parametrize("arguments", [*PRINTING, ["run", "-m", "offline/rehearsal", "--no-mcp", "hello"]])
def test_what_is_lost_on_a_closed_standard_output_is_no_success(fanout: Fanout, arguments: list[str]) -> None:
    argv = ["sh", "-c", 'exec "$0" "$@" >&-', *fanout.argv(*arguments)]
    done = subprocess.run(argv, cwd=fanout.cwd, env=fanout.environment(), capture_output=True, check=False)
    assert done.stderr.decode() == "fanout: can't write to standard output: Bad file descriptor\n"
    assert done.returncode == 1


@pytest.mark.parametrize(("arguments", "unbuffered"), turns(PRINTING, ["", "1"]))
def test_what_can_t_be_written_is_no_success(fanout: Fanout, arguments: list[str], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        env = {"PYTHONUNBUFFERED": unbuffered} if unbuffered else {}
        process = fanout.start(*arguments, stdout=full, env=env)
        _, said = process.communicate(timeout=PATIENCE)
    assert said.decode() == "fanout: can't write to standard output: No space left on device\n"
    assert process.returncode == 1


@pytest.mark.parametrize("arguments", [["-V"], ["man"]])
def test_nobody_is_told_that_a_reader_went_away(fanout: Fanout, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = fanout.start(*arguments, stdout=writing)
    os.close(writing)
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (1, b"")
