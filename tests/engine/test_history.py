"""Whatever a history has been through, what goes on the wire is valid, and repairing it twice changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.messages import AssistantMessage, Message, Reasoning, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import Outcome, ToolCall
from console_app.engine.context import normalise
from tests.engine.strict_history import check_messages
from tests.providers import strict_wire

USER = UserMessage(content="go")


def asked(*ids: str, content: str = "") -> AssistantMessage:
    return AssistantMessage(content=content, tool_calls=tuple(ToolCall(id=call_id, name="t") for call_id in ids))


def result(call_id: str, content: str = "ok") -> ToolMessage:
    return ToolMessage(tool_call_id=call_id, content=content, name="t")


def pairs(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.tool_call_id, message.content) for message in messages if message.role == "tool"]


def test_a_valid_history_stays_as_it_is() -> None:
    history = (USER, asked("a", "b", content="text"), result("a"), result("b"), AssistantMessage(content="done"))
    assert normalise(history) == history
    assert all(mine is theirs for mine, theirs in zip(normalise(history), history, strict=True))


def test_a_missing_result_is_filled_in() -> None:
    messages = normalise([USER, asked("a", "b"), result("b")])
    assert pairs(messages) == [("a", "Interrupted before completion."), ("b", "ok")]
    assert messages[2].outcome is Outcome.INTERRUPTED  # type: ignore[union-attr]


def test_results_come_in_call_order_right_after_their_message() -> None:
    messages = normalise([USER, asked("a", "b"), result("b", "B"), UserMessage(content="hm"), result("a", "A")])
    assert [message.role for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert pairs(messages) == [("a", "A"), ("b", "B")]


def test_second_results_and_orphans_go() -> None:
    messages = normalise([result("x"), USER, asked("a"), result("a", "first"), result("a", "second"), result("y")])
    assert pairs(messages) == [("a", "first")]


def test_an_id_used_twice_is_made_unique_and_keeps_its_own_result() -> None:
    first = [asked("a", "a", "a_2"), result("a", "1"), result("a", "2"), result("a_2", "3")]
    messages = normalise([USER, *first, asked("a"), result("a", "4")])
    assert pairs(messages) == [("a", "1"), ("a_3", "2"), ("a_2", "3"), ("a_4", "4")]
    check_messages(messages)


def test_messages_of_the_user_in_a_row_become_one() -> None:
    said = (USER, UserMessage(content="[stopped]", origin="fanout"), UserMessage(content="again"))
    assert normalise(said) == (UserMessage(content="go\n\n[stopped]\n\nagain", parts=said),)


def test_empty_messages_go_and_reasoning_stays_with_its_calls() -> None:
    thought = Reasoning(provider="anthropic", text="hm")
    messages = normalise(
        [
            UserMessage(content=" "),
            USER,
            AssistantMessage(content=" \n", reasoning=(thought,)),
            AssistantMessage(content="\n", tool_calls=(ToolCall(id="a", name="t"),), reasoning=(thought,)),
        ]
    )
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert messages[1] == AssistantMessage(tool_calls=(ToolCall(id="a", name="t"),), reasoning=(thought,))


def test_names_and_arguments_that_no_api_takes_are_made_legal() -> None:
    call = ToolCall(id="a", name="functions.do it!" + "x" * 99, arguments='{"cut": ')
    message = normalise([USER, AssistantMessage(tool_calls=(call,))])[1]
    assert message.tool_calls[0].name.startswith("functions_do_it_xxx")  # type: ignore[union-attr]
    assert message.tool_calls[0].arguments == "{}"  # type: ignore[union-attr]


ids = st.sampled_from(["", "a", "b", "a_2", "call_1", "call_1_2", "f.do:0", "f_do_0", "x" * 80])
texts = st.sampled_from(["", " ", "text", "more"])
messages_of_any_kind = st.one_of(
    st.builds(UserMessage, content=texts),
    st.builds(
        AssistantMessage,
        content=texts,
        tool_calls=st.lists(
            st.builds(
                ToolCall,
                id=ids,
                name=st.sampled_from(["demo_do", "", "x y", "n" * 80]),
                arguments=st.sampled_from(["{}", '{"a": 1}', "", "[]", '{"a"']),
            ),
            max_size=4,
        ).map(tuple),
    ),
    st.builds(ToolMessage, tool_call_id=ids, content=st.sampled_from(["ok", "bad"])),
)


@given(st.lists(messages_of_any_kind, max_size=14))
def test_any_history_becomes_valid(history: list[Message]) -> None:
    once = normalise(history)
    check_messages(once)
    assert normalise(once) == once
    if once:
        strict_wire.check_history(ModelRequest(messages=once))


def test_a_thought_and_the_act_after_it_stay_two_answers() -> None:
    kept = [Reasoning(provider="anthropic", data={"type": "thinking", "signature": name}) for name in "ab"]
    messages = normalise(
        [
            UserMessage(content="go"),
            AssistantMessage(content="Hm.", reasoning=(kept[0],), label="think"),
            AssistantMessage(content="So.", reasoning=(kept[1],)),
        ]
    )
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    check_messages(messages)
    assert normalise(messages) == messages


def test_what_fanout_and_the_user_say_in_a_row_counts_as_the_users() -> None:
    said = (UserMessage(content="note", origin="fanout"), UserMessage(content="go"))
    assert normalise(said) == (UserMessage(content="note\n\ngo", parts=said),)
