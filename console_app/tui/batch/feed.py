"""What the screen of a batch sees of it, and what it may do to it."""

from __future__ import annotations

from typing import Protocol

from console_app.domain import batch


class BatchFeed(Protocol):
    """A run that goes on."""

    def snapshot(self) -> batch.BatchSnapshot:
        """As it is now. Cheap."""
        ...

    def watch(self, item_id: str | None) -> None:
        """Has the app be told the turn events of one running item, its first ones too."""
        ...

    def stop_item(self, item_id: str) -> bool:
        """Stops one item; False when it doesn't run any more."""
        ...

    def stop_all(self) -> None:
        """Stops the run: what is running runs again another time."""
        ...
