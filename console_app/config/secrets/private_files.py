"""Takes away from others what Fanout wrote and they can read: after a copied home, a careless chmod, an older version.

Only what has a name of Fanout's own, belongs to this user and is no link is touched, and a folder only with such a file
in it: FANOUT_HOME may be any folder, with other things beside.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from console_app.config.machine.paths import Paths
from console_app.config.machine.records import read_record, texts, write_record
from console_app.domain.errors import ConfigError

_OTHERS = 0o077
_IN_DATA = (
    *("sessions.*", "trust.json*", "credentials.json*", "*keys.json*", "tools.json*", "rules.json*"),
    *("files", "locks", "drafts"),
)
_IN_STATE = (
    *("fanout.log*", "crash-*.txt", "*tools.json*", "calls.json*", "history.jsonl*", "repaired.json*"),
    *("dialects.json*", "refusals.json*", "servers", "batches"),
)

log = logging.getLogger(__name__)


def make_private_again(paths: Paths) -> None:
    """Sets what is wider to 0600 and folders to 0700, logs it, and keeps it for `fanout doctor` to say."""
    found = dict(_tightened(paths))
    if not found:
        return
    log.warning("could be read by others, and can't any more: %s", ", ".join(found))
    try:
        write_record(paths.repaired, {**texts(read_record(paths.repaired)), **found})
    except ConfigError as error:
        log.warning("%s", error.line)


def take_repaired(paths: Paths) -> dict[str, str]:
    """What was set right since this was last asked: the mode that each path had."""
    found = texts(read_record(paths.repaired))
    try:
        paths.repaired.unlink(missing_ok=True)
    except OSError as error:
        log.warning("%s can't be removed: %s", paths.repaired, error)
    return found


def _tightened(paths: Paths) -> Iterator[tuple[str, str]]:
    """What was wider, with the mode that it had; now it is not."""
    for path in _ours(paths):
        try:
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & _OTHERS and not path.is_symlink() and path.lstat().st_uid == os.geteuid():
                path.chmod(mode & ~_OTHERS)
                yield str(path), f"{mode:04o}"
        except FileNotFoundError:
            pass  # not written yet, or gone meanwhile
        except OSError as error:
            log.warning("%s can be read by others: %s", path, error)


def _ours(paths: Paths) -> Iterator[Path]:
    yield from (paths.settings, paths.mcp)
    yield from paths.server_logs.glob("*.log*")
    for folder, names in ((paths.data, _IN_DATA), (paths.state, _IN_STATE)):
        inside = [path for name in names for path in folder.glob(name)]
        for path in inside:
            yield from _within(path)
        yield from inside
        if inside:
            yield folder


def _within(folder: Path) -> list[Path]:
    """What lies in a folder that others can open; in one that they can't, nothing can be read."""
    try:
        found = folder.lstat().st_mode
        return list(folder.iterdir()) if stat.S_ISDIR(found) and found & _OTHERS else []
    except OSError as error:
        log.warning("%s can't be looked into: %s", folder, error)
        return []
