"""The line at the bottom: what can be done where the focus is, made from the live bindings."""

from __future__ import annotations

from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from console_app.tui.terminal.key_names import key_name


class KeyHints(Widget):
    """Shows the bindings that say so (`show`), those of the focused widget first; what doesn't fit drops off."""

    DEFAULT_CSS = """
    KeyHints { height: 1; padding: 0 1; background: $panel; color: $muted; text-wrap: nowrap; }
    """

    def on_mount(self) -> None:
        """Follows the bindings of the screen it is on."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)  # pyright: ignore[reportUnknownMemberType]

    def _changed(self, _screen: Screen[object]) -> None:
        self.refresh()

    def render(self) -> Content:
        """`key what` pairs that fit."""
        line = Content("")
        for key, binding in self._shown():
            hint = Content.styled(key, "bold $primary") + Content.styled(f" {binding.description}", "$foreground")
            longer = hint if not line else Content("  ").join([line, hint])
            if line and longer.cell_length > self.content_size.width:
                break
            line = longer
        return line

    def _shown(self) -> list[tuple[str, Binding]]:
        """One entry an action: several keys of one binding show the first of them."""
        seen: dict[str, tuple[str, Binding]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled and binding.action not in seen:
                seen[binding.action] = (key_name(binding.key), binding)
        return list(seen.values())
