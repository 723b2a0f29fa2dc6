"""The prompt in your own editor: $VISUAL, else $EDITOR, else what is installed.

The turn goes on meanwhile (the editor is waited for in a thread), with painting held back until you return.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported

from console_app.config.child_environment import for_own_programs
from console_app.domain.errors import FanoutError

FALLBACKS = ("nano", "vim", "vi")


class EditorError(FanoutError):
    """The editor can't be run, or failed."""

    title = "Editor"


def editor_command() -> list[str]:
    """The editor's command line."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return shlex.split(named)
    for name in FALLBACKS:
        if found := shutil.which(name):
            return [found]
    raise EditorError("none is installed.", "Set VISUAL or EDITOR to the one you use.")


async def edit(app: App[int], text: str, *, suffix: str = ".md") -> str:
    """`text` as it was saved in the editor; raises EditorError when there is none or it failed."""
    command = editor_command()
    handle, name = tempfile.mkstemp(prefix="fanout-", suffix=suffix)
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            with app.batch_update(), app.suspend():
                problem = await asyncio.to_thread(_run, [*command, name])
        except SuspendNotSupported:
            raise EditorError("this terminal can't be handed over to it.") from None
        if problem:
            raise EditorError(f"{command[0]} {problem}.", "Nothing was changed; VISUAL or EDITOR names another.")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    finally:
        path.unlink(missing_ok=True)


def _run(command: list[str]) -> str:
    """Runs the editor and says what went wrong, or "". It must not raise: Textual resumes only after a normal end."""
    try:
        status = subprocess.run(command, check=False, env=for_own_programs(os.environ)).returncode
    except OSError as error:
        return f"can't be started: {error.strerror}"
    return f"ended with status {status}" if status else ""
