"""What one endpoint refused for its model, and what goes to it in that place: learnt once, kept while it is open.

A refusal is read by its words (tables below and in `output_limits`). Each thing is given up at most once, and every one
changes the next request, so that a request is never sent again as it was.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.ports.provider import ModelRequest
from console_app.domain.tools import ToolCall
from console_app.providers import schema_keywords
from console_app.providers.fault_wordings import Refused, refused_part
from console_app.providers.faults import Fault
from console_app.providers.loose_json import arr, obj
from console_app.providers.output_limits import OutputLimit, output_limit
from console_app.providers.pictures import images_refused, picture_refused

LIMIT_NAMES = ("max_completion_tokens", "max_output_tokens", "max_tokens")
# Gemini takes it for a signature of its own, where a call has none: it came from elsewhere, or lost it.
NO_SIGNATURE = "skip_thought_signature_validator"
_HISTORY_STATUSES = (None, 400, 404, 409, 422, 500)
_SPARE = 1.02  # of the input that is guessed for a later request


@dataclass(frozen=True, slots=True)
class Concession:
    """What was given up, in words, and what is sent instead."""

    what: str
    instead: str = "without it"
    reasoning: bool = False  # of the answers so far


@dataclass(frozen=True, slots=True)
class _Room:
    """What answers may take beside an input: known of a body of `size` characters, which had `input` tokens."""

    context: int
    input: int
    size: int

    def beside(self, size: int) -> int:
        input = self.input if size == self.size else math.ceil(self.input * size / self.size * _SPARE)
        return max(self.context - input, 1)


class Concessions:
    """Of one endpoint and model. `apply_to` and `applied` make a request fit, `learn` takes a refusal."""

    def __init__(self) -> None:
        self.sees = True  # pictures are sent until the endpoint says that its model takes none
        self._stale: set[str] = set()  # reasoning it no longer takes
        self._pictures: set[str] = set()  # paths of those that it doesn't take
        self._own_ids_refused = False
        self._unsigned = False
        self._keywords: set[str] = set()
        self.largest: int | None = None  # tokens of an answer, whatever the request
        self._room: _Room | None = None

    # -- what goes out

    def apply_to(self, request: ModelRequest) -> ModelRequest:
        """`request` without the reasoning, ids and pictures that were refused."""
        if self.sees and not (self._stale or self._pictures or self._own_ids_refused):
            return request
        return replace(request, messages=tuple(map(self._message, request.messages)))

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` with the signatures, schemas and the token limit that the endpoint takes; changed in place."""
        if self._unsigned:
            _sign(body)
        if self._keywords:
            schema_keywords.leave_out(body, self._keywords)
        if self.largest is not None or self._room is not None:
            self._limit(body)
        return body

    def _message(self, message: UserMessage | AssistantMessage | ToolMessage) -> Any:
        match message:
            case AssistantMessage():
                kept = tuple(block for block in message.reasoning if _key(block) not in self._stale)
                calls = message.tool_calls
                if self._own_ids_refused:
                    calls = tuple(call.model_copy(update={"provider_data": _without_id(call)}) for call in calls)
                if kept == message.reasoning and calls == message.tool_calls:
                    return message
                return message.model_copy(update={"reasoning": kept, "tool_calls": calls})
            case UserMessage() | ToolMessage():
                changes: dict[str, Any] = {}
                if message.images and (not self.sees or not self._pictures.isdisjoint(message.images)):
                    kept_paths = (path for path in message.images if path not in self._pictures)
                    changes["images"] = tuple(kept_paths) if self.sees else ()
                return message.model_copy(update=changes) if changes else message

    def _limit(self, body: dict[str, Any]) -> None:
        most = self.largest
        if self._room is not None:
            room = self._room.beside(_size(body))
            most = room if most is None else min(most, room)
        names = [name for name in LIMIT_NAMES if name in body]
        for name in names:
            body[name] = min(int(body[name]), most or 1)
        if not names and self._room is not None and most is not None:
            body[LIMIT_NAMES[1] if "input" in body else LIMIT_NAMES[2]] = most

    # -- what came back

    def learn(self, fault: Fault, request: ModelRequest, body: dict[str, Any]) -> Concession | None:
        """What the refusal of `request`, sent as `body`, has us give up; None where it says nothing of the kind."""
        if limit := output_limit(fault.message):
            return self._less(limit, body)
        if fault.error.status not in _HISTORY_STATUSES:
            return None
        words = f"{fault.code} {fault.param} {fault.message}"
        match refused_part(words):
            case Refused.SIGNATURE if not self._unsigned and _calls(body):
                self._unsigned = True
                return Concession("the calls of older answers without its own signature", "with a placeholder for it")
            case Refused.REASONING if stale := {_key(block) for block in _reasoning(request)} - self._stale:
                self._stale |= stale
                return Concession("the reasoning of older answers", reasoning=True)
            case Refused.ID if not self._own_ids_refused and _has_calls(request):
                self._own_ids_refused = True
                return Concession("ids of older calls", "with short ones")
            case Refused.KEYWORD if found := schema_keywords.refused_in(words, body) - self._keywords:
                self._keywords |= found
                return Concession(f"{', '.join(sorted(found))} in the tools' parameters")
            case _:
                return self._without_pictures(fault, request, words)

    def _less(self, limit: OutputLimit, body: dict[str, Any]) -> Concession | None:
        """Shorter answers; None where the request asked for no longer ones, so that something else is wrong."""
        asked = next((int(body[name]) for name in LIMIT_NAMES if isinstance(body.get(name), int)), None)
        if (asked is not None and asked <= limit.tokens) or (asked is None and not limit.context):
            return None
        if limit.context:
            if asked is None and self._room is not None:
                return None
            self._room = _Room(limit.context, limit.input, 0)
            self._room = replace(self._room, size=_size(body))
        else:
            self.largest = limit.tokens
        what = f"answers of up to {asked:,} tokens" if asked is not None else "answers without a limit"
        return Concession(what, f"with {limit.tokens:,}")

    def _without_pictures(self, fault: Fault, request: ModelRequest, words: str) -> Concession | None:
        shown = {path for one in request.messages if not isinstance(one, AssistantMessage) for path in one.images}
        if not self.sees or not shown:
            return None
        if picture_refused(fault.error.status, words) and not shown <= self._pictures:
            self._pictures |= shown
            return Concession("a picture", "with the words about it alone")
        if images_refused(fault.error.status, words):
            self.sees = False
            return Concession("images")
        return None


def _without_id(call: ToolCall) -> dict[str, Any]:
    """What goes back with a call but the id that its endpoint no longer takes: it gets one that all of them take."""
    return {name: value for name, value in call.provider_data.items() if name != "id"}


def _key(block: Reasoning) -> str:
    written = json.dumps(block.data, sort_keys=True, default=str)
    return hashlib.sha256(f"{block.provider} {written}".encode("utf-8", "surrogatepass")).hexdigest()


def _reasoning(request: ModelRequest) -> Iterable[Reasoning]:
    return (block for one in request.messages if isinstance(one, AssistantMessage) for block in one.reasoning)


def _has_calls(request: ModelRequest) -> bool:
    return any(isinstance(message, AssistantMessage) and message.tool_calls for message in request.messages)


def _size(body: Mapping[str, Any]) -> int:
    return len(json.dumps({name: value for name, value in body.items() if name not in LIMIT_NAMES}, default=str))


def _calls(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a chat body's answers."""
    return [obj(call) for one in arr(body.get("messages")) for call in arr(obj(one).get("tool_calls"))]


def _sign(body: Mapping[str, Any]) -> None:
    for call in _calls(body):
        call["extra_content"] = {"google": {"thought_signature": NO_SIGNATURE}}
