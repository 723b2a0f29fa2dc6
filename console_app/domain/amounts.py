"""How amounts are written for people: bytes and tokens."""

from __future__ import annotations

CHARACTERS_A_TOKEN = 4  # about, for what no endpoint has counted yet


def size(count: int) -> str:
    """A number of bytes: `16 B`, `1.2 KB`, `9.8 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.1f} KB"
    return f"{count / 1_000_000:.1f} MB" if count < 1_000_000_000 else f"{count / 1_000_000_000:.1f} GB"


def tokens(count: int) -> str:
    """`count` in at most five characters: 950, 12.4k, 128k, 1.2M."""
    if count < 1000:
        return str(count)
    for scale, unit in ((1e3, "k"), (1e6, "M")):
        value = count / scale
        if value < 999.5:
            return f"{value:.1f}".removesuffix(".0") + unit if value < 99.95 else f"{value:.0f}{unit}"
    return f"{count / 1e9:.1f}G"
