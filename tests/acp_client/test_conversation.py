"""An agent of others as the conversation itself: its turns, what stops them, and what it lets its user choose."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from console_app.acp_client import AcpModel, AgentProgram
from console_app.domain import ApprovalMode, Decision, FanoutError
from console_app.domain import events as ev
from console_app.domain.tools import Outcome, ServerIdentity
from console_app.domain.transcript import Transcript
from console_app.engine import Engine, Turn
from console_app.engine.context import normalise
from tests.engine.peers import ending, engine_of, only, play
from tests.engine.strict_history import check_messages

SCRIPT = Path(__file__).with_name("scripted_agent.py")
KNOWN = ServerIdentity(digest="d", text="scripted")


@pytest.fixture
async def conversation() -> AsyncIterator[Callable[..., Engine]]:
    made: list[Engine] = []

    def begun(scenario: str = "talk", mode: ApprovalMode = ApprovalMode.ASK, model: str = "") -> Engine:
        command = (sys.executable, "-S", str(SCRIPT), scenario)
        program = AgentProgram("scripted", command, KNOWN, {"PATH": os.environ["PATH"]})
        made.append(engine_of(AcpModel(program, model), mode=mode))
        return made[-1]

    yield begun
    for engine in made:
        check_messages(normalise(engine.history))
        assert not engine.transcript.open_calls
        await engine.close()


def said(engine: Engine) -> list[str]:
    return [message.content for message in engine.history if message.role == "assistant"]


async def test_each_prompt_goes_to_the_same_program_alone(conversation: Callable[..., Engine]) -> None:
    engine = conversation()
    for prompt in ("one", "two"):
        assert ending(await play(engine, prompt)).outcome == "completed"
    assert said(engine) == ["<one>", "<two>"]


async def test_its_calls_are_panels_and_its_questions_wait_on_the_board(conversation: Callable[..., Engine]) -> None:
    engine = conversation("three")

    def decide(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            assert event.why.startswith("scripted asks: Do ")
            assert turn.resolve(event.call_id, Decision.DENY if event.call_id == "b" else Decision.ALLOW)

    events = await play(engine, react=decide)
    assert said(engine) == ["a=yes b=no c=yes"]
    outcomes = {event.call_id: event.outcome for event in only(events, ev.CallFinished)}
    assert outcomes == {"a": Outcome.SUCCEEDED, "b": Outcome.DENIED, "c": Outcome.SUCCEEDED}
    assert {call.parent for call in engine.transcript.calls.values()} == {""}
    assert Transcript.of(events).history == engine.history


@pytest.mark.parametrize("do", ["wait", "insist", "hang"])
async def test_stopped_it_is_asked_again_or_started_anew(conversation: Callable[..., Engine], do: str) -> None:
    engine = conversation()

    def stop(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.TextDelta | ev.ApprovalRequested):
            turn.cancel()

    await play(engine, "first")
    events = await play(engine, f"now {do}", react=stop)
    assert ending(events).outcome == "cancelled"
    if do != "hang":
        assert [event.outcome for event in only(events, ev.CallFinished)] == [Outcome.CANCELLED]
        await play(engine, "next")
        assert said(engine)[-1] == "<next>"
    else:
        pid = int(only(events, ev.TextDelta)[0].text)
        assert "does not stop" in (ending(await play(engine, "next")).error or "")
        assert not Path(f"/proc/{pid}").exists()
        await play(engine, "then")
        assert said(engine)[-1].startswith("<[Fanout: this was said before")
        assert "user: first" in said(engine)[-1]
        assert said(engine)[-1].endswith("then>")


async def test_one_that_died_is_started_anew_and_told_what_was_said(conversation: Callable[..., Engine]) -> None:
    engine = conversation()
    await play(engine, "one")
    events = await play(engine, "die")
    assert ending(events).error == "Agent: scripted: it exited with code 3"
    assert [event.outcome for event in only(events, ev.CallFinished)] == [Outcome.INTERRUPTED]
    await play(engine, "two")
    assert "assistant: <one>" in said(engine)[-1]


async def test_what_is_said_meanwhile_is_its_next_prompt(conversation: Callable[..., Engine]) -> None:
    engine = conversation()

    def steer(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.StepStarted) and event.step == 1:
            turn.steer("two")

    await play(engine, "one", react=steer)
    assert said(engine) == ["<one>", "<two>"]


async def test_plan_mode_denies_what_it_asks_for(conversation: Callable[..., Engine]) -> None:
    engine = conversation(mode=ApprovalMode.PLAN)
    await play(engine, "go ask")
    assert said(engine) == ["no"]


async def test_modes_and_models_are_chosen_where_it_offers_them(conversation: Callable[..., Engine]) -> None:
    engine = conversation(model="small")
    agent = engine.provider
    assert isinstance(agent, AcpModel)
    assert agent.offers == ()
    with pytest.raises(FanoutError, match="has not been started"):
        await agent.choose("mode", "code")
    await play(engine, "hello")
    assert {offer.id: offer.value for offer in agent.offers} == {"m": "small", "mode": "ask"}
    assert (await agent.choose("mode", "Code")).value == "code"
    assert (await agent.choose("model", "big")).value == "big"
    assert {offer.id: offer.value for offer in agent.offers} == {"m": "big", "mode": "code"}
    with pytest.raises(FanoutError, match="scripted: it has no mode fly"):
        await agent.choose("mode", "fly")


async def test_a_no_may_end_its_answer_and_words_with_it_are_the_next_prompt(
    conversation: Callable[..., Engine],
) -> None:
    engine = conversation()

    def decide(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            turn.resolve(event.call_id, Decision.DENY, feedback="do it so")

    events = await play(engine, "now sulk", react=decide)
    assert ending(events).outcome == "completed"
    assert {event.call_id: event.outcome for event in only(events, ev.CallFinished)} == {
        "a": Outcome.DENIED,
        "b": Outcome.INTERRUPTED,
    }
    assert said(engine) == ["<About scripted.execute, which I denied: do it so>"]


async def test_no_summary_is_asked_of_it(conversation: Callable[..., Engine]) -> None:
    engine = conversation()
    for prompt in ("one", "two", "three"):
        await play(engine, prompt)
    async with engine.compact() as compacting:
        events = [event async for event in compacting]
    assert any("is an agent" in event.text for event in only(events, ev.Notice))


async def test_what_it_spends_stops_it_at_once_at_the_limit(conversation: Callable[..., Engine]) -> None:
    engine = conversation("spends")
    engine.settings = replace(engine.settings, max_price=0.4)
    events = await play(engine)
    assert ending(events).outcome == "failed"
    assert str(ending(events).error).startswith("Price limit: this turn has cost $")


@pytest.mark.parametrize(("scenario", "told"), [("loads", "session/load <two>"), ("forgets", "session/new <[Fanout:")])
async def test_a_session_gone_on_with_goes_on_with_the_agents_own_where_it_has_it(
    conversation: Callable[..., Engine], scenario: str, told: str
) -> None:
    first, second = conversation(scenario), conversation(scenario)
    events = await play(first, "one")
    second.go_on("s", Transcript.of(events))
    await play(second, "two")
    assert said(second)[0] == "session/new <one>"
    assert said(second)[1].startswith(told)
    assert len(said(second)) == 2  # what the agent repeated is there once
