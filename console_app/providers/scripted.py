"""A model that plays a script, in place of an endpoint: which answer is next, and its steps as beats.

Beats are made lazily: a loop of a million costs nothing until it is played.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never, cast

from console_app.domain import Reasoning, ToolMessage, UserMessage, errors, ports
from console_app.domain import chunks as ch
from console_app.providers.playback import Beat, Hang, playing, request_words
from console_app.providers.script import (
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
    read_script,
)

_WORD = re.compile(r"\s*\S+\s*|\s+")
_NAMED = re.compile(r"\{\{(n|use|request|prompt|last_result)\}\}")
_ERRORS: dict[str, Callable[..., errors.ProviderError]] = {
    "provider": errors.ProviderError,
    "context_overflow": errors.ContextOverflow,
    "tools_refused": errors.ToolsRefused,
}


@dataclass(slots=True)
class _Player:
    """One answer being played: what its steps can name, and what was counted so far."""

    script: Script
    request: ports.ModelRequest
    names: dict[str, str]
    tools: dict[str, str]  # wire names by `server.tool`
    calls: int = 0
    pieces: int = 0
    ended: bool = False

    def _fill(self, value: Any) -> Any:
        """Return `value` with `{{n}}` and its like replaced, in every string of it."""
        if isinstance(value, str):
            return _NAMED.sub(lambda found: self.names.get(found[1], ""), value)
        if isinstance(value, dict):
            return {key: self._fill(one) for key, one in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [self._fill(one) for one in cast("list[Any]", value)]
        return value

    def _rounds(self, times: int) -> Iterator[int]:
        """Go through the rounds of a loop, with `{{n}}` set in each; once is no loop, and leaves the outer one's
        number."""
        outer = self.names
        for number in range(1, times + 1):
            if times > 1:
                self.names = {**outer, "n": str(number)}
            yield number
        self.names = outer

    def _pause(self, rate: float | None) -> float:
        """Return the seconds between two pieces."""
        rate = self.script.rate if rate is None else rate
        return 1 / rate if rate > 0 else 0.0

    def play(self, answer: ScriptAnswer) -> Iterator[Beat]:
        """Return the beats of a whole answer: its steps, usage, and the finish reason unless a cut came before."""
        for step in answer.steps:
            yield from self._step(step)
            if self.ended:
                return
        if answer.usage is None:
            yield Beat(ch.UsageChunk(request_words(self.request), self.pieces))
        else:
            usage = answer.usage
            yield Beat(ch.UsageChunk(usage.input, usage.output, usage.cached, usage.cost))
        yield Beat(ch.FinishChunk(answer.finish or ("tool_calls" if self.calls else "stop")))

    def _step(self, step: Step) -> Iterator[Beat]:
        match step:
            case TextStep():
                yield from self._text(step)
            case ReasoningStep():
                yield from self._reasoning(step)
            case CallStep():
                for _ in self._rounds(step.times):
                    yield from self._call(step)
                    self.calls += 1
            case RepeatStep():
                for _ in self._rounds(step.times):
                    for inner in step.repeat:
                        yield from self._step(inner)
                        if self.ended:
                            return
            case WaitStep():
                yield Beat(None, step.wait)
            case HangStep():
                yield Beat(Hang())
            case ErrorStep():
                error = _ERRORS[step.kind](
                    self._fill(step.error), step.hint, status=step.status, retry_after=step.retry_after
                )
                yield Beat(error)
            case CutStep():
                self.ended = True
                if step.cut == "error":
                    yield Beat(errors.AnswerInterrupted("the connection was lost", "Ask again to go on."))
            case RetryStep():
                yield Beat(ch.RetryChunk(step.attempt, step.delay, self._fill(step.retry), step.most))
                yield Beat(None, step.delay)
            case NoticeStep():
                yield Beat(ch.NoticeChunk(self._fill(step.notice), step.level))
            case ReviseStep():
                yield Beat(ch.TextReplaced(self._fill(step.revise)))
            case _:
                assert_never(step)

    def _text(self, step: TextStep) -> Iterator[Beat]:
        pause = self._pause(step.rate)
        for _ in self._rounds(step.times):
            text = self._fill(step.text)
            pieces = (
                [text] if step.pieces == "whole" else list(text) if step.pieces == "characters" else _WORD.findall(text)
            )
            for piece in pieces:
                self.pieces += 1
                yield Beat(ch.TextChunk(piece), pause)

    def _reasoning(self, step: ReasoningStep) -> Iterator[Beat]:
        text = self._fill(step.reasoning)
        for piece in _WORD.findall(text):
            self.pieces += 1
            yield Beat(ch.ReasoningChunk(piece), self._pause(step.rate))
        if step.provider:
            yield Beat(ch.ReasoningFinished(Reasoning(provider=step.provider, text=text, data=step.data)))

    def _call(self, step: CallStep) -> Iterator[Beat]:
        index, pause = self.calls, self._pause(step.rate)
        name: str = self._fill(step.call)
        call_id = f"script_{self.names['request']}_{index + 1}" if step.id is None else self._fill(step.id)
        yield Beat(ch.CallOpened(index, call_id, self.tools.get(name, name)), pause)
        filled = self._fill(step.arguments)
        arguments = filled if isinstance(filled, str) else json.dumps(filled, ensure_ascii=False)
        for at in range(0, len(arguments), step.piece):
            self.pieces += 1
            yield Beat(ch.CallDelta(index, arguments[at : at + step.piece]), pause)
        if step.broken:
            yield Beat(ch.CallBroken(index, step.broken, arguments))
        elif not step.unclosed:
            yield Beat(ch.CallClosed(index, arguments, sure=step.sure))


class ScriptedProvider:
    """Plays `script`, or the script file at that path (ConfigError when it can't be read), one answer a request."""

    def __init__(self, script: Script | Path | str) -> None:
        self._script = script if isinstance(script, Script) else read_script(Path(script))
        self._uses = [0] * len(self._script.answer)
        self._requests = 0

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def model(self) -> str:
        """Return the script's name: its `name`, else that of its file."""
        return self._script.name

    @property
    def protocol(self) -> str:
        """Return the protocol that the script says it plays."""
        return self._script.protocol

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        """Play the next answer; a script that has none left is a ProviderError."""
        self._requests += 1
        return playing(self._beats(request, self._requests))

    async def close(self) -> None:
        pass

    def _beats(self, request: ports.ModelRequest, number: int) -> Iterator[Beat]:
        prompts = [one.content for one in request.messages if isinstance(one, UserMessage) and one.origin == "user"]
        results = [one.content for one in request.messages if isinstance(one, ToolMessage)]
        prompt = prompts[-1] if prompts else ""
        index = self._next(prompt)
        if index is None and self._script.repeat:
            self._uses = [0] * len(self._uses)
            index = self._next(prompt)
        if index is None:
            detail = f"the script {self._script.name!r} has no answer left for request {number}"
            yield Beat(errors.ProviderError(detail, "Give it another [[answer]], or `repeat = true`."))
            return
        self._uses[index] += 1
        names = {
            "n": "1",
            "use": str(self._uses[index]),
            "request": str(number),
            "prompt": prompt,
            "last_result": results[-1] if results else "",
        }
        tools = {spec.label: spec.name for spec in request.tools}
        yield from _Player(self._script, request, names, tools).play(self._script.answer[index])

    def _next(self, prompt: str) -> int | None:
        for index, answer in enumerate(self._script.answer):
            left = answer.times == 0 or self._uses[index] < answer.times
            if left and answer.when.casefold() in prompt.casefold():
                return index
        return None
