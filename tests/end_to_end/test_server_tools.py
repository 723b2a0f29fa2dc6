"""Tools that the provider runs itself, through the engine at a real endpoint: panels of their own, and pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console_app.console.intents.reports import context_report
from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage
from console_app.domain.transcript import Transcript
from console_app.engine import Engine
from console_app.engine.strategies import MOST_PAUSES
from console_app.sessions.repair import closing_events
from tests.each import each
from tests.engine.peers import Tools, ending, engine_of, only, play, results_of, spec
from tests.providers import strict_wire
from tests.providers.reading import provider_at
from tests.providers.test_server_tools import (
    CITED,
    FOUND,
    PLAIN,
    REASONING,
    SEARCH,
    THOUGHT,
    WEB,
    message_events,
    message_item,
    response_events,
)
from tests.wire_bytes import Answer, Api, Text
from tests.wire_server import Reply, WireServer

USE: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "demo_do", "input": {"do": "succeed"}}


async def played(api: Api, *replies: Any, prompts: Sequence[str] = ("go",)) -> tuple[Engine, list[ev.Event], list[Any]]:
    """The engine, the events of all turns, and the bodies that were sent, each judged."""
    seen: list[ev.Event] = []
    with WireServer() as server:
        server.script(*replies)
        provider = provider_at(server, api)
        engine = engine_of(provider, Tools([spec()]))
        for prompt in prompts:
            seen += await play(engine, prompt)
        await provider.close()
        bodies = [request.body for request in server.requests]
    for body in bodies:
        strict_wire.check(api, body)
    return engine, seen, bodies


@each("api", ["anthropic", "openai-responses"])
async def test_the_providers_own_call_has_a_panel_and_no_result_of_ours(api: Api) -> None:
    events = (
        message_events(THOUGHT, SEARCH, FOUND, CITED)
        if api == "anthropic"
        else response_events(REASONING, WEB, message_item(1, "Six."))
    )
    engine, seen, bodies = await played(api, Reply(events), Answer(Text("Done.")), prompts=("go", "more"))
    (announced,) = only(seen, ev.CallAnnounced)
    (ready,) = only(seen, ev.CallReady)
    (finished,) = results_of(seen)
    assert (announced.origin, announced.server, announced.tool) == ("provider", "test", "web_search")
    assert ready.arguments["query"] == "tide tables"
    assert finished.outcome.value == "succeeded"
    assert not only(seen, ev.ApprovalRequested)
    assert [message.role for message in engine.history] == ["user", "assistant"] * 2
    assert b"tide tables" in str(bodies[1]).encode()
    assert Transcript.of(seen).calls[announced.call_id].outcome == finished.outcome


async def test_beside_it_our_own_call_runs() -> None:
    engine, seen, bodies = await played(
        "anthropic", Reply(message_events(PLAIN, SEARCH, FOUND, USE, stop="tool_use")), Answer(Text("Done."))
    )
    assert [event.origin for event in only(seen, ev.CallAnnounced)] == ["provider", "native"]
    assert [message.role for message in engine.history] == ["user", "assistant", "tool", "assistant"]
    sent = [
        {name: value for name, value in block.items() if name != "cache_control"}
        for block in bodies[1]["messages"][1]["content"]
    ]
    assert sent == [PLAIN, SEARCH, FOUND, USE]


async def test_a_paused_answer_goes_on_where_it_stopped() -> None:
    replies = [
        Reply(message_events(THOUGHT, SEARCH, stop="pause_turn")),
        Reply(message_events(FOUND, {**PLAIN, "text": "One. "}, stop="pause_turn")),
        Reply(message_events(CITED)),
        Answer(Text("Done.")),
    ]
    _, seen, bodies = await played("anthropic", *replies, prompts=("go", "more"))
    assert [event.outcome for event in only(seen, ev.TurnFinished)] == ["completed"] * 2
    assert [len(body["messages"]) for body in bodies] == [1, 2, 2, 3]
    one = {**PLAIN, "text": "One. "}
    assert bodies[2]["messages"][1]["content"] == [THOUGHT, SEARCH, FOUND, one]
    assert bodies[3]["messages"][1]["content"] == [THOUGHT, SEARCH, FOUND, one, CITED]
    (finished,) = results_of(seen)
    assert finished.outcome.value == "succeeded"  # it began in one answer and ended in the next
    assert not only(seen, ev.Notice)


async def test_pauses_come_to_an_end() -> None:
    paused = Reply(message_events(THOUGHT, SEARCH, FOUND, stop="pause_turn"))
    _, seen, bodies = await played("anthropic", *[paused] * (MOST_PAUSES + 1))
    assert len(bodies) == MOST_PAUSES + 1
    assert ending(seen).error == f"The provider paused its answer {MOST_PAUSES + 1} times in a row."


async def test_a_turn_that_ends_while_paused_leaves_a_history_that_is_accepted() -> None:
    """Nobody goes on with the call of the provider that has no result, so it is ended and left out."""
    replies = [Reply(message_events(SEARCH, stop="pause_turn")), Reply.json({"error": {"message": "no"}}, 400)]
    engine, seen, bodies = await played("anthropic", *replies, Answer(Text("Done.")), prompts=("go", "more"))
    assert [result.outcome.value for result in results_of(seen)] == ["interrupted"]
    assert [event.outcome for event in only(seen, ev.TurnFinished)] == ["failed", "completed"]
    assert [message["role"] for message in bodies[2]["messages"]] == ["user"]
    assert isinstance(engine.history[1], AssistantMessage)
    assert engine.history[1].paused


async def test_a_console_that_died_beside_it_is_repaired_without_a_result_of_ours() -> None:
    events = Reply(message_events(SEARCH, stop="pause_turn"))
    _, seen, _ = await played("anthropic", events, Answer(Text("Done.")))
    until = next(number for number, event in enumerate(seen) if isinstance(event, ev.CallStarted)) + 1
    repaired = [*seen[:until], *closing_events(seen[:until])]
    assert [result.outcome.value for result in results_of(repaired)] == ["interrupted"]
    assert [message.role for message in Transcript.of(repaired).history] == ["user", "assistant"]  # what it had begun
    assert not any(isinstance(event, ev.Notice) and "/retry" in event.text for event in repaired)  # not ours to run


async def test_context_says_how_much_was_read_from_the_cache() -> None:
    engine, seen, _ = await played("anthropic", Answer(Text("Done."), usage=(1000, 5, 200)))
    report = context_report(engine, Transcript.of(seen), None)
    assert "200 of 1,000 tokens sent so far came from the cache (20%)." in report
