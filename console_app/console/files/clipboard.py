"""Other programs of this machine: the desktop's clipboard, read by the program installed for it, only when asked, and
that of tmux, which is written to; the user's own editor, and the desktop's program for a saved file. A terminal pastes
text alone."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from console_app.config.machine import child_programs
from console_app.config.secrets import child_environment
from console_app.domain import FanoutError, amounts, picture_size
from console_app.records import dataclass
from console_app.search_path import search_path

PATIENCE = 5.0  # seconds that one program is given: whoever owns the clipboard may not answer
LARGEST_TEXT = 10_000_000  # bytes
_KINDS = ("image/png", "image/jpeg", "image/webp", "image/gif")  # that models are shown, the usual one first
_PIECE = 65_536


class ClipboardError(FanoutError):
    title = "Clipboard"


@dataclass(frozen=True, slots=True)
class Clip:
    picture: bytes = b""
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Programs:
    """Commands that ask a clipboard for its kinds, for a picture of a kind, and for its text. Without `kinds`, PNG
    alone is tried."""

    kinds: Sequence[str]
    picture: Sequence[str]
    text: Sequence[str]


_WAYLAND = _Programs(("wl-paste", "-l"), ("wl-paste", "-n", "-t", "{}"), ("wl-paste", "-n"))
_X11 = _Programs(
    ("xclip", "-selection", "clipboard", "-o", "-t", "TARGETS"),
    ("xclip", "-selection", "clipboard", "-o", "-t", "{}"),
    ("xclip", "-selection", "clipboard", "-o"),
)
_MAC = _Programs((), ("pngpaste", "-"), ("pbpaste",))


async def read_clipboard(environ: Mapping[str, str], platform: str = sys.platform) -> Clip:
    programs = _programs(environ, platform)
    kinds: Sequence[str] = _KINDS[:1]
    if programs.kinds:
        listed = (await _output(programs.kinds, environ, LARGEST_TEXT)).decode("utf-8", "replace").split()
        kinds = [kind for kind in _KINDS if kind in listed][:1]
    for kind in kinds:
        command = [word.format(kind) for word in programs.picture]
        if picture_size.picture_type(picture := await _output(command, environ, picture_size.LARGEST_FILE)):
            return Clip(picture)
    return Clip(text=(await _output(programs.text, environ, LARGEST_TEXT)).decode("utf-8", "replace"))


async def copy_in_tmux(text: str, environ: Mapping[str, str]) -> None:
    """Hand tmux the copied text, when the console runs inside it: by itself it ignores programs' OSC 52. Versions
    before 3.2 can't."""
    if environ.get("TMUX"):
        with suppress(ClipboardError):
            await _output(("tmux", "load-buffer", "-w", "-"), environ, LARGEST_TEXT, text.encode("utf-8", "replace"))


def _programs(environ: Mapping[str, str], platform: str) -> _Programs:
    """Return the commands for this desktop. Raises ClipboardError where it has none, or where there is no desktop."""
    wanted: list[_Programs] = []
    if platform == "darwin":
        wanted = [_MAC]
    else:
        wanted += [_WAYLAND] if environ.get("WAYLAND_DISPLAY") else []
        wanted += [_X11] if environ.get("DISPLAY") else []
    for programs in wanted:
        if shutil.which(programs.picture[0], path=search_path(environ)):
            return programs
    if not wanted:
        raise ClipboardError("no desktop's clipboard can be reached from here.", "Name the picture's file with @.")
    names = " or ".join("wl-clipboard" if one is _WAYLAND else one.picture[0] for one in wanted)
    raise ClipboardError(f"a program to read it is not installed: {names}.", "Or name the picture's file with @.")


async def _output(command: Sequence[str], environ: Mapping[str, str], most: int, given: bytes = b"") -> bytes:
    if (program := shutil.which(command[0], path=search_path(environ))) is None:
        return b""
    try:
        process = await child_programs.start(
            program,
            *command[1:],
            stdin=asyncio.subprocess.PIPE if given else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=child_environment.for_own_programs(environ),
        )
    except OSError as error:
        raise ClipboardError(f"{command[0]} can't be started: {error.strerror}.") from None
    try:
        async with asyncio.timeout(PATIENCE):
            if process.stdin is not None:
                with suppress(ConnectionError):
                    process.stdin.write(given)
                    await process.stdin.drain()
                process.stdin.close()
            content = await _read(process, most)
            if content is None:
                await child_programs.end(process)
            failed = await process.wait() != 0
    except TimeoutError:
        await child_programs.end(process)
        raise ClipboardError(f"{command[0]} gave nothing within {PATIENCE:g} s.", "Copy it once more.") from None
    except BaseException:
        await child_programs.end(process)
        raise
    if content is None:
        raise ClipboardError(f"what is on it is larger than {amounts.size(most)}.", "Name its file with @.")
    return b"" if failed else content


async def _read(process: asyncio.subprocess.Process, most: int) -> bytes | None:
    assert process.stdout is not None
    pieces: list[bytes] = []
    length = 0
    while piece := await process.stdout.read(_PIECE):
        pieces.append(piece)
        if (length := length + len(piece)) > most:
            return None
    return b"".join(pieces)


FALLBACKS = ("nano", "vim", "vi")


class EditorError(FanoutError):
    title = "Editor"


def editor_command() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return shlex.split(named)
    if not sys.stdin.isatty():
        raise EditorError("none is named, and there is no terminal.", "Set VISUAL or EDITOR to one that needs none.")
    for name in FALLBACKS:
        if found := shutil.which(name, path=search_path(os.environ)):
            return [found]
    raise EditorError("none is installed.", "Set VISUAL or EDITOR to the one you use.")


async def edited(text: str, away: AbstractContextManager[object], *, suffix: str = ".md") -> str:
    """Return `text` as saved in the editor, which has the terminal within `away`. Raises EditorError."""
    command = editor_command()
    handle, name = tempfile.mkstemp(prefix="fanout-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        with away:
            problem = await asyncio.to_thread(_run, [*command, name])
        if problem:
            raise EditorError(f"{command[0]} {problem}.", "Nothing was changed; VISUAL or EDITOR names another.")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    finally:
        path.unlink(missing_ok=True)


def _run(command: list[str]) -> str:
    """Run the editor; say what went wrong, or "". It must not raise: a screen only comes back then."""
    try:
        status = subprocess.run(command, check=False, env=child_environment.for_own_programs(os.environ)).returncode
    except OSError as error:
        return f"can't be started: {error.strerror}"
    return f"ended with status {status}" if status else ""


OPENING = 3.0  # seconds in which an opener that fails has said so


def open_file(path: str) -> str:
    if not Path(path).exists():
        return "the file is gone"
    program = "open" if sys.platform == "darwin" else "xdg-open"
    found = shutil.which(program, path=search_path(os.environ))
    if found is None:
        return f"there is no {program} here"
    try:
        process, waiting = child_programs.start_apart([found, path])
    except OSError as error:
        return error.strerror or str(error)
    waiting.join(OPENING)
    if not waiting.is_alive() and process.returncode:
        return f"{program} ended with {process.returncode}"
    return ""
