"""The messages of a server in words: how each begins, and all of them as JSONL, without secrets."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from console_app.domain.errors import ConfigError
from console_app.mcp_client.traffic import RawMessage

EXCERPT = 400  # characters of a message that are shown of it at most
READ = 4_000  # bytes that are read for that: a secret that is cut is not found
Redact = Callable[[str], str]


def export_path(folder: Path, server: str) -> Path:
    """Where the messages of a server are written to, by the second."""
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in server)[:60]
    return folder / f"wire-{safe}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"


def brief(message: RawMessage, redact: Redact) -> str:
    """What a message says first, as one line."""
    text = redact(message.raw[:READ].decode("utf-8", "replace"))[:EXCERPT]
    for name in ('"params":', '"result":', '"error":'):
        if name in text:
            return text[text.index(name) + len(name) :].removesuffix("}")
    return ""


def redacted(value: Any, redact: Redact) -> Any:
    """A copy of a JSON value without secrets: in each text, and where only the name beside a value gives it away."""
    cleaned = _each(value, redact)
    try:
        return json.loads(redact(json.dumps(cleaned, ensure_ascii=False)))
    except ValueError:  # what was hidden had a quote in it: better nothing than a secret
        return "(hidden: a secret in it could not be taken out alone)"


def _each(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _each(item, redact) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_each(item, redact) for item in cast("list[Any]", value)]
    return value


def jsonl(rows: Sequence[RawMessage], redact: Redact) -> Iterator[str]:
    """A line a message: `at` in seconds since the epoch, `direction`, `kind`, `method`, `id`, `seconds` that the answer
    took, `size` in bytes, `message` without secrets."""
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


def export(path: Path, rows: Sequence[RawMessage], redact: Redact) -> None:
    """Writes the rows to a new file that only this user can read: for a thread. Raises ConfigError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(jsonl(rows, redact))
    except OSError as error:
        raise ConfigError(f"can't write {path}: {error.strerror or error}") from None
