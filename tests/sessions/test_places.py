"""Forks at any message, turns undone, and replays in their own time."""

from __future__ import annotations

from pathlib import Path

from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.tools import Outcome, ToolCall
from console_app.domain.transcript import Transcript
from console_app.sessions import ForkPoint, Replay, Store
from console_app.sessions.library import LONGEST_PAUSE


def message(kind: UserMessage | AssistantMessage | ToolMessage) -> ev.MessageAdded:
    return ev.MessageAdded(**ev.MessageAdded.fields_of(kind))


def turn(number: int, prompt: str, answer: str) -> list[ev.Event]:
    """A turn with a call, then an answer."""
    call = ToolCall(id=f"c{number}", name="lab_echo")
    events: list[ev.Event] = [
        ev.TurnStarted(prompt=prompt),
        message(UserMessage(content=prompt)),
        ev.StepStarted(),
        ev.CallAnnounced(call_id=call.id, index=0, name=call.name),
        ev.CallReady(call_id=call.id, arguments={}),
        ev.CallStarted(call_id=call.id),
        ev.CallFinished(call_id=call.id, outcome=Outcome.SUCCEEDED, content="so"),
        message(AssistantMessage(content="I look.", tool_calls=(call,))),
        message(ToolMessage(tool_call_id=call.id, content="so", name=call.name)),
        ev.StepStarted(),
        message(AssistantMessage(content=answer)),
        ev.TurnFinished(outcome="completed"),
    ]
    return [event.model_copy(update={"turn": number}) for event in events]


def session(*events: ev.Event) -> list[ev.Event]:
    return [
        event.model_copy(update={"session_id": "s", "seq": n, "at": 100.0 + n}) for n, event in enumerate(events, 1)
    ]


TWO = session(*turn(1, "first", "One."), *turn(2, "second", "Two."))


def folded(events: list[ev.Event]) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


async def test_every_place_makes_a_whole_session(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    await store.add(TWO)
    found = ForkPoint.all_of(TWO)
    assert [place.label for place in found] == [
        *("before: first", "after: I look. · 1 call", "after: One."),
        *("before: second", "after: I look. · 1 call", "after: Two."),
    ]
    last: list[str] = []
    for place in found[1:]:
        fork = folded(await store.load(await store.fork("s", place.up_to)))
        asked = [call.id for m in fork.history if isinstance(m, AssistantMessage) for call in m.tool_calls]
        assert asked == [m.tool_call_id for m in fork.history if isinstance(m, ToolMessage)]
        assert all(turn.outcome is not None for turn in fork.turns)
        last.append(fork.history[-1].content)
    assert last == ["so", "One.", "One.", "so", "Two."]
    assert found[3].prompt == "second"
    await store.close()


def test_an_undone_turn_leaves_the_history_and_can_be_forked_back() -> None:
    undone = session(*TWO, ev.TurnUndone(undone=2), *turn(3, "third", "Three."))
    transcript = folded(undone)
    assert [turn.prompt for turn in transcript.turns] == ["first", "third"]
    assert [m.content for m in transcript.history if isinstance(m, UserMessage)] == ["first", "third"]
    assert set(transcript.calls) == {"c1", "c3"}
    labels = [place.label for place in ForkPoint.all_of(undone)]
    assert "before: second (undone)" in labels
    assert "after: Two. (undone)" in labels
    assert folded([*TWO, ev.TurnUndone(undone=1)]).turns[0].number == 1, "only the newest can be undone"


def test_a_turn_that_is_not_there_has_no_end() -> None:
    assert ForkPoint.end_of(TWO, 1) == 12
    assert ForkPoint.end_of(TWO, 7) is None


async def test_a_replay_gives_every_event_in_order_and_cuts_only_pauses_between_turns() -> None:
    late = [event.model_copy(update={"at": event.at + 3600.0}) if event.turn == 2 else event for event in TWO]
    replay = Replay(late, speed=10_000)
    played = [event async for event in replay.play()]
    assert [event for event in played if not isinstance(event, ev.TextDelta)] == late
    assert [event.text for event in played if isinstance(event, ev.TextDelta)] == ["I look.", "I look."]
    assert replay.now() >= late[-1].at - LONGEST_PAUSE
