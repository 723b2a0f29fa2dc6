"""Keys as people write them: esc, ctrl+l, pgup, alt+↑."""

from __future__ import annotations

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
