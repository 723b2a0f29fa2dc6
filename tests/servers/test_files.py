"""The files server: what it reads, finds and changes inside its folders, and that nothing leads out of them."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import ListRootsResult, Root

from console_app.domain.tools import Outcome
from console_app.servers.parts.file_writing import EditError, Stamp, replaced, save, write_text
from console_app.servers.parts.folders import Folders
from console_app.servers.parts.server import ToolFailedError
from tests.each import each
from tests.servers.conftest import Serve


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that the server must never show or change."""
    path = tmp_path / "secret.txt"
    path.write_text("the secret")
    return path


@pytest.fixture
def ways_out(work: Path, outside: Path) -> None:
    """Put links into the folder that lead to a file outside."""
    (work / "sub").mkdir()
    (work / "link.txt").symlink_to(outside)
    (work / "chain").symlink_to("link.txt")
    (work / "folder_link").symlink_to(outside.parent)


async def test_a_folder_is_listed_with_its_folders_first_and_the_sizes_of_its_files(serve: Serve, work: Path) -> None:
    (work / "b.txt").write_text("four")
    (work / "a.txt").write_text("")
    (work / "sub").mkdir()
    (work / "link").symlink_to("b.txt")
    bench = await serve("files")
    result = await bench.call("list_directory")
    assert result.content.splitlines() == ["sub/", "a.txt  (0 bytes)", "b.txt  (4 bytes)", "link  (symbolic link)"]
    assert (await bench.call("list_directory", path="sub")).content == "The folder is empty."
    assert "does not exist" in (await bench.call("list_directory", path="nowhere")).content
    assert bench.spec("list_directory").annotations.read_only


async def test_a_name_of_two_lines_is_one_line_of_a_listing(serve: Serve, work: Path) -> None:
    name = "a\nsecret.txt  (7 bytes)\x1b[31m"
    (work / name).write_text("x = 1\n")
    (work / f"{name}.d").mkdir()
    bench = await serve("files")
    listed = (await bench.call("list_directory")).content.split("\n")
    assert len(listed) == 2
    assert all(line.startswith('"a\\nsecret.txt  (7 bytes)\\u001b[31m') for line in listed)
    for query in ({"query": "x = 1"}, {"glob": "*secret*"}):
        assert "\n" not in (await bench.call("search_files", **query)).content
    assert (await bench.call("read_file", path=name)).content == "x = 1\n"


