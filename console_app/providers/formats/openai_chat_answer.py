"""Reads a streamed answer of OpenAI Chat Completions, and of the many servers that speak it almost alike.

What an endpoint gave beside text and calls goes back to it as it came. Reasoning stands in a text field of its own
(DeepSeek, Kimi, vLLM), in `reasoning_details` (OpenRouter, MiniMax) or in parts of the content (Mistral). Gemini signs
messages and calls in their `extra_content`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console_app.domain import Reasoning, ToolSpec
from console_app.domain import chunks as ch
from console_app.providers.faults.error_bodies import ServerFault, raise_for_error
from console_app.providers.formats.openai_chat_calls import ChatCalls, Label
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.loose_json import arr, count, obj, text

FORMAT = "openai-chat"
TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
OPAQUE = "reasoning_opaque"  # the cipher of what stands in `reasoning_text` (Copilot)
CALL_FIELDS = frozenset({"extra_content", "provider_specific_fields"})
# Fields that are read, or are no part of a call: any other may be arguments in a false place.
_EVENT = frozenset(("choices", "created", "error", "id", "model", "object", "usage", "x_groq"))
_PLAIN_CHOICE = frozenset(("delta", "finish_reason", "index", "logprobs"))
_CHOICE = _PLAIN_CHOICE | {"error", "message", "usage"}
_TEXTS = frozenset(("content", "refusal", "role", OPAQUE, "reasoning_details", "thinking_blocks", *TEXT_FIELDS))
_BESIDE = frozenset(("annotations", "audio", "executed_tools", "images", "provider_metadata"))
_DELTA = _TEXTS | _BESIDE | CALL_FIELDS
_CALL = CALL_FIELDS | {"function", "id", "index", "type"}
_FUNCTION = frozenset(("arguments", "name"))


class KeptFields:
    """The fields of one answer. `source` names the endpoint, the only one that gets its reasoning back."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._field = ""  # the reasoning field this server writes; some write the same text into two
        self._blank = ""  # one that it wrote with nothing in it: it may be wanted back beside calls
        self.shown: list[str] = []  # to people
        self._details: list[dict[str, Any]] = []
        self._parts: list[tuple[int, dict[str, Any]]] = []  # and how much text came before each
        self._extra: dict[str, Any] = {}
        self._fields: dict[str, Any] = {}  # that go back as they came

    def __bool__(self) -> bool:
        return bool(self.shown or self._details)

    def think(self, delta: dict[str, Any]) -> list[str]:
        """Take the reasoning of a delta; return what of it is to be shown."""
        if cipher := delta.get(OPAQUE):
            self._fields[OPAQUE] = cipher
        given = delta.get("reasoning_details")
        details = [dict(detail) for detail in map(obj, arr(given)) if detail] if given else ()
        for detail in details:
            _merge_detail(self._details, detail)
        for field in (self._field,) if self._field else TEXT_FIELDS:
            piece = delta.get(field)
            if piece and isinstance(piece, str):
                self._field = field
                self.shown.append(piece)
                return [piece]
            if piece == "":
                self._blank = self._blank or field
        if self._field or not details:
            return []
        pieces = [text(detail.get("text")) or text(detail.get("summary")) for detail in details]
        self.shown += pieces
        return pieces

    def part(self, part: dict[str, Any], text_before: int) -> str:
        """Take a part of the content that is no text; return what of it is to be shown."""
        before = self._parts[-1] if self._parts else (-1, dict[str, Any]())
        if part.get("type") != "thinking":
            self._parts.append((text_before, part))
            return ""
        pieces = part.get("thinking")
        thought = pieces if isinstance(pieces, str) else "".join(text(obj(one).get("text")) for one in arr(pieces))
        if before[0] == text_before and before[1].get("type") == "thinking" and not before[1].get("signature"):
            written: Any = before[1].get("thinking")
            earlier = written if isinstance(written, str) else text(obj(arr(written)[0]).get("text"))
            joined = earlier + thought
            before[1].update(part, thinking=joined if isinstance(written, str) else [{"type": "text", "text": joined}])
        else:
            whole = pieces if isinstance(pieces, str) else [{"type": "text", "text": thought}]
            self._parts.append((text_before, {**part, "thinking": whole}))
        self.shown.append(thought)
        return thought

    def signed(self, extra: dict[str, Any]) -> bool:
        """Take the `extra_content` of a delta; return whether it says that the delta's text is thought."""
        google = dict(obj(extra.get("google")))
        thought = google.pop("thought", None) is True
        for name, value in ({**extra, "google": google} if "google" in extra else extra).items():
            if value or not isinstance(value, dict):
                self._extra[name] = obj(self._extra.get(name)) | obj(value) if isinstance(value, dict) else value
        return thought

    def chunks(self, *, calls: bool) -> list[ch.Chunk]:
        """Return all that is kept, once; `calls` says whether the answer has any."""
        out = self.so_far(ch.ReasoningFinished, calls=calls)
        self.__init__(self._source)
        return out

    def so_far(self, kind: type[ch.ReasoningFinished | ch.ReasoningSoFar], *, calls: bool) -> list[ch.Chunk]:
        """Return what is kept by now, its reasoning as a chunk of `kind`."""
        out: list[ch.Chunk] = []
        field = self._field or (self._blank if calls else "")
        if self or field:
            data: dict[str, Any] = {"source": self._source, "field": field}
            if self._details:
                data |= {"field": "reasoning_details", "value": [dict(detail) for detail in self._details]}
            kept = data if data["field"] else dict[str, Any]()
            out.append(kind(Reasoning(provider=FORMAT, text="".join(self.shown), data=kept)))
        given: dict[str, Any] = {"parts": [[before, dict(part)] for before, part in self._parts]} if self._parts else {}
        if fields := self._fields | ({"extra_content": dict(self._extra)} if self._extra else {}):
            given["fields"] = fields
        if given:
            out.append(ch.ProviderData(given))
        return out


