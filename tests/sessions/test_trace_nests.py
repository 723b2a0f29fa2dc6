"""A trace is one that Perfetto takes whole: it drops a bar that neither follows another of its line nor lies in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.tools import CallState, Outcome
from console_app.domain.transcript import BatchView, CallView, StepView, TurnView
from console_app.domain.transcript.views import SupersededRun
from console_app.sessions.export import as_trace

NOW = 1_750_000_000.0
steps = st.lists(st.floats(0, 3e-6) | st.floats(0, 5), min_size=12, max_size=12)


def call_at(number: int, waiting: Sequence[float]) -> CallView:
    """A call that asked, ran, asked again, ran again and asked while it ran; between all these some time went by."""
    at = [NOW]
    for seconds in waiting:
        at.append(at[-1] + seconds)
    call = CallView(f"c{number}", number, "demo_do", "demo", "do", "native", at[0], state=CallState.FINISHED)
    call.ready_at, call.outcome = at[1], Outcome.SUCCEEDED
    call.waits = [(at[2], at[3]), (at[6], at[7]), (at[9], at[10])]
    call.superseded = [SupersededRun({}, Outcome.FAILED, "", None, at[4], at[5], 0)]
    call.started_at, call.finished_at = at[8], at[11]
    return call


@given(st.lists(steps, min_size=1, max_size=3), st.integers(1, 3))
def test_bars_of_a_line_never_overlap_in_part(waiting: list[list[float]], turns: int) -> None:
    batch = BatchView([call_at(number, one) for number, one in enumerate(waiting)])
    told = [TurnView(number, "go \ud800ö", NOW, steps=[StepView(1, batch)]) for number in range(1, turns + 1)]
    trace = as_trace(told, NOW + 60)
    assert "ö" in trace, "Perfetto shows an escaped letter as it is written"
    events: list[dict[str, Any]] = json.loads(trace.encode())["traceEvents"]
    lines: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        assert event["ph"] in ("X", "M")
        assert [type(event[name]) for name in ("pid", "tid")] == [int, int]
        if event["ph"] == "X":
            assert [type(event[name]) for name in ("ts", "dur")] == [int, int]
            assert min(event["ts"], event["dur"]) >= 0
            lines.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(lines) == len(waiting) * turns
    for bars in lines.values():
        around: list[int] = []
        for begin, end in sorted(bars, key=lambda bar: (bar[0], -bar[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1], bars
            around.append(end)
