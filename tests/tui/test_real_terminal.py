"""The console in a real pseudo-terminal: what Pilot can't see, which is the terminal itself."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from tests.each import each
from tests.program.process import Fanout
from tests.program.terminal import Terminal

READY = "Ask, or / for commands"


def console(folder: Path, **env: str) -> Terminal:
    fanout = Fanout(folder)
    environment = fanout.environment({"TERM": "xterm-256color", "COLORTERM": "truecolor", **env})
    return Terminal(fanout.argv("--no-mcp"), env=environment, cwd=fanout.cwd)


@each("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_a_signal_leaves_the_terminal_as_it_was(tmp_path: Path, number: signal.Signals) -> None:
    with console(tmp_path) as terminal:
        terminal.expect(READY)
        terminal.signal(number)
        assert terminal.wait_exit() == 128 + number
        assert terminal.left_changed() == []


def test_bytes_that_are_no_text_a_big_paste_and_alt_enter(tmp_path: Path) -> None:
    with console(tmp_path) as terminal:
        terminal.expect(READY)
        terminal.write(b"\xff\xfe")
        terminal.type("still here")
        terminal.expect("still here")
        terminal.write(b"\x1b\r")
        terminal.paste("a line of a log\n" * 60_000)
        assert "still here" in terminal.expect(r"\[Pasted 60,000 lines\]")


def test_the_prompt_is_written_in_your_editor(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf " and then some" >> "$1"\necho EDITOR HAS THE TERMINAL\n')
    editor.chmod(0o755)
    with console(tmp_path, VISUAL=str(editor)) as terminal:
        terminal.expect(READY)
        terminal.type("a draft")
        terminal.expect("a draft")
        terminal.write(b"\x07")
        terminal.expect("a draft and then some")
        assert b"EDITOR HAS THE TERMINAL" in terminal.raw


def test_an_editor_that_is_missing_is_one_line(tmp_path: Path) -> None:
    with console(tmp_path, VISUAL="no-such-editor") as terminal:
        terminal.expect(READY)
        terminal.type("a draft")
        terminal.expect("a draft")
        terminal.write(b"\x07")
        assert "a draft" in terminal.expect("Editor: no-such-editor")  # the toast may be narrow: the rest wraps


def test_sixteen_colours_get_the_terminals_own(tmp_path: Path) -> None:
    with console(tmp_path, TERM="xterm", COLORTERM="") as terminal:
        terminal.expect(READY)
        assert b"[38;2;" not in terminal.raw
        assert b"[38;5;" not in terminal.raw


def test_sixteen_colours_on_white_are_those_that_can_be_read_there(tmp_path: Path) -> None:
    with console(tmp_path, TERM="xterm", COLORTERM="", COLORFGBG="0;15") as terminal:
        terminal.expect(READY)
        assert re.search(rb"\x1b\[[0-9;]*\b34\b", terminal.raw)  # blue, where a dark terminal has bright yellow
        assert not re.search(rb"\x1b\[[0-9;]*\b9[0-7]\b", terminal.raw)


@each("inside", [True, False])
def test_the_mouse_is_left_to_gnu_screen_which_keeps_esc_back_else(tmp_path: Path, inside: bool) -> None:
    with console(tmp_path, TMUX="", STY="1.screen" if inside else "") as terminal:
        terminal.expect(READY)
        assert (b"\x1b[?1000h" in terminal.raw) is not inside


def test_the_shell_is_told_how_a_conversation_goes_on_and_nothing_after_none(tmp_path: Path) -> None:
    with console(tmp_path) as terminal:
        terminal.expect(READY)
        terminal.type("/quit\r")
        assert terminal.wait_exit() == 0
        assert b"fanout -r" not in terminal.raw
    with console(tmp_path) as terminal:
        terminal.expect(READY)
        terminal.type("Calculate 12*12\r")
        terminal.expect("✓ done ·")
        terminal.type("/quit\r")
        assert terminal.wait_exit() == 0
        assert re.search(rb"fanout -r [0-9a-f]{8} goes on with this conversation\.\r?\n", terminal.raw)
        assert terminal.left_changed() == []
