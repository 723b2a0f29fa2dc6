"""Counts and rows of a batch, kept up to date call by call: the same as if each were looked at anew, in little work."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript import CallView, Transcript
from console_app.tui.lineview import CallBlock, ConversationView, EventRouter
from console_app.tui.lineview.calls.group import CallGroup
from console_app.tui.lineview.wording import COUNTED, state_of
from tests.tui.lineview.scenes import PALETTE, START, TinyApp, painted
from tests.work import work

WIDTH = 80
MOVES: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "ready": (ev.CallReady, {"arguments": {"i": 1, "of": "all"}}),
    "needs approval": (ev.ApprovalRequested, {"why": "writes"}),
    "approved": (ev.ApprovalResolved, {"decision": ev.Decision.ALLOW, "by": ev.DecidedBy.USER}),
    "edited": (ev.ApprovalResolved, {"decision": "allow", "by": "user", "arguments": {"i": 2, "more": True}}),
    "queued": (ev.CallQueued, {"why": "8 run, the most at once"}),
    "queued for else": (ev.CallQueued, {"why": "one at a time"}),
    "starts": (ev.CallStarted, {}),
    "writes": (ev.CallOutput, {"stream": "stdout", "text": "a line\n" * 4, "offset": 0}),
    "asks": (ev.CallAsked, {"what": "Which one?"}),
    "is answered": (ev.CallAnswered, {"what": "Which one?", "how": "accept"}),
    "asks you": (ev.QuestionAsked, {"question": "Which?", "options": ()}),
    "again": (ev.CallRestarted, {"attempt": 2}),
    "is dropped": (ev.CallDropped, {}),
    **{
        outcome.value: (ev.CallFinished, {"outcome": outcome, "content": "done"})
        for outcome in (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELLED, Outcome.DENIED)
    },
    "says no": (ev.CallFinished, {"outcome": Outcome.SUCCEEDED, "content": "exit code 1"}),
}
SEEN = ("open", "select", "only", "room", "report", "unfold")


class Told:
    """A batch in a view that no app shows."""

    def __init__(self, count: int) -> None:
        self.view, self.transcript = ConversationView(clock=lambda: START), Transcript()
        self.router = EventRouter(self.view, self.transcript)
        self.seconds = 0
        self.send(ev.TurnStarted, turn=1, prompt="Go")
        self.send(ev.StepStarted, turn=1, step=1)
        for n in range(count):
            self.send(ev.CallAnnounced, call_id=f"c{n}", index=n, name="t", server="demo", tool="t")

    def send(self, event: type[Any], **fields: Any) -> None:
        self.seconds += 1
        self.router.show(event(at=START + self.seconds, **fields))

    @property
    def panels(self) -> list[CallBlock]:
        return [block for block in self.view.blocks if isinstance(block, CallBlock)]

    @property
    def group(self) -> CallGroup:
        return self.panels[0].group

    def move(self, what: str, n: int) -> None:
        panel, group = self.panels[n % len(self.panels)], self.group
        match what:
            case "open":
                panel.toggle()
            case "select":
                for one in self.panels:
                    if one.selected:
                        one.select(False)
                panel.select(True)
            case "only":
                group.show_only_next()
            case "room":
                group.room_changed(n)
            case "report":
                group.reported = True
                group.changed()
            case "unfold":
                if group.fold is not None:
                    group.fold.toggle()
            case _:
                event, fields = MOVES[what]
                over = panel.call.state is CallState.FINISHED and what != "again"  # nothing else happens to it then
                if not over and (what != "is dropped" or len(self.panels) > 2):
                    self.send(event, call_id=panel.call.id, **fields)


def chosen(group: CallGroup) -> list[CallView]:
    """The calls that have a row for what they are, each looked at anew."""
    calls = [call for call in group.calls if call.state is not CallState.WAITING]
    if group.only:
        return [call for call in calls if state_of(call)[1] == group.only]
    most = max(group.room // 3 - 1, 4) if group.reported else group.room - 2
    if group.room == 0 or len(calls) <= most or (group.fold is not None and group.fold.open):
        return calls

    def rank(call: CallView) -> int:
        if call.state is CallState.RUNNING:
            return 0
        if call.verdict is not None:
            return 1 if call.verdict.needs_an_eye else 4
        return 2 if call.state is CallState.ANNOUNCED else 3

    room = max(group.room - 2, 0)
    if group.reported:
        room = max(room // 3, 1)
        calls = [call for call in calls if rank(call) < 2]
    writing = sum(call.output is not None and call.state is CallState.RUNNING for call in calls)
    first = sum(rank(call) < 2 for call in calls)
    free = max(room - first - 3 * writing, 0)
    return sorted(calls, key=lambda call: (rank(call), -(call.finished_at or 0)))[: min(first + free, room)]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 30),
    st.lists(st.tuples(st.sampled_from([*MOVES, *SEEN]), st.integers(0, 40)), max_size=60),
)
@example(10, [("open", 0), ("is dropped", 0)])
@example(10, [("select", 0), ("is dropped", 0), ("room", 12)])
@example(3, [("starts", 0), ("starts", 1), ("writes", 0), ("writes", 1), ("succeeded", 1)])
def test_counts_and_rows_are_what_they_were_if_each_call_were_looked_at_anew(
    count: int, moves: list[tuple[str, int]]
) -> None:
    told = Told(count)
    told.group.room_changed(10)
    told.group.stale()
    height = {panel: panel.estimate(WIDTH) for panel in told.panels}
    for what, n in moves:
        told.move(what, n)
        group, panels = told.group, told.panels
        expected = chosen(group)
        rows = [one for one in panels if one.selected or one.open or any(one.call is call for call in expected)]
        assert [one for one in panels if not one.folded] == rows
        assert group.tally.counts == Counter(state_of(call)[1] for call in group.calls)
        folded = Counter(state_of(one.call)[1] for one in panels if one.folded)
        del folded["needs approval"]
        assert group.folded == [(folded[word], word) for word in COUNTED if folded[word]]
        assert group.is_open == any(call.state is not CallState.FINISHED for call in group.calls)
        if what in SEEN:
            group.stale()  # the view paints all of them anew
        else:
            stale = [*group.stale(), *(one for one in panels if one.call.id == f"c{n}")]
            touched = panels[n % len(panels)] if what != "is dropped" else None
            for one in panels:
                assert one in stale or one is touched or one.estimate(WIDTH) == height.get(one), what
        height = {panel: panel.estimate(WIDTH) for panel in panels}


async def test_a_frame_costs_no_more_for_calls_that_nothing_happened_to() -> None:
    async def frame(count: int) -> int:
        app = TinyApp()
        async with app.run_test(size=(100, 30)) as pilot:
            app.story.turn()
            for n in range(count):
                app.story.call(n, started=0.0, i=n)
            await painted(pilot)
            app.story.finish("call_1_0", 1.0)
            return work(app.view.paint_frame)

    few = await frame(100)
    assert await frame(2000) < 2 * few


def test_a_call_that_ends_is_painted_anew_though_it_is_scrolled_out_of_sight() -> None:
    told = Told(3)
    told.group.room_changed(40)
    for n in range(3):
        told.move("starts", n)
    before = told.panels[2].render(WIDTH, PALETTE, START)
    told.group.stale()
    told.move("succeeded", 0)
    assert told.panels[2] in told.group.stale(), "it was painted, and what all of them share is another"
    assert told.panels[2].render(WIDTH, PALETTE, START) is not before
