"""A run of a batch: hands items to an engine, writes their results, stops when it has to, and tells people and other
terminals how far it is. A line in the results file is what counts: an item that a stop cut short has none, and runs
again the next time."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol

from pydantic import ValidationError

from console_app.batch.results_file import ChangeNotes, ResultsFile
from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.domain import ConfigError, FanoutError, UsageError, batch, one_line
from console_app.domain.steady_time import steady_time
from console_app.records import dataclass
from console_app.sessions import SessionLock

DISK_PATIENCE = 30.0  # seconds that a full disk may take to have room again
_LOOK = 1.0  # seconds between two looks at what else may be submitted
Stop = Literal["drain", "now"]
log = logging.getLogger(__name__)


class BatchEngine(Protocol):
    """Runs items. All members belong to one event loop; only the streams and `close` wait. A lost worker's item may run
    again, so the caller takes the first result of an id. Errors of an item are results; a FanoutError from a stream
    means that the engine is gone.

    The caller sets `note`, awaited with an item's id before its first call that isn't read-only; False keeps that from
    starting. Such an item never runs again: its result says `interrupted`."""

    note: Callable[[str], Awaitable[bool]]

    @property
    def capacity(self) -> int: ...

    def submit(self, item: str) -> None: ...

    def results(self) -> AsyncIterator[str]:
        """Yield an `ItemResult` as JSON for each item as they end, cancelled ones too. Ends after `close`."""
        ...

    def events(self) -> AsyncIterator[str]:
        """Yield `BatchEvent`s as JSON; a slow reader loses the oldest. Ends after `close`."""
        ...

    def watch(self, item_id: str | None) -> None:
        """Have `events` carry the turn events of this running item from its beginning; None: of none."""

    def cancel(self, item_id: str | None = None) -> None:
        """Stop one item, or all: each ends soon with a result that says `cancelled`."""

    def kept(self, item_id: str) -> None:
        """The result of this item is on the caller's disk: the engine may forget it."""

    async def close(self) -> None:
        """Stop what runs, wait for its end, and end both streams. Again does nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Stops a run early. `max_price` is in US dollars, `max_tokens` counts input and output; results of earlier runs
    count."""

    max_price: float | None = None
    max_tokens: int | None = None
    fail_fast: bool = False


