"""Keep unsent prompts: a small file a session, which outlives a crash. A session that has not begun is kept by its
folder and process: two consoles in one folder keep one each."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from console_app.config.files import disk
from console_app.config.machine import process_runs
from console_app.config.secrets import Redactor
from console_app.domain import ConfigError
from console_app.records import dataclass, field

MOST = 200  # drafts, the newest
_NEW = "new-"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromptDraft:
    """Text with its cursor (line and column, from 0); `pastes` are long pastes by their placeholders."""

    text: str
    cursor: tuple[int, int] = (0, 0)
    pastes: Mapping[str, str] = field(default_factory=dict[str, str])


class PromptDrafts:
    """Drafts in one folder, which need not exist; without one they last as long as the console."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: dict[str, PromptDraft] = {}

    @staticmethod
    def of_new(working_folder: Path) -> str:
        return _NEW + hashlib.sha256(os.fsencode(working_folder)).hexdigest()[:32]

    def keep(self, session_id: str, draft: PromptDraft) -> None:
        """Keep a draft in place of the one before, unless it has no text. A command that holds a key stays in memory,
        as in the history."""
        whole = " ".join((draft.text, *draft.pastes.values()))
        if not draft.text or (draft.text.startswith("/") and Redactor.has_key(whole)):
            self.forget(session_id)
            if draft.text:
                self._kept[session_id] = draft
            return
        self._kept[session_id] = draft
        if (path := self._path(session_id)) is None:
            return
        record = {"text": draft.text, "cursor": list(draft.cursor), "pastes": dict(draft.pastes), "pid": os.getpid()}
        try:
            disk.write_record(path, record)
            self._prune(path.parent)
        except (ConfigError, OSError) as error:
            log.warning("what is being written can't be kept: %s", error)

    def read(self, session_id: str) -> PromptDraft | None:
        """Return a session's draft, or None. One that hasn't begun takes the newest whose console has ended."""
        path = self._path(session_id)
        if session_id in self._kept or path is None:
            return self._kept.get(session_id)
        if not session_id.startswith(_NEW):
            return _draft_of(disk.read_record(path))
        for left in sorted(path.parent.glob(f"{session_id}*.json"), key=_written, reverse=True):
            record = disk.read_record(left)
            draft, owner = _draft_of(record), left.stem.removeprefix(session_id).removeprefix("-")
            if draft is None or _runs_elsewhere(int(owner) if owner.isdigit() else record.get("pid")):
                continue
            try:
                left.replace(path)
            except FileNotFoundError:
                continue  # another console has just taken it
            except OSError as error:
                log.warning("the draft %s can't be taken over: %s", left, error)
            return draft
        return None

    def forget(self, session_id: str) -> None:
        self._kept.pop(session_id, None)
        if (path := self._path(session_id)) is not None:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                log.warning("the draft %s can't be removed: %s", path, error)

    def _path(self, session_id: str) -> Path | None:
        owner = f"-{os.getpid()}" if session_id.startswith(_NEW) else ""
        return None if self._folder is None else self._folder / f"{session_id}{owner}.json"

    def _prune(self, folder: Path) -> None:
        files = list(folder.glob("*.json"))
        if len(files) > MOST:
            for path in sorted(files, key=_written)[:-MOST]:
                path.unlink(missing_ok=True)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it has just gone
        return 0.0


def _draft_of(record: Mapping[str, Any]) -> PromptDraft | None:
    text, cursor, pastes = record.get("text"), record.get("cursor"), record.get("pastes")
    if not isinstance(text, str):
        return None
    return PromptDraft(
        text, _place(cursor), disk.texts(cast("dict[str, Any]", pastes)) if isinstance(pastes, dict) else {}
    )


def _place(cursor: object) -> tuple[int, int]:
    match cursor:
        case [int(row), int(column)] if row >= 0 and column >= 0:
            return row, column
        case _:
            return 0, 0


def _runs_elsewhere(pid: object) -> bool:
    return isinstance(pid, int) and pid != os.getpid() and process_runs(pid)
