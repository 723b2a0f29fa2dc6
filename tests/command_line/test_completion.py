"""Completion: what fits where the cursor is, and the scripts in real shells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from console_app.command_line import COMMANDS, SCRIPTS
from console_app.command_line.commands import SHELLS
from tests.each import each
from tests.headless.inside import Inside
from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.program.terminal import Terminal

HEAVY = {"textual", "pydantic", "asyncio", "openai", "anthropic", "mcp", "httpx2"}
TITLE = "Calculate two things: (1) 355/113, (2) sqrt(2)"


@pytest.fixture
def used(fanout: Inside) -> Inside:
    """A home with a session, settings, a theme and servers whose tools are known."""
    assert fanout.run("run", TITLE).code == 0
    assert fanout.run("mcp", "list").code == 0
    fanout.write("home/config.toml", 'model = "lab/seven"\n[providers.lab]\nbase_url = "http://127.0.0.1:1/v1"\n')
    fanout.write("home/themes/mine.toml", "")
    return fanout


def completed(fanout: Inside, *words: str) -> dict[str, str]:
    done = Fanout(fanout.home.parent).run("__complete", "fish", *words)
    assert (done.code, done.err) == (0, "")
    return dict(line.partition("\t")[::2] for line in done.out.splitlines())


def test_every_kind_of_name_is_completed(used: Inside) -> None:
    (session,) = (json.loads(line) for line in used.run("sessions", "list", "--jsonl").out.splitlines())
    assert set(completed(used, "")) == {*COMMANDS}
    assert set(completed(used, "mc")) == {"mcp"}
    assert set(completed(used, "mcp", "t")) == {"test", "trust"}
    assert completed(used, "sessions", "show", "") == {session["id"][:8]: TITLE}
    assert completed(used, "sessions", "show", session["id"][:8], "") == {}
    assert completed(used, "-r", session["id"][:3]) == {session["id"][:8]: TITLE}
    assert {"calculator", "demo", "files"} <= set(completed(used, "mcp", "test", ""))
    assert "calculator.evaluate" in completed(used, "call", "calc")
    assert "calculator.evaluate" in completed(used, "run", "--allow-tool", "")
    assert {"lab/seven", "offline/rehearsal", "lab/", "anthropic/"} <= set(completed(used, "-m", ""))
    assert {"fanout-dark", "mine"} <= set(completed(used, "--theme", ""))
    assert {"call_timeout", "model"} <= set(completed(used, "config", "show", ""))
    assert set(completed(used, "config", "show", "max_st")) == {"max_steps"}
    assert set(completed(used, "schema", "serv")) == {"servers", "server"}
    assert set(completed(used, "man", "mc")) == {"mcp"}
    assert set(completed(used, "completion", "")) == {*SHELLS}
    assert set(completed(used, "run", "--eff")) == {"--effort"}
    assert set(completed(used, "run", "--effort", "m")) == {"minimal", "medium", "max"}
    assert set(completed(used, "run", "--effort=m")) == {"--effort=minimal", "--effort=medium", "--effort=max"}
    assert set(completed(used, "mcp", "list", "--ch")) == {"--check"}
    assert completed(used, "mcp", "get", "--ch") == {}
    assert completed(used, "parse", "--tools", "") == {":file": ""}
    assert completed(used, "-C", "") == {":folder": ""}
    assert completed(used, "frobnicate", "") == {name: one.about for name, one in COMMANDS.items()}


def test_servers_are_those_of_the_file_that_is_named(fanout: Inside) -> None:
    fanout.write("other.json", json.dumps({"mcpServers": {"mine": {"description": "My own"}}}))
    assert completed(fanout, "mcp", "test", "--mcp-config", "other.json", "") == {"mine": "My own"}
    assert completed(fanout, "--mcp-config", "other.json", "--mcp", "") == {"mine": "My own"}


def test_names_that_a_shell_or_terminal_could_take_amiss_are_left_out(fanout: Inside) -> None:
    hostile = ["$(touch x)", "a;b", "a\x1b[2Jb", "two words", "\u202eabc", "`id`", "it's"]
    fanout.write("mcp.json", json.dumps({"mcpServers": {name: {} for name in (*hostile, "fine")}}))
    assert set(completed(fanout, "mcp", "test", "")) == {"fine"}


@pytest.mark.parametrize(
    "broken", ["mcp.json", "home/config.toml", "home/data/sessions.db", "home/state/known_tools.json"]
)
def test_a_file_that_is_broken_completes_to_nothing_and_says_nothing(fanout: Inside, broken: str) -> None:
    fanout.write(broken, "\x00{[\n")
    for words in (("mcp", "test", ""), ("-m", ""), ("-r", ""), ("call", "")):
        completed(fanout, *words)
    assert set(completed(fanout, "mc")) == {"mcp"}


@each("words", [("ru",), ("sessions", "show", ""), ("mcp", "test", ""), ("-m", ""), ("call", "")])
def test_a_key_press_imports_nothing_heavy(used: Inside, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-P", "-m", "console_app", "__complete", "zsh", *words],
        env={**os.environ, "FANOUT_HOME": str(used.home), "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=used.cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    assert HEAVY.isdisjoint(line.rpartition("|")[2].strip() for line in done.stderr.splitlines())


def test_a_shell_that_knows_no_completion_is_one_line(fanout: Inside) -> None:
    done = fanout.run("completion", "tcsh")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "bash, zsh, fish" in done.err


# ---------------------------------------------------------------- in the shells themselves


@pytest.fixture
def on_path(tmp_path: Path) -> tuple[Fanout, dict[str, str]]:
    """A `fanout` that a shell finds, and the environment of that shell."""
    fanout = Fanout(tmp_path)
    program = tmp_path / "bin" / "fanout"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m console_app "$@"\n')
    program.chmod(0o755)
    for shell in SHELLS:
        fanout.write(f"complete.{shell}", SCRIPTS[shell])
    more = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    return fanout, fanout.environment({**more, "XDG_CONFIG_HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)})


BASH = """
source complete.bash
ask() {
    COMP_LINE=$1 COMP_POINT=${#1}
    read -ra COMP_WORDS <<<"$1"
    [[ $1 == *' ' ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _fanout
    echo "${COMPREPLY[*]}"
}
complete -p fanout
ask 'fanout mc'
ask 'fanout mcp '
ask 'fanout run --effort=m'
ask "fanout -C 'a b' run --eff"
"""


def test_bash_completes(on_path: tuple[Fanout, dict[str, str]]) -> None:
    fanout, environment = on_path
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH],
        cwd=fanout.cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.splitlines() == [
        "complete -F _fanout fanout",
        "mcp",
        "list get test add find remove auth import trust",
        "minimal medium max",
        "--effort",
    ]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes(on_path: tuple[Fanout, dict[str, str]]) -> None:
    fanout, environment = on_path
    asked = ["fanout mc", "fanout mcp t", "fanout run --effort=m", "fanout parse --tools complete.f"]
    lines = "\n".join(f"complete -C '{line}'" for line in asked)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source complete.fish\n{lines}"],
        cwd=fanout.cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [
        "mcp",
        "test",
        "trust",
        "--effort=minimal",
        "--effort=medium",
        "--effort=max",
        "complete.fish",
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_tab_key_completes_in_the_shell(on_path: tuple[Fanout, dict[str, str]], shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    fanout, environment = on_path
    start = {
        "bash": ["bash", "--norc", "--noprofile", "-i"],
        "zsh": ["zsh", "-f", "-i"],
        "fish": ["fish", "--no-config", "-i"],
    }[shell]
    with Terminal(start, env={**environment, "PS1": "ready> "}, cwd=fanout.cwd, rows=24, columns=80) as terminal:
        ready = {"bash": "", "zsh": "autoload -U compinit && compinit -u -D; ", "fish": ""}[shell]
        terminal.type(f"{ready}source ./complete.{shell} && echo loa''ded\r")
        terminal.expect("^loaded")
        line = "fanout"
        for typed, word in (("sess", "sessions"), ("exp", "export"), ("--fo", "--format"), ("sv", "svg")):
            terminal.type(f"{'' if word != 'sessions' else 'fanout '}{typed}\t")
            line = f"{line} {word}"
            terminal.expect(rf"{line}$")