class BatchRun:
    """A run of the items on an engine. `seen` is told every event, `fault` is what the engine died of."""

    def __init__(
        self,
        engine: BatchEngine,
        items: Sequence[batch.WorkItem],
        results: ResultsFile,
        progress: batch.BatchProgress,
        limits: Limits,
        changes: ChangeNotes,
        disk_patience: float = DISK_PATIENCE,
        redactor: Redactor | None = None,
    ) -> None:
        self.progress = progress
        self.fault = ""
        self.asked_to_stop = False  # by a person
        self._engine = engine
        self._todo = deque(items)
        self._results = results
        self._limits = limits
        self._changes = changes
        engine.note = self._note
        self.seen: Callable[[batch.BatchEvent | batch.ItemResult], None] = lambda _: None
        self._out: dict[str, batch.WorkItem] = {}  # submitted, and without a result
        self._writing: set[str] = set()  # of these, those whose result is on its way to the disk
        self._stopped_items: set[str] = set()
        self._stopping: Stop | None = None
        self._price, self._tokens = results.earlier.cost, results.earlier.tokens
        self._unpriced_told = False
        self._full_since: float | None = None
        self._disk_patience = disk_patience
        self._redactor = redactor or Redactor()  # stands before errors; what an item answered is written as it was said
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Run all items until the run stops. Raises nothing that an item or an engine did."""
        self.progress.begin(steady_time())
        reading = [
            asyncio.create_task(self._guarded(self._engine.results(), self._finished), name="batch results"),
            asyncio.create_task(self._guarded(self._engine.events(), self._happened), name="batch events"),
        ]
        try:
            while self._out or (self._todo and not self._stopping):
                self._submit()
                self._changed.clear()
                if self.fault or not self._out:
                    break
                try:
                    await asyncio.wait_for(self._changed.wait(), _LOOK)
                except TimeoutError:
                    now = asyncio.get_running_loop().time()
                    if not self._results.problem:
                        self._full_since = None
                    elif self._full_since is None:
                        self._full_since = now
                        self.stop("drain", self._results.problem)
                    elif now - self._full_since >= self._disk_patience and len(self._writing) == len(self._out):
                        self._results.give_up()
        finally:
            self.progress.state = "ended"
            await self._engine.close()
            await asyncio.wait(reading)

    def stop(self, how: Stop, why: str) -> None:
        """Begin no more items; with `now` running ones stop too, and run again another time."""
        if self._stopping is None:
            self.progress.ending = why
            self.progress.state = "stopping"
        if how == "now" and self._stopping != "now":
            self._stopping = how
            self._results.give_up()
            self._engine.cancel()
        self._stopping = self._stopping or how
        self._changed.set()

    def stop_item(self, item_id: str) -> bool:
        """Stop one item for good: its result says `cancelled`. False when it doesn't run."""
        if item_id not in self._out:
            return False
        self._stopped_items.add(item_id)
        self._engine.cancel(item_id)
        return True

    def watch(self, item_id: str | None) -> None:
        self._engine.watch(item_id)

    def _submit(self) -> None:
        while self._todo and not self._stopping and len(self._out) < self._engine.capacity:
            if why := self._spent():
                self.stop("drain", why)
                return
            item = self._todo.popleft()
            if self._limits.max_price is not None:
                item = item.model_copy(update={"max_price": max(self._limits.max_price - self._price, 0.0)})
            self._out[item.id] = item
            self._engine.submit(item.model_dump_json(exclude_defaults=True))

    def _spent(self) -> str:
        most = self._limits.max_price
        if most is not None and self._price >= most:
            return f"the price limit is reached: ${self._price:.4f} of ${most:.4f} (--max-price)"
        if (tokens := self._limits.max_tokens) is not None and self._tokens >= tokens:
            return f"the token limit is reached: {self._tokens:,} of {tokens:,} (--max-tokens)"
        return ""

    async def _guarded(self, texts: AsyncIterator[str], take: Callable[[str], None]) -> None:
        try:
            async for text in texts:
                take(text)
        except FanoutError as error:
            self.fault = error.line
        except Exception as error:
            log.exception("the batch failed")
            self.fault = f"{type(error).__name__}: {error} (see the log)"
        self._changed.set()

    async def _note(self, item_id: str) -> bool:
        item = self._out.get(item_id)
        return item is not None and not self._results.lost and await self._changes.note(item)

    def _happened(self, text: str) -> None:
        event = batch.BATCH_EVENT.validate_json(text)
        self.progress.apply(event)
        self.seen(event)

    def _finished(self, text: str) -> None:
        result = batch.ItemResult.model_validate_json(text)
        if result.id not in self._out or result.id in self._writing:
            return  # a second one of an item that a lost worker had run
        if result.error:
            result = result.model_copy(update={"error": self._redactor.clean(result.error)})
        if result.status == "cancelled" and result.id in self._changes and result.id not in self._stopped_items:
            result = result.model_copy(update={"status": "interrupted", "error": batch.CUT_SHORT})
        if result.status == "cancelled" and result.id not in self._stopped_items:
            del self._out[result.id]  # the run stopped it: it runs again another time
            self.progress.forget(result.id)
            self._changed.set()
        else:
            self._writing.add(result.id)
            self._results.append(result).add_done_callback(lambda done: self._written(result, kept=done.result()))

    def _written(self, result: batch.ItemResult, *, kept: bool) -> None:
        if kept:
            self._changes.settle(result.id)
            self._engine.kept(result.id)
        else:
            self.stop("drain", self._results.problem)
        self._writing.discard(result.id)
        del self._out[result.id]
        self.progress.finished(result)
        self._price += result.usage.cost or 0.0
        self._tokens += result.usage.input_tokens + result.usage.output_tokens
        unpriced = result.usage.cost is None and result.usage.input_tokens
        if self._limits.max_price is not None and unpriced and not self._unpriced_told:
            self._unpriced_told = True
            self.progress.notice("The price of a model isn't known, so --max-price can't be kept.")
        self.seen(result)
        if self._limits.fail_fast and not result.ok:
            self.stop("now", f"item “{result.id}” {result.status} (--fail-fast)")
        self._changed.set()


