"""The approval mode, switched by key: a strip of all, of which none is passed by."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot

from console_app.console.permissions import Permissions
from console_app.console.services import Timing
from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate, Engine
from console_app.tui.asking.mode_switch import ModeSwitch
from console_app.tui.asking.settled_keys import ALONE
from console_app.tui.main_screen.bars.status_bar import StatusBar
from console_app.tui.widgets.key_hints import KeyHints
from tests.console.peers import Screen
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, see, seen, until


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


class Driven(Timing):
    """The time of a test."""

    def __init__(self, time: Time) -> None:
        self._time = time

    def now(self) -> float:
        return self._time.now


class Asked(Screen):
    """Who is asked about yolo, and says yes; `asked` counts that."""

    asked = 0

    def open_beside(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        with contextlib.suppress(StopIteration):
            work().send(None)

    async def push(self, _screen: Any) -> bool:
        self.asked += 1
        return True


def switch(mode: ApprovalMode) -> tuple[Time, ApprovalGate, ModeSwitch, Any]:
    time, gate, ui = Time(), ApprovalGate(mode), Asked()
    engine = Engine(provider=WrittenModel(), toolset=Tools(), gate=gate)
    permissions, asked = Permissions(engine, lambda: None, None, ui), cast("Any", ui)
    return time, gate, ModeSwitch(permissions, asked, Driven(time), time.later, lambda _: None), asked


@each("mode", list(ApprovalMode))
@each("presses", range(1, 9))
def test_a_mode_holds_when_the_key_was_let_go_and_none_before(mode: ApprovalMode, presses: int) -> None:
    time, gate, modes, _ = switch(mode)
    for _ in range(presses):
        modes.next()
        assert gate.mode is mode
        time.pass_by(ALONE)
    time.pass_by(KeyHints.SETTLE)
    every = list(ApprovalMode)
    assert gate.mode is modes.shown is every[(every.index(mode) + presses) % 4]


def test_yolo_asks_once_a_session() -> None:
    time, gate, modes, ui = switch(ApprovalMode.PLAN)
    for _ in range(2):
        modes.next()
        time.pass_by(KeyHints.SETTLE)
        assert (gate.mode, ui.asked) == (ApprovalMode.YOLO, 1)
        for _ in range(3):
            time.pass_by(ALONE)
            modes.next()
        time.pass_by(KeyHints.SETTLE)
        assert gate.mode is ApprovalMode.PLAN


def test_plan_has_a_key_that_goes_back_to_the_mode_before_it() -> None:
    for mode in (ApprovalMode.ASK, ApprovalMode.AUTO, ApprovalMode.YOLO):
        time, gate, modes, _ = switch(mode)
        modes.toggle_plan()
        assert gate.mode is ApprovalMode.PLAN
        modes.toggle_plan()
        time.pass_by(KeyHints.SETTLE)
        assert (gate.mode, modes.shown) == (mode, mode)


def test_a_held_key_ends_where_it_began() -> None:
    for repeats in range(2, 7):
        time, gate, modes, ui = switch(ApprovalMode.ASK)
        modes.next()
        time.pass_by(0.4)
        for _ in range(repeats):
            modes.next()
            time.pass_by(0.03)
        time.pass_by(KeyHints.SETTLE)
        assert (gate.mode is not ApprovalMode.YOLO, ui.asked) == (True, 0)


async def go(pilot: Pilot[Any]) -> None:
    await pilot.press(*"go", "enter")
    await see(pilot, "3 need you")


async def test_the_strip_shows_all_modes_and_what_runs_those_that_wait(tmp_path: Path) -> None:
    model = WrittenModel(calls(*[("files_write", f'{{"path": "{n}"}}') for n in range(3)]), say("All done."))
    tools = Tools({("files", "write"): echo}, read_only=False)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK))
    async with console.run_test(size=(100, 40), notifications=True) as pilot:
        await go(pilot)
        chat(console).prompt.focus()
        for mode in (ApprovalMode.AUTO, ApprovalMode.PLAN, ApprovalMode.YOLO):
            await pass_by(pilot, 0.2)
            await pilot.press("shift+tab")
            await see(pilot, f"tab Y runs the 3 that wait · {Permissions.MODES[mode][:20]}")
            await see(pilot, "mode  ask  auto  plan  yolo ")
            status = chat(console).query_one(StatusBar).status
            assert status is not None
            assert status.mode is ApprovalMode.ASK
        await pass_by(pilot, KeyHints.SETTLE)
        await see(pilot, "Run everything unasked?")
        await decide(pilot, "n")
        await until(pilot, lambda: chat(console).modes.shown is ApprovalMode.ASK)
        await pass_by(pilot, 3)
        await until(pilot, lambda: "yolo" not in seen(console))
        await pilot.press("tab")
        await decide(pilot, "Y")
        await see(pilot, "All done.")


async def test_of_several_words_on_a_thing_only_the_newest_is_told_and_no_error_goes(
    tmp_path: Path,
) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(80, 24), notifications=True) as pilot:
        console.notify("openai: it is overloaded", severity="error", timeout=1000)
        console.notify("openai: it can't be reached", severity="error", timeout=1000)
        console.notify("Copied: auto. The rest asks.", timeout=1000)
        await see(pilot, "Copied: auto.")
        console.notify("Copied: plan. The rest is denied.", timeout=1000)
        await see(pilot, "Copied: plan.")
        await until(pilot, lambda: "Copied: auto." not in seen(console))
        await see(pilot, "openai: it is overloaded")
        await see(pilot, "openai: it can't be reached")
