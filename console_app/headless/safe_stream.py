"""Makes text safe while it streams: what a character means can depend on the one that comes after it.

A CR LF, or an emoji joined of several characters, may be cut between two pieces; `visible` on each piece alone would
mark its joiners as foreign. So the few characters that could still belong together are held back.
"""

from __future__ import annotations

from console_app.domain.safe_text import visible

_JOINER = "\u200d"
_SELECTORS = range(0xFE00, 0xFE10)
_TAKES_SELECTOR = frozenset("#*0123456789\r")  # of ASCII: keycap emoji, and CR before LF
_LONGEST = 64  # characters held back at most; no emoji is longer


class SafeStream:
    """Pieces in, safe pieces out."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text up to now can be shown."""
        text = self._held + piece
        cut = _cut(text)
        self._held = text[cut:]
        return visible(text[:cut])

    def flush(self) -> str:
        """The rest, at the end of the text."""
        text, self._held = self._held, ""
        return visible(text)


def _cut(text: str) -> int:
    """Where `text` can be parted: behind its end when nothing can join its last character."""
    if not text or (text[-1].isascii() and text[-1] not in _TAKES_SELECTOR):
        return len(text)
    for at in range(len(text) - 1, max(0, len(text) - _LONGEST), -1):
        before, after = text[at - 1], text[at]
        if after != _JOINER and ord(after) not in _SELECTORS and before not in (_JOINER, "\r"):
            return at
    return len(text) if len(text) > _LONGEST else 0
