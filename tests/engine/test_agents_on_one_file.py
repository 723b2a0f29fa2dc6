"""Two agents on one file: the second change is seen, and asks with the name of who made the first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from console_app.domain import ApprovalMode, Decision
from console_app.domain import events as ev
from console_app.engine import Turn
from tests.each import each
from tests.engine.peers import DONE, Line, Tools, calls, play, spec, tool_texts
from tests.engine.test_agents import Models, agents_of, check_agents, sends
from tests.engine.virtual_time import run

HERE = Path.cwd() / "a.py"
Script = list[list[Line]]


@pytest.fixture(autouse=True)
def in_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE.parent)


def read(path: str = "a.py") -> list[Line]:
    return [*calls({"path": path}, name="demo_read")]


def write(n: str, path: str = "a.py", seconds: int = 0) -> list[Line]:
    return [*calls({"n": n, "path": path, "content": n, "seconds": seconds}, name="demo_write")]


def pause(seconds: int) -> list[Line]:
    return [*calls({"n": f"p{seconds}", "seconds": seconds})]


ASKS: dict[str, tuple[Script, Script, list[str]]] = {
    "both read, both write": (
        [read(), pause(2), write("a1"), DONE],
        [read(), pause(5), write("b1"), DONE],
        [f"a changed {HERE} since it was read here"],
    ),
    "the same by its whole path": (
        [read(), pause(2), write("a1"), DONE],
        [read(str(HERE)), pause(5), write("b1", f"{HERE.parent}/./a.py"), DONE],
        [f"a changed {HERE} since it was read here"],
    ),
    "without a look": (
        [write("a1"), DONE],
        [pause(5), write("b1"), DONE],
        [f"a changed {HERE} and it was not read here"],
    ),
    "after a look": ([write("a1"), DONE], [pause(5), read(), write("b1"), DONE], []),
    "another file": ([write("a1"), DONE], [pause(5), write("b1", "b.py"), DONE], []),
    "a look alone": ([write("a1"), DONE], [pause(5), read(), DONE], []),
    "its own": ([write("a1"), pause(1), write("a2"), DONE], [DONE], []),
    "at the same time": (
        [read(), pause(2), write("a1", seconds=5), DONE],
        [read(), pause(3), write("b1"), DONE],
        [f"a changed {HERE} since it was read here"],
    ),
    "in turns": (
        [read(), pause(2), write("a1"), pause(9), write("a2"), DONE],
        [read(), pause(5), write("b1"), write("b2"), DONE],
        [f"a changed {HERE} since it was read here", f"b changed {HERE} since it was read here"],
    ),
}


@each("name", ASKS)
def test_the_second_change_asks_with_the_name_of_who_made_the_first(name: str) -> None:
    a, b, wanted = ASKS[name]

    for answer in (Decision.ALLOW, Decision.DENY):

        async def scene(answer: Decision = answer) -> None:
            tools = Tools([spec(), spec("read"), spec("write", read_only=False)])
            model = Models(go=[sends({"task": "a", "name": "a"}, {"task": "b", "name": "b"})], a=a, b=b)
            engine = agents_of(model, tools, ApprovalMode.YOLO)
            asked: list[str] = []

            def decide(turn: Turn, event: ev.Event) -> None:
                if isinstance(event, ev.ApprovalRequested):
                    asked.append(event.why)
                    asyncio.get_running_loop().call_later(0.5, lambda: turn.resolve(event.call_id, answer))

            events = await play(engine, react=decide)
            ran = [one.arguments["n"] for one in tools.ran if one.spec.tool == "write"]
            if answer is Decision.ALLOW:
                assert asked == wanted
                assert sorted(ran) == sorted(_written(a) + _written(b))
            else:
                assert asked[:1] == wanted[:1]
                assert "b1" not in ran or not wanted
            check_agents(engine, events)

        run(scene)


def _written(script: Script) -> list[str]:
    told = [line for answer in script for line in answer if getattr(line, "arguments", "")]
    return [n for n in ("a1", "a2", "b1", "b2") if any(f'"content": "{n}"' in str(line) for line in told)]


def test_where_nobody_can_be_asked_it_is_to_be_read_again() -> None:
    async def scene() -> None:
        tools = Tools([spec(), spec("read"), spec("write", read_only=False)])
        second: Script = [read(), pause(5), write("b1"), read(), write("b2"), DONE]
        model = Models(
            go=[sends({"task": "a", "name": "a"}, {"task": "b", "name": "b"})],
            a=[read(), pause(2), write("a1"), DONE],
            b=second,
        )
        engine = agents_of(model, tools, ApprovalMode.YOLO)
        engine.gate.headless = True
        events = await play(engine)
        assert [one.arguments["n"] for one in tools.ran if one.spec.tool == "write"] == ["a1", "b2"]
        told: list[Any] = [
            one.content for one in events if isinstance(one, ev.CallFinished) and one.outcome == "failed"
        ]
        assert told == [
            f"Tool execution failed: a changed {HERE} since it was read here. Nothing was changed: read it again first."
        ]
        assert tool_texts(engine) == ["done", "done"]
        check_agents(engine, events)

    run(scene)
