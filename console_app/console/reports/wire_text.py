"""The messages of a server in words: those that a filter leaves, how each begins, and all as JSONL without secrets."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from console_app.domain import safe_text
from console_app.mcp_client import RawMessage, Traffic

EXCERPT = 400  # characters of a message that are shown of it at most
READ = 4_000  # bytes that are read for that: a secret that is cut is not found
Redact = Callable[[str], str]
_SUBJECT = re.compile(rb'"params"\s*:\s*\{.*?"(?:name|uri|data|message|reason)"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)


class WireRows:
    """The messages of `traffic` that fit a filter, kept up by `look`. None is read twice, whatever comes in."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._last = 0
        self.method = ""
        self.words: list[str] = []
        self.rows: list[RawMessage] = []

    def filter(self, words: str, method: str) -> None:
        self.words, self.method = words.casefold().split(), method
        self.rows, self._last = [], 0
        self.look()

    def look(self) -> bool:
        if self._last == self._traffic.revision:
            return False
        first = self._traffic.first
        if self.rows and self.rows[0].number < first:
            self.rows = [row for row in self.rows if row.number >= first]
        self.rows += [one for one in self._traffic.after(self._last) if self._fits(one)]
        self._last = self._traffic.revision
        return True

    @property
    def unseen(self) -> int:
        return self._traffic.revision - self._last

    def methods(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for one in self._traffic.after(0):
            found[one.method] = found.get(one.method, 0) + 1
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def _fits(self, message: RawMessage) -> bool:
        if self.method and message.method != self.method:
            return False
        if not self.words:
            return True
        text = f"{message.method} {message.raw.decode('utf-8', 'replace')}".casefold()
        return all(word in text for word in self.words)


def brief(message: RawMessage, redact: Redact) -> str:
    text = redact(message.raw[:READ].decode("utf-8", "replace"))[:EXCERPT]
    for name in ('"params":', '"result":', '"error":'):
        if name in text:
            return text[text.index(name) + len(name) :].removesuffix("}")
    return ""


def subject(message: RawMessage) -> str:
    """Return what a message is about, in a word: the tool, the address, the line of a log; "" where its beginning names
    none."""
    found = _SUBJECT.search(message.raw[:READ]) if message.kind in ("request", "notification") else None
    if found is None:
        return ""
    try:
        return str(json.loads(found[1]))
    except ValueError:
        return ""


def redacted(value: Any, redact: Redact) -> Any:
    cleaned = safe_text.changed(value, str, redact, names=True)
    try:
        return json.loads(redact(json.dumps(cleaned, ensure_ascii=False)))
    except ValueError:  # what was hidden had a quote in it: better nothing than a secret
        return "(hidden: a secret in it could not be taken out alone)"


def jsonl(rows: Sequence[RawMessage], redact: Redact) -> Iterator[str]:
    """Write a line a message: `at` (seconds since the epoch), `direction`, `kind`, `method`, `id`, `seconds`, `size`
    (bytes), `message` without secrets."""
    for one in rows:
        line = {
            "at": one.at,
            "direction": "sent" if one.sent else "received",
            "kind": one.kind,
            "method": one.method,
            "id": one.id,
            "seconds": one.seconds,
            "size": one.size,
            "message": redacted(one.data, redact),
        }
        yield json.dumps(line, ensure_ascii=False) + "\n"


def export(folder: Path, server: str, rows: Sequence[RawMessage], redact: Redact) -> Path:
    """Write the rows to a new file that only this user can read: for a thread. Raises ExportError."""
    from console_app.sessions import export

    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in server)[:60]
    path = folder / f"wire-{safe}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    return export.write_new(path, safe_text.encodable("".join(jsonl(rows, redact))))
