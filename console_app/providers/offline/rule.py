"""What a rule of the offline model is: it reads a prompt and says which calls, or which sentence, answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.providers.offline.toolbox import OfflineTools, PlannedCall


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """One prompt. What earlier rules took out of `text` is blank, so that positions stay; `earlier` came before it."""

    text: str
    earlier: tuple[UserMessage | AssistantMessage | ToolMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What a rule recognised in `text[start:end]`: calls to make, or a problem to tell in one sentence, with the
    `server` that could do it if it were on."""

    start: int
    end: int
    calls: tuple[PlannedCall, ...] = ()
    problem: str = ""
    server: str = ""


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """One thing that the offline model can do.

    `can` says it in words with a prompt to try; `able` whether the tools for it are on; `read` recognises it.
    """

    name: str
    can: str
    able: Callable[[OfflineTools], bool]
    read: Callable[[AskedPrompt, OfflineTools], Iterable[RuleFinding]]


def missing(what: str, tools: str) -> str:
    """The sentence for a request whose tools are off: `what` could not be done, `tools` would do it."""
    return f"I can't {what}: no tool like {tools} is on. Switch its server on (/mcp or mcp.json) and ask again."
