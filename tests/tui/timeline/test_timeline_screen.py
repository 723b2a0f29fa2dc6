"""The timeline on screen: walked by key, zoomed, live while the turn runs, earlier turns, written to a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain import events as ev
from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.app import FanoutApp
from console_app.tui.timeline.screen import TimelineChart, TimelineScreen
from console_app.tui.widgets.text_dialog import TextDialog
from tests.each import each
from tests.tui.parts import NOW, Tools, WrittenModel, app, calls, chat, echo, say, see, seen, until
from tests.tui.timeline.turns import START, Told, weather

HOSTILE = "[/red][@click=app.quit]x[/]\x1b]52;c;eA==\x07\u202e"


def console(folder: Path, told: Told, now: float = 9.0) -> FanoutApp:
    """A console whose conversation is what was told."""
    console_app = app(folder, clock=lambda: START + now)
    chat_screen = console_app.get_default_screen

    def with_transcript() -> Any:
        screen = chat_screen()
        screen.call_later(lambda: setattr(screen.ui.shown, "transcript", told.transcript))  # once it is mounted
        return screen

    console_app.get_default_screen = with_transcript  # pyright: ignore[reportAttributeAccessIssue]
    return console_app


def screen_of(pilot: Pilot[Any]) -> TimelineScreen:
    assert isinstance(pilot.app.screen, TimelineScreen)
    return pilot.app.screen


async def test_wall_and_summed_time_and_each_phase_are_told(tmp_path: Path) -> None:
    console_app = console(tmp_path, weather())
    async with console_app.run_test(size=(120, 24)) as pilot:
        await pilot.press("ctrl+t")
        await see(pilot, "7 calls · elapsed 5.8 s · total 8.6 s · 2.8 s saved · waited for you 2.2 s · queued 1.8 s")
        await pilot.press("down", "down", "down", "down")
        await see(pilot, "files · write_file ok")
        await see(pilot, "needs you 2.2 s")
        await pilot.press("down", "down")
        await see(pilot, "no news for 2 s")


async def test_at_80_columns_how_long_it_ran_is_said_whole_and_what_took_no_time_is_not(tmp_path: Path) -> None:
    told = Told()
    told.begin(0, "Look")
    call = told.call("weather.forecast", {"city": "Oslo"}, 1.0, 1.076)
    told.wait(call, 1.0764, 6.2)
    told.run(call, 6.2004, 9.3)
    told.end(10)
    async with console(tmp_path, told).run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+t")
        await see(pilot, "preparing 76 ms · ")
        await see(pilot, "running 3.1 s")
        assert "queued 0 ms" not in seen(pilot.app)


async def test_zoom_and_pan_stay_within_the_turn(tmp_path: Path) -> None:
    console_app = console(tmp_path, weather())
    async with console_app.run_test(size=(120, 24)) as pilot:
        await pilot.press("ctrl+t", "plus", "plus", "plus")
        await see(pilot, "zoomed")
        await pilot.press(*["right"] * 30)
        await see(pilot, "7.0 s")
        await pilot.press("0")
        await until(pilot, lambda: "zoomed" not in seen(console_app))


async def test_earlier_turns_are_a_key_away(tmp_path: Path) -> None:
    told = weather()
    told.begin(20, "and the ferries?")
    told.run(told.call("ferries.next", {}, 21, 21), 21, 22)
    told.end(23)
    console_app = console(tmp_path, told, 30)
    async with console_app.run_test(size=(120, 24)) as pilot:
        await pilot.press("ctrl+t")
        await see(pilot, "turn 2 · 1 earlier · and the ferries?")
        await pilot.press("left_square_bracket")
        await see(pilot, "turn 1 · 1 later")
        await pilot.press("right_square_bracket", "right_square_bracket")
        await see(pilot, "· next")


async def test_it_opens_on_the_selected_call_also_of_an_earlier_turn(tmp_path: Path) -> None:
    cities = [("lab_look", f'{{"city": "{city}"}}') for city in ("Oslo", "Turin", "Bern")]
    model = WrittenModel(calls(*cities), say("First."), calls(("lab_look", '{"city": "Rome"}')), say("Second."))
    async with app(tmp_path, model, Tools({("lab", "look"): echo})).run_test(size=(120, 40)) as pilot:
        for text, end in (("one", "First."), ("two", "Second.")):
            await pilot.press(*text, "enter")
            await see(pilot, end)
            await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await pilot.press("ctrl+t")
        await see(pilot, "turn 2 · 1 earlier")
        await pilot.press("escape")
        view = chat(pilot.app).view
        view.go_to_call(
            next(c for c in chat(pilot.app).ui.shown.transcript.calls.values() if "Turin" in str(c.arguments))
        )
        await until(pilot, lambda: view.has_focus)
        await pilot.press("ctrl+t")
        await see(pilot, "turn 1 · 1 later")
        chosen = screen_of(pilot).query_one(TimelineChart).call
        assert chosen is not None
        assert chosen.arguments == {"city": "Turin"}
        await pilot.press("right_square_bracket")
        await see(pilot, "turn 2 · 1 earlier")


@each(("key", "ending"), [("s", "svg"), ("t", "txt"), ("e", "trace.json")])
async def test_it_is_written_to_the_working_folder(tmp_path: Path, key: str, ending: str) -> None:
    console_app = console(tmp_path, weather())
    async with console_app.run_test(size=(120, 24), notifications=True) as pilot:
        await pilot.press("ctrl+t", key)
        await see(pilot, "Written to")
        assert "forecast" in (tmp_path / f"timeline-1.{ending}").read_text()


async def test_enter_goes_to_the_panel_and_i_inspects_while_the_turn_runs(tmp_path: Path) -> None:
    hold = asyncio.Event()

    async def slow(_invocation: Invocation, _reporter: CallReporter) -> str:
        await hold.wait()
        return "slow is done"

    clock = [NOW]
    tools = Tools({("a", "quick"): echo, ("a", "slow"): slow})
    model = WrittenModel(calls(("a_quick", "{}"), ("a_slow", "{}")), say("Done."))
    console_app = app(tmp_path, model, tools, clock=lambda: clock[0])
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+t")
        await see(pilot, "No turn has called a tool yet.")
        await pilot.press("escape", *"go", "enter")
        await until(
            pilot, lambda: any(call.started_at for call in chat(console_app).ui.shown.transcript.calls.values())
        )
        await pilot.press("ctrl+t")
        await see(pilot, "slow")
        clock[0] += 42
        await see(pilot, "42.0 s")
        hold.set()
        await until(pilot, lambda: all(call.outcome for call in chat(console_app).ui.shown.transcript.calls.values()))
        await see(pilot, "quick ok")
        await pilot.press("down", "enter")
        await until(pilot, lambda: len(console_app.screen_stack) == 1)
        view = chat(console_app).view
        assert view.has_focus
        assert view.cursor is not None
        assert "slow" in view.cursor.copy_text
        await pilot.press("ctrl+t", "down", "i")
        await until(pilot, lambda: isinstance(console_app.screen, TextDialog))
        await see(pilot, "slow is done")


async def test_hundreds_of_calls_scroll(tmp_path: Path) -> None:
    told = Told()
    told.begin(0, "many")
    for number in range(400):
        told.run(told.call("mirrors.check", {"host": f"h{number}"}, 0, 0), number / 100, number / 100 + 1)
    console_app = console(tmp_path, told)
    async with console_app.run_test(size=(100, 24)) as pilot:
        await pilot.press("ctrl+t", "end")
        await see(pilot, "check ok  h399")
        assert len(list(console_app.screen.walk_children())) < 12


async def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    told = Told()
    told.begin(0, HOSTILE)
    call = told.call("a.b", {"x": HOSTILE}, 0, 0)
    told.at(1, ev.CallStarted, call_id=call)
    told.transcript.calls[call].tool = HOSTILE
    told.at(2, ev.CallFinished, call_id=call, outcome="failed", content="x", error=HOSTILE)
    console_app = console(tmp_path, told)
    async with console_app.run_test(size=(200, 24)) as pilot:
        await pilot.press("ctrl+t")
        await see(pilot, "turn 1 · [/red][@click=app.quit]x[/]␛]52;c;eA==␇<U+202E>")
        assert not any(c in seen(console_app) for c in "\x1b\x07\u202e")
        await pilot.press("i")
        await see(pilot, "state      failed")


@pytest.mark.parametrize("size", [(120, 30), (80, 24), (60, 15)], ids=str)
def test_pictures_of_the_timeline(snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+t", "down", "down")
        await see(pilot, "forecast")

    assert snap_compare(console(tmp_path, weather()), terminal_size=size, run_before=run)
