"""Run `fanout batch` and `fanout call --from`: items are read and checked, run, shown and summed up."""

from __future__ import annotations

import asyncio
import json
import os
import random
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from console_app import batch_worker, wiring
from console_app.batch import (
    BatchEngine,
    BatchRun,
    ChangeNotes,
    ItemPlan,
    KnownRuns,
    Limits,
    LocalEngine,
    ResultsFile,
    StatusFile,
    Telling,
    Template,
    compare_results,
    given_calls,
    make_items,
    read_rows,
    schema_problem,
)
from console_app.commands import junit
from console_app.config.models import ModelChoice
from console_app.config.servers import ServerChoice
from console_app.domain import (
    CallState,
    FanoutError,
    ToolSpec,
    UsageError,
    amounts,
    batch,
    call_description,
    one_line,
    plural,
    safe_text,
    visible,
)
from console_app.domain import events as ev
from console_app.domain.steady_time import steady_time
from console_app.engine import ManualCall, find_tools
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding, needed_servers, servers
from console_app.records import dataclass
from console_app.wiring import Setup

ACTIONS = ("status", "show", "stop")
DONE = RunEnding(Exit.DONE)
_ANSWER = 500  # tokens that an answer is taken to have where no limit is set


async def run_batch(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    words: Sequence[str] = setup.arguments.words
    if words[0] in ACTIONS:
        return _other_run(setup, output, words[0], words[1:])
    plan = _plan(setup)
    reading = asyncio.to_thread(lambda: make_items(read_rows(words, setup.arguments.format), plan))
    items = await interrupts.race(reading)
    return await _Command(setup, output, interrupts, items, words, wiring.choose_servers(setup)).run()


async def run_calls(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    if setup.arguments.words:
        raise UsageError("--from takes its calls from the file alone", "Leave out the others.")
    path: str = setup.arguments.from_file
    vars(setup.arguments).update(dry_run=False, batch_price=None, batch_tokens=None)
    items = await interrupts.race(asyncio.to_thread(lambda: given_calls(read_rows([path], "jsonl", as_written=True))))
    chosen = wiring.choose_servers(setup)
    for item in items:  # each by itself, so that the line of the one that is wrong can be told
        with _told_at(item):
            needed_servers(chosen, _given(item))
    chosen = needed_servers(chosen, [call for item in items for call in _given(item)])
    return await _Command(setup, output, interrupts, items, [path], chosen, calls=True).run()


async def diff(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    first, second = (setup.cwd / Path(name).expanduser() for name in setup.arguments.words)
    found = await interrupts.race(asyncio.to_thread(compare_results, first, second))
    differing = {name: told for name, told in found.items() if told}
    if setup.arguments.json:
        from console_app.command_line import json_outputs  # types of every command

        entries = [json_outputs.ItemDifference(item=name, differences=tuple(told)) for name, told in differing.items()]
        report = json_outputs.DiffReport(items=len(found), differing=tuple(entries))
        output.report(safe_text.json_line(report.model_dump()))
    else:
        for name, told in differing.items():
            for text in told:
                output.report(visible(f"{one_line(name, 60)}: {text}"))
        output.error_line(f"{plural(len(found), 'item')} compared, {len(differing) or 'none'} differ.")
    if setup.arguments.junit:
        cases = [junit.Case(name, problems=told) for name, told in found.items()]
        junit.write(setup.cwd / Path(setup.arguments.junit).expanduser(), "diff", cases, seconds=0.0)
    return RunEnding(Exit.FAILED) if differing else DONE


def _plan(setup: Setup) -> ItemPlan:
    arguments = setup.arguments
    return ItemPlan(
        prompt=None if arguments.prompt is None else Template(arguments.prompt, "--prompt"),
        system=None if arguments.system is None else Template(arguments.system, "--system"),
        schema=_schema(arguments.schema),
        each=ItemPlan.read_each(arguments.each or ()),
        repeat=arguments.repeat,
        folder=setup.cwd,
    )


def _schema(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        schema: Any = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--schema {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--schema {path} is no JSON: {one_line(str(error), 200)}") from None
    if problem := schema_problem(schema):
        raise UsageError(f"--schema {path}: {problem}")
    return schema


def _other_run(setup: Setup, output: OutputStreams, action: str, names: Sequence[str]) -> RunEnding:
    known = KnownRuns(setup.paths.batches)
    if action != "status" and len(names) != 1:
        raise UsageError(f"{action} needs the name of one batch", "fanout batch status lists them.")
    runs = [known.named(name) for name in names] if names else known.all()
    if action == "stop":
        known.ask_to_stop(names[0])
        output.report(f"{names[0]}: asked to stop.")
        return DONE
    if setup.arguments.json:
        output.report(safe_text.json_line({"batches": [run.model_dump(mode="json") for run in runs]}))
        return DONE
    for run in runs:
        if setup.arguments.jsonl:
            output.report(safe_text.json_line(run.model_dump(mode="json")))
        else:
            for text in _told(run) if action == "show" else [f"{run.name}: {run.state} · {run.line}"]:
                output.report(visible(text))
    if not runs:
        output.error_line("No batch has run here.")
    return DONE


def _told(run: batch.BatchSnapshot) -> list[str]:
    if run.state == "ended":
        return [f"{run.name}: ended · {run.results}", *run.summary()]
    running = [
        f"  {one.id}  {batch.duration(max(run.at - one.started_at, 0.0))}  {one.model}  {_lanes(one)}"
        for one in run.running
    ]
    failures = [f"  {cause.count} {cause.status}: {cause.words} (as {cause.example})" for cause in run.causes]
    return [f"{run.name}: {run.state} · {run.results}", run.line, *running, *failures]


@dataclass(slots=True)
class _Command:
    setup: Setup
    output: OutputStreams
    interrupts: Interrupts
    items: list[batch.WorkItem]
    read: Sequence[str]  # the files that they are of, "-" is standard input
    servers: ServerChoice
    calls: bool = False

    @property
    def arguments(self) -> Namespace:
        return self.setup.arguments

    async def run(self) -> RunEnding:
        for note in (*self.setup.layered.notes, *self.servers.notes, *wiring.foreign_waits(self.setup)):
            self.output.error_line(note)
        if self.arguments.dry_run:
            return await self._price()
        if (self.arguments.record or self.arguments.replay) and self.arguments.engine != "local":
            raise UsageError("--record and --replay are for the local engine", "Leave out --engine.")
        if self.arguments.record and self.arguments.replay:
            raise UsageError("--record and --replay exclude each other", "Leave one of them out.")
        replay = self._path(self.arguments.replay)
        if replay is not None and not replay.is_dir():
            raise UsageError(f"--replay {self.arguments.replay}: there is no such folder", "Make it with --record.")
        if self.arguments.output is None:
            raise UsageError("the batch has no file for its results", "Name a file with -o, as -o results.jsonl.")
        path = self._results_path()
        results = await asyncio.to_thread(ResultsFile, path)
        try:
            await asyncio.to_thread(results.check, self.items)
            changes = await asyncio.to_thread(ChangeNotes, results)
            try:
                await asyncio.to_thread(changes.check, self.items)
                ending = await self._missing(results, changes)
                await results.hold()
                return ending if ending.code or not results.harm else RunEnding(Exit.FAILED)
            finally:
                await changes.close()
        finally:
            await results.close()
            for text in results.unwritten:  # so that nothing is lost
                self.output.out(text)
            if results.harm or results.unwritten:
                printed = f": what came of {plural(len(results.unwritten), 'item')} is on stdout" * bool(
                    results.unwritten
                )
                self.output.error_line(f"fanout: {results.harm or results.problem}{printed}.")

    def _results_path(self) -> Path:
        path = self.setup.cwd / Path(self.arguments.output).expanduser()
        _check_places([Path(one) for one in self.read if one != "-"], path, self._report, self._events)
        return path

    @property
    def _report(self) -> Path | None:
        return self._path(self.arguments.report)

    @property
    def _events(self) -> Path | None:
        return self._path(self.arguments.events)

    def _path(self, written: str | None) -> Path | None:
        return self.setup.cwd / Path(written).expanduser() if written else None

    async def _missing(self, results: ResultsFile, changes: ChangeNotes) -> RunEnding:
        done, rerun = results.earlier.statuses, self.arguments.rerun_changes
        todo = self._todo(results, changes)
        earlier = len(self.items) - len(todo)
        if not todo:
            failed = sum(status != "completed" for status in done.values())
            hint = f", {failed} of them failed (--retry failed runs those again)" if failed else ""
            self.output.error_line(f"Nothing is left to do: all {earlier} items have a result{hint}.")
            name, progress = self.arguments.name or results.path.stem, batch.BatchProgress(earlier, earlier)
            await self._write_report(
                progress.ended(steady_time(), name=name, results=safe_text.encodable(str(results.path)))
            )
            return RunEnding(Exit.FAILED if failed else Exit.DONE)
        if self.arguments.shuffle:
            random.shuffle(todo)
        async with self._engine(todo[: self.arguments.limit], results) as (engine, known, paused):
            # Items that workers hold since an earlier start take up their room, so these come first.
            todo = sorted(todo, key=lambda one: one.id not in known)[: self.arguments.limit]
            cut = [] if rerun else [one for one in todo if one.id in changes and one.id not in known]
            if cut:
                for item in cut:
                    if await results.append(ChangeNotes.interrupted(item)):
                        results.earlier.statuses[item.id] = "interrupted"
                        changes.settle(item.id)
                self.output.error_line(f"{one_line(', '.join(one.id for one in cut), 80)}: {ChangeNotes.CUT_SHORT}.")
                todo = [one for one in todo if one not in cut]
            progress = batch.BatchProgress(earlier + len(cut) + len(todo), earlier + len(cut))
            return await self._run(engine, paused, results, changes, todo, progress)

    def _todo(self, results: ResultsFile, changes: ChangeNotes) -> list[batch.WorkItem]:
        done = results.earlier.statuses
        for name in done:
            changes.settle(name)
        again = {"failed", "invalid", "step_limit", "timed_out", "approval", "cancelled"}
        again = again if self.arguments.retry == "failed" else set[str]()
        again |= {"interrupted"} if self.arguments.rerun_changes else set()
        return [one for one in self.items if one.id not in done or done[one.id] in again]

    @asynccontextmanager
    async def _engine(
        self, todo: Sequence[batch.WorkItem], results: ResultsFile
    ) -> AsyncGenerator[tuple[BatchEngine, set[str], Callable[[], float]]]:
        """Give the engine, the ids of items that it works on already, and for how long endpoints hold all back."""
        if self.arguments.engine != "local":
            from console_app.cluster import cluster_engine

            tell, items = self.output.error_line, self.items
            opening = cluster_engine(self.setup, items, results.path, tell, calls=self.calls)
            async with AsyncExitStack() as stack:
                engine = await self.interrupts.race(stack.enter_async_context(opening))
                yield engine, engine.known, lambda: 0.0
            return
        async with self._worker(todo) as worker:
            engine = LocalEngine(worker.worker, lambda: self.arguments.jobs or worker.models.jobs)
            yield engine, set(), lambda: worker.models.paused

    @asynccontextmanager
    async def _worker(self, items: Sequence[batch.WorkItem]) -> AsyncGenerator[batch_worker.OpenWorker]:
        replay = self._path(self.arguments.replay)
        opening = batch_worker.open_worker(
            self.setup,
            self.servers,
            events=self._events,
            record=self._path(self.arguments.record),
            replay=replay,
            named_servers=self.calls,
        )
        async with opening as worker:
            await self.interrupts.race(worker.ready(lambda hub: servers.settled(hub, self.output)))
            if replay is not None:
                pass  # what is there says which models and tools there were
            elif self.calls:
                for item in items:
                    with _told_at(item):
                        find_tools(_given(item), worker.hub.tools())
            else:
                first: dict[str, batch.WorkItem] = {}
                for item in items:
                    first.setdefault(item.model, item)
                for name, item in first.items():
                    with _told_at(item) if name else nullcontext():
                        choice = await self.interrupts.race(worker.models.load(name))
                    if choice.notice:
                        self.output.error_line(choice.notice)
            yield worker

    async def _left(self) -> tuple[list[batch.WorkItem], str]:
        """Return the items that a run would begin, and what earlier ones spent; nothing is written."""
        path = self._results_path() if self.arguments.output is not None else None
        if path is None or not path.exists():
            return self.items, ""
        results = await asyncio.to_thread(ResultsFile, path, look=True)
        try:
            results.check(self.items)
            changes = await asyncio.to_thread(ChangeNotes, results)
            try:
                changes.check(self.items)
                rerun = self.arguments.rerun_changes
                left = [one for one in self._todo(results, changes) if rerun or one.id not in changes]
                return left, results.earlier.spent
            finally:
                await changes.close()
        finally:
            await results.close()

    async def _price(self) -> RunEnding:
        left, spent = await self._left()
        if done := len(self.items) - len(left):
            are = f"{plural(len(self.items), 'item')} {'is' if len(self.items) == 1 else 'are'}"
            self.output.error_line(f"{done} of {are} done ({spent}): what is told is of the {len(left)} left.")
        items = left[: self.arguments.limit]
        if not items:
            return DONE
        async with self._worker(items) as worker:
            settings = wiring.engine_settings(self.setup.settings, headless=True)
            prompt = "\n\n".join(filter(None, (settings.system_prompt, worker.hub.instructions())))
            tools = worker.hub.tools()
            for one in await asyncio.to_thread(_estimate, items, worker.models.choice, prompt, tools):
                self.output.report(one.line)
        self.output.error_line("For one request an item: calls add steps, and each step sends all before it again.")
        return DONE

    async def _run(
        self,
        engine: BatchEngine,
        paused: Callable[[], float],
        results: ResultsFile,
        changes: ChangeNotes,
        todo: list[batch.WorkItem],
        progress: batch.BatchProgress,
    ) -> RunEnding:
        limits = Limits(self.arguments.batch_price or None, self.arguments.batch_tokens, self.arguments.fail_fast)
        run = BatchRun(engine, todo, results, progress, limits, changes, redactor=self.setup.redactor)
        name = self.arguments.name or results.path.stem
        status = await asyncio.to_thread(StatusFile, self.setup.paths.batches, name)
        self.interrupts.on_interrupt = lambda: run.stop("now", "interrupted")
        if self.interrupts.asked.is_set():
            run.stop("now", "interrupted")
        try:
            telling = Telling(run, status, safe_text.encodable(str(results.path)), paused)
            if self.on_screen:
                ended = await self._shown(run, telling)
            else:
                ended = await telling.until_ended(self.output.error_line)
        finally:
            self.interrupts.on_interrupt = None
            status.close()
        now = {item.id for item in todo}
        failed = any(status != "completed" for name, status in results.earlier.statuses.items() if name not in now)
        for text in ended.summary():
            self.output.error_line(text)
        await self._write_report(ended)
        if self.interrupts.asked.is_set() or run.asked_to_stop:
            return RunEnding(Exit.INTERRUPTED, "Interrupted.")
        if run.fault:
            return RunEnding(Exit.FAILED, run.fault)
        return RunEnding(Exit.FAILED if failed or ended.failed or ended.left or ended.ending else Exit.DONE)

    @property
    def on_screen(self) -> bool:
        term = self.setup.environ.get("TERM", "")
        return os.isatty(0) and os.isatty(1) and os.isatty(2) and term not in ("", "dumb") and not self.arguments.plain

    async def _shown(self, run: BatchRun, telling: Telling) -> batch.BatchSnapshot:
        from console_app.tui import BatchApp  # with Textual, 0.2 s, which a pipe doesn't need

        theme_dirs = self.setup.paths.theme_dirs
        settings = self.setup.settings
        app = BatchApp(telling, settings.theme, theme_dirs, motion=settings.ui.motion)

        def seen(event: batch.BatchEvent | batch.ItemResult) -> None:
            if isinstance(event, batch.ItemTurnEvent):
                app.happened(event.item, ev.EVENT.validate_python(event.event))

        run.seen = seen
        showing = asyncio.create_task(app.run_async(), name="batch screen")
        running = asyncio.create_task(telling.until_ended(None), name="batch run")
        try:
            await asyncio.wait((showing, running), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():  # the screen is gone, with its terminal or by a fault of ours
                telling.stop_all()
            return await running
        finally:
            if not showing.done():
                app.exit()
            await asyncio.wait((showing,))

    async def _write_report(self, run: batch.BatchSnapshot) -> None:
        if self._report is not None:
            from console_app import page  # with the words of the screen: only where a page is wanted

            await asyncio.to_thread(page.write_batch, self._report, run, Path(run.results), self.setup.redactor)


def _given(item: batch.WorkItem) -> list[ManualCall]:
    return [ManualCall(call.tool, call.arguments) for call in item.calls]


@contextmanager
def _told_at(item: batch.WorkItem) -> Generator[None]:
    try:
        yield
    except FanoutError as error:
        raise type(error)(f"{item.source}: {error.detail}", error.hint) from error


def _lanes(item: batch.RunningItem) -> str:
    marks = "".join(call_description.sign_of(lane.state, lane.outcome) or "●" for lane in item.lanes)
    open_ones = [lane.label for lane in item.lanes if lane.state is not CallState.FINISHED]
    return f"{marks} {open_ones[-1]}" if open_ones else marks


def _check_places(read: Sequence[Path], results: Path, report: Path | None, events: Path | None) -> None:
    """Check that no file is read and written at once and endings are true; `events` is a folder. Raises UsageError."""
    items = {path.resolve() for path in read}
    if results.resolve() in items:
        raise UsageError(f"{results} can't be the file of items and that of results", "Name another with -o.")
    written = {results.resolve(), ChangeNotes.path_of(results).resolve()}
    if report is not None:
        _check_report(report, items | written)
        written.add(report.resolve())
    if events is not None and (both := [path for path in items | written if path.parent == events.resolve()]):
        raise UsageError(f"--events {events}: {both[0].name} is in that folder too", "Name a folder of its own.")
    if results.suffix.lower() not in ("", ".jsonl", ".ndjson"):
        raise UsageError(f"-o {results.name}: results are lines of JSON; its ending is .jsonl, .ndjson or none")
    if report is not None and report.suffix.lower() not in ("", ".html", ".htm"):
        raise UsageError(f"--report {report.name}: the report is a page; its ending is .html, .htm or none")


def _check_report(path: Path, taken: set[Path]) -> None:
    if path.resolve() in taken:
        raise UsageError(f"--report {path} would take the place of another file of this run", "Name another file.")
    if path.is_dir():
        raise UsageError(f"--report {path}: Is a directory")
    if not path.parent.is_dir():
        raise UsageError(f"--report {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--report {path}: Permission denied")


@dataclass(slots=True)
class _Estimate:
    """An estimate for the items of one model: one request each, without further steps. `cost` None: price not known."""

    model: str
    items: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    @property
    def line(self) -> str:
        price = "price not known" if self.cost is None else f"about ${self.cost:.4f}"
        sums = f"about {plural(self.input_tokens, 'token')} in, {self.output_tokens:,} out"
        return f"{self.model}: {plural(self.items, 'item')}, {sums}: {price}"


def _estimate(
    items: Sequence[batch.WorkItem], choice: Callable[[str], ModelChoice], system_prompt: str, tools: Sequence[ToolSpec]
) -> list[_Estimate]:
    """Return an estimate for each model. It loads the price table (0.3 s): for a thread."""
    from console_app.providers import cost

    offered = sum(one.characters for one in tools)
    found: dict[str, _Estimate] = {}
    for item in items:
        chosen = choice(item.model)
        one = found.setdefault(chosen.name, _Estimate(chosen.name))
        own = system_prompt if item.system is None else item.system
        schema = len(json.dumps(item.answer_schema)) if item.answer_schema else 0
        one.items += 1
        one.input_tokens += -(-(len(own) + len(item.prompt) + offered + schema) // amounts.CHARACTERS_A_TOKEN)
        one.output_tokens += min(chosen.settings.max_tokens or _ANSWER, _ANSWER)
    for item in {choice(item.model).name: choice(item.model) for item in items}.values():
        base_url = item.config.base_url if item.config is not None else None
        one = found[item.name]
        one.cost = cost(item.provider, item.model, one.input_tokens, one.output_tokens, base_url=base_url)
    return list(found.values())
