"""A program that searches the files under one folder, for `files`: request as JSON on stdin, answers as JSON lines.

It is a process of its own because a regular expression can run for ever and nothing inside Python can stop it: an alarm
of the system ends the process. It gets the folder as an open descriptor and follows no link, so it can't leave it. Only
the standard library is used but for .gitignore files, so it starts in 20 ms: `python -I file_search.py DESCRIPTOR`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

LARGEST_FILE = 10_000_000  # bytes; larger ones are passed over
LONGEST_SHOWN = 300  # characters of a line
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
_CONTEXT = 100  # characters shown before a match that is far into its line
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def main() -> None:
    """Read the request; write `{path, line, text}` a match, or `{path}` a file, and last what was gone through."""
    request: dict[str, Any] = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])
    left: int = request["most"]
    files = skipped = 0
    find = _finder(request)
    around: int = request["context"]
    for path, folder, name in _walk(int(sys.argv[1]), request["glob"], everything=request["ignored"]):
        if find is None:
            matches: list[dict[str, Any]] = [{"path": path}]
        else:
            lines = _lines(folder, name)
            if lines is None:
                skipped += 1
                continue
            matches = [
                {"path": path, "line": number, "text": _shown(line, at), **_around(lines, number, around)}
                for number, line in enumerate(lines, 1)
                if (at := find(line)) >= 0
            ]
        files += 1
        for match in matches[:left]:
            _write(match)
        left -= len(matches)
        if left < 0:
            break
    _write({"files": files, "skipped": skipped, "more": left < 0})


def _finder(request: dict[str, Any]) -> Callable[[str], int] | None:
    """Find where in a line the wanted text begins, -1 for nowhere; None when only names are wanted."""
    query: str = request["query"]
    if not query:
        return None
    if not request["regex"] and not request["ignore_case"]:
        return lambda line: line.find(query)
    pattern = re.compile(query if request["regex"] else re.escape(query), re.I if request["ignore_case"] else 0)

    def search(line: str) -> int:
        found = pattern.search(line)
        return found.start() if found else -1

    return search


def _around(lines: list[str], number: int, size: int) -> dict[str, Any]:
    if not size:
        return {}
    first = max(1, number - size)
    before = [(at, _shown(lines[at - 1], 0)) for at in range(first, number)]
    return {
        "before": before,
        "after": [(at, _shown(lines[at - 1], 0)) for at in range(number + 1, min(len(lines), number + size) + 1)],
    }


def _walk(root: int, glob: str, *, everything: bool) -> Iterator[tuple[str, int, str]]:
    """Path, folder and name of every regular file that fits `glob`, in order of their names."""
    fits = _glob(glob)
    rules: dict[str, Any] = {}
    for folder, folders, names, descriptor in os.fwalk(".", dir_fd=root, follow_symlinks=False):
        inside = os.path.normpath(folder)
        if not everything and ".gitignore" in names and (lines := _lines(descriptor, ".gitignore")):
            from pathspec import GitIgnoreSpec  # 30 ms, and only where there are such files

            with suppress(ValueError):
                rules[inside] = GitIgnoreSpec.from_lines(lines)
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS and not _ignored(rules, os.path.normpath(os.path.join(folder, name)) + "/")
        )
        for name in sorted(names):
            path = os.path.normpath(os.path.join(folder, name))
            if fits(path, name) and not _ignored(rules, path):
                yield path, descriptor, name


def _ignored(rules: dict[str, Any], path: str) -> bool:
    """Tell whether the innermost .gitignore that says anything about a path leaves it out."""
    above: str = path.rstrip("/")
    while rules and above != ".":
        above = above.rpartition("/")[0] or "."
        if (spec := rules.get(above)) is not None:
            said = spec.check_file(path if above == "." else path[len(above) + 1 :]).include
            if said is not None:
                return bool(said)
    return False


def _glob(glob: str) -> Callable[[str, str], bool]:
    """Match a pattern with a slash against paths, others against names; `*` crosses folders, `**/` may be none."""
    if not glob:
        return lambda path, name: True
    pattern = re.compile(fnmatch.translate(glob.removeprefix("./").replace("**/", "*")))
    whole = "/" in glob
    return lambda path, name: pattern.match(path if whole else name) is not None


def _lines(folder: int, name: str) -> list[str] | None:
    """Return the lines of a text file, None for anything else, and for what may not be read."""
    try:
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
                return None
            data = file.read(LARGEST_FILE)
    except OSError:
        return None
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace").splitlines()


def _shown(line: str, at: int) -> str:
    if len(line) <= LONGEST_SHOWN:
        return line
    start = max(0, at - _CONTEXT)
    end = start + LONGEST_SHOWN
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _write(answer: dict[str, Any]) -> None:
    # Flushed a line, so that what was found stands when the time is up. Names may hold bytes that aren't UTF-8.
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
