"""What Ctrl+V puts into the prompt, and what is said where that is nothing."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from console_app.config.machine import page_in_use
from console_app.console.files.clipboard import read_clipboard
from console_app.domain.errors import FanoutError

NOTHING = "There is nothing on the clipboard."
STARTING = "Still starting: paste the picture again in a moment."
IN_A_BROWSER = "Pictures of a browser's clipboard don't come through: name the picture's file with @."


async def on_clipboard(keep: Callable[[bytes], Awaitable[str]] | None) -> tuple[str, str, str]:
    """What names the clipboard's picture once `keep` has it, else its text, else why there is neither."""
    if page_in_use() is not None:
        return "", "", IN_A_BROWSER  # the desktop of this machine is not that of who looks at the page
    try:
        clip = await read_clipboard(os.environ)
        if clip.picture:
            return ("", "", STARTING) if keep is None else (await keep(clip.picture), "", "")
    except FanoutError as error:
        return "", "", error.line
    return "", clip.text, NOTHING
