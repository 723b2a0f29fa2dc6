"""Checks that hold after every turn: a history that all three wire formats accept, and events without a slip."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence

from console_app.domain import events as ev
from console_app.domain.messages import Message, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.transcript import ToModel, Transcript
from console_app.engine import Engine
from console_app.engine.context import normalise
from tests.providers import strict_wire

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_messages(messages: Sequence[Message]) -> None:
    """The rules that OpenAI chat, OpenAI Responses and Anthropic have in common, at their strictest."""
    ids: set[str] = set()
    place = 0
    before = "start"
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.role == "user":
            assert before != "user", "two user messages in a row"
            assert message.content.strip(), "an empty user message"
        elif message.role == "assistant":
            assert before in ("user", "tool"), f"an assistant message after {before}"
            assert message.content.strip() or message.tool_calls, "an empty assistant message"
            for call in message.tool_calls:
                assert call.id, "a call without id"
                assert call.id not in ids, f"id {call.id} twice"
                assert _NAME.fullmatch(call.name), f"name {call.name!r}"
                assert isinstance(json.loads(call.arguments), dict)
                ids.add(call.id)
            for call in message.tool_calls:
                assert place < len(messages), "a result is missing"
                result = messages[place]
                place += 1
                assert result.role == "tool"
                assert result.tool_call_id == call.id, "a result out of order"
                assert result.content
            if message.tool_calls:
                before = "tool"
                continue
        else:
            raise AssertionError("a result without its call")
        before = message.role


def check_history(engine: Engine) -> None:
    """The history as it stands goes on the wire, and so does the next prompt after it."""
    messages = normalise(engine.history)
    check_messages(messages)
    goes_on = normalise([*engine.history, UserMessage(content="go on")])
    strict_wire.check_history(ModelRequest(messages=goes_on, tools=tuple(engine.toolset.tools())))
    requests: list[ModelRequest] = engine.provider.requests  # type: ignore[attr-defined]
    for request, later in itertools.zip_longest(requests, requests[1:]):
        if later is None or not _is_beginning(request, later):
            check_messages(request.messages)
            strict_wire.check_history(request)
    assert normalise(messages) == messages
    # What joined is already in order: nothing had to be filled in or left out.
    assert _results(engine.history) == _results(messages)


def _is_beginning(request: ModelRequest, later: ModelRequest) -> bool:
    """Tell whether `request` stands in front of a later one and ends where one may: then judging the later one
    judges both, and a turn of many steps is read once."""
    end = len(request.messages)
    if end >= len(later.messages) or request.messages != later.messages[:end] or request.tools != later.tools:
        return False
    return request.messages[-1].role != "assistant" and later.messages[end].role == "assistant"


def _results(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.tool_call_id, message.content) for message in messages if message.role == "tool"]


def check_events(events: Sequence[ev.Event]) -> None:
    """Numbers without a gap, one result a call, nothing of a call after its result, and a turn that ends last."""
    assert [event.seq for event in events] == list(range(events[0].seq, events[0].seq + len(events)))
    assert isinstance(events[0], ev.TurnStarted)
    assert sum(isinstance(event, ev.TurnFinished) and not event.agent for event in events) == 1
    announced: set[str] = set()
    finished: Counter[str] = Counter()
    last: dict[str, str] = {}
    dropped: set[str] = set()
    made: set[str] = set()  # by programs of ours: their results are the program's, and none of the history
    theirs: set[str] = set()  # calls that the provider runs itself, its programs too
    whose: dict[str, str] = {}  # by call, the agent that made it
    for event in events:
        match event:
            case ev.CallAnnounced():
                assert event.call_id not in announced
                announced.add(event.call_id)
                whose[event.call_id] = event.agent
                if event.origin == "provider":
                    theirs.add(event.call_id)
                elif event.parent and event.parent not in theirs and whose[event.parent] == event.agent:
                    made.add(event.call_id)
            case ev.CallRestarted():
                assert event.call_id in announced
                finished.pop(event.call_id, None)  # what came before is superseded
            case ev.CallFinished():
                assert event.call_id in announced
                finished[event.call_id] += 1
                last[event.call_id] = event.content
            case ev.CallDropped():
                dropped.add(event.call_id)
            case (
                ev.CallReady()
                | ev.CallStarted()
                | ev.CallQueued()
                | ev.CallProgress()
                | ev.CallLog()
                | ev.CallOutput()
                | ev.CallDetached()
                | ev.CallExtended()
                | ev.ApprovalResolved()
            ):
                assert event.call_id not in finished, f"{event.type} after the result"
            case _:
                pass
    detached = {event.call_id for event in events if isinstance(event, ev.CallDetached)}
    assert all(finished[call_id] == 1 for call_id in announced if call_id not in dropped | detached)
    assert not dropped & set(finished)
    # One tool message a call, and it says what the last run of the call came to.
    told = [
        (event.tool_call_id, event.content)
        for event in events
        if isinstance(event, ev.MessageAdded) and event.tool_call_id
    ]
    waits = {call_id for call_id, content in told if content == ToModel.IN_BACKGROUND}
    assert waits <= detached
    assert sorted(one for one in told if one[0] not in waits) == sorted(
        one for one in last.items() if one[0] not in waits | made | theirs
    )
    for agent in dict.fromkeys(event.agent for event in events):
        _check_messages_added([event for event in events if event.agent == agent])


def _check_messages_added(events: Sequence[ev.Event]) -> None:
    """Tool messages follow their assistant message, in call order, with no event between."""
    for place, event in enumerate(events):
        if isinstance(event, ev.MessageAdded) and event.role == "assistant":
            wanted = [call.id for call in event.tool_calls or ()]
            following = [
                after.tool_call_id if isinstance(after, ev.MessageAdded) and after.role == "tool" else None
                for after in events[place + 1 : place + 1 + len(wanted)]
            ]
            assert following == wanted


def check_turn(engine: Engine, events: Sequence[ev.Event]) -> None:
    """Everything that must hold after a turn whose events were all read; the turn must be the session's first."""
    check_events(events)
    check_history(engine)
    transcript = Transcript()
    for event in events:
        assert ev.EVENT.validate_json(ev.EVENT.dump_json(event)) == event
        transcript.apply(event)
    assert transcript.history == engine.history
