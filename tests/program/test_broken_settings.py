"""A settings file that broke while the console runs is mended from there: on the screen and by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.process import Fanout
from tests.program.terminal import Terminal

BROKEN = "max_steps = = 3\n"


@pytest.fixture
def project(tmp_path: Path) -> Fanout:
    """A project with settings, and an editor that puts the next of `texts` in place of what it is given."""
    fanout = Fanout(tmp_path)
    fanout.write(".fanout/config.toml", "max_steps = 3\n")
    fanout.write("texts", "max_parallel = = 3\nmax_parallel = 4\n")
    script = '#!/bin/sh\ncat "$1" >> seen\nsed -n 1p texts > "$1"\nsed -n 2,9p texts > rest\nmv rest texts\n'
    fanout.write("editor", script).chmod(0o755)
    return fanout


def console(project: Fanout, *arguments: str) -> Terminal:
    environment = project.environment({"TERM": "xterm-256color", "VISUAL": str(project.cwd / "editor")})
    argv = project.argv(*arguments, "-m", "offline/rehearsal")
    return Terminal(argv, env=environment, cwd=project.cwd, rows=24, columns=400)


def test_on_the_screen_f4_opens_the_file_that_is_broken(project: Fanout) -> None:
    file, own = project.cwd / ".fanout/config.toml", project.home / "config.toml"
    with console(project) as terminal:
        terminal.expect("A scripted model answers")
        file.write_text(BROKEN)
        terminal.type("/config\r")
        terminal.expect(r"config\.toml:1:13: invalid value(?s:.*)f4")
        terminal.press("f4")
        terminal.expect("Kept. Still wrong: ")
        assert file.read_text() == "max_parallel = = 3\n"
        terminal.press("f4")
        terminal.expect("Kept. It holds from the next start on")
        terminal.press("escape")
        terminal.expect_gone("─ Settings ─")
    assert (project.cwd / "seen").read_text() == f"{BROKEN}max_parallel = = 3\n"
    assert file.read_text() == "max_parallel = 4\n"
    assert not own.exists()


def test_by_line_too_and_what_is_wrong_elsewhere_keeps_nobody_from_setting(project: Fanout) -> None:
    file, own = project.cwd / ".fanout/config.toml", project.home / "config.toml"
    with console(project, "--screen-reader") as terminal:
        terminal.expect("Fanout, as lines")
        file.write_text(BROKEN)
        terminal.type("/config max_steps 7\n")
        terminal.expect(r"max_steps is written to .*It can't hold before this is mended: .*config\.toml:1:13: invalid")
        assert own.read_text() == "max_steps = 7\n"
        terminal.type("/config\n")
        terminal.expect(r"Error: .*config\.toml:1:13: .*/config edit opens it")
        terminal.type("/config edit\n")
        terminal.expect(r"config\.toml is kept\. Still wrong: .*config\.toml:1:16")
        terminal.type("/config edit\n")
        terminal.expect(r"config\.toml is kept\. It holds from the next start on")
        terminal.type("/config max_steps\n")
        terminal.expect("max_steps: 7, by .*home/config.toml")
