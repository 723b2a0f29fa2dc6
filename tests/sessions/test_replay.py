"""Replay and a recovered session show the progress and log lines of a running call, in their time."""

from __future__ import annotations

import itertools
from pathlib import Path

from console_app.domain import AssistantMessage, ToolCall, ToolMessage
from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.sessions import Replay, Store
from console_app.sessions.recorder import MOST_OUTPUT, SAMPLES, StoredSamples, to_store
from console_app.sessions.repair import closing_events


def running(*news: ev.Event) -> list[ev.Event]:
    """A turn whose call `a` runs since second 100, with `news` of it, stamped but for their time."""
    at = {"session_id": "s", "turn": 1, "step": 1, "at": 100.0}
    events: list[ev.Event] = [
        ev.TurnStarted(**at, prompt="go"),
        ev.StepStarted(**at),
        ev.CallAnnounced(**at, call_id="a", index=0, name="x"),
        ev.CallReady(**at, call_id="a", arguments={}),
        ev.CallStarted(**at, call_id="a"),
        *(event.model_copy(update={"session_id": "s", "turn": 1, "step": 1}) for event in news),
    ]
    return [event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, 1)]


async def test_of_a_flood_of_progress_ten_a_second_are_kept_and_played(tmp_path: Path) -> None:
    flood = [ev.CallProgress(call_id="a", progress=n, at=100 + n / 100) for n in range(500)]
    events, sampling = running(*flood), StoredSamples()
    store = Store(tmp_path / "sessions.db")
    for at in range(0, len(events), 16):  # in slices, as a turn comes
        await store.append(to_store(events[at : at + 16], sampling))
    kept = [event for event in await store.load("s") if isinstance(event, ev.CallProgress)]
    assert SAMPLES * 4 <= len(kept) <= SAMPLES * 6
    assert kept[-1].at > 104.8
    played = [event async for event in Replay(await store.load("s"), speed=1000).play()]
    assert [event for event in played if isinstance(event, ev.CallProgress)] == kept
    await store.close()


def test_calls_are_sampled_each_for_itself_and_lines_as_progress() -> None:
    news = [ev.CallLog(call_id=one, text=str(n), at=100.0) for n in range(30) for one in "ab"]
    kept = [event.call_id for event in to_store(running(*news)) if isinstance(event, ev.CallLog)]
    assert (kept.count("a"), kept.count("b")) == (SAMPLES, SAMPLES)


async def test_progress_stays_when_its_turn_is_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    events = running(ev.CallProgress(call_id="a", progress=1, at=101.0))
    await store.append(to_store(events))
    await store.append(closing_events(events))
    assert [event.type for event in await store.load("s")].count("call.progress") == 1
    await store.close()


def test_a_call_that_was_cut_ran_as_long_as_was_seen() -> None:
    events = running(ev.CallProgress(call_id="a", progress=1, at=107.5))
    transcript = Transcript()
    for event in [*events, *closing_events(events)]:
        transcript.apply(event)
    [call] = transcript.calls.values()
    assert (call.outcome, call.duration_ms) == (Outcome.INTERRUPTED, 7500)


def test_a_call_that_never_ran_has_no_duration() -> None:
    [finished] = [event for event in closing_events(running()[:-1]) if isinstance(event, ev.CallFinished)]
    assert finished.duration_ms == 0


class Passed:
    """Time that only passes where it is slept."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += seconds


async def test_a_recording_in_which_the_clock_was_set_back_goes_on_in_its_time() -> None:
    times = [100.0, 101.0, 50.0, 51.0, 52.0]
    events = [ev.Notice(session_id="s", seq=seq, text="x", at=at) for seq, at in enumerate(times, 1)]
    replay, seen = Replay(events, clock=(time := Passed()).now, sleep=time.sleep), []
    async for event in replay.play():
        seen.append((event.at, replay.now()))
    assert seen == [(at, at) for at in times], "its clock is that of the recording again"


async def test_output_is_kept_whole_in_ten_pieces_a_second_and_to_its_end(tmp_path: Path) -> None:
    text = [f"line {n:>5}\n" for n in range(100)]
    flood = [
        ev.CallOutput(call_id="a", stream="stdout", text=one, offset=12 * n - 1 * n, at=100 + n / 20)
        for n, one in enumerate(text)
    ]
    end = ev.CallFinished(call_id="a", outcome=Outcome.SUCCEEDED, content="done", at=105.1)
    events, sampling = running(*flood, end), StoredSamples()
    store = Store(tmp_path / "sessions.db")
    for at in range(0, len(events), 3):
        await store.append(to_store(events[at : at + 3], sampling))
    loaded = await store.load("s")
    kept = [event for event in loaded if isinstance(event, ev.CallOutput)]
    assert "".join(event.text for event in kept) == "".join(text)
    assert len(kept) < 75
    assert [event.seq for event in loaded] == sorted(event.seq for event in loaded)
    view = Transcript.of(loaded).calls["a"]
    assert view.output is not None
    assert view.output.lines() == [one.rstrip() for one in text]
    await store.close()


def test_of_output_too_fast_to_store_each_piece_has_the_newest() -> None:
    flood = [
        ev.CallOutput(call_id="a", stream="stdout", text="x" * 999 + "\n", offset=1000 * n, at=100 + n / 1000)
        for n in range(5000)
    ]
    kept = [event for event in to_store(running(*flood)) if isinstance(event, ev.CallOutput)]
    assert SAMPLES * 5 <= len(kept) <= SAMPLES * 7
    assert all(len(event.text) <= MOST_OUTPUT for event in kept)
    for before, event in itertools.pairwise(kept):
        assert event.offset == before.offset + len(before.text) + event.dropped


def test_a_call_in_the_background_that_was_cut_is_told_to_the_model_of_a_resumed_session() -> None:
    at = {"session_id": "s", "turn": 1, "step": 1, "at": 101.0}
    still = ToolMessage(tool_call_id="a", content="it still runs", name="x")
    more = [
        ev.CallDetached(call_id="a"),
        ev.CallOutput(call_id="a", stream="stdout", text="half of it\n", offset=0),
        ev.MessageAdded.of(AssistantMessage(tool_calls=(ToolCall(id="a", name="x", arguments="{}"),))),
        ev.MessageAdded.of(still),
        ev.TurnFinished(outcome="completed"),
    ]
    events = [*running(), *(one.model_copy(update=at | {"seq": 6 + n}) for n, one in enumerate(more))]
    closing = closing_events(events)
    assert [type(event) for event in closing] == [ev.CallFinished, ev.MessageAdded, ev.Notice]
    transcript = Transcript.of([*events, *closing])
    assert transcript.calls["a"].outcome is Outcome.INTERRUPTED
    assert "half of it" in transcript.history[-1].content
    assert transcript.history[-1].role == "user"
    assert closing_events([*events, *closing]) == []
