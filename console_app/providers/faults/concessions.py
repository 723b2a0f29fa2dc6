"""Remembers what one endpoint refused for its model, and sends something else in that place.

A refusal is read by its words (tables below and in `wordings`). Each thing is given up at most once, and every one
changes the next request, so that a request is never sent again as it was. What didn't help is taken back: words can be
misread. `config.known_refusals` remembers the others.

A refused token limit reads much like a full context: what tells them apart is whether the answer's part is at fault,
and whether room is left once it is smaller. Mistral refuses a prompt behind results, and chat templates refuse two
prompts in a row: both stay in a conversation once a turn was stopped before its answer, or told something meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from console_app.config.models import Refusals
from console_app.domain import AssistantMessage, Message, Reasoning, ToolMessage, UserMessage, one_line, ports
from console_app.providers.faults import tool_schemas
from console_app.providers.faults.fault import Fault
from console_app.providers.faults.wordings import Refused, longest_description, refused_part
from console_app.providers.pictures import images_refused, picture_refused
from console_app.providers.stream.loose_json import arr, obj
from console_app.records import dataclass, replace
from console_app.textcalls import lazily

LEAST_ROOM = 256  # tokens for an answer; with fewer the context is full

_OF_ANSWERS = lazily(
    r"max_?(completion_|output_|new_)?tokens|maxOutputTokens|max(imum)? (output |completion |new )?tokens"
    r"|completion tokens|output tokens|in the (completion|output)|for the completion",
    re.IGNORECASE,
)
_N = r"([\d,_]+)"
_CONTEXT = lazily(rf"(?:context (?:length|window|limit)|model'?s context)\D{{0,24}}{_N}(?! input| > )", re.IGNORECASE)
_INPUT = lazily(
    rf"{_N} (?:tokens )?(?:(?:in|from) the (?:input |prompt |)(?:messages|prompt|input)|of text input|input tokens"
    rf"|prompt tokens|tokens from the input)|passed {_N} input tokens",
    re.IGNORECASE,
)


def _number(digits: str) -> int:
    return int(re.sub(r"\D", "", digits))


# A limit that stands in the message, whatever the request: vLLM, OpenAI, Anthropic, Qwen, DeepSeek, Mistral, Groq,
# Gemini, Cohere, Bedrock, and OpenRouter (what is left on the account).
_LARGEST = (
    rf"can only afford {_N}",
    rf"max_tokens\D{{0,20}}[\d,]+ ?> ?{_N}, which is the maximum",
    rf"supports? at most {_N}",
    rf"\[\s*\d+\s*,\s*{_N}\s*\]",
    rf"to {_N} \(exclusive\)",
    rf"to {_N} \(inclusive\)",
    rf"(?:less than or equal to|lower than or equal to|at most|not exceed|no more than|<=) ?[`'\"]?{_N}",
    rf"(?:limit of|maximum of|maximum (?:value )?(?:is|allowed is|allowed:)) ?[`'\"]?{_N}",
    rf"max_tokens\D{{0,20}}[\d,]+ ?> ?{_N}",
)
# Error texts that name both sizes, with the groups of (context, input): the difference is left for the answer.
_SHARED: tuple[tuple[str, tuple[int, int]], ...] = (
    (rf"{_N} > {_N} - {_N}", (2, 3)),  # vLLM: asked > context - input
    (rf"{_N} \+ {_N} > {_N}", (3, 1)),  # Anthropic: input + asked > context
    (rf"must be <= {_N}\.? Given: {_N} .?inputs", (1, 2)),  # Together, TGI
)


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """The largest answer that an endpoint takes.

    `context` and `input` are not 0 where it is what a request's own tokens left; `of_account` where it is what is left
    on the account.
    """

    tokens: int
    context: int = 0
    input: int = 0
    of_account: bool = False


def output_limit(message: str) -> OutputLimit | None:
    """Return the limit that an error names; None where the answer's part isn't at fault, or too little would be left of
    it."""
    if _OF_ANSWERS.search(message) is None and "afford" not in message:
        return None
    for pattern, (context, input) in _SHARED:
        if found := re.search(pattern, message, re.IGNORECASE):
            return _left(_number(found[context]), _number(found[input]))
    context, input = _CONTEXT.search(message), _INPUT.search(message)
    if context and input:
        return _left(_number(context[1]), _number(input[1] or input[2]))
    if re.search(r"context (length|window|limit)", message, re.IGNORECASE) and "`context_window`" not in message:
        return None
    for pattern in _LARGEST:
        found = re.search(pattern, message, re.IGNORECASE)
        if found and (tokens := _number(found[1]) - ("exclusive" in pattern)) > 0:
            return OutputLimit(tokens, of_account="afford" in pattern)
    return None


def _left(context: int, input: int) -> OutputLimit | None:
    return OutputLimit(context - input, context, input) if context - input >= LEAST_ROOM else None


BETWEEN = "Noted."  # where the model had no say: an empty answer is refused, too


def in_order(messages: Any) -> list[dict[str, Any]]:
    """Chat messages with neighbours of one role joined, and a word of the model between results and a prompt."""
    out: list[dict[str, Any]] = []
    for message in map(obj, arr(messages)):
        before: Mapping[str, Any] = out[-1] if out else {}
        role = message.get("role")
        if role == before.get("role") and (role == "user" or (role == "assistant" and not before.get("tool_calls"))):
            out[-1] = {**before, **message, "content": joined(before.get("content"), message.get("content"))}
            continue
        if role == "user" and before.get("role") == "tool":
            out.append({"role": "assistant", "content": BETWEEN})
        out.append(dict(message))
    return out


def joined(first: Any, second: Any) -> Any:
    """Two contents as one: a text, or parts where one of them has parts."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return _parts(first) + _parts(second)


