"""Random batches under random policies, with a user who approves, denies, edits, cancels, runs again, sends what there
is and stops at random: always one result a call, in call order, siblings untouched, nothing run that was not approved,
completion blocked by every failure and by nothing else, and a history that goes on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, FinishChunk, TextChunk
from console_app.domain.errors import AnswerInterrupted
from console_app.domain.events import Decision
from console_app.domain.tools import Outcome, ToolAnnotations
from console_app.engine import Turn
from tests.engine.peers import Line, Model, Tools, call, engine_of, play, spec
from tests.engine.strict_history import check_events, check_history, check_turn
from tests.engine.virtual_time import at_rest, run
from tests.examples import examples

DOINGS = ["succeed", "fail", "raise", "error", "exit", "self_cancel", "hang", "stubborn", "chatty"]
TODO = "fanout_update_todo_list"
WISHES = ["allow", "deny", "edit", "cancel", "ignore"]
TOOLS = [
    spec("read"),
    spec("write", read_only=False),
    spec("alone", parallel=False),
    spec("small", "other", server_limit=2, timeout=3.0),
]
EXPECTED = {"succeed": "succeeded", "chatty": "succeeded", "hang": "timed_out", "stubborn": "timed_out"}


@dataclass(frozen=True)
class Plan:
    """The acts of a call, and those of the user about it: at the request, and `cancel_at` and `again_at` seconds after
    it was announced."""

    do: str
    tool: str
    seconds: float
    path: str | None
    wish: str
    decide_after: float
    cancel_at: float | None
    shape: str  # whole, broken, cut, text
    again_at: float | None = None
    again: str = "retry"  # or edit

    def arguments(self, index: int) -> dict[str, Any]:
        if self.tool == TODO:
            return {"todos": [str(index)]}
        given: dict[str, Any] = {"n": str(index), "do": self.do, "seconds": self.seconds}
        return given if self.path is None else {**given, "path": self.path}


moments = st.sampled_from([0.0, 0.5, 1.0, 2.5, 7.0])
plans = st.builds(
    Plan,
    do=st.sampled_from(DOINGS),
    tool=st.sampled_from(["demo_read", "demo_write", "demo_alone", "other_small", "unknown", TODO]),
    seconds=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    path=st.sampled_from([None, None, "a.txt", "b.txt"]),
    wish=st.sampled_from(WISHES),
    decide_after=moments,
    cancel_at=st.none() | st.none() | moments,
    shape=st.sampled_from(["whole", "whole", "whole", "broken", "cut", "text"]),
    again_at=st.none() | st.none() | moments,
    again=st.sampled_from(["retry", "edit"]),
)


def lines(batch: list[Plan], end: str, completion: int | None = None) -> list[Line]:
    """The answer that asks for `batch`, and completes at its call number `completion`."""
    answer: list[Line] = [TextChunk("On it.")]
    for index, plan in enumerate(batch):
        if index == completion:
            answer += call(index, {"final_answer": "So."}, "fanout_finished", id="")
            continue
        text = json.dumps(plan.arguments(index))
        answer.append(CallOpened(index, "", plan.tool, "text" if plan.shape == "text" else "native"))
        answer.append(CallDelta(index, text[: len(text) // 2]))
        if plan.shape == "broken":
            answer.append(CallClosed(index, text[:-1]))
        elif plan.shape != "cut":
            answer.append(CallClosed(index, text, sure=plan.shape != "text"))
    match end:
        case "lost":
            answer.append(AnswerInterrupted("connection reset"))
        case "silent":
            pass
        case _:
            answer.append(FinishChunk("length" if end == "length" else "tool_calls"))
    return answer


class User:
    """Decides as planned, and remembers what was approved."""

    def __init__(self, batch: list[Plan], stop_at: float | None, send_at: float | None) -> None:
        self.send_at = send_at
        self.batch = batch
        self.stop_at = stop_at
        self.approved: dict[str, list[dict[str, Any]]] = {}
        self.touched: set[int] = set()
        self._plans: dict[str, int] = {}
        self._asked: dict[str, dict[str, Any]] = {}

    def react(self, turn: Turn, event: ev.Event) -> None:
        loop = asyncio.get_running_loop()
        match event:
            case ev.TurnStarted():
                if self.stop_at is not None:
                    loop.call_later(self.stop_at, turn.cancel)
                if self.send_at is not None:
                    loop.call_later(self.send_at, turn.send_now)
            case ev.CallAnnounced() if event.step == 1:
                self._plans[event.call_id] = event.index
                when = self.batch[event.index].cancel_at
                if when is not None:
                    loop.call_later(when, self._cancel, turn, event.call_id)
                if (when := self.batch[event.index].again_at) is not None:
                    loop.call_later(when, self._again, turn, event.call_id)
            case ev.CallReady():
                self._asked[event.call_id] = event.arguments
            case ev.ApprovalRequested():
                plan = self.batch[self._plans[event.call_id]]
                loop.call_later(plan.decide_after, self._decide, turn, event.call_id, plan)
            case _:
                pass

    def _cancel(self, turn: Turn, call_id: str) -> None:
        if turn.cancel_call(call_id):
            self.touched.add(self._plans[call_id])

    def _again(self, turn: Turn, call_id: str) -> None:
        plan = self.batch[self._plans[call_id]]
        if plan.again == "retry":
            done = turn.retry(call_id)
        else:
            edited = {**self._asked.get(call_id, {}), "do": "succeed", "seconds": 0.75}
            done = turn.edit_and_run(call_id, edited)
            if done:
                self.approved.setdefault(call_id, []).append(edited)
        if done:
            self.touched.add(self._plans[call_id])

    def _approve(self, call_id: str, arguments: dict[str, Any]) -> None:
        self.approved.setdefault(call_id, []).append(arguments)

    def _decide(self, turn: Turn, call_id: str, plan: Plan) -> None:
        arguments = self._asked[call_id]
        match plan.wish:
            case "allow":
                if turn.resolve(call_id, Decision.ALLOW):
                    self._approve(call_id, arguments)
            case "edit":
                edited = {**arguments, "seconds": 0.25}
                if turn.resolve(call_id, Decision.ALLOW, arguments=edited):
                    self._approve(call_id, edited)
            case "deny":
                turn.resolve(call_id, Decision.DENY, feedback="no")
            case "cancel":
                self._cancel(turn, call_id)
            case _:
                turn.resolve("nobody", Decision.ALLOW)


@examples(150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])
@given(
    batch=st.lists(plans, min_size=1, max_size=8) | st.lists(plans, min_size=20, max_size=64),
    mode=st.sampled_from(ApprovalMode),
    policy=st.sampled_from(CallPolicy),
    dispatch=st.sampled_from(["eager", "batch"]),
    limit=st.sampled_from([1, 3, 16]),
    end=st.sampled_from(["whole", "whole", "whole", "length", "lost", "silent"]),
    stop_at=st.none() | st.none() | moments,
    send_at=st.none() | st.none() | moments,
    completion=st.none() | st.integers(0, 63),
    turn_timeout=st.sampled_from([None, None, 4.0]),
    paced=st.booleans(),
)
def test_every_call_has_one_result_whatever_happens(
    batch: list[Plan],
    mode: ApprovalMode,
    policy: CallPolicy,
    dispatch: str,
    limit: int,
    end: str,
    stop_at: float | None,
    send_at: float | None,
    completion: int | None,
    turn_timeout: float | None,
    paced: bool,
) -> None:
    async def scene() -> None:
        tools = Tools([one.model_copy() for one in TOOLS])
        model = Model(lines(batch, end, completion), paced=paced)
        user = User(batch, stop_at, send_at)
        engine = engine_of(
            model,
            tools,
            mode=mode,
            policy=policy,
            dispatch=dispatch,
            max_parallel=limit,
            turn_timeout=turn_timeout,
            call_timeout=5.0,
            approval_timeout=30.0,
            strategy="act",
            builtin_tools=frozenset({"update_todo_list"}),
        )
        events = await play(engine, react=user.react)
        check_turn(engine, events)
        _check_what_ran(tools, mode, user, events)
        _check_limits(events, limit, policy)
        _check_completion(events)
        if stop_at is None and send_at is None and turn_timeout is None:
            _check_untouched(batch, user, events, mode, policy, end, completion)
        for event in tools.events.values():
            event.set()
        await at_rest()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        again = await play(engine, "and now?")
        check_events(again)
        check_history(engine)

    run(scene)


def _check_what_ran(tools: Tools, mode: ApprovalMode, user: User, events: list[ev.Event]) -> None:
    """Every run is one that the events show, with the arguments they show, and was approved so."""
    shown: dict[str, dict[str, Any]] = {}
    builtin: set[str] = set()
    started: list[tuple[str, dict[str, Any]]] = []
    runs_left: Counter[str] = Counter()
    for event in events:
        match event:
            case ev.CallAnnounced():
                runs_left[event.call_id] = 1
                if event.server == "fanout":
                    builtin.add(event.call_id)
            case ev.CallRestarted():
                runs_left[event.call_id] = 1
                shown[event.call_id] = event.arguments if event.arguments is not None else shown[event.call_id]
            case ev.CallReady():
                shown[event.call_id] = event.arguments
            case ev.ApprovalResolved() if event.arguments is not None:
                shown[event.call_id] = event.arguments
            case ev.CallStarted():
                runs_left[event.call_id] -= 1
                assert runs_left[event.call_id] == 0, "it ran twice"
                if event.call_id not in builtin:
                    started.append((event.call_id, shown[event.call_id]))
            case _:
                pass
    assert started == [(invocation.call_id, dict(invocation.arguments)) for invocation in tools.ran]
    for invocation in tools.ran:
        needs_none = mode is ApprovalMode.YOLO or (
            mode in (ApprovalMode.AUTO, ApprovalMode.PLAN)
            and invocation.spec.annotations == ToolAnnotations(read_only=True)
        )
        if not needs_none:
            assert dict(invocation.arguments) in user.approved[invocation.call_id]


def _check_completion(events: Sequence[ev.Event]) -> None:
    """Completion succeeds or is blocked by what the other calls of the answer came to, and by nothing else."""
    finish = next((e for e in events if isinstance(e, ev.CallAnnounced) and e.tool == "finished" and e.step == 1), None)
    if finish is None:
        return
    last = {event.call_id: event for event in events if isinstance(event, ev.CallFinished) and event.step == 1}
    judged = last.pop(finish.call_id)
    failed = any(event.outcome.is_error for event in last.values())
    if judged.outcome is Outcome.BLOCKED:
        assert failed
    elif judged.outcome is Outcome.SUCCEEDED:
        assert not failed or len(last) > finish.index  # under `single` only what came before was run at all
        assert not any(event.outcome.is_error for event in last.values() if event.seq < judged.seq)


def _check_limits(events: list[ev.Event], limit: int, policy: CallPolicy) -> None:
    """Never more at once than allowed, as the events show it."""
    running = 0
    starts: set[str] = set()
    builtin = {event.call_id for event in events if isinstance(event, ev.CallAnnounced) and event.server == "fanout"}
    for event in events:
        if isinstance(event, ev.CallStarted):
            if event.call_id in builtin:
                continue  # takes no slot
            starts.add(event.call_id)
            running += 1
            assert running <= limit
            assert policy is CallPolicy.PARALLEL or running == 1
        elif isinstance(event, ev.CallFinished | ev.CallRestarted) and event.call_id in starts:
            starts.discard(event.call_id)
            running -= 1


def _check_untouched(
    batch: list[Plan],
    user: User,
    events: list[ev.Event],
    mode: ApprovalMode,
    policy: CallPolicy,
    end: str,
    completion: int | None,
) -> None:
    """A call that nobody touched ends as it would have alone, whatever its siblings do."""
    if mode is not ApprovalMode.YOLO or policy is CallPolicy.SINGLE:
        return
    index_of = {event.call_id: event.index for event in events if isinstance(event, ev.CallAnnounced)}
    for event in events:
        if not isinstance(event, ev.CallFinished) or index_of[event.call_id] in user.touched:
            continue
        plan = batch[index_of[event.call_id]]
        if index_of[event.call_id] == completion or plan.tool == TODO:
            continue
        if plan.shape in ("broken", "cut") or plan.tool == "unknown":
            assert event.outcome == "invalid"
        elif plan.shape == "whole" or end == "whole":
            repeated = event.outcome == "invalid" and end in ("lost", "silent", "length")
            assert event.outcome == EXPECTED.get(plan.do, "failed") or repeated
