"""The keys of a board, each with what it does, on as many lines as they need."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

GAP = 3


def key_lines(pairs: Sequence[tuple[str, str]], width: int, *, accent: str, counts: bool) -> list[Content]:
    """`pairs` are (key, what it does); faint while they don't count. `accent` is a colour of the theme."""
    key, word = (f"bold {accent}", "$foreground") if counts else ("$muted", "$muted")
    pieces = [Content.styled(k, key) + Content.styled(f" {w}", word) for k, w in pairs]
    total = sum(piece.cell_length for piece in pieces)
    gap = GAP if total + GAP * (len(pieces) - 1) <= width else 2
    lines: list[Content] = []
    for piece in pieces:
        if lines and lines[-1].cell_length + gap + piece.cell_length <= width:
            lines[-1] += Content(" " * gap) + piece
        else:
            lines.append(piece)
    return lines
