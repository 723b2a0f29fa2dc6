"""Where a run tells other terminals how far it is, and hears from them that it should stop: one file a run."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from console_app.config.machine.paths import private_folder, write_private
from console_app.domain.batch import BatchSnapshot
from console_app.domain.errors import ConfigError, UsageError
from console_app.sessions.lock import SessionLock

_NAME = re.compile(r"[^\w.-]+")
_MOST = 1_000  # runs of the same name at once
log = logging.getLogger(__name__)


class StatusFile:
    """That of a run which is going on, in `folder`; `name` is free while nobody else has it. Nothing here fails the
    run: a status that can't be written is logged."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        plain = _NAME.sub("-", name).strip(".-") or "batch"
        for number in range(1, _MOST):
            self.name = plain if number == 1 else f"{plain}-{number}"
            self._lock = SessionLock(folder, self.name)
            if self._lock.take():
                break
        self._stop = folder / f"{self.name}.stop"
        self._stop.unlink(missing_ok=True)

    async def publish(self, snapshot: BatchSnapshot) -> None:
        """Puts a snapshot where others see it."""
        try:
            await asyncio.to_thread(write_private, _file(self._folder, self.name), snapshot.model_dump_json())
        except ConfigError as error:
            log.warning("%s", error.line)

    async def stop_asked(self) -> bool:
        """Whether somebody wants the run to stop."""
        return await asyncio.to_thread(self._stop.exists)

    def close(self) -> None:
        """The run is over; its last snapshot stays."""
        self._stop.unlink(missing_ok=True)
        self._lock.let_go()


def known(folder: Path) -> list[BatchSnapshot]:
    """The newest snapshot of every run that is known, those that run first, then the newest."""
    found = list(_read(folder))
    return sorted(found, key=lambda one: (one.state == "ended", -one.at))


def named(folder: Path, name: str) -> BatchSnapshot:
    """The run called `name`. Raises UsageError."""
    runs = known(folder)
    for run in runs:
        if run.name == name:
            return run
    names = ", ".join(run.name for run in runs[:10]) or "none"
    raise UsageError(f"no batch is called {name}", f"There are: {names}.")


def ask_to_stop(folder: Path, name: str) -> None:
    """Has a run stop within a second or two. Raises UsageError for one that doesn't run."""
    if named(folder, name).state == "ended":
        raise UsageError(f"the batch {name} doesn't run any more", f"fanout batch show {name} says how it ended.")
    private_folder(folder)
    (folder / f"{name}.stop").touch()


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _read(folder: Path) -> Iterator[BatchSnapshot]:
    for path in sorted(folder.glob("*.json")):
        try:
            snapshot = BatchSnapshot.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            log.warning("%s can't be read: %s", path, error)
            continue
        if snapshot.state != "ended" and _is_free(folder, path.stem):
            gone = "its process was ended from outside"
            snapshot = snapshot.model_copy(update={"state": "ended", "ending": gone, "running": ()})
        yield snapshot


def _is_free(folder: Path, name: str) -> bool:
    lock = SessionLock(folder, name)
    free = lock.take()
    lock.let_go()
    return free
