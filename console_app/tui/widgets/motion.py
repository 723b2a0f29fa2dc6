"""Keep whether anything moves by itself.

Textual's `animation_level` holds it, so that its own widgets, which glide, follow as well. In the environment,
`TEXTUAL_ANIMATIONS=none` says it for all programs that are made with Textual.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.constants import TEXTUAL_ANIMATIONS

CALM = 1.0  # seconds between two looks at what only counts, where nothing is to move


def use_motion(app: App[Any], motion: bool) -> None:
    app.animation_level = TEXTUAL_ANIMATIONS if motion else "none"
    app.theme_changed_signal.publish(app.current_theme)  # whoever paints makes its palette anew


def is_still(app: App[Any]) -> bool:
    return app.animation_level == "none"
