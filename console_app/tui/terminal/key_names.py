"""Keys as people write them: esc, ctrl+l, pgup, alt+↑."""

from __future__ import annotations

_NAMES = {
    "escape": "esc",
    "question_mark": "?",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "slash": "/",
    "full_stop": ".",
    "comma": ",",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def key_name(key: str) -> str:
    """`ctrl+pageup` as `ctrl+pgup`; a capital letter stays one."""
    *modifiers, last = key.split("+")
    return "+".join([*modifiers, _NAMES.get(last, last)])
