"""Manual pages: every command has one, it says what the help says, and the programs that read it have no complaint."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from console_app.command_line import COMMANDS
from console_app.command_line.help_text import pages
from tests.each import each
from tests.headless.inside import Inside

PAGES = pages()


def _read(page: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(
        ["man", "--warnings=w", "-E", "ascii", "-l", str(page)], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man")
@each("name", PAGES)
def test_man_reads_a_page_without_a_warning_and_shows_every_option(name: str, tmp_path: Path) -> None:
    page = tmp_path / name
    page.write_text(PAGES[name])
    shown = " ".join(_read(page).split())
    command = COMMANDS.get(name.removeprefix("fanout-").removesuffix(".1"))
    for flag in command.all_flags() if command else ():
        assert f"{', '.join(flag.names)} {flag.metavar}".strip() in shown
        assert flag.help in shown
    assert "nobody could approve a call" in shown


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="there is no mandoc")
@each("name", PAGES)
def test_mandoc_finds_nothing_wrong_but_the_date_that_is_left_out(name: str, tmp_path: Path) -> None:
    page = tmp_path / name
    page.write_text(PAGES[name])
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(page)], capture_output=True, text=True, check=False)
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


def test_fanout_man_prints_the_page_of_a_command(fanout: Inside) -> None:
    assert fanout.run("man").out == PAGES["fanout.1"]
    assert fanout.run("man", "mcp").out == PAGES["fanout-mcp.1"]


def test_what_roff_would_take_for_its_own_is_escaped() -> None:
    for text in PAGES.values():
        for line in text.splitlines():
            assert not line.startswith("'")
            assert "`" not in line
