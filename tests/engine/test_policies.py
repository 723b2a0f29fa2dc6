"""How many calls run at once, and which wait for which: policies, limits, and two writers of one file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import CallPolicy
from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, Chunk
from console_app.engine import Turn
from console_app.engine.calls.slots import limited, limits_of
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, spec, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run


def test_sequential_runs_one_after_the_other_in_order(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(
            Model(calls({"n": "a", "seconds": 2}, {"n": "b", "do": "fail"}, {"n": "c"})),
            tools,
            policy=CallPolicy.SEQUENTIAL,
        )
        events = await play(engine)
        assert tools.most_running == 1
        assert tools.ended == ["a", "b", "c"]
        assert {event.why for event in only(events, ev.CallQueued)} == {"sequential: after the calls before it"}
        assert outcomes(engine) == ["succeeded", "failed", "succeeded"]
        check_turn(engine, events)

    with caplog.at_level(logging.INFO):
        run(scene)
    assert "parallel" not in caplog.text


def test_single_runs_the_first_and_says_so_for_the_rest() -> None:
    async def scene() -> None:
        model = Model(calls({"n": "a"}, {"n": "b"}, {"n": "c"}))
        engine = engine_of(model, policy=CallPolicy.SINGLE)
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "skipped", "skipped"]
        assert tool_texts(engine)[1].startswith("not executed: one tool a message")
        assert not model.requests[0].parallel
        check_turn(engine, events)

    run(scene)


def test_a_policy_switched_while_calls_run_holds_from_the_next_answer() -> None:
    async def scene() -> None:
        tools = Tools()
        two = calls({"n": "a", "seconds": 1}, {"n": "b", "seconds": 1})
        engine = engine_of(Model(two, calls({"n": "c"}, {"n": "d"})), tools)

        def switch(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted):
                engine.settings = engine.settings.with_policy(CallPolicy.SINGLE)

        await play(engine, react=switch)
        assert tools.most_running == 2
        assert outcomes(engine) == ["succeeded", "succeeded", "succeeded", "skipped"]

    run(scene)


def test_the_limit_of_the_app_shows_the_rest_as_queued() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls(*({"n": n, "seconds": 1} for n in range(300)))), tools, max_calls=300)
        events = await play(engine)
        assert tools.most_running == 128
        queued = only(events, ev.CallQueued)
        assert len(queued) == 172
        assert queued[0].why == "128 calls are running, the most at once"
        assert only(events, ev.BatchFinished)[0].wall_ms == 3000
        check_turn(engine, events)

    run(scene)


def test_a_full_server_holds_up_no_other() -> None:
    async def scene() -> None:
        tools = Tools([spec("do", "small", server_limit=1), spec("do", "other")])
        first = calls({"n": "a", "seconds": 5}, {"n": "b"}, name="small_do")[:-1]
        engine = engine_of(Model([*first, *_shifted(calls({"n": "c"}, name="other_do"), 2)]), tools)
        events = await play(engine)
        assert tools.ended == ["c", "a", "b"]
        assert [event.why for event in only(events, ev.CallQueued)] == ["server small takes 1 at once"]
        check_turn(engine, events)

    run(scene)


def _shifted(chunks: Sequence[Chunk], by: int) -> list[Chunk]:
    """The same calls, further back in the answer."""
    return [
        replace(chunk, index=chunk.index + by) if isinstance(chunk, CallOpened | CallDelta | CallClosed) else chunk
        for chunk in chunks
    ]


def test_a_tool_marked_never_parallel_runs_one_at_a_time() -> None:
    async def scene() -> None:
        tools = Tools([spec(parallel=False)])
        engine = engine_of(Model(calls({"n": "a", "seconds": 2}, {"n": "b", "seconds": 1}, {"n": "c"})), tools)
        events = await play(engine)
        assert tools.ended == ["a", "b", "c"]
        assert only(events, ev.CallQueued)[0].why == "demo.do runs one at a time"
        check_turn(engine, events)

    run(scene)


def test_writers_of_one_file_go_one_after_the_other_in_order() -> None:
    async def scene() -> None:
        tools = Tools([spec(read_only=False)])
        engine = engine_of(
            Model(
                calls(
                    {"n": "a", "path": "notes.txt", "seconds": 2},
                    {"n": "b", "file": "./notes.txt", "seconds": 1},
                    {"n": "c", "paths": ["x.txt", "file:///tmp/../notes.txt", "notes.txt"]},
                    {"n": "d", "path": "other.txt"},
                    {"n": "e", "path": "x.txt"},
                )
            ),
            tools,
        )
        events = await play(engine)
        # e waits for c, which holds its place for x.txt while it waits for notes.txt.
        assert tools.ended == ["d", "a", "b", "c", "e"]
        assert only(events, ev.CallQueued)[0].why == "another call works on notes.txt"
        check_turn(engine, events)

    run(scene)


def test_readers_of_one_file_run_together() -> None:
    async def scene() -> None:
        tools = Tools([spec(read_only=True)])
        engine = engine_of(Model(calls({"path": "a", "seconds": 1}, {"path": "a", "seconds": 1, "n": 2})), tools)
        await play(engine)
        assert tools.most_running == 2

    run(scene)


@each("name", ["path", "file", "filename", "file_name", "File_Path", "uri", "resource_uri", "target"])
def test_which_arguments_name_a_file(name: str) -> None:
    assert len(limits_of(spec(read_only=False), {name: "x"}, 16)) == 2
    assert len(limits_of(spec(read_only=False), {name: 3}, 16)) == 1
    assert len(limits_of(spec(read_only=False), {f"{name}_count": "x"}, 16)) == 1


@each(
    ("settings", "most", "why"),
    [
        ({"never_parallel": ("demo.*",)}, 1, "demo.do runs one at a time"),
        ({"limits": {"demo": 2}}, 2, "server demo takes 2 at once"),
        ({"limits": {"demo.d*": 3}}, 3, "demo.do takes 3 at once"),
        ({"limits": {"demo.do": 1}}, 1, "demo.do takes 1 at once"),
        ({"limits": {"demo": 4, "demo.do": 2, "*.do": 3}}, 2, "demo.do takes 2 at once"),
        ({"limits": {"other": 1, "other.do": 1}, "never_parallel": ("other.*",)}, 6, None),
    ],
)
def test_your_settings_limit_servers_and_tools(settings: dict[str, Any], most: int, why: str | None) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls(*({"n": str(n), "seconds": 1} for n in range(6)))), tools, **settings)
        events = await play(engine)
        assert tools.most_running == most
        assert {event.why for event in only(events, ev.CallQueued)} == ({why} if why else set())
        check_turn(engine, events)

    run(scene)


def test_the_tighter_of_two_limits_counts() -> None:
    tool = spec(server_limit=2, tool_limit=1)
    assert limited(tool, (), {"demo": 5, "demo.do": 5}) == tool
    assert limited(tool, (), {"demo": 1}).server_limit == 1
