"""The file of results: what was written is done, what was torn is cut off, and no other file is touched."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console_app.batch.results_file import ResultsError, ResultsFile
from console_app.domain.batch import ItemResult, ItemUsage, WorkItem
from console_app.domain.errors import UsageError
from console_app.domain.safe_text import json_line
from tests.batch.harms import remove, remove_folder
from tests.each import each
from tests.patience import until_so

ITEMS = [WorkItem(id=str(n), prompt=f"p{n}", source=f"items.jsonl:{n}") for n in range(4)]


def result(item: WorkItem, **more: object) -> ItemResult:
    return ItemResult(id=item.id, item=item.digest, status="completed", **more)  # type: ignore[arg-type]


def line(item: WorkItem, **more: object) -> str:
    return json_line(result(item, **more).model_dump(mode="json")) + "\n"


async def test_what_was_written_is_known_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    file = ResultsFile(path)
    usage = ItemUsage(input_tokens=3, output_tokens=4, cost=0.5)
    written = [file.append(result(item, usage=usage, answer="\x1b\u202e")) for item in ITEMS]
    for one in written:
        assert await one
    await file.close()
    assert path.stat().st_mode & 0o077 == 0
    assert "\x1b" not in path.read_text()
    again = ResultsFile(path)
    again.check(ITEMS)
    assert set(again.earlier.statuses) == {"0", "1", "2", "3"}
    assert (again.earlier.tokens, again.earlier.cost) == (28, 2.0)
    await again.close()


@each("harm", [remove, remove_folder])
async def test_what_was_removed_is_there_again_though_nothing_more_is_written(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """A note has to be there while its change runs: after `kill -9` nothing else keeps the change from a second run."""
    path = tmp_path / "out" / "r.jsonl.changes"
    path.parent.mkdir()
    file = ResultsFile(path)
    assert await file.append(result(ITEMS[0]))
    written = path.read_bytes()
    harm(path)
    await until_so(path.exists, "the file to be there again")
    await until_so(lambda: path.read_bytes() == written, "all of it")
    await file.close()


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0, 1, 5000]))
@settings(max_examples=40)
async def test_a_line_that_was_torn_anywhere_is_cut_off_and_the_rest_stays(
    tmp_path_factory: pytest.TempPathFactory, cut: int, newline: bool, zeros: int
) -> None:
    """The zeros are what a file system leaves there when the power goes."""
    path = tmp_path_factory.mktemp("torn") / "r.jsonl"
    whole, last = line(ITEMS[0]), line(ITEMS[1], answer="ü" * 50).rstrip("\n")
    cut %= len(last) + 1
    path.write_text(whole + last[:cut] + ("\n" if newline and cut == len(last) else "") + "\0" * zeros)
    file = ResultsFile(path)
    assert set(file.earlier.statuses) == ({"0", "1"} if cut == len(last) else {"0"})
    assert await file.append(result(ITEMS[2]))
    await file.close()
    again = ResultsFile(path)
    assert set(again.earlier.statuses) == {*file.earlier.statuses, "2"}
    await again.close()


@each(
    ("text", "says"),
    [
        ("my notes\n", ":1 is no result of a batch"),
        ("my notes", "is no file of results"),
        ("\0" * 512, "is no file of results"),
        (line(ITEMS[0]) + "{}\n", ":2 is no result of a batch"),
        (line(ITEMS[0], version=2), "written by a newer Fanout"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        ResultsFile(path)
    assert path.read_text() == text


async def test_results_of_another_run_are_refused_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(line(ITEMS[0]) + line(WorkItem(id="1", prompt="another")))
    file = ResultsFile(path)
    with pytest.raises(UsageError, match=r"r.jsonl:2 is of another run: its item “1” was another than items.jsonl:1"):
        file.check(ITEMS)
    with pytest.raises(UsageError, match=r"r.jsonl:1 is of another run: there is no item “0”"):
        file.check(ITEMS[1:])
    await file.close()


async def test_two_runs_never_write_to_one_file(tmp_path: Path) -> None:
    file = ResultsFile(tmp_path / "r.jsonl")
    with pytest.raises(ResultsError, match="another run writes to"):
        ResultsFile(tmp_path / "r.jsonl")
    await file.close()
    await ResultsFile(tmp_path / "r.jsonl").close()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        ResultsFile(tmp_path)
    with pytest.raises(UsageError, match="No such file"):
        ResultsFile(tmp_path / "none" / "r.jsonl")
    with pytest.raises(UsageError, match="is no regular file"):
        ResultsFile(Path("/dev/full"))


async def test_a_full_disk_gives_the_lines_back_whole(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: writes beyond it fail in the same place."""
    file = ResultsFile(tmp_path / "r.jsonl")
    first = line(ITEMS[0])
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        assert await file.append(result(ITEMS[0]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(first) + 40, before[1]))
        waiting = file.append(result(ITEMS[1]))
        file.give_up()
        assert not await waiting
        assert "File too large" in file.problem
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
        await file.close()
    assert file.unwritten == [line(ITEMS[1])]
    assert (tmp_path / "r.jsonl").read_text() == first
