"""The line at the bottom: what can be done where the focus is, made from the live bindings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from console_app.tui.terminal.key_names import key_name

GAP = "  "
BETWEEN = " · "
KEPT = (".help", ".close", ".back", ".leave")  # how the ids of help and of closing end
Named = tuple[str, str]
"""A hint: the id of a binding, or a character that the prompt has a use for, and what the key does."""


class KeyHints(Widget):
    """Shows the hints that `name` gives, else the bindings that say so (`show`), those of the focused widget first. A
    click presses a key. Where room is short, keys that work from elsewhere go first, from the end; those in KEPT stay.
    """

    DEFAULT_CSS = """
    KeyHints { height: 1; padding: 0 1; background: $panel; color: $muted; text-wrap: nowrap; }
    """
    KEY = "key"  # in the style of what can be clicked
    SETTLE = 0.5  # seconds without a change before a key or a click counts

    def __init__(
        self, name: Callable[[], Sequence[Named]] | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._named, self._now = name, now
        self._words: str = ""
        self._since = now()  # they are what they are
        self._instead: Content | None = None

    @staticmethod
    def fitted(keys: str, room: int) -> str:
        """`a this · b that · esc close` in so many cells: what stands before the last goes first."""
        parts = keys.split(BETWEEN)
        while len(parts) > 1 and cell_len(BETWEEN.join(parts)) > room:
            del parts[-2]
        return BETWEEN.join(parts)

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)  # pyright: ignore[reportUnknownMemberType]
        self.watch(self.screen, "stack_updates", self._changed, init=False)  # a dialog opened above, or closed

    def _changed(self, _changed: object) -> None:
        self.refresh()

    def say_instead(self, line: Content | None, was: Content | None = None) -> None:
        """Say something else for a while. None brings the keys back, unless something else than `was` stands there."""
        if was is None or self._instead is was:
            self._instead = line
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        if (key := event.style.meta.get(self.KEY)) and self._now() - self._since >= self.SETTLE:
            self.app.simulate_key(key)  # pyright: ignore[reportUnknownMemberType]

    def render(self) -> Content:
        """`key what` pairs that fit; help and closing keep their place when others have to go."""
        if self._instead is not None:
            return self._instead.truncate(self.content_size.width, ellipsis=True)
        shown = self._shown()
        hints = [drawn for _, drawn, _ in shown]
        order = [number for number, (id, _, _) in enumerate(shown) if not id.endswith(KEPT)]
        order.sort(key=lambda number: (shown[number][2], number))
        if _width(hints) > self.content_size.width:
            last = [number for number in range(len(hints)) if number not in order]
            while order and _width([hints[number] for number in [*order, *last]]) > self.content_size.width:
                order.pop()
            hints = [hints[number] for number in [*sorted(order), *last]]
        line = Content(GAP).join(hints)
        if line.plain != self._words:
            self._words, self._since = line.plain, self._now()
        return line

    def _shown(self) -> Sequence[tuple[str, Content, bool]]:
        """The id of each action, its hint, and whether another place than the focused one has it."""
        if not self.screen.is_active:
            return ()
        active = [one for one in self.screen.active_bindings.values() if one.enabled]
        if self._named is not None:
            keys = {one.binding.id: one.binding.key for one in reversed(active)}
            named = [(id, keys.get(id, id if len(id) == 1 else ""), does) for id, does in self._named()]
            return [(id, _drawn(key, does), False) for id, key, does in named if key]
        shown: dict[str, tuple[str, Content, bool]] = {}
        for one in active:
            if (key := one.binding).show and key.action not in shown:
                away = one.node is not self.screen.focused
                shown[key.action] = (key.id or "", _drawn(key.key, key.description), away)
        return [*shown.values()]


def _drawn(key: str, does: str) -> Content:
    shown = Content.styled(key_name(key), "bold $primary") + Content.styled(f" {does}", "$foreground")
    return shown.stylize(Style.from_meta({KeyHints.KEY: key}))


def _width(hints: list[Content]) -> int:
    return sum(hint.cell_length for hint in hints) + len(GAP) * max(len(hints) - 1, 0)
