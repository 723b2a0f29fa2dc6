"""The approval mode, switched by key: what it lets run, and that nobody passes by a looser one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.console.permissions import Permissions
from console_app.domain.approvals import ApprovalMode
from console_app.engine.approval_gate import ApprovalGate, Rule
from console_app.engine.engine import Engine
from console_app.tui.approvals.mode_switch import MODE_NOTES, ModeSwitch
from console_app.tui.main_screen.status_bar import StatusBar
from console_app.tui.widgets.settled_keys import ALONE, SETTLE
from tests.console.peers import Screen
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, echo, pass_by, say, see, seen, until


class Time:
    """Seconds that pass when the test says so, with what is due at them."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[tuple[float, Callable[[], None], Time.Entry]] = []

    class Entry:
        stopped = False

        def stop(self) -> None:
            self.stopped = True

    def later(self, seconds: float, run: Callable[[], None]) -> Entry:
        entry = self.Entry()
        self.due.append((self.now + seconds, run, entry))
        return entry

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        for at, run, entry in [*self.due]:
            if at <= self.now and not entry.stopped:
                entry.stop()
                run()


def switch(mode: ApprovalMode) -> tuple[Time, ApprovalGate, ModeSwitch, list[ApprovalMode]]:
    time, gate = Time(), ApprovalGate(mode)
    held: list[ApprovalMode] = []
    engine = Engine(provider=WrittenModel(), toolset=Tools(), gate=gate)
    permissions = Permissions(engine, lambda: None, None, Screen())
    return time, gate, ModeSwitch(permissions, time.later, lambda _: held.append(gate.mode), lambda: time.now), held


def test_a_looser_mode_holds_when_it_was_stayed_on() -> None:
    time, gate, modes, held = switch(ApprovalMode.ASK)
    assert modes.next()
    assert (modes.shown, gate.mode) == (ApprovalMode.AUTO, ApprovalMode.ASK)
    for passed in (ApprovalMode.PLAN, ApprovalMode.YOLO):
        time.pass_by(ALONE)
        assert modes.next()
        assert (modes.shown, gate.mode) == (passed, ApprovalMode.ASK)
    time.pass_by(SETTLE)
    assert (modes.shown, gate.mode, held) == (ApprovalMode.YOLO, ApprovalMode.YOLO, [ApprovalMode.YOLO])


def test_who_passes_by_plan_and_yolo_was_never_there() -> None:
    time, gate, modes, held = switch(ApprovalMode.AUTO)
    for _ in range(3):
        modes.next()
        time.pass_by(ALONE)
    assert (modes.shown, gate.mode) == (ApprovalMode.ASK, ApprovalMode.ASK)
    time.pass_by(SETTLE)
    assert (gate.mode, held) == (ApprovalMode.ASK, [])


def test_a_stricter_mode_holds_at_once() -> None:
    _, gate, modes, _ = switch(ApprovalMode.YOLO)
    modes.next()
    assert gate.mode is ApprovalMode.ASK


def test_plan_has_a_key_that_goes_back_to_the_mode_before_it() -> None:
    for mode in (ApprovalMode.ASK, ApprovalMode.AUTO, ApprovalMode.YOLO):
        time, gate, modes, _ = switch(mode)
        modes.toggle_plan()
        assert gate.mode is ApprovalMode.PLAN
        modes.toggle_plan()
        time.pass_by(SETTLE)
        assert (gate.mode, modes.shown) == (mode, mode)


def test_a_held_key_ends_on_no_looser_mode() -> None:
    for repeats in range(2, 7):
        time, gate, modes, held = switch(ApprovalMode.ASK)
        modes.next()
        time.pass_by(0.4)
        for _ in range(repeats):
            modes.next()
            time.pass_by(0.03)
        time.pass_by(SETTLE)
        assert (gate.mode, held) == (ApprovalMode.ASK, [])


async def go(pilot: Pilot[Any]) -> None:
    await pilot.press(*"go", "enter")
    await see(pilot, "Approve 1 of 3")


