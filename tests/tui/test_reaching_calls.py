"""Reaching a call by key: the newest batch is what the keys mean, and what is selected is seen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.transcript import CallView
from console_app.engine import ApprovalGate
from console_app.tui.lineview import CallBlock
from tests.tui.parts import (
    Answer,
    Tools,
    WrittenModel,
    app,
    at_rest,
    calls,
    chat,
    decide,
    echo,
    pass_by,
    say,
    see,
    seen,
    until,
)


class Bench:
    """Tools whose `wait` ends for an `n` when the test lets it go, and a console on them."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.ran: list[Any] = []
        self.tools = Tools({("lab", "wait"): self._wait, ("lab", "echo"): echo})

    async def _wait(self, invocation: Invocation, _reporter: CallReporter) -> str:
        self.ran.append(invocation.arguments["n"])
        if not self.free.is_set():
            await self.free.wait()
        return f"ended {invocation.arguments['n']}"


def batch(tool: str, first: int, count: int) -> Answer:
    return calls(*[(f"lab_{tool}", json.dumps({"n": n})) for n in range(first, first + count)])


def selected(pilot: Pilot[Any]) -> CallView | None:
    """The call that is seen to be selected: it has the mark, and a line of it is in the view."""
    view = chat(pilot.app).view
    marked = [block for block in view.blocks if block.selected]
    assert len(marked) <= 1
    if not marked or not isinstance(marked[0], CallBlock):
        return None
    call = marked[0].call
    shown = [line for line in seen(pilot.app).splitlines() if line.lstrip(" 123456789").startswith("▌")]
    assert any(f"n={(call.arguments or {}).get('n')}" in line for line in shown), seen(pilot.app)
    return call


def running(pilot: Pilot[Any]) -> list[CallView]:
    return [call for call in chat(pilot.app).ui.shown.transcript.calls.values() if call.state == "running"]


async def told(pilot: Pilot[Any], text: str) -> None:
    """Waits for a toast that says so."""
    toasts = pilot.app._notifications  # pyright: ignore[reportPrivateUsage]
    await until(pilot, lambda: any(text in toast.message for toast in toasts), f"{text!r} as a toast")


async def two_turns(pilot: Pilot[Any], *, second: int) -> None:
    """A turn that is over, whose panels were walked through; then one with `second` calls that run."""
    screen = chat(pilot.app)
    await pilot.press(*"one", "enter")
    await see(pilot, "First is done.")
    await until(pilot, lambda: not screen.console.conversation.busy)
    await pilot.press("alt+up", "alt+up", "escape")
    await pilot.press(*"two", "enter")
    await until(pilot, lambda: len(running(pilot)) == second)


async def test_the_panel_keys_mean_the_newest_batch(tmp_path: Path) -> None:
    bench = Bench()
    model = WrittenModel(batch("echo", 0, 4), say("First is done."), batch("wait", 10, 8), say("Second is done."))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await two_turns(pilot, second=8)
        await pilot.press("alt+up")
        call = selected(pilot)
        assert call is not None
        assert call in running(pilot)
        await decide(pilot, "x")
        await until(pilot, lambda: call.outcome == "cancelled")
        await until(pilot, lambda: "x stop" not in seen(pilot.app), "hints of what can be done now")
        await decide(pilot, "x", "h", "z")
        assert screen.prompt.text == ""
        assert len(running(pilot)) == 7
        await pilot.press("escape")
        assert screen.focused is screen.prompt
        bench.free.set()
        await see(pilot, "Second is done.")


