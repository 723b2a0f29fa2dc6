"""The clipboard is read by the program of its desktop, within bounds, and no process is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from console_app.console.files import clipboard, copy_in_tmux, read_clipboard
from console_app.console.files.clipboard import Clip, ClipboardError
from tests.console.test_attachments import JPEG, png
from tests.patience import PATIENCE

WAYLAND = """
case "$*" in
  -l) [ -f {clip} ] && cat {clip}.kinds || exit 1 ;;
  "-n -t image/png"|"-n -t image/jpeg"|-n) cat {clip} ;;
  *) exit 64 ;;
esac
"""
X11 = """
case "$*" in
  "-selection clipboard -o -t TARGETS") [ -f {clip} ] && (echo TARGETS; cat {clip}.kinds) || exit 1 ;;
  "-selection clipboard -o -t image/png" | \
  "-selection clipboard -o -t image/jpeg"|"-selection clipboard -o") cat {clip} ;;
  *) exit 64 ;;
esac
"""
MAC = """[ "$1" = - ] && grep -q image {clip}.kinds && cat {clip} || exit 1"""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no clipboard that does not answer."""
    monkeypatch.setattr(clipboard, "PATIENCE", PATIENCE)


def program(folder: Path, name: str, script: str) -> None:
    """Puts a program on the search path that answers as the one of that name does."""
    bin = folder / "bin"
    bin.mkdir(exist_ok=True)
    path = bin / name
    path.write_text("#!/bin/sh\n" + script.replace("{clip}", str(folder / "clip")))
    path.chmod(0o755)


def copied(folder: Path, content: bytes, *kinds: str) -> None:
    (folder / "clip").write_bytes(content)
    (folder / "clip.kinds").write_text("\n".join(kinds) + "\n")


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", **more}


@pytest.mark.parametrize(
    ("name", "script", "variable"), [("wl-paste", WAYLAND, "WAYLAND_DISPLAY"), ("xclip", X11, "DISPLAY")]
)
async def test_a_picture_a_text_or_nothing(tmp_path: Path, name: str, script: str, variable: str) -> None:
    program(tmp_path, name, script)
    here = environ(tmp_path, **{variable: ":0"})
    assert await read_clipboard(here, "linux") == Clip()
    copied(tmp_path, png(), "text/html", "image/png")
    assert await read_clipboard(here, "linux") == Clip(png())
    copied(tmp_path, JPEG, "image/jpeg")
    assert await read_clipboard(here, "linux") == Clip(JPEG)
    copied(tmp_path, "wörter\n".encode(), "text/plain", "UTF8_STRING")
    assert await read_clipboard(here, "linux") == Clip(text="wörter\n")


async def test_on_a_mac(tmp_path: Path) -> None:
    program(tmp_path, "pngpaste", MAC)
    program(tmp_path, "pbpaste", "cat {clip}")
    copied(tmp_path, png(), "image")
    assert await read_clipboard(environ(tmp_path), "darwin") == Clip(png())
    copied(tmp_path, b"words", "text")
    assert await read_clipboard(environ(tmp_path), "darwin") == Clip(text="words")


async def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ClipboardError, match=r"no desktop.*@"):
        await read_clipboard({"PATH": str(tmp_path)}, "linux")
    with pytest.raises(ClipboardError, match=r"not installed: wl-clipboard or xclip.*@"):
        await read_clipboard({"PATH": str(tmp_path), "WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "linux")
    with pytest.raises(ClipboardError, match=r"not installed: pngpaste"):
        await read_clipboard({"PATH": str(tmp_path)}, "darwin")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_program_that_never_ends_or_never_stops_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = environ(tmp_path, DISPLAY=":0")
    program(tmp_path, "xclip", "echo $$ > {clip}.pid\nexec yes image/png")
    monkeypatch.setattr(clipboard, "LARGEST_TEXT", 100_000)
    with pytest.raises(ClipboardError, match=r"larger than 100.0 KB"):
        await read_clipboard(here, "linux")
    assert not is_alive(int((tmp_path / "clip.pid").read_text()))
    program(tmp_path, "xclip", "exec sleep 1000")
    monkeypatch.setattr(clipboard, "PATIENCE", 0.1)
    with pytest.raises(ClipboardError, match=r"xclip gave nothing"):
        await read_clipboard(here, "linux")


async def test_tmux_is_given_what_was_copied_and_one_that_cant_take_it_is_no_error(tmp_path: Path) -> None:
    program(tmp_path, "tmux", '[ "$*" = "load-buffer -w -" ] && cat > {clip}')
    await copy_in_tmux("wörter\n", environ(tmp_path))
    assert not (tmp_path / "clip").exists(), "not inside tmux"
    await copy_in_tmux("wörter\n", environ(tmp_path, TMUX="/tmp/tmux-1/default,1,0"))
    assert (tmp_path / "clip").read_text(encoding="utf-8") == "wörter\n"
    program(tmp_path, "tmux", "exit 1")
    await copy_in_tmux("x" * 1_000_000, environ(tmp_path, TMUX="/tmp/tmux-1/default,1,0"))


@pytest.mark.parametrize("script", ["exec yes", "setsid sleep 1000 & echo $! > {clip}.pid; exec sleep 1000"])
async def test_a_tmux_that_takes_nothing_and_leaves_its_pipes_open_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """The wait for its end lasted as long as what it had written, or had started, was there."""
    program(tmp_path, "tmux", script)
    monkeypatch.setattr(clipboard, "PATIENCE", 0.5)
    try:
        async with asyncio.timeout(PATIENCE):
            await copy_in_tmux("x" * 5_000_000, environ(tmp_path, TMUX="/tmp/tmux-1/default,1,0"))
    finally:
        if (pid := tmp_path / "clip.pid").exists() and (number := pid.read_text()):  # made before it is written
            os.kill(int(number), signal.SIGKILL)
