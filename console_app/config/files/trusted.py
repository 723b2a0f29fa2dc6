"""Records which files of a project the user trusts: its mcp.json starts programs and its settings may loosen yours, so
both are used only after a yes.

Trust is by place and content: a file that changed since, or the same file in another folder, is asked for again. A
link in a project to a file of another one is in that project: what the file names is there. The scripts that settings
or a command name as their model (`scripted/FILE`) are part of their content.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from console_app.config.files.disk import read_record, read_text, write_record
from console_app.config.files.paths import PROJECT_FOLDER, Paths
from console_app.config.files.toml_text import parse_toml
from console_app.domain import ConfigError, safe_text
from console_app.records import dataclass

_SCRIPTED = "scripted/"
_NAMED = re.compile(rf"{_SCRIPTED}([^\"'\n]+)")

IN_A_SHELL = "fanout trust"  # shows what waits for trust, and asks; the console has a key and a command for it


@dataclass(frozen=True, slots=True)
class Written:
    """An edit on the disk: the text it was made of, None without a file, and the new text. Neither is read again."""

    before: str | None
    text: str


def is_trusted(paths: Paths, file: Path, text: str | None = None, scripts: Mapping[str, str] | None = None) -> bool:
    """Return whether the user trusted `file` as it is now, or as it was read. What can't be read is no yes."""
    try:
        text = read_text(file) if text is None else text
        scripts = scripts_of(file, text) if scripts is None else scripts
        return read_record(paths.trust).get(_place(file)) == _fingerprint(text, scripts)
    except ConfigError:
        return False


def trust(paths: Paths, file: Path, text: str | None = None, scripts: Mapping[str, str] | None = None) -> None:
    """Remember `file` as it was shown, `text` with its `scripts`; without these, as it is now."""
    text = read_text(file) if text is None else text
    scripts = scripts_of(file, text) if scripts is None else scripts
    write_record(paths.trust, read_record(paths.trust) | {_place(file): _fingerprint(text, scripts)})


def scripts_of(file: Path, text: str) -> dict[str, str]:
    """Return the texts of the scripts that settings or a command name, "" for one that isn't there. Raises
    ConfigError."""
    names: set[str] = set()
    if file.suffix == ".toml" and (_SCRIPTED in text or "\\" in text):  # an escape may hide it
        texts = safe_text.texts_in(parse_toml(text, file))
        names = {one.removeprefix(_SCRIPTED) for one in texts if one.startswith(_SCRIPTED)}
    elif file.suffix == ".md":
        names = {found.strip() for found in _NAMED.findall(text)}
    folder = _folder(file.absolute())
    paths = {name: folder / name for name in sorted(names) if name}
    return {name: read_text(path) if os.path.exists(path) else "" for name, path in paths.items()}


def trust_edit(paths: Paths, file: Path, edit: Written) -> None:
    """Trust a file that was trusted before as the user has just made it, whatever is on the disk by now."""
    if edit.before is not None and is_trusted(paths, file, edit.before):
        trust(paths, file, edit.text)


def _place(file: Path) -> str:
    """Return the path of the file within its project's folder, which alone may be reached by links."""
    file = file.absolute()
    folder = _folder(file)
    return str(folder.resolve() / file.relative_to(folder))


def _folder(file: Path) -> Path:
    return next((one.parent for one in file.parents if one.name == PROJECT_FOLDER), file.parent)


def _fingerprint(text: str, scripts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, script in scripts.items():
        for part in (name, script):
            digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()
