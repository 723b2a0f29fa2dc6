"""Where a run writes, checked before anything runs: nothing takes the place of what it reads, or of its results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from console_app.batch.changes import notes_of
from console_app.domain.errors import UsageError


def check_places(read: Sequence[Path], results: Path, report: Path | None, events: Path | None) -> None:
    """`read` are the files of items, `events` is a folder. Raises UsageError."""
    items = {path.resolve() for path in read}
    if results.resolve() in items:
        raise UsageError(f"{results} can't be the file of items and that of results", "Name another with -o.")
    written = {results.resolve(), notes_of(results).resolve()}
    if report is not None:
        _check_report(report, items | written)
        written.add(report.resolve())
    if events is not None and (both := [path for path in items | written if path.parent == events.resolve()]):
        raise UsageError(f"--events {events}: {both[0].name} is in that folder too", "Name a folder of its own.")


def _check_report(path: Path, taken: set[Path]) -> None:
    if path.resolve() in taken:
        raise UsageError(f"--report {path} would take the place of another file of this run", "Name another file.")
    if path.is_dir():
        raise UsageError(f"--report {path}: Is a directory")
    if not path.parent.is_dir():
        raise UsageError(f"--report {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--report {path}: Permission denied")
