"""The calls in flight on one connection, and which of them a message belongs to: by what it names, or what is left.

Over stdio, before 2026-07-28, the protocol doesn't say it: then a message may be of any call that runs, and whoever
uses the answer has to say so.
"""

from __future__ import annotations

import asyncio
import contextvars
from dataclasses import dataclass, field
from typing import Any, Final, cast

from console_app.domain.events import Level
from console_app.domain.ports import CallReporter
from console_app.mcp_client.tools.atlas_updates import carries_files

_MOST_A_SECOND = 200  # progress notifications of one call that are reported each on its own
_ABANDONED_SECONDS = 5.0  # that a cancelled call may still write log lines
# What servers name a call by beside its progress token: the id of the request that it was sent as.
_REQUEST_NAMES: Final = (
    "relatedRequestId",
    "related_request_id",
    "requestId",
    "io.modelcontextprotocol/related-request",
)

Progress = tuple[float, float | None, str | None]
Logged = tuple[Level, str, bool]


@dataclass(eq=False, slots=True)
class WireCall:
    """A call in flight: `token` is its progress token, unique on the connection; `call_id` is the engine's.

    Of a flood the newest is what counts: past `_MOST_A_SECOND`, what comes in between is left out, and of log lines
    it is said how many.
    """

    token: str
    reporter: CallReporter
    call_id: str = ""
    questions: set[asyncio.Future[Any]] = field(default_factory=set[asyncio.Future[Any]])  # that may be its
    asked: int = 0  # times its server asked something that may be for it
    _second: float = -1.0  # when the current second of counting began, in the loop's time
    _count: int = 0  # of progress
    _logged: int = 0  # of log lines
    _held: Progress | None = None
    _line: Logged | None = None  # the newest line of those that are held back
    _dropped: int = 0  # lines before that
    _timer: asyncio.TimerHandle | None = None

    def progressed(self, progress: Progress) -> None:
        """Reports it, now or, in a flood, with the end of the second."""
        loop = self._tick()
        self._count += 1
        files = progress[2] is not None and carries_files(progress[2])
        if self._count <= _MOST_A_SECOND or files:
            self._held = None
            self.reporter.progress(*progress)
            return
        self._held = progress
        if self._timer is None:
            self._timer = loop.call_at(self._second + 1, self.flush)

    def logged(self, level: Level, text: str, *, sure: bool) -> None:
        """Reports a line of its server's log, now or, in a flood, the newest with the end of the second."""
        loop = self._tick()
        self._logged += 1
        if self._logged <= _MOST_A_SECOND:
            self._flush_line()
            self.reporter.log(level, text, sure=sure)
            return
        self._dropped += self._line is not None
        self._line = (level, text, sure)
        if self._timer is None:
            self._timer = loop.call_at(self._second + 1, self.flush)

    def _tick(self) -> asyncio.AbstractEventLoop:
        """Begins to count anew with each second."""
        loop = asyncio.get_running_loop()
        if (now := loop.time()) - self._second >= 1:
            self._second, self._count, self._logged = now, 0, 0
        return loop

    def flush(self) -> None:
        """Reports what was held back."""
        self._flush_line()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held is not None:
            held, self._held = self._held, None
            self.reporter.progress(*held)

    def _flush_line(self) -> None:
        if self._line is not None:
            (level, text, sure), self._line = self._line, None
            dropped, self._dropped = self._dropped, 0
            self.reporter.log(level, text, sure=sure, dropped=dropped)


# The call that a task is making. Streamable HTTP answers each request on a stream of its own, and the SDK runs what
# arrives there in the context of the request: so this also tells whose log line came in.
current_call: contextvars.ContextVar[WireCall | None] = contextvars.ContextVar("current_call", default=None)


class RunningCalls:
    """Those that were sent and have no answer yet."""

    def __init__(self) -> None:
        self._calls: dict[str, WireCall] = {}  # by progress token
        self._requests: dict[int | str, WireCall] = {}  # our requests in flight, to the call they are for
        self._quiet_until = 0.0

    def open(self, call: WireCall) -> None:
        """A call is about to be sent."""
        self._calls[call.token] = call

    def close(self, call: WireCall, *, abandoned: bool) -> None:
        """A call has its answer, or nobody waits for it any more: questions that were only its are withdrawn."""
        self._calls.pop(call.token, None)
        call.flush()
        if call.questions:  # or each end would look at all the others
            for question in call.questions - {asked for other in self._calls.values() for asked in other.questions}:
                question.cancel()
        if abandoned:
            self._quiet_until = asyncio.get_running_loop().time() + _ABANDONED_SECONDS

    def sent(self, call: WireCall, request: int | str) -> None:
        """A request goes out for a call."""
        self._requests[request] = call

    def answered(self, request: int | str) -> str:
        """A request has its answer; the id of the call that it was for, or ""."""
        call = self._requests.pop(request, None)
        return call.call_id if call is not None else ""

    def running(self) -> list[WireCall]:
        """All of them, the oldest first."""
        return list(self._calls.values())

    def of_token(self, token: object) -> WireCall | None:
        """The call with this progress token."""
        return self._calls.get(str(token))

    def whose(self, params: dict[str, Any], context: contextvars.Context | None) -> WireCall | None:
        """The call that a message with these parameters belongs to, or None where that isn't sure."""
        candidates, sure = self.candidates(params, context)
        return candidates[0] if sure and candidates else None

    def candidates(self, params: dict[str, Any], context: contextvars.Context | None) -> tuple[list[WireCall], bool]:
        """The calls that a message may belong to, and whether that is sure; none for one whose call is gone."""
        named, known = self._named(params)
        if known:
            return named, True
        made_by = context.get(current_call) if context is not None else None
        if made_by is not None:
            return [call for call in self._calls.values() if call is made_by], True
        # With one call in flight, and none cancelled that may still be writing, there is only one it can be.
        sure = len(self._calls) == 1 and asyncio.get_running_loop().time() >= self._quiet_until
        return self.running(), sure

    def _named(self, params: dict[str, Any]) -> tuple[list[WireCall], bool]:
        meta: Any = params.get("_meta")
        named: dict[str, Any] = {**params, **(cast("dict[str, Any]", meta) if isinstance(meta, dict) else {})}
        if (token := named.get("progressToken")) is not None:
            call = self._calls.get(str(token))
            return [call] if call is not None else [], True
        for name in _REQUEST_NAMES:
            request: Any = named.get(name)
            if isinstance(request, int | str) and (call := self._requests.get(request)) is not None:
                return [call], True
        return [], False
