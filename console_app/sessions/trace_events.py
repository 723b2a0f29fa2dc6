"""Calls as Trace Event JSON, which Perfetto and chrome://tracing open: a process a turn, a line a call, a bar a phase.

The form is that of Google's "Trace Event Format": complete events (`ph` X) with `ts` and `dur` in microseconds, here
counted from the first call, and metadata events (M) that name processes and lines. Phases of one call follow each
other; what it asked while it ran lies within its run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from console_app.config.secrets.redaction import Redactor
from console_app.domain.safe_text import one_line
from console_app.domain.transcript import CallView, TurnView
from console_app.domain.transcript.times import PHASES, Span, spans_of

MOST_TEXT = 500  # characters of arguments and errors that go along


def as_trace(turns: Sequence[TurnView], now: float, redactor: Redactor | None = None) -> str:
    """The calls of these turns up to `now` as one JSON document, without the secrets that `redactor` knows."""
    calls = [call for turn in turns for call in turn.calls]
    begin = min((call.announced_at for call in calls), default=0.0)
    events = list(_events(turns, begin, now))
    began = datetime.fromtimestamp(begin, UTC).isoformat(timespec="milliseconds")
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"producer": "fanout", "began": began}}
    # Perfetto shows an escaped letter as it is written; no text here has what UTF-8 can't hold.
    return json.dumps((redactor or Redactor()).without_known_in(document), indent=1, ensure_ascii=False) + "\n"


def _events(turns: Sequence[TurnView], begin: float, now: float) -> Iterator[dict[str, Any]]:
    for turn in turns:
        steps = turn.steps_with_calls
        if not steps:
            continue
        ended = "" if turn.outcome is not None else " (not finished)"
        yield _named("process_name", turn.number, 0, f"turn {turn.number}{ended}: {one_line(turn.prompt, 100)}")
        line = 0
        for answer, step in enumerate(steps, 1):
            for call in step.batch.calls:
                line += 1
                yield _named("thread_name", turn.number, line, f"{answer}.{call.index + 1} {one_line(call.label, 80)}")
                yield {**_named("thread_sort_index", turn.number, line), "args": {"sort_index": line}}
                yield from (_bar(span, call, turn.number, line, begin) for span in spans_of(call, now))


def _named(what: str, turn: int, line: int, name: str = "") -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": turn, "tid": line, "args": {"name": name}}


def _bar(span: Span, call: CallView, turn: int, line: int, begin: float) -> dict[str, Any]:
    """A phase of a call. Both its ends are rounded, not its length: or it would reach a microsecond into the next, and
    Perfetto drops what lies neither beside nor within another bar."""
    start, stop = (max(round((at - begin) * 1e6), 0) for at in (span.begin, span.end))
    running = span.phase == "run"
    facts: dict[str, Any] = {"call": one_line(call.id, 80)}
    if running:
        facts |= {
            "arguments": one_line(json.dumps(call.arguments, ensure_ascii=False, default=str), MOST_TEXT),
            "outcome": call.outcome.value if call.outcome is not None else call.state.value,
        }
        if span.superseded:
            facts["outcome"] = "superseded"
        elif call.error:
            facts["error"] = one_line(call.error, MOST_TEXT)
    return {
        "ph": "X",
        "name": one_line(call.label, 80) if running else PHASES[span.phase],
        "cat": span.phase,
        "ts": start,
        "dur": stop - start,
        "pid": turn,
        "tid": line,
        "args": facts,
    }