async def test_tab_goes_to_the_newest_batch_and_an_old_call_runs_again_only_when_asked(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    model = WrittenModel(batch("wait", 0, 2), say("First is done."), say("No calls this time."))
    async with app(tmp_path, model, bench.tools, gate=ApprovalGate(ApprovalMode.YOLO)).run_test(
        size=(100, 24)
    ) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await see(pilot, "First is done.")
        await pilot.press(*"two", "enter")
        await see(pilot, "No calls this time.")
        await until(pilot, lambda: not screen.console.conversation.busy)
        await pilot.press("tab")
        call = selected(pilot)
        assert call is not None, "what has the focus is seen"
        await decide(pilot, "r")
        await see(pilot, "a call of an earlier turn · r again")
        await decide(pilot, "up", "down")
        await until(pilot, lambda: "r again" not in seen(pilot.app))
        await decide(pilot, "r")
        await see(pilot, "a call of an earlier turn · r again")
        assert bench.ran == [0, 1]
        await decide(pilot, "r")
        await until(pilot, lambda: len(bench.ran) == 3)
        assert not screen.boards.approvals.is_asking
        await until(pilot, lambda: "r again" not in seen(pilot.app))


async def test_alt_and_a_digit_goes_to_a_call_from_anywhere(tmp_path: Path) -> None:
    bench = Bench()
    model = WrittenModel(batch("echo", 0, 4), say("First is done."), batch("wait", 10, 11), say("Second is done."))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await two_turns(pilot, second=11)
        for number in (1, 9, 4):
            await pilot.press(f"alt+{number}")
            call = selected(pilot)
            assert call is not None
            assert call.arguments == {"n": 9 + number}
            assert screen.prompt.text == ""
        rows = [line for line in seen(pilot.app).splitlines() if "n=" in line and "▎" in line]
        assert [row.strip("▌ ").split()[0].strip("▎▌") for row in rows[:3]] == ["1", "2", "3"]
        await pilot.press("escape", "a", "alt+2")
        assert selected(pilot) is not None
        assert screen.prompt.text == "a"
        bench.free.set()
        await see(pilot, "Second is done.")


async def test_alt_and_a_digit_goes_from_the_board_to_a_call_and_says_when_there_is_none(tmp_path: Path) -> None:
    bench = Bench()
    bench.tools.read_only = False
    model = WrittenModel(batch("wait", 0, 3), say("Done."))
    gate = ApprovalGate(ApprovalMode.ASK)
    async with app(tmp_path, model, bench.tools, gate=gate).run_test(size=(100, 40)) as pilot:
        screen = chat(pilot.app)
        await pilot.press("alt+1", "alt+up")
        assert screen.focused is screen.prompt
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(screen.boards.approvals.selection.waiting) == 3)
        await pilot.press("tab")
        assert screen.focused is screen.boards.approvals
        await pilot.press("alt+2")
        call = selected(pilot)
        assert call is not None
        assert call.arguments == {"n": 1}
        await decide(pilot, "y", "n")
        assert screen.boards.approvals.is_asking
        assert bench.ran == []
        assert screen.prompt.text == ""
        await decide(pilot, "x")
        await until(pilot, lambda: call.outcome == "cancelled")
        await pilot.press("alt+9")
        await told(pilot, "The newest answer has no call 9.")
        assert selected(pilot) is call


async def test_a_key_that_means_nothing_on_the_panel_is_refused_with_a_hint(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    model = WrittenModel(batch("wait", 0, 2), say("Done."))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await see(pilot, "Done.")
        await until(pilot, lambda: not screen.console.conversation.busy)
        await pilot.press("alt+up")
        await decide(pilot, "x")
        await told(pilot, "x does nothing here now. esc goes to the prompt.")
        assert selected(pilot) is not None


async def test_a_call_that_may_do_its_work_twice_wants_a_second_r_and_no_board(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    bench.tools.read_only = False
    gate = ApprovalGate(ApprovalMode.YOLO)
    console = app(tmp_path, WrittenModel(batch("wait", 0, 2), say("Done.")), bench.tools, gate=gate)
    async with console.run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await see(pilot, "Done.")
        await until(pilot, lambda: not screen.console.conversation.busy)
        await pilot.press("alt+up")
        for presses in (1, 2):
            assert len(bench.ran) == 1 + presses
            await decide(pilot, "r")
            await see(pilot, "it ran already, and may do its work twice · r again")
            await decide(pilot, "r")
            await until(pilot, lambda ran=2 + presses: len(bench.ran) == ran)
            await until(pilot, lambda: not screen.console.conversation.busy)
            assert not screen.boards.approvals.is_asking


async def test_the_menu_of_a_running_call_has_what_can_be_done_with_it(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, WrittenModel(batch("wait", 0, 2)), bench.tools).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(running(pilot)) == 2)
        await pilot.press("alt+up")
        await pass_by(pilot)
        await pilot.press("enter")
        await see(pilot, "do it · esc close")
        rows = seen(pilot.app)
        menu = ("o  open", "x  stop", "r  run again", "e  change", "b  to the background", "c  copy", "i  look inside")
        assert [row for row in menu if row not in rows] == [], rows
        assert "esc back" not in rows, "the keys are the menu's now"
        await pilot.press("b")
        await see(pilot, "esc back")
        await until(pilot, lambda: any(call.detached for call in running(pilot)))


async def test_two_letters_right_behind_each_other_are_typing(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, WrittenModel(batch("wait", 0, 2)), bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(running(pilot)) == 2)
        for word in ("is it done?", "xerox", "no idea", "rerun", "open"):
            await pilot.press("alt+up")
            await pass_by(pilot)
            for char in word:
                await pilot.press("space" if char == " " else "question_mark" if char == "?" else char)
            await until(pilot, lambda typed=word: screen.prompt.text == typed, word)
            await pass_by(pilot)
            assert len(running(pilot)) == 2, word
            assert pilot.app.screen is screen, word
            screen.prompt.put("")


async def test_a_letter_with_a_consequence_counts_after_half_a_second(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, WrittenModel(batch("wait", 0, 2)), bench.tools).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(running(pilot)) == 2)
        await pilot.press("alt+up", "x")
        await told(pilot, "x counts once the row has had the focus for half a second")
        await pass_by(pilot)
        assert len(running(pilot)) == 2
        await decide(pilot, "x")
        await until(pilot, lambda: len(running(pilot)) == 1)