class RunFiles:
    """The files of a run of these items. With `retry` items that ended badly run again, with `rerun` those that were
    cut short. After `open`, `unwritten` are lines that are not in the file, and `harm` says why."""

    def __init__(
        self, path: Path, items: Sequence[batch.WorkItem], redactor: Redactor, *, retry: bool, rerun: bool
    ) -> None:
        self.path = path
        self._redactor = redactor
        self.unwritten: Sequence[str] = ()
        self.harm = ""
        self._items = items
        self._rerun = rerun
        self._again = {"failed", "invalid", "step_limit", "timed_out", "approval", "cancelled"} if retry else set[str]()
        self._again |= {"interrupted"} if rerun else set()

    def check_places(self, read: Sequence[Path], report: Path | None, events: Path | None) -> None:
        """Check that no file is read and written at once and endings are true; `events` is a folder. Raises
        UsageError."""
        items = {path.resolve() for path in read}
        if self.path.resolve() in items:
            raise UsageError(f"{self.path} can't be the file of items and that of results", "Name another with -o.")
        written = {self.path.resolve(), ChangeNotes.path_of(self.path).resolve()}
        if report is not None:
            _check_report(report, items | written)
            written.add(report.resolve())
        if events is not None and (both := [path for path in items | written if path.parent == events.resolve()]):
            raise UsageError(f"--events {events}: {both[0].name} is in that folder too", "Name a folder of its own.")
        if self.path.suffix.lower() not in ("", ".jsonl", ".ndjson"):
            raise UsageError(f"-o {self.path.name}: results are lines of JSON; its ending is .jsonl, .ndjson or none")
        if report is not None and report.suffix.lower() not in ("", ".html", ".htm"):
            raise UsageError(f"--report {report.name}: the report is a page; its ending is .html, .htm or none")

    @asynccontextmanager
    async def open(self, *, look: bool = False) -> AsyncGenerator[None]:
        """Open both, and check that they are of these items. Raises UsageError and ResultsError."""
        self.results = results = await asyncio.to_thread(ResultsFile, self.path, look=look)
        try:
            await asyncio.to_thread(results.check, self._items)
            self._changes = changes = await asyncio.to_thread(ChangeNotes, results)
            try:
                await asyncio.to_thread(changes.check, self._items)
                yield
            finally:
                await changes.close()
        finally:
            await results.close()
            self.unwritten = results.unwritten
            self.harm = results.harm or (results.problem if results.unwritten else "")

    def left(self) -> list[batch.WorkItem]:
        """Return the items that are still to run."""
        done = self.results.earlier.statuses
        for name in done:
            self._changes.settle(name)
        return [one for one in self._items if one.id not in done or done[one.id] in self._again]

    def cut_short(self, items: Sequence[batch.WorkItem]) -> list[batch.WorkItem]:
        """Return those that began a call which may change something, and don't run again by themselves."""
        return [] if self._rerun else [one for one in items if one.id in self._changes]

    async def interrupt(self, items: Sequence[batch.WorkItem]) -> str:
        """Write that these were cut short, and return a line about it."""
        for item in items:
            if await self.results.append(batch.ItemResult.interrupted(item)):
                self.results.earlier.statuses[item.id] = "interrupted"
                self._changes.settle(item.id)
        return f"{one_line(', '.join(one.id for one in items), 80)}: {batch.CUT_SHORT}."

    def run(
        self, engine: BatchEngine, items: Sequence[batch.WorkItem], progress: batch.BatchProgress, limits: Limits
    ) -> BatchRun:
        return BatchRun(engine, items, self.results, progress, limits, self._changes, redactor=self._redactor)

    @staticmethod
    def compare(first: Path, second: Path) -> dict[str, list[str]]:
        """Return what differs of each item, in the order of the first file; times, tokens and prices don't. Raises
        UsageError."""
        one, other = _results_in(first), _results_in(second)
        return {
            name: [f"only in {second if name in other else first}"]
            if name not in one or name not in other
            else list(one[name].differences(other[name]))
            for name in (one | other)
        }


def _results_in(path: Path) -> dict[str, batch.ItemResult]:
    found: dict[str, batch.ItemResult] = {}
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    result = batch.ItemResult.model_validate_json(line)
                except ValidationError:
                    raise UsageError(f"{path}:{number} is no result of a batch") from None
                found[result.id] = result
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror or error}") from None
    return found


def _check_report(path: Path, taken: set[Path]) -> None:
    if path.resolve() in taken:
        raise UsageError(f"--report {path} would take the place of another file of this run", "Name another file.")
    if path.is_dir():
        raise UsageError(f"--report {path}: Is a directory")
    if not path.parent.is_dir():
        raise UsageError(f"--report {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--report {path}: Permission denied")


