"""Turns the steps of one scripted answer into beats, lazily: a loop of a million costs nothing until it is played."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, assert_never, cast

from console_app.domain.chunks import (
    CallBroken,
    CallClosed,
    CallDelta,
    CallOpened,
    FinishChunk,
    NoticeChunk,
    ReasoningChunk,
    ReasoningFinished,
    RetryChunk,
    TextChunk,
    TextReplaced,
    UsageChunk,
)
from console_app.domain.errors import AnswerInterrupted, ContextOverflow, ProviderError, ToolsRefused
from console_app.domain.messages import Reasoning
from console_app.domain.ports import ModelRequest
from console_app.providers.playback import Beat, Hang
from console_app.providers.requests.word_count import request_words
from console_app.providers.scripted.format import (
    CallStep,
    CutStep,
    ErrorStep,
    HangStep,
    NoticeStep,
    ReasoningStep,
    RepeatStep,
    RetryStep,
    ReviseStep,
    Script,
    ScriptAnswer,
    Step,
    TextStep,
    WaitStep,
)

_WORD = re.compile(r"\s*\S+\s*|\s+")
_NAMED = re.compile(r"\{\{(n|use|request|prompt|last_result)\}\}")
_ERRORS: dict[str, Callable[..., ProviderError]] = {
    "provider": ProviderError,
    "context_overflow": ContextOverflow,
    "tools_refused": ToolsRefused,
}


@dataclass(slots=True)
class Player:
    """One answer being played: what its steps can name, and what was counted so far."""

    script: Script
    request: ModelRequest
    names: dict[str, str]
    tools: dict[str, str]  # wire names by `server.tool`
    calls: int = 0
    pieces: int = 0
    ended: bool = False

    def fill(self, value: Any) -> Any:
        """`value` with `{{n}}` and its like replaced, in every string of it."""
        if isinstance(value, str):
            return _NAMED.sub(lambda found: self.names.get(found[1], ""), value)
        if isinstance(value, dict):
            return {key: self.fill(one) for key, one in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self.fill(one) for one in cast("list[Any]", value)]
        return value

    def rounds(self, times: int) -> Iterator[int]:
        """The rounds of a loop, with `{{n}}` set in each; once is no loop, and leaves the outer one's number."""
        outer = self.names
        for number in range(1, times + 1):
            if times > 1:
                self.names = {**outer, "n": str(number)}
            yield number
        self.names = outer

    def pause(self, rate: float | None) -> float:
        """Seconds between two pieces."""
        rate = self.script.rate if rate is None else rate
        return 1 / rate if rate > 0 else 0.0


def play(answer: ScriptAnswer, player: Player) -> Iterator[Beat]:
    """The beats of a whole answer: its steps, usage, and the finish reason unless a cut came before."""
    for step in answer.steps:
        yield from _step(step, player)
        if player.ended:
            return
    if answer.usage is None:
        yield Beat(UsageChunk(request_words(player.request), player.pieces))
    else:
        usage = answer.usage
        yield Beat(UsageChunk(usage.input, usage.output, usage.cached, usage.cost))
    yield Beat(FinishChunk(answer.finish or ("tool_calls" if player.calls else "stop")))


def _step(step: Step, player: Player) -> Iterator[Beat]:
    match step:
        case TextStep():
            yield from _text(step, player)
        case ReasoningStep():
            yield from _reasoning(step, player)
        case CallStep():
            for _ in player.rounds(step.times):
                yield from _call(step, player)
                player.calls += 1
        case RepeatStep():
            for _ in player.rounds(step.times):
                for inner in step.repeat:
                    yield from _step(inner, player)
                    if player.ended:
                        return
        case WaitStep():
            yield Beat(None, step.wait)
        case HangStep():
            yield Beat(Hang())
        case ErrorStep():
            error = _ERRORS[step.kind](
                player.fill(step.error), step.hint, status=step.status, retry_after=step.retry_after
            )
            yield Beat(error)
        case CutStep():
            player.ended = True
            if step.cut == "error":
                yield Beat(AnswerInterrupted("the connection was lost", "Ask again to go on."))
        case RetryStep():
            yield Beat(RetryChunk(step.attempt, step.delay, player.fill(step.retry), step.most))
            yield Beat(None, step.delay)
        case NoticeStep():
            yield Beat(NoticeChunk(player.fill(step.notice), step.level))
        case ReviseStep():
            yield Beat(TextReplaced(player.fill(step.revise)))
        case _:
            assert_never(step)


def _text(step: TextStep, player: Player) -> Iterator[Beat]:
    pause = player.pause(step.rate)
    for _ in player.rounds(step.times):
        text = player.fill(step.text)
        pieces = (
            [text] if step.pieces == "whole" else list(text) if step.pieces == "characters" else _WORD.findall(text)
        )
        for piece in pieces:
            player.pieces += 1
            yield Beat(TextChunk(piece), pause)


def _reasoning(step: ReasoningStep, player: Player) -> Iterator[Beat]:
    text = player.fill(step.reasoning)
    for piece in _WORD.findall(text):
        player.pieces += 1
        yield Beat(ReasoningChunk(piece), player.pause(step.rate))
    if step.provider:
        yield Beat(ReasoningFinished(Reasoning(provider=step.provider, text=text, data=step.data)))


def _call(step: CallStep, player: Player) -> Iterator[Beat]:
    index, pause = player.calls, player.pause(step.rate)
    name: str = player.fill(step.call)
    call_id = f"script_{player.names['request']}_{index + 1}" if step.id is None else player.fill(step.id)
    yield Beat(CallOpened(index, call_id, player.tools.get(name, name)), pause)
    filled = player.fill(step.arguments)
    arguments = filled if isinstance(filled, str) else json.dumps(filled, ensure_ascii=False)
    for at in range(0, len(arguments), step.piece):
        player.pieces += 1
        yield Beat(CallDelta(index, arguments[at : at + step.piece]), pause)
    if step.broken:
        yield Beat(CallBroken(index, step.broken, arguments))
    elif not step.unclosed:
        yield Beat(CallClosed(index, arguments, sure=step.sure))
