"""Searches the prompts you sent (Ctrl+R)."""

from __future__ import annotations

from collections.abc import Sequence

from console_app.tui.widgets.pick_list import Choice, PickList


class HistorySearch(PickList):
    """The result is the whole prompt."""

    def __init__(self, prompts: Sequence[str]) -> None:
        newest_first = dict.fromkeys(reversed(prompts))
        note = "" if newest_first else "no prompt was sent yet"
        super().__init__("Prompt history", [Choice(prompt) for prompt in newest_first], note=note)
