"""The change that a waiting call would make in a file is shown as a diff against the file as it is."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App
from textual.color import Color

from console_app.console.files.file_changes import NEW, change_of
from console_app.domain.approvals import ApprovalMode
from console_app.domain.safe_text import is_safe
from console_app.engine import ApprovalGate
from console_app.tui.lineview.palette import contrast
from tests.examples import turns
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, painted, see, seen, until

TEXT = "".join(f"line {n}\n" for n in range(1, 41))


def shown(folder: Path, tool: str, **arguments: Any) -> list[tuple[str, str, str]]:
    change = change_of(tool, arguments, folder)
    assert change is not None
    return [(line.mark, line.name, line.text) for line in change.lines]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "a.txt", "content": TEXT.replace("line 20", "LINE 20")}),
        ("edit_file", {"path": "a.txt", "old_text": "line 20", "new_text": "LINE 20"}),
        ("str_replace", {"file_path": "a.txt", "old_string": "line 20\n", "new_string": "LINE 20\n"}),
        ("edit_file", {"path": "a.txt", "old": "line 20", "new": "LINE 20"}),
        ("edit", {"path": "a.txt", "edits": [{"oldText": "line 20", "newText": "LINE 20"}]}),
    ],
)
def test_an_edit_and_a_write_are_a_diff_with_the_lines_numbers(
    folder: Path, tool: str, arguments: dict[str, Any]
) -> None:
    assert shown(folder, tool, **arguments) == [
        (" ", "18", "line 18"),
        (" ", "19", "line 19"),
        ("-", "20", "line 20"),
        ("+", "20", "LINE 20"),
        (" ", "21", "line 21"),
        (" ", "22", "line 22"),
    ]


def test_changes_far_apart_are_parts_of_their_own(folder: Path) -> None:
    change = change_of("edit", {"path": "a.txt", "edits": [
        {"oldText": "line 3\n", "newText": ""}, {"oldText": "line 38\n", "newText": "x\ny\n"}]}, folder)  # fmt: skip
    assert change is not None
    assert len(change.hunks) == 2
    assert [line.text for line in change.lines if line.mark == "-"] == ["line 3", "line 38"]
    assert [line.text for line in change.lines if line.mark == "+"] == ["x", "y"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("append_file", {"path": "a.txt", "content": "more"}),
        ("read_file", {"path": "a.txt", "content": "x"}),
        ("write_file", {"path": "pipe", "content": "x"}),
        ("write_file", {"path": ".", "content": "x"}),
        ("write_file", {"path": "a\0b", "content": "x"}),
        ("edit", {"path": "a.txt", "edits": [{"oldText": "line 3", "newText": "", "hidden": 1}]}),
        ("edit", {"path": 3, "old_text": "a", "new_text": "b"}),
    ],
)
def test_what_is_no_plain_change_to_a_text_is_shown_as_arguments(
    folder: Path, tool: str, arguments: dict[str, Any]
) -> None:
    os.mkfifo(folder / "pipe")
    assert change_of(tool, arguments, folder) is None


def test_a_text_that_is_not_in_the_file_is_said(folder: Path) -> None:
    change = change_of("edit", {"path": "a.txt", "old_text": "nowhere", "new_text": ""}, folder)
    assert change is not None
    assert change.warning == "the text to replace is not in the file as it is now"


def test_a_file_that_is_not_there_yet_is_all_new(folder: Path) -> None:
    new = [(" ", "", NEW), ("+", "1", "x"), ("+", "2", "y")]
    assert shown(folder, "write_file", path="sub/new.txt", content="x\ny\n") == new
    assert shown(folder, "write_file", path="new.txt", content="x\ny") == new
    assert shown(folder, "write_file", path="new.txt", content="") == new[:1]
    change = change_of("edit", {"path": "new.txt", "old_text": "a", "new_text": "b"}, folder)
    assert change is not None
    assert change.warning == "there is no such file here to edit"


@pytest.mark.parametrize(
    ("data", "words"), [(b"\xff\xfe\x00", "is no text (3 B)"), (b"x" * 2_500_000, "has 2.5 MB")], ids=["bytes", "large"]
)
async def test_a_file_that_is_written_over_and_can_not_be_compared_is_said(
    folder: Path, data: bytes, words: str
) -> None:
    """It looked as one that is not there: nobody saw that something is lost."""
    (folder / "b").write_bytes(data)
    write = '{"path": "b", "content": "all of it"}'
    console = app(
        folder,
        WrittenModel(calls(("files_write", write), ("files_write", write))),
        Tools({("files", "write"): echo}, read_only=False),
        gate=ApprovalGate(ApprovalMode.ASK),
    )
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, f"! the file {words}: what it replaces is not shown")
        assert "all of it" in seen(console).partition("not shown")[2]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads any file")
def test_a_file_that_may_not_be_read_is_said(folder: Path) -> None:
    (folder / "a.txt").chmod(0)
    change = change_of("write", {"path": "a.txt", "content": "x"}, folder)
    assert change is not None
    assert change.warning.startswith("the file can't be read here")


lines = st.lists(st.text(max_size=8), max_size=12)


@given(lines, lines)
def test_a_diff_says_every_line_that_changes_and_nothing_that_can_not_be_seen(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    before, after = "\n".join(old), "\n".join(new)
    (folder / "any.txt").write_bytes(before.encode("utf-8", "replace"))
    before = (folder / "any.txt").read_bytes().decode()
    change = change_of("write", {"path": "any.txt", "content": after}, folder)
    assert change is not None
    assert all(is_safe(line.text) and "\n" not in line.text for line in change.lines)
    marks = [line.mark for line in change.lines]
    assert marks.count("+") - marks.count("-") == after.count("\n") - before.count("\n")
    assert ("+" in marks or "-" in marks) is (before != after)


def board(folder: Path, *wanted: tuple[str, str], **more: Any) -> Any:
    return app(
        folder,
        WrittenModel(calls(*wanted)),
        Tools({("files", name): echo for name in ("edit", "look", "write")}, read_only=False),
        gate=ApprovalGate(ApprovalMode.ASK),
        **more,
    )


async def test_the_board_shows_the_diff_against_the_file_as_it_is_now(folder: Path) -> None:
    edit = '{"path": "a.txt", "old_text": "line 20", "new_text": "LINE 20"}'
    console = board(folder, ("files_edit", edit), ("files_edit", edit.replace("20", "30")))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "enter")
        # The row of the call says some of it, too, and is there before the board.
        await until(pilot, lambda: "line 19" in seen(console).partition("╭─ 2 need you")[2], "the board's diff")
        assert "LINE 20" in (shown := seen(console).split("╭─ 2 need you", 1)[1].split("line 19")[1])
        assert "old_text" not in shown
        await pilot.press("tab")
        (folder / "a.txt").write_text(TEXT.replace("line 21", "another 21"))
        await decide(pilot, "y")
        await see(pilot, "+ 30")
        (folder / "a.txt").write_text("gone\n")
        await decide(pilot, "e")
        await pilot.press("escape")


async def test_what_is_removed_is_in_another_colour_than_what_stays(folder: Path) -> None:
    edit = '{"path": "a.txt", "old_text": "line 20", "new_text": "LINE 20"}'
    console = board(folder, ("files_edit", edit))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, "+ 20")
        for theme in ("fanout-dark", "fanout-light", "contrast-dark", "nord"):
            console.theme = theme
            await pilot.pause()
            area = chat(console).boards.approvals.region
            lines = [strip.crop(area.x, area.right) for strip in painted(console)[area.y : area.bottom]]
            removed, added = (
                next(
                    one.style
                    for strip in lines
                    if f"{mark} 20" in strip.text
                    for one in strip
                    if one.text == f"{mark} "
                )
                for mark in "-+"
            )
            for style, name in ((removed, "error"), (added, "success")):
                assert style is not None
                assert style.color is not None
                assert style.bgcolor is not None
                ink = Color.from_rich_color(style.color)
                assert ink.hex == Color.parse(console.theme_variables[name]).hex
                assert contrast(ink, Color.from_rich_color(style.bgcolor)) >= 4.5


async def test_a_call_whose_row_says_all_takes_a_line(folder: Path) -> None:
    console = board(folder, *(("files_look", f'{{"n": {n}}}') for n in range(3)))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, "3 need you")
        await pilot.press("tab")
        await until(pilot, lambda: chat(console).boards.approvals.has_focus)
        await see(pilot, "run it")
        assert chat(console).boards.approvals.region.height <= 9
        assert seen(console).rpartition("need you")[2].count("n=0") == 1, "said once"


SIZES = ((60, 15), (80, 24), (120, 40))


@pytest.mark.parametrize(("size", "count"), turns(SIZES, [40, 1, 3]))
async def test_what_an_edit_changes_is_seen_where_it_is_decided_beside_the_counts_and_the_prompt(
    folder: Path, size: tuple[int, int], count: int
) -> None:
    edits = [("files_edit", f'{{"path": "a.txt", "old_text": "{n} ", "new_text": "{n}!"}}') for n in range(10, 50)]
    (folder / "a.txt").write_text(TEXT.replace("\n", " \n") + "".join(f"line {n} \n" for n in range(41, 60)))
    console = board(folder, *edits[:count])
    async with console.run_test(size=size) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, f"{count} need")
        await pilot.press("tab")
        await until(pilot, lambda: chat(console).boards.approvals.has_focus)
        await until(pilot, lambda: all(one in seen(console) for one in ("- 10 ", "+ 10 ", "line 10!")), "the change")
        await until(pilot, lambda: count == 1 or f"{count} calls · {count} need you" in seen(console), "the counts")
        assert "Ask, or / for commands" in seen(console)
        if size != (60, 15):
            await until(pilot, lambda: "line 12" in seen(console) and "to scroll" not in seen(console), "all of it")


async def test_space_goes_a_page_on_in_a_change_and_is_named_where_it_does(folder: Path) -> None:
    write = json.dumps({"path": "a.txt", "content": "".join(f"other {n}\n" for n in range(1, 41))})
    console = board(folder, ("files_write", write))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, "lines below")
        await pilot.press("tab")
        await until(pilot, lambda: chat(console).boards.approvals.has_focus)
        await see(pilot, "not blank · space to scroll")
        places = [place(console)]
        await pilot.press("space")
        await until(pilot, lambda: place(console) != places[0])
        places.append(place(console))
        assert places[0][0] == 1
        assert places[1][0] == places[0][1], "the last line seen is the first of the next page"
        await pilot.press("escape")
        await until(pilot, lambda: "lines above" in seen(console) and "space to scroll" not in seen(console))


def place(console: App[Any]) -> tuple[int, int]:
    """The first and the last of 82 lines in view, as the board counts those that aren't."""
    shown = seen(console)
    above, below = re.search(r"(\d+) lines above", shown), re.search(r"(\d+)(?: lines)? below", shown)
    assert above or below
    return int(above[1]) + 1 if above else 1, 82 - (int(below[1]) if below else 0)
