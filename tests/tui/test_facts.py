"""Each fact has one place on the screen: every state is drawn, and how often it tells a fact is counted."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.engine import ApprovalGate
from tests.each import each
from tests.examples import turns
from tests.tui.parts import (
    Server,
    Tools,
    WrittenModel,
    app,
    at_rest,
    calls,
    chat,
    decide,
    painted,
    say,
    see,
    seen,
    until,
)

SIZES = [(60, 15), (80, 24), (120, 40)]
OWN = "own words"


def words(text: str) -> int:
    """Count what a reader reads: words with a letter in them."""
    return sum(any(char.isalpha() for char in word) for word in text.split())


class Bench:
    """Two tools of one server: `run` ends when the test lets it, `save` asks first. A run that is told to fails."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.tools = Tools({("lab", "run"): self._run, ("lab", "save"): self._save}, read_only=False)

    async def _run(self, invocation: Invocation, reporter: CallReporter) -> str:
        if "broken" in str(invocation.arguments):
            raise ValueError("no such table: orders")
        reporter.progress(1, 4, OWN)
        await self.free.wait()
        return "fine"

    async def _save(self, _invocation: Invocation, _reporter: CallReporter) -> str:
        return "kept"


async def begun(pilot: Pilot[Any]) -> None:
    await pilot.press(*"go", "enter")
    await until(pilot, lambda: bool(chat(pilot.app).ui.shown.transcript.calls))
    await at_rest(pilot)


def batch() -> WrittenModel:
    made = [("lab_run", json.dumps({"query": f"select {n}"})) for n in range(6)]
    made += [("lab_run", json.dumps({"query": "broken"})), ("lab_save", json.dumps({"title": "May"}))]
    return WrittenModel(calls(*made), say("All of it."))


def console(folder: Path, bench: Bench) -> Any:
    gate = ApprovalGate(ApprovalMode.ASK)
    from console_app.engine.calls.approval_gate import Rule

    gate.rules.append(Rule("allow", "lab.run"))
    return app(folder, batch(), bench.tools, gate=gate)