async def test_escape_on_a_panel_goes_to_the_prompt_and_from_there_stops_the_turn(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, WrittenModel(batch("wait", 0, 2)), bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(running(pilot)) == 2)
        await pilot.press("alt+up", "escape")
        assert screen.focused is screen.prompt
        assert len(running(pilot)) == 2
        await pilot.press("escape")
        await until(pilot, lambda: not screen.console.conversation.busy)


async def test_a_new_turn_forgets_what_was_selected_and_letters_are_still_no_prompt(tmp_path: Path) -> None:
    bench = Bench()
    go = asyncio.Event()
    model = WrittenModel(batch("echo", 0, 3), [go, *say("First is done.")], batch("wait", 10, 3))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: sum(c.outcome is not None for c in screen.ui.shown.transcript.calls.values()) == 3)
        await pilot.press(*"two", "enter", "alt+up")
        await until(pilot, lambda: selected(pilot) is not None)  # behind what was typed
        old = selected(pilot)
        assert old is not None
        go.set()
        await until(pilot, lambda: len(running(pilot)) == 3)
        assert screen.focused is screen.view
        assert selected(pilot) is None
        await decide(pilot, "r", "x", "c")
        await told(pilot, "Nothing is selected. esc goes to the prompt.")
        assert screen.prompt.text == ""
        assert len(running(pilot)) == 3
        assert old.attempt == 1
        await pilot.press("alt+up")
        await decide(pilot, "x")
        await until(pilot, lambda: len(running(pilot)) == 2)


async def test_an_old_panel_that_was_clicked_is_forgotten_by_the_next_turn(tmp_path: Path) -> None:
    bench = Bench()
    model = WrittenModel(batch("echo", 0, 3), say("First is done."), batch("wait", 10, 3))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 40)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await see(pilot, "First is done.")
        await until(pilot, lambda: not screen.console.conversation.busy)
        await at_rest(pilot)
        y = next(y for y, line in enumerate(seen(pilot.app).splitlines()) if "n=1" in line)
        await pilot.click(offset=(20, y))
        await at_rest(pilot)
        call = selected(pilot)
        assert call is not None
        assert call.arguments == {"n": 1}
        await pilot.click("#prompt")
        assert selected(pilot) is None
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: len(running(pilot)) == 3)
        await pilot.press("alt+up")
        await decide(pilot, "x")
        await until(pilot, lambda: len(running(pilot)) == 2)


async def test_a_call_that_was_scrolled_out_of_sight_is_brought_back_before_a_key_acts(tmp_path: Path) -> None:
    bench = Bench()
    long = "\n\n".join(f"line {n}" for n in range(60))
    model = WrittenModel(say(long), batch("wait", 0, 3))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 24)) as pilot:
        await pilot.press(*"one", "enter")
        await see(pilot, "line 59")
        await pilot.press(*"two", "enter")
        await until(pilot, lambda: len(running(pilot)) == 3)
        await pilot.press("alt+up", "home")
        await decide(pilot, "x")
        await told(pilot, "That call was out of sight.")
        call = selected(pilot)
        assert call is not None
        assert len(running(pilot)) == 3
        await decide(pilot, "x")
        await until(pilot, lambda: call.outcome == "cancelled")


async def test_the_selected_call_stays_in_view_whatever_comes_below_it(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    go = asyncio.Event()
    long = "\n\n".join(f"line {n}" for n in range(60))
    model = WrittenModel(batch("wait", 0, 3), [go, *say(long)])
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 24)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: screen.ui.shown.transcript.turns[0].steps[-1].number == 2)
        await pilot.press("alt+up")
        before = selected(pilot)
        assert before is not None
        go.set()
        await until(pilot, lambda: not screen.console.conversation.busy)
        assert selected(pilot) is before
        assert "line 59" not in seen(pilot.app)
        await pilot.press("escape")
        await see(pilot, "line 59")