def content_of(content: str, parts: Sequence[Any]) -> str | list[dict[str, Any]]:
    """Return the text of a message with the parts that stood in it, each behind as much text as before."""
    if not parts:
        return content
    out: list[dict[str, Any]] = []
    at = 0
    for before, part in (arr(one) for one in parts):
        end = max(at, min(int(before), len(content)))
        if content[at:end].strip():
            out.append({"type": "text", "text": content[at:end]})
        out.append(obj(part))
        at = end
    if content[at:].strip():
        out.append({"type": "text", "text": content[at:]})
    return out


def _merge_detail(details: list[dict[str, Any]], detail: dict[str, Any]) -> None:
    """Join a piece of a detail to those of the same index and type, as OpenRouter streams each detail in pieces."""
    near = details if detail.get("index") is not None else details[-1:]
    last = next((one for one in reversed(near) if _same_detail(one, detail)), None)
    if last is None:
        details.append(detail)
        return
    for key, value in detail.items():
        if key in ("text", "summary", "data") and isinstance(value, str):
            last[key] = text(last.get(key)) + value
        elif value is not None:
            last[key] = value


def _same_detail(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if (one.get("type"), one.get("index")) != (other.get("type"), other.get("index")):
        return False
    return len({one.get("id"), other.get("id")} - {None, ""}) < 2


CALLS_END = frozenset(("function_call", "tool_calls"))  # finish reasons that say so
OTHER_CHOICE = "Another choice of the answer calls tools: its calls were not run."
NO_REASON = "The endpoint ended its answer without a finish reason: it may not be whole."
_NONE_YET = frozenset({"null", "none"})  # as text, while the answer goes on (DashScope)
_NOTHING: dict[str, Any] = {}


class ChatAnswer(WireAnswer):
    """A chat completion. `source` names the endpoint, the only one that gets its reasoning back."""

    def __init__(self, tools: Sequence[ToolSpec] = (), source: str = "") -> None:
        super().__init__(tools)
        self.calls = self._fragments = ChatCalls(self.chunks, self.offered)
        self._kept = KeptFields(source)
        self._told: list[ch.Chunk] = []  # of what is kept, beside calls that may run already
        self._choice: Any = None  # the index of the first choice: only that is the answer
        self._others: list[dict[str, Any]] = []  # deltas of other choices that hold calls
        self._other_ended = False  # one of these choices said that it calls tools, and is whole
        self._message: dict[str, Any] = {}  # the newest whole message, in place of deltas or beside them

    def event(self, name: str, data: dict[str, Any]) -> None:
        if choices := arr(data.get("choices")):
            choice = obj(choices[0])
            if len(choices) > 1 or choice.get("index") != self._choice:
                choice = next(filter(self._is_ours, map(obj, choices)), _NOTHING)
                for other in choices:
                    if other is not choice:
                        self._other(other)
            if delta := choice.get("delta"):
                self._delta(obj(delta))
            if not isinstance(delta, dict) or not _PLAIN_CHOICE.issuperset(choice):
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
        if not choices or not _EVENT.issuperset(data):
            self.account(data, _EVENT if choices else _EVENT - {"choices"}, at="", objects=False)
        if "usage" in data or "x_groq" in data:
            self.take_usage(data)

    def _other(self, given: Any) -> None:
        """Keep the calls of another choice: some endpoints write text and calls into two choices of one answer."""
        choice = obj(given)
        self.account(given, _CHOICE, at="choices", objects=False)
        delta: Any = choice.get("delta") or choice.get("message")
        if arr(obj(delta).get("tool_calls")):
            self._others.append(delta)
            self._other_ended = False
            delta = {name: value for name, value in obj(delta).items() if name != "tool_calls"}
        self.account(delta, _TEXTS, at="choices")
        self._other_ended = self._other_ended or text(choice.get("finish_reason")).lower() in CALLS_END

    def end(self) -> ch.FinishChunk:
        """Read the calls of another choice too, where the answer says that it calls tools and its own names none."""
        others, self._others = self._others, []
        if others and self._other_ended and self.said in CALLS_END and not len(self.calls):
            for delta in others:
                self._calls(arr(delta["tool_calls"]), whole=False)
            self.calls.finish()
        elif others:
            for delta in others:
                self.account({"tool_calls": delta["tool_calls"]}, at="choices")
            self.chunks.append(ch.NoticeChunk(OTHER_CHOICE, "warning"))
        return super().end()

    def take_usage(self, event: dict[str, Any]) -> None:
        if usage := obj(event.get("usage")) or obj(obj(event.get("x_groq")).get("usage")):
            self.usage = usage

    def _beside(self, choice: dict[str, Any]) -> None:
        """Take what some servers write into a choice beside its delta, or in place of it."""
        if message := choice.get("message"):
            self._message |= obj(message)
        texts = {name for name in ("delta", "message") if not isinstance(choice.get(name), dict)}
        self.account(choice, _CHOICE - texts, at="choices", objects=False)
        if usage := choice.get("usage"):  # Moonshot
            self.usage = obj(usage)

    def _is_ours(self, choice: dict[str, Any]) -> bool:
        """Tell whether a choice is the one being read: an endpoint told to write several streams them side by side."""
        index = choice.get("index")
        if self._choice is None:
            self._choice = index
        return index is None or index == self._choice

    def whole(self, body: dict[str, Any]) -> bool:
        if not arr(body.get("choices")):
            return False
        self.event("", body)
        if not self.finished:
            self._ended_without_reason()
        if not self.finished:
            self.finish("stop")  # nothing at all was said
        return True

    def done_marker(self) -> None:
        """Take the mark of the end; without a reason before it, text may count as whole but calls don't."""
        super().done_marker()
        if not self.finished:
            self._ended_without_reason()

    def _ended_without_reason(self) -> None:
        self._take_message()
        if self.text_length or len(self.calls):
            self.calls.finish("an end without a finish reason")
            self.chunks.append(ch.NoticeChunk(NO_REASON, "warning"))
            self.finished = True

    def cut(self, why: str) -> None:
        self._take_message()
        super().cut(why)

    # -- what a message holds

    def _take_message(self) -> None:
        """Read what a whole message has that did not come in deltas: it may repeat them, once or with each chunk."""
        message, self._message = self._message, {}
        if not message:
            return
        seen: set[str] = set()
        if self.text_length:
            seen |= {"content", "refusal"}
        if len(self.calls):
            seen |= {"tool_calls", "function_call"}
            for call in (*arr(message.get("tool_calls")), {"function": message.get("function_call")}):
                self._fragments.repeat(obj(obj(call).get("function")).get("arguments"))
        if self._kept:
            seen |= {*TEXT_FIELDS, "reasoning_details"}
        self._delta({name: value for name, value in message.items() if name not in seen}, whole=True)

    def _delta(self, delta: dict[str, Any], *, whole: bool = False) -> None:
        content = delta.get("content")
        if len(delta) == 1:  # the common cases: text and nothing else, or calls
            if isinstance(content, str):
                self.add_text(content)
                return
            if calls := arr(delta.get("tool_calls")):
                self._calls(calls, whole)
                return
        thought = "extra_content" in delta and self._kept.signed(obj(delta["extra_content"]))
        for piece in self._kept.think(delta):
            self.think(piece)
        if content and thought:
            self._kept.shown.append(self.think(text(content)))
        elif isinstance(content, str):
            self.add_text(content)
        elif content:
            self._parts(content)
        if refusal := text(delta.get("refusal")):
            self.add_text(refusal)
        calls, function = arr(delta.get("tool_calls")), obj(delta.get("function_call"))
        self.account(delta, _DELTA | {"tool_calls" if calls else "function_call" if function else ""}, at="delta")
        if calls:
            self._calls(calls, whole)
        elif function:
            self._fragments.fragment(Label(0), text(function.get("name")), function.get("arguments"))

    def _parts(self, content: Any) -> None:
        if not isinstance(content, list):
            self.account(content, at="content")
        for part in map(obj, arr(content)):
            if part.get("type", "text") == "text":
                self.add_text(text(part.get("text")))
            elif part:
                self.account({} if part.get("type") == "thinking" else part, at="content", objects=False)
                self.think(self._kept.part(part, self.text_length))

    def _calls(self, fragments: list[Any], whole: bool) -> None:
        if len(fragments) == 1 and not whole and self._is_more(obj(fragments[0])):
            return
        # The place in a list tells calls apart where nothing else does.
        by_place = whole or (len(fragments) > 1 and all(map(_is_unlabelled, map(obj, fragments))))
        for place, given in enumerate(fragments):
            fragment = obj(given)
            function = obj(fragment.get("function"))
            self.account(given, _CALL if function else _CALL - {"function"}, at="tool_calls")
            self.account(function, _FUNCTION, at="function")
            label = Label(place if by_place else _key(fragment.get("index")), text(fragment.get("id")))
            self._fragments.fragment(label, text(function.get("name")), function.get("arguments"))
            if not CALL_FIELDS.isdisjoint(fragment):
                given = {name: fragment[name] for name in sorted(CALL_FIELDS) if fragment.get(name)}
                self._fragments.keep(label, {"fields": given} if given else {})
        if not self.finished and any(isinstance(chunk, ch.CallClosed) for chunk in self.chunks):
            kept = self._kept.so_far(ch.ReasoningSoFar, calls=True)
            if kept != self._told:
                self._told = kept
                self.chunks.extend(kept)

    def _is_more(self, fragment: dict[str, Any]) -> bool:
        index, function = fragment.get("index"), fragment.get("function")
        if len(fragment) != 2 or type(index) is not int or not isinstance(function, dict) or len(obj(function)) != 1:
            return False
        piece = obj(function).get("arguments")
        return isinstance(piece, str) and self._fragments.more(index, piece)

    def close_reasoning(self) -> None:
        self.chunks.extend(self._kept.chunks(calls=len(self.calls) > 0))

    def tokens(self) -> tuple[int, int, int | None] | None:
        """Read `usage`; servers that count no cache, or count it elsewhere, give None for it."""
        sent, written = count(self.usage.get("prompt_tokens")), count(self.usage.get("completion_tokens"))
        if sent is None and written is None:
            return None
        cached = count(obj(self.usage.get("prompt_tokens_details")).get("cached_tokens"))
        for field in ("prompt_cache_hit_tokens", "cached_tokens"):  # DeepSeek, Moonshot
            cached = count(self.usage.get(field)) if cached is None else cached
        return sent or 0, written or 0, cached


def _key(index: Any) -> int | None:
    """Return the index of a call; some servers write it as text."""
    if type(index) is int:
        return index
    return int(index) if isinstance(index, str) and index.isdecimal() else None


def _is_unlabelled(fragment: dict[str, Any]) -> bool:
    named = bool(obj(fragment.get("function")).get("name"))
    return named and _key(fragment.get("index")) is None and not fragment.get("id")
