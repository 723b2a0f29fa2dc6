"""Notes items on the disk before their first call that isn't read-only starts: a note without a result says that
running the item again may do a thing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from console_app.batch.results_file import ResultsError, ResultsFile, line_of
from console_app.config.files import disk
from console_app.domain import ConfigError, FanoutError, Outcome, ToolResult, ToolSpec, batch, ports

_NOT_STARTED = "not started: that it may change something could not be noted"


class ChangeNotes:
    """The notes beside a results file, `RESULTS.changes`, which is there while an item in it has no result."""

    CUT_SHORT = "cut short after it began a call that may change something; --rerun-changes runs it again"

    def __init__(self, results: ResultsFile) -> None:
        """Read what an earlier run left. Raises ResultsError or UsageError."""
        self._results = results
        self._path = self.path_of(results.path)
        self._file = ResultsFile(self._path, look=results.look) if self._path.exists() else None
        self._open = set(self._file.earlier.statuses) if self._file is not None else set[str]()
        self._noting: dict[str, asyncio.Task[bool]] = {}

    @staticmethod
    def path_of(results: Path) -> Path:
        return results.with_name(f"{results.name}.changes")

    @classmethod
    def interrupted(cls, item: batch.WorkItem) -> batch.ItemResult:
        return batch.ItemResult(
            id=item.id, item=item.digest, status="interrupted", error=cls.CUT_SHORT, source=item.source
        )

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._open

    def check(self, items: Sequence[batch.WorkItem]) -> None:
        """Raise UsageError where a note is of an item that isn't one of `items`."""
        if self._file is not None:
            self._file.check(items)

    async def note(self, item: batch.WorkItem) -> bool:
        """Return once the note is on the disk; False where it can't be."""
        if item.id in self._open:
            return True
        if item.id not in self._noting:
            self._noting[item.id] = task = asyncio.create_task(self._note(item))
            task.add_done_callback(lambda _: self._noting.pop(item.id, None))
        return await asyncio.shield(self._noting[item.id])

    def settle(self, item_id: str) -> None:
        """Take note that the item has a result on the disk."""
        self._open.discard(item_id)

    async def close(self) -> None:
        """Remove the file once every item has a result. Where results aren't in their place, all that may have changed
        something is noted. Raises ResultsError."""
        if self._file is not None:
            self._file.give_up()
        if self._noting:
            await asyncio.wait(self._noting.values())
        ours = self._file is not None and self._file.in_place
        if self._file is not None:
            await self._file.close()
        if self._results.look:
            return
        if not self._results.in_place:
            await asyncio.to_thread(self._note_all)
        elif ours and not self._open:
            self._path.unlink()

    def _note_all(self) -> None:
        noted = dict(self._file.digests) if self._file is not None else {}
        noted |= {name: self._results.digests[name] for name in self._results.earlier.called}
        notes = [
            batch.ItemResult(id=name, item=one[0], status="interrupted", error=self.CUT_SHORT)
            for name, one in noted.items()
        ]
        try:
            disk.write_private(self._path, "".join(map(line_of, notes)))
        except ConfigError as error:
            raise ResultsError(error.detail, "The same command may change things twice.") from None

    async def _note(self, item: batch.WorkItem) -> bool:
        if self._file is None:
            try:
                self._file = ResultsFile(self._path)
            except FanoutError:
                return False
        if not await self._file.append(self.interrupted(item)):
            return False
        self._open.add(item.id)
        return True


class NotedChanges:
    def __init__(self, inner: ports.Toolset, note: Callable[[], Awaitable[bool]]) -> None:
        self._inner = inner
        self._note = note

    def tools(self) -> Sequence[ToolSpec]:
        return self._inner.tools()

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        if not invocation.spec.annotations.read_only:
            with reporter.held():
                noted = await self._note()
            if not noted:
                return ToolResult(outcome=Outcome.FAILED, content=_NOT_STARTED, error=_NOT_STARTED)
        return await self._inner.call(invocation, reporter)
