"""The keys of a board, each with what it does, on as many lines as they need."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from console_app.tui.widgets.settled_keys import SETTLE

GAP = 3
KEY = "key"  # in the style of what can be clicked
REPLAYED = "This is a replay: what was decided then comes by itself."  # where the keys would stand
NAMED = {"esc": "escape", "enter": "enter"}


class KeyLines(Static):
    """Where they are shown. A click or a tap on one presses its key, with all that guards a key.

    `now` is a clock in seconds: a click before the keys have stood still for SETTLE was meant for what was there.
    """

    def __init__(self, now: Callable[[], float], *, classes: str) -> None:
        super().__init__(classes=classes)
        self._now = now
        self._words = ""
        self._since = now()  # they are what and where they are

    def name_keys(self, lines: Sequence[Content]) -> None:
        """Shows these."""
        shown = Content("\n").join(lines)
        if shown.plain != self._words:
            self._words, self._since = shown.plain, self._now()
        self.update(shown)

    def on_resize(self) -> None:
        """They have moved."""
        self._since = self._now()

    def on_click(self, event: events.Click) -> None:
        """What is no key does nothing here."""
        if self._now() - self._since < SETTLE:
            return
        if key := event.style.meta.get(KEY):
            self.app.simulate_key(key)  # pyright: ignore[reportUnknownMemberType]


def key_lines(
    pairs: Sequence[tuple[str, str]], width: int, *, accent: str, counts: bool | Container[str], clicks: bool = False
) -> list[Content]:
    """`pairs` are (key, what it does); faint are those that don't count. `accent` is a colour of the theme.

    `clicks` is whether they can be clicked in `KeyLines`; not where a field has the focus, which a click takes away.
    """
    pieces: list[Content] = []
    for key, does in pairs:
        bright = counts if isinstance(counts, bool) else key in counts
        ink, word = (f"bold {accent}", "$foreground") if bright else ("$muted", "$muted")
        pieces.append(Content.styled(key, ink) + Content.styled(f" {does}", word))
    if clicks:
        pieces = [pressing(k, piece) for (k, _), piece in zip(pairs, pieces, strict=True)]
    total = sum(piece.cell_length for piece in pieces)
    gap = GAP if total + GAP * (len(pieces) - 1) <= width else 2
    lines: list[Content] = []
    for piece in pieces:
        if lines and lines[-1].cell_length + gap + piece.cell_length <= width:
            lines[-1] += Content(" " * gap) + piece
        else:
            lines.append(piece)
    return lines


def pressing(key: str, piece: Content) -> Content:
    """The piece with the key that a click on it presses; what stands for several keys presses none."""
    name = key if len(key) == 1 else NAMED.get(key)
    return piece.stylize(Style.from_meta({KEY: name})) if name else piece
