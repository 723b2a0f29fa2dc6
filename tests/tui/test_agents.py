"""Agents on the screen: a row each with its calls below it, the one board, words to one, and what they cost."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.domain.ports import CallReporter, Invocation
from console_app.tui.lineview import CallBlock
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, say, see, seen, until

TASKS = [("where is it decided?", "scout"), ("look at the store", "store")]


class Bench:
    """Two agents: the first makes a call that waits for `free`, or asks; the second answers at once."""

    def __init__(self, *, asks: bool = False) -> None:
        self.free = asyncio.Event()
        self.tools = Tools({("lab", "look"): self._look}, read_only=not asks)
        asked = [("fanout_agent", json.dumps({"task": task, "name": name})) for task, name in TASKS]
        self.model = WrittenModel(
            calls(*asked, text="I send two."),
            calls(("lab_look", json.dumps({"path": "a.py"})), text="First look."),
            say("The store is fine."),
            say("Found it in a.py."),
            say("Both have answered."),
        )

    async def _look(self, invocation: Invocation, reporter: CallReporter) -> str:
        await self.free.wait()
        return "seen"

    def app(self, folder: Path) -> Any:
        return app(folder, self.model, self.tools, agents=dict)


def prompt_of(pilot: Pilot[Any]) -> Any:
    return chat(pilot.app).prompt


def toasts(pilot: Pilot[Any]) -> str:
    return "\n".join(one.message for one in pilot.app._notifications)  # pyright: ignore[reportPrivateUsage]


async def test_an_agent_is_a_row_with_its_calls_below_it_and_its_figures(tmp_path: Path) -> None:
    bench = Bench()
    async with bench.app(tmp_path).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "agent scout  where is it decided?")
        await see(pilot, "1 call · 1.6k tokens")
        lines = [line for line in seen(pilot.app).splitlines() if " look " in line or "agent " in line]
        assert [line.strip().lstrip("12345 ✓⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏▎").split("  ")[0] for line in lines][:1] == ["agent scout"]
        scout, look = lines[0].index("agent scout"), lines[1].index("look")
        assert look == scout + 2, "below its agent"
        await pilot.press("alt+2")
        chosen = chat(pilot.app).view.cursor
        assert isinstance(chosen, CallBlock)
        assert (chosen.call.arguments or {})["name"] == "store", "numbers are of the calls that this answer made"
        await pilot.press("escape")
        await pilot.press(*"/agents", "enter")
        await see(pilot, "scout: running · step 1 · 1 call · 1.6k tokens")
        await see(pilot, "explore: finds things out and changes nothing")
        await pilot.press("escape")
        await pilot.press(*"/tell scout look at b.py too", "enter")
        await until(pilot, lambda: "Queued: scout reads it before its next answer." in toasts(pilot))
        bench.free.set()
        await until(pilot, lambda: "scout has read what you said." in toasts(pilot))
        await see(pilot, "Both have answered.")
        assert [one.content for one in bench.model.requests[-2].messages if one.role == "user"] == [
            "where is it decided?",
            "look at b.py too",
        ]
        await pilot.press(*"/cost", "enter")
        await see(pilot, "scout: where is it decided?")


async def test_the_board_says_once_how_many_are_sent_and_what_sending_is(tmp_path: Path) -> None:
    tasks = [("fanout_agent", json.dumps({"task": f"task {n}"})) for n in range(4)]
    model = WrittenModel(calls(*tasks, ("lab_look", "{}"), text="I send four."), say("Done."))
    bench = app(tmp_path, model, Bench(asks=True).tools, agents=dict)
    async with bench.run_test(size=(120, 36)) as pilot:
        chat(pilot.app).console.conversation.engine.settings = replace(
            chat(pilot.app).console.conversation.engine.settings, ask_agents=2
        )
        await pilot.press(*"go", "enter")
        await see(pilot, "5 need you")
        assert seen(pilot.app).count("4 agents, ") == 1
        assert seen(pilot.app).count("sends    agent") == 4


async def test_its_call_waits_on_the_one_board_with_its_name(tmp_path: Path) -> None:
    bench = Bench(asks=True)
    bench.free.set()
    async with bench.app(tmp_path).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "scout: look")
        await see(pilot, "The store is fine.")
        await see(pilot, "needs you · step 1 · 1 call")
        await see(pilot, "? paused")
        await pilot.press(*"/agents", "enter")
        await see(pilot, "scout: running · needs you · step 1 · 1 call")
        await pilot.press("escape")
        await decide(pilot, "tab", "y")
        await see(pilot, "Both have answered.")
        transcript = chat(pilot.app).console.ui.transcript
        assert [message.content for message in transcript.history if message.role == "tool"] == [
            "Found it in a.py.",
            "The store is fine.",
        ]


async def test_an_agent_in_the_background_asks_on_the_board_is_asked_about_when_you_quit_and_is_told_of(
    tmp_path: Path,
) -> None:
    bench = Bench(asks=True)
    bench.free.set()
    async with bench.app(tmp_path).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "scout: look")
        console = chat(pilot.app).console
        [scout] = [call for call in console.ui.transcript.calls.values() if call.runs == "scout"]
        console.calls.background(scout.id)
        await until(pilot, lambda: not console.conversation.busy)
        await see(pilot, "1 in the background: ")
        await see(pilot, "scout: look")
        await pilot.press(*"/quit", "enter")
        await until(pilot, lambda: "Quitting ends a call that runs in the background." in toasts(pilot))
        await decide(pilot, "tab", "y")
        await until(pilot, lambda: scout.outcome is not None)
        assert "Found it in a.py." in console.conversation.engine.history[-1].content or "Both" in scout.content


async def test_one_that_is_stopped_leaves_its_sibling_alone(tmp_path: Path) -> None:
    bench = Bench()
    async with bench.app(tmp_path).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "The store is fine.")
        console = chat(pilot.app).console
        [scout] = [call for call in console.ui.transcript.calls.values() if call.runs == "scout"]
        console.calls.cancel(scout.id)
        await until(pilot, lambda: not console.conversation.busy)
        assert "1 call" in scout.content
        assert "First look." in scout.content
        assert not console.ui.transcript.open_calls


async def test_opened_it_is_its_whole_conversation_in_place_with_all_keys(tmp_path: Path) -> None:
    bench = Bench()
    async with bench.app(tmp_path).run_test(size=(120, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "The store is fine.")
        await pilot.press(*"a draft", "left")
        view = chat(pilot.app).view
        scout = next(one for one in view.blocks if isinstance(one, CallBlock) and one.call.runs == "scout")
        view.go_to_call(scout.call)
        await pilot.press("o")
        await see(pilot, "Agent scout · running")
        await see(pilot, "First look.")
        assert "I send two." not in seen(pilot.app)
        assert prompt_of(pilot).text == "", "what is written there is for the agent"
        look = next(line for line in seen(pilot.app).splitlines() if "look  a.py" in line)
        assert look.index("look") < 8, "its calls are not indented there"
        assert seen(pilot.app).index("First look.") < seen(pilot.app).index("look  a.py"), "in the order of its answer"
        await pilot.press(*"look at b.py too", "ctrl+s")
        await see(pilot, "not read yet")
        await pilot.press(*"and quickly", "escape")
        await see(pilot, "I send two.")
        assert prompt_of(pilot).text == "a draft"
        assert chat(pilot.app).view.cursor is scout, "the place is kept"
        await pilot.press("o")
        await see(pilot, "not read yet")
        assert prompt_of(pilot).text == "and quickly"
        bench.free.set()
        await see(pilot, "Found it in a.py.")
        await until(pilot, lambda: "not read yet" not in seen(pilot.app))
        await see(pilot, " later")
        await see(pilot, "Agent scout · ok")
        await pilot.press("enter")
        await until(pilot, lambda: "scout takes no words now." in toasts(pilot))
        assert prompt_of(pilot).text == "and quickly"
        assert "look at b.py too" in [one.content for one in bench.model.requests[-2].messages]
        await pilot.press("escape")
        await see(pilot, "Both have answered.")
        assert prompt_of(pilot).text == "a draft"


async def test_a_call_of_an_opened_agent_is_decided_and_stopped_there(tmp_path: Path) -> None:
    bench = Bench(asks=True)
    async with bench.app(tmp_path).run_test(size=(120, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "scout: look")
        view = chat(pilot.app).view
        scout = next(one for one in view.blocks if isinstance(one, CallBlock) and one.call.runs == "scout")
        chat(pilot.app).ui.enter_agent(scout.call)
        await see(pilot, "Agent scout")
        await decide(pilot, "tab", "y")
        await see(pilot, "look  a.py")
        inside = chat(pilot.app).view
        [look] = [one for one in inside.blocks if isinstance(one, CallBlock)]
        inside.go_to_call(look.call)
        await decide(pilot, "x")
        await until(pilot, lambda: look.call.outcome is not None)
        await pilot.press("escape")
        await see(pilot, "Both have answered.")
        assert "by you" in seen(pilot.app)


async def test_a_call_of_an_opened_agent_goes_to_the_background_of_that_agent(tmp_path: Path) -> None:
    bench = Bench()
    bench.model.answers.insert(3, say("I go on without it."))
    async with bench.app(tmp_path).run_test(size=(120, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "The store is fine.")
        view = chat(pilot.app).view
        look = next(one for one in view.blocks if isinstance(one, CallBlock) and one.call.tool == "look")
        view.go_to_call(look.call)
        await decide(pilot, "b")
        await until(pilot, lambda: look.call.detached)
        assert "goes on in the background" in toasts(pilot)
        bench.free.set()
        await see(pilot, "Both have answered.")