async def test_a_file_is_read_line_by_line_and_says_how_to_go_on(serve: Serve, work: Path) -> None:
    (work / "lines.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    bench = await serve("files")
    assert (await bench.call("read_file", path="lines.txt")).content.endswith("line 9\nline 10\n")
    part = await bench.call("read_file", path="lines.txt", offset=3, limit=2)
    assert part.content == "line 3\nline 4\n[lines 3 to 4; go on with offset=5]"
    assert "has only 10 lines" in (await bench.call("read_file", path="lines.txt", offset=11)).content
    assert "has only 10 lines" in (await bench.call("read_file", path="lines.txt", offset=900)).content
    assert "1 or more" in (await bench.call("read_file", path="lines.txt", offset=0)).content


async def test_a_line_of_gigabytes_is_given_up_and_what_was_not_read_is_said(serve: Serve, work: Path) -> None:
    (work / "sparse.txt").write_bytes(b"first\n" + b"x" * 10_000)
    os.truncate(work / "sparse.txt", 3 * 2**30)
    bench = await serve("files")
    shown = await _read(bench, "sparse.txt")
    assert shown.startswith("first\nxxx")
    assert re.search(r"x\[more than 100,0\d\d,\d\d\d more characters; what follows was not read\]\n$", shown)
    beyond = await bench.call("read_file", path="sparse.txt", offset=3)
    assert "Line 2 of sparse.txt is more than 100 MB into the file" in beyond.content


async def test_odd_files_are_told_in_words(serve: Serve, work: Path) -> None:
    (work / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (work / "empty").write_bytes(b"")
    (work / "wide.txt").write_text("x" * 5_000 + "\nnext\n")
    (work / "windows.txt").write_bytes(b"\xff\xfea\0b\0")
    (work / "latin.txt").write_bytes(b"caf\xe9\n")
    (work / "large.txt").write_text("0123456789\n" * 2_000_000)
    os.mkfifo(work / "pipe")
    bench = await serve("files")
    (work / "program").write_bytes(b"\x7fELF\0\0")
    assert "program is a binary file (of unknown type, 6 bytes)" in (await _read(bench, "program"))
    picture = await bench.call("read_file", path="picture.png")
    assert "picture.png: image/png, 16 bytes." in picture.content
    assert [one.mime for one in picture.artifacts] == ["image/png"]
    assert await _read(bench, "empty") == "[the file is empty]"
    assert "[3,000 more characters in this line]\nnext\n" in await _read(bench, "wide.txt")
    assert await _read(bench, "windows.txt") == "ab"
    assert await _read(bench, "latin.txt") == "caf\ufffd\n"
    assert (await _read(bench, "large.txt")).endswith("[lines 1 to 2000; go on with offset=2001]")
    assert "neither a file nor a folder" in await _read(bench, "pipe")
    assert "is a folder" in await _read(bench, ".")


async def _read(bench: object, path: str) -> str:
    return (await bench.call("read_file", path=path)).content  # type: ignore[attr-defined]


@each(
    "path",
    [
        "../secret.txt",
        "sub/../../secret.txt",
        "{outside}",
        "link.txt",
        "folder_link/secret.txt",
        "/etc/passwd",
        "chain",
    ],
)
async def test_no_path_leads_out_of_the_folder(serve: Serve, ways_out: None, outside: Path, path: str) -> None:
    bench = await serve("files")
    path = path.format(outside=outside)
    for tool, more in (
        ("read_file", {}),
        ("list_directory", {}),
        ("search_files", {"query": "secret"}),
        ("write_file", {"content": "mine"}),
        ("edit_file", {"old_text": "the secret", "new_text": "mine"}),
    ):
        result = await bench.call(tool, path=path, **more)
        assert result.outcome is Outcome.FAILED, tool
        assert "the secret" not in result.content.replace(path, "")
    assert outside.read_text() == "the secret"


async def test_new_files_are_not_made_through_links_that_lead_outside(serve: Serve, work: Path, tmp_path: Path) -> None:
    (work / "out").symlink_to(tmp_path)
    (work / "dangling").symlink_to(tmp_path / "new.txt")
    (work / "loop").symlink_to("loop")
    bench = await serve("files")
    for path in ("out/new.txt", "dangling", "out/sub/new.txt", "loop", "loop/new.txt", "/tmp-not-ours/x", "a\0b", " "):
        assert (await bench.call("write_file", path=path, content="x")).outcome is Outcome.FAILED, path
    assert not (tmp_path / "new.txt").exists()
    assert not (tmp_path / "sub").exists()


def test_a_link_that_appears_after_the_check_is_refused_as_well(work: Path, outside: Path) -> None:
    (work / "sub").mkdir()
    (work / "sub" / "secret.txt").write_text("harmless")
    place = Folders([work]).place("sub/secret.txt")
    (work / "sub").rename(work / "moved")
    (work / "sub").symlink_to(outside.parent)
    with pytest.raises(ToolFailedError), place.file() as file:
        file.read()
    with pytest.raises(ToolFailedError):
        write_text(place, "mine")
    assert outside.read_text() == "the secret"


def test_a_file_that_changes_between_reading_and_writing_is_not_overwritten(work: Path) -> None:
    path = work / "a.txt"
    path.write_text("one")
    stamp = Stamp.of(path.stat())
    path.write_text("another")
    with pytest.raises(ToolFailedError, match="changed by something else"):
        save(Folders([work]).place("a.txt"), b"two", stamp)
    assert path.read_text() == "another"
    assert [path.name for path in work.iterdir()] == ["a.txt"]


async def test_links_inside_the_folder_are_followed_and_kept(serve: Serve, work: Path) -> None:
    (work / "real.txt").write_text("one")
    (work / "alias.txt").symlink_to("real.txt")
    bench = await serve("files")
    assert await _read(bench, "alias.txt") == "one"
    await bench.call("edit_file", path="alias.txt", old_text="one", new_text="two")
    assert (work / "real.txt").read_text() == "two"
    assert (work / "alias.txt").is_symlink()


async def test_a_search_finds_text_expressions_and_names(serve: Serve, work: Path, outside: Path) -> None:
    (work / "src" / "deep").mkdir(parents=True)
    (work / "src" / "a.py").write_text("import os\nTODO: tidy\n")
    (work / "src" / "deep" / "b.py").write_text("x = 12\ntodo\n")
    (work / "notes.txt").write_text("TODO\n" + "y" * 1_000 + "needle" + "z" * 1_000)
    (work / "data.bin").write_bytes(b"TODO\0")
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("TODO")
    (work / "link.txt").symlink_to(outside)
    bench = await serve("files")

    async def found(**arguments: object) -> list[str]:
        return (await bench.call("search_files", **arguments)).content.splitlines()

    assert await found(query="TODO") == ["notes.txt:1: TODO", "src/a.py:2: TODO: tidy"]
    assert len(await found(query="todo", ignore_case=True)) == 3
    assert await found(query=r"= \d+$", regex=True) == ["src/deep/b.py:1: x = 12"]
    assert await found(glob="src/**/*.py") == ["src/a.py", "src/deep/b.py"]
    assert await found(query="TODO", glob="*.py", path="src") == ["a.py:2: TODO: tidy"]
    assert (await found(query="needle"))[0].startswith("notes.txt:2: …yyy")
    assert (await found(query="TODO", max_results=1))[-1].startswith("[the first 1; there are more")
    assert await found(query="the secret") == [
        "Nothing found in 3 files, 2 passed over as binary, too large or unreadable."
    ]
    assert "not a regular expression" in (await found(query="(", regex=True))[0]
    assert "give a `query`" in (await found())[0]


async def test_a_search_that_would_take_for_ever_stops_and_shows_what_it_has(serve: Serve, work: Path) -> None:
    (work / "a.txt").write_text("aab\n")
    (work / "b.txt").write_text("a" * 64 + "c\n")
    bench = await serve("files")
    result = await bench.call("search_files", query="^(a+)+b$", regex=True, seconds=1)
    assert result.content.splitlines() == [
        "a.txt:1: aab",
        "[stopped after 1 s: this is what was found so far]",
    ]


async def test_calls_go_on_beside_a_search_that_takes_long_and_it_can_be_cancelled(serve: Serve, work: Path) -> None:
    (work / "b.txt").write_text("a" * 64 + "c\n")
    bench = await serve("files")
    search = asyncio.create_task(bench.call("search_files", query="^(a+)+b$", regex=True, seconds=50))
    assert "b.txt" in (await bench.call("list_directory")).content
    search.cancel()
    await asyncio.wait({search})
    assert "b.txt" in (await bench.call("list_directory")).content


async def test_a_file_is_written_whole_with_its_folders_and_its_mode(serve: Serve, work: Path) -> None:
    bench = await serve("files")
    result = await bench.call("write_file", path="new/deep/a.txt", content="one\ntwo\n")
    assert result.content == "Created new/deep/a.txt: 2 lines, 8 bytes."
    script = work / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    result = await bench.call("write_file", path="run.sh", content="new")
    assert result.content == "Replaced run.sh: 1 line, 3 bytes."
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new", 0o750)
    assert "is a folder" in (await bench.call("write_file", path="new", content="x")).content
    assert "is a folder" in (await bench.call("write_file", path=".", content="x")).content
    assert "not a folder" in (await bench.call("write_file", path="run.sh/x", content="x")).content
    assert sorted(path.name for path in work.iterdir()) == ["new", "run.sh"]
    assert bench.spec("write_file").annotations.destructive
    assert bench.spec("edit_file").annotations.destructive


async def test_an_edit_shows_its_change_and_refuses_what_is_not_there_once(serve: Serve, work: Path) -> None:
    path = work / "poem.txt"
    path.write_text("roses are red\nviolets are blue\n")
    bench = await serve("files")
    result = await bench.call("edit_file", path="poem.txt", old_text="are red", new_text="were red")
    assert result.content.splitlines()[0] == "Changed 1 place in poem.txt."
    assert "-roses are red\n+roses were red" in result.content
    for old, why in (("lilies", "is not in the file"), ("re", "more than once (lines 1 and 1"), ("", "is empty")):
        result = await bench.call("edit_file", path="poem.txt", old_text=old, new_text="x")
        assert why in result.content
    result = await bench.call("edit_file", path="poem.txt", old_text="e", new_text="E", replace_all=True)
    assert result.content.startswith("Changed 7 places")
    assert path.read_text() == "rosEs wErE rEd\nviolEts arE bluE\n"


async def test_edits_of_one_file_at_once_are_all_made(serve: Serve, work: Path) -> None:
    (work / "list.txt").write_text("".join(f"item {number};\n" for number in range(20)))
    bench = await serve("files")
    edits = [
        bench.call("edit_file", path="list.txt", old_text=f"item {number};", new_text=f"done {number};")
        for number in range(20)
    ]
    results = await asyncio.gather(*edits)
    assert {result.outcome for result in results} == {Outcome.SUCCEEDED}
    assert (work / "list.txt").read_text() == "".join(f"done {number};\n" for number in range(20))


async def test_lines_that_end_as_on_windows_are_edited_and_stay_so(serve: Serve, work: Path) -> None:
    (work / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    bench = await serve("files")
    await bench.call("edit_file", path="dos.txt", old_text="one\ntwo", new_text="1\n2")
    assert (work / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"
    (work / "latin.txt").write_bytes(b"caf\xe9")
    result = await bench.call("edit_file", path="latin.txt", old_text="caf", new_text="tea")
    assert "not UTF-8 text (byte 3)" in result.content


async def test_the_clients_roots_are_the_folders_that_count(tmp_path: Path, work: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "with space"
    for folder in (one, other):
        folder.mkdir()
        (folder / f"in {folder.name}.txt").write_text(folder.name)
    (work / "here.txt").write_text("here")

    async def roots(context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=one.as_uri()), Root(uri=other.as_uri())])

    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "console_app.servers.files"],
        cwd=str(work),
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    with (tmp_path / "log").open("w") as log:
        transport = stdio_client(program, errlog=log)
        async with Client(transport, mode="legacy", list_roots_callback=roots) as client:

            async def read(path: str) -> str:
                result = await client.call_tool("read_file", {"path": path})
                return result.content[0].text  # type: ignore[union-attr]

            assert await read("in one.txt") == "one"
            assert await read(str(other / "in with space.txt")) == "with space"
            assert "does not exist" in await read("here.txt")
            assert "is outside" in await read(str(work / "here.txt"))


@each("tool", ["write_file", "edit_file", "apply_patch"])
async def test_a_file_that_changed_since_it_was_read_is_refused_once_with_what_changed(
    serve: Serve, work: Path, tool: str
) -> None:
    path = work / "a.txt"
    path.write_text("one\ntwo\n")
    bench = await serve("files", FANOUT_HOME=str(work.parent / "home"))
    arguments = {
        "write_file": {"path": "a.txt", "content": "ours\n"},
        "edit_file": {"path": "a.txt", "old_text": "one", "new_text": "ours"},
        "apply_patch": {"patch": "*** Begin Patch\n*** Update File: a.txt\n-one\n+ours\n*** End Patch"},
    }[tool]
    await _read(bench, "a.txt")
    path.write_text("one\nthree\n")
    refused = await bench.call(tool, **arguments)
    assert refused.outcome is Outcome.FAILED
    assert "was changed since it was read. Nothing was written." in refused.content
    assert "-two\n+three" in refused.content
    assert path.read_text() == "one\nthree\n"
    done = await bench.call(tool, **arguments)
    assert done.outcome is Outcome.SUCCEEDED, done.content
    assert path.read_text().startswith("ours\n")
    assert (await bench.call(tool, **arguments)).outcome is (
        Outcome.SUCCEEDED if tool == "write_file" else Outcome.FAILED
    )


KEPT = {
    "plain": b"one\ntwo\n",
    "no last newline": b"one\ntwo",
    "dos": b"one\r\ntwo\r\n",
    "mixed": b"one\r\ntwo\n",
    "marked": b"\xef\xbb\xbfone\ntwo\n",
    "utf-16": "\ufeffone\ntwo\n".encode("utf-16-le"),
    "utf-16 the other way": "\ufeffone\r\ntwo\r\n".encode("utf-16-be"),
}


@each("kept", KEPT)
async def test_encoding_line_ends_and_mode_are_kept(serve: Serve, work: Path, kept: str) -> None:
    path = work / "a.txt"
    bench = await serve("files", FANOUT_HOME=str(work.parent / "home"))
    for tool, arguments in (
        ("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "1"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"}),
    ):
        path.write_bytes(KEPT[kept])
        path.chmod(0o640)
        await _read(bench, "a.txt")
        result = await bench.call(tool, **arguments)
        assert result.outcome is Outcome.SUCCEEDED, result.content
        codec = "utf-16-le" if kept == "utf-16" else "utf-16-be" if "other" in kept else "utf-8"
        old, new = ("one", "1") if tool == "edit_file" else ("two", "2")
        assert path.read_bytes() == KEPT[kept].decode(codec).replace(old, new).encode(codec)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


async def test_a_patch_changes_all_its_files_or_none(serve: Serve, work: Path) -> None:
    (work / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 1\n")
    (work / "old.txt").write_text("gone\n")
    (work / "from.txt").write_text("x\n")
    bench = await serve("files", FANOUT_HOME=str(work.parent / "home"))
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n"
        "*** Add File: new/b.txt\n+one\n"
        "*** Delete File: old.txt\n*** Update File: from.txt\n*** Move to: to.txt\n x\n+y\n*** End Patch"
    )
    for broken in ("return 2x", ""):
        wrong = patch.replace("-    return 1", f"-    {broken}") if broken else patch.replace("to.txt", "a.py")
        result = await bench.call("apply_patch", patch=wrong)
        assert result.outcome is Outcome.FAILED
        assert sorted(path.name for path in work.iterdir()) == ["a.py", "from.txt", "old.txt"]
    result = await bench.call("apply_patch", patch=patch)
    assert result.outcome is Outcome.SUCCEEDED, result.content
    assert (work / "a.py").read_text() == "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    assert (work / "new/b.txt").read_text() == "one\n"
    assert (work / "to.txt").read_text() == "x\ny\n"
    assert not (work / "old.txt").exists()
    assert not (work / "from.txt").exists()
    assert result.structured is not None
    assert len(result.structured["changes"]) == 5


@each(
    "patch",
    [
        "",
        "x",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n+x\n*** End Patch",
        "*** Begin Patch\n*** Update File: ../a\n+x\n*** End Patch",
        "*** Begin Patch\n*** Update File: none\n+x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
        "*** Begin Patch\n*** Delete File: .\n*** End Patch",
    ],
)
async def test_a_patch_that_is_none_is_refused_in_words(serve: Serve, work: Path, patch: str) -> None:
    bench = await serve("files", FANOUT_HOME=str(work.parent / "home"))
    result = await bench.call("apply_patch", patch=patch)
    assert result.outcome is Outcome.FAILED
    assert "Error" not in result.content
    assert list(work.iterdir()) == []


async def test_a_search_keeps_to_gitignore_and_shows_what_is_around(serve: Serve, work: Path) -> None:
    (work / "sub").mkdir()
    (work / "build").mkdir()
    (work / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (work / "sub" / ".gitignore").write_text("secret.txt\n")
    for name in ("a.txt", "x.log", "keep.log", "build/b.txt", "sub/secret.txt", "sub/open.txt"):
        (work / name).write_text("one\nneedle\nthree\n")
    bench = await serve("files")
    found = (await bench.call("search_files", query="needle")).content.splitlines()
    assert found == ["a.txt:2: needle", "keep.log:2: needle", "sub/open.txt:2: needle"]
    assert len((await bench.call("search_files", query="needle", ignored=True)).content.splitlines()) == 6
    around = (await bench.call("search_files", query="needle", glob="a.txt", context=1)).content
    assert around == "a.txt-1- one\na.txt:2: needle\na.txt-3- three"


texts = st.text(alphabet="ab\nX", max_size=20)


@given(before=texts, old=st.text(alphabet="ab\n", min_size=1, max_size=4), after=texts, new=texts)
def test_a_replacement_changes_its_one_place_and_nothing_else(before: str, old: str, after: str, new: str) -> None:
    text = before + old + after
    places = [at for at in range(len(text)) if text.startswith(old, at)]
    try:
        changed, count = replaced(text, old, new)
    except EditError:
        assert len(places) > 1 or old == new
        return
    assert count == len(places) == 1
    assert changed == before + new + after


@given(parts=st.lists(st.text(alphabet="ab\n", max_size=5), min_size=2, max_size=6), new=st.text(max_size=5))
def test_replacing_every_place_leaves_what_is_between(parts: list[str], new: str) -> None:
    if new == "X":
        return
    changed, count = replaced("X".join(parts), "X", new, every=True)
    assert changed == new.join(parts)
    assert count == len(parts) - 1