async def test_after_undo_clear_and_new_the_keys_mean_what_is_there(tmp_path: Path) -> None:
    bench = Bench()
    model = WrittenModel(batch("echo", 0, 3), say("First is done."), batch("echo", 10, 3), say("Second is done."))
    async with app(tmp_path, model, bench.tools).run_test(size=(100, 40)) as pilot:
        screen = chat(pilot.app)
        for prompt, answer in (("one", "First is done."), ("two", "Second is done.")):
            await pilot.press(*prompt, "enter")
            await see(pilot, answer)
            await until(pilot, lambda: not screen.console.conversation.busy)
        await pilot.press("alt+1")
        call = selected(pilot)
        assert call is not None
        assert call.arguments == {"n": 10}
        await pilot.press("escape", *"/undo", "enter")
        await until(pilot, lambda: "Second is done." not in seen(pilot.app))
        screen.prompt.put("")
        await pilot.press("alt+2")
        call = selected(pilot)
        assert call is not None
        assert call.arguments == {"n": 1}
        await pilot.press("escape", *"/clear", "enter")
        await until(pilot, lambda: "First is done." not in seen(pilot.app))
        await pilot.press("alt+up", "alt+2")
        await told(pilot, "There is no call yet.")
        assert screen.focused is screen.prompt


async def test_a_dialog_on_a_panel_gives_it_back(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, WrittenModel(batch("wait", 0, 3)), bench.tools).run_test(size=(100, 40)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: len(running(pilot)) == 3)
        await pilot.press("alt+2")
        await decide(pilot, "i")
        await until(pilot, lambda: pilot.app.screen is not screen)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        call = selected(pilot)
        assert call is not None
        assert call.arguments == {"n": 1}


async def test_another_window_of_the_terminal_does_not_move_the_selection(tmp_path: Path) -> None:
    bench = Bench()
    async with app(tmp_path, WrittenModel(batch("wait", 0, 3)), bench.tools).run_test(size=(100, 40)) as pilot:
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: len(running(pilot)) == 3)
        await pilot.press("alt+2")
        pilot.app.post_message(events.AppBlur())
        await until(pilot, lambda: chat(pilot.app).focused is None)
        pilot.app.post_message(events.AppFocus())
        await until(pilot, lambda: chat(pilot.app).focused is chat(pilot.app).view)
        call = selected(pilot)
        assert call is not None
        assert call.arguments == {"n": 1}


async def test_the_question_mark_opens_help_on_a_panel_and_the_filter_is_found_there(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_echo", "{}"), ("lab_echo", '{"n": 1}')), say("Done."))
    async with app(tmp_path, model, Tools({("lab", "echo"): echo})).run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "Done.")
        await at_rest(pilot)
        await pilot.press("alt+1")
        await until(pilot, lambda: chat(pilot.app).view.cursor is not None)
        await pilot.press("question_mark")
        await see(pilot, "Type to filter")
        await pilot.press(*"filter")
        await see(pilot, "filter by state")
        await pilot.press("escape")
        await until(pilot, lambda: chat(pilot.app).view.has_focus)
        assert chat(pilot.app).prompt.text == ""


async def test_the_hints_say_what_o_does_to_the_panel_as_it_is(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    console = app(tmp_path, WrittenModel(batch("echo", 1, 2), say("Done.")), bench.tools)
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press("g", "enter")
        await see(pilot, "Done.")
        await pilot.press("alt+1")
        await see(pilot, "o open ")
        for what in ("close", "open"):
            await decide(pilot, "o")
            await see(pilot, f"o {what} ")
        console.set_keymap({"panel.toggle": "z"})
        await pilot.press("z")
        await see(pilot, "z close ")


async def test_a_key_behind_the_one_that_opens_a_menu_is_for_the_menu(tmp_path: Path) -> None:
    """It comes some rounds of the loop later: before the menu is there, while it comes, and in it."""
    bench = Bench()
    fanout = app(tmp_path, WrittenModel(batch("wait", 1, 9), say("over")), bench.tools)
    async with fanout.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(running(pilot)) == 9)
        for rounds in range(9):
            await pilot.press(f"alt+{rounds + 1}")
            await until(pilot, lambda: selected(pilot) is not None)
            fanout.post_message(events.Key("enter", "\r"))
            for _ in range(rounds):
                await asyncio.sleep(0)
            fanout.post_message(events.Key("x", "x"))
            left = 8 - rounds
            await until(pilot, lambda: len(running(pilot)) == left)  # noqa: B023
            await until(pilot, lambda: fanout.screen is chat(fanout))
        bench.free.set()
