"""The soak of `benchmarks/soak.py`, short: after some turns, more of them leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import growth, soak
from console_app.tui.lineview.blocks import block_list

COUNTED = ("tasks", "descriptors", "threads", "widgets")
MOST_PAINTED = 300  # forty turns have some 400 lines
FEW = 0.2  # a turn, which is none: at a look a timer may be about to end, or a file be open


async def test_turns_leave_no_task_descriptor_thread_or_widget_behind(tmp_path: Path) -> None:
    looks = await soak(36, tmp_path, every=9, new_after=9, trace=False)
    grown = growth(looks, 18)
    assert max(grown[name] for name in (*COUNTED, "blocks")) < FEW, grown
    assert grown["objects"] < 40  # a turn makes about a thousand


@pytest.mark.timeout(3000)  # half a minute on a quiet machine
async def test_an_endless_conversation_keeps_what_was_said_and_little_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_list, "MOST_PAINTED", MOST_PAINTED)
    looks = await soak(80, tmp_path, every=40, new_after=1000, trace=False)
    grown = growth(looks, 40)
    assert max(grown[name] for name in COUNTED) < FEW, grown
    assert grown["blocks"] == 8
    assert looks[-1].painted <= MOST_PAINTED
    assert grown["objects"] < 250  # some 165; were all lines kept painted, some 900
