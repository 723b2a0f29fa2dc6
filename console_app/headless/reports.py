"""The JSON of one run as types: what `fanout run` and `fanout call` print is made of them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from console_app.domain import Artifact, Message, Outcome
from console_app.domain import events as ev


class Output(BaseModel):
    """A part of an output."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class CallReport(Output):
    """Holds a call of the run and its result; `parent` is the id of the program that made it, empty where none did."""

    call_id: str
    name: str
    server: str
    tool: str
    arguments: dict[str, Any] | None
    outcome: Outcome | None
    content: str
    error: str | None
    artifacts: tuple[Artifact, ...]
    structured: dict[str, Any] | None
    duration_ms: int
    parent: str = ""


class UsageReport(Output):
    """Tokens of all requests, `cached_tokens` among the input; `cost` in US dollars where it is known."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None
    cost: float | None


class CompactionReport(Output):
    """The summary that the model reads in place of the oldest `covers` messages."""

    summary: str
    covers: int


class RunReport(Output):
    """`fanout run`, `fanout call` and `fanout program` with --output-format json. `messages` is the history that
    the run leaves."""

    session_id: str
    provider: str
    model: str
    outcome: ev.TurnOutcome | None
    error: str | None
    answer: str
    calls: tuple[CallReport, ...]
    usage: UsageReport
    compaction: CompactionReport | None
    messages: tuple[Message, ...]
    notices: tuple[str, ...] = ()  # what the run told besides, as that a text seems to call a tool and nothing was run