async def press_mode(pilot: Pilot[Any], mode: ApprovalMode) -> None:
    """Shift+Tab as a person presses it, until it is on that mode."""
    modes = chat(pilot.app).modes
    while modes.shown is not mode:
        await pass_by(pilot, ALONE)
        await pilot.press("shift+tab")


async def test_what_waits_runs_as_far_as_the_mode_covers_it_and_it_is_said(tmp_path: Path) -> None:
    three = (("files_write", '{"path": "a"}'), ("files_write", '{"path": "b"}'), ("files_keep", "{}"))
    model = WrittenModel(calls(*three), say("All done."))
    gate = ApprovalGate(ApprovalMode.ASK, [Rule("ask", "files.keep")])
    tools = Tools({("files", "write"): echo, ("files", "keep"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=gate)
    async with console.run_test(size=(100, 40), notifications=True) as pilot:
        await go(pilot)
        await press_mode(pilot, ApprovalMode.YOLO)
        assert gate.mode is ApprovalMode.ASK
        assert chat(console).boards.approvals.is_waiting
        await pass_by(pilot)
        await see(pilot, "2 calls that waited")
        await see(pilot, "Approve 1 of 1")
        outcomes = [str(call.outcome) for call in chat(console).ui.shown.transcript.calls.values()]
        assert outcomes == [
            "succeeded",
            "succeeded",
            "None",
        ]


async def test_auto_lets_go_what_only_reads_of_what_waits(tmp_path: Path) -> None:
    model = WrittenModel(calls(*[("files_read", f'{{"path": "{n}"}}') for n in range(3)]), say("All done."))
    gate = ApprovalGate(ApprovalMode.ASK)
    console = app(tmp_path, model, Tools({("files", "read"): echo}), gate=gate)
    async with console.run_test(size=(100, 40)) as pilot:
        await go(pilot)
        await press_mode(pilot, ApprovalMode.AUTO)
        await pass_by(pilot)
        await see(pilot, "All done.")
        await until(pilot, lambda: not chat(console).boards.approvals.is_waiting)


async def test_in_plan_mode_what_waits_and_changes_things_is_denied_and_the_bar_says_plan(tmp_path: Path) -> None:
    model = WrittenModel(calls(("files_write", '{"path": "a"}'), ("files_write", '{"path": "b"}')), say("The plan."))
    tools = Tools({("files", "write"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 40), notifications=True) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "Approve 1 of 2")
        await pilot.press("alt+p")
        await see(pilot, "2 calls that waited")
        await see(pilot, "The plan.")
        assert chat(console).query_one(StatusBar).status.mode is ApprovalMode.PLAN
        calls_ = chat(console).ui.shown.transcript.calls.values()
        assert [str(call.outcome) for call in calls_] == ["denied", "denied"]
        await see(pilot, "plan mode")
        await pilot.press(*"/plan", "enter")
        await until(pilot, lambda: chat(console).modes.shown is ApprovalMode.ASK)


async def test_of_several_modes_only_the_newest_is_told_and_no_error_goes_for_another(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(80, 24), notifications=True) as pilot:
        console.notify("openai: it is overloaded", severity="error", timeout=1000)
        console.notify("openai: it can't be reached", severity="error", timeout=1000)
        console.notify("Approvals: auto. The rest asks.", timeout=1000)
        await see(pilot, "Approvals: auto.")
        console.notify("Approvals: plan. The rest is denied.", timeout=1000)
        await see(pilot, "Approvals: plan.")
        await until(pilot, lambda: "Approvals: auto." not in seen(console))
        await see(pilot, "openai: it is overloaded")
        await see(pilot, "openai: it can't be reached")


async def test_what_was_said_of_a_mode_is_taken_back_with_it(tmp_path: Path) -> None:
    async with app(tmp_path, gate=ApprovalGate(ApprovalMode.ASK)).run_test(size=(80, 24), notifications=True) as pilot:
        await pass_by(pilot, ALONE)
        await pilot.press("shift+tab")
        await see(pilot, MODE_NOTES[ApprovalMode.AUTO][:40])
        await pilot.press("shift+tab")  # too fast: it is on ask again
        await see(pilot, MODE_NOTES[ApprovalMode.ASK][:40])
