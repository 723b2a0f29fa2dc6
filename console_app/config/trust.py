"""Which files of a project the user trusts: its mcp.json starts programs and its settings may loosen yours, so both
are used only after a yes.

Trust is by place and content: a file that changed since, or the same file in another folder, is asked for again. A
link in a project to a file of another one is in that project: what the file names is there.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from console_app.config.mcp_edit import Written
from console_app.config.paths import PROJECT_FOLDER, Paths, read_text
from console_app.config.records import read_record, write_record
from console_app.domain.errors import ConfigError

IN_A_SHELL = "fanout mcp trust"  # shows what waits for trust, and asks; the console has a key and a command for it


def is_trusted(paths: Paths, file: Path, text: str | None = None) -> bool:
    """Whether the user trusted `file` as it is now, or as it was read: `text`. A damaged record, or a file that can't
    be read, is no yes."""
    try:
        return read_record(paths.trust).get(_place(file)) == _fingerprint(file, text)
    except ConfigError:
        return False


def trust(paths: Paths, file: Path, text: str | None = None) -> None:
    """Remembers `file` as it was shown, `text`; without it, as it is now."""
    write_record(paths.trust, read_record(paths.trust) | {_place(file): _fingerprint(file, text)})


def trust_edit(paths: Paths, file: Path, edit: Written) -> None:
    """A file that was trusted as it was is trusted as the user has just made it, whatever is on the disk by now."""
    if edit.before is not None and is_trusted(paths, file, edit.before):
        trust(paths, file, edit.text)


def _place(file: Path) -> str:
    """The file within its project's folder, which alone may be reached by links."""
    file = file.absolute()
    folder = next((one.parent for one in file.parents if one.name == PROJECT_FOLDER), file.parent)
    return str(folder.resolve() / file.relative_to(folder))


def _fingerprint(file: Path, text: str | None) -> str:
    return hashlib.sha256((read_text(file) if text is None else text).encode()).hexdigest()
