"""The format of scripts: TOML with one `[[answer]]` a request, read into frozen steps. docs/scripts.md describes it.

TOML, because long texts stay readable in it and the standard library reads it. Errors name the file, the line and what
is wrong there.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError
from pydantic_core import ErrorDetails

from console_app.domain import ConfigError, Level
from console_app.domain import chunks as ch

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
    """Return the script in the file at `path`. Raises ConfigError that names the file, the line and what is wrong
    there."""
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
        return Script.model_validate_json(_json({"name": name, **data}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        line = _line(text, first["loc"])
        raise ConfigError(f"{where}:{line}: {_what(first)}", _DOCUMENTATION) from error


def _json(data: dict[str, Any]) -> str:
    """Write the data as JSON, so that strict models take arrays for tuples; TOML's dates become text."""
    return json.dumps(data, default=str)


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
    """Return about where in the file the value at `loc` stands: its key in its step or answer, else their first
    line."""
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
