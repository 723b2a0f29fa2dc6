"""Write amounts for people: bytes, tokens, durations, numbers of things."""

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


def seconds(value: float) -> str:
    """A duration: `0.4 s`, `12.3 s`, `2 m 05 s`, `1 h 02 m`."""
    value = max(value, 0.0)
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} m"


def measured(value: float) -> str:
    """A duration that is over: as `seconds`, but the shortest in milliseconds."""
    return f"{max(value, 0) * 1000:.0f} ms" if value < 0.095 else seconds(value)


def plural(count: int, word: str) -> str:
    """`1 line`, `10,412 lines`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
