"""Pictures of the form of a tool; `pytest --snapshot-update` takes them anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui.forms.test_call_form import console, opened
from tests.tui.parts import see

Compare = Callable[..., bool]


@pytest.mark.parametrize("size", [(110, 40), (80, 24), (60, 15)], ids=str)
def test_a_form_with_mistakes(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press("ctrl+s")
        await see(pilot, "required")

    assert snap_compare(console(tmp_path), terminal_size=size, run_before=run)
