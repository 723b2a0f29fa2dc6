"""Keys as people write them: esc, ctrl+l, pgup, alt+↑; and which of them write."""

from __future__ import annotations

from textual import events
from textual.keys import key_to_character

_NAMES = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "slash": "/",
    "comma": ",",
    "plus": "+",
    "minus": "-",
}


def key_name(key: str) -> str:
    """`ctrl+pageup` as `ctrl+pgup`; a capital letter stays one."""
    *modifiers, last = key.split("+")
    sign = key_to_character(last)
    shown = sign if sign is not None and sign.isprintable() and not sign.isspace() else last
    return "+".join([*modifiers, _NAMES.get(last, shown)])


def writes_text(event: events.Key) -> bool:
    """Tell whether a key writes its character. Most terminals send Alt and a letter with one too: such a key is a
    command, or does nothing."""
    return event.is_printable and not event.key.startswith("alt+")
