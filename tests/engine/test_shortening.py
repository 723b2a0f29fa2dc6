"""Results that fill the model's window by themselves are sent shorter, the largest first, and stay whole elsewhere."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from console_app.console.intents.reports import request_report
from console_app.domain import events as ev
from console_app.domain.errors import ContextOverflow
from console_app.domain.messages import ToolMessage
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome, ToolResult
from console_app.domain.transcript import Transcript
from console_app.engine import Engine
from console_app.engine.compaction import LEAST, WORTH, shorten
from console_app.engine.session import Session
from tests.each import each
from tests.engine.peers import Line, Model, Tools, calls, ending, engine_of, only, play, spec
from tests.engine.strict_history import check_history
from tests.engine.virtual_time import run
from tests.providers import strict_wire
from tests.providers.reading import provider_at
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import Reply, Request, Scripted, WireServer

TOO_LARGE = ContextOverflow("the request is larger than the window", "See /compact.")
REFUSALS: dict[Api, tuple[int, dict[str, object]]] = {
    "openai-chat": (400, {"error": {"message": "This model's maximum context length is 8192 tokens. However, your "
        "messages resulted in 60000 tokens.", "code": "context_length_exceeded"}}),
    "openai-responses": (400, {"error": {"message": "Your input exceeds the context window of this model.",
        "code": "context_length_exceeded"}}),
    "anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error",
        "message": "prompt is too long: 60000 tokens > 8192 maximum"}}),
}  # fmt: skip


class Pages(Tools):
    """Each call gives a page of as many letters as its argument says."""

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        size = int(invocation.arguments["n"])
        return ToolResult(outcome=Outcome.SUCCEEDED, content="x" * size)


def pages() -> Pages:
    return Pages([spec()])


def results(model: Model, number: int) -> list[int]:
    """How long the results of a request were."""
    return [len(one.content) for one in model.requests[number].messages if isinstance(one, ToolMessage)]


def test_a_first_turn_that_fills_the_window_by_its_results_goes_on_with_the_largest_shorter() -> None:
    async def scene() -> None:
        asked: list[Line] = [*calls({"n": 50_000}, {"n": 4_000}, {"n": 90_000})]
        model = Model(asked, [TOO_LARGE], [TOO_LARGE], [*calls({"n": 30_000})])
        engine = engine_of(model, pages())
        events = await play(engine, "first")
        assert ending(events).outcome == "completed"
        first, second = [notice for notice in only(events, ev.Notice) if notice.shortened]
        assert "its 2 largest results are sent shortened to 33," in first.text
        assert second.text.count("each, and it goes out again") == 1
        assert len(set(second.shortened.values())) == 1
        assert results(model, 1) == [50_000, 4_000, 90_000]
        assert results(model, 2)[1] == 4_000
        assert sum(results(model, 2)) < 75_000
        assert sum(results(model, 3)) < 40_000
        # What comes later is sent whole, and what was shortened stays so.
        assert results(model, 4)[:3] == results(model, 3)
        assert results(model, 4)[3] == 30_000
        assert "for your context window; ask for a part of it" in model.requests[3].messages[-1].content
        assert [len(one.content) for one in engine.history if isinstance(one, ToolMessage)][:3] == [
            50_000,
            4_000,
            90_000,
        ]
        check_history(engine)
        assert "are left out here, as the request was too large" in request_report(engine)

    run(scene)


def test_it_ends_where_no_result_is_left_to_shorten() -> None:
    async def scene() -> None:
        model = Model([*calls({"n": 9_000})], *[[TOO_LARGE]] * 20)
        events = await play(engine := engine_of(model, pages()), "first")
        assert ending(events).outcome == "failed"
        told = [notice for notice in only(events, ev.Notice) if notice.shortened]
        assert [list(notice.shortened.values()) for notice in told][-1] == [LEAST]
        assert len(model.requests) == 2 + len(told) <= 7
        check_history(engine)

    run(scene)


def test_what_was_taken_back_is_shortened_no_more_and_a_resumed_session_is() -> None:
    async def scene() -> None:
        engine = engine_of(Model([*calls({"n": 9_000})], [TOO_LARGE]), pages())
        events = await play(engine, "first")
        stored = Transcript.of(ev.EVENT.validate_json(event.model_dump_json()) for event in events)
        assert stored.shortened == engine.transcript.shortened != {}
        resumed = engine_of(model := Model(), pages())
        resumed.go_on("s", stored)
        await play(resumed, "second")
        assert results(model, 0)[0] < 5_000
        engine.undo_turn()
        assert engine.transcript.shortened == {}

    run(scene)


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=8), st.one_of(st.none(), st.integers(100, 20_000)))
def test_each_time_halves_it_or_leaves_each_result_its_least(sizes: list[int], window: int | None) -> None:
    def lengths(session: Session) -> list[int]:
        return [len(one.content) for one in session.messages() if isinstance(one, ToolMessage)]

    async def scene() -> None:
        engine = engine_of(Model([*calls(*({"n": size} for size in sizes))]), pages())
        engine.window = lambda: window
        await play(engine, "go")
        session = session_of(engine)
        rounds = 0
        while (notice := shorten(session)) is not None:
            before = lengths(session)
            session.record(notice)
            after = lengths(session)
            assert all(new <= old for old, new in zip(before, after, strict=True))
            level = min(notice.shortened.values())
            assert level == LEAST or sum(after) <= sum(before) // 2 + len(sizes) * (WORTH + 20)
            rounds += 1
        assert rounds <= 12
        assert all(length <= LEAST + 2 * WORTH for length in lengths(session))

    run(scene)


def session_of(engine: Engine) -> Session:
    return engine.session


@each("api", APIS)
async def test_each_wire_is_asked_again_with_less(api: Api) -> None:
    status, refusal = REFUSALS[api]

    def answer(request: Request) -> Scripted:
        strict_wire.check(api, request.body)
        if b"xxxx" not in request.raw:
            return Answer(*(Call("demo_do", json.dumps({"n": size})) for size in (20_000, 60_000, 500)))
        return Reply.json(refusal, status) if len(request.raw) > 15_000 else Answer(Text("Read."))

    with WireServer(answer) as server:
        provider = provider_at(server, api)
        engine = engine_of(provider, pages())
        events = await play(engine, "go")
        await provider.close()
    assert ending(events).outcome == "completed"
    assert engine.history[-1].content == "Read."
    sizes = [len(request.raw) for request in server.requests]
    assert sizes[1] > 80_000 > 45_000 > sizes[2] > sizes[-1]
    assert len(sizes) == 5
    assert b"x" * 500 + b'"' in server.requests[-1].raw
    assert len([notice for notice in only(events, ev.Notice) if notice.shortened]) == 3
