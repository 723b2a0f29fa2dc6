"""A file that hangs holds up nothing: neither whoever asks for it, nor other work in threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from console_app.console.files.file_changes import in_time
from tests.patience import PATIENCE


async def test_what_hangs_is_not_waited_for_and_takes_no_thread_from_others() -> None:
    hung = threading.Event()
    try:
        late = await asyncio.gather(*(in_time(hung.wait, 0.05, False) for _ in range(100)))
        assert late == [False] * 100
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.gather(*(asyncio.to_thread(str, number) for number in range(20)))
    finally:
        hung.set()


async def test_what_is_there_in_time_is_given_and_what_fails_fails() -> None:
    assert await in_time(lambda: "text", PATIENCE, "late") == "text"
    with pytest.raises(ValueError, match="no plain file"):
        await in_time(lambda: (_ for _ in ()).throw(ValueError("no plain file")), PATIENCE, None)
