"""You decide about calls: what waits, what doesn't, what runs is what you approved, and the model hears it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallClosed, CallOpened, Chunk, FinishChunk
from console_app.domain.events import DecidedBy, Decision
from console_app.domain.tools import ToolAnnotations
from console_app.engine import ApprovalGate, Rule, RuleBindings, Turn
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, spec, tool_texts
from tests.engine.strict_history import check_turn
from tests.engine.virtual_time import run

ALLOW, DENY = Decision.ALLOW, Decision.DENY
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "string"}, "do": {"enum": ["succeed", "fail"]}, "seconds": {"type": "number"}},
    "required": ["n"],
    "additionalProperties": False,
}


def deciding(**decisions: Callable[[Turn, str], object]) -> Callable[[Turn, ev.Event], None]:
    """A user who decides about each waiting call by its argument `n`."""
    names: dict[str, str] = {}

    def react(turn: Turn, event: ev.Event) -> None:
        if isinstance(event, ev.CallReady):
            names[event.call_id] = str(event.arguments.get("n"))
        if isinstance(event, ev.ApprovalRequested):
            decisions[names[event.call_id]](turn, event.call_id)

    return react


def allow(turn: Turn, call_id: str) -> object:
    return turn.resolve(call_id, ALLOW)


def deny(turn: Turn, call_id: str) -> object:
    return turn.resolve(call_id, DENY)


def test_approved_calls_start_at_once_while_others_wait() -> None:
    async def scene() -> None:
        tools = Tools([spec(), spec("look")])
        engine = engine_of(Model(calls({"n": "a"}, {"n": "b"}, {"n": "c"})), tools, mode=ApprovalMode.ASK)
        order: list[str] = []

        def later(turn: Turn, call_id: str) -> None:
            asyncio.get_running_loop().call_later(60, lambda: order.extend(tools.ended) or turn.resolve(call_id, ALLOW))

        def shown(turn: Turn, call_id: str) -> object:
            assert [turn.is_as_shown(call_id, definition) for definition in (None, "another")] == [True, False]
            return allow(turn, call_id)

        events = await play(engine, react=deciding(a=later, b=shown, c=deny))
        assert order == ["b"]
        assert outcomes(engine) == ["succeeded", "succeeded", "denied"]
        assert tool_texts(engine)[2] == "The user denied this call."
        assert len(only(events, ev.ApprovalRequested)) == 3  # all at once, not one after the other
        check_turn(engine, events)

    run(scene)


def test_calls_that_need_no_approval_never_wait_behind_one_that_does() -> None:
    async def scene() -> None:
        tools = Tools()
        gate = ApprovalGate(rules=[Rule("allow", "demo.*"), Rule("ask", "demo.do", arguments={"n": "risk*"})])
        engine = engine_of(Model(calls({"n": "risky"}, {"n": "b"}, {"n": "c"})), tools, gate=gate)

        def when_the_others_are_done(turn: Turn, call_id: str) -> None:
            asyncio.get_running_loop().call_later(1, turn.resolve, call_id, ALLOW)

        events = await play(engine, react=deciding(risky=when_the_others_are_done))
        assert tools.ended == ["b", "c", "risky"]
        check_turn(engine, events)

    run(scene)


def test_edited_arguments_are_what_runs_and_the_model_hears_it() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({"n": "a", "do": "fail"}, {"n": "b"})), tools, mode=ApprovalMode.ASK)
        edited = {"n": "z", "list": [1]}

        def edit(turn: Turn, call_id: str) -> None:
            assert turn.resolve(call_id, ALLOW, arguments=edited, feedback="safer so")
            edited["list"].append(2)  # too late: it was approved as it was

        events = await play(engine, react=deciding(a=edit, b=lambda t, i: t.resolve(i, ALLOW, arguments={})))
        assert [dict(invocation.arguments) for invocation in tools.ran] == [{"n": "z", "list": [1]}, {}]
        first, second = tool_texts(engine)
        assert first == (
            'The user edited the arguments before this call ran. It ran with: {"n": "z", "list": [1]}\n'
            "The user approved this call and said: safer so\n\nresult of z"
        )
        assert "It ran with: {}" in second
        assert [event.arguments for event in only(events, ev.ApprovalResolved)] == [{"n": "z", "list": [1]}, {}]
        assert engine.history[1].tool_calls[0].arguments == '{"n": "a", "do": "fail"}'  # type: ignore[union-attr]
        check_turn(engine, events)

    run(scene)


@each(
    ("arguments", "says"),
    [
        ({}, "“n” is required"),
        ({"n": 1}, "“n” must be string, not integer"),
        ({"n": "x", "do": "explode"}, '“do” must be one of "succeed", "fail"'),
        ({"n": "x", "more": 1}, "“more” is not an argument of this tool"),
        ({"n": "secret"}, "a rule denies it (rule: deny demo.*(n=secret))"),
        ({"n": "x", "seconds": float("nan")}, "NaN is not JSON"),
    ],
)
def test_edited_arguments_that_dont_fit_leave_the_call_waiting(arguments: dict[str, object], says: str) -> None:
    async def scene() -> None:
        tools = Tools([spec(input_schema=SCHEMA)])
        gate = ApprovalGate(rules=[Rule("deny", "demo.*", arguments={"n": "secret"})])
        engine = engine_of(Model(calls({"n": "a"})), tools, gate=gate)

        def edit(turn: Turn, call_id: str) -> None:
            assert not turn.resolve(call_id, ALLOW, arguments=arguments)
            assert turn.resolve(call_id, DENY, feedback="not so")
            assert not turn.resolve(call_id, ALLOW)

        events = await play(engine, react=deciding(a=edit))
        assert says in only(events, ev.Notice)[0].text
        assert not tools.ran
        assert tool_texts(engine) == ["The user denied this call. not so"]
        check_turn(engine, events)

    run(scene)


def test_a_call_that_leaves_out_what_a_rule_denies_by_default_is_denied() -> None:
    async def scene() -> None:
        schema = {"type": "object", "properties": {"n": {"type": "string"}, "force": {"default": True}}}
        tools = Tools([spec(input_schema=schema)])
        gate = ApprovalGate(
            ApprovalMode.YOLO,
            [
                Rule("deny", "demo.*", arguments={"force": "true"}),
                Rule("ask", "demo.*", arguments={"force": "false"}),
                Rule("allow", "demo.*", arguments={"n": "*"}),
            ],
        )
        engine = engine_of(
            Model(calls({"n": "a"}, {"n": "b", "force": False}, {"n": "c", "force": 2})), tools, gate=gate
        )
        await play(engine, react=deciding(b=allow))
        assert outcomes(engine) == ["denied", "succeeded", "succeeded"]
        assert [invocation.arguments["n"] for invocation in tools.ran] == ["c", "b"]

    run(scene)


def test_a_call_that_must_be_asked_for_passes_no_rule_and_no_mode() -> None:
    async def scene() -> None:
        tools = Tools()
        gate = ApprovalGate(
            ApprovalMode.YOLO, [Rule("allow", "demo.*"), Rule("deny", "demo.*", arguments={"n": "secret"})]
        )
        written = [(index, json.dumps({"n": n})) for index, n in enumerate(("a", "b", "secret"))]
        answer = [
            chunk
            for index, text in written
            for chunk in (
                CallOpened(index, "", "demo_do", "text"),
                CallClosed(index, text, sure=False, must_ask="only its shape shows it"),
            )
        ]
        engine = engine_of(Model([*answer, FinishChunk("stop")]), tools, gate=gate)

        def later(turn: Turn, call_id: str) -> None:
            assert turn.reconsider() == 0
            turn.resolve(call_id, ALLOW)

        events = await play(engine, react=deciding(a=later, b=deny))
        asked = only(events, ev.ApprovalRequested)
        assert [(event.why, event.always) for event in asked] == [("only its shape shows it", True)] * 2
        assert tools.ended == ["a"]
        assert outcomes(engine) == ["succeeded", "denied", "denied"]
        check_turn(engine, events)

    run(scene)


def test_nobody_there_means_no() -> None:
    async def scene() -> None:
        tools = Tools()
        engine = engine_of(Model(calls({}, {})), tools, gate=ApprovalGate(headless=True))
        turns: list[Turn] = []
        events = await play(engine, react=lambda turn, _: turns.append(turn))
        assert not tools.ran
        assert outcomes(engine) == ["denied", "denied"]
        assert "there is no one to approve" in tool_texts(engine)[0]
        assert {event.by for event in only(events, ev.ApprovalResolved)} == {DecidedBy.LIMIT}
        assert turns[0].approvals_missed
        assert [missed.tool for missed in turns[0].approvals_missed] == ["demo.do", "demo.do"]
        check_turn(engine, events)

    run(scene)


def test_a_limit_on_waiting_denies_visibly_and_none_is_the_default() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a"})), mode=ApprovalMode.ASK, approval_timeout=20)
        events = await play(engine)
        assert only(events, ev.ApprovalResolved)[0].at == 20
        assert tool_texts(engine) == ["This call was not run: nobody answered within 20 s."]
        patient = engine_of(Model(calls({"n": "a"})), mode=ApprovalMode.ASK)

        def a_day_later(turn: Turn, call_id: str) -> None:
            asyncio.get_running_loop().call_later(86_400, turn.resolve, call_id, ALLOW)

        await play(patient, react=deciding(a=a_day_later))
        assert outcomes(patient) == ["succeeded"]

    run(scene)


def test_a_new_rule_answers_the_calls_that_wait() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a"}, {"n": "b"}, {"n": "c"})), gate=ApprovalGate())
        asked: list[str] = []

        def always(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                asked.append(event.call_id)
                if len(asked) == 3:
                    engine.gate.rules.append(Rule("allow", "demo.do", "this session"))
                    assert turn.reconsider() == 3

        events = await play(engine, react=always)
        assert outcomes(engine) == ["succeeded"] * 3
        assert {event.rule for event in only(events, ev.ApprovalResolved)} == {"allow demo.do"}
        check_turn(engine, events)

    run(scene)


def test_a_rule_that_denies_says_which() -> None:
    async def scene() -> None:
        gate = ApprovalGate(ApprovalMode.YOLO, [Rule("deny", "demo.*", "user")])
        engine = engine_of(Model(calls({})), gate=gate)
        events = await play(engine)
        assert tool_texts(engine) == ["This call was not run: a rule forbids it: deny demo.*."]
        check_turn(engine, events)

    run(scene)


def test_the_same_call_for_the_fourth_time_in_a_row_asks() -> None:
    async def scene() -> None:
        tools = Tools()
        again = {"n": "a", "x": 1}
        turned = {"x": 1, "n": "a"}
        model = Model(*(calls(again if step % 2 else turned, {"n": str(step)}) for step in range(5)))
        engine = engine_of(model, tools, dedupe=False)
        events = await play(engine, react=deciding(a=allow))
        asked = only(events, ev.ApprovalRequested)
        assert [(event.step, event.why) for event in asked] == [(4, "the same call for the 4th time")]
        assert outcomes(engine) == ["succeeded"] * 10  # once allowed, it counts from the start
        check_turn(engine, events)

    run(scene)


def test_the_same_call_after_each_new_edit_is_no_loop() -> None:
    def step(new: str) -> list[Chunk]:
        return calls({"n": "t", "command": "make test"}, {"n": "e", "path": "a.py", "old_text": "x", "new_text": new})

    async def asked(*edits: str) -> list[int]:
        engine = engine_of(Model(*map(step, edits)), Tools(), dedupe=False)
        events = await play(engine, react=deciding(t=allow, e=allow))
        check_turn(engine, events)
        return [event.step for event in only(events, ev.ApprovalRequested)]

    async def scene() -> None:
        assert not await asked(*"abcdef")
        assert (await asked(*"ababab"))[:1] == [6], "to and fro is one"

    run(scene)


def test_a_call_that_repeats_itself_wants_a_person_whatever_the_mode() -> None:
    async def scene() -> None:
        engine = engine_of(Model(*(calls({"n": "a"}) for _ in range(4))), Tools(), dedupe=False)

        def reconsider(turn: Turn, call_id: str) -> None:
            assert turn.reconsider() == 0
            turn.resolve(call_id, DENY)

        events = await play(engine, react=deciding(a=reconsider))
        assert outcomes(engine) == [*["succeeded"] * 3, "denied"]
        check_turn(engine, events)

    run(scene)


def test_the_same_call_again_and_again_is_skipped_where_nobody_can_be_asked() -> None:
    async def scene() -> None:
        tools = Tools()
        gate = ApprovalGate(ApprovalMode.YOLO, headless=True)
        engine = engine_of(Model(*(calls({"n": "a"}, {"n": "a"}) for _ in range(4))), tools, gate=gate, dedupe=False)
        turns: list[Turn] = []
        events = await play(engine, react=lambda turn, _: turns.append(turn))
        assert outcomes(engine) == [*["succeeded"] * 6, "skipped", "skipped"]  # equal calls of one answer both run
        assert "the same call with the same arguments came 4 times in a row" in tool_texts(engine)[-1]
        assert not turns[0].approvals_missed
        check_turn(engine, events)

    run(scene)


READS = ToolAnnotations(read_only=True)


@each(
    ("mode", "rules", "changes", "action"),
    [
        (ApprovalMode.ASK, [], {}, "ask"),
        (ApprovalMode.ASK, [], {"annotations": READS}, "ask"),
        (ApprovalMode.AUTO, [], {}, "ask"),
        (ApprovalMode.AUTO, [], {"annotations": READS}, "allow"),
        (ApprovalMode.YOLO, [], {}, "allow"),
        (ApprovalMode.YOLO, [], {"require_approval": True}, "ask"),
        (ApprovalMode.YOLO, ["allow *"], {"require_approval": True}, "ask"),
        (ApprovalMode.YOLO, ["deny demo.*"], {"require_approval": True}, "deny"),
        (ApprovalMode.ASK, ["allow demo.do"], {}, "allow"),
        (ApprovalMode.ASK, ["allow demo"], {}, "ask"),
        (ApprovalMode.ASK, ["allow Demo.do"], {}, "ask"),
        (ApprovalMode.YOLO, ["allow demo.do", "ask *.do"], {}, "ask"),
        (ApprovalMode.YOLO, ["allow demo.do", "ask *", "deny d*"], {}, "deny"),
        (ApprovalMode.YOLO, ["deny other.*"], {}, "allow"),
    ],
)
def test_deny_stands_over_ask_over_allow_over_mode(
    mode: ApprovalMode, rules: list[str], changes: dict[str, object], action: str
) -> None:
    tool = spec(read_only=False).model_copy(update=changes)
    written = [Rule(rule.split()[0], rule.split()[1]) for rule in rules]  # type: ignore[arg-type]
    verdict = ApprovalGate(mode, written).check(tool, {})
    assert verdict.action == action
    assert verdict.why


@each(
    ("foreign", "chose", "action"),
    [((), False, "allow"), (("demo",), False, "ask"), (("other",), False, "allow"), (("demo",), True, "allow")],
)
def test_reads_of_a_server_that_is_not_ones_own_ask_until_a_mode_was_chosen(
    foreign: tuple[str, ...], chose: bool, action: str
) -> None:
    gate = ApprovalGate(ApprovalMode.AUTO, bindings=RuleBindings(foreign=frozenset(foreign)), chose=chose)
    reads = gate.check(spec(read_only=True), {})
    assert reads.action == action
    assert action == "allow" or reads.why == "its server is not in your own mcp.json, and you chose no mode"
    assert gate.check(spec(read_only=False), {}).action == "ask"


def test_the_model_hears_of_an_edit_however_the_call_ended() -> None:
    async def scene() -> None:
        engine = engine_of(Model(calls({"n": "a"}, {"n": "b"})), mode=ApprovalMode.ASK, call_timeout=5)

        def edit(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                turn.resolve(event.call_id, ALLOW, arguments={"n": "z", "do": "hang"})
            if isinstance(event, ev.CallStarted) and event.call_id.endswith("1"):
                turn.cancel_call(event.call_id)

        events = await play(engine, react=edit)
        assert outcomes(engine) == ["timed_out", "cancelled"]
        assert all('It ran with: {"n": "z", "do": "hang"}\n\nT' in text for text in tool_texts(engine))
        check_turn(engine, events)

    run(scene)
