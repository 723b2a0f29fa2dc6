"""Reads a streamed answer of OpenAI Chat Completions, and of the many servers that speak it almost alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console_app.domain.chunks import CallClosed, Chunk, NoticeChunk, ReasoningSoFar
from console_app.domain.tools import ToolSpec
from console_app.providers.openai_chat.calls import ChatCalls
from console_app.providers.openai_chat.kept import CALL_FIELDS, TEXT_FIELDS, KeptFields
from console_app.providers.stream.answer import ServerFault, WireAnswer, raise_for_error
from console_app.providers.stream.call_accumulator import CallAccumulator, Label
from console_app.providers.stream.loose_json import arr, count, obj, text

NO_REASON = "The endpoint ended its answer without a finish reason: it may not be whole."
_NONE_YET = frozenset({"null", "none"})  # as text, while the answer goes on (DashScope)
_NOTHING: dict[str, Any] = {}


class ChatAnswer(WireAnswer):
    """One chat completion. `source` names the endpoint, the only one that gets its reasoning back."""

    def __init__(self, tools: Sequence[ToolSpec] = (), source: str = "") -> None:
        super().__init__(tools)
        self._accumulated = CallAccumulator(self.chunks, self.offered)
        self._fragments = ChatCalls(self._accumulated, self.offered.names)
        self._kept = KeptFields(source)
        self._told: list[Chunk] = []  # of what is kept, beside calls that may run already
        self._choice: Any = None  # the index of the first choice: only that is the answer
        self._message: dict[str, Any] = {}  # the newest whole message, in place of deltas or beside them

    @property
    def calls(self) -> CallAccumulator:
        """The calls, by what each fragment says of its own."""
        return self._accumulated

    def event(self, name: str, data: dict[str, Any]) -> None:
        """One `chat.completion.chunk`."""
        if choices := arr(data.get("choices")):
            choice = obj(choices[0])
            if len(choices) > 1 or choice.get("index") != self._choice:
                choice = next(filter(self._is_ours, map(obj, choices)), _NOTHING)
            if delta := choice.get("delta"):
                self._delta(obj(delta))
            if not delta or len(choice) > 3:
                self._beside(choice)
            # Routers send an error together with a finish reason: no call is whole then.
            if data.get("error") or choice.get("error"):
                raise ServerFault(data if data.get("error") else choice)
            reason = choice.get("finish_reason")
            if reason and isinstance(reason, str) and reason.lower() not in _NONE_YET:
                self._take_message()
                self.finish(reason)
        else:
            raise_for_error(name, data)
        if "usage" in data or "x_groq" in data:
            self.take_usage(data)

    def take_usage(self, event: dict[str, Any]) -> None:
        """Of the chunk, or of Groq's own field."""
        if usage := obj(event.get("usage")) or obj(obj(event.get("x_groq")).get("usage")):
            self.usage = usage

    def _beside(self, choice: dict[str, Any]) -> None:
        """What some servers write into a choice beside its delta, or in place of it."""
        if message := choice.get("message"):
            self._message = obj(message)
        if usage := choice.get("usage"):  # Moonshot
            self.usage = obj(usage)

    def _is_ours(self, choice: dict[str, Any]) -> bool:
        """Whether a choice is the one being read: an endpoint told to write several streams them side by side."""
        index = choice.get("index")
        if self._choice is None:
            self._choice = index
        return index is None or index == self._choice

    def whole(self, body: dict[str, Any]) -> bool:
        """A `chat.completion`, from a server that doesn't stream."""
        if not arr(body.get("choices")):
            return False
        self.event("", body)
        if not self.finished:
            self._ended_without_reason()
        if not self.finished:
            self.finish("stop")  # nothing at all was said
        return True

    def done_marker(self) -> None:
        """The endpoint says that no more comes; without a reason before it, text may count as whole but calls don't."""
        super().done_marker()
        if not self.finished:
            self._ended_without_reason()

    def _ended_without_reason(self) -> None:
        self._take_message()
        if self.text_length or len(self.calls):
            self.calls.finish("an end without a finish reason")
            self.chunks.append(NoticeChunk(NO_REASON, "warning"))
            self.finished = True

    def cut(self, why: str) -> None:
        """The stream broke off."""
        self._take_message()
        super().cut(why)

    # -- what a message holds

    def _take_message(self) -> None:
        """Reads what a whole message has that did not come in deltas: it may repeat them, once or with each chunk."""
        message, self._message = self._message, {}
        if not message:
            return
        seen: set[str] = set()
        if self.text_length:
            seen |= {"content", "refusal"}
        if len(self.calls):
            seen |= {"tool_calls", "function_call"}
        if self._kept:
            seen |= {*TEXT_FIELDS, "reasoning_details"}
        self._delta({name: value for name, value in message.items() if name not in seen}, whole=True)

    def _delta(self, delta: dict[str, Any], *, whole: bool = False) -> None:
        content = delta.get("content")
        if len(delta) == 1:  # the common cases: text and nothing else, or calls
            if isinstance(content, str):
                self.add_text(content)
                return
            if calls := delta.get("tool_calls"):
                self._calls(arr(calls), whole)
                return
        thought = "extra_content" in delta and self._kept.signed(obj(delta["extra_content"]))
        for piece in self._kept.think(delta):
            self.think(piece)
        if content and thought:
            self._kept.thought(self.think(text(content)))
        elif isinstance(content, str):
            self.add_text(content)
        elif content:
            self._parts(content)
        if refusal := text(delta.get("refusal")):
            self.add_text(refusal)
        if calls := arr(delta.get("tool_calls")):
            self._calls(calls, whole)
        elif function := obj(delta.get("function_call")):
            self._fragments.fragment(Label(0), text(function.get("name")), function.get("arguments"))

    def _parts(self, content: Any) -> None:
        for part in map(obj, arr(content)):
            if part.get("type", "text") == "text":
                self.add_text(text(part.get("text")))
            elif part:
                self.think(self._kept.part(part, self.text_length))

    def _calls(self, fragments: list[Any], whole: bool) -> None:
        if len(fragments) == 1 and not whole and self._is_more(obj(fragments[0])):
            return
        # Where nothing else tells the calls of a list apart, their places do.
        by_place = whole or (len(fragments) > 1 and all(map(_is_unlabelled, map(obj, fragments))))
        for place, fragment in enumerate(map(obj, fragments)):
            function = obj(fragment.get("function"))
            label = Label(place if by_place else _key(fragment.get("index")), text(fragment.get("id")))
            self._fragments.fragment(label, text(function.get("name")), function.get("arguments"))
            if not CALL_FIELDS.isdisjoint(fragment):
                given = {name: fragment[name] for name in sorted(CALL_FIELDS) if fragment.get(name)}
                self._fragments.keep(label, {"fields": given} if given else {})
        if not self.finished and any(isinstance(chunk, CallClosed) for chunk in self.chunks):
            kept = self._kept.so_far(ReasoningSoFar, calls=True)
            if kept != self._told:
                self._told = kept
                self.chunks.extend(kept)

    def _is_more(self, fragment: dict[str, Any]) -> bool:
        """Takes the common case: an index and a piece of arguments, and nothing else."""
        index, function = fragment.get("index"), fragment.get("function")
        if len(fragment) != 2 or type(index) is not int or not isinstance(function, dict) or len(obj(function)) != 1:
            return False
        piece = obj(function).get("arguments")
        return isinstance(piece, str) and self._accumulated.more(index, piece)

    def close_reasoning(self) -> None:
        """All reasoning of the answer, with the field it has to be sent back in, and what else goes back."""
        self.chunks.extend(self._kept.chunks(calls=len(self.calls) > 0))

    def tokens(self) -> tuple[int, int, int | None] | None:
        """From `usage`; servers that count no cache, or count it elsewhere, give None for it."""
        sent, written = count(self.usage.get("prompt_tokens")), count(self.usage.get("completion_tokens"))
        if sent is None and written is None:
            return None
        cached = count(obj(self.usage.get("prompt_tokens_details")).get("cached_tokens"))
        for field in ("prompt_cache_hit_tokens", "cached_tokens"):  # DeepSeek, Moonshot
            cached = count(self.usage.get(field)) if cached is None else cached
        return sent or 0, written or 0, cached


def _key(index: Any) -> int | None:
    """The index of a call; some servers write it as text."""
    if type(index) is int:
        return index
    return int(index) if isinstance(index, str) and index.isdecimal() else None


def _is_unlabelled(fragment: dict[str, Any]) -> bool:
    named = bool(obj(fragment.get("function")).get("name"))
    return named and _key(fragment.get("index")) is None and not fragment.get("id")
