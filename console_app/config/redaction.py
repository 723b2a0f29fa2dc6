"""Keeps secrets out of what is written for people: the values of secret variables, and what is shaped like a key.

Known values are matched exactly, since no pattern finds every key; the patterns are for keys that nobody told us of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

HIDDEN = "(hidden)"
SHORTEST = 8  # characters; a shorter value would black out ordinary words
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_NO_SECRET = re.compile(r"^(SSH_AUTH_SOCK|XAUTHORITY|.*_(FILE|PATH|DIR|URL|SOCK))$")
_SHAPES = (
    re.compile(r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})"),
    re.compile(r"(?i)['\"]?(?:x-api-key|api[-_]key|authorization|access_token|refresh_token)['\"]?\s*[:=]\s*"
               r"['\"]?((?!bearer\b|basic\b)[A-Za-z0-9._~+/=-]{8,})"),
    re.compile(r"\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[A-Za-z0-9-]{10,})"),
    re.compile(r"://[^/\s:@]*:([^/\s@]+)@"),
)  # fmt: skip


class Redactor:
    """Replaces secrets in texts. More may become known while the program runs."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.add(*secrets)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Redactor:
        """Knows the values of the variables whose names say that they are secret."""
        return cls(
            value.strip() for name, value in environ.items() if _SECRET_NAME.search(name) and not _NO_SECRET.match(name)
        )

    def add(self, *secrets: str | None) -> None:
        """These are secret too."""
        self._known.update(secret for secret in secrets if secret and len(secret) >= SHORTEST)
        if self._known:
            self._pattern = re.compile("|".join(map(re.escape, sorted(self._known, key=len, reverse=True))))

    def clean(self, text: str) -> str:
        """`text` without secrets."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        for shape in _SHAPES:
            text = shape.sub(_hide, text)
        return text


def _hide(match: re.Match[str]) -> str:
    begin, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:begin] + HIDDEN + match[0][end:]
