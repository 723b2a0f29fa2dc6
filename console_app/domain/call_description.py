"""A call as every face tells of it: the sign and the word for where it stands, and what may be done with it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, assert_never

from console_app.domain import amounts
from console_app.domain import events as ev
from console_app.domain.amounts import plural
from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallOrigin, CallState, Outcome
from console_app.domain.transcript import CallView, ToModel, verdicts

_STATES = {
    CallState.ANNOUNCED: ("…", "preparing"),
    CallState.WAITING: ("?", "needs approval"),
    CallState.QUEUED: ("·", "queued"),
    CallState.RUNNING: ("", "running"),
    CallState.FINISHED: ("·", "ended"),
}
ORIGINS: dict[CallOrigin, str] = {
    "native": "native call",
    "text": "call read from text",
    "provider": "run by the provider itself",
}
NEEDS = ("needs approval", "needs input")
_MAIN = (
    *("command", "cmd", "script", "query", "q", "pattern", "sql", "expression", "url", "uri", "path", "file"),
    *("filename", "task", "prompt", "question", "message", "title", "name", "id"),
)  # words in the name of an argument that says most of a call, the first of them most
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")  # of an argument's name, in any spelling
_ENDED = "This call has ended."
WAITED_FOR = "What made this call waits for it."
NOTHING_RUNS = "No call is running: there are no results to send."


class Act(StrEnum):
    """An act of a user on a call. `SEND` is for all calls of its answer."""

    APPROVE = "approve"
    DENY = "deny"
    EDIT = "edit"
    CANCEL = "cancel"
    RETRY = "retry"
    EXTEND = "extend"
    BACKGROUND = "background"
    SEND = "send"
    INSPECT = "inspect"
    COPY = "copy"
    FILES = "files"
    RESULT = "result"


def state_of(call: CallView) -> tuple[str, str]:
    """The sign and the word for where a call stands. A call that runs has no sign: a face may show that it moves."""
    if call.verdict is not None:
        return call.verdict.glyph, call.verdict.word
    if call.waits_for_you and call.state is not CallState.WAITING:
        return _STATES[CallState.WAITING][0], NEEDS[1]
    return _STATES[call.state]


def main_argument(arguments: Mapping[str, Any], telling: Collection[str] = ()) -> str:
    """Name the argument whose value says most of a call, of at least one; those in `telling` come first."""

    def rank(name: str) -> tuple[bool, int]:
        words = _WORD.findall(name)
        known = [_MAIN.index(word.lower()) for word in words if word.lower() in _MAIN]
        text = isinstance(arguments[name], str) and bool(arguments[name])
        return bool(telling) and name not in telling, min(known, default=len(_MAIN)) if text else len(_MAIN) + 1

    return min(arguments, key=rank)


def sign_of(state: CallState, outcome: Outcome | None) -> str:
    return _STATES[state][0] if outcome is None else verdicts.verdict_of(outcome, None, "", None).glyph


def in_words(call: CallView) -> str:
    """The word for where a call stands, with the reason where its result states one: `said no (exit 1)`."""
    verdict, word = call.verdict, state_of(call)[1]
    return f"{word} ({verdict.why})" if verdict is not None and verdict.why else word


def agent_work(call: CallView) -> str:
    """Return the figures of an agent: `step 3 · 4 calls · 8.1k tokens · $0.0210`, as far as there are any."""
    if (work := call.work) is None:
        return ""
    running = call.state is CallState.RUNNING
    parts = [f"step {work.steps}"] if running and work.steps else []
    parts += [plural(work.calls, "call")] if work.calls else []
    parts += [f"{amounts.tokens(work.tokens)} tokens"] if work.tokens else []
    parts += [f"${work.cost:.4f}"] if work.cost else []
    return " · ".join(parts)


def took(call: CallView, now: float) -> str:
    """Return the time that a call ran, or has been running; "" before it started."""
    if call.started_at is None:
        return ""
    if call.state is not CallState.FINISHED:
        return amounts.seconds(now - call.started_at)
    ran = amounts.measured(call.duration_ms / 1000 if call.duration_ms else (call.finished_at or now) - call.started_at)
    return f"at least {ran}" if call.outcome is Outcome.INTERRUPTED else ran  # nobody saw its end


NEWS_AGED, NO_NEWS = 10.0, 60.0  # seconds since an agent's last news: first their age is told, then that there are none


def agent_state(call: CallView, now: float) -> tuple[str, bool]:
    """Return what a running agent waits for, where that is worth a word, and whether it is worth your look."""
    if (work := call.work) is None or call.state is not CallState.RUNNING:
        return "", False
    if work.waiting:
        return "needs you", True
    quiet = now - max(call.news_at, call.started_at or 0.0)
    if quiet <= NO_NEWS:
        return f"last news {int(quiet)} s ago" if quiet > NEWS_AGED else "", False
    return f"no news for {amounts.seconds(quiet)}", True


def decided_in_words(event: ev.ApprovalResolved) -> str:
    """The decision on a call that asked: `approved by you`, `denied because nobody answered in time`."""
    by = {
        ev.DecidedBy.USER: "by you",
        ev.DecidedBy.RULE: f"by the rule {one_line(event.rule or '', 120)}",
        ev.DecidedBy.MODE: "by the approval mode",
        ev.DecidedBy.LIMIT: "because nobody answered in time",
        ev.DecidedBy.HOOK: "by a hook",
    }[event.by]
    edited = ", with other arguments" if event.arguments is not None else ""
    return f"{'approved' if event.decision is ev.Decision.ALLOW else 'denied'} {by}{edited}"


def act_behind(event: ev.Event) -> Act | None:
    match event:
        case ev.ApprovalResolved(by=ev.DecidedBy.USER):
            if event.decision is ev.Decision.DENY:
                return Act.DENY
            return Act.APPROVE if event.arguments is None else Act.EDIT
        case ev.CallRestarted():
            return Act.RETRY if event.arguments is None else Act.EDIT
        case ev.CallFinished(outcome=Outcome.CANCELLED) if event.content.startswith(ToModel.CANCELLED):
            return Act.CANCEL
        case ev.CallDetached():
            return Act.BACKGROUND
        case ev.CallExtended():
            return Act.EXTEND
        case _:
            return None


def acts_in_words(call: CallView) -> list[str]:
    told = [decided_in_words(one) for one in call.decided]
    if call.attempt > 1:
        told.append(f"run again by you, try {call.attempt}")
    if call.edited and not any(one.arguments is not None for one in call.decided):
        told.append("arguments edited by you")
    if call.detached:
        told.append("sent to the background")
    return [f"{words[:1].upper()}{words[1:]}." for words in told]


def refusal(call: CallView, act: Act, *, siblings_run: bool = False) -> str:
    """Say in one sentence why an act can't be done now; "" where it can. `siblings_run`: the answer has open calls."""
    match act:
        case Act.INSPECT:
            return ""
        case Act.COPY:
            texts = call.content, call.arguments, call.arguments_text, call.log
            return "" if any(texts) else "There is nothing of it to copy yet."
        case Act.FILES:
            return "" if any(one.path or one.uri for one in call.artifacts) else "This call has no file."
        case Act.APPROVE | Act.DENY:
            return "" if call.state is CallState.WAITING else "This call doesn't wait for approval."
        case _ if call.origin == "provider":
            return "What answers runs this call itself: it can't be stopped, changed, sent away or run again here."
        case Act.SEND:
            return "" if siblings_run or call.state is not CallState.FINISHED else NOTHING_RUNS
        case Act.CANCEL:
            return "" if call.state is not CallState.FINISHED else _ENDED
        case Act.EXTEND | Act.BACKGROUND if call.state is not CallState.RUNNING:
            return _ENDED if call.state is CallState.FINISHED else "This call isn't running."
        case Act.EXTEND:
            return "" if call.limit is not None else "This call has no time limit."
        case Act.BACKGROUND:
            if call.is_own and not call.is_agent:
                return "This is Fanout's own call: its answer needs it."
            if call.parent and call.behind is None:  # no call of an agent's own answer
                return WAITED_FOR
            return "This call runs in the background already." if call.detached else ""
        case Act.EDIT | Act.RETRY if call.detached and call.state is CallState.RUNNING:
            return "This call runs in the background: it can run again once it has ended."
        case Act.EDIT | Act.RETRY:
            return _of_another_run(call, act)
        case Act.RESULT:
            if call.state is not CallState.FINISHED:
                return "This call has no result yet."
            if call.parent or call.agent:
                return "Another call made this one: the result that the model read is of that one."
            if call.detached:
                return "This call went to the background: the model read its result in a message."
            return _of_another_run(call, Act.EDIT)
        case _:
            assert_never(act)


def _of_another_run(call: CallView, act: Act) -> str:
    if call.state is CallState.WAITING and act is Act.EDIT:
        return ""
    if call.is_own and not call.is_agent and not (call.was_cut_off and act is Act.RETRY):
        return "This is Fanout's own call: it can't run again."
    if call.state not in (CallState.RUNNING, CallState.FINISHED):
        return "This call hasn't run yet." if act is Act.RETRY else "This call can't be changed before it runs."
    unread = act is Act.RETRY and call.arguments is None
    return "Its arguments could not be read: edit them." if unread else ""
