"""An answer of the model, taken chunk by chunk: its text, its reasoning, its calls, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, assert_never, cast

from console_app.domain import AssistantMessage, FanoutError, Outcome, Reasoning, ThoughtLabel, ports, safe_text
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.engine.calls.arguments import UnreadableArguments, read
from console_app.engine.calls.results import INTERRUPTED
from console_app.engine.execution.batch import MOST_OPENED, Batch
from console_app.engine.session import Session
from console_app.records import asdict, dataclass, field


class ProviderCalls:
    """Calls that the provider runs itself (web search, code, MCP connectors): told of by `emit`, with panels, but no
    approval, no result of ours in the history and no second run. One may end in a later answer than it began in, a
    program in the answer that follows the results of its calls."""

    def __init__(self, session: Session, emit: Callable[[ev.Event], None]) -> None:
        self._session = session
        self._emit = emit
        self._open: dict[str, tuple[str, float]] = {}  # the provider's id: ours, and when it began
        self.count = 0  # of those that were told of

    def started(self, chunk: ch.ProviderCallStarted) -> None:
        if open_call := self.call_id(chunk.id):
            self._ready(open_call, chunk.arguments)
            return
        call_id = self._session.new_call_id(chunk.id, "provider_call")
        name = f"{chunk.server}.{chunk.name}" if chunk.server else chunk.name
        self._emit(
            ev.CallAnnounced(
                call_id=call_id,
                index=self.count,
                name=chunk.name,
                server=self._session.provider.name,
                tool=name,
                origin="provider",
            )
        )
        self.count += 1
        self._open[chunk.id] = call_id, self._session.monotonic()
        self._ready(call_id, chunk.arguments)
        self._emit(ev.CallStarted(call_id=call_id))

    def finished(self, chunk: ch.ProviderCallFinished) -> None:
        if (found := self._open.pop(chunk.id, None)) is None:
            return
        call_id, began = found
        self._ready(call_id, chunk.arguments)
        if self._session.given is not None:
            self._session.given.found(chunk.content)
        took = round((self._session.monotonic() - began) * 1000)
        error = chunk.content.partition("\n")[0] or "It failed." if chunk.outcome is Outcome.FAILED else None
        self._emit(
            ev.CallFinished(
                call_id=call_id, outcome=chunk.outcome, content=chunk.content, error=error, duration_ms=took
            )
        )

    def call_id(self, provider_id: str) -> str:
        return self._open.get(provider_id, ("", 0.0))[0]

    def waits(self, seconds: float) -> None:
        for call_id, _ in self._open.values():
            self._emit(ev.CallExtended(call_id=call_id, limit=seconds))

    def end(self, but: Collection[str] = ()) -> None:
        """End those that are open, but the programs that wait for results: the provider says no more of them."""
        for provider_id, (call_id, _) in list(self._open.items()):
            if call_id not in but:
                self.finished(ch.ProviderCallFinished(provider_id, Outcome.INTERRUPTED, INTERRUPTED))

    def _ready(self, call_id: str, arguments: str) -> None:
        if arguments:
            try:
                self._emit(ev.CallReady(call_id=call_id, arguments=read(arguments)))
            except UnreadableArguments:
                self._emit(ev.CallArguments(call_id=call_id, delta=arguments))


LARGEST_SAID: Final = 8 * 2**20  # characters of text and reasoning; a million tokens are four million
LARGEST_KEPT: Final = 2 * LARGEST_SAID  # of what goes back to the endpoint: a thought has its text once more in it
KEPT_AROUND: Final = 1_000  # of those, for each part of it: one without a word in it is stored and folded, too
_PLAN = re.compile(r"^[ \t#*_>]*plan[ \t*_]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)


@dataclass(eq=False)
class Answer:
    """The parts of an answer so far. `finish` is None until the model said that it is complete. With a `label`, its
    text is a thought and not for the user. Which model of `provider` answers is known once it has begun."""

    batch: Batch
    _provider_calls: ProviderCalls
    _emit: Callable[[ev.Event], None]
    _provider: ports.Provider
    label: ThoughtLabel | None
    finish: ch.FinishReason | None = None
    error: FanoutError | None = None
    over: bool = False  # nobody wants more of it
    unread: dict[str, str] = field(  # tools that it seemed to call ("": unknown), and what the model hears of it
        default_factory=dict[str, str]
    )
    _text: list[str] = field(default_factory=list[str])
    _reasoning: list[Reasoning] = field(default_factory=list[Reasoning])
    _provider_data: dict[str, Any] = field(default_factory=dict[str, Any])
    _said: int = 0  # characters that came of text,
    _kept: int = 0  # and of what goes back to the endpoint

    @property
    def endpoint(self) -> str:
        return self._provider.endpoint

    @property
    def text(self) -> str:
        if len(self._text) > 1:
            self._text[:] = ["".join(self._text)]
        return self._text[0] if self._text else ""

    def take(self, chunk: ch.Chunk) -> None:
        match chunk:
            case ch.TextChunk():
                text = self._within(chunk.text)
                self._text.append(text)
                label = self.label
                self._emit(ev.TextDelta(text=text) if label is None else ev.ThoughtDelta(label=label, text=text))
            case ch.CallDelta():
                self.batch.delta(chunk.index, chunk.text)
            case ch.ReasoningChunk():
                self._emit(ev.ReasoningDelta(text=self._within(chunk.text)))
            case ch.TextReplaced():
                self._text[:] = [chunk.text]
                if self.label is None:  # the whole thought follows by itself
                    self._emit(ev.TextRevised(text=self._text[0]))
            case ch.ReasoningFinished() | ch.ReasoningSoFar() | ch.ProviderData() if self._too_much(chunk):
                self.batch.overflow = f"what it wants back is more than {LARGEST_KEPT // 2**20} MB"
            case ch.ReasoningFinished():
                self._reasoning.append(chunk.reasoning)
                self._emit(ev.AnswerKept(endpoint=self.endpoint, reasoning=chunk.reasoning))
            case ch.ReasoningSoFar():
                self._emit(ev.AnswerKept(endpoint=self.endpoint, reasoning=chunk.reasoning, partial=True))
            case ch.CallOpened():
                self.batch.opened(chunk)
            case ch.CallClosed():
                self.batch.closed(chunk)
            case ch.CallBroken():
                self.batch.broken(chunk)
            case ch.CallWithdrawn():
                self.batch.dropped(chunk.index)
            case ch.FinishChunk():
                self.finish = chunk.reason
            case ch.ProviderCallStarted():
                self._provider_calls.started(chunk)
                if self._provider_calls.count > MOST_OPENED:
                    self.batch.overflow = f"its provider makes more than {MOST_OPENED:,} calls"
            case ch.ProviderCallFinished():
                self._provider_calls.finished(chunk)
            case ch.ProviderWaits():
                self._provider_calls.waits(chunk.seconds)
            case ch.ProviderData():
                if chunk.index is None:
                    self._provider_data = chunk.data
                    self._emit(ev.AnswerKept(endpoint=self.endpoint, provider_data=chunk.data))
                else:
                    self.batch.kept(chunk.index, chunk, self.endpoint)
            case ch.UsageChunk():
                self._emit(ev.UsageReported(**asdict(chunk)))
            case ch.RetryChunk():
                self._emit(ev.RetryScheduled(**asdict(chunk)))
            case ch.NoticeChunk():
                source, shown = chunk.without_reasoning_of, chunk.shown
                self._emit(ev.Notice(level=chunk.level, text=chunk.text, without_reasoning_of=source, shown=shown))
                if chunk.unread:
                    self.unread[shown.name if shown else ""] = chunk.unread
            case _:
                assert_never(chunk)

    def _within(self, text: str) -> str:
        room = max(0, LARGEST_SAID - self._said)
        self._said += len(text)
        if len(text) <= room:
            return text
        self.batch.overflow = f"its text and reasoning are more than {LARGEST_SAID // 2**20} MB"
        return text[:room]

    def _too_much(self, chunk: ch.ReasoningFinished | ch.ReasoningSoFar | ch.ProviderData) -> bool:
        data, text = (
            (chunk.data, "") if isinstance(chunk, ch.ProviderData) else (chunk.reasoning.data, chunk.reasoning.text)
        )
        size = KEPT_AROUND + len(text) + _characters(data)
        if self._kept + size > LARGEST_KEPT:
            return True
        if isinstance(chunk, ch.ReasoningFinished):  # the others take the place of what came before
            self._kept += size
        return False

    @property
    def cut(self) -> str | None:
        if self.finish == "length":
            return "the answer was cut off by the token limit"
        return "the answer was cut off" if self.finish is None else None

    @property
    def paused(self) -> bool:
        """Tell whether the provider goes on with it once it has it back; one with calls of ours waits for their
        results."""
        return self.finish == "paused" and not self.batch.calls and bool(self.text.strip() or self._reasoning)

    def put_back(self, texts: Sequence[str]) -> None:
        """Have what was taken for calls be a part of the text again, at its end."""
        self._text[:] = ["\n\n".join(filter(None, (self.text.rstrip(), *texts)))]
        if self.label is None:
            self._emit(ev.TextRevised(text=self._text[0]))

    def as_message(self) -> AssistantMessage | None:
        model = f"{self._provider.name}/{self._provider.model}"
        calls = tuple(call.as_tool_call(model) for call in self.batch.calls)
        if not calls and safe_text.is_blank(self.text) and not self.paused:
            return None
        return AssistantMessage(
            content=self.text,
            tool_calls=calls,
            reasoning=tuple(self._reasoning),
            interrupted=self.cut is not None,
            paused=self.paused,
            endpoint=self.endpoint,
            provider_data=self._provider_data,
            label=self.label,
        )

    def thoughts(self) -> list[ev.Thought]:
        """Return the text of a labelled answer; a plan at the end of it is a thought of its own."""
        if self.label is None:
            return []
        plan = _PLAN.search(self.text) if self.label == "reason" else None
        parts: list[tuple[ThoughtLabel, str]] = [(self.label, self.text[: plan.start()] if plan else self.text)]
        if plan:
            parts.append(("plan", self.text[plan.end() :]))
        return [ev.Thought(label=label, text=text.strip()) for label, text in parts if text.strip()]


def _characters(value: Any) -> int:
    """Return the size of a JSON value, in which each part counts; beyond what is too much it is not gone through."""
    size, waiting = 0, [value]
    while waiting and size <= LARGEST_KEPT:
        part = waiting.pop()
        if isinstance(part, dict):
            fields = cast("dict[str, Any]", part)
            size += len(fields) + sum(map(len, fields))
            waiting += fields.values()
        elif isinstance(part, list):
            size += len(cast("list[Any]", part))
            waiting += cast("list[Any]", part)
        elif isinstance(part, str):
            size += len(part)
    return size