def _parts(content: Any) -> list[Any]:
    return arr(content) if isinstance(content, list) else [{"type": "text", "text": content}]


def refused_field(fault: Fault, body: Mapping[str, Any], optional: Mapping[str, Iterable[str]]) -> str:
    """Return the first of `optional` that `body` has and the fault names; "" when there is none.

    `optional` maps a field to further words that stand for it in messages. `tools.strict` is `strict` inside `tools`.
    xAI and Gemini write names as in `topP`, whatever the request has.
    """
    if fault.error.status not in (400, 422):
        return ""
    message = f"{fault.param} {fault.message}"
    for field, words in optional.items():
        name = field.rpartition(".")[2]
        names = (name, re.sub(r"_([a-z])", lambda found: found[1].upper(), name), *words)
        if _holds(body, field) and any(re.search(rf"(?<![a-z]){re.escape(name)}(?![a-z_])", message) for name in names):
            return field
    return ""


def without(body: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return `body` without `fields`. Objects inside it are changed in place: they were made for this request."""
    out = dict(body)
    for field in fields:
        head, _, inner = field.partition(".")
        if inner:
            for part in _inside(body, head):
                part.pop(inner, None)
        else:
            out.pop(field, None)
    return out


def _holds(body: Mapping[str, Any], field: str) -> bool:
    head, _, inner = field.partition(".")
    return any(inner in part for part in _inside(body, head)) if inner else field in body


def _inside(body: Mapping[str, Any], head: str) -> list[dict[str, Any]]:
    value = body.get(head)
    return [obj(part) for part in arr(value)] if isinstance(value, list) else [obj(value)]


LIMIT_NAMES = ("max_completion_tokens", "max_output_tokens", "max_tokens")
# Gemini takes it for a signature of its own, where a call has none: it came from elsewhere, or lost it.
NO_SIGNATURE = "skip_thought_signature_validator"
_HISTORY_STATUSES = (None, 400, 404, 409, 422, 500)
MOST_TOOLS = 16  # that are left out for their schemas; of more, something else is the matter
_OWN_NUMBER = lazily(r"[\w-]*\d[\w-]*")
_SPARE = 1.02  # of the input that is guessed for a later request


@dataclass(frozen=True, slots=True)
class Concession:
    """A thing that was given up, in words, and what is sent instead."""

    what: str
    instead: str = "without it"
    reasoning: bool = False  # of the answers so far


def _beside(room: tuple[int, int, int], size: int) -> int:
    """Return what an answer may take beside a body of `size` characters, by what is known of another."""
    context, input, known = room
    return max(context - (input if size == known else math.ceil(input * size / known * _SPARE)), 1)


class Concessions:
    """The concessions to one endpoint and model. `apply_to` and `applied` make a request fit, `learn` takes a
    refusal."""

    def __init__(self, refused: Refusals) -> None:
        self.refused = refused

    # -- what goes out

    def apply_to(self, request: ports.ModelRequest) -> ports.ModelRequest:
        """Return `request` without the reasoning, ids and pictures that were refused."""
        refused = self.refused
        changes = refused.reasoning or refused.takes_no_reasoning or refused.pictures or refused.own_ids_refused
        if refused.sees and not changes:
            return request
        return replace(request, messages=tuple(map(self._message, request.messages)))

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return `body` with the signatures, roles, schemas and the token limit that the endpoint takes; changed in
        place."""
        if self.refused.unsigned:
            for call in _calls(body):
                call["extra_content"] = {"google": {"thought_signature": NO_SIGNATURE}}
        if self.refused.no_blanks:
            for message in _blank(body):
                message["content"] = ""
        if self.refused.no_system and _system(body):  # its words go before those of the first message of the user
            system, *rest = map(obj, arr(body["messages"]))
            first = rest.pop(0) if rest and rest[0].get("role") == "user" else {"role": "user", "content": ""}
            body["messages"] = [first | {"content": joined(system["content"], first["content"])}, *rest]
        if self.refused.by_turns and "messages" in body:
            body["messages"] = in_order(body["messages"])
        if self.refused.no_stream:
            body["stream"] = False
            body.pop("stream_options", None)
        self._tools(body)
        self._limit(body)
        return body

    def _tools(self, body: dict[str, Any]) -> None:
        if self.refused.tools:
            tool_schemas.without_tools(body, self.refused.tools)
        if self.refused.description is not None:
            tool_schemas.shorten(body, self.refused.description)
        if self.refused.keywords:
            tool_schemas.leave_out(body, self.refused.keywords)
        if self.refused.items_wanted:
            tool_schemas.say_items(body)
        if self.refused.plain_names:
            tool_schemas.make_plain(body)

    @property
    def largest(self) -> int | None:
        """Return the tokens of an answer, whatever the request; None while nothing is known against any number."""
        return min(filter(None, (self.refused.largest, self.refused.affordable)), default=None)

    def _message(self, message: Message) -> Any:
        match message:
            case AssistantMessage():
                given = () if self.refused.takes_no_reasoning else message.reasoning
                kept = tuple(block for block in given if _key(block) not in self.refused.reasoning)
                calls = message.tool_calls
                if self.refused.own_ids_refused:
                    # Without an id that its endpoint no longer takes.
                    given_back = [
                        {name: one for name, one in call.provider_data.items() if name != "id"} for call in calls
                    ]
                    changed = zip(calls, given_back, strict=True)
                    calls = tuple(call.model_copy(update={"provider_data": data}) for call, data in changed)
                if kept == message.reasoning and calls == message.tool_calls:
                    return message
                return message.model_copy(update={"reasoning": kept, "tool_calls": calls})
            case UserMessage() | ToolMessage():
                changes: dict[str, Any] = {}
                sees, refused = self.refused.sees, self.refused.pictures
                if message.images and (not sees or not refused.isdisjoint(message.images)):
                    changes["images"] = tuple(path for path in message.images if path not in refused) if sees else ()
                return message.model_copy(update=changes) if changes else message

    def _limit(self, body: dict[str, Any]) -> None:
        most, room = self.largest, self.refused.room
        if most is None and room is None:
            return
        if room is not None:
            left = _beside(room, _size(body))
            most = left if most is None else min(most, left)
        names = [name for name in LIMIT_NAMES if name in body]
        for name in names:
            body[name] = min(int(body[name]), most or 1)
        if not names and room is not None and most is not None:
            body[LIMIT_NAMES[1] if "input" in body else LIMIT_NAMES[2]] = most

    # -- what came back

    def learn(self, fault: Fault, request: ports.ModelRequest, body: dict[str, Any]) -> Concession | None:
        """Give something up for the refusal of `request`, sent as `body`; None where it says nothing of the kind."""
        words = f"{fault.code} {fault.param} {fault.message}"
        most = longest_description(words) if fault.error.status in _HISTORY_STATUSES else None
        if most is not None and tool_schemas.longest_said(body) > most:
            self.refused.description = most
            return Concession("long descriptions of tools", f"with their first {most:,} characters")
        if limit := output_limit(fault.message):
            return self._less(limit, body)
        if fault.error.status not in _HISTORY_STATUSES:
            return None
        refused = self.refused
        answers = [one for one in request.messages if isinstance(one, AssistantMessage)]
        match refused_part(words):
            case Refused.SIGNATURE if not refused.unsigned and _calls(body):
                refused.unsigned = True
                return Concession("the calls of older answers without its own signature", "with a placeholder for it")
            case Refused.REASONING if (
                stale := {_key(one) for by in answers for one in by.reasoning} - refused.reasoning
            ):
                refused.reasoning |= stale
                return Concession("the reasoning of older answers", reasoning=True)
            case Refused.ID if not refused.own_ids_refused and any(one.tool_calls for one in answers):
                refused.own_ids_refused = True
                return Concession("ids of older calls", "with short ones")
            case Refused.BLANK if not refused.no_blanks and _blank(body):
                refused.no_blanks = True
                return Concession("answers without text", "with an empty one")
            case Refused.SYSTEM if not refused.no_system and _system(body):
                refused.no_system = True
                return Concession("a system message", "with its words before the first message")
            case Refused.UNTHOUGHT if not refused.thoughts_wanted and answers:
                refused.thoughts_wanted = True
                refused.fields.pop("messages.reasoning_content", None)
                return Concession("older answers without their reasoning", "with it, or a blank where there is none")
            case Refused.ORDER if not refused.by_turns and in_order(body.get("messages")) != body.get("messages", []):
                refused.by_turns = True
                return Concession(
                    "two messages in a row, or one behind results", "with the two as one, or a word between"
                )
            case Refused.STREAM if not refused.no_stream and body.get("stream"):
                refused.no_stream = True
                return Concession("to stream its answer", "for the whole of it at once")
            case Refused.ITEMS if not refused.items_wanted and tool_schemas.bare_lists(body):
                refused.items_wanted = True
                return Concession("lists in the tools' parameters that don't say of what", "with lists of anything")
            case Refused.NAMES if not refused.plain_names and tool_schemas.odd_in(body):
                refused.plain_names = True
                return Concession("names of the tools' parameters", "with plain ones")
            case Refused.KEYWORD if found := tool_schemas.refused_in(words, body) - refused.keywords:
                refused.keywords |= found
                return Concession(f"{', '.join(sorted(found))} in the tools' parameters")
            case _:
                return None

    def learn_at_last(self, fault: Fault, request: ports.ModelRequest, body: dict[str, Any]) -> Concession | None:
        """Give up the tool whose schema the refusal names, or pictures: for where nothing else is to be given up."""
        words = f"{fault.param} {fault.message}"
        possible = fault.error.status in _HISTORY_STATUSES and len(self.refused.tools) < MOST_TOOLS
        if possible and (name := tool_schemas.tool_in(words, body)):
            self.refused.tools.add(name)  # which would end every turn
            return Concession(f"the tool {name} ({one_line(fault.message, 160)})")
        return self._without_pictures(fault, request)

    def _less(self, limit: OutputLimit, body: dict[str, Any]) -> Concession | None:
        """Ask for shorter answers; None where the request asked for no longer ones, so that something else is wrong."""
        asked = next((int(body[name]) for name in LIMIT_NAMES if isinstance(body.get(name), int)), None)
        if (asked is not None and asked <= limit.tokens) or (asked is None and not limit.context):
            return None
        if limit.context and asked is None and self.refused.room is not None:
            return None
        if limit.context:
            self.refused.room = limit.context, limit.input, _size(body)
        elif limit.of_account:
            self.refused.affordable = limit.tokens
        else:
            self.refused.largest = limit.tokens
        what = f"answers of up to {asked:,} tokens" if asked is not None else "answers without a limit"
        return Concession(what, f"with {limit.tokens:,}")

    def _without_pictures(self, fault: Fault, request: ports.ModelRequest) -> Concession | None:
        words = f"{fault.code} {fault.param} {fault.message}"
        shown = {path for one in request.messages if not isinstance(one, AssistantMessage) for path in one.images}
        if not self.refused.sees or not shown:
            return None
        if picture_refused(fault.error.status, words) and not shown <= self.refused.pictures:
            self.refused.pictures |= shown
            return Concession("a picture", "with the words about it alone")
        if images_refused(fault.error.status, words):
            self.refused.sees = False
            return Concession("images")
        return None


class GivenUp:
    """The things that were given up for one request to be taken, until it is."""

    def __init__(self, refused: Refusals) -> None:
        self._refused = refused
        self._steps: list[tuple[str, Refusals, Refusals]] = []  # for which words; what was known before, and then

    def note(self, fault: Fault, before: Refusals) -> None:
        """Note that `before` was known until the refusal `fault`."""
        self._steps.append((_same_words(fault), before, deepcopy(self._refused)))

    def take_back(self, fault: Fault) -> None:
        """Take back what was given up for the same words, as the request failed in the end."""
        for words, before, after in reversed(self._steps):
            if words == _same_words(fault):
                self._refused.take_back(before, after)


def _same_words(fault: Fault) -> str:
    return _OWN_NUMBER.sub("", f"{fault.code} {fault.param} {fault.message}")


def _key(block: Reasoning) -> str:
    written = json.dumps(block.data, sort_keys=True, default=str)
    return hashlib.sha256(f"{block.provider} {written}".encode("utf-8", "surrogatepass")).hexdigest()


def _size(body: Mapping[str, Any]) -> int:
    return len(json.dumps({name: value for name, value in body.items() if name not in LIMIT_NAMES}, default=str))


def _calls(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [obj(call) for one in arr(body.get("messages")) for call in arr(obj(one).get("tool_calls"))]


def _blank(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answers of a chat body that are nothing but calls."""
    messages = [obj(one) for one in arr(body.get("messages"))]
    return [one for one in messages if one.get("role") == "assistant" and one.get("content", "") is None]


def _system(body: Mapping[str, Any]) -> bool:
    return obj(next(iter(arr(body.get("messages"))), None)).get("role") == "system"
