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

from console_app import batch_worker, wiring
from console_app.batch import (
    BatchEngine,
    ItemPlan,
    KnownRuns,
    Limits,
    LocalEngine,
    RunFiles,
    Telling,
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
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding, servers
from console_app.records import dataclass
from console_app.wiring import Setup

ACTIONS = ("status", "show", "stop")
DONE = RunEnding(Exit.DONE)
_ANSWER = 500  # tokens that an answer is taken to have where no limit is set


async def run_batch(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    words: Sequence[str] = setup.arguments.words
    if words[0] in ACTIONS:
        return _other_run(setup, output, words[0], words[1:])
    given = setup.arguments
    plan = ItemPlan(given.prompt, given.system, given.schema, given.each or (), given.repeat, setup.cwd)
    items = await interrupts.race(asyncio.to_thread(plan.items, words, given.format))
    return await _Command(setup, output, interrupts, items, words, wiring.choose_servers(setup)).run()


async def run_calls(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    if setup.arguments.words:
        raise UsageError("--from takes its calls from the file alone", "Leave out the others.")
    path: str = setup.arguments.from_file
    vars(setup.arguments).update(dry_run=False, batch_price=None, batch_tokens=None)
    items = await interrupts.race(asyncio.to_thread(ItemPlan.given_calls, path))
    chosen = wiring.choose_servers(setup)
    for item in items:  # each by itself, so that the line of the one that is wrong can be told
        with _told_at(item):
            chosen.needed_for([call.label for call in _given(item)])
    chosen = chosen.needed_for([call.label for item in items for call in _given(item)])
    return await _Command(setup, output, interrupts, items, [path], chosen, calls=True).run()


async def diff(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    first, second = (setup.cwd / Path(name).expanduser() for name in setup.arguments.words)
    found = await interrupts.race(asyncio.to_thread(RunFiles.compare, first, second))
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
        if (files := self._files()) is None:
            raise UsageError("the batch has no file for its results", "Name a file with -o, as -o results.jsonl.")
        try:
            async with files.open():
                ending = await self._missing(files)
                await files.results.hold()
                if files.results.harm and not ending.code:
                    ending = RunEnding(Exit.FAILED)
            return ending
        finally:
            for text in files.unwritten:  # so that nothing is lost
                self.output.out(text)
            if files.harm or files.unwritten:
                printed = f": what came of {plural(len(files.unwritten), 'item')} is on stdout" * bool(files.unwritten)
                self.output.error_line(f"fanout: {files.harm}{printed}.")

    def _files(self) -> RunFiles | None:
        if self.arguments.output is None:
            return None
        path = self.setup.cwd / Path(self.arguments.output).expanduser()
        retry, rerun = self.arguments.retry == "failed", self.arguments.rerun_changes
        files = RunFiles(path, self.items, self.setup.redactor, retry=retry, rerun=rerun)
        files.check_places([Path(one) for one in self.read if one != "-"], self._report, self._events)
        return files

    @property
    def _report(self) -> Path | None:
        return self._path(self.arguments.report)

    @property
    def _events(self) -> Path | None:
        return self._path(self.arguments.events)

    def _path(self, written: str | None) -> Path | None:
        return self.setup.cwd / Path(written).expanduser() if written else None

    async def _missing(self, files: RunFiles) -> RunEnding:
        todo = files.left()
        earlier = len(self.items) - len(todo)
        if not todo:
            failed = sum(status != "completed" for status in files.results.earlier.statuses.values())
            hint = f", {failed} of them failed (--retry failed runs those again)" if failed else ""
            self.output.error_line(f"Nothing is left to do: all {earlier} items have a result{hint}.")
            name, progress = self.arguments.name or files.path.stem, batch.BatchProgress(earlier, earlier)
            await self._write_report(
                progress.ended(steady_time(), name=name, results=safe_text.encodable(str(files.path)))
            )
            return RunEnding(Exit.FAILED if failed else Exit.DONE)
        if self.arguments.shuffle:
            random.shuffle(todo)
        async with self._engine(todo[: self.arguments.limit], files.path) as (engine, known, paused):
            # Items that workers hold since an earlier start take up their room, so these come first.
            todo = sorted(todo, key=lambda one: one.id not in known)[: self.arguments.limit]
            if cut := files.cut_short([one for one in todo if one.id not in known]):
                self.output.error_line(await files.interrupt(cut))
                todo = [one for one in todo if one not in cut]
            progress = batch.BatchProgress(earlier + len(cut) + len(todo), earlier + len(cut))
            return await self._run(engine, paused, files, todo, progress)

    @asynccontextmanager
    async def _engine(
        self, todo: Sequence[batch.WorkItem], results: Path
    ) -> AsyncGenerator[tuple[BatchEngine, set[str], Callable[[], float]]]:
        """Give the engine, the ids of items that it works on already, and for how long endpoints hold all back."""
        if self.arguments.engine != "local":
            from console_app.cluster import cluster_engine

            tell, items = self.output.error_line, self.items
            opening = cluster_engine(self.setup, items, results, tell, calls=self.calls)
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
        if (files := self._files()) is None or not files.path.exists():
            return self.items, ""
        async with files.open(look=True):
            left = files.left()
            cut = files.cut_short(left)
            spent = files.results.earlier.spent
        return [one for one in left if one not in cut], spent

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
        files: RunFiles,
        todo: list[batch.WorkItem],
        progress: batch.BatchProgress,
    ) -> RunEnding:
        limits = Limits(self.arguments.batch_price or None, self.arguments.batch_tokens, self.arguments.fail_fast)
        run = files.run(engine, todo, progress, limits)
        name = self.arguments.name or files.path.stem
        status = await asyncio.to_thread(KnownRuns(self.setup.paths.batches).begin, name)
        self.interrupts.on_interrupt = lambda: run.stop("now", "interrupted")
        if self.interrupts.asked.is_set():
            run.stop("now", "interrupted")
        try:
            telling = Telling(run, status, safe_text.encodable(str(files.path)), paused)
            if self.on_screen:
                ended = await self._shown(telling)
            else:
                ended = await telling.until_ended(self.output.error_line)
        finally:
            self.interrupts.on_interrupt = None
            status.close()
        now = {item.id for item in todo}
        failed = any(
            status != "completed" for name, status in files.results.earlier.statuses.items() if name not in now
        )
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

    async def _shown(self, telling: Telling) -> batch.BatchSnapshot:
        from console_app.tui import BatchApp  # with Textual, 0.2 s, which a pipe doesn't need

        theme_dirs = self.setup.paths.theme_dirs
        settings = self.setup.settings
        app = BatchApp(telling, settings.theme, theme_dirs, motion=settings.ui.motion)

        def seen(event: batch.BatchEvent | batch.ItemResult) -> None:
            if isinstance(event, batch.ItemTurnEvent):
                app.happened(event.item, ev.EVENT.validate_python(event.event))

        telling.run.seen = seen
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
