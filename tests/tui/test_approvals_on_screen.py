"""The approval board: what it shows, when its keys count, and when it may take the focus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import TodoItem
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import ToolSpec
from console_app.engine import ApprovalGate, Rule
from console_app.providers import TextProtocol
from console_app.tui.asking.approval_board import ApprovalBoard, ArgumentsView
from console_app.tui.asking.arguments_editor import ArgumentsEditor
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, see, seen, until
from tests.tui.test_reaching_calls import told

THREE = (
    ("files_write", '{"path": "a.md", "content": "# One\\nline two"}'),
    ("files_write", '{"path": "[/red]b.md", "content": "[@click=app.quit]"}'),
    ("files_write", '{"path": "c.md"}'),
)


@asynccontextmanager
async def waiting(folder: Path, *arguments: tuple[str, str]) -> AsyncGenerator[tuple[Pilot[Any], ApprovalBoard]]:
    """A console in which three calls (or these) wait."""
    model = WrittenModel(calls(*(arguments or THREE)), say("All decided."))
    gate = ApprovalGate(ApprovalMode.ASK)
    console = app(folder, model, Tools({("files", "write"): echo}, read_only=False), gate=gate)
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        board = chat(console).boards.approvals
        count = len(arguments or THREE)
        await see(pilot, f"{count} need")
        yield pilot, board


async def reach(pilot: Pilot[Any], board: ApprovalBoard) -> None:
    """Goes to the board as a user does, and waits until its keys count."""
    await pilot.press("tab")
    await until(pilot, lambda: board.has_focus)
    await pass_by(pilot)


def toasts(pilot: Pilot[Any]) -> list[str]:
    return [one.message for one in pilot.app._notifications]  # pyright: ignore[reportPrivateUsage]


def outcomes(pilot: Pilot[Any]) -> list[str]:
    return [str(call.outcome) for call in chat(pilot.app).ui.shown.transcript.calls.values()]


async def test_every_waiting_call_is_a_row_and_the_selected_one_shows_all_arguments(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await until(pilot, lambda: seen(pilot.app).count("  write") == 3, "a row each, in one place")
        assert "[/red]b.md" in seen(pilot.app)
        await reach(pilot, board)
        await pilot.press("2")
        await see(pilot, "[@click=app.quit]")
        await pilot.press("k")
        await see(pilot, "3 need you")
        await see(pilot, "line two")


async def test_for_a_call_that_only_its_shape_shows_no_rule_is_offered_and_yolo_asks(tmp_path: Path) -> None:
    written = say('{"name": "files_write", "arguments": {"path": "a.md"}}')
    model: Any = TextProtocol(WrittenModel(written, say("All decided.")))
    gate = ApprovalGate(ApprovalMode.YOLO, [Rule("allow", "*")])
    console = app(tmp_path, model, Tools({("files", "write"): echo}, read_only=False), gate=gate)
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "as bare_json_lines on line 1")
        await reach(pilot, chat(console).boards.approvals)
        await see(pilot, "y run it")
        assert "a allow for session" not in seen(console)
        await pilot.press("A")
        assert outcomes(pilot) == ["None"]
        await decide(pilot, "y")
        await until(pilot, lambda: outcomes(pilot) == ["succeeded"])
        assert len(gate.rules) == 1


async def test_a_key_too_early_decides_nothing(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)
        await pilot.press("y", "Y", "n", "N", "f")
        await pass_by(pilot)
        assert outcomes(pilot) == ["None", "None", "None"]
        assert board.selection.stage == "choosing"


async def test_what_was_typed_ahead_goes_to_the_prompt(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, _board):
        await pass_by(pilot, 0.5)
        await pilot.press("y", "e", "s")
        assert chat(pilot.app).prompt.text == "yes"
        assert outcomes(pilot) == ["None", "None", "None"]
        assert "tab to review" in seen(pilot.app)


async def test_a_letter_that_is_no_key_of_the_board_is_refused_and_none_counts_right_behind_it(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)
        await pass_by(pilot, 0.6)
        await pilot.press("h", "l", "t", "m")
        await told(pilot, "h does nothing here now. esc goes to the prompt.")
        assert len(pilot.app._notifications) == 1  # of a word that was typed by mistake  # pyright: ignore[reportPrivateUsage]
        await pass_by(pilot, 0.3)
        await pilot.press("y")
        await pass_by(pilot, 0.6)
        assert (chat(pilot.app).prompt.text, board.has_focus) == ("", True)
        assert outcomes(pilot) == ["None", "None", "None"]
        await decide(pilot, "y")
        await until(pilot, lambda: outcomes(pilot)[0] != "None")


async def test_one_is_approved_one_denied_with_words_one_denied(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await reach(pilot, board)
        await decide(pilot, "y")
        await see(pilot, "2 need you")
        await decide(pilot, "f")
        await pilot.press(*"not there", "enter")
        await see(pilot, "1 needs you")
        await decide(pilot, "n")
        await see(pilot, "All decided.")
        assert outcomes(pilot) == ["succeeded", "denied", "denied"]
        calls_by_order = list(chat(pilot.app).ui.shown.transcript.calls.values())
        assert "not there" in calls_by_order[1].content
        assert chat(pilot.app).focused is chat(pilot.app).prompt


async def next_turn(pilot: Pilot[Any], board: ApprovalBoard, *arguments: tuple[str, str]) -> None:
    """The model makes these calls, and the board that they wait on has the focus."""
    model = chat(pilot.app).services.engine.provider
    assert isinstance(model, WrittenModel)
    model.answers[:] = [calls(*arguments), say("All decided.")]
    await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
    await pilot.press(*"go", "enter")
    await see(pilot, f"{len(arguments)} need")
    await reach(pilot, board)


async def ended(pilot: Pilot[Any]) -> list[str]:
    """The outcomes of the turn's calls, once it is over."""
    await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
    return [str(call.outcome) for call in chat(pilot.app).ui.shown.transcript.turns[-1].calls]


