"""The same call twice: in one answer it runs once for both; again in a turn it is skipped while its result stands."""

from __future__ import annotations

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.events import Decision
from console_app.engine import Turn
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, spec, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run

ONCE = "Ran once, for all equal calls of this answer."


def names(tools: Tools) -> list[str]:
    return [str(invocation.arguments.get("n")) for invocation in tools.ran]


@each("policy", ["parallel", "sequential"])
def test_equal_calls_of_an_answer_run_once_and_all_get_the_result(policy: str) -> None:
    async def scene() -> None:
        tools = Tools()
        same = {"n": "a", "seconds": 3}
        engine = engine_of(
            Model(calls(same, {"n": "b"}, {"seconds": 3, "n": "a"}, same)), tools, policy=CallPolicy(policy)
        )
        events = await play(engine)
        assert names(tools) == ["a", "b"]
        assert outcomes(engine) == ["succeeded"] * 4
        texts = tool_texts(engine)
        assert texts[0] == "result of a"
        assert all(ONCE in text and text.endswith("result of a") for text in texts[2:])
        queued = [event.call_id for event in only(events, ev.CallQueued) if "runs once for both" in event.why]
        assert queued == ["call_1_1_2", "call_1_1_3"]
        check_turn(engine, events)

    run(scene)


def test_a_failure_is_shared_too_and_said_of_each() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"do": "fail"}, {"do": "fail"})), tools)
        events = await play(engine)
        assert len(tools.ran) == 1
        assert outcomes(engine) == ["failed", "failed"]
        check_turn(engine, events)

    run(scene)


def test_what_may_change_things_runs_as_often_as_it_is_asked_for() -> None:
    async def scene() -> None:
        tools = Tools([spec(read_only=False)])
        engine = engine_of(Model(calls({"n": "a"}, {"n": "a"}), calls({"n": "a"})), tools)
        await play(engine)
        assert names(tools) == ["a", "a", "a"]

    run(scene)


def test_with_dedupe_off_every_call_runs() -> None:
    async def scene() -> None:
        tools = Tools()
        await play(engine_of(Model(calls({"n": "a"}, {"n": "a"}), calls({"n": "a"})), tools, dedupe=False))
        assert names(tools) == ["a", "a", "a"]

    run(scene)


@each("how", ["cancel", "deny", "edit"])
def test_a_call_whose_like_did_not_run_as_written_runs_by_itself(how: str) -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a"}, {"n": "a"})), tools, mode=ApprovalMode.ASK)
        asked: list[str] = []

        def react(turn: Turn, event: ev.Event) -> None:
            if not isinstance(event, ev.ApprovalRequested):
                return
            asked.append(event.call_id)
            if len(asked) > 1:
                assert turn.resolve(event.call_id, Decision.ALLOW)
            elif how == "cancel":
                assert turn.cancel_call(event.call_id)
            elif how == "deny":
                assert turn.resolve(event.call_id, Decision.DENY)
            else:
                assert turn.resolve(event.call_id, Decision.ALLOW, arguments={"n": "mine"})

        events = await play(engine, react=react)
        assert len(asked) == 2
        assert names(tools) == (["mine", "a"] if how == "edit" else ["a"])
        assert tool_texts(engine)[1] == "result of a"
        check_turn(engine, events)

    run(scene)


def test_a_call_run_again_meanwhile_gives_its_new_result_to_both() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a", "do": "wait"}, {"n": "a", "do": "wait"})), tools)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and len(tools.ran) < 2:
                assert turn.retry("call_1_1_0")
                tools.event("a").set()

        events = await play(engine, react=react)
        assert outcomes(engine) == ["succeeded", "succeeded"]
        assert ONCE in tool_texts(engine)[1]
        check_turn(engine, events)

    run(scene)


def test_stopping_ends_a_call_that_waits_for_its_like() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"do": "hang"}, {"do": "hang"})), Tools())

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallLog):
                turn.cancel()

        events = await play(engine, react=react)
        assert outcomes(engine) == ["cancelled", "cancelled"]
        check_turn(engine, events)

    run(scene)


def test_the_same_call_again_in_a_turn_is_skipped_with_a_note_and_runs_when_it_is_meant() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(*(calls({"n": "a"}) for _ in range(3))), tools)
        events = await play(engine)
        assert outcomes(engine) == ["succeeded", "skipped", "succeeded"]
        assert "succeeded earlier in this turn" in tool_texts(engine)[1]
        assert len(tools.ran) == 2
        check_turn(engine, events)
        await play(engine, "again")  # another turn has results of its own

    run(scene)


def test_after_a_change_or_a_word_of_yours_the_same_call_runs_again() -> None:
    async def scene() -> None:
        tools = Tools([spec(), spec("write", read_only=False)])
        read, write = calls({"n": "a"}), calls({"n": "w"}, name="demo_write")
        await play(engine_of(Model(read, write, read), tools))
        assert names(tools) == ["a", "w", "a"]
        tools.ran.clear()
        slow = calls({"n": "a", "seconds": 1})
        engine = engine_of(Model(slow, slow), tools)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and event.step == 1:
                turn.steer("look again")

        await play(engine, react=react)
        assert names(tools) == ["a", "a"]

    run(scene)


def test_a_failure_is_no_answer_that_stands() -> None:
    async def scene() -> None:
        tools = Tools()
        await play(engine_of(Model(calls({"do": "fail"}), calls({"do": "fail"})), tools))
        assert len(tools.ran) == 2

    run(scene)
