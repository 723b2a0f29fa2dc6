"""Makes a copy of the history valid for the wire: each call answered exactly once, directly after its message; legal
and unique ids and names; arguments that are an object; roles that take turns, the user first. `normalise` of what it
returned is the same again."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from console_app.domain import AssistantMessage, Message, Outcome, Reasoning, ToolCall, ToolMessage, UserMessage
from console_app.engine.calls.arguments import is_object
from console_app.engine.calls.results import INTERRUPTED

GO_ON = "(Now act on that: make all calls that don't depend on each other in this answer, or end with the answer.)"
CONTINUES = "(The conversation goes on from here.)"
_ILLEGAL_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LENGTH = 64


@dataclass(slots=True)
class _Asked:
    message: AssistantMessage
    results: list[ToolMessage | None] = field(default_factory=list[ToolMessage | None])


def normalise(messages: Iterable[Message], taken: Set[str] = frozenset()) -> tuple[Message, ...]:
    """Return `messages` as every wire format accepts them. Ids that are `taken` belong to messages before these."""
    paired: list[UserMessage | _Asked] = []
    open_calls: dict[str, deque[tuple[_Asked, int]]] = {}
    for message in messages:
        match message:
            case UserMessage():
                paired.append(message.written_out)
            case AssistantMessage():
                asked = _Asked(message, [None] * len(message.tool_calls))
                for call in message.tool_calls:
                    open_calls[call.id] = deque()  # an id used before: from here on it means the newer call
                for index, call in enumerate(message.tool_calls):
                    open_calls[call.id].append((asked, index))
                paired.append(asked)
            case ToolMessage():
                if places := open_calls.get(message.tool_call_id):
                    asked, index = places.popleft()
                    asked.results[index] = message
    return tuple(_in_turns(_with_results(paired, set(taken) if taken else set())))


def _with_results(paired: list[UserMessage | _Asked], used: set[str]) -> Iterable[Message]:
    # Ids that a later message uses unchanged may not be taken by a renamed one before it.
    used_later = {call.id for entry in paired if isinstance(entry, _Asked) for call in entry.message.tool_calls}
    for entry in paired:
        if isinstance(entry, UserMessage):
            yield entry
            continue
        calls = tuple(_legal(call, used, used_later) for call in entry.message.tool_calls)
        yield (
            entry.message
            if calls == entry.message.tool_calls
            else entry.message.model_copy(update={"tool_calls": calls})
        )
        for call, result in zip(calls, entry.results, strict=True):
            if result is None:
                failed = Outcome.INTERRUPTED
                yield ToolMessage(tool_call_id=call.id, content=INTERRUPTED, name=call.name, outcome=failed)
            elif result.tool_call_id == call.id and result.name == call.name:
                yield result
            else:
                yield result.model_copy(update={"tool_call_id": call.id, "name": call.name})


def _legal(call: ToolCall, used: set[str], used_later: set[str]) -> ToolCall:
    changes: dict[str, str] = {}
    if not call.id or call.id in used:
        base = call.id or "call"
        taken = used | used_later
        number = 2
        while f"{base}_{number}" in taken:
            number += 1
        changes["id"] = f"{base}_{number}"
    used.add(changes.get("id", call.id))
    name = _ILLEGAL_IN_NAME.sub("_", call.name)[:_NAME_LENGTH] or "unnamed"
    if name != call.name:
        changes["name"] = name
    if not is_object(call.arguments):
        changes["arguments"] = "{}"
    return call.model_copy(update=changes) if changes else call


def _in_turns(messages: Iterable[Message]) -> list[Message]:
    """Leave out what is empty, join messages of one role where one would do, and put the user first."""
    turns: list[Message] = []
    for message in messages:
        last = turns[-1] if turns else None
        match message:
            case UserMessage():
                if not message.content.strip():
                    continue
                if last is not None and only_blocks(last):
                    turns.pop()  # it goes on no more, and says nothing by itself
                    last = turns[-1] if turns else None
                if isinstance(last, UserMessage):
                    both = {last.origin, message.origin}
                    turns[-1] = UserMessage(
                        content=f"{last.content}\n\n{message.content}",
                        origin="user" if "user" in both else "fanout",
                        images=(*last.images, *message.images),
                        parts=(*(last.parts or (last,)), message),
                    )
                    continue
            case AssistantMessage():
                if not message.content.strip():
                    if not message.tool_calls and not message.paused:
                        continue
                    if message.content:
                        message = message.model_copy(update={"content": ""})
                if isinstance(last, AssistantMessage):
                    if last.label is None or last.paused:
                        between = "\n\n" if last.content and message.content and not last.paused else ""
                        begin = len(last.content) + len(between)
                        turns[-1] = AssistantMessage(
                            content=f"{last.content}{between}{message.content}",
                            tool_calls=message.tool_calls,  # the first had none, else its results would stand between
                            reasoning=(*last.reasoning, *(_moved(block, begin) for block in message.reasoning)),
                            interrupted=message.interrupted,
                            paused=message.paused,
                            label=message.label,
                            endpoint=message.endpoint,  # its calls' own
                        )
                        continue
                    # A thought and what followed were two answers, and signed reasoning of two can't be put together.
                    turns.append(UserMessage(content=GO_ON, origin="fanout"))
                if last is None:
                    turns.append(UserMessage(content=CONTINUES, origin="fanout"))
            case ToolMessage():
                pass
        turns.append(message)
    return turns


def only_blocks(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and not message.content and not message.tool_calls


def _moved(block: Reasoning, characters: int) -> Reasoning:
    before = block.data.get("text_before")
    if not isinstance(before, int):
        return block
    return block.model_copy(update={"data": {**block.data, "text_before": before + characters}})
