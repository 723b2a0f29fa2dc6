"""Sends every log record to a rotating file in the state folder, so that no library's log reaches the terminal.

Where the program failed by a fault of its own, one private file says what happened: a traceback without the values of
variables, since prompts, results and keys are among them.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import platform
import sys
import time
import traceback
from io import TextIOWrapper
from pathlib import Path

from console_app._version import __version__
from console_app.config.files import disk
from console_app.config.machine.extras import version_of
from console_app.config.secrets import Redactor, WithoutSecrets
from console_app.domain import ConfigError, visible

_SIZE = 2_000_000  # bytes of one file
_OLD_FILES = 3
_CHATTY = ("asyncio", "httpx2", "httpcore2", "openai", "anthropic", "mcp", "markdown_it")
_FORMAT = "%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s"


class _PrivateRotatingFile(logging.handlers.RotatingFileHandler):
    """Log files that only this user can read: prompts and results may be in them."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(
            self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, disk.PRIVATE_FILE
        )
        os.fchmod(descriptor, disk.PRIVATE_FILE)  # it may be there already
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)


class _Visible(WithoutSecrets):
    """A record for the terminal: control characters of foreign text become visible marks."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def log_to(path: Path | None, *, debug: bool = False, stderr: bool = False, redactor: Redactor | None = None) -> None:
    """Log to `path`, everything with `debug`, else from INFO on (libraries from WARNING); once a process.

    None: nowhere. With `stderr` records are written there too. Raises ConfigError when the file can't be written.
    """
    logging.captureWarnings(True)
    if path is None:
        logging.basicConfig(handlers=[logging.NullHandler()], force=True)
        return
    try:
        disk.private_folder(path.parent)
        file = _PrivateRotatingFile(
            path, maxBytes=_SIZE, backupCount=_OLD_FILES, encoding="utf-8", errors="backslashreplace"
        )
    except OSError as error:
        raise ConfigError(f"can't write the log {path}: {error.strerror or error}", "See --log-file.") from None
    redactor = redactor or Redactor()
    handlers: list[logging.Handler] = [file]
    file.setFormatter(WithoutSecrets(_FORMAT, redactor))
    if stderr:
        terminal = logging.StreamHandler(sys.stderr)
        terminal.setFormatter(_Visible(_FORMAT, redactor))
        handlers.append(terminal)
    logging.basicConfig(level=logging.DEBUG if debug else logging.INFO, handlers=handlers, force=True)
    logging.raiseExceptions = False  # a full disk under the log is no reason to write tracebacks over the screen
    if not debug:
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)


MOST_REPORTS = 10  # reports; the oldest go
_PACKAGES = ("textual", "mcp", "openai", "anthropic", "pydantic")
_FRAMES = 60  # of one traceback: a recursion without end would fill the file


def write_report(folder: Path, error: BaseException, redactor: Redactor, *, doing: str = "") -> Path | None:
    """Write `crash-*.txt` into `folder`; None when that can't be done either. `doing` says what was being done."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    path = folder / f"crash-{stamp}-{os.getpid()}.txt"
    whole = traceback.TracebackException.from_exception(error, limit=-_FRAMES, capture_locals=False, max_group_width=5)
    text = "\n".join([*_facts(doing), "", *"".join(whole.format()).splitlines()])
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
        # Without the words behind its flags: prompts are private.
        f"command: {' '.join(['fanout', *(one.partition('=')[0] for one in sys.argv[1:] if one.startswith('-'))])}",
    ]
    return [*lines, f"doing: {doing}"] if doing else lines
