"""Hands a saved file to the desktop's own program for it, because somebody asked for that very one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from console_app.config.secrets import child_environment

PATIENCE = 3.0  # seconds in which an opener that fails has said so


def open_file(path: str) -> str:
    """Why that failed, or ""; for a thread: it may take PATIENCE."""
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
