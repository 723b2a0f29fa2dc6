"""What a checkout brings and nobody trusted stops no command, whatever stands in the place of its files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from console_app.config.files import Paths
from console_app.config.foreign import agents, hook_files, skills
from tests.each import each
from tests.examples import turns
from tests.headless.inside import Inside

FILES = (
    *(str(path) for path in (*Paths.project_mcp(Path()), Paths.project_settings(Path()))),
    *(f"{name}/x.md" for name in (*agents.FOLDERS, ".fanout/commands", ".claude/commands")),
    *(f"{name}/x/{skills.FILE}" for name in skills.FOLDERS),
    f"{skills.PLUGINS}/x/{skills.PLUGIN_FILE}",
    *hook_files.FILES,
    *("AGENTS.md", "CLAUDE.md", ".git"),
)
NOWHERE = "n" * 300  # no file can have this name, so a link to it can't even be looked at, as one into another's folder
LONG = "9" * 5_000  # more digits than Python reads
COMMANDS = {
    "run": ("run", "-m", "offline/rehearsal", "--mcp", "calculator", "hello"),
    "call": ("call", "calculator.evaluate", '{"expression": "1+1"}'),
    "mcp list": ("mcp", "list"),
    "config show": ("config", "show"),
    "sessions list": ("sessions", "list"),
}


def _number(path: Path) -> None:
    path.write_text(f'{{"mcpServers": {LONG}, "hooks": {LONG}}}' if path.suffix == ".json" else f"max_steps = {LONG}\n")


def _socket(path: Path) -> None:
    here = os.open(path.parent, os.O_RDONLY)  # the path itself may be too long for a socket
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(f"/proc/self/fd/{here}/{path.name}" if os.path.isdir("/proc/self/fd") else str(path))
    os.close(here)


HARMS: dict[str, Callable[[Path], object]] = {
    "a link in a circle": lambda path: path.symlink_to(path.name),
    "a link that can't be followed": lambda path: path.symlink_to(NOWHERE),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a long number": _number,
}


def _goes_on(fanout: Inside, command: str) -> None:
    done = fanout.run(*COMMANDS[command])
    assert done.code == 0, done.err
    assert "unexpected" not in done.err


# A run reads all of them, and the other commands some.
MET = [*((harm, "run") for harm in HARMS), *turns(HARMS, [name for name in COMMANDS if name != "run"])]


@each(("harm", "command"), MET)
def test_what_stands_in_the_place_of_a_projects_files_stops_no_command(
    fanout: Inside, harm: str, command: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fanout.cwd = tmp_path_factory.mktemp("project")
    for name in FILES:
        path = fanout.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        HARMS[harm](path)
    _goes_on(fanout, command)


@pytest.mark.parametrize("command", list(COMMANDS))
def test_folders_that_can_not_be_looked_into_stop_no_command(fanout: Inside, command: str) -> None:
    for folder in {name.partition("/")[0] for name in FILES if "/" in name}:
        (fanout.cwd / folder).symlink_to(NOWHERE)
    _goes_on(fanout, command)
    assert "config.toml" in fanout.run("config", "show").err, "rules that deny may be missing"


WRONG_SETTINGS = {
    "a key nobody knows": "modle = 1",
    "a value of another kind": "max_steps = [1]",
    "what no project may set": "[hooks]\nPreToolUse = []",
    "a rule nobody can read": '[rules]\ndeny = ["calculator.*", "shell("]',
    "a table nobody knows": "[nothing.at.all]\nx = 1",
    "no TOML": "max_steps = ",
    "a long number": f"max_steps = {LONG}",
}


@each("wrong", WRONG_SETTINGS)
def test_settings_that_are_wrong_are_not_trusted_and_stop_no_command(
    fanout: Inside, wrong: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fanout.cwd = tmp_path_factory.mktemp("project")
    (fanout.cwd / "AGENTS.md").write_text("Use tabs.\n")
    fanout.write(".fanout/config.toml", WRONG_SETTINGS[wrong] + "\n")
    done = fanout.run("trust", "--yes")
    assert "AGENTS.md is trusted as it is now" in done.out
    assert "config.toml" in done.err
    assert done.code == 2
    if "TOML" not in wrong and "long" not in wrong:
        assert "config.toml is not trusted: line " in done.err
    _goes_on(fanout, "run")
