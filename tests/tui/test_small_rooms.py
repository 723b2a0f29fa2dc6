"""Text without much room is cut so that one sees it: words at their ends, keys by importance, counts in whole parts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, Static

from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from console_app.tui.asking.consent import ConsentDialog
from console_app.tui.main_screen.over.connect_screen import ConnectScreen
from console_app.tui.prompt.prompt_box import PromptBox
from console_app.tui.servers.workbench import ToolScreen, ToolSource
from console_app.tui.terminal.key_names import key_name
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.text_dialog import TextDialog
from console_app.tui.widgets.text_view import TextView, _chop, _Piece  # pyright: ignore[reportPrivateUsage]
from tests.each import each
from tests.examples import spread
from tests.tui.parts import (
    NOW,
    Tools,
    WrittenModel,
    app,
    at_rest,
    calls,
    chat,
    decide,
    echo,
    enter,
    pass_by,
    say,
    see,
    seen,
    until,
)
from tests.tui.servers.test_workbench_pictures import SPEC
from tests.tui.test_connect import console_of, opened

KEYS = "enter change · del default · f4 edit the file · esc close"


async def test_the_hint_of_a_field_is_cut_so_that_one_sees_it(tmp_path: Path) -> None:
    console, _ = console_of(tmp_path, {})
    async with console.run_test(size=(60, 15)) as pilot:
        await opened(pilot)
        field = pilot.app.screen.query_one("#address", Input)
        await until(pilot, lambda: field.placeholder.endswith("…"))
        await see(pilot, f"{field.placeholder} ")
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: field.placeholder.endswith("one of the list"))


def test_the_key_that_leaves_is_named_while_there_is_room_for_any() -> None:
    assert KeyHints.fitted(KEYS, 80) == KEYS
    assert KeyHints.fitted(KEYS, 45) == "enter change · del default · esc close"
    assert KeyHints.fitted(KEYS, 25) == "enter change · esc close"
    assert KeyHints.fitted(KEYS, 5) == "esc close"


def rows_of(text: str, width: int, first: int = 0, hang: int = 0) -> list[str]:
    return _chop(_Piece(text, first, hang), width)


@given(st.text(st.sampled_from("ab  日é-"), max_size=80), st.integers(2, 30), st.integers(0, 9))
def test_rows_of_a_text_are_the_text_and_fit(text: str, width: int, hang: int) -> None:
    rows, inset = rows_of(text, width, hang=hang), min(hang, width // 2)
    assert rows[0] + "".join(row[inset:] for row in rows[1:]) == text
    assert all(row[:inset].isspace() for row in rows[1:] if inset)
    assert all(cell_len(row.rstrip(" ")) <= width for row in rows if width - inset > 1)


def test_rows_end_behind_words() -> None:
    assert rows_of("how many fit is not known (context_window says).", 40) == [
        "how many fit is not known ",
        "(context_window says).",
    ]
    assert rows_of("x" * 10, 4) == ["xxxx", "xxxx", "xx"]


async def test_a_line_that_goes_on_does_so_behind_where_its_words_began(tmp_path: Path) -> None:
    said = "mcp.json would start:\nlab\n    runs         npx -y " + "word " * 9 + "\n    " + "argument " * 8
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(60, 15)) as pilot:
        console.push_screen(ConsentDialog(said, chat(console).services.timing))
        await see(pilot, "lab")
        begun, continued = (line for line in seen(console).splitlines() if "word" in line)
        assert begun.index("npx") == continued.index("word"), seen(console)
        begun, continued = (line for line in seen(console).splitlines() if "argument" in line)
        assert begun.index("argument") + 2 == continued.index("argument"), seen(console)


async def test_no_word_of_a_tool_stands_under_the_scroll_bar(tmp_path: Path) -> None:
    words = [str(number) for number in range(100, 250)]
    spec = SPEC.model_copy(update={"description": " ".join(words)})
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(60, 24)) as pilot:
        source = ToolSource(
            lambda: spec, list, ApprovalGate(ApprovalMode.ASK), lambda: True, lambda: False, lambda: NOW
        )
        console.push_screen(ToolScreen(spec, source))
        await see(pilot, words[-1])
        assert set(words) <= set(seen(console).split()), seen(console)


@each("rows", spread([15, 24, 40], 2))
async def test_a_short_text_leaves_no_empty_rows_in_its_frame(tmp_path: Path, rows: int) -> None:
    said = ["one line"]
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(60, rows)) as pilot:
        console.push_screen(TextDialog("Text", lambda: "\n".join(said), every=0.01))
        box = await until_high(pilot, 3)
        said.append("another")
        await until_high(pilot, 4)
        said += [f"{number}" for number in range(200)]
        await until(pilot, lambda: box.region.height >= rows * 4 // 5)
        await pilot.press("end")
        await see(pilot, "199")
        assert box.region.bottom <= rows
        del said[1:]
        await until_high(pilot, 3)


async def until_high(pilot: Pilot[Any], rows: int) -> Widget:
    """The frame of the dialog, once it has so many rows."""
    await until(pilot, lambda: bool(pilot.app.screen.query("#box")))
    box = pilot.app.screen.query_one("#box")
    await until(pilot, lambda: box.region.height == rows)
    return box


async def test_what_there_is_to_know_goes_on_behind_its_mark(tmp_path: Path) -> None:
    told = "mcp.json and 2 commands of this project wait for your trust: alt+t shows it all, and asks."
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(60, 24)) as pilot:
        chat(console).ui.tell("warning", told)
        chat(console).ui.tell("info", "one more")
        await see(pilot, "· one more")
        first, second = rows_from(seen(console), "! mcp.json")
        assert len(second) - len(second.lstrip()) == first.index("mcp.json"), seen(console)
        await pilot.resize_terminal(110, 24)
        await see(pilot, f"! {told}")
        assert "· one more" in rows_from(seen(console), "! mcp.json")[1], "the room of the second row is given back"


def rows_from(page: str, words: str) -> list[str]:
    """The row that has the words, and the one below it."""
    lines = page.splitlines()
    at = next(number for number, line in enumerate(lines) if words in line)
    return lines[at : at + 2]


def test_signs_are_named_as_they_are_written() -> None:
    keys = ("exclamation_mark", "slash", "ctrl+pageup", "alt+up", "space", "escape", "A", "left_square_bracket")
    assert [key_name(key) for key in keys] == ["!", "/", "ctrl+pgup", "alt+↑", "space", "esc", "A", "["]


async def test_the_fields_of_connect_say_what_they_are(tmp_path: Path) -> None:
    console, _ = console_of(tmp_path, {})
    async with console.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for name in ("Address", "Key", "Model"):
            assert any(f" {name} " in line for line in seen(console).splitlines())
        assert isinstance(console.screen, ConnectScreen)


@each("size", spread([(60, 15), (80, 24), (120, 40)], 2), ids=str)
async def test_toasts_cover_nothing_that_is_written_in(tmp_path: Path, size: tuple[int, int]) -> None:
    tools = Tools({("lab", "echo"): echo}, read_only=False)
    model = WrittenModel(calls(*(("lab_echo", f'{{"n": {n}}}') for n in range(3))))
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=size, notifications=True) as pilot:
        await clear_of(pilot, "#prompt")
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: chat(console).boards.approvals.is_asking)
        await clear_of(pilot, "#prompt", "ApprovalBoard")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: chat(console).find_bar.is_open)
        await clear_of(pilot, "#prompt", "FindBar", "ApprovalBoard")


async def clear_of(pilot: Pilot[Any], *selectors: str) -> None:
    """A toast comes, and stands over none of these."""
    console = pilot.app
    console.notify("This is said beside what you do.")
    await until(pilot, lambda: any(toast.region for toast in console.screen.query("Toast")))
    for toast in console.screen.query("Toast"):
        for selector in selectors:
            written_in = console.screen.query_one(selector)
            assert not toast.region.overlaps(written_in.region), (selector, toast.region, written_in.region)
    console.clear_notifications()
    await until(pilot, lambda: not console.screen.query("Toast"))


@each("size", [(60, 15), (80, 24)], ids=str)
async def test_what_was_said_before_a_board_came_does_not_lie_over_it(tmp_path: Path, size: tuple[int, int]) -> None:
    tools = Tools({("lab", "echo"): echo}, read_only=False)
    model = WrittenModel(calls(*(("lab_echo", f'{{"n": {n}}}') for n in range(9))))
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=size, notifications=True) as pilot:
        chat(console).ui.toast("The last turn is undone. " * 4, 3600)
        await until(pilot, lambda: any(toast.region for toast in console.screen.query("Toast")))
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: chat(console).boards.approvals.is_asking)
        await at_rest(pilot)
        chat(console).prompt.put("\n".join("half a thought" for _ in range(20)))  # takes what room was left
        await until(pilot, lambda: chat(console).prompt.region.height > 3)
        await at_rest(pilot)
        (toast,) = console.screen.query("Toast")
        assert toast.region
        for selector in ("#prompt", "ApprovalBoard"):
            assert not toast.region.overlaps(console.screen.query_one(selector).region), selector


async def test_what_is_said_again_stands_once(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(80, 24), notifications=True) as pilot:
        for text in ("Once more.", "Other.", "Once more.", "Once more."):
            chat(console).ui.toast(text, 3600)
        await see(pilot, "Other.")
        await until(pilot, lambda: len(console.screen.query("Toast")) == 2)
        assert seen(console).count("Once more.") == 1
        rows = [line for line in seen(console).splitlines() if "Other." in line or "Once more." in line]
        assert ["Other." in row for row in rows] == [True, False], "the newest stands below"


async def test_a_board_without_arguments_to_show_says_nothing_of_lines(tmp_path: Path) -> None:
    tools = Tools({("lab", "echo"): echo}, read_only=False)
    model = WrittenModel(calls(*(("lab_echo", f'{{"n": {n}}}') for n in range(12))))
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "12 need you")
        assert "-0 of" not in seen(console)
        assert "space to scroll" not in seen(console)
        assert chat(console).boards.approvals.query(Static)


async def test_a_board_knows_its_width_before_it_is_laid_out(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_echo", '{"path": "a"}')))
    tools = Tools({("lab", "echo"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(60, 15)) as pilot:
        board = chat(console).boards.approvals
        before = board._cells  # pyright: ignore[reportPrivateUsage]
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: board.content_size.width > 0)
        assert before == board.content_size.width


async def test_a_badge_takes_no_room_from_the_rows_beside_it(tmp_path: Path) -> None:
    model = WrittenModel(calls(*(("lab_echo", f'{{"path": "a/folder/file-{n}.md"}}') for n in range(12))))
    console = app(tmp_path, model, Tools({("lab", "echo"): echo}))
    async with console.run_test(size=(80, 50)) as pilot:  # high enough for a batch that ended to keep its rows
        await pilot.press(*"go", "enter")
        await see(pilot, "12 ok")
        await until(pilot, lambda: not chat(console).console.conversation.busy)
        await pilot.press("alt+9")
        await decide(pilot, "r")
        await see(pilot, "[try 2]")
        await see(pilot, "12 ok")
        lines = [line for line in seen(console).splitlines() if " echo " in line]
        assert sum("a/folder/file-" in line for line in lines) >= 11, seen(console)
        header = next(line for line in seen(console).splitlines() if "12 calls" in line)
        assert not header.rstrip().endswith("·")


def test_a_text_view_is_as_long_as_its_rows() -> None:
    view = TextView("one two three four five\nsix")
    assert view.rows_at(10) == len(rows_of("one two three four five", 10)) + 1


async def test_the_cursor_of_a_field_is_seen_in_sixteen_colours(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(), theme="terminal")
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        await see(pilot, "Type to filter")
        style = console.screen.query_one(Input).get_component_rich_style("input--cursor")
        assert style.reverse
        assert style.color is None or style.color.is_default


async def nothing_is_pushed_out(pilot: Pilot[Any], *words: str) -> None:
    """All of it is on the page: the screen has nothing to scroll to, and its last row is that of the hints."""
    for word in words:
        await see(pilot, word)
    await at_rest(pilot)
    assert pilot.app.screen.max_scroll_y == 0, seen(pilot.app)
    hints = seen(pilot.app).splitlines()[pilot.app.size.height - 1]
    assert "? help" in hints or " esc " in f" {hints}", seen(pilot.app)


@each("size", spread([(60, 15), (80, 15), (60, 19), (80, 24)], 2), ids=str)
async def test_a_board_with_its_keys_leaves_the_hints_on_the_page(tmp_path: Path, size: tuple[int, int]) -> None:
    tools = Tools({("lab", "write_file"): echo}, read_only=False)
    text = "one\\ntwo\\nthree"
    model = WrittenModel(calls(*(("lab_write_file", f'{{"path": "a{n}.md", "content": "{text}"}}') for n in range(12))))
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=size) as pilot:
        await pilot.press(*"go", "enter")
        await nothing_is_pushed_out(pilot, "12 need you", "tab")
        await pilot.press("tab")
        board = chat(console).boards.approvals
        await until(pilot, lambda: board.has_focus)
        await pass_by(pilot)
        await nothing_is_pushed_out(pilot, "y run it", "later")
        await pilot.press("c", *"use b")
        await nothing_is_pushed_out(pilot, "use b", "enter keep it")
        await pilot.press("enter")
        await nothing_is_pushed_out(pilot, "your words: use b", "y run it", "later")
        await until(pilot, lambda: board.has_focus and console.screen.query_one(PromptBox).has_class("-aside"))
        await pass_by(pilot)
        while "Always allow" not in seen(console):  # first it goes to what was not displayed yet
            await pilot.press("A")
            await pass_by(pilot)
        await nothing_is_pushed_out(pilot, "Always allow", "esc back")
        await pilot.press("escape")
        await pass_by(pilot)
        await pilot.press("f")
        await nothing_is_pushed_out(pilot, "enter say no", "esc back")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: chat(console).prompt.has_focus)
        await nothing_is_pushed_out(pilot, "tab")
        await until(pilot, lambda: chat(console).prompt.region.height == 3)


async def test_the_words_for_an_edit_that_no_longer_fits_leave_the_hints_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    edit = '{"path": "a.txt", "old_text": "nowhere", "new_text": "two"}'
    tools = Tools({("lab", "edit"): echo}, read_only=False)
    model = WrittenModel(calls(("lab_edit", edit), ("lab_edit", edit)))
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(60, 15)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "not in the file")
        await pilot.press("tab")
        await see(pilot, "y run it")
        for key in ("c", "f"):
            await pass_by(pilot)
            await pilot.press(key)
            await nothing_is_pushed_out(pilot, "esc back", "edit")
            await pilot.press("escape")
            await nothing_is_pushed_out(pilot, "not in the file", "later")


@each("size", spread([(60, 15), (60, 19), (80, 24)], 2), ids=str)
async def test_a_list_of_completions_leaves_the_hints_on_the_page(tmp_path: Path, size: tuple[int, int]) -> None:
    console = app(tmp_path, WrittenModel(say("Said.")))
    async with console.run_test(size=size) as pilot:
        await pilot.press("slash")
        await nothing_is_pushed_out(pilot, "/model")
        await pilot.press("ctrl+c", "g", "enter")
        await see(pilot, "done ·")
        await pilot.press("slash")
        await nothing_is_pushed_out(pilot, "/model")


async def test_a_new_item_of_the_todo_list_is_seen_while_it_is_written(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(60, 15)) as pilot:
        await enter(pilot, "/todo")
        await see(pilot, "What is to be done")
        await see(pilot, "enter save")
        await pilot.press(*"buy bread")
        await see(pilot, "buy bread")
        await see(pilot, "esc cancel")
        await pilot.press("enter")
        await see(pilot, "0 of 1 done")
        await see(pilot, "space state")
        await see(pilot, "esc back")


async def test_what_a_command_does_is_whole_at_eighty_columns(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(80, 70)) as pilot:
        await pilot.press("ctrl+p")
        await see(pilot, "/quit")
        await until(pilot, lambda: all(f"/{name}" in seen(console) for name in ("help", "compact", "export", "todo")))
        assert [line for line in seen(console).splitlines() if "…" in line] == []


@each("columns", spread([60, 80, 100], 1))
async def test_a_toast_of_any_length_is_whole(tmp_path: Path, columns: int) -> None:
    console = app(tmp_path, WrittenModel())
    async with console.run_test(size=(columns, 24), notifications=True) as pilot:
        await see(pilot, "many tool calls at once")
        for length in range(columns * 4 // 5 - 8, columns * 4 // 5 + 3):
            console.clear_notifications()
            await until(pilot, lambda: not console.screen.query("Toast"))
            last = f"{'x' * (length - 13)}."
            console.notify(f"Exported to {last}", timeout=3600)
            await see(pilot, last)


async def test_the_report_that_is_still_written_has_its_dialog_at_once_and_nothing_over_how_to_leave_it(
    tmp_path: Path,
) -> None:
    looked = asyncio.Event()

    async def diagnose() -> list[str]:
        await looked.wait()
        return ["All is well.", *(f"line {n}" for n in range(40))]

    async with app(tmp_path, diagnose=diagnose).run_test(size=(60, 15), notifications=True) as pilot:
        await enter(pilot, "/doctor")
        await see(pilot, "Looking…")
        assert "esc close" in seen(pilot.app)
        looked.set()
        await see(pilot, "All is well.")
        assert "esc close" in seen(pilot.app)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))
