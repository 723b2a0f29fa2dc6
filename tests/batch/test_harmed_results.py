"""Other programs remove, replace and change the file of results: the run notices, and nothing changes twice."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from console_app.batch import ItemPlan
from console_app.batch.results_file import ChangeNotes, ResultsFile, line_of
from console_app.domain.batch import ItemCall, ItemResult, WorkItem
from console_app.domain.tools import Outcome
from tests.batch.harms import HARMS
from tests.batch.journal import SERVER
from tests.batch.models import calculating
from tests.examples import turns
from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Call
from tests.wire_server import Request, WireServer

NAMES = ("earlier", "first", "middle", "last")
GONE = {"truncated", "written over", "truncated and filled"}  # what was written there is nowhere any more
REFUSED = {"appended", "written over", "changed by a letter", "truncated and filled"}  # the file is none of this run
MOMENTS = {"before the first line": "first", "in the middle": "middle", "before notes go": "end"}


def change(prompt: str, request: Request) -> Answer | None:
    """A model that calls `change` once for each prompt."""
    if request.body["messages"][-1]["role"] == "tool":
        return None
    name = next(tool["function"]["name"] for tool in request.body["tools"] if "change" in tool["function"]["name"])
    return Answer(Call(name, json.dumps({"name": prompt})))


class Run:
    """Four items that each change something, one at a time; the first has a result of an earlier run."""

    def __init__(self, fanout: Inside, server: WireServer, *, calls: bool) -> None:
        self.fanout, self.journal = fanout, fanout.cwd / "journal"
        self.path = fanout.cwd / "out" / "r.jsonl"
        self.path.parent.mkdir()
        rows = [
            {"id": name, **({"tool": "s.change", "arguments": {"name": name}} if calls else {"prompt": name})}
            for name in NAMES
        ]
        written = fanout.write("items.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        items = ItemPlan.given_calls(str(written)) if calls else ItemPlan().items([str(written)])
        call = ItemCall(server="s", tool="change", outcome=Outcome.SUCCEEDED)
        self.path.write_text(line_of(ItemResult(id="earlier", item=items[0].digest, status="completed", calls=(call,))))
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        what = ("call", "--from", "items.jsonl") if calls else ("batch", "items.jsonl", *model)
        self.line = (*what, "-o", "out/r.jsonl", "--jobs", "1", "--mcp", "s", "--approval-mode", "yolo")

    def run(self, harm: str = "", moment: str = "") -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        env = {"JOURNAL": str(self.journal), "HARM": harm, "HARM_IN": moment, "RESULTS": str(self.path)}
        own = {"command": sys.executable, "args": [str(SERVER)], "env": env}
        self.fanout.write("home/mcp.json", json.dumps({"mcpServers": {"s": own}}))
        done = self.fanout.run(*self.line, env={"OPENAI_API_KEY": "sk-test"})
        return done.code, done.out, done.err

    def begun(self) -> Counter[str]:
        return Counter(self.journal.read_text().split())

    def told(self) -> set[str]:
        """Items whose results stand where they were to be."""
        return {one["id"] for one in _objects(self.path.read_text())} if self.path.is_file() else set()


def _objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.parametrize(("harm", "moment", "calls"), turns(HARMS, MOMENTS, [True, False]))
def test_what_others_do_to_the_results_is_told_and_no_change_is_made_twice(
    fanout: Inside, harm: str, moment: str, calls: bool
) -> None:
    with WireServer(calculating(change)) as server:
        run = Run(fanout, server, calls=calls)
        code, out, err = run.run(harm, MOMENTS[moment])
        assert code == 1, err
        assert f"{run.path} was " in err
        assert "Traceback" not in err
        printed = {one["id"] for one in _objects(out)}
        begun = run.begun()
        if harm in ("removed", "folder removed"):
            assert run.told() == set(NAMES), "nothing was in the way: all of it is written anew"
            assert not printed
            assert not ChangeNotes.path_of(run.path).exists()
        else:
            assert ChangeNotes.path_of(run.path).exists()
            if harm not in GONE:
                printed |= {"earlier"} if "EARLIER" in run.told() else set()
                assert printed | run.told() >= set(begun) | {"earlier"}
            if moment != "before notes go":
                assert "last" not in begun, "no more changes are begun"
        code, _, err = run.run()
        assert "Traceback" not in err
        if run.path.is_dir() or (run.path.exists() and harm in REFUSED):
            assert code == 2
            if run.path.is_dir():
                shutil.rmtree(run.path)
            else:
                run.path.unlink()
            assert run.run()[0] == 1
        assert max(run.begun().values()) == 1
        assert "earlier" not in run.begun()


def test_a_file_under_another_name_too_is_the_same_file(fanout: Inside) -> None:
    """A link that leads to what the run writes to keeps the promise."""
    with WireServer(calculating(change)) as server:
        run = Run(fanout, server, calls=True)
        real = run.path.with_name("real.jsonl")
        run.path.rename(real)
        run.path.symlink_to(real)
        assert run.run()[0] == 0
        assert run.told() == set(NAMES)
        assert not ChangeNotes.path_of(run.path).exists()


async def test_notes_that_can_not_be_removed_are_left_where_all_results_are() -> None:
    with TemporaryDirectory() as name:  # a test's own folder is below one of root's alone
        folder, item = Path(name), WorkItem(id="a", source="items:1")
        results = ResultsFile(folder / "r.jsonl")
        notes = ChangeNotes(results)
        assert await notes.note(item)
        assert await results.append(ItemResult(id="a", item=item.digest, status="completed"))
        notes.settle("a")
        await asyncio.to_thread(folder.chmod, 0o555)
        with _no_root():
            await notes.close()
        folder.chmod(0o700)
        await results.close()
        again = ResultsFile(folder / "r.jsonl")
        left = ChangeNotes(again)
        left.settle("a")
        await left.close()
        await again.close()
        assert not ChangeNotes.path_of(again.path).exists()


@contextmanager
def _no_root() -> Iterator[None]:
    """Permissions count: root would write anywhere."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


async def test_why_results_are_elsewhere_is_told_to_the_end(tmp_path: Path) -> None:
    """What comes after a line that was not taken, and is, doesn't hide why it was not."""
    path = tmp_path / "r.jsonl"
    results = ResultsFile(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        results.give_up()
        assert not await results.append(ItemResult(id="a", item="d", status="completed"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    await results.hold()
    await results.close()
    assert len(results.unwritten) == 1
    assert str(path) in results.problem
