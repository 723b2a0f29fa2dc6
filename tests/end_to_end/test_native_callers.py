"""Where a model called natively no text of it is read, whatever becomes of endpoint, model and session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from console_app.domain import events as ev
from console_app.domain.events import Decision
from console_app.domain.ports import ModelRequest
from console_app.domain.questions import SamplingMessage, SamplingRequest
from console_app.domain.settings import Sampling
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.engine import Engine
from console_app.mcp_client import Hub
from console_app.mcp_client.connecting.asking import ProviderSampler
from console_app.sessions import ForkPoint, Store
from tests.end_to_end.test_when_text_is_a_call import (
    BARE,
    DONE,
    MARKED,
    REFUSAL,
    TOOL,
    answers,
    engine_of,
    of,
    play,
    provider_of,
    tools_offered,
    written,
)
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

NATIVE = Answer(Call(TOOL, '{"expression": "1+1"}'))


@pytest_asyncio.fixture(loop_scope="session")
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(tmp_path / "sessions.db", folder=str(tmp_path))
    yield store
    await store.close()


async def kept(store: Store, events: list[ev.Event]) -> str:
    """The session with these events, stored."""
    await store.append(events)
    return events[0].session_id


async def opened(engine: Engine, store: Store, session: str) -> None:
    engine.go_on(session, Transcript.of(await store.load(session)))


async def test_an_endpoint_that_takes_no_tools_any_more_is_asked_in_text_until_the_protocol_is_chosen(
    hub: Hub,
) -> None:
    with WireServer() as server:
        server.script(NATIVE, DONE)
        server.script(NATIVE, REFUSAL, Answer(Text(written("hermes_json"))), DONE)
        engine = engine_of(server, hub)
        await play(engine)
        second = await play(engine)
        assert engine.provider.protocol == "text"
        assert [event.content for event in of(second, ev.CallFinished)] == ["2", "42"], "then all dialects count"
        retold = server.requests[4].body["messages"]
        assert not any("tool_calls" in message or message["role"] == "tool" for message in retold)
        assert "<tool_call>" in str(retold)
        engine.provider.choose_protocol("auto")
        server.script(Answer(Text(MARKED)), DONE, NATIVE, DONE)
        third, fourth = await play(engine), await play(engine)
        assert tools_offered(server) == [True] * 4 + [False] * 2 + [True] * 4
        sent = server.requests[-1].body["messages"]
        await engine.provider.close()
    assert answers(third) == [MARKED, "Done."]
    assert not of(third, ev.CallAnnounced), "it called natively in this conversation"
    assert [event.content for event in of(fourth, ev.CallFinished)] == ["2"]
    assert sum(len(message.get("tool_calls", ())) for message in sent) == 4, "calls of text go natively too"


async def test_two_models_of_one_conversation_are_read_each_by_what_it_did(hub: Hub) -> None:
    with WireServer() as server:
        server.script(NATIVE, DONE, *[Answer(Text(MARKED)), DONE] * 3)
        engine = engine_of(server, hub)
        first = engine.provider
        await play(engine)
        engine.provider = other = provider_of(server, "other", dialect="hermes_json")
        assert [event.content for event in of(await play(engine), ev.CallFinished)] == ["42"]
        engine.provider = first
        back = await play(engine)
        assert answers(back) == [MARKED, "Done."]
        assert not of(back, ev.CallAnnounced)
        engine.provider = other
        assert [event.content for event in of(await play(engine), ev.CallFinished)] == ["42"]
        assert all(tools_offered(server))
        await first.close()
        await other.close()


@pytest.mark.parametrize("again", ["in this run", "in a new run"])
@pytest.mark.parametrize("where", ["before the turn of the call", "before everything"])
async def test_a_fork_that_ends_before_the_only_native_call_knows_it(
    where: str, again: str, hub: Hub, store: Store
) -> None:
    with WireServer() as server:
        server.script(DONE, NATIVE, DONE, Answer(Text(MARKED)), DONE, Answer(Text(BARE)), DONE)
        engine = engine_of(server, hub)
        events: list[ev.Event] = [engine.session_event(), *await play(engine), *await play(engine)]
        session = await kept(store, events)
        points: list[ForkPoint] = [one for one in ForkPoint.all_of(events) if one.label.startswith("before")]
        fork = await store.fork(session, points[where == "before the turn of the call"].up_to)
        fork = await store.fork(fork) if again == "in a new run" else fork  # and so does a fork of it
        if again == "in a new run":
            await engine.provider.close()
            engine = engine_of(server, hub)
        await opened(engine, store, fork)
        assert not any(call for message in engine.history for call in getattr(message, "tool_calls", ()))
        for text in (MARKED, BARE):
            after = await play(engine)
            assert answers(after) == [text, "Done."]
            assert not of(after, ev.CallAnnounced)
        await engine.provider.close()


async def test_another_session_of_the_same_run_is_read_by_what_happened_in_it(hub: Hub, store: Store) -> None:
    with WireServer() as server:
        server.script(DONE, NATIVE, DONE, Answer(Text(MARKED)), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, hub, dialect="hermes_json")
        text = await kept(store, [engine.session_event(), *await play(engine)])
        engine.begin()
        native = await kept(store, [engine.session_event(), *await play(engine)])
        await opened(engine, store, text)
        assert [event.content for event in of(await play(engine), ev.CallFinished)] == ["42"]
        await opened(engine, store, native)
        assert not of(await play(engine), ev.CallAnnounced)
        await engine.provider.close()


async def test_why_nothing_was_called_is_told_in_its_own_conversation_alone(hub: Hub, store: Store) -> None:
    asked = [SamplingMessage("user", "Hello."), SamplingMessage("assistant", "Yes?"), SamplingMessage("user", "Go on.")]
    with WireServer() as server:
        server.script(DONE, Answer(Text(f"I refuse to emit {BARE} here.")), DONE, Answer(Text(MARKED)), DONE, DONE)
        engine = engine_of(server, hub)
        other = await kept(store, [engine.session_event(), *await play(engine)])
        engine.begin()
        await play(engine)
        sampled = await ProviderSampler(lambda: engine.provider).sample(
            SamplingRequest("lab", tuple(asked), Sampling())
        )
        transcript = engine.transcript
        await opened(engine, store, other)
        await play(engine)
        engine.go_on("back", transcript)
        await play(engine)
        said = [str(request.body["messages"][-1]["content"]) for request in server.requests]
        await engine.provider.close()
    assert sampled.text == MARKED, "what a server asked for is text"
    assert ["(The answer" in text for text in said] == [False, False, True, False, False, False]


@pytest.mark.parametrize("mode", ["native", "auto", "text", "xml"])
@pytest.mark.parametrize("official", [False, True])
async def test_what_a_protocol_reads(mode: Any, official: bool, hub: Hub) -> None:
    """The table of docs/dialects.md: a marked call, then an unmarked one with more text behind it."""
    unmarked = f"I calculate.\n\n{written('roo_xml')}"
    with WireServer() as server:
        reads = mode != "native" and (not official or mode != "auto")
        server.script(Answer(Text(MARKED)), DONE, Answer(Text(unmarked)), DONE)
        engine = engine_of(server, hub, mode=mode, official=official)
        marked, other = await play(engine, Decision.ALLOW), await play(engine, Decision.ALLOW)
        assert tools_offered(server)[0] == (mode in ("native", "auto"))
        assert isinstance(engine.last_request, ModelRequest)
        await engine.provider.close()
    assert [event.outcome for event in of(marked, ev.CallFinished)] == [Outcome.SUCCEEDED] * reads
    assert len(of(other, ev.CallFinished)) == reads
    assert bool(of(marked, ev.Notice)) == (not reads)
