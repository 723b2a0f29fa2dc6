"""The port to whoever runs the items of a batch: this process, or many on other machines.

Text goes in and text comes out, so that nothing of ours has to be pickled and any executor fits (PEP 3148's
`submit(function, text) -> Future[str]` with a window of ours). Another engine is one file: each of its processes opens
a `TurnWorker` (`console_app.batch_worker`) on a loop of its own and hands it items.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol


class BatchEngine(Protocol):
    """Runs items. All members belong to one event loop; none but the two streams and `close` waits.

    A worker may be lost and an item run again, so a result may come more than once an id, and the caller takes the
    first. An item that started a call which isn't read-only is never run again by the engine: its result says
    `interrupted`. Errors of an item are results; a FanoutError from a stream means that the engine itself is gone.

    `note` is set by the caller before anything is submitted: the engine awaits it with an item's id before the first
    call of that item which isn't read-only starts, wherever it runs; on False the call doesn't start.
    """

    note: Callable[[str], Awaitable[bool]]

    @property
    def capacity(self) -> int:
        """Items that it can work on at once, as far as is known now: more may be submitted, and wait."""
        ...

    def submit(self, item: str) -> None:
        """Takes a `WorkItem` as JSON. Its id is unique among those without a result."""
        ...

    def results(self) -> AsyncIterator[str]:
        """An `ItemResult` as JSON for each item, in the order in which they end, cancelled ones too. Ends after
        `close`."""
        ...

    def events(self) -> AsyncIterator[str]:
        """`BatchEvent`s as JSON, while they happen; a slow reader loses the oldest. Ends after `close`."""
        ...

    def watch(self, item_id: str | None) -> None:
        """Has `events` carry the turn events of this one running item, from its beginning; None: of none."""
        ...

    def cancel(self, item_id: str | None = None) -> None:
        """Stops one item, or all: each ends soon with a result that says `cancelled`."""
        ...

    def kept(self, item_id: str) -> None:
        """The result of this item is on the caller's disk: the engine may forget it."""
        ...

    async def close(self) -> None:
        """Stops what runs, waits for its end, and ends both streams. Again does nothing."""
        ...
