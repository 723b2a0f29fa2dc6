"""Long pastes stand in the prompt as a short placeholder, and are written out when the prompt is sent.

A short paste is shown with its control characters made visible. Behind a placeholder the text stays as it was copied,
for it goes to the model and never to the terminal.

Recognize files that are dropped on the terminal, or copied in a file manager: their paths arrive as a paste.

Terminals write such a path plain, in quotes, with backslashes before signs that a shell would read, or as a file URL.
Several stand in one line with blanks between, or in a line each. A paste of nothing but paths that are there attaches
these files.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from console_app.console import files
from console_app.domain import visible

MOST_LINES = 8  # of a paste that is put into the prompt as it is
MOST_CHARACTERS = 2000

_PLACEHOLDER = re.compile(r"\[Pasted [0-9,]+ (?:lines|characters)(?: #[0-9]+)?\]")


class Pastes:
    """The long pastes of a session, by placeholder."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str) -> str:
        """Return what a pasted `text` puts into the prompt: the text, or a placeholder where it is long."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return visible(text)
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder, number = f"[Pasted {size}]", 1
        while self._texts.get(placeholder, text) != text:
            number += 1
            placeholder = f"[Pasted {size} #{number}]"
        self._texts[placeholder] = text
        return placeholder

    def behind(self, text: str) -> dict[str, str]:
        """The pastes whose placeholders stand in `text`."""
        return {name: self._texts[name] for name in _PLACEHOLDER.findall(text) if name in self._texts}

    def put_back(self, text: str, pastes: Mapping[str, str]) -> str:
        """`text` with placeholders of this session in place of those of another, whose `pastes` these are."""
        return _PLACEHOLDER.sub(lambda m: self.take(pastes[m.group()]) if m.group() in pastes else m.group(), text)

    def expand(self, text: str) -> str:
        """`text` with every placeholder of this session written out."""
        if not self._texts:
            return text
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match.group(), match.group()), text)


LONGEST = 8_000  # characters of a paste that may be paths
MOST = 20  # files
_BEGINS = ("/", "~/", "'/", '"/', "file://")


def looks_dropped(text: str) -> bool:
    """Tell whether a paste may be paths, so that a look at the disk is worth it."""
    return len(text) <= LONGEST and text.strip().startswith(_BEGINS)


def mentions_of(text: str) -> str:
    """Return mentions that attach the files of the paths; "" where the paste is anything else. This asks the disk."""
    text = text.strip()
    for paths in _readings(text):
        if 0 < len(paths) <= MOST and all(map(_is_there, paths)):
            return "".join(f"@{files.written_path(path)} " for path in paths)
    return ""


def _readings(text: str) -> list[list[str]]:
    readings = [[_plain(line) for line in text.splitlines() if line.strip()]]
    try:
        readings.append([_plain(word) for word in shlex.split(text)])
    except ValueError:
        pass  # a quote that nobody closes
    return readings


def _plain(written: str) -> str:
    written = written.strip()
    if written.startswith("file://"):
        return unquote(urlsplit(written).path)
    return os.path.expanduser(written)


def _is_there(path: str) -> bool:
    try:
        return os.path.isabs(path) and os.path.exists(path)
    except ValueError:
        return False