async def test_of_a_batch_that_runs_and_asks_each_fact_is_told_once(tmp_path: Path) -> None:
    bench = Bench()
    async with console(tmp_path, bench).run_test(size=SIZES[0]) as pilot:
        await begun(pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await at_rest(pilot)
            await each_once(pilot, size)
        bench.free.set()
        await pilot.press("tab")
        await decide(pilot, "y")
        await see(pilot, "All of it.")


async def each_once(pilot: Pilot[Any], size: tuple[int, int]) -> None:
    await see(pilot, "1 needs you ")
    await see(pilot, "1 failed")
    text = seen(pilot.app)
    facts = {
        r"6 running": 1,
        r"1 failed": 1 if size[1] > 15 else None,
        r"waiting for you|needs approval|Approve": 0,
        r"\bMay\b": 1,
        r"\bsave\b": 1,
        r"no such table: orders": 1 if size[1] > 15 else None,
        r"select 3": 1 if size[1] > 15 else None,
        r"esc ": 1,
        r"\btab ": 1,
        r"test-model": 1,
        r"faster|one by one": 0,
    }
    wrong = {fact: found for fact, count in facts.items()
             if count is not None and (found := len(re.findall(fact, text))) != count}  # fmt: skip
    assert wrong == {}, text


async def test_of_an_open_call_its_arguments_and_its_error_are_told_once(tmp_path: Path) -> None:
    bench = Bench()
    bench.free.set()
    model = WrittenModel(calls(("lab_run", json.dumps({"query": "broken"}))), say("All of it."))
    gate = ApprovalGate(ApprovalMode.YOLO)
    async with app(tmp_path, model, bench.tools, gate=gate).run_test(size=(100, 30)) as pilot:
        await begun(pilot)
        await see(pilot, "All of it.")
        for opened in (False, True):
            text = seen(pilot.app)
            assert text.count("no such table: orders") == 1, text
            assert text.count("broken") == 1, text
            if not opened:
                await pilot.press("up")
                await decide(pilot, "o")
                await see(pilot, "o close")


@each(("size", "total"), turns(SIZES, [None, 8]))
async def test_what_a_running_call_says_and_writes_stands_once(
    tmp_path: Path, size: tuple[int, int], total: int | None
) -> None:
    free = asyncio.Event()

    async def run(invocation: Invocation, reporter: CallReporter) -> str:
        words_ = f"step {invocation.arguments['n']}0 of it"
        reporter.progress(1, total, words_)
        reporter.output("stdout", f"begun\n{words_}\n")
        await free.wait()
        return "fine"

    made = [("lab_run", json.dumps({"n": n})) for n in range(1, 5)]
    model = WrittenModel(calls(*made), say("All of it."))
    async with app(tmp_path, model, Tools({("lab", "run"): run})).run_test(size=size) as pilot:
        await begun(pilot)
        await see(pilot, "4 running")
        await at_rest(pilot)
        text = seen(pilot.app)
        assert {n: text.count(f"step {n}0 of it") for n in range(1, 5)} == dict.fromkeys(range(1, 5), 1), text
        free.set()
        await see(pilot, "All of it.")


async def test_the_words_beside_eight_calls_are_few(tmp_path: Path) -> None:
    bench = Bench()
    made = [("lab_run", json.dumps({"query": f"select {n}"})) for n in range(8)]
    gate = ApprovalGate(ApprovalMode.YOLO)
    async with app(tmp_path, WrittenModel(calls(*made)), bench.tools, gate=gate).run_test(size=(80, 24)) as pilot:
        await begun(pilot)
        await see(pilot, "8 running")
        beside = [line for line in seen(pilot.app).splitlines() if "select" not in line]
        assert words("\n".join(beside)) < 30, beside


async def test_the_opening_page_has_at_most_forty_words(tmp_path: Path) -> None:
    model = WrittenModel(model="rehearsal")
    model.name = "offline"
    async with app(tmp_path, model).run_test(size=(80, 24)) as pilot:
        await see(pilot, "many tool calls at once")
        assert words(seen(pilot.app)) <= 40, seen(pilot.app)


async def test_a_server_that_is_dead_is_named_once_in_each_conversation_until_it_is_there(tmp_path: Path) -> None:
    server = Server("broken", "failed", "no database")
    said = "Server broken failed: no database."
    model = WrittenModel(say("One."), say("Two."), say("Three."), say("Four."))
    running = app(tmp_path, model, server_statuses=lambda: [server])
    async with running.run_test(size=(100, 30)) as pilot:
        screen = chat(running)
        screen.console.servers_changed()
        await see(pilot, said)
        for prompt, answer in (("a", "One."), ("b", "Two.")):
            await pilot.press(prompt, "enter")
            await see(pilot, answer)
            assert seen(running).count(said) == 1, seen(running)
            await until(pilot, lambda: not screen.console.conversation.busy)
        await pilot.press(*"/new", "enter")
        await until(pilot, lambda: "One." not in seen(running))
        await pilot.press("c", "enter")
        await see(pilot, "Three.")
        assert seen(running).count(said) == 1, seen(running)
        await until(pilot, lambda: not screen.console.conversation.busy)
        server.state = "ready"
        screen.console.servers_changed()
        await pilot.press(*"/new", "enter")
        await until(pilot, lambda: "Three." not in seen(running))
        assert said not in seen(running)
        await pilot.press("d", "enter")
        await see(pilot, "Four.")
        assert said not in seen(running)


async def test_without_colours_what_failed_is_bold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    bench = Bench()
    bench.free.set()
    model = WrittenModel(calls(*(("lab_run", json.dumps({"query": word})) for word in ("fine", "broken"))), say("So."))
    gate = ApprovalGate(ApprovalMode.YOLO)
    async with app(tmp_path, model, bench.tools, gate=gate).run_test(size=(100, 30)) as pilot:
        await begun(pilot)
        await see(pilot, "So.")
        bold = {
            segment.text.strip()
            for line in painted(pilot.app)
            for segment in line
            if segment.style is not None and segment.style.bold
        }
        assert "failed" in bold
        assert "ok" not in " ".join(bold).split()