async def test_all_are_denied_at_once_or_run_by_a_rule_for_the_session(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await reach(pilot, board)
        await decide(pilot, "N")
        assert await ended(pilot) == ["denied"] * 3
        await next_turn(pilot, board, *THREE)
        await decide(pilot, "a")
        assert await ended(pilot) == ["succeeded"] * 3
        rules = chat(pilot.app).services.engine.gate.rules
        assert [(str(rule), rule.source) for rule in rules] == [("allow files.write", "this session")]


async def tap(pilot: Pilot[Any], words: str) -> None:
    """A click, or a tap on a touch screen, in the middle of what is shown."""
    lines = seen(pilot.app).splitlines()
    row = next(n for n, line in enumerate(lines) if words in line)
    await pilot.click(offset=(lines[row].index(words) + len(words) // 2, row))


async def test_a_tap_on_keys_that_came_there_just_now_was_meant_for_what_was_there(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await pass_by(pilot, 0.6)
        await tap(pilot, "tab to review")
        await until(pilot, lambda: board.has_focus)
        await see(pilot, "esc later")
        await tap(pilot, "esc later")
        await pass_by(pilot)
        assert board.has_focus
        await tap(pilot, "esc later")
        await until(pilot, lambda: not board.has_focus)
        await see(pilot, "tab to review")


async def test_a_tap_on_a_key_presses_it_and_is_guarded_as_the_key_is(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await pass_by(pilot, 0.6)
        await tap(pilot, "tab to review")
        await until(pilot, lambda: board.has_focus)
        await tap(pilot, "y run it")
        await pass_by(pilot)
        assert outcomes(pilot) == ["None", "None", "None"], "it came with the focus"
        await until(pilot, lambda: board.selection.keys.settled)
        await tap(pilot, "y run it")
        await until(pilot, lambda: board.selection.keys.holds is not None)
        await pass_by(pilot, 0.2)
        await see(pilot, "2 need you")
        await pass_by(pilot)
        await pilot.press("A")
        await see(pilot, "Always allow calls matching:")
        await pass_by(pilot)
        await tap(pilot, "esc back")
        await until(pilot, lambda: board.selection.stage == "choosing")
        await pass_by(pilot)
        await tap(pilot, "N none")
        await until(pilot, lambda: board.selection.keys.holds is not None)
        await pass_by(pilot, 0.2)
        await see(pilot, "All decided.")
        assert outcomes(pilot) == ["succeeded", "denied", "denied"]


async def test_escape_leaves_the_calls_waiting(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await reach(pilot, board)
        await pilot.press("escape")
        await until(pilot, lambda: chat(pilot.app).prompt.has_focus)
        assert outcomes(pilot) == ["None", "None", "None"]
        assert chat(pilot.app).console.conversation.busy
        await pilot.press("escape")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        assert outcomes(pilot) == ["cancelled"] * 3
        assert not board.is_asking


async def test_the_board_takes_the_focus_from_an_empty_prompt_left_alone(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        prompt = chat(pilot.app).prompt
        assert prompt.has_focus
        await pilot.press("d")
        await pass_by(pilot, 60)
        assert (prompt.has_focus, board.has_focus) == (True, False), "a draft is left alone"
        await pilot.press("backspace")
        await pass_by(pilot)
        await until(pilot, lambda: board.has_focus)
        await pilot.press("tab")  # which was on its way here
        await until(pilot, lambda: "need" in seen(pilot.app))
        await pass_by(pilot)
        await pilot.press("tab")
        await see(pilot, "need you")


async def test_a_hundred_kilobytes_of_arguments_scroll(tmp_path: Path) -> None:
    big = "x" * 100_000 + "THE END"
    async with waiting(tmp_path, ("files_write", f'{{"content": "{big}"}}')) as (pilot, board):
        await reach(pilot, board)
        await pilot.press("pagedown")
        await pilot.pause()
        assert board.outer_size.height <= 24
        view = board.query_one("ArgumentsView")
        view.scroll_end(animate=False)
        await see(pilot, "THE END")


async def test_arguments_that_rows_say_whole_are_not_said_to_scroll(tmp_path: Path) -> None:
    three = [("files_write", f'{{"path": "{name}.md", "words": "{name}"}}') for name in "abc"]
    async with waiting(tmp_path, *three) as (pilot, board):
        view = board.query_one(ArgumentsView)
        await until(pilot, lambda: view.has_class("-in-row"), "rows that say all")
        await pilot.press("tab", "j")
        await see(pilot, "3 need you")
        await pilot.wait_for_scheduled_animations()
        assert (view.place, board.border_subtitle) == ("", "")


async def test_edited_arguments_run_and_the_model_hears_of_them(tmp_path: Path) -> None:
    async with waiting(tmp_path, THREE[0]) as (pilot, board):
        await reach(pilot, board)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ArgumentsEditor))
        editor = pilot.app.screen
        assert isinstance(editor, ArgumentsEditor)
        await see(pilot, "valid")
        await pilot.press("escape")
        await until(pilot, lambda: chat(pilot.app).is_current)
        assert outcomes(pilot) == ["None"], "leaving the form approves nothing"
        await pass_by(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ArgumentsEditor))
        editor = pilot.app.screen
        assert isinstance(editor, ArgumentsEditor)
        await see(pilot, "valid")
        await pilot.press("ctrl+s")  # too early: the form has only just come
        assert pilot.app.screen is editor
        await pass_by(pilot)
        editor.query_one(TextArea).text = "{"
        await see(pilot, "not valid JSON")
        await pilot.press("ctrl+s")
        assert pilot.app.screen is editor
        editor.query_one(TextArea).text = "{}"
        await see(pilot, "changed; the model is told")
        await pilot.press("ctrl+s")
        await see(pilot, "All decided.")
        (call,) = chat(pilot.app).ui.shown.transcript.calls.values()
        assert (call.arguments, call.edited) == ({}, True)
        assert call.content.endswith("\n\n{}")


async def test_a_call_that_cant_be_shown_cant_be_approved(tmp_path: Path) -> None:
    async with waiting(tmp_path, THREE[0], THREE[1]) as (pilot, board):
        view = board.query_one(ArgumentsView)

        def fails(*_: object) -> None:
            raise ValueError("a fault of the board")

        view.show = fails  # type: ignore[method-assign]
        await reach(pilot, board)
        await pilot.press("2")
        await see(pilot, "can't be shown")
        for key in ("y", "Y", "a", "A"):
            await decide(pilot, key)
        assert outcomes(pilot) == ["None", "None"]
        await pilot.press("2")
        await decide(pilot, "n")
        await see(pilot, "1 needs you")
        assert outcomes(pilot) == ["None", "denied"]


async def test_that_it_cant_be_shown_is_said_behind_reading_in_the_conversation_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("a fault of the board")

    async with waiting(tmp_path, THREE[0], THREE[1]) as (pilot, board):
        chat(pilot.app).view.focus()
        await until(pilot, lambda: board.region.height < 6, "one row and the way back")
        monkeypatch.setattr("console_app.tui.asking.approval_board.header", fails)
        board.focus()
        await see(pilot, "can't be shown")


@each(("limit", "shows"), [(90.0, "denied in 90 s"), (0.01, "All decided.")])
async def test_a_time_limit_of_waiting_is_counted_down_and_denies(tmp_path: Path, limit: float, shows: str) -> None:
    model = WrittenModel(calls(THREE[0]), say("All decided."))
    tools = Tools({("files", "write"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    engine = console._services.engine  # pyright: ignore[reportPrivateUsage]
    engine.settings = replace(engine.settings, approval_timeout=limit)
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, shows)
        assert outcomes(pilot) == (["denied"] if limit < 1 else ["None"])


async def test_the_time_goes_on_while_a_board_gives_its_lines_to_one_who_reads(tmp_path: Path) -> None:
    model = WrittenModel(calls(THREE[0]), say("All decided."))
    console = app(
        tmp_path, model, Tools({("files", "write"): echo}, read_only=False), gate=ApprovalGate(ApprovalMode.ASK)
    )
    engine = console._services.engine  # pyright: ignore[reportPrivateUsage]
    engine.settings = replace(engine.settings, approval_timeout=90.0)
    async with console.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "denied in 90 s")
        board = chat(console).boards.approvals
        await pilot.press("alt+1")
        await until(pilot, lambda: board.folded)
        board._paint_rows()  # pyright: ignore[reportPrivateUsage]
        await pilot.press("escape")
        await until(pilot, lambda: not board.folded and "denied in" in seen(pilot.app))


async def test_a_call_that_always_asks_offers_no_rule(tmp_path: Path) -> None:
    model = WrittenModel(calls(THREE[0]), say("All decided."))
    tools = Tools({("files", "write"): echo}, read_only=False)
    gate = ApprovalGate(ApprovalMode.YOLO, [Rule("ask", "files.*", "user")])
    console = app(tmp_path, model, tools, gate=gate)
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "1 needs you")
        board = chat(console).boards.approvals
        await reach(pilot, board)
        assert "this session" not in seen(console)
        assert "always asks" in seen(console)
        await decide(pilot, "a", "A")
        assert outcomes(pilot) == ["None"]


async def test_tab_leads_to_the_board_from_anywhere(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        chat(pilot.app).boards.todo.show([TodoItem(content="Look")])
        await pilot.press("alt+up")
        await until(pilot, lambda: chat(pilot.app).view.has_focus)
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)
        chat(pilot.app).boards.todo.focus()
        await until(pilot, lambda: chat(pilot.app).boards.todo.has_focus)
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)


async def test_a_denied_call_of_an_earlier_answer_runs_again_and_asks_again(tmp_path: Path) -> None:
    async with waiting(tmp_path, THREE[0]) as (pilot, board):
        await reach(pilot, board)
        await decide(pilot, "n")
        await see(pilot, "All decided.")
        await pilot.press(*"next", "enter")
        await see(pilot, "That is all.")
        await pilot.press("alt+up")
        await decide(pilot, "r")
        await see(pilot, "1 needs you")
        assert not board.has_focus
        await decide(pilot, "y")
        await until(pilot, lambda: any("tab goes to what needs you" in line for line in toasts(pilot)))
        await reach(pilot, board)
        await decide(pilot, "y")
        await until(pilot, lambda: outcomes(pilot) == ["succeeded"])
        await until(pilot, lambda: not board.is_asking)


async def test_a_finished_call_runs_again_in_its_open_batch_and_after_it(tmp_path: Path) -> None:
    count = 0
    free = asyncio.Event()

    async def work(invocation: Invocation, _reporter: CallReporter) -> str:
        nonlocal count
        count += 1
        if invocation.arguments.get("slow"):
            await free.wait()
        return f"run {count}"

    model = WrittenModel(calls(("files_do", '{"n": 1}'), ("files_do", '{"slow": true}')), say("All decided."))
    console = app(tmp_path, model, Tools({("files", "do"): work}))
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "1 running · 1 ok")
        await pilot.press("tab", "alt+up")
        await decide(pilot, "r")
        await see(pilot, "[try 2]")
        transcript = chat(console).ui.shown.transcript
        await until(pilot, lambda: "run 3" in next(iter(transcript.calls.values())).content)
        await decide(pilot, "s")
        await see(pilot, "All decided.")
        assert outcomes(pilot) == ["succeeded", "cancelled"]
        await until(pilot, lambda: not chat(console).console.conversation.busy)
        await decide(pilot, "r")
        await see(pilot, "[try 3]")
        await until(pilot, lambda: "run 4" in next(iter(transcript.calls.values())).content)


async def test_the_policy_changes_while_a_turn_runs(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, _board):
        chat(pilot.app).prompt_area.take("/policy sequential")
        await see(pilot, "sequential")
        (toast,) = pilot.app._notifications  # pyright: ignore[reportPrivateUsage]
        assert toast.message == "Policy: sequential, from the next answer on."
        assert outcomes(pilot) == ["None"] * 3


async def test_a_comment_goes_along_with_what_is_decided_and_decides_nothing_by_itself(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await reach(pilot, board)
        await pilot.press("c", *"mind the tone", "enter")
        await see(pilot, "your words: mind the tone")
        await pass_by(pilot)
        assert outcomes(pilot) == ["None", "None", "None"]
        await decide(pilot, "Y")
        await see(pilot, "All decided.")
        assert outcomes(pilot) == ["succeeded"] * 3
        first, second, _ = chat(pilot.app).ui.shown.transcript.calls.values()
        assert first.content.startswith("The user approved this call and said: mind the tone")
        assert "the user approved" not in second.content.lower()
        await next_turn(pilot, board, THREE[2])
        await pilot.press("c", *"this one", "enter")
        await pass_by(pilot)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ArgumentsEditor))
        await pass_by(pilot)
        pilot.app.screen.query_one(TextArea).text = '{"path": "d.md"}'
        await pilot.press("ctrl+s")
        await ended(pilot)
        *_, edited = chat(pilot.app).ui.shown.transcript.calls.values()
        assert edited.arguments == {"path": "d.md"}
        assert "The user approved this call and said: this one" in edited.content
        await next_turn(pilot, board, THREE[2])
        await pilot.press("c", *"too soon", "enter")
        await pass_by(pilot)
        await pilot.press("f", *", ask me", "enter")
        await ended(pilot)
        *_, denied = chat(pilot.app).ui.shown.transcript.calls.values()
        assert denied.content == "The user denied this call. too soon, ask me"


async def test_a_row_has_the_number_of_its_panel_also_when_others_were_decided(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (pilot, board):
        await reach(pilot, board)
        await decide(pilot, "n")
        await see(pilot, "2 need you")
        await pilot.press("3")
        await see(pilot, "2 need you")
        await pilot.press("1")
        await until(pilot, lambda: "No call 1 waits here." in toasts(pilot))
        assert board.selection.current is not None
        assert board.selection.current.number == 3


@dataclass
class Closed(Tools):
    """Whose tools take a path and an old text, and nothing else."""

    def tools(self) -> Sequence[ToolSpec]:
        names = {name: {"type": "string"} for name in ("path", "old_text")}
        schema = {
            "type": "object",
            "properties": names,
            "required": ["path", "old_text"],
            "additionalProperties": False,
        }
        return [spec.model_copy(update={"input_schema": schema}) for spec in super().tools()]


async def test_what_does_not_fit_the_tool_is_said_before_it_is_allowed(tmp_path: Path) -> None:
    """Else you allow a call that fails, and see neither that an argument was left out nor that another is missing."""
    model = WrittenModel(calls(("files_edit", '{"path": "a.md", "oldText": "x"}')), say("Decided."))
    tools = Closed({("files", "edit"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "! it does not fit the tool: “old_text” is required; left out oldText")


async def test_a_call_that_fits_its_tool_is_not_warned_of(tmp_path: Path) -> None:
    model = WrittenModel(calls(("files_edit", '{"path": "a.md", "old_text": "x"}')), say("Decided."))
    tools = Closed({("files", "edit"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "1 needs you")
        assert "does not fit" not in seen(pilot.app)
