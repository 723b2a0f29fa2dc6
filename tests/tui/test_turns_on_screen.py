"""Turns as the console drives them: queue, steer, stop, faults, and where the focus goes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.errors import FanoutError, ProviderError
from console_app.domain.events import Event, MessageAdded, TextDelta
from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.main_screen import console_ui
from console_app.tui.main_screen.bars.status_bar import StatusBar
from console_app.tui.main_screen.console_ui import MOST_UNPAINTED
from console_app.tui.prompt.prompt_box import QueueStrip
from tests.each import each
from tests.patience import PATIENCE
from tests.tui.parts import (
    Answer,
    Tools,
    WrittenModel,
    app,
    calls,
    chat,
    decide,
    echo,
    enter,
    pass_by,
    say,
    see,
    seen,
    services,
    until,
)


def held(text: str, gate: asyncio.Event) -> Answer:
    """An answer that stops behind `text` until `gate` is set."""
    return [TextChunk(text), gate, TextChunk(" and the rest."), FinishChunk("stop")]


async def test_enter_queues_while_a_turn_runs_and_up_takes_it_back(tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = WrittenModel(held("Working", gate), say("Second answer."))
    async with app(tmp_path, model).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await see(pilot, "Working")
        await pilot.press(*"two", "enter", *"three", "enter")
        await see(pilot, "queued")
        assert screen.query_one(QueueStrip).messages == ("two", "three")
        await pilot.press("up")
        assert screen.prompt.text == "three"
        assert screen.query_one(QueueStrip).messages == ("two",)
        gate.set()
        await see(pilot, "Second answer.")
        assert [m.content for m in model.requests[1].messages if m.role == "user"] == ["one", "two"]
        assert screen.prompt.text == "three"


async def test_escape_stops_the_turn_and_holds_the_queue_until_enter(tmp_path: Path) -> None:
    model = WrittenModel(held("Working", asyncio.Event()), say("Second answer."))
    async with app(tmp_path, model).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"one", "enter")
        await see(pilot, "Working")
        await pilot.press(*"two", "enter", "escape")
        await until(pilot, lambda: not screen.console.conversation.busy)
        await see(pilot, "paused")
        assert screen.ui.shown.transcript.turns[0].outcome == "cancelled"
        assert len(model.requests) == 1
        await pilot.press("enter")
        await see(pilot, "Second answer.")


async def test_ctrl_c_stops_the_turn_when_the_prompt_is_empty(tmp_path: Path) -> None:
    model = WrittenModel(held("Working", asyncio.Event()))
    console = app(tmp_path, model)
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"one", "enter")
        await see(pilot, "Working")
        await pilot.press(*"draft", "ctrl+c")
        assert chat(console).prompt.text == ""
        assert chat(console).console.conversation.busy
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not chat(console).console.conversation.busy)
        assert chat(console).ui.shown.transcript.turns[0].outcome == "cancelled"
        assert console.return_value is None


async def test_ctrl_s_steers_the_running_turn(tmp_path: Path) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def wait(_invocation: Invocation, _reporter: CallReporter) -> str:
        started.set()
        await go.wait()
        return "done"

    model = WrittenModel(calls(("lab_wait", "{}")), say("As you wish."))
    async with app(tmp_path, model, Tools({("lab", "wait"): wait})).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, started.is_set)
        await pilot.press(*"faster", "ctrl+s")
        assert chat(pilot.app).prompt.text == ""
        go.set()
        await see(pilot, "As you wish.")
        assert "faster" in [m.content for m in model.requests[1].messages if m.role == "user"]


async def test_what_was_steered_into_a_turn_that_is_stopped_first_waits_in_the_queue(tmp_path: Path) -> None:
    model = WrittenModel(held("Slowly", asyncio.Event()), say("Fast."), say("And first."))
    async with app(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "Slowly")
        await pilot.press(*"later", "enter")
        await pilot.press(*"faster", "ctrl+s")
        await pilot.press("escape")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        assert list(chat(pilot.app).console.conversation.waiting) == ["faster", "later"]
        assert chat(pilot.app).console.conversation.paused
        await pilot.press("enter")
        await see(pilot, "And first.")
        sent = [request.messages[-1].content for request in model.requests]
        assert [text.splitlines()[-1] for text in sent] == ["go", "faster", "later"]


async def test_a_prompt_from_the_command_line_is_sent_once_everything_is_ready(tmp_path: Path) -> None:
    ready = asyncio.Event()
    model = WrittenModel(say("Here."))

    async def start() -> None:
        await ready.wait()

    async with app(tmp_path, model, prompt="hello", start=start).run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert not model.requests
        ready.set()
        await see(pilot, "Here.")


async def test_a_start_that_fails_is_one_line(tmp_path: Path) -> None:
    async def start() -> None:
        raise ProviderError("no key for openai.", "Set OPENAI_API_KEY.")

    async with app(tmp_path, start=start).run_test(size=(100, 30)) as pilot:
        await see(pilot, "Model: no key for openai. Set OPENAI_API_KEY.")


async def test_events_are_stored_before_they_are_shown(tmp_path: Path) -> None:
    class Store:
        def __init__(self) -> None:
            self.types: list[str] = []
            self.newest = 0

        async def append(self, events: Sequence[Event]) -> None:
            assert all(event.seq > newest() for event in events)
            self.types += [event.type for event in events]
            self.newest = max(event.seq for event in events)

    shown: list[int] = []

    def newest() -> int:
        return max(shown, default=0)

    store = Store()
    async with app(tmp_path, WrittenModel(say("Hi.")), store=store).run_test(size=(100, 30)) as pilot:
        router = chat(pilot.app).ui.shown.show
        chat(pilot.app).ui.shown.show = lambda event: (shown.append(event.seq), router(event))[1]
        await pilot.press(*"hi", "enter")
        await until(pilot, lambda: "turn.finished" in store.types)
    assert store.types[0] == "session.started"
    assert "text.delta" in store.types, "what is shown of an unfinished answer is kept as a draft"
    assert store.newest == newest()


async def test_an_answer_comes_no_faster_than_it_is_painted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_ui, "LONGEST_FRAME", PATIENCE)
    text = "word " * (MOST_UNPAINTED // 5 + 1)
    async with app(tmp_path, WrittenModel(say("Yes."))).run_test(size=(100, 30)) as pilot:
        ui, view = chat(pilot.app).ui, chat(pilot.app).view
        await pilot.press(*"go", "enter")
        await see(pilot, "Yes.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        ui.show(TextDelta(session_id="s", turn=1, step=1, seq=1000, text=text))
        assert not view.is_painted
        view.wake()
        await ui.next_slice()
        assert view.is_painted
        await asyncio.wait_for(ui.next_slice(), PATIENCE)  # it waits for none that is not to come


async def test_the_end_of_an_answer_waits_for_no_frame(tmp_path: Path) -> None:
    async with app(tmp_path, WrittenModel(say("Yes."))).run_test(size=(100, 30)) as pilot:
        ui, view, common = chat(pilot.app).ui, chat(pilot.app).view, dict[str, Any](session_id="s", turn=1, step=1)
        await pilot.press(*"go", "enter")
        await see(pilot, "Yes.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        ui.show(TextDelta(seq=1000, text=" And that is all.", **common))
        assert not view.is_painted
        ui.show(MessageAdded(seq=1001, role="assistant", content="Yes. And that is all.", **common))
        assert view.is_painted
        assert "And that is all." in seen(pilot.app)


async def test_what_is_laid_out_in_slices_is_waited_for_without_painting_meanwhile(tmp_path: Path) -> None:
    async with app(tmp_path, WrittenModel(say("Yes."))).run_test(size=(100, 30)) as pilot:
        view, painted, looks = chat(pilot.app).view, asyncio.Event(), 0
        await until(pilot, lambda: not view.frames.running)  # on the opening page nothing moves

        def look() -> bool:
            nonlocal looks
            looks += 1
            return painted.is_set()

        waiting = asyncio.create_task(view.frames.until(look, PATIENCE))
        for _ in range(20):
            await pilot.pause()
        assert looks < 5
        painted.set()
        view.wake()
        await waiting


async def test_a_store_that_fails_ends_the_turn_with_one_line(tmp_path: Path) -> None:
    class Full:
        async def append(self, events: Sequence[Event]) -> None:
            if any(event.type == "step.started" for event in events):
                raise FanoutError("the disk is full.", "Free some space.")

    async with app(tmp_path, store=Full()).run_test(size=(100, 30)) as pilot:
        await pilot.press(*"hi", "enter")
        await see(pilot, "the disk is full. Free some space.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)


async def test_what_is_typed_over_the_conversation_goes_to_the_prompt(tmp_path: Path) -> None:
    async with app(tmp_path, WrittenModel(say("Hi."))).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"hi", "enter")
        await see(pilot, "Hi.")
        row = next(n for n, line in enumerate(seen(pilot.app).split("\n")) if "Hi." in line)
        await pilot.click(screen.view, offset=(4, row - screen.view.region.y))
        await until(pilot, lambda: screen.focused is screen.view)
        await pilot.press("W", "h")
        assert screen.focused is screen.prompt
        assert screen.prompt.text == "Wh"


async def test_escape_comes_back_to_the_prompt_from_the_conversation(tmp_path: Path) -> None:
    async with app(tmp_path, WrittenModel(say("Hi."))).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"hi", "enter")
        await see(pilot, "Hi.")
        await pilot.press("tab", "escape")
        assert screen.focused is screen.prompt


async def test_one_call_is_cancelled_and_its_sibling_ends(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def wait(invocation: Invocation, _reporter: CallReporter) -> str:
        await go.wait()
        return f"ended {invocation.arguments['n']}"

    model = WrittenModel(calls(("lab_wait", '{"n": 1}'), ("lab_wait", '{"n": 2}')), say("Both are in."))
    async with app(tmp_path, model, Tools({("lab", "wait"): wait})).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: sum(c.state == "running" for c in screen.ui.shown.transcript.calls.values()) == 2)
        await pilot.press("alt+up")
        await decide(pilot, "x")
        await until(pilot, lambda: any(c.outcome == "cancelled" for c in screen.ui.shown.transcript.calls.values()))
        go.set()
        await see(pilot, "Both are in.")
        assert sorted(str(c.outcome) for c in screen.ui.shown.transcript.calls.values()) == ["cancelled", "succeeded"]


async def test_inspect_shows_request_and_result_whole(tmp_path: Path) -> None:
    async def answer(_invocation: Invocation, _reporter: CallReporter) -> str:
        return "[/red]\x1b]52;c;eA==\x07 forty-two"

    model = WrittenModel(calls(("lab_ask", '{"question": "[@click=app.quit]"}')), say("So it is."))
    async with app(tmp_path, model, Tools({("lab", "ask"): answer})).run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "So it is.")
        await pilot.press("alt+up")
        await decide(pilot, "i")
        await see(pilot, "Result (")
        text = seen(pilot.app)
        assert '"question": "[@click=app.quit]"' in text
        assert "[/red]␛]52;c;eA==␇ forty-two" in text
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is chat(pilot.app))


async def test_shift_tab_goes_through_the_approval_modes(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30)) as pilot:
        bar = chat(pilot.app).query_one(StatusBar)
        modes = []
        for _ in range(4):
            await pass_by(pilot)
            await pilot.press("shift+tab")
            await pass_by(pilot)
            if pilot.app.screen is not chat(pilot.app):
                await decide(pilot, "y")
            await pilot.pause()
            modes.append(bar.status.mode.value)
        assert modes == ["plan", "yolo", "ask", "auto"]


async def test_a_turn_that_runs_is_stopped_when_the_console_is_left(tmp_path: Path) -> None:
    cancelled = asyncio.Event()

    async def wait(_invocation: Invocation, _reporter: CallReporter) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    model = WrittenModel(calls(("lab_wait", "{}")))
    console = app(tmp_path, model, Tools({("lab", "wait"): wait}))
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: any(c.state == "running" for c in chat(console).ui.shown.transcript.calls.values()))
        await pilot.press("ctrl+d")
    assert cancelled.is_set()


async def test_the_services_are_closed_once_when_the_app_ends(tmp_path: Path) -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    from console_app.tui.app import FanoutApp

    console = FanoutApp(services(tmp_path, close=close))
    code = await console.run_async(headless=True, auto_pilot=lambda pilot: pilot.press("ctrl+d"))
    assert (code, closed) == (0, [True])


async def test_left_before_anything_was_on_screen_it_ends_cleanly(tmp_path: Path) -> None:
    async def leave(pilot: Pilot[int]) -> None:
        pilot.app.exit(0)

    assert await app(tmp_path).run_async(headless=True, auto_pilot=leave) == 0


async def test_who_reads_further_up_is_told_what_came_below_and_sees_what_they_send(tmp_path: Path) -> None:
    going = asyncio.Event()
    long = say("\n\n".join(f"line {n}" for n in range(60)))
    model = WrittenModel(long, [going, *calls(("lab_echo", "{}"))], say("Another one."))
    async with app(tmp_path, model, Tools({("lab", "echo"): echo})).run_test(size=(100, 24)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "line 59")
        assert "below" not in seen(pilot.app)
        await pilot.press("pageup", "pageup")
        await see(pilot, "↓ more below · pgdn")
        await pilot.press(*"on", "enter")
        await see(pilot, "▌ on")
        await pilot.press("pageup")
        await see(pilot, "↓ more below · pgdn")
        going.set()
        await see(pilot, "↓ 4 new below")
        assert "Another one." not in seen(pilot.app)
        await pilot.press("pagedown", "pagedown", "pagedown")
        await see(pilot, "Another one.")
        await until(pilot, lambda: "below" not in seen(pilot.app))
        await pilot.press("pageup")
        await see(pilot, "↓ more below")
        await enter(pilot, "/clear")
        await until(pilot, lambda: "below" not in seen(pilot.app))


async def test_where_nothing_stands_below_nothing_is_said_to(tmp_path: Path) -> None:
    model = WrittenModel(say("\n\n".join(f"line {n}" for n in range(12))), say("Short."))
    async with app(tmp_path, model).run_test(size=(80, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "line 11")
        view = chat(pilot.app).view
        await pilot.press("pageup")
        await until(pilot, lambda: "below" not in seen(pilot.app) and view.following)
        await pilot.press("alt+up")
        await until(pilot, lambda: view.has_focus)
        await pilot.resize_terminal(80, 20)
        await pilot.press("home")
        await see(pilot, "↓ more below · pgdn")
        await pilot.resize_terminal(80, 40)
        await until(pilot, lambda: "below" not in seen(pilot.app))
        await pilot.resize_terminal(80, 20)
        await pilot.press("home")
        await see(pilot, "↓ more below · pgdn")


@each("written", ["short", "of\nfour\nlong\nlines"])
async def test_a_toast_covers_no_line_that_is_written_in(tmp_path: Path, written: str) -> None:
    console = app(tmp_path)
    async with console.run_test(size=(80, 24), notifications=True) as pilot:
        chat(console).prompt.load_text(written)
        await until(pilot, lambda: chat(console).prompt_area.size.height >= 2 + len(written.split("\n")))
        chat(console).ui.toast("Something to know.")
        await see(pilot, "Something to know.")
        lines = seen(console).split("\n")
        (toast,) = [row for row, line in enumerate(lines) if "Something to know." in line]
        assert chat(console).prompt_area.region.y - 3 <= toast < chat(console).prompt_area.region.y


@each(
    ("keys", "done"),
    [
        ([*"/new", "enter"], "many tool calls at once"),
        ([*"/clear", "enter"], "Cleared."),
        ([*"/compact", "enter"], "There is nothing to compact"),
        ([*"/compact undo", "enter"], "There is no compaction"),
        (["alt+1", "r"], "[try 2]"),
    ],
    ids=["new", "clear", "compact", "undo", "again"],
)
async def test_what_is_asked_while_a_finished_turn_still_closes_comes_behind_that(
    tmp_path: Path, keys: Sequence[str], done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console_app.engine.activity.CLOSING", PATIENCE)  # else it is over in half a second
    gate, tools = asyncio.Event(), Tools({("lab", "do"): echo})
    model = WrittenModel(calls(("lab_do", '{"text": "a"}')), held("Said", gate))
    async with app(tmp_path, model, tools).run_test(size=(100, 30), notifications=True) as pilot:
        screen = chat(pilot.app)
        await pilot.press(*"go", "enter")
        await see(pilot, "Said")
        model.slow_close = asyncio.Event()
        await pilot.press(*keys[:-1])
        gate.set()
        await until(
            pilot, lambda: screen.console.conversation.turn is not None and not screen.console.conversation.turn.running
        )
        await decide(pilot, keys[-1])
        model.slow_close.set()
        await see(pilot, done)
