"""The engine's state is what its delivered events add up to, whatever is done, and the wire history is always valid."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallBroken, CallClosed, CallOpened, FinishChunk, TextChunk
from console_app.domain.errors import ProviderError, ToolError, UsageError
from console_app.domain.events import Decision, TodoItem
from console_app.domain.transcript import Transcript
from console_app.domain.transcript.views import GrowingText
from console_app.engine import Engine
from console_app.engine.context import WireHistory, normalise
from console_app.engine.engine import Activities
from console_app.sessions.recorder import to_store
from console_app.sessions.repair import closing_events
from tests.engine.peers import DONE, Line, Model, Tools, call, engine_of
from tests.engine.strict_history import check_messages
from tests.engine.virtual_time import run
from tests.examples import examples

WHAT = ["succeed", "fail", "raise", "hang", "wait", "stubborn", "chatty", "self_cancel"]
ACTS = ["turn", "turn", "turn", "manual", "rerun", "rerun", "compact", "undo", "uncompact", "todo", "model", "resume"]


def plain(value: Any) -> Any:
    """State as plain data, to be compared."""
    match cast("object", value):
        case str() | int() | float() | None:
            return value
        case dict():
            return {key: plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case set():
            return sorted(value)
        case GrowingText():
            return str(value)
        case BaseModel() as model:
            return model.model_dump()
        case _:
            return {name: plain(getattr(value, name)) for name in value.__slots__}


def state(transcript: Transcript) -> dict[str, Any]:
    return {name: plain(value) for name, value in vars(transcript).items()}


def stored_state(transcript: Transcript) -> dict[str, Any]:
    """Return the state that a resumed session has to know; progress and log lines are for the eyes only."""
    found = state(transcript)
    for one in [
        *found["calls"].values(),
        *(c for t in found["turns"] for s in t["steps"] for c in s["batch"]["calls"]),
    ]:
        for name in ("progress", "total", "message", "log", "news_at"):
            one.pop(name, None)
    found.pop("open_calls")
    found.pop("last_seq")
    return found


def answer(data: st.DataObject) -> list[Line]:
    lines: list[Line] = []
    if data.draw(st.booleans(), "text"):
        lines.append(TextChunk(data.draw(st.sampled_from(["Hm.", " ", "A longer text."]), "words")))
    for index in range(data.draw(st.integers(0, 3), "calls")):
        kind = data.draw(st.sampled_from(["whole", "whole", "text", "open", "broken", "unknown"]), "kind")
        id = data.draw(st.sampled_from(["", "same", f"id_{index}"]), "id")
        arguments = {"n": index, "do": data.draw(st.sampled_from(WHAT), "do")}
        match kind:
            case "open":
                lines.append(CallOpened(index, id, "demo_do"))
            case "broken":
                lines += [CallOpened(index, id, "demo_do"), CallBroken(index, "no JSON", "{")]
            case "unknown":
                lines += [CallOpened(index, id, "no such!"), CallClosed(index, "{}")]
            case "text":
                written = json.dumps(arguments)
                lines.append(CallOpened(index, "", "demo_do", "text"))
                lines.append(CallClosed(index, written, raw=f"<tool_call>{written}", repaired=("its end",), sure=False))
            case _:
                lines += call(index, arguments, id=id)
    end = data.draw(st.sampled_from(["stop", "stop", "tool_calls", "length", "lost", "raises"]), "end")
    if end == "raises":
        lines.append(ProviderError("the endpoint is gone"))
    elif end != "lost":
        lines.append(FinishChunk(end))  # type: ignore[arg-type]
    return lines


class Play:
    """A conversation under random use. `delivered` has the events that a face was given, `wire` outlives all of it."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.tools = Tools()
        self.engine: Engine = engine_of(Model(), self.tools, mode=ApprovalMode.ASK)
        self.delivered: list[ev.Event] = []
        self.wire = WireHistory(worth_keeping=2)

    async def act(self) -> None:
        engine = self.engine
        match self.data.draw(st.sampled_from(ACTS), "act"):
            case "turn":
                model = engine.provider
                assert isinstance(model, Model)
                model.answers[:] = [*([DONE] * len(model.requests)), answer(self.data), answer(self.data)]
                await self.drain(engine.start("go"))
            case "manual":
                from console_app.engine import ManualCall

                given = {"n": "m", "do": self.data.draw(st.sampled_from(WHAT), "do")}
                await self.drain(engine.start_manual("/call", [ManualCall("demo.do", given)]))
            case "rerun":
                ids = sorted(engine.transcript.call_ids)
                if ids:
                    id, edit = self.data.draw(st.sampled_from(ids), "id"), self.data.draw(st.booleans(), "edit")
                    try:
                        await self.drain(engine.rerun(id, {"n": "again"} if edit else None))
                    except ToolError:
                        pass
            case "compact":
                try:
                    await self.drain(engine.compact())
                except UsageError:
                    pass
            case "undo":
                self.told(engine.undo_turn())
            case "uncompact":
                self.told(engine.undo_compaction())
            case "todo":
                self.told(engine.edit_todo([TodoItem(content="x")]))
            case "model":
                engine.provider = Model()
                self.told(engine.session_event())
            case _:
                stored = [type(one).model_validate_json(one.model_dump_json()) for one in to_store(self.delivered)]
                assert stored_state(Transcript.of(stored)) == stored_state(engine.transcript)
                self.delivered = stored
                engine.go_on("s", Transcript.of(stored))

    def told(self, event: ev.Event | None) -> None:
        if event is not None:
            self.delivered.append(event)

    async def drain(self, activity: Activities) -> None:
        stop_at = self.data.draw(st.one_of(st.none(), st.integers(0, 12)), "stop at")
        leave = self.data.draw(st.booleans(), "leave")
        loop = asyncio.get_running_loop()
        loop.call_later(50, activity.cancel)
        async with activity:
            seen = 0
            while events := await activity.next_slice(4):
                self.delivered += events
                for event in events:
                    self.react(activity, event)
                seen += 1
                if seen == stop_at:
                    activity.cancel()
                    if leave:
                        break
        while events := await activity.next_slice(100):
            self.delivered += events
        for event in self.tools.events.values():
            event.set()

    def react(self, activity: Activities, event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            how = self.data.draw(st.sampled_from(["allow", "allow", "deny", "edit", "leave", "mode"]), "approval")
            acts: dict[str, Callable[[], object]] = {
                "allow": lambda: activity.resolve(event.call_id, Decision.ALLOW),  # type: ignore[union-attr]
                "deny": lambda: activity.resolve(event.call_id, Decision.DENY, feedback="no"),  # type: ignore[union-attr]
                "edit": lambda: activity.resolve(event.call_id, Decision.ALLOW, arguments={"n": "e"}),  # type: ignore[union-attr]
            }
            acts.get(how, lambda: None)()
        if isinstance(event, ev.CallStarted) and (turn := self.engine.turn) is not None:
            match self.data.draw(
                st.sampled_from(["", "", "retry", "edit", "cancel", "steer", "todo", "send"]), "during"
            ):
                case "retry":
                    turn.retry(event.call_id)
                case "edit":
                    turn.edit_and_run(event.call_id, {"n": "d"})
                case "cancel":
                    turn.cancel_call(event.call_id)
                case "steer":
                    turn.steer("and this")
                case "todo":
                    self.told(self.engine.edit_todo([TodoItem(content="y")]))
                case "send":
                    turn.send_now()
                case _:
                    pass

    def check(self) -> None:
        transcript = self.engine.transcript
        self.delivered.sort(key=lambda event: event.seq)
        folded = Transcript.of(self.delivered)
        assert state(folded) == state(transcript)
        check_messages(normalise(transcript.history))
        sent = self.wire.messages(transcript.history, transcript.compaction, None)
        check_messages(sent)
        assert sent == WireHistory(10**9).messages(transcript.history, transcript.compaction, None)
        stored = to_store(self.delivered)
        assert not closing_events(stored)
        assert all(view.outcome is not None for view in transcript.calls.values())


@examples(300, 25)
@given(st.data())
def test_the_engine_knows_what_its_events_say(data: st.DataObject) -> None:
    async def scene() -> None:
        play = Play(data)
        play.told(play.engine.session_event())
        for _ in range(data.draw(st.integers(1, 8), "acts")):
            await play.act()
            play.check()

    run(scene)


@examples(300, 25)
@given(st.data())
def test_a_session_that_died_anywhere_goes_on(data: st.DataObject) -> None:
    async def scene() -> None:
        play = Play(data)
        play.told(play.engine.session_event())
        for _ in range(data.draw(st.integers(1, 4), "acts")):
            await play.act()
        play.delivered.sort(key=lambda event: event.seq)
        died = play.delivered[: data.draw(st.integers(1, len(play.delivered)), "died at")]
        stored = to_store(died)
        closed = [*stored, *closing_events(stored)]
        assert not closing_events(closed)
        transcript = Transcript.of(closed)
        history = transcript.history
        check_messages(normalise(history))
        for turn in transcript.turns:
            assert turn.outcome is not None
        assert all(view.outcome is not None for view in transcript.calls.values())
        results = [message.tool_call_id for message in history if message.role == "tool"]
        assert len(results) == len(set(results))
        asked = {one.id: one for message in history if message.role == "assistant" for one in message.tool_calls}
        assert set(asked) == set(results) == set(transcript.calls)
        for id, view in transcript.calls.items():
            assert asked[id].origin == view.origin
            written = (
                view.superseded[0] if view.superseded else view
            ).arguments  # by the model; you may have edited them
            assert asked[id].whole or written is None
            assert view.arguments is not None or not asked[id].whole
            assert asked[id].repaired == view.repaired
        engine = engine_of(Model(), Tools())
        engine.go_on("s", transcript)
        async with engine.start("and now?") as turn:
            while await turn.next_slice(100):
                pass
        check_messages(engine.provider.requests[0].messages)  # type: ignore[attr-defined]

    run(scene)
