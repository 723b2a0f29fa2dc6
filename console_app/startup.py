"""Opens the console: paints at once, and loads what it runs on (`commands/console.py`) behind the first paint.

What is wrong in the settings is therefore found out with the screen already taken: it is given back first, then the one
line is told, as it is for every command.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.config.files import Paths
from console_app.config.machine import page_in_use
from console_app.config.settings import read_startup_settings
from console_app.tui.app import FanoutApp, StartupParts

if TYPE_CHECKING:
    from console_app.console import Services


def run_console(arguments: Namespace) -> int:
    """Run the console until it is left; return the exit code. Raises FanoutError for a fault in a flag or a file."""
    for name in ("COLUMNS", "LINES"):  # as they were when the shell set them; the terminal knows its size
        os.environ.pop(name, None)
    app = FanoutApp(_startup_parts(arguments), prompt=arguments.prompt)
    code = app.run() or 0
    if app.failure is not None:
        raise app.failure
    if app.crash is not None:
        where = app.crash_report or "the log (fanout config path)"
        sys.stderr.write(f"fanout: ended by an internal error, {type(app.crash).__name__}. What happened: {where}\n")
    elif code == 0 and app.kept_session and sys.stdout.isatty() and page_in_use() is None:
        sys.stdout.write(f"fanout -r {app.kept_session[:8]} goes on with this conversation.\n")
    return code


def _startup_parts(arguments: Namespace) -> StartupParts:
    paths = Paths.find()
    cwd = Path(arguments.cwd or ".").absolute()
    settings = read_startup_settings(paths, cwd=cwd, flag=arguments.theme, environ=os.environ)
    return StartupParts(
        load=partial(_load, arguments),
        history_path=paths.history,
        theme_dirs=paths.theme_dirs,
        theme=settings.theme,
        working_folder=cwd,
        keymap=settings.keys,
        theme_is_set=settings.theme_is_set,
        write_crash_report=partial(_write_crash_report, paths.state),
    )


def _load(arguments: Namespace) -> Services:
    # This imports settings, engine and servers, which takes longer than the first paint.
    from console_app.commands import open_services

    return open_services(arguments)


def _write_crash_report(folder: Path, error: BaseException) -> Path | None:
    from console_app.config.machine import write_report
    from console_app.config.secrets import redactor_in_use

    return write_report(folder, error, redactor_in_use(os.environ), doing="opening")
