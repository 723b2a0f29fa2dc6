"""Starts the user's browser with a page, from a process of its own that has no secret of Fanout's environment: Python's
`webbrowser` gives a browser all that the process has which calls it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from console_app.config.secrets.child_environment import for_own_programs

_PROGRAM = "import sys, webbrowser; webbrowser.open(sys.argv[1])"


def start_browser(url: str) -> subprocess.Popen[bytes]:
    """The process that opens `url`, which ends when the browser has it. Raises OSError where none can be started."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=for_own_programs(os.environ),
        start_new_session=True,
    )
    threading.Thread(target=process.wait, name="browser", daemon=True).start()
    return process
