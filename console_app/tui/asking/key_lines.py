"""The keys of a board, and what they do, in as many lines as they need."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from console_app.tui.widgets.key_hints import KeyHints

CELLS_BETWEEN = 3
REPLAYED = "This is a replay: what was decided then comes by itself."  # where the keys would stand
NAMED = {"esc": "escape", "enter": "enter"}


class KeyLines(Static):
    """Shows keys and what they do. A click on one presses it, with all that guards a key, unless it moved within SETTLE
    seconds (`now` is a clock)."""

    def __init__(self, now: Callable[[], float], *, classes: str) -> None:
        super().__init__(classes=classes)
        self._now = now
        self._words = ""
        self._since = now()  # they are what and where they are

    def name_keys(self, lines: Sequence[Content]) -> None:
        shown = Content("\n").join(lines)
        if shown.plain != self._words:
            self._words, self._since = shown.plain, self._now()
        self.update(shown)
        self.display = bool(lines)

    def on_resize(self) -> None:
        self._since = self._now()

    def on_click(self, event: events.Click) -> None:
        if self._now() - self._since < KeyHints.SETTLE:
            return
        if key := event.style.meta.get(KeyHints.KEY):
            self.app.simulate_key(key)  # pyright: ignore[reportUnknownMemberType]


def key_lines(
    pairs: Sequence[tuple[str, str]], width: int, *, accent: str, counts: bool | Container[str], clicks: bool = False
) -> list[Content]:
    """`pairs` are (key, what it does); those that don't count are faint. `clicks`: no field has the focus."""
    pieces: list[Content] = []
    for key, does in pairs:
        bright = counts if isinstance(counts, bool) else key in counts
        ink, word = (f"bold {accent}", "$foreground") if bright else ("$muted", "$muted")
        pieces.append(Content.styled(key, ink) + Content.styled(f" {does}", word))
    if clicks:
        pieces = [pressing(k, piece) for (k, _), piece in zip(pairs, pieces, strict=True)]
    total = sum(piece.cell_length for piece in pieces)
    gap = CELLS_BETWEEN if total + CELLS_BETWEEN * (len(pieces) - 1) <= width else 2
    lines: list[Content] = []
    for piece in pieces:
        if lines and lines[-1].cell_length + gap + piece.cell_length <= width:
            lines[-1] += Content(" " * gap) + piece
        else:
            lines.append(piece)
    return lines


def pressing(key: str, piece: Content) -> Content:
    """Return the piece with the key that a click on it presses. A piece that stands for several keys presses none."""
    name = key if len(key) == 1 else NAMED.get(key)
    return piece.stylize(Style.from_meta({KeyHints.KEY: name})) if name else piece
