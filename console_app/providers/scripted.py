"""A model that plays a script, in place of an endpoint: which answer is next, and its steps as beats.

Beats are made lazily: a loop of a million costs nothing until it is played.

The format of scripts: TOML with one `[[answer]]` a request, read into frozen steps. docs/scripts.md describes it.

TOML, because long texts stay readable in it and the standard library reads it. Errors name the file, the line and what
is wrong there.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic_core import ErrorDetails

from console_app.domain import ConfigError, Level, Reasoning, ToolMessage, UserMessage, errors, ports, safe_text
from console_app.domain import chunks as ch
from console_app.providers.playback import Beat, Hang, playing, request_words
from console_app.records import dataclass

_WORD = re.compile(r"\s*\S+\s*|\s+")
_NAMED = re.compile(r"\{\{(n|use|request|prompt|last_result)\}\}")
_ERRORS: dict[str, Callable[..., errors.ProviderError]] = {
    "provider": errors.ProviderError,
    "context_overflow": errors.ContextOverflow,
    "tools_refused": errors.ToolsRefused,
}


@dataclass(slots=True)
class _Player:
    """An answer that is played: the values its steps can name, and the counts so far."""

    script: Script
    request: ports.ModelRequest
    names: dict[str, str]
    tools: dict[str, str]  # wire names by `server.tool`
    calls: int = 0
    pieces: int = 0
    ended: bool = False

    def _fill(self, value: Any) -> Any:
        named = partial(_NAMED.sub, lambda found: self.names.get(found[1], ""))
        return safe_text.changed(value, str, named)

    def _rounds(self, times: int) -> Iterator[int]:
        """Go through the rounds of a loop, with `{{n}}` set in each; once leaves the outer one's number."""
        outer = self.names
        for number in range(1, times + 1):
            if times > 1:
                self.names = {**outer, "n": str(number)}
            yield number
        self.names = outer

    def _pause(self, rate: float | None) -> float:
        rate = self.script.rate if rate is None else rate
        return 1 / rate if rate > 0 else 0.0

    def play(self, answer: ScriptAnswer) -> Iterator[Beat]:
        """Return the beats of a whole answer: its steps, usage, and the finish reason unless a cut came before."""
        for step in answer.steps:
            yield from self._step(step)
            if self.ended:
                return
        if (usage := answer.usage) is None:
            yield Beat(ch.UsageChunk(request_words(self.request), self.pieces))
        else:
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
                kind, what = _ERRORS[step.kind], self._fill(step.error)
                yield Beat(kind(what, step.hint, status=step.status, retry_after=step.retry_after))
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
        arguments = safe_text.as_text(self._fill(step.arguments))
        for at in range(0, len(arguments), step.piece):
            self.pieces += 1
            yield Beat(ch.CallDelta(index, arguments[at : at + step.piece]), pause)
        if step.broken:
            yield Beat(ch.CallBroken(index, step.broken, arguments))
        elif not step.unclosed:
            yield Beat(ch.CallClosed(index, arguments, sure=step.sure))


class ScriptedProvider(ports.Provider):
    """Plays `script`, or the script file at that path (ConfigError when it can't be read), one answer a request."""

    name = "scripted"

    def __init__(self, script: Script | Path | str) -> None:
        self._script = script if isinstance(script, Script) else read_script(Path(script))
        self.model, self.protocol = self._script.name, self._script.protocol
        self._uses = [0] * len(self._script.answer)
        self._requests = 0

    def from_its_beginning(self) -> ScriptedProvider:
        return ScriptedProvider(self._script)

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        """Play the next answer; a script that has none left is a ProviderError."""
        self._requests += 1
        return playing(self._beats(request, self._requests))

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


