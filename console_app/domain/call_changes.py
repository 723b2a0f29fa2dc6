"""What each event of a call does to its state: the part of the fold that knows nothing but the one call."""

from __future__ import annotations

from typing import assert_never

from console_app.domain import events as ev
from console_app.domain.tools import CallState
from console_app.domain.transcript_parts import CallView, LogLine, SupersededRun

CallChange = (
    ev.CallArguments
    | ev.CallReady
    | ev.ApprovalRequested
    | ev.ApprovalResolved
    | ev.CallQueued
    | ev.CallStarted
    | ev.CallProgress
    | ev.CallLog
    | ev.CallExtended
    | ev.CallRestarted
    | ev.QuestionAsked
    | ev.CallAsked
    | ev.CallAnswered
    | ev.CallFinished
)  # what happens to a call that is there

MOST_LOG_LINES = 500  # of a call, on screen; the newest
MOST_SERVER_LINES = 8  # that may be of any of several calls


def apply_to_call(call: CallView, event: CallChange) -> None:
    """Changes `call` by what happened to it."""
    if not isinstance(event, ev.CallProgress | ev.CallLog):
        call.news_at = call.counts_from = event.at
    elif event.news:
        call.news_at = event.at
    match event:
        case ev.CallArguments():
            call.arriving.add(event.delta)
        case ev.CallReady():
            _ready(call, event)
        case ev.ApprovalRequested():
            call.state, call.why, call.always_asks = CallState.WAITING, event.why, event.always
            if not call.waits or call.waits[-1][1] is not None:  # else it is asked anew while it waits
                call.waits.append((event.at, None))
        case ev.ApprovalResolved():
            _resolved(call, event)
        case ev.CallQueued():
            call.state, call.why = CallState.QUEUED, event.why
        case ev.CallStarted():
            call.state, call.why, call.started_at, call.limit = CallState.RUNNING, "", event.at, event.limit
        case ev.CallProgress():
            _progress(call, event)
        case ev.CallLog():
            _log(call, event)
        case ev.CallExtended():
            pass  # it is news, as all of these are but progress and lines that say nothing new
        case ev.CallRestarted():
            _restarted(call, event)
        case ev.QuestionAsked():
            call.question, call.options = event.question, event.options
        case ev.CallAsked():
            _server_asked(call, event)
        case ev.CallAnswered():
            _server_answered(call, event)
        case ev.CallFinished():
            _finished(call, event)
        case _:
            assert_never(event)


def _ready(call: CallView, event: ev.CallReady) -> None:
    call.arguments = call.written = event.arguments
    call.ready_at = event.at
    call.raw, call.repaired = event.raw, event.repaired


def _waited(call: CallView, until: float) -> None:
    if call.waits and call.waits[-1][1] is None:
        call.waits[-1] = (call.waits[-1][0], until)


def _resolved(call: CallView, event: ev.ApprovalResolved) -> None:
    call.state, call.why = CallState.ANNOUNCED, ""
    _waited(call, event.at)
    if event.arguments is not None:
        call.arguments, call.edited = event.arguments, True


def _restarted(call: CallView, event: ev.CallRestarted) -> None:
    call.superseded.append(
        SupersededRun(
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
    call.started_at = call.finished_at = call.progress = call.total = None
    call.outcome = call.error = None
    call.message, call.content, call.artifacts, call.duration_ms, call.question = "", "", (), 0, ""
    call.asked.clear()
    _waited(call, event.at)


def _server_asked(call: CallView, event: ev.CallAsked) -> None:
    if not call.asked:
        call.waits.append((event.at, None))
    call.asked.append(event.what)


def _server_answered(call: CallView, event: ev.CallAnswered) -> None:
    if event.what in call.asked:
        call.asked.remove(event.what)
    if not call.asked:
        _waited(call, event.at)


def _progress(call: CallView, event: ev.CallProgress) -> None:
    call.progress, call.total = event.progress, event.total
    if event.message is not None:
        call.message = event.message


def _log(call: CallView, event: ev.CallLog) -> None:
    line = LogLine(event.at, event.level, event.text, event.dropped)
    if not event.sure:
        call.server_log = [*call.server_log, line][-MOST_SERVER_LINES:]
        return
    call.log.append(line)
    call.logged += 1 + event.dropped
    call.dropped += event.dropped
    call.message = event.text
    if len(call.log) > MOST_LOG_LINES:
        del call.log[: MOST_LOG_LINES // 5]


def _finished(call: CallView, event: ev.CallFinished) -> None:
    if call.state is CallState.FINISHED:
        return  # one result a run: the first stands
    _waited(call, event.at)
    call.state, call.outcome, call.finished_at = CallState.FINISHED, event.outcome, event.at
    call.content, call.error, call.artifacts = event.content, event.error, event.artifacts
    call.duration_ms, call.structured = event.duration_ms, event.structured
    call.server_log = []  # what may be another's says nothing of what came of it
    if call.arguments is not None:
        call.arriving.set("")  # read, they are kept as `arguments`
