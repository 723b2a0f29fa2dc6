"""Files handed to other programs: the user's own editor, and the desktop's program for a saved file."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import AbstractContextManager
from pathlib import Path

from console_app.config.secrets import child_environment
from console_app.domain import FanoutError

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
        if found := shutil.which(name):
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


PATIENCE = 3.0  # seconds in which an opener that fails has said so


def open_file(path: str) -> str:
    if not Path(path).exists():
        return "the file is gone"
    program = "open" if sys.platform == "darwin" else "explorer" if sys.platform == "win32" else "xdg-open"
    found = shutil.which(program)
    if found is None:
        return f"there is no {program} here"
    try:
        process = subprocess.Popen(
            [found, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment.for_own_programs(os.environ),
            start_new_session=True,
        )
    except OSError as error:
        return error.strerror or str(error)
    waiting = threading.Thread(target=process.wait, name="opener", daemon=True)
    waiting.start()
    waiting.join(PATIENCE)
    if not waiting.is_alive() and process.returncode and sys.platform != "win32":
        return f"{program} ended with {process.returncode}"
    return ""
