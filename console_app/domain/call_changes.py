"""What each event of a call does to its state: the part of the fold that knows nothing but the one call."""

from __future__ import annotations

from typing import Any

from console_app.domain import events as ev
from console_app.domain.tools import CallState
from console_app.domain.transcript_parts import Attempt, Call, LogLine

LOG_LINES_KEPT = 500  # of a call, on screen; the newest


def apply_to_call(call: Call, event: Any) -> None:
    call.news_at = event.at
    _CALL_EVENTS[type(event)](call, event)


def _arguments(call: Call, event: ev.CallArguments) -> None:
    call.arguments_text += event.delta


def _ready(call: Call, event: ev.CallReady) -> None:
    call.arguments, call.ready_at = event.arguments, event.at
    call.raw, call.repaired = event.raw, event.repaired


def _requested(call: Call, event: ev.ApprovalRequested) -> None:
    call.state, call.why = CallState.WAITING, event.why
    call.waits.append((event.at, None))


def _waited(call: Call, until: float) -> None:
    if call.waits and call.waits[-1][1] is None:
        call.waits[-1] = (call.waits[-1][0], until)


def _resolved(call: Call, event: ev.ApprovalResolved) -> None:
    call.state, call.why = CallState.ANNOUNCED, ""
    _waited(call, event.at)
    if event.arguments is not None:
        call.arguments, call.edited = event.arguments, True


def _queued(call: Call, event: ev.CallQueued) -> None:
    call.state, call.why = CallState.QUEUED, event.why


def _started(call: Call, event: ev.CallStarted) -> None:
    call.state, call.why, call.started_at, call.limit = CallState.RUNNING, "", event.at, event.limit


def _restarted(call: Call, event: ev.CallRestarted) -> None:
    call.superseded.append(
        Attempt(
            call.arguments,
            call.outcome,
            call.content,
            call.error,
            call.started_at,
            call.finished_at,
            call.duration_ms,
        )
    )
    call.attempt, call.state, call.why = event.attempt, CallState.ANNOUNCED, ""
    if event.arguments is not None:
        call.arguments, call.edited = event.arguments, True
    call.started_at = call.finished_at = call.progress = call.total = call.outcome = call.error = None
    call.message, call.content, call.artifacts, call.duration_ms, call.question = "", "", (), 0, ""
    call.asked.clear()
    _waited(call, event.at)


def _asked(call: Call, event: ev.QuestionAsked) -> None:
    call.question, call.options = event.question, event.options


def _server_asked(call: Call, event: ev.CallAsked) -> None:
    if not call.asked:
        call.waits.append((event.at, None))
    call.asked.append(event.what)


def _server_answered(call: Call, event: ev.CallAnswered) -> None:
    if event.what in call.asked:
        call.asked.remove(event.what)
    if not call.asked:
        _waited(call, event.at)


def _progress(call: Call, event: ev.CallProgress) -> None:
    call.progress, call.total = event.progress, event.total
    if event.message is not None:
        call.message = event.message


def _log(call: Call, event: ev.CallLog) -> None:
    call.log.append(LogLine(event.at, event.level, event.text))
    call.message = event.text
    if len(call.log) > LOG_LINES_KEPT:
        del call.log[: LOG_LINES_KEPT // 5]


def _finished(call: Call, event: ev.CallFinished) -> None:
    if call.state is CallState.FINISHED:
        return  # one result a run: the first stands
    _waited(call, event.at)
    call.state, call.outcome, call.finished_at = CallState.FINISHED, event.outcome, event.at
    call.content, call.error, call.artifacts = event.content, event.error, event.artifacts
    call.duration_ms, call.structured = event.duration_ms, event.structured
    if call.arguments is not None:
        call.arguments_text = ""  # read, they are kept as `arguments`


_CALL_EVENTS: dict[type, Any] = {
    ev.CallArguments: _arguments,
    ev.CallReady: _ready,
    ev.ApprovalRequested: _requested,
    ev.ApprovalResolved: _resolved,
    ev.CallQueued: _queued,
    ev.CallStarted: _started,
    ev.CallProgress: _progress,
    ev.CallLog: _log,
    ev.CallRestarted: _restarted,
    ev.QuestionAsked: _asked,
    ev.CallAsked: _server_asked,
    ev.CallAnswered: _server_answered,
    ev.CallFinished: _finished,
}
