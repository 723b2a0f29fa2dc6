"""Writes what happened when the program failed by a fault of its own: one private file, without secrets.

A traceback without the values of variables, since prompts, results and keys are among them.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from pathlib import Path

from console_app._version import __version__
from console_app.config.files import disk
from console_app.config.machine.extras import version_of
from console_app.config.secrets import Redactor
from console_app.domain import ConfigError, visible

MOST_REPORTS = 10  # reports; the oldest go
_PACKAGES = ("textual", "mcp", "openai", "anthropic", "pydantic")
_FRAMES = 60  # of one traceback: a recursion without end would fill the file


def write_report(folder: Path, error: BaseException, redactor: Redactor, *, doing: str = "") -> Path | None:
    """Write `crash-*.txt` into `folder`; None when that can't be done either. `doing` says what was being done."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    path = folder / f"crash-{stamp}-{os.getpid()}.txt"
    text = "\n".join([*_facts(doing), "", *_traceback(error)])
    try:
        disk.write_private(path, visible(redactor.clean(text)) + "\n")
        for old in sorted(folder.glob("crash-*.txt"))[:-MOST_REPORTS]:
            old.unlink(missing_ok=True)
    except (ConfigError, OSError):
        return None
    return path


def _facts(doing: str) -> list[str]:
    packages = [f"{name} {version_of(name) or '(missing)'}" for name in _PACKAGES]
    lines = [
        f"fanout {__version__} ended by a fault of its own.",
        f"when: {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC",
        f"python: {platform.python_version()} on {platform.system()} {platform.release()} {platform.machine()}",
        f"packages: {', '.join(packages)}",
        f"terminal: TERM={os.environ.get('TERM', '')} LANG={os.environ.get('LANG', '')}",
        f"command: {' '.join(_flags())}",
    ]
    return [*lines, f"doing: {doing}"] if doing else lines


def _flags() -> list[str]:
    """Return the command line without the words behind its flags: prompts are private."""
    return ["fanout", *(word.partition("=")[0] for word in sys.argv[1:] if word.startswith("-"))]


def _traceback(error: BaseException) -> list[str]:
    whole = traceback.TracebackException.from_exception(error, limit=-_FRAMES, capture_locals=False, max_group_width=5)
    return "".join(whole.format()).splitlines()
