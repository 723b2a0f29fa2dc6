"""The line at the bottom: what can be done where the focus is, made from the live bindings."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from console_app.tui.terminal.key_names import key_name

GAP = "  "
KEPT = (".help", ".close", ".back", ".leave")  # how the ids of help and of closing end


class KeyHints(Widget):
    """Shows the bindings that say so (`show`), those of the focused widget first. What doesn't fit drops off from the
    end, but for KEPT."""

    DEFAULT_CSS = """
    KeyHints { height: 1; padding: 0 1; background: $panel; color: $muted; text-wrap: nowrap; }
    """

    _last: Sequence[tuple[str, Binding]] = ()

    def on_mount(self) -> None:
        """Follows the bindings of the screen it is on."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)  # pyright: ignore[reportUnknownMemberType]

    def _changed(self, _screen: Screen[object]) -> None:
        self.refresh()

    def render(self) -> Content:
        """`key what` pairs that fit; help and closing keep their place when others have to go."""
        hints = [(_hint(key, binding), (binding.id or "").endswith(KEPT)) for key, binding in self._shown()]
        room = self.content_size.width
        if _width([hint for hint, _ in hints]) > room:
            last = [hint for hint, kept in hints if kept]
            first = [hint for hint, kept in hints if not kept]
            while first and _width([*first, *last]) > room:
                first.pop()
            return Content(GAP).join([*first, *last])
        return Content(GAP).join([hint for hint, _ in hints])

    def _shown(self) -> Sequence[tuple[str, Binding]]:
        """One entry an action: several keys of one binding show the first of them. Under a dialog they stand as they
        were: what an action of the screen means is asked of the screen that is in front."""
        if not self.screen.is_active:
            return self._last
        seen: dict[str, tuple[str, Binding]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled and binding.action not in seen:
                seen[binding.action] = (key_name(binding.key), binding)
        self._last = list(seen.values())
        return self._last


def _hint(key: str, binding: Binding) -> Content:
    return Content.styled(key, "bold $primary") + Content.styled(f" {binding.description}", "$foreground")


def _width(hints: list[Content]) -> int:
    return sum(hint.cell_length for hint in hints) + len(GAP) * max(len(hints) - 1, 0)
