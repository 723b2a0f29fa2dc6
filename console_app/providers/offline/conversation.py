"""Reads the conversation: which prompts are open, what was called for them, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console_app.domain import AssistantMessage, Message, Outcome, ToolCall, ToolMessage, UserMessage
from console_app.domain.transcript import results

History = Sequence[Message]
FINISHED = "finished"  # the completion tool of the strategies that end a turn by a call

_AGAIN = re.compile(
    r"[\s\W]*(?:(?:please|and|ok(?:ay)?)[\s,]+)*(?:(?:once|one more)\s+)?(?:(?:do|run|try)\s+(?:it|that|this|them)\s+)?"
    r"(?:again|once more|repeat(?:\s+(?:it|that))?|retry|same again)[\s\W]*(?:please)?[\s\W]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Called:
    """A call of the open turn with its one result, by call id."""

    call: ToolCall
    result: ToolMessage

    @property
    def content(self) -> str:
        """Its result without what is said to a model before it."""
        return results.without_remarks(self.result.content)

    @property
    def ran(self) -> bool:
        """Tell whether the call was dealt with, for good or ill; one that was put off is to be asked for again."""
        return self.result.outcome is not Outcome.SKIPPED


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """The open part of a conversation: `prompts` (the text, and what came before it) and `called`, in call order.

    `progressed` says that the newest answer ran at least one call; `blocked` that its completion was refused.
    """

    prompts: tuple[tuple[str, tuple[Message, ...]], ...] = ()
    called: tuple[Called, ...] = ()
    progressed: bool = False
    blocked: bool = False
    failed_before: bool = False  # a call of an earlier answer of the conversation failed


def open_turn(messages: History) -> OpenTurn:
    """Return the part of the conversation after the last answer that ended a turn."""
    messages = _apart(messages)
    start = _start(messages)
    earlier = tuple(messages[:start])
    spoken = [message for message in messages[start:] if isinstance(message, UserMessage) and message.origin == "user"]
    if not any(isinstance(message, AssistantMessage) for message in messages[start:]):
        spoken = spoken[-1:]  # what was said before was taken back by a stop, not answered
    prompts = [(_meant(message.content, earlier), earlier) for message in spoken]
    given = {message.tool_call_id: message for message in messages[start:] if isinstance(message, ToolMessage)}
    answers = [
        message for message in messages[start:] if isinstance(message, AssistantMessage) and message.label is None
    ]
    newest = [given[call.id] for call in answers[-1].tool_calls if call.id in given] if answers else []
    return OpenTurn(
        prompts=tuple(prompts),
        called=tuple(
            Called(call, given[call.id]) for answer in answers for call in answer.tool_calls if call.id in given
        ),
        progressed=any(result.outcome is not Outcome.SKIPPED for result in newest),
        blocked=any(result.outcome is Outcome.BLOCKED for result in newest),
        failed_before=any(isinstance(message, ToolMessage) and message.outcome.is_error for message in earlier),
    )


def _apart(messages: History) -> History:
    """Take apart what Fanout notes before the next prompt: it is not what the user asks for."""
    return [
        one
        for message in messages
        for one in (message.parts if isinstance(message, UserMessage) and message.parts else (message,))
    ]


def _start(messages: History) -> int:
    """Tell where the open turn starts: after the last answer without calls, after a completed one, or after a stop."""
    finished = {
        message.tool_call_id
        for message in messages
        if isinstance(message, ToolMessage) and message.outcome is Outcome.SUCCEEDED
    }
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, AssistantMessage) and message.label is not None and not message.interrupted:
            continue  # a thought ends nothing
        if isinstance(message, AssistantMessage) and (not message.tool_calls or message.interrupted):
            return _after_results(messages, at + 1)
        if isinstance(message, AssistantMessage) and any(
            call.name.endswith(FINISHED) and call.id in finished for call in message.tool_calls
        ):
            return _after_results(messages, at + 1)
        follower = messages[at + 1] if at + 1 < len(messages) else None
        stopped = isinstance(message, UserMessage) and message.origin == "fanout"
        if stopped and isinstance(follower, UserMessage) and follower.origin == "user":
            return at + 1
    return 0


def _after_results(messages: History, at: int) -> int:
    while at < len(messages) and isinstance(messages[at], ToolMessage):
        at += 1
    return at


def _meant(prompt: str, earlier: History) -> str:
    """Return the prompt, or for `again` the newest earlier one that said what to do."""
    if not _AGAIN.fullmatch(prompt[:200]):
        return prompt
    prompts = [one.content for one in earlier if isinstance(one, UserMessage) and one.origin == "user"]
    return next((text for text in reversed(prompts) if not _AGAIN.fullmatch(text[:200])), prompt)
