"""A turn shows the user its answer, calls side by side, and results in call order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import CallPolicy
from console_app.domain.chunks import (
    CallBroken,
    CallClosed,
    CallDelta,
    CallOpened,
    CallWithdrawn,
    FinishChunk,
    NoticeChunk,
    ReasoningChunk,
    ReasoningFinished,
    RetryChunk,
    TextChunk,
    TextReplaced,
    UsageChunk,
)
from console_app.domain.errors import AnswerInterrupted, ProviderError
from console_app.domain.messages import AssistantMessage, Reasoning, UserMessage
from console_app.domain.tools import ToolCall
from tests.each import each
from tests.engine.peers import (
    DONE,
    Model,
    Tools,
    call,
    calls,
    ending,
    engine_of,
    only,
    outcomes,
    play,
    spec,
    tool_texts,
)
from tests.engine.strict_history import check_history, check_turn
from tests.engine.virtual_time import run


def test_an_answer_without_calls_ends_the_turn() -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("Hel"), TextChunk("lo"), FinishChunk("stop")]))
        events = await play(engine, "hi")
        assert ending(events).outcome == "completed"
        assert engine.history == [UserMessage(content="hi"), AssistantMessage(content="Hello")]
        parts = {part.name: part.characters for part in engine.context_parts(engine.transcript)}
        assert (parts["you"], parts["the model"]) == (2, 5)
        check_turn(engine, events)

    run(scene)


def test_three_calls_run_side_by_side_and_join_in_call_order(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(
            Model(calls({"n": "a", "seconds": 3}, {"n": "b", "seconds": 1}, {"n": "c", "seconds": 2})), tools
        )
        with caplog.at_level(logging.INFO):
            events = await play(engine)
        assert tools.most_running == 3
        assert tools.ended == ["b", "c", "a"]
        assert tool_texts(engine) == ["result of a", "result of b", "result of c"]
        batch = only(events, ev.BatchFinished)[0]
        assert (batch.calls, batch.wall_ms, batch.summed_ms) == (3, 3000, 6000)
        assert "Executing 3 tool calls in parallel" in caplog.messages
        check_turn(engine, events)

    run(scene)


def test_one_call_alone_writes_no_line_about_parallel_calls(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        with caplog.at_level(logging.INFO):
            await play(engine_of(Model(calls({}))))
        assert not [line for line in caplog.messages if "parallel" in line]

    run(scene)


def test_a_call_starts_while_the_answer_still_streams() -> None:
    async def scene() -> None:
        tools = Tools()
        rest = asyncio.Event()
        model = Model([*call(0, {"n": "a"}), rest, *call(1, {"n": "b"}), FinishChunk("tool_calls")])

        def when_a_has_ended(turn: object, event: ev.Event) -> None:
            if isinstance(event, ev.CallFinished):
                rest.set()

        engine = engine_of(model, tools)
        events = await play(engine, react=when_a_has_ended)
        assert tools.ended == ["a", "b"]
        check_turn(engine, events)

    run(scene)


@each("how", ["batch setting", "not sure"])
def test_calls_that_are_only_sure_at_the_end_wait_for_it(how: str) -> None:
    async def scene() -> None:
        tools = Tools()
        ran_early: list[int] = []
        model = Model(
            [
                CallOpened(0, "", "demo_do"),
                CallClosed(0, "{}", sure=how != "not sure"),
                *[UsageChunk(1, 1)] * 40,
                lambda: ran_early.append(len(tools.ran)),
                FinishChunk("stop"),
            ]
        )
        engine = engine_of(model, tools, dispatch="batch" if how == "batch setting" else "eager")
        events = await play(engine)
        assert ran_early == [0]
        assert outcomes(engine) == ["succeeded"]
        check_turn(engine, events)

    run(scene)


def test_one_failing_call_leaves_its_siblings_alone() -> None:
    async def scene() -> None:
        doings = ["succeed", "fail", "raise", "error", "exit", "self_cancel", "succeed"]
        engine = engine_of(Model(calls(*({"n": n, "do": do, "seconds": 7 - n} for n, do in enumerate(doings)))))
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", *["failed"] * 5, "succeeded"]
        assert tool_texts(engine)[1:6] == [
            "Tool execution failed: no such order",
            "Tool execution failed: division by zero",
            "Tool execution failed: Tool: the server is gone",
            "Tool execution failed: 3",
            "Tool execution failed: the call was cancelled by its server",
        ]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_an_unknown_tool_gets_a_result_that_names_the_nearest() -> None:
    async def scene() -> None:
        tools = Tools([spec("zebra"), spec("evaluate", "calculator")])
        engine = engine_of(Model([*call(0, {}, "calculator.evalute"), FinishChunk("tool_calls")]), tools)
        events = await play(engine)
        assert tool_texts(engine) == ["Unknown tool calculator.evalute. Available: calculator_evaluate, demo_zebra."]
        assert outcomes(engine) == ["invalid"]
        assert not tools.ran
        check_turn(engine, events)

    run(scene)


@each(
    ("text", "says"),
    [
        ('{"a": 1', "not valid JSON"),
        ("[1, 2]", "the arguments are array, not a JSON object"),
        ('"x"', "the arguments are string, not a JSON object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": [-1e400]}', "-1e400 is larger than numbers can be"),
        ('{"a": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
    ],
)
def test_arguments_that_cant_be_read_never_run(text: str, says: str) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model([*call(0, text), *call(1, {}), FinishChunk("tool_calls")]), tools)
        events = await play(engine)
        assert outcomes(engine) == ["invalid", "succeeded"]
        assert says in tool_texts(engine)[0]
        assert [invocation.call_id for invocation in tools.ran] == ["id_1"]
        check_turn(engine, events)

    run(scene)


def test_a_call_without_arguments_runs_with_none() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model([*call(0, ""), FinishChunk("tool_calls")]), tools)
        check_turn(engine, await play(engine))
        assert [dict(invocation.arguments) for invocation in tools.ran] == [{}]

    run(scene)


def test_a_call_cut_by_the_token_limit_is_invalid_and_the_model_goes_on() -> None:
    async def scene() -> None:
        tools = Tools()
        cut = [CallOpened(1, "id_1", "demo_do"), CallDelta(1, '{"path": "/etc')]
        engine = engine_of(Model([*call(0, {"n": "whole"}), *cut, FinishChunk("length")]), tools)
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "invalid"]
        assert tool_texts(engine)[1] == (
            "This call was not run: the answer was cut off by the token limit before its arguments were complete.\n"
            'Received:\n{"path": "/etc'
        )
        assert len(tools.ran) == 1
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_text_cut_by_the_token_limit_is_kept_marked_and_said() -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("Once upon"), FinishChunk("length")]))
        events = await play(engine)
        assert engine.history[1] == AssistantMessage(content="Once upon", interrupted=True)
        assert "token limit" in only(events, ev.Notice)[0].text
        assert ending(events).outcome == "failed"
        check_turn(engine, events)

    run(scene)


@each("error", [None, AnswerInterrupted("connection reset"), ValueError("a bug")])
def test_a_lost_connection_in_the_middle_of_the_text_keeps_it_and_ends_the_turn(error: Exception | None) -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("Once"), *([error] if error else [])]))
        events = await play(engine)
        assert engine.history[1] == AssistantMessage(content="Once", interrupted=True)
        assert ending(events).outcome == "failed"
        assert ending(events).error
        check_turn(engine, events)
        # The next turn works, and the model hears what happened.
        await play(engine, "go on")
        check_history(engine)
        assert "the turn ended here with an error" in engine.provider.requests[1].messages[-1].content  # type: ignore[attr-defined]

    run(scene)


def test_a_lost_connection_keeps_what_ran_and_runs_nothing_half_read() -> None:
    async def scene() -> None:
        tools = Tools()
        cut = [CallOpened(1, "id_1", "demo_do"), CallDelta(1, '{"n": ')]
        text_call = [CallOpened(2, "", "demo_do", "text"), CallClosed(2, "{}", sure=False)]
        lost = AnswerInterrupted("connection reset")
        engine = engine_of(Model([*call(0, {"n": "a", "seconds": 5}), *cut, *text_call, lost]), tools)
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "invalid", "invalid"]
        assert [invocation.call_id for invocation in tools.ran] == ["id_0"]
        assert "connection reset" in only(events, ev.Notice)[0].text
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_a_connection_that_always_breaks_ends_the_turn() -> None:
    async def scene() -> None:
        lost = AnswerInterrupted("connection reset")
        model = Model(*([*call(0, {"n": n}), asyncio_tick(), lost] for n in range(9)))
        events = await play(engine := engine_of(model))
        assert len(model.requests) == 3
        assert ending(events).outcome == "failed"
        check_turn(engine, events)

    def asyncio_tick() -> asyncio.Event:
        event = asyncio.Event()
        event.set()
        return event

    run(scene)


def test_a_refused_request_fails_the_turn_in_one_line() -> None:
    async def scene() -> None:
        engine = engine_of(Model([ProviderError("401: wrong key", "Set OPENAI_API_KEY.")]))
        events = await play(engine)
        assert ending(events).error == "Model: 401: wrong key. Set OPENAI_API_KEY."
        check_turn(engine, events)
        events = await play(engine, "again")
        assert ending(events).outcome == "completed"
        check_history(engine)

    run(scene)


def test_an_empty_answer_is_asked_for_once_more() -> None:
    async def scene() -> None:
        model = Model([FinishChunk("stop")], [FinishChunk("tool_calls")])
        engine = engine_of(model)
        events = await play(engine)
        assert len(model.requests) == 2
        assert (ending(events).outcome, ending(events).error) == ("failed", "The answer was empty.")
        assert only(events, ev.Notice)
        check_turn(engine, events)

    run(scene)


def test_after_the_step_limit_comes_one_answer_without_tools() -> None:
    async def scene() -> None:
        model = Model(*(calls({"n": n}) for n in range(9)))
        engine = engine_of(model, max_steps=2)
        events = await play(engine)
        assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
        assert ending(events).outcome == "step_limit"
        assert outcomes(engine) == ["succeeded", "succeeded", "skipped"]  # it asked for a call all the same
        assert "Step limit of 2" in only(events, ev.Notice)[0].text
        check_turn(engine, events)

    run(scene)


def test_what_you_type_meanwhile_joins_after_the_results() -> None:
    async def scene() -> None:
        def steer(text: str) -> Callable[[], None]:
            return lambda: engine.turn.steer(text) if engine.turn else None

        model = Model([steer("use metres"), *calls({})], [TextChunk("fine"), steer("in German"), FinishChunk("stop")])
        engine = engine_of(model)
        events = await play(engine)
        roles = [message.role for message in engine.history]
        assert roles == ["user", "assistant", "tool", "user", "assistant", "user", "assistant"]
        assert engine.history[3].content == "use metres"
        assert engine.history[5].content == "in German"
        check_turn(engine, events)

    run(scene)


def test_what_you_typed_too_late_is_given_back() -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("fine"), FinishChunk("stop")]))
        async with engine.start("go") as turn:
            async for event in turn:
                if isinstance(event, ev.TurnFinished):
                    turn.steer("one more thing")
        assert [message.content for message in turn.unsent] == ["one more thing"]

    run(scene)


def test_reasoning_usage_retries_and_notices_reach_the_stream() -> None:
    async def scene() -> None:
        kept = Reasoning(provider="anthropic", text="hm", data={"type": "thinking", "thinking": "hm", "signature": "x"})
        engine = engine_of(
            Model(
                [
                    RetryChunk(1, 0.5, "429"),
                    NoticeChunk("tools refused"),
                    ReasoningChunk("hm"),
                    ReasoningFinished(kept),
                    TextChunk("<think>no"),
                    TextReplaced("yes"),
                    UsageChunk(10, 5, 2, 0.01),
                    FinishChunk("stop"),
                ]
            )
        )
        events = await play(engine)
        types = [event.type for event in events]
        for wanted in ("retry.scheduled", "notice", "reasoning.delta", "text.revised", "usage.reported"):
            assert wanted in types
        assert engine.history[1] == AssistantMessage(content="yes", reasoning=(kept,))
        check_turn(engine, events)

    run(scene)


def test_text_calls_can_be_taken_back_or_prove_unreadable() -> None:
    async def scene() -> None:
        engine = engine_of(
            Model(
                [
                    CallOpened(0, "", "demo_do", "text"),
                    CallWithdrawn(0),
                    CallOpened(1, "", "demo_do", "text"),
                    CallBroken(1, "The JSON has no name.", '{"x"'),
                    CallBroken(2, "There is no end.", "<tool_call>"),
                    CallOpened(3, "", "demo_do", "text"),
                    CallClosed(3, "{}", raw="<tool_call>{}</tool_call>", sure=False),
                    FinishChunk("stop"),
                ]
            )
        )
        async with engine.start("go") as turn:
            events = [event async for event in turn]
        assert outcomes(engine) == ["invalid", "invalid", "succeeded"]
        assert turn.unread == {"demo_do", ""}
        (said,) = (one.tool_calls for one in engine.history if isinstance(one, AssistantMessage) and one.tool_calls)
        assert [one.raw for one in said] == ['{"x"', "<tool_call>", "<tool_call>{}</tool_call>"]
        assert tool_texts(engine)[0] == 'This call was not run: The JSON has no name.\nReceived:\n{"x"'
        check_turn(engine, events)

    run(scene)


def test_ids_used_before_get_new_ones() -> None:
    async def scene() -> None:
        model = Model(
            [*call(0, {"n": 1}, id="call_0"), *call(1, {"n": 2}, id="call_0"), FinishChunk("tool_calls")],
            [*call(0, {"n": 3}, id="call_0"), FinishChunk("tool_calls")],
            [*call(0, {"n": 4}, id=""), FinishChunk("tool_calls")],
        )
        engine = engine_of(model)
        check_turn(engine, await play(engine))
        ids = [c.id for m in engine.history if isinstance(m, AssistantMessage) for c in m.tool_calls]
        assert ids[0] == "call_0"
        assert len(set(ids)) == 4
        assert tool_texts(engine) == ["result of 1", "result of 2", "result of 3", "result of 4"]

    run(scene)


def test_odd_chunks_of_a_server_are_survived() -> None:
    async def scene() -> None:
        model = Model(
            [
                CallDelta(7, "{}"),
                CallClosed(7, "{}"),
                CallWithdrawn(7),
                *call(0, {}),
                CallOpened(0, "again", "demo_do"),
                CallClosed(0, '{"n": "again"}'),
                CallWithdrawn(0),
                CallBroken(0, "late"),
                CallOpened(1, "odd", "no_such_tool"),
                CallClosed(1, '{"a": "\\ud83d"}'),
                FinishChunk("tool_calls"),
                TextChunk("after the end"),
            ]
        )
        engine = engine_of(model)
        check_turn(engine, events := await play(engine, "\ud83d prompt"))
        assert outcomes(engine) == ["succeeded", "invalid"]
        assert [event.text for event in only(events, ev.TextDelta)] == ["done"]
        (said,) = (one.tool_calls for one in engine.history if isinstance(one, AssistantMessage) and one.tool_calls)
        assert [one.arguments for one in said] == ["{}", '{"a": "\ufffd"}'], "no UTF-8 holds half a pair"

    run(scene)


def test_a_slow_closing_connection_delays_nothing() -> None:
    async def scene() -> None:
        model = Model(calls({}))
        model.slow_close = asyncio.Event()
        engine = engine_of(model)
        events = await play(engine)
        assert ending(events).outcome == "completed"
        assert ending(events).at == 0
        assert model.open_streams == 0
        check_turn(engine, events)

    run(scene)


def test_a_connection_may_close_in_its_own_time_to_be_used_again() -> None:
    async def scene() -> None:
        model = Model([TextChunk("hi"), FinishChunk("stop")])
        model.slow_close = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, model.slow_close.set)
        await play(engine_of(model))
        assert model.closed_whole == 1

    run(scene)


def test_xml_keeps_one_tool_a_message_until_a_policy_is_chosen() -> None:
    async def scene() -> None:
        model = Model(calls({}, {}), DONE, calls({}, {}), protocol="xml")
        engine = engine_of(model)
        await play(engine)
        assert outcomes(engine) == ["succeeded", "skipped"]
        assert tool_texts(engine)[1].startswith("not executed: one tool a message")
        assert engine.settings.policy_for(engine.provider.protocol) is CallPolicy.SINGLE
        assert not model.requests[0].parallel
        engine.settings = engine.settings.with_policy(CallPolicy.PARALLEL)
        await play(engine)
        assert outcomes(engine)[2:] == ["succeeded", "succeeded"]

    run(scene)


def test_a_session_that_was_stored_goes_on() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({})))
        old = AssistantMessage(tool_calls=(ToolCall(id="call_1_1_0", name="demo_do"),))
        engine.history.extend([UserMessage(content="before"), old])  # killed before its result was stored
        await play(engine, "go on")
        assert "Interrupted before completion." in [m.content for m in engine.provider.requests[0].messages]  # type: ignore[attr-defined]
        engine.begin()
        assert (engine.history, engine.last_request) == ([], None)

    run(scene)


def test_the_session_event_says_what_is_on() -> None:
    async def scene() -> None:
        engine = engine_of(Model())
        first = engine.session_event()
        assert (first.model, first.provider, first.policy, first.tools) == (
            "scripted",
            "test",
            "parallel",
            ("demo_do",),
        )
        events = await play(engine)
        assert events[0].seq == first.seq + 1

    run(scene)
