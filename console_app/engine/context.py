"""Chooses what of the conversation goes to the model: long results cut, old turns as a summary. The history itself
never changes. A summary covers whole turns, so it never stands between a call and its result.

`normalise` makes that valid for the wire: each call answered exactly once, directly after its message; legal and unique
ids and names; arguments that are an object; roles that take turns, the user first. Of what it returned it makes the
same again. Valid older turns don't depend on newer ones once their calls have results, so they are kept.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set

from console_app.domain import (
    AssistantMessage,
    Message,
    Outcome,
    Reasoning,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    amounts,
)
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.engine.calls.arguments import is_object
from console_app.engine.calls.results import INTERRUPTED
from console_app.records import dataclass, field

SUMMARY_OPENS = "[Fanout: a summary of the conversation so far stands here in place of its older turns.]"
LEFT_OUT = re.compile(r"\[Fanout: [\d,]+ of [\d,]+ characters are left out here, [^\]\n]{1,200}\]")  # in a result
GO_ON = "(Now act on that: make all calls that don't depend on each other in this answer, or end with the answer.)"
CONTINUES = "(The conversation goes on from here.)"
_ILLEGAL_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LENGTH = 64
_NONE: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class ContextPart:
    name: str
    messages: int
    characters: int

    @property
    def tokens(self) -> int:
        return self.characters // amounts.CHARACTERS_A_TOKEN


def in_context(
    history: Sequence[Message],
    compaction: ev.HistoryCompacted | None,
    most: int | None,
    shortened: Mapping[str, int] = _NONE,
) -> list[Message]:
    messages = list(history)
    if compaction is not None and 0 < compaction.covers <= len(messages):
        messages = [summary_message(compaction), *messages[compaction.covers :]]
    return [trimmed(message, most, shortened) for message in messages]


def summary_message(compaction: ev.HistoryCompacted) -> UserMessage:
    return UserMessage(content=f"{SUMMARY_OPENS}\n\n{compaction.summary}", origin="fanout")


def trimmed(message: Message, most: int | None, shortened: Mapping[str, int] = _NONE) -> Message:
    """Return a result of more than `most` characters, or than its call was `shortened` to, with its middle left out,
    and how much that was."""
    if not isinstance(message, ToolMessage):
        return message
    own = shortened.get(message.tool_call_id)
    why = "as the setting max_result_chars says"
    if own is not None and (most is None or own < most):
        most, why = own, "as the request was too large for your context window"
    if most is None or len(message.content) <= most:
        return message
    head, tail = most - most // 4, most // 4
    left_out = len(message.content) - head - tail
    note = (
        f"[Fanout: {left_out:,} of {len(message.content):,} characters are left out here, {why}; ask for a part of it "
        "to read more.]"
    )
    content = f"{message.content[:head]}\n{note}\n{message.content[len(message.content) - tail :]}"
    return message.model_copy(update={"content": content})


def characters(message: Message) -> int:
    match message:
        case UserMessage():
            return len(message.whole)
        case AssistantMessage():
            return len(message.content) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        case ToolMessage():
            return len(message.content)


def breakdown(
    system: Mapping[str, str], tools: Iterable[ToolSpec], transcript: Transcript, most: int | None
) -> list[ContextPart]:
    sizes: dict[str, list[int]] = {
        **{name: [len(text)] for name, text in system.items()},
        "tools": [tool.characters for tool in tools],
        "summary": [],
        "you": [],
        "the model": [],
        "its calls": [],
        "results": [],
    }
    for message in in_context(transcript.history, transcript.compaction, most, transcript.shortened):
        match message:
            case UserMessage():
                summary = message.origin == "fanout" and message.content.startswith(SUMMARY_OPENS)
                sizes["summary" if summary else "you"].append(len(message.whole))
            case AssistantMessage():
                sizes["the model"].append(len(message.content))
                sizes["its calls"] += [len(call.name) + len(call.arguments) for call in message.tool_calls]
            case ToolMessage():
                sizes["results"].append(len(message.content))
    return [ContextPart(name, len(found), sum(found)) for name, found in sizes.items() if sum(found)]


WORTH_KEEPING = 64  # messages since the last look: fewer are quicker made valid again than looked at
LONG = 1_000  # characters of a result from which on a limit may cut it; one lower than this looks at all of them


class WireHistory:
    """Keeps the older turns of one history as they go on the wire. Its answers are those of `normalise`."""

    def __init__(self, worth_keeping: int = WORTH_KEEPING) -> None:
        self._worth_keeping = worth_keeping
        self._compaction: ev.HistoryCompacted | None = None
        self._last: Message | None = None  # of those that are ready, as it stands in the history
        self._count = 0  # messages of the history that are ready
        self._ready: list[Message] = []  # whole: results are cut to their limit with each request
        self._long: list[int] = []  # where in `_ready` the long results are
        self._ids: set[str] = set()

    @property
    def ready(self) -> int:
        return len(self._ready)

    def messages(
        self,
        history: Sequence[Message],
        compaction: ev.HistoryCompacted | None,
        most: int | None,
        note: UserMessage | None = None,
        shortened: Mapping[str, int] | None = None,
    ) -> tuple[Message, ...]:
        """Return what a request carries: `in_context`, then `note`, valid for every wire format."""
        shortened = shortened or {}
        if not self._goes_on(history, compaction):
            self.__init__(self._worth_keeping)
            self._compaction = compaction
        new = self._new(history)
        if len(new) >= self._worth_keeping:
            self._keep(new, len(history))
            new = self._new(history)
        if note is not None:
            new.append(note)
        ready = self._ready.copy()
        for place in self._long if most is None or most >= LONG else range(len(ready)):
            ready[place] = trimmed(ready[place], most, shortened)
        return (*ready, *normalise((trimmed(message, most, shortened) for message in new), self._ids))

    def _goes_on(self, history: Sequence[Message], compaction: ev.HistoryCompacted | None) -> bool:
        if compaction is not self._compaction or len(history) < self._count:
            return False
        return self._count == 0 or history[self._count - 1] is self._last

    def _new(self, history: Sequence[Message]) -> list[Message]:
        return list(history[self._count :]) if self._count else in_context(history, self._compaction, None)

    def _keep(self, new: list[Message], length: int) -> None:
        """Make the turns before the newest ready, if nothing that follows can change what becomes of them."""
        prompts = (n for n, one in enumerate(new) if isinstance(one, UserMessage) and one.content.strip())
        begin = max(prompts, default=0)
        ids = _answered_ids(new[:begin])
        if not begin or ids is None or not self._ids.isdisjoint(ids):
            return
        if self._compaction is not None and self._compaction.covers > length:
            return  # it covers what is not there, and may yet come
        ready = normalise(new[:begin], self._ids)
        if not ready or isinstance(ready[-1], UserMessage) or only_blocks(ready[-1]):
            return  # what follows would be joined to it, or take it out
        behind = len(self._ready)
        self._long += [
            behind + n for n, one in enumerate(ready) if isinstance(one, ToolMessage) and len(one.content) > LONG
        ]
        self._ready += ready
        self._ids.update(ids)
        self._count = length - len(new) + begin
        self._last = new[begin - 1]


def _answered_ids(messages: Sequence[Message]) -> set[str] | None:
    ids: set[str] = set()
    unanswered: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            unanswered.discard(message.tool_call_id)
        elif isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                if not call.id or call.id in ids:
                    return None
                ids.add(call.id)
                unanswered.add(call.id)
    return None if unanswered else ids


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
