"""What `fanout doctor` looks at that needs no model and no server: terminal, storage, versions; and how it reports."""

from __future__ import annotations

import codecs
import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal

from console_app._version import __version__
from console_app.config.files import Paths
from console_app.config.machine import optional, version_of
from console_app.config.secrets import Redactor
from console_app.domain.safe_text import one_line

State = Literal["fine", "note", "wrong"]
_GLYPHS: Mapping[State, str] = {"fine": "✓", "note": "·", "wrong": "✗"}
_ENOUGH = 100_000_000  # bytes of disk
_SMALLEST = (60, 15)  # columns and rows that the console needs


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `says` is what was found, `do` what to do about it where something is."""

    area: str
    name: str
    state: State
    says: str
    do: str = ""


def cleaned(finding: Finding, redactor: Redactor) -> Finding:
    """A finding as it may be shown: endpoints and servers give their own reasons."""
    return replace(finding, says=redactor.clean(finding.says), do=redactor.clean(finding.do))


def lines(findings: Sequence[Finding], *, from_the_top: bool = False) -> Iterator[str]:
    """The findings for people, an area after the other, and how many are wrong: at the end, where a shell leaves the
    eye, or `from_the_top`, with the areas first that something is wrong in."""
    area = ""
    if from_the_top:
        yield _verdict(findings)
        ill = {finding.area for finding in findings if finding.state == "wrong"}
        findings = sorted(findings, key=lambda finding: finding.area not in ill)
    for finding in findings:
        if finding.area != area:
            area = finding.area
            yield area
        yield f"  {_GLYPHS[finding.state]} {one_line(finding.name, 40)}: {one_line(finding.says, 300)}"
        if finding.do:
            yield f"      {one_line(finding.do, 300)}"
    if not from_the_top:
        yield _verdict(findings)


def _verdict(findings: Sequence[Finding]) -> str:
    wrong = sum(finding.state == "wrong" for finding in findings)
    return "Nothing is wrong." if not wrong else f"{wrong} thing{'s are' if wrong > 1 else ' is'} wrong."


def as_json(findings: Sequence[Finding]) -> dict[str, object]:
    """The findings for programs."""
    wrong = any(finding.state == "wrong" for finding in findings)
    return {"version": __version__, "ok": not wrong, "findings": [asdict(finding) for finding in findings]}


def versions() -> Iterator[Finding]:
    """Of Fanout, Python and what it runs on."""
    for name, version in installed().items():
        if version is None:
            yield Finding("Versions", name, "wrong", "not installed", "Install Fanout again.")
        else:
            yield Finding("Versions", name, "fine", version)
    for name, (extra, version) in optional().items():
        yield Finding("Versions", name, "fine", version or f"not installed, optional: {extra}")


def installed() -> dict[str, str | None]:
    """The versions of Fanout, Python and every library that Fanout asks for; None for one that isn't there."""
    try:
        wanted = metadata.requires("fanout-console") or []
    except metadata.PackageNotFoundError:
        wanted = []  # run from its folder, never installed
    versions: dict[str, str | None] = {
        "fanout": __version__,
        "python": f"{platform.python_version()} on {sys.platform}",
    }
    for requirement in wanted:
        found = re.match(r"[\w.-]+", requirement)
        if found and "extra ==" not in requirement:
            versions[found[0]] = version_of(found[0])
    return versions


def terminal(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the console can draw here."""
    if not (os.isatty(0) and os.isatty(1)):
        yield Finding("Terminal", "tty", "note", "none here", "The console needs one; fanout run does not.")
    else:
        columns, rows = os.get_terminal_size(1)
        small = columns < _SMALLEST[0] or rows < _SMALLEST[1]
        do = f"The console needs {_SMALLEST[0]}x{_SMALLEST[1]}." if small else ""
        yield Finding("Terminal", "size", "wrong" if small else "fine", f"{columns}x{rows}", do)
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        state: State = "wrong" if os.isatty(1) else "note"
        yield Finding("Terminal", "TERM", state, term or "not set", "Set it to what your terminal is: xterm-256color.")
    else:
        yield Finding("Terminal", "TERM", "fine", term + (", in tmux" if "TMUX" in environ else ""))
    yield Finding("Terminal", "colours", "fine", _colours(environ, term))
    encoding = _encoding(environ)
    if encoding == "utf-8":
        yield Finding("Terminal", "text", "fine", "UTF-8")
    else:
        says = f"the locale says {encoding or 'nothing'}; Fanout writes UTF-8"
        yield Finding("Terminal", "text", "note", says, "If frames look wrong: export LANG=C.UTF-8")


def _colours(environ: Mapping[str, str], term: str) -> str:
    if "NO_COLOR" in environ:
        return "none (NO_COLOR)"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million"
    return "256" if "256" in term or term.endswith(("kitty", "direct")) else "16: the theme terminal is used"


def _encoding(environ: Mapping[str, str]) -> str:
    ctype = environ.get("LC_CTYPE", "")
    own = "" if ctype == "C.UTF-8" else ctype  # Python itself sets that one, where the locale is C (PEP 538)
    named = environ.get("LC_ALL") or own or environ.get("LANG") or ctype
    try:
        return codecs.lookup(named.partition(".")[2].partition("@")[0]).name
    except LookupError:
        return named


def storage(paths: Paths) -> Iterator[Finding]:
    """Whether the folders can be written, by this user alone, with room, and whether the session file is whole."""
    for name, folder in (("configuration", paths.config), ("data", paths.data), ("state", paths.state)):
        yield _folder(name, folder)
    for path, mode in paths.take_repaired().items():
        has_keys = Path(path).name in ("keys.json", "credentials.json")
        do = "A key in it may be known to others: make a new one." if has_keys else ""
        yield Finding(
            "Storage", Path(path).name, "note", f"{path} could be read by others ({mode}), now by you alone", do
        )
    free = shutil.disk_usage(_nearest(paths.data)).free
    do = "" if free > _ENOUGH else "Sessions and logs need room: delete something."
    yield Finding("Storage", "free", "fine" if free > _ENOUGH else "wrong", f"{free // 1_000_000:,} MB", do)
    if paths.sessions.exists():
        yield _session_file(paths.sessions)
    reports = sorted(paths.state.glob("crash-*.txt"))
    if reports:
        says = f"{len(reports)}, the newest {reports[-1]}"
        yield Finding("Storage", "crash reports", "note", says, "Read it, and send it with a bug report.")


def _folder(name: str, folder: Path) -> Finding:
    there = _nearest(folder)
    if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
        return Finding("Storage", name, "wrong", f"{there} can't be written", "Mend its rights, or set FANOUT_HOME.")
    if folder.exists() and folder.stat().st_mode & 0o077:
        return Finding("Storage", name, "note", f"{folder} can be read by others", f"chmod 700 {folder}")
    return Finding("Storage", name, "fine", f"{folder}{'' if folder.exists() else ' (not there yet)'}")


def _nearest(folder: Path) -> Path:
    """The folder, or the one above it that exists."""
    return next((one for one in (folder, *folder.parents) if one.exists()), folder)


def _session_file(path: Path) -> Finding:
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=2)
        try:
            answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        answer = str(error)
    size = f"{path.stat().st_size / 1_000_000:.1f} MB"
    if answer == "ok":
        return Finding("Storage", "sessions", "fine", f"{path}, {size}")
    return Finding("Storage", "sessions", "wrong", f"{path}: {answer}", "Fanout sets it aside with the next start.")
