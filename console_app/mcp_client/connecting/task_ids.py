"""Keep the ids of the tasks that calls became while these run, so that a call that was killed finds its task again.

Each id is in a file of the process that waits for it. Whoever makes the same call when that process is gone goes on
with its task.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from console_app.config.files import disk
from console_app.config.machine import process_runs
from console_app.domain import ConfigError

log = logging.getLogger(__name__)


class TaskIds:
    """The kept task ids of one hub. Files that are there when it is made were left by processes that are gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left: dict[str, Path] = {}
        with suppress(OSError):
            for path in folder.iterdir():
                key, _, process = path.name.partition(".")
                if process.isdecimal() and not process_runs(int(process)):
                    self._left[key] = path

    def __bool__(self) -> bool:
        return bool(self._left)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    @staticmethod
    def key(server: str, tool: str, call_id: str, arguments: Mapping[str, Any]) -> str:
        told = json.dumps([server, tool, call_id, arguments], sort_keys=True, default=str)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def left(self, key: str) -> str:
        """Return the id of the task that this call became in a process that is gone, once; "" where there is none."""
        if (path := self._left.pop(key, None)) is None:
            return ""
        with suppress(OSError, ValueError):
            task = path.read_text(encoding="utf-8").strip()
            path.unlink()
            return task
        return ""

    def begun(self, key: str, task: str) -> None:
        try:
            disk.private_folder(self._folder)
            disk.write_private(self._own(key), f"{task}\n")
        except (ConfigError, OSError) as error:
            log.warning("the id of a task can't be kept: %s", error)

    def over(self, key: str) -> None:
        self._own(key).unlink(missing_ok=True)

    def _own(self, key: str) -> Path:
        return self._folder / f"{key}.{os.getpid()}"


class BegunTask:
    """The task that a call became, and its id on disk; "" where it is none."""

    def __init__(self, ids: TaskIds, key: str, task: str) -> None:
        self._ids, self._key = ids, key
        self._kept = False
        self.task = task

    async def keep(self, task: str) -> None:
        """Keep the id before anything else is asked of the server."""
        if self.task != task or not self._kept:
            self.task, self._kept = task, True
            await asyncio.to_thread(self._ids.begun, self._key, task)

    def over(self) -> None:
        if self._kept:
            self._ids.over(self._key)
