"""The prompt in your own editor. The turn goes on meanwhile, with painting held back until you return."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from textual.app import App, SuspendNotSupported

from console_app.console import files


async def edit(app: App[int], text: str, *, suffix: str = ".md") -> str:
    """`text` as it was saved in the editor; raises EditorError when there is none or it failed."""
    try:
        return await files.edited(text, _suspended(app), suffix=suffix)
    except SuspendNotSupported:
        raise files.EditorError("this terminal can't be handed over to it.") from None


@contextmanager
def _suspended(app: App[int]) -> Generator[None]:
    with app.batch_update(), app.suspend():
        yield
