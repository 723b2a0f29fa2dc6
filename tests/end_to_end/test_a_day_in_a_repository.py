"""A day's work in a repository: find, read, edit, run the tests, see what changed, put it back; nothing runs on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from console_app.console import files as user_files
from console_app.domain import ApprovalMode
from console_app.domain.chunks import Chunk, FinishChunk
from console_app.domain.transcript import CallView, Transcript
from console_app.engine import ApprovalGate, Engine
from tests.each import each
from tests.engine.peers import Model, call
from tests.mcp_client.conftest import Bench, start_hub
from tests.servers.conftest import bundled

__all__ = ["start_hub"]

BROKEN = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\nassert add(1, 2) == 3, 'wrong sum'\nprint('all passed')\n"


def answer(*asked: tuple[str, dict[str, Any]]) -> list[Chunk]:
    """An answer of calls of several tools."""
    chunks = [chunk for at, (name, given) in enumerate(asked) for chunk in call(at, given, name, id="")]
    return [*chunks, FinishChunk("tool_calls")]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = (tmp_path / "repository").resolve()
    folder.mkdir()
    (folder / "calc.py").write_text(BROKEN)
    (folder / "check.py").write_text(TEST)
    (folder / ".gitignore").write_text("__pycache__/\n")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "one")):
        subprocess.run(("git", *words), cwd=folder, check=True)
    return folder


async def test_a_bug_is_found_mended_and_tested_and_the_files_can_go_back(
    start_hub: Callable[..., Any], repository: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    servers = [bundled(name, repository, {"FANOUT_HOME": str(home)}) for name in ("files", "shell")]
    bench: Bench = await start_hub(*servers)
    # Compiled within the same second, both states would look alike; an environment below /tmp is out of sight in there.
    test = f"{os.path.realpath(sys.executable)} -B check.py"
    model = Model(
        answer(
            ("files_search_files", {"query": "def add"}),
            ("shell_run", {"command": test}),
            ("shell_run", {"command": "git status --short"}),
        ),
        answer(("files_read_file", {"path": "calc.py"})),
        answer(("files_edit_file", {"path": "calc.py", "old_text": "a - b", "new_text": "a + b"})),
        answer(
            ("shell_run", {"command": test}),
            ("shell_run", {"command": "git diff --stat; sleep 1000.5 & echo left"}),
            ("files_write_file", {"path": "NOTES.md", "content": "mended\n"}),
        ),
    )
    engine = Engine(provider=model, toolset=bench.hub, gate=ApprovalGate(ApprovalMode.YOLO))
    async with engine.start("the sum is wrong") as turn:
        events = [event async for event in turn]
    transcript = Transcript.of(events)
    found, failed, clean, read, edited, passed, left, written = transcript.turns[-1].calls
    assert found.content == "calc.py:1: def add(a, b):"
    assert failed.verdict is not None
    assert (failed.verdict.word, failed.verdict.why) == ("said no", "exit 1")
    assert "wrong sum" in failed.content, failed.content
    assert read.content == BROKEN
    assert passed.content.startswith("all passed\n[exit 0 in ")
    assert "calc.py | 2 +-" in left.content
    assert "left" in left.content
    assert {one.verdict.is_good for one in (clean, edited, passed, left, written) if one.verdict} == {True}

    changed = user_files.histories(transcript.turns[-1].calls, repository)
    kept = home / "data" / "replaced"
    report = user_files.diff_report(changed, kept, repository)
    assert "-    return a - b\n+    return a + b" in report
    assert "NOTES.md\n" in report
    assert "+mended" in report
    (repository / "NOTES.md").write_text("mine\n")
    assert user_files.put_back(changed, kept, repository) == [
        "calc.py: put back",
        "NOTES.md: left as it is, something else changed it since",
    ]
    assert (repository / "calc.py").read_text() == BROKEN
    assert (repository / "NOTES.md").read_text() == "mine\n"
    assert (await bench.call("run", command="git status --short")).content.startswith("?? NOTES.md\n[exit 0")
    assert not [one for one in psutil.process_iter() if _words(one)[:2] == ["sleep", "1000.5"]]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@each(
    "change",
    [
        {"path": "/etc/passwd", "before": None, "after": "0" * 64},
        {"path": "../x", "before": "../../etc/passwd", "after": None},
        {"path": 5},
        "x",
        {},
    ],
)
async def test_a_result_that_lies_moves_no_file(tmp_path: Path, change: Any) -> None:
    call = CallView("1", 0, "files_x", "files", "x", "native", 0.0, structured={"changes": [change]})
    changed = user_files.histories([call], tmp_path)
    assert changed == []


async def test_folders_that_were_made_for_new_files_go_with_them(
    start_hub: Callable[..., Any], repository: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    bench: Bench = await start_hub(bundled("files", repository, {"FANOUT_HOME": str(home)}))
    (repository / "was").mkdir()
    patch = "*** Begin Patch\n*** Add File: more/e.txt\n+e\n*** End Patch"
    model = Model(
        answer(
            ("files_write_file", {"path": "new/deep/a.txt", "content": "a\n"}),
            ("files_write_file", {"path": "new/b.txt", "content": "b\n"}),
            ("files_write_file", {"path": "was/c.txt", "content": "c\n"}),
            ("files_write_file", {"path": "kept/d.txt", "content": "d\n"}),
            ("files_apply_patch", {"patch": patch}),
        ),
    )
    engine = Engine(provider=model, toolset=bench.hub, gate=ApprovalGate(ApprovalMode.YOLO))
    async with engine.start("write") as turn:
        events = [event async for event in turn]
    (repository / "kept/mine.txt").write_text("mine\n")
    changed = user_files.histories(Transcript.of(events).turns[-1].calls, repository)
    said = user_files.put_back(changed, home / "data" / "replaced", repository)
    assert [line.partition(": ")[2] for line in said] == ["removed, it was new"] * 5
    names = {str(path.relative_to(repository)) for path in repository.rglob("*") if ".git" not in path.parts}
    assert {name for name in names if name.split("/")[0] in ("new", "was", "kept", "more")} == {
        "was",
        "kept",
        "kept/mine.txt",
    }
