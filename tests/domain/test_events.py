"""Events are pure data: every one survives JSON, and messages survive being events."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.tools import Outcome, ToolCall
from tests.examples import examples

EVENTS = list(get_args(ev.Event))

text = st.text(st.characters(codec="utf-8"))
calls = st.builds(ToolCall, id=text, name=text, arguments=text)
messages = st.one_of(
    st.builds(UserMessage, content=text),
    st.builds(
        AssistantMessage,
        content=text,
        tool_calls=st.lists(calls, max_size=3).map(tuple),
        reasoning=st.lists(st.builds(Reasoning, provider=text, text=text), max_size=2).map(tuple),
        interrupted=st.booleans(),
    ),
    st.builds(ToolMessage, tool_call_id=text, content=text, name=text, outcome=st.sampled_from(Outcome)),
)
json_object = st.dictionaries(
    text,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)
arguments = {ev.CallReady: json_object, ev.ApprovalResolved: st.none() | json_object}


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.__name__)
@examples(50)
@given(data=st.data())
def test_every_event_comes_back_from_json_as_it_went(event: type[ev.BaseEvent], data: st.DataObject) -> None:
    own = {"arguments": arguments[event]} if event in arguments else {}
    made = data.draw(st.builds(event, session_id=text, at=st.floats(0, 1e10), **own))
    again = ev.EVENT.validate_json(made.model_dump_json())
    assert type(again) is event
    assert again.model_dump_json() == made.model_dump_json()


def test_types_are_distinct_and_follow_one_form() -> None:
    types = [event.model_fields["type"].default for event in EVENTS]
    assert len(set(types)) == len(types)
    assert all("." in t or t == "notice" for t in types)


@given(messages)
def test_a_message_survives_being_an_event(message: UserMessage | AssistantMessage | ToolMessage) -> None:
    event = ev.MessageAdded.of(message)
    assert event.message is message
    assert event == ev.MessageAdded(**ev.MessageAdded.fields_of(message))
    assert ev.EVENT.validate_json(event.model_dump_json()).message == message  # type: ignore[union-attr]


def test_events_are_frozen() -> None:
    event = ev.TextDelta(text="a")
    with pytest.raises(ValidationError):
        event.text = "b"  # type: ignore[misc]


def test_a_field_of_a_newer_version_is_ignored() -> None:
    event = ev.EVENT.validate_python({"type": "notice", "text": "hello", "colour_of_the_future": 1})
    assert isinstance(event, ev.Notice)
