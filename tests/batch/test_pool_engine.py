"""Another engine fits the port: the standard library's pools, which know nothing but PEP 3148."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from console_app.batch import BatchEngine, Limits
from console_app.batch.results_file import ChangeNotes, ResultsFile
from console_app.batch.run import BatchRun
from console_app.domain.batch import BatchProgress, ItemCall, WorkItem
from tests.batch import changing_server
from tests.batch.conftest import results
from tests.batch.pool_engine import PoolEngine, PoolWorker, pool_of, run_item
from tests.each import each
from tests.headless.inside import process_restored

SCRIPT = """
name = "looks-and-says"
protocol = "native"
[[answer]]
steps = [ { call = "s.look", arguments = { name = "{{prompt}}" } } ]
[[answer]]
steps = [ { text = "It says {{last_result}}." } ]
"""
CHANGES = SCRIPT.replace("s.look", "s.change").replace("looks", "changes")


Opening = Callable[[list[str], dict[str, str], Path], AbstractContextManager[PoolEngine]]


@contextmanager
def processes(words: list[str], environ: dict[str, str], folder: Path) -> Iterator[PoolEngine]:
    with pool_of(2, words, environ, str(folder)) as pool:
        yield PoolEngine(pool, run_item, 4)


@contextmanager
def threads(words: list[str], environ: dict[str, str], folder: Path) -> Iterator[PoolEngine]:
    """Make a pool of this process, with one worker for all."""
    with pytest.MonkeyPatch.context() as patch, process_restored():
        patch.chdir(folder)
        for name, value in environ.items():
            patch.setenv(name, value)
        worker = PoolWorker(words)
        try:
            with ThreadPoolExecutor(4) as pool:
                yield PoolEngine(pool, worker.run, 4)
        finally:
            worker.end()


@each("opened", [processes, threads])
async def test_a_pool_runs_items_with_their_calls_and_changes_nothing_that_nobody_noted(
    tmp_path: Path, opened: Opening
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    server = {"command": sys.executable, "args": ["-m", changing_server.__name__]}
    environ = {
        "FANOUT_HOME": str(home),
        "JOURNAL": str(tmp_path / "journal"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    server["env"] = {name: environ[name] for name in ("JOURNAL", "PYTHONPATH")}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    (tmp_path / "looks.toml").write_text(SCRIPT)
    (tmp_path / "changes.toml").write_text(CHANGES)
    model = f"scripted/{tmp_path / 'looks.toml'}"
    words = ["batch", "none", "-m", model, "--approval-mode", "yolo"]
    items = [WorkItem(id=f"look-{n}", prompt=f"name {n}") for n in range(8)]
    items.append(WorkItem(id="change", prompt="name c", model=f"scripted/{tmp_path / 'changes.toml'}"))
    file, progress = ResultsFile(tmp_path / "r.jsonl"), BatchProgress(len(items))
    with opened(words, environ, tmp_path) as pool:
        engine: BatchEngine = pool
        await BatchRun(engine, items, file, progress, Limits(), ChangeNotes(file)).run()
    await file.close()
    there = results(file.path)
    assert {one["status"] for one in there.values()} == {"completed"}, there
    assert there["look-3"]["answer"] == "It says done name 3."
    assert sorted((tmp_path / "journal").read_text().split("\n")) == ["", *(f"name {n}" for n in range(8))]
    (call,) = there["change"]["calls"]
    assert ItemCall.model_validate(call).outcome == "failed"
