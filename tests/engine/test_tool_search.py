"""Tools that would take too much of each request are searched for, and found ones can be called."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from console_app.domain import ToolSpec
from console_app.domain import events as ev
from console_app.domain.schema import object_of
from console_app.domain.settings import ToolOffer
from console_app.engine import Engine
from tests.each import each
from tests.engine.peers import DONE, Model, Tools, calls, engine_of, outcomes, play, spec, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run

FIXTURES = Path(__file__).with_name("fixtures")
FIND = "fanout_find_tools"
LONG = "and more of what it does, in words that every other tool has too. " * 10


def lines(name: str) -> list[str]:
    return [line for line in (FIXTURES / name).read_text().splitlines() if line and line[0] != "#"]


def tool(line: str) -> ToolSpec:
    label, about, parameters = (part.strip() for part in line.split("|"))
    server, _, name = label.partition(".")
    schema = object_of({one.strip(): {"type": "string"} for one in parameters.split(",") if one.strip()})
    return spec(name, server, description=about, input_schema=schema)


def many(count: int = 200, server: str = "lab", **more: str) -> list[ToolSpec]:
    return [spec(f"work_{n}", server, description=f"Does work number{n} {LONG}", **more) for n in range(count)]


def find(*queries: str) -> list[Any]:
    return calls(*({"query": query} for query in queries), name=FIND)


def offered(model: Model) -> list[list[str]]:
    return [[one.name for one in request.tools] for request in model.requests]


def planned(model: Model, specs: Sequence[ToolSpec], plan: ToolOffer, **settings: Any) -> Engine:
    engine = engine_of(model, Tools(list(specs)), **settings)
    engine.settings = replace(engine.settings, tools=plan)
    return engine


async def played(model: Model, specs: Sequence[ToolSpec], plan: ToolOffer = "auto", **settings: Any) -> Engine:
    engine = planned(model, specs, plan, **settings)
    check_turn(engine, await play(engine))
    return engine


def test_few_tools_stand_in_every_request() -> None:
    async def scene() -> None:
        model = Model()
        engine = await played(model, many(20))
        assert len(offered(model)[0]) == 20
        assert engine.offer.saving == ""

    run(scene)


def test_a_tool_that_was_found_can_be_called_and_what_stood_before_it_in_the_list_stays() -> None:
    async def scene() -> None:
        model = Model(
            find("number7", "number9"), calls({"n": 1}, name="lab_work_7"), calls({"n": 2}, name="lab_work_9")
        )
        engine = await played(model, many())
        assert offered(model)[0] == [FIND]
        assert offered(model)[1][:3] == [FIND, "lab_work_7", "lab_work_9"]
        assert offered(model)[1] == offered(model)[2] == offered(model)[3]
        assert outcomes(engine) == ["succeeded"] * 4
        first = model.requests[0].tools[0]
        assert (first.description, first.input_schema) == (
            model.requests[3].tools[0].description,
            model.requests[3].tools[0].input_schema,
        )
        found = tool_texts(engine)[0].splitlines()
        assert json.loads(found[1])["name"] == "lab_work_7"
        assert engine.offer.saving.startswith("200 tools, ")

    run(scene)


@each("name", ["lab_work_3", "lab.work_3"])
def test_a_call_of_a_tool_that_was_not_searched_for_is_answered_with_its_definition(name: str) -> None:
    async def scene() -> None:
        model = Model(calls({"n": 1}, name=name), calls({"n": 1}, name="lab_work_3"))
        tools = Tools(many())
        engine = engine_of(model, tools)
        events = await play(engine)
        check_turn(engine, events)
        assert outcomes(engine) == ["invalid", "succeeded"]
        named = [(one.server, one.tool) for one in events if isinstance(one, ev.CallAnnounced)]
        assert named == [("lab", "work_3")] * 2, "people see the tool's own name"
        assert json.loads(tool_texts(engine)[0].splitlines()[1])["name"] == "lab_work_3"
        assert [one.spec.name for one in tools.ran] == ["lab_work_3"]
        assert offered(model)[1] == [FIND, "lab_work_3"]

    run(scene)


def test_what_was_found_is_there_in_the_next_turn() -> None:
    async def scene() -> None:
        model = Model(find("number7"), DONE)
        engine = engine_of(model, Tools(many()))
        await play(engine)
        await play(engine, "again")
        assert "lab_work_7" in offered(model)[-1]
        assert engine.undo_turn() is not None
        assert engine.undo_turn() is not None
        await play(engine, "anew")
        assert offered(model)[-1] == [FIND]

    run(scene)


@each(
    ("plan", "count", "window", "server", "searched"),
    [
        ("auto", 200, None, "auto", True),
        ("auto", 20, None, "auto", False),
        ("auto", 20, 8_000, "auto", True),
        ("auto", 200, 2_000_000, "auto", False),
        ("all", 200, None, "auto", False),
        ("search", 3, None, "auto", True),
        ("auto", 200, None, "always", False),
        ("search", 3, None, "always", False),
        ("auto", 3, None, "search", True),
        ("all", 3, None, "search", False),
        ("search", 0, None, "auto", False),
    ],
)
def test_when_tools_are_searched_for(plan: str, count: int, window: int | None, server: str, searched: bool) -> None:
    async def scene() -> None:
        model = Model()
        engine = planned(model, many(count, offer=server), plan)
        engine.window = lambda: window
        await play(engine)
        names = offered(model)[0]
        assert (FIND in names) is searched
        assert len(names) == (1 if searched else count)

    run(scene)


def test_servers_that_are_always_there_stand_beside_the_search() -> None:
    async def scene() -> None:
        model = Model()
        await played(model, [*many(3, "near", offer="always"), *many(200)])
        assert offered(model)[0] == [*(f"near_work_{n}" for n in range(3)), FIND]

    run(scene)


def test_nothing_found_says_so_and_a_search_without_words_is_no_search() -> None:
    async def scene() -> None:
        engine = await played(Model(find("zzzz", "!?", "")), many())
        assert outcomes(engine) == ["succeeded", "succeeded", "invalid"]
        assert tool_texts(engine)[0].startswith("No tool has anything of “zzzz”.")

    run(scene)


def test_words_are_found_with_accents_and_without() -> None:
    async def scene() -> None:
        engine = await played(Model(find("cafes", "PÁY")), [*many(), spec("pay", description="For cafés.")])
        assert all("demo_pay" in text for text in tool_texts(engine))

    run(scene)


def test_the_tool_needed_is_among_the_eight_in_95_of_100_tasks() -> None:
    specs = [tool(line) for line in lines("tools_to_find.txt")]
    tasks = [line.split(" -> ") for line in lines("tasks_for_tools.txt")]
    assert len({one.server for one in specs}) >= 10
    assert len(tasks) >= 100
    assert {wanted for _, wanted in tasks} == {one.label for one in specs}

    async def scene() -> None:
        engine = await played(Model(find(*(words for words, _ in tasks))), specs, "search")
        missed = [
            (words, wanted)
            for (words, wanted), text in zip(tasks, tool_texts(engine), strict=True)
            if wanted.replace(".", "_") not in [json.loads(one)["name"] for one in text.splitlines()[1:]]
        ]
        assert len(missed) <= len(tasks) // 20, missed

    asyncio.run(scene())  # the texts of so many results are looked at in a thread, which virtual time knows nothing of
