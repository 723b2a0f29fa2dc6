"""What of a prompt is a slash command."""

from __future__ import annotations

import re

_LINE = re.compile(r"/([a-z][a-z0-9_-]*)(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


def parse(text: str) -> tuple[str, str] | None:
    """(name, rest) of a prompt that is a command; None for a prompt that only starts with a slash, as a path does."""
    match = _LINE.fullmatch(text.strip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None