Times = Annotated[int, Field(ge=1, le=10_000_000)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Rate = Annotated[float, Field(ge=0)]  # pieces a second; 0: as fast as they are taken


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class TextStep(_Part):
    """Visible text, in pieces."""

    text: str
    rate: Rate | None = None
    times: Times = 1
    pieces: Literal["words", "characters", "whole"] = "words"


class ReasoningStep(_Part):
    """Reasoning, in pieces; with `provider` it is also kept for the history as that wire format's block `data`."""

    reasoning: str
    rate: Rate | None = None
    provider: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class CallStep(_Part):
    """A tool call. `call` is a wire name or `server.tool`; `arguments` a table, or text sent exactly as it is."""

    call: str
    arguments: dict[str, Any] | str = Field(default_factory=dict[str, Any])
    id: str | None = None  # None: made by the player; "": the model gives none
    times: Times = 1
    piece: Annotated[int, Field(ge=1)] = 8  # characters a delta
    rate: Rate | None = None
    sure: bool = True
    unclosed: bool = False  # its arguments never end: for cuts in the middle of them
    broken: str = ""  # in place of an end: what could not be read


class WaitStep(_Part):
    """A silence of so many seconds."""

    wait: Seconds


class HangStep(_Part):
    """A silence that lasts until the turn is stopped."""

    hang: Literal[True]


class ErrorStep(_Part):
    """The provider's error, as a real endpoint's would arrive."""

    error: str
    kind: Literal["provider", "context_overflow", "tools_refused"] = "provider"
    hint: str = ""
    status: int | None = None
    retry_after: Seconds | None = None


class CutStep(_Part):
    """The connection is lost: as an error, or by the stream just ending without its finish reason."""

    cut: Literal["error", "end"]


class RetryStep(_Part):
    """A visible retry: `retry` says why; the script goes on after `delay` seconds."""

    retry: str
    attempt: Annotated[int, Field(ge=1)] = 1
    most: Annotated[int, Field(ge=1)] | None = None
    delay: Seconds = 1.0


class NoticeStep(_Part):
    """Something the user should know."""

    notice: str
    level: Level = "info"


class ReviseStep(_Part):
    """The visible text so far is replaced by this."""

    revise: str


class RepeatStep(_Part):
    """A loop over steps; `{{n}}` in them counts from 1."""

    repeat: tuple[Step, ...]
    times: Times


KINDS = ("text", "reasoning", "call", "wait", "hang", "error", "cut", "retry", "notice", "revise", "repeat")


def _kind(value: Any) -> str | None:
    kinds = [kind for kind in KINDS if isinstance(value, dict) and kind in value]
    return kinds[0] if len(kinds) == 1 else None


Step = Annotated[
    Annotated[TextStep, Tag("text")]
    | Annotated[ReasoningStep, Tag("reasoning")]
    | Annotated[CallStep, Tag("call")]
    | Annotated[WaitStep, Tag("wait")]
    | Annotated[HangStep, Tag("hang")]
    | Annotated[ErrorStep, Tag("error")]
    | Annotated[CutStep, Tag("cut")]
    | Annotated[RetryStep, Tag("retry")]
    | Annotated[NoticeStep, Tag("notice")]
    | Annotated[ReviseStep, Tag("revise")]
    | Annotated[RepeatStep, Tag("repeat")],
    Discriminator(_kind),
]


class ScriptedUsage(_Part):
    """Tokens and cost (US dollars) that the answer reports."""

    input: Annotated[int, Field(ge=0)]
    output: Annotated[int, Field(ge=0)]
    cached: Annotated[int, Field(ge=0)] | None = None
    cost: float | None = None


class ScriptAnswer(_Part):
    """The answer to one request, or to `times` of them (0: any number); with `when`, only where the prompt has it."""

    steps: tuple[Step, ...] = ()
    when: str = ""
    times: Annotated[int, Field(ge=0)] = 1
    finish: ch.FinishReason | None = None  # None: tool_calls when it calls, else stop
    usage: ScriptedUsage | None = None  # None: counted in words


class Script(_Part):
    """A whole script. `rate` is pieces a second for steps that give none."""

    answer: tuple[ScriptAnswer, ...] = Field(min_length=1)
    name: str = "script"
    protocol: Literal["native", "text", "xml"] = "native"
    rate: Rate = 0.0
    repeat: bool = False  # from the start again when every answer is used up


RepeatStep.model_rebuild()
ScriptAnswer.model_rebuild()
Script.model_rebuild()


_DOCUMENTATION = "docs/scripts.md describes the format."


def read_script(path: Path) -> Script:
    """Return the script in the file at `path`. Raises ConfigError with the file, the line and what is wrong there."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"the script {path} can't be read: {reason}", "Check the path behind `-m scripted/`."
        ) from error
    return parse_script(text, where=str(path), name=path.stem)


def parse_script(text: str, *, where: str = "script", name: str = "script") -> Script:
    """Return the script written in `text`. Raises ConfigError as `WHERE:LINE: what is wrong`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise ConfigError(f"{where}:{line}: not TOML: {error}", _DOCUMENTATION) from error
    try:
        return Script.model_validate_json(json.dumps({"name": name, **data}, default=str))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        line = _line(text, first["loc"])
        raise ConfigError(f"{where}:{line}: {_what(first)}", _DOCUMENTATION) from error


def _what(error: ErrorDetails) -> str:
    if error["type"] == "union_tag_not_found":
        return f"a step does exactly one of: {', '.join(KINDS)}"
    if error["type"] == "extra_forbidden":
        return f"unknown key `{error['loc'][-1]}`"
    if error["type"] in ("missing", "too_short") and error["loc"] == ("answer",):
        return "no [[answer]] in it"
    key = next((part for part in reversed(error["loc"]) if isinstance(part, str) and part.isidentifier()), "script")
    return f"`{key}`: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _line(text: str, loc: tuple[int | str, ...]) -> int:
    """Return about where the value at `loc` stands: its key in its step or answer, else their first line."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    if len(loc) > 1 and loc[0] == "answer" and isinstance(loc[1], int):
        headers = [at for at, line in enumerate(lines) if re.match(r"\s*\[\[\s*answer\s*\]\]", line)]
        if loc[1] < len(headers):
            start = headers[loc[1]]
            end = headers[loc[1] + 1] if loc[1] + 1 < len(headers) else len(lines)
        if len(loc) > 3 and loc[2] == "steps" and isinstance(loc[3], int):
            steps = [at for at in range(start, end) if lines[at].lstrip().startswith("{")]
            if loc[3] < len(steps):
                start = steps[loc[3]]
                end = steps[loc[3] + 1] if loc[3] + 1 < len(steps) else end
    key = next((part for part in reversed(loc) if isinstance(part, str) and part.isidentifier()), None)
    named = re.compile(rf"(?<![\w-]){re.escape(str(key))}\s*=") if key is not None else None
    hit = next((at for at in range(start, end) if named and named.search(lines[at])), start)
    return min(hit, len(lines) - 1) + 1
