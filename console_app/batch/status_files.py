"""Tells people and other terminals how far a run is, and hears from them that it should stop."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from console_app.batch.run import BatchRun
from console_app.config.files import disk
from console_app.domain import ConfigError, UsageError, batch, one_line, plural
from console_app.domain.steady_time import steady_time
from console_app.sessions import SessionLock

_BAR = 30  # characters of the longest bar
_CAUSES = 8


def summary(run: batch.BatchSnapshot) -> Iterator[str]:
    counts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in run.counts.items())
    before = f" ({run.earlier} from before)" if run.earlier else ""
    yield f"{run.ended + run.earlier} of {plural(run.total, 'item')} done{before}: {counts or 'none ran'}."
    if run.ending:
        yield f"Stopped: {run.ending}."
    if run.ended:
        took = batch.duration(max(run.at - run.started_at, 0.0))
        rate = f", {run.rate:.1f} items a second" if run.rate else ""
        yield f"It took {took}{rate}; {plural(run.calls, 'call')}, {run.failed_calls} of them without success."
    if run.usage.input_tokens or run.usage.output_tokens:
        priced = f", {batch.money(run.usage.cost)}" if run.usage.cost is not None else ", price not known"
        yield f"Tokens: {run.usage.input_tokens:,} in, {run.usage.output_tokens:,} out{priced}."
    if run.histogram:
        yield "Durations:"
        most = max(bar.count for bar in run.histogram)
        for bar in run.histogram:
            drawn = "█" * max(round(bar.count / most * _BAR), 1 if bar.count else 0)
            yield f"  up to {batch.duration(bar.up_to):>8} {bar.count:>7} {drawn}"
    if run.slowest:
        yield (
            "Slowest: "
            + ", ".join(f"{one_line(one.id, 40)} {batch.duration(one.seconds)}" for one in run.slowest)
            + "."
        )
    if run.causes:
        yield "Failures:"
        for cause in run.causes[:_CAUSES]:
            status = cause.status.replace("_", " ")
            yield f"  {cause.count:>5} {status}: {cause.words} (as {one_line(cause.example, 40)})"
        if (more := len(run.causes) - _CAUSES) > 0:
            yield f"  and {more} other causes"
    yield from (f"Note: {one_line(text, 200)}" for text in run.notices)


_NAME = re.compile(r"[^\w.-]+")
_MOST = 1_000  # runs of the same name at once
log = logging.getLogger(__name__)
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
            if snapshot.state != "ended" and self._is_free(path.stem):
                gone = "its process was ended from outside"
                snapshot = snapshot.model_copy(update={"state": "ended", "ending": gone, "running": ()})
            yield snapshot

    def _is_free(self, name: str) -> bool:
        lock = SessionLock(self._folder, name)
        free = lock.take()
        lock.let_go()
        return free


class Telling:
    """Tells of a run: a line a second for people, and a file for other terminals, which may stop it. A front end uses
    the rest."""

    def __init__(self, run: BatchRun, status: StatusFile, results: str, paused: Callable[[], float]) -> None:
        """`paused` gives for how many seconds the endpoints hold everything back."""
        self.watch = run.watch
        self.stop_item = run.stop_item
        self._run = run
        self._status = status
        self._results = results
        self._paused = paused

    def snapshot(self) -> batch.BatchSnapshot:
        progress = self._run.progress
        now = progress.snapshot(steady_time(), name=self._status.name, results=self._results, pid=os.getpid())
        return now.model_copy(update={"paused": self._paused()})

    def stop_all(self) -> None:
        self._run.asked_to_stop = True
        self._run.stop("now", "stopped by hand")

    async def until_ended(self, tell: Callable[[str], None] | None) -> batch.BatchSnapshot:
        """Run it to its end, and return its last snapshot. None tells no lines."""
        running = asyncio.create_task(self._run.run(), name="batch")
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
                    self._run.asked_to_stop = True
                    self._run.stop("now", "asked to, from another terminal")
                await asyncio.wait((running,), timeout=_TICK)
            await running
        finally:
            running.cancel()
            ended = self._run.progress.ended(steady_time(), name=self._status.name, results=self._results)
            await self._status.publish(ended)
        return ended
