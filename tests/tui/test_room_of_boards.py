"""A board above the prompt leaves every other part of the screen its place, however little room there is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from console_app.tui.main_screen.prompt_area import PromptArea
from console_app.tui.prompt.prompt_box import AttachmentChips
from console_app.tui.widgets.key_hints import KeyHints
from tests.each import each
from tests.examples import turns
from tests.tui.parts import Tools, WrittenModel, app, at_rest, calls, chat, echo, pass_by, see, seen, until
from tests.tui.questions.stage import stage
from tests.tui.test_questions_and_todo import talking

DRAFT = "one\ntwo\nthree\nfour\nfive\nsix"
FORM = {"type": "object", "properties": {f"field {n}": {"type": "string"} for n in range(12)}}
LONG = "\n".join(f"What is meant by word {n} of the text that was given?" for n in range(12))
SIZES = [(60, 15), (60, 16), (80, 19), (80, 24)]


async def whole(pilot: Pilot[Any], board: Any, way_in: str, way_out: str, sizes: Sequence[tuple[int, int]]) -> None:
    """At these sizes all is on the screen, with the way in or out: unfocused, with a draft and without one, and with
    the focus."""
    for size in sizes:
        await resized(pilot, size)
        await whole_at_this_size(pilot, board, way_in, way_out)


async def resized(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    if pilot.app.size != size:
        await pilot.resize_terminal(*size)
        await at_rest(pilot)


async def whole_at_this_size(pilot: Pilot[Any], board: Any, way_in: str, way_out: str) -> None:
    screen = chat(pilot.app)

    def fits(words: str) -> bool:
        hints = screen.query_one(KeyHints).region
        ends = hints.bottom == screen.size.height and screen.max_scroll_y == 0
        return ends and hints.height == 1 and words in seen(pilot.app) and board.region.height >= 3

    screen.prompt.focus()
    await until(pilot, lambda: screen.prompt.has_focus and fits(way_in), "all of the screen")
    screen.prompt.insert(DRAFT)
    await until(pilot, lambda: "six" in seen(pilot.app) and fits(way_in), "all of the screen, with a draft")
    board.focus()
    await until(pilot, lambda: board.has_focus_within and fits(way_out), "all of the screen, on the board")
    screen.prompt.focus()
    screen.prompt.clear()
    await until(pilot, lambda: screen.prompt.has_focus and fits(way_in), "all of the screen again")


async def test_a_servers_form(tmp_path: Path) -> None:
    async with stage(tmp_path, SIZES[0]) as s:
        await s.ask("form", requestedSchema=FORM, message="We need to know much.")
        await s.come_to_the_board()
        await whole(s.pilot, chat(s.console).boards.human, "to answer", "esc later", SIZES[::2])


async def test_a_servers_page(tmp_path: Path) -> None:
    async with stage(tmp_path, SIZES[0]) as s:
        await s.ask("page", url="https://example.com/" + "a-long-way/" * 40)
        await s.come_to_the_board()
        await whole(s.pilot, chat(s.console).boards.human, "to answer", "esc later", SIZES[1::2])


@each(
    ("options", "sizes"),
    turns([[], ["One of them", "Another", "A third", "None of these"]], [SIZES[1::2], SIZES[::2]]),
    ids=str,
)
async def test_a_question_of_the_model(tmp_path: Path, options: list[str], sizes: list[tuple[int, int]]) -> None:
    asked = ("fanout_ask_followup_question", json.dumps({"question": LONG, "options": options}))
    async with talking(tmp_path, calls(asked), size=SIZES[0]) as pilot:
        await see(pilot, "to answer")
        await whole(pilot, chat(pilot.app).boards.questions, "to answer", "esc later", sizes)


@each(("count", "sizes"), turns([1, 20], [SIZES[1::2], SIZES[::2]]), ids=str)
async def test_calls_that_wait(tmp_path: Path, count: int, sizes: list[tuple[int, int]]) -> None:
    waiting = [("files_write", json.dumps({"path": f"{n}.md", "content": "word\n" * 40})) for n in range(count)]
    console = app(
        tmp_path,
        WrittenModel(calls(*waiting)),
        Tools({("files", "write"): echo}, read_only=False),
        gate=ApprovalGate(ApprovalMode.ASK),
    )
    async with console.run_test(size=SIZES[0]) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, f"{count} need")
        await whole(pilot, chat(console).boards.approvals, "to review", "esc", sizes)


async def test_a_long_draft_takes_no_more_than_it_shows_while_a_turn_runs(tmp_path: Path) -> None:
    """A line above or below a text that is cut off at a third of the screen made the place for it as high as all of
    the text."""
    (tmp_path / "notes.md").write_text("Notes\n")
    hold = asyncio.Event()
    async with app(tmp_path, WrittenModel([hold])).run_test(size=SIZES[0]) as pilot:
        screen = chat(pilot.app)
        await pilot.press("g", "enter")
        await see(pilot, "stop")
        for size in SIZES[::3]:
            screen.prompt.clear()
            await resized(pilot, size)
            screen.prompt.insert("@notes.md " + DRAFT + DRAFT)
            await see(pilot, "notes.md")
            await until(pilot, lambda: screen.query_one(AttachmentChips).display)
            place = screen.query_one(PromptArea)
            await until(pilot, lambda at=place: at.region.height == sum(p.region.height for p in parts_of(screen)))
            assert screen.query_one(KeyHints).region.bottom == screen.size.height
            assert screen.max_scroll_y == 0
        hold.set()


def parts_of(screen: Any) -> list[Any]:
    return [one for one in screen.query("ActivityLine, Prompt, AttachmentChips") if one.display]


ROOM = {(60, 15): (1, 10), (80, 24): (3, 15)}  # lines of the board, and of the conversation, at a size


async def read_beside(
    pilot: Pilot[Any], board: Any, way_back: str, shown: str, sizes: Sequence[tuple[int, int]]
) -> None:
    """Who reads in the conversation has the lines of the board, and on a low screen those of the prompt's frame; on the
    board, that has its own again. The way there and back is named."""
    for size in sizes:
        await resized(pilot, size)
        await read_beside_at(size, pilot, board, way_back)
        await see(pilot, shown)


async def read_beside_at(size: tuple[int, int], pilot: Pilot[Any], board: Any, way_back: str) -> None:
    screen = chat(pilot.app)
    view, (lines, room) = screen.view, ROOM[size]
    screen.prompt.focus()
    await at_rest(pilot)
    before = board.region.height

    def reads() -> bool:
        return (board.region.height, view.region.height) == (lines, room) and way_back in seen(pilot.app)

    view.focus()
    await until(pilot, reads, "room to read, and the way back")
    screen.prompt.focus()
    await until(pilot, lambda: board.region.height == before, "the board as it was")
    view.focus()
    await until(pilot, reads, "room to read again")
    await pilot.press("tab")
    await until(pilot, lambda: board.has_focus_within and board.region.height >= before, "all of the board")
    await see(pilot, "esc later")
    await pilot.press("alt+up")
    await until(pilot, lambda: view.has_focus and reads(), "the calls again")


@each(("count", "size"), turns([1, 12], ROOM), ids=str)
async def test_what_is_read_in_the_conversation_has_the_lines_of_the_calls_that_wait(
    tmp_path: Path, count: int, size: tuple[int, int]
) -> None:
    waiting = [("files_write", json.dumps({"path": f"{n}.md", "content": "word\n" * 40})) for n in range(count)]
    tools, gate = Tools({("files", "write"): echo}, read_only=False), ApprovalGate(ApprovalMode.ASK)
    async with app(tmp_path, WrittenModel(calls(*waiting)), tools, gate=gate).run_test(size=size) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, f"{count} need")
        await read_beside(pilot, chat(pilot.app).boards.approvals, "tab to review", "write  0.md", [size])


@each(("options", "size"), turns([[], ["One", "Another"]], ROOM), ids=str)
async def test_what_is_read_in_the_conversation_has_the_lines_of_a_question(
    tmp_path: Path, options: list[str], size: tuple[int, int]
) -> None:
    asked = ("fanout_ask_followup_question", json.dumps({"question": LONG, "options": options}))
    async with talking(tmp_path, calls(asked), size=size) as pilot:
        await see(pilot, "to answer")
        await read_beside(pilot, chat(pilot.app).boards.questions, "tab to answer", "What is meant", [size])


async def test_what_is_read_in_the_conversation_has_the_lines_of_a_servers_form(tmp_path: Path) -> None:
    async with stage(tmp_path, min(ROOM)) as s:
        await s.ask("form", requestedSchema=FORM, message="We need to know much.")
        await s.come_to_the_board()
        await read_beside(s.pilot, chat(s.console).boards.human, "tab to answer", "asks you", list(ROOM)[:1])


async def test_where_there_is_room_for_both_the_board_stays_as_it_is(tmp_path: Path) -> None:
    waiting = [("files_write", json.dumps({"path": f"{n}.md", "content": "word\n" * 40})) for n in range(12)]
    tools, gate = Tools({("files", "write"): echo}, read_only=False), ApprovalGate(ApprovalMode.ASK)
    async with app(tmp_path, WrittenModel(calls(*waiting)), tools, gate=gate).run_test(size=(120, 60)) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, "12 need you")
        board = chat(pilot.app).boards.approvals
        before = board.region.height
        await pilot.press("alt+1")
        await until(pilot, lambda: chat(pilot.app).view.has_focus)
        assert board.region.height == before > 10


async def test_the_prompt_names_its_keys_only_while_it_has_them(tmp_path: Path) -> None:
    """Its frame went on saying that Enter queues while Enter denied."""
    waiting = [("files_write", json.dumps({"path": f"{n}.md", "content": "word"})) for n in range(2)]
    console = app(
        tmp_path,
        WrittenModel(calls(*waiting)),
        Tools({("files", "write"): echo}, read_only=False),
        gate=ApprovalGate(ApprovalMode.ASK),
    )
    async with console.run_test(size=(80, 24)) as pilot:
        screen = chat(console)
        await pilot.press("g", "enter")
        await see(pilot, "2 need you")
        screen.prompt.focus()
        await until(pilot, lambda: screen.prompt.has_focus and "enter queue" in seen(console), "what Enter does")
        await pilot.press("tab")
        await until(pilot, lambda: screen.boards.approvals.has_focus and "enter queue" not in seen(console), "no word")
        await pass_by(pilot)
        await pilot.press("f")
        await until(pilot, lambda: "enter say no" in seen(console) and "enter queue" not in seen(console), "one Enter")
        await pilot.press("escape")
        screen.prompt.focus()
        await see(pilot, "enter queue")


@each("size", [(80, 24), (120, 40)])
async def test_the_board_stays_as_high_as_it_was_from_row_to_row(tmp_path: Path, size: tuple[int, int]) -> None:
    """Its height was that of the selected call, and its rows jumped under the keys that go through them."""
    texts = ["word", "line\n" * 30, "one\ntwo\nthree", "word"]
    waiting = [("files_note", json.dumps({"text": text})) for text in texts]
    console = app(
        tmp_path,
        WrittenModel(calls(*waiting)),
        Tools({("files", "note"): echo}, read_only=False),
        gate=ApprovalGate(ApprovalMode.ASK),
    )
    async with console.run_test(size=size) as pilot:
        board = chat(console).boards.approvals
        await pilot.press("g", "enter")
        await see(pilot, "4 need you")
        board.focus()
        await until(pilot, lambda: board.has_focus)
        await pilot.press("j")
        await see(pilot, "4 need you")
        place = board.region
        for keys, number in (("j", 3), ("j", 4), ("j", 1), ("j", 2), ("k", 1)):
            await pilot.press(keys)
            await see(pilot, "4 need you")
            await at_rest(pilot)
            assert board.region == place, number
            assert "esc later" in seen(console) or "esc later" in seen(console)
