"""How the model works within a turn: plainly, until it says that it has finished, thinking aloud, or observing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.chunks import Chunk, FinishChunk, TextChunk, TextReplaced, UsageChunk
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate, Engine, Turn
from console_app.engine.strategies import STRATEGIES
from tests.each import each
from tests.engine.peers import (
    Line,
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

FINISHED, TODO, QUESTION = "fanout_finished", "fanout_update_todo_list", "fanout_ask_followup_question"
STOP: list[Line] = [FinishChunk("stop")]


def said(text: str) -> list[Line]:
    """An answer of text alone."""
    return [TextChunk(text), *STOP]


def finished(index: int = 0, answer: str = "All done.") -> list[Chunk]:
    """The chunks of a call that ends the turn."""
    return call(index, {"final_answer": answer}, FINISHED)


def requests(engine: Engine) -> Sequence[Any]:
    return engine.provider.requests  # type: ignore[attr-defined]


def thoughts(events: Sequence[ev.Event]) -> list[tuple[str, str]]:
    return [(event.label, event.text) for event in only(events, ev.Thought)]


def test_act_ends_with_finished_whose_answer_is_what_the_user_reads() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(
            Model(calls({"n": "a", "seconds": 1}, {"n": "b", "seconds": 1}), [*finished(), *STOP]),
            tools,
            strategy="act",
        )
        events = await play(engine)
        assert ending(events).outcome == "completed"
        assert tools.most_running == 2
        assert engine.history[-1] == AssistantMessage(content="All done.")
        assert tool_texts(engine)[-1] == "Completed."
        assert [tool.name for tool in requests(engine)[0].tools] == ["demo_do", FINISHED]
        check_turn(engine, events)
        transcript = Transcript()
        for event in events:
            transcript.apply(event)
        assert transcript.step
        assert transcript.step.text == "All done."
        await play(engine, "and now?")
        check_history(engine)

    run(scene)


def test_finished_beside_other_calls_drops_none_of_them() -> None:
    async def scene() -> None:
        tools = Tools()
        answer = [*finished(0), *call(1, {"n": "slow", "seconds": 3}), *call(2, {"n": "b"}), *STOP]
        engine = engine_of(Model(answer), tools, strategy="act")
        events = await play(engine)
        assert tools.ended == ["b", "slow"]
        assert outcomes(engine) == ["succeeded"] * 3
        assert ending(events).outcome == "completed"
        ends = [event.call_id for event in only(events, ev.CallFinished)]
        assert ends[-1] == "id_0"
        queued = only(events, ev.CallQueued)
        assert [(event.call_id, event.why) for event in queued] == [
            ("id_0", "completion is judged after the other calls")
        ]
        check_turn(engine, events)

    run(scene)


@each("policy", ["parallel", "sequential", "single"])
def test_finished_first_in_its_answer_never_waits_for_ever(policy: str) -> None:
    async def scene() -> None:
        engine = engine_of(
            Model([*finished(0), *call(1, {"n": "a"}), *STOP]), strategy="act", policy=CallPolicy(policy)
        )
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "skipped" if policy == "single" else "succeeded"]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_two_calls_of_finished_complete_once() -> None:
    async def scene() -> None:
        engine = engine_of(Model([*finished(0, "One."), *finished(1, "Two."), *STOP]), strategy="act")
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "skipped"]
        assert engine.history[-1].content == "One."
        check_turn(engine, events)

    run(scene)


def test_finished_of_an_answer_that_was_cut_completes_nothing() -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("Well"), *finished(), FinishChunk("length")]), strategy="act")
        events = await play(engine)
        assert outcomes(engine) == ["invalid"]
        assert len(requests(engine)) == 3  # text was no end either, the first time
        check_turn(engine, events)

    run(scene)


@each(
    ("arguments", "says"),
    [
        ({}, "“final_answer”: field required"),
        ({"final_answer": 1}, "should be a valid string"),
        ("{", "not valid JSON"),
    ],
)
def test_finished_without_an_answer_is_told_what_is_missing(arguments: Any, says: str) -> None:
    async def scene() -> None:
        engine = engine_of(Model([*call(0, arguments, FINISHED), *STOP]), strategy="act")
        events = await play(engine)
        assert outcomes(engine) == ["invalid"]
        assert says in tool_texts(engine)[0]
        assert engine.history[-1].content == "done"  # the next answer
        check_turn(engine, events)

    run(scene)


def test_the_answer_given_to_finished_is_not_said_twice() -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("All done."), *finished(), *STOP]), strategy="act")
        events = await play(engine)
        assert [message.content for message in engine.history if message.role == "assistant"] == ["All done."]
        check_turn(engine, events)

    run(scene)


@each("strategy", ["agentic", "act", "think-act", "react"])
def test_text_without_calls_ends_a_turn_under_every_strategy(strategy: str) -> None:
    async def scene() -> None:
        thinking = [said("Hm.")] if strategy in ("think-act", "react") else []
        engine = engine_of(Model(*thinking, said("It is 4."), said("It is 4.")), strategy=strategy)
        events = await play(engine)
        assert ending(events).outcome == "completed"
        assert engine.history[-1] == AssistantMessage(content="It is 4.")
        assert len(requests(engine)) == {"agentic": 1, "act": 2}.get(strategy, 2)
        check_turn(engine, events)

    run(scene)


def test_act_says_once_that_a_call_ends_the_turn() -> None:
    async def scene() -> None:
        engine = engine_of(Model(said("It is 4."), [*finished(0, "It is 4."), *STOP]), strategy="act")
        events = await play(engine)
        assert ending(events).outcome == "completed"
        told = [one.content for one in engine.history if isinstance(one, UserMessage) and one.origin == "fanout"]
        assert len(told) == 1
        assert "call fanout_finished with the whole answer" in told[0]
        assert [one.content for one in engine.history if isinstance(one, AssistantMessage)] == ["It is 4.", ""]
        check_turn(engine, events)

    run(scene)


@each(
    ("strategy", "tool_choice", "sent"),
    [
        ("agentic", None, ["auto", "auto", "auto"]),
        ("agentic", "required", ["required", "auto", "auto"]),  # else no text could end the turn
        ("agentic", "none", ["none"]),
        ("act", None, ["required", "required", "required", "required"]),
        ("act", "auto", ["auto", "auto", "auto", "auto"]),
        ("think-act", "required", ["none", "required", "none", "required", "none", "required"]),
    ],
)
def test_calls_can_be_demanded_or_forbidden(strategy: str, tool_choice: Any, sent: list[str]) -> None:
    async def scene() -> None:
        acts = [calls({"n": "a"}), calls({"n": "b"}), said("Here."), said("Here.")]
        answers = [line for act in acts for line in ([said("Hm."), act] if strategy == "think-act" else [act])]
        answers = [said("Here.")] if tool_choice == "none" else answers
        engine = engine_of(Model(*answers), strategy=strategy, tool_choice=tool_choice)
        events = await play(engine)
        assert [request.tool_choice for request in requests(engine)] == sent
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_who_may_not_complete_may_say_so_in_words() -> None:
    async def scene() -> None:
        blocked = [*call(0, {"do": "fail"}), *finished(1), *STOP]
        engine = engine_of(Model(blocked, said("I can't.")), strategy="act")
        events = await play(engine)
        assert [request.tool_choice for request in requests(engine)] == ["required", "auto"]
        assert engine.history[-1].content == "I can't."
        check_turn(engine, events)

    run(scene)


def test_think_act_thinks_before_each_act_and_the_thoughts_are_labelled() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model(
            said("Two things are missing."),
            calls({"n": "a", "seconds": 1}, {"n": "b", "seconds": 1}),
            said("Both are there."),
            [*finished(), *STOP],
        )
        engine = engine_of(model, tools, strategy="think-act")
        events = await play(engine)
        assert thoughts(events) == [("think", "Two things are missing."), ("think", "Both are there.")]
        assert [request.tool_choice for request in model.requests] == ["none", "auto", "none", "auto"]
        assert tools.most_running == 2
        assert not only(events, ev.TextDelta)
        assert (
            "".join(event.text for event in only(events, ev.ThoughtDelta)) == "Two things are missing.Both are there."
        )
        assert engine.history[1] == AssistantMessage(content="Two things are missing.", label="think")
        assert not [one for one in engine.history if isinstance(one, UserMessage) and one.origin == "fanout"]
        assert "Think first" in model.requests[0].messages[-1].content
        assert "Now act" in model.requests[1].messages[-1].content
        check_turn(engine, events)

    run(scene)


def test_react_reasons_plans_acts_and_observes() -> None:
    async def scene() -> None:
        model = Model(
            said("A file is missing.\n\n**Plan:** read it, and look around."),
            calls({"n": "a", "seconds": 1}, {"n": "b", "seconds": 1}),
            said("Both are there."),
            said("Nothing is missing."),
            [*finished(), *STOP],
        )
        engine = engine_of(model, strategy="react")
        events = await play(engine)
        assert thoughts(events) == [
            ("reason", "A file is missing."),
            ("plan", "read it, and look around."),
            ("observe", "Both are there."),
            ("reason", "Nothing is missing."),
        ]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_react_can_end_where_it_observes_and_reads_results_whole() -> None:
    async def scene() -> None:
        model = Model(said("Hm."), calls({"n": "x" * 5000}), [TextChunk("That is it."), *finished(), *STOP])
        engine = engine_of(model, strategy="react")
        events = await play(engine)
        assert thoughts(events)[-1] == ("observe", "That is it.")
        assert engine.history[-1].content == "All done."
        results = [message.content for message in model.requests[2].messages if message.role == "tool"]
        assert results == ["result of " + "x" * 5000]
        check_turn(engine, events)

    run(scene)


def test_react_asks_you_itself_where_its_reasoning_ends_with_a_question() -> None:
    async def scene() -> None:
        model = Model(
            said("The colour is missing.\n\n**Ask:** Which colour?"),
            said("Red it is.\nPlan: end."),
            [*finished(0, "Painted red."), *STOP],
        )
        engine = engine_of(model, strategy="react")

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.QuestionAsked):
                assert event.question == "Which colour?"
                assert turn.answer(event.call_id, "red")

        events = await play(engine, react=react)
        assert tool_texts(engine)[0] == "The user answered:\nred"
        assert [message.content for message in model.requests[1].messages][-1].startswith("(Reason first")
        assert "The user answered:\nred" in [message.content for message in model.requests[1].messages]
        assert engine.history[-1].content == "Painted red."
        check_turn(engine, events)

    run(scene)


def test_react_goes_on_without_an_answer_where_nobody_is_there() -> None:
    async def scene() -> None:
        asking = said("The colour is missing.\nAsk: Which colour?")
        gate = ApprovalGate(ApprovalMode.YOLO, headless=True)
        engine = engine_of(Model(asking, asking, [*finished(0, "Any colour."), *STOP]), strategy="react", gate=gate)
        events = await play(engine)
        assert len(only(events, ev.QuestionAsked)) == 1
        assert "Nobody is there to answer" in tool_texts(engine)[0]
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


def test_calls_beside_a_thought_run_and_are_its_act() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Model(
            [TextChunk("I just do it."), *calls({"n": "a", "seconds": 1}, {"n": "b", "seconds": 1})],
            said("Done so."),
            said("Here."),
        )
        engine = engine_of(model, tools, strategy="think-act")
        events = await play(engine)
        assert tools.most_running == 2
        assert thoughts(events) == [("think", "I just do it."), ("think", "Done so.")]
        assert [request.tool_choice for request in model.requests] == ["none", "none", "auto"]
        check_turn(engine, events)

    run(scene)


def test_a_thought_that_was_revised_is_stored_as_it_was_meant() -> None:
    async def scene() -> None:
        model = Model([TextChunk("<think>no"), TextReplaced("yes"), *STOP], said("Here."))
        engine = engine_of(model, strategy="think-act")
        events = await play(engine)
        assert thoughts(events) == [("think", "yes")]
        check_turn(engine, events)

    run(scene)


def test_an_error_while_it_thinks_ends_the_turn() -> None:
    async def scene() -> None:
        engine = engine_of(Model([TextChunk("Hm")]), strategy="react")
        events = await play(engine)
        assert ending(events).outcome == "failed"
        check_turn(engine, events)
        await play(engine, "again")
        check_history(engine)

    run(scene)


@each("strategy", sorted(STRATEGIES))
def test_a_model_that_never_stops_meets_the_step_limit_under_every_strategy(strategy: str) -> None:
    async def scene() -> None:
        model = Model(*(calls({"n": str(n)}, {"n": f"{n}b"}) for n in range(30)))
        engine = engine_of(model, strategy=strategy, max_steps=6)
        events = await play(engine)
        assert ending(events).outcome == "step_limit"
        assert len(model.requests) == 7
        assert model.requests[-1].tool_choice == "none"
        assert outcomes(engine)[-2:] == ["skipped", "skipped"]
        assert [event.step for event in only(events, ev.StepStarted)] == list(range(1, 8))
        check_turn(engine, events)

    run(scene)


def test_without_any_tool_the_turn_is_a_plain_chat_and_says_so() -> None:
    async def scene() -> None:
        engine = engine_of(Model(), Tools([]), strategy="react", builtin_tools=frozenset({"update_todo_list"}))
        events = await play(engine)
        assert not requests(engine)[0].tools
        assert "needs at least one tool" in only(events, ev.Notice)[0].text
        assert ending(events).outcome == "completed"
        check_turn(engine, events)

    run(scene)


@each("strategy", ["agentic", "think-act", "react"])
def test_thoughts_between_do_not_hide_that_a_call_repeats_itself(strategy: str) -> None:
    async def scene() -> None:
        phases = [phase.label for phase in STRATEGIES[strategy].phases]
        answers = [said("Hm.") if label else calls({"n": "a"}) for label in phases * 4]
        gate = ApprovalGate(ApprovalMode.YOLO, headless=True)
        engine = engine_of(Model(*answers), strategy=strategy, gate=gate, dedupe=False)
        events = await play(engine)
        assert outcomes(engine) == [*["succeeded"] * 3, "skipped"]
        assert "came 4 times in a row" in tool_texts(engine)[-1]
        check_turn(engine, events)

    run(scene)


def test_the_strategy_can_be_switched_between_turns() -> None:
    async def scene() -> None:
        model = Model(said("Hello."), said("Hm."), said("Well."), [*finished(), *STOP])
        engine = engine_of(model)
        await play(engine)
        engine.settings = replace(engine.settings, strategy="think-act")
        assert thoughts(await play(engine)) == [("think", "Hm.")]
        engine.settings = replace(engine.settings, strategy="act")
        assert engine.session_event().strategy == "act"
        assert FINISHED in engine.session_event().tools
        await play(engine)
        assert engine.history[-1].content == "All done."
        check_history(engine)

    run(scene)


def test_what_you_type_while_it_finishes_is_answered_in_the_same_turn() -> None:
    async def scene() -> None:
        def steer() -> None:
            assert engine.turn
            engine.turn.steer("and in German?")

        model = Model([steer, *finished(), *STOP], said("Auf Deutsch."))
        engine = engine_of(model, builtin_tools=frozenset({"finished"}))
        events = await play(engine)
        assert [message.content for message in engine.history[-3:]] == ["All done.", "and in German?", "Auf Deutsch."]
        check_turn(engine, events)

    run(scene)


@each(
    ("limits", "says"),
    [
        ({"max_price": 0.05}, "Price limit: this turn has cost $0.0600 of $0.0500 (max_price)."),
        ({"max_turn_tokens": 200}, "Token limit: this turn has used 220 of 200 tokens."),
    ],
)
def test_money_and_tokens_have_a_limit_that_ends_the_turn_before_the_next_request(
    limits: dict[str, Any], says: str
) -> None:
    async def scene() -> None:
        model = Model(*([UsageChunk(100, 10, cost=0.03), *calls({"n": str(n)})] for n in range(9)))
        engine = engine_of(model, **limits)
        events = await play(engine)
        assert len(model.requests) == 2
        assert (ending(events).outcome, ending(events).error) == ("failed", says)
        assert not [notice for notice in only(events, ev.Notice) if says in notice.text], "the ending says it"
        check_turn(engine, events)

    run(scene)


def test_a_price_that_nobody_knows_is_said_once() -> None:
    async def scene() -> None:
        model = Model(*([UsageChunk(100, 10), *calls({"n": str(n)})] for n in range(3)))
        events = await play(engine_of(model, max_price=0.05))
        assert [event.text for event in only(events, ev.Notice)] == [
            "The price of this model isn't known, so max_price can't be kept."
        ]
        assert ending(events).outcome == "completed"

    run(scene)


def test_the_model_reads_head_and_tail_of_a_long_result_and_history_keeps_it_whole() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "x" * 9000})), max_result_chars=1000)
        events = await play(engine)
        assert len(tool_texts(engine)[0]) == 9010
        assert isinstance(engine.provider, Model)
        sent = engine.provider.requests[-1].messages[-1].content
        assert sent.startswith("result of xxx")
        assert sent.endswith("xxx")
        assert "[Fanout: 8,010 of 9,010 characters are left out here" in sent
        assert len(sent) < 1200
        check_turn(engine, events)
        engine = engine_of(just := Model(calls({"n": "x" * 9000})), max_result_chars=9010)
        await play(engine)
        assert just.requests[-1].messages[-1].content == tool_texts(engine)[0]

    run(scene)


def test_builtin_tools_are_offered_as_the_settings_say_and_only_beside_others() -> None:
    async def scene() -> None:
        engine = engine_of(Model(), Tools([spec()]), builtin_tools=frozenset({"finished", "update_todo_list"}))
        await play(engine)
        assert [tool.name for tool in requests(engine)[0].tools] == ["demo_do", TODO, FINISHED]
        await play(other := engine_of(Model(), Tools([spec()])))
        assert [tool.name for tool in requests(other)[0].tools] == ["demo_do"]

    run(scene)