_NAME = re.compile(r"[^\w.-]+")
_MOST = 1_000  # runs of the same name at once
_TICK = 1.0  # seconds between two lines, and two looks of other terminals
_QUIET = 10  # of these, after which a line is repeated that says nothing new


class StatusFile:
    """Publishes the status of a run in `folder`, under a `name` that no other run has. A status that can't be written
    is logged."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        plain = _NAME.sub("-", name).strip(".-") or "batch"
        for number in range(1, _MOST):
            self.name = plain if number == 1 else f"{plain}-{number}"
            self._lock = SessionLock(folder, self.name)
            if self._lock.take():
                break
        self._stop = folder / f"{self.name}.stop"
        self._stop.unlink(missing_ok=True)

    async def publish(self, snapshot: batch.BatchSnapshot) -> None:
        try:
            await asyncio.to_thread(disk.write_private, self._folder / f"{self.name}.json", snapshot.model_dump_json())
        except ConfigError as error:
            log.warning("%s", error.line)

    async def stop_asked(self) -> bool:
        return await asyncio.to_thread(self._stop.exists)

    def close(self) -> None:
        self._stop.unlink(missing_ok=True)
        self._lock.let_go()


class KnownRuns:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, name: str) -> StatusFile:
        return StatusFile(self._folder, name)

    def all(self) -> list[batch.BatchSnapshot]:
        return sorted(self._read(), key=lambda one: (one.state == "ended", -one.at))

    def named(self, name: str) -> batch.BatchSnapshot:
        """Return the run called `name`. Raises UsageError."""
        runs = self.all()
        for run in runs:
            if run.name == name:
                return run
        names = ", ".join(run.name for run in runs[:10]) or "none"
        raise UsageError(f"no batch is called {name}", f"There are: {names}.")

    def ask_to_stop(self, name: str) -> None:
        if self.named(name).state == "ended":
            raise UsageError(f"the batch {name} doesn't run any more", f"fanout batch show {name} says how it ended.")
        disk.private_folder(self._folder)
        (self._folder / f"{name}.stop").touch()

    def _read(self) -> Iterator[batch.BatchSnapshot]:
        for path in sorted(self._folder.glob("*.json")):
            try:
                snapshot = batch.BatchSnapshot.model_validate_json(path.read_bytes())
            except (OSError, ValidationError) as error:
                log.warning("%s can't be read: %s", path, error)
                continue
            if snapshot.state != "ended" and SessionLock(self._folder, path.stem).is_free():
                gone = "its process was ended from outside"
                snapshot = snapshot.model_copy(update={"state": "ended", "ending": gone, "running": ()})
            yield snapshot


class Telling:
    """Tells of a run: a line a second for people, and a file for other terminals, which may stop it. A front end uses
    the rest."""

    def __init__(self, run: BatchRun, status: StatusFile, results: str, paused: Callable[[], float]) -> None:
        """`paused` gives for how many seconds the endpoints hold everything back."""
        self.watch = run.watch
        self.stop_item = run.stop_item
        self.run = run
        self._status = status
        self._results = results
        self._paused = paused

    def snapshot(self) -> batch.BatchSnapshot:
        progress = self.run.progress
        now = progress.snapshot(steady_time(), name=self._status.name, results=self._results, pid=os.getpid())
        return now.model_copy(update={"paused": self._paused()})

    def stop_all(self) -> None:
        self.run.asked_to_stop = True
        self.run.stop("now", "stopped by hand")

    async def until_ended(self, tell: Callable[[str], None] | None) -> batch.BatchSnapshot:
        """Run it to its end, and return its last snapshot. None tells no lines."""
        running = asyncio.create_task(self.run.run(), name="batch")
        last, since = "", 0
        try:
            while not running.done():
                snapshot = self.snapshot()
                text, since = snapshot.line, since + 1
                if tell is not None and (text != last or since >= _QUIET):
                    tell(text)
                    last, since = text, 0
                await self._status.publish(snapshot)
                if await self._status.stop_asked():
                    self.run.asked_to_stop = True
                    self.run.stop("now", "asked to, from another terminal")
                await asyncio.wait((running,), timeout=_TICK)
            await running
        finally:
            running.cancel()
            ended = self.run.progress.ended(steady_time(), name=self._status.name, results=self._results)
            await self._status.publish(ended)
        return ended
