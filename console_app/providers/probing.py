"""Plays a fixed set of requests against a live endpoint and says what it does: its fingerprint.

The requests go the way of every other one, so what the endpoint refuses is conceded as it would be in a conversation,
and known from then on. Beside that the events are watched as they come, before anything is read from them.
"""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from console_app.config.models import KnownRefusals
from console_app.domain import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
    errors,
    one_line,
    plural,
    ports,
)
from console_app.domain import chunks as ch
from console_app.domain.settings import ProviderConfig, Sampling
from console_app.providers.factory import open_provider
from console_app.providers.formats.openai_chat_answer import OPAQUE, TEXT_FIELDS
from console_app.providers.stream.calls_in_pieces import PAIRED
from console_app.providers.stream.loose_json import arr, obj, text
from console_app.providers.wire_provider import WireProvider
from console_app.records import dataclass, field

Kind = TypeVar("Kind")
COST: Final = (8, 4_000)  # requests, more where a field is refused; and about how many tokens they all take
UNKNOWN_FIELD = "fanout_test_of_an_unknown_field"
_HIDDEN = "a cut answer is taken for a whole one: a call at its end may lack a part"
_LONG = 120  # numbers to count, one a line
_SHORT = 16  # tokens of an answer that is to be cut
_TOOL = ToolSpec(
    name="test_note",
    server="test",
    tool="note",
    description="Notes one word.",
    input_schema={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)
_PROPERTIES: dict[str, dict[str, Any]] = {
    "words": {"type": "string", "title": "Words", "default": "a", "examples": ["a"], "pattern": "^[a-z]*$"},
    "link": {"type": "string", "format": "uri"},
    "name": {"type": "string", "minLength": 1, "maxLength": 99, "nullable": True, "deprecated": True},
    "count": {"type": "number", "minimum": 0, "maximum": 9, "multipleOf": 1},
    "size": {"type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 10},
    "list": {"type": "array", "minItems": 0, "maxItems": 9, "uniqueItems": True},
    "kind": {"anyOf": [{"const": "a"}, {"type": "null"}]},
    "sort": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
    "more": {"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"pattern": "^[a-z]+$"}},
    "$odd": {"type": "string"},
}
# It has all that tools of servers are seen to have, and endpoints to refuse: a long description, too.
_WIDE_TOOL = ToolSpec(
    name="test_find",
    server="test",
    tool="find",
    description="Finds notes by their words. " + "Never call it. " * 72,
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Find",
        "type": "object",
        "additionalProperties": False,
        "properties": _PROPERTIES,
    },
)
_SYSTEM = "You are tested: do as you are told, in as few words as you can."
_OF_REASONING = frozenset({*TEXT_FIELDS, OPAQUE, "reasoning_details", "signature", "encrypted_content", "summary"})
_LIMIT_HEADERS = ("ratelimit", "rate-limit", "retry-after")


@dataclass(frozen=True, slots=True)
class Observation:
    """A thing that the endpoint does. `breaks` says what doesn't work because of it, "" where all does."""

    name: str
    seen: str
    breaks: str = ""


@dataclass(slots=True)
class _Played:
    """A request and all that came of it. `clean` takes secrets out of a text."""

    clean: Callable[[str], str]
    chunks: list[ch.Chunk] = field(default_factory=list[ch.Chunk])
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    error: errors.ProviderError | None = None
    first: float = 0.0  # seconds until the first chunk
    seconds: float = 0.0

    def line(self, text: str, limit: int) -> str:
        """Return `text` on one line, cut once no secret is in it: half of one would be left."""
        return one_line(self.clean(text), limit)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [chunk for chunk in self.chunks if isinstance(chunk, kind)]

    @property
    def problem(self) -> str:
        return self.line(self.error.line, 300) if self.error is not None else ""

    @property
    def notices(self) -> str:
        return "; ".join(self.line(chunk.text, 160) for chunk in self.of(ch.NoticeChunk))

    def taken(self, name: str, words: str, failed: str) -> Observation:
        """Return `words` about the request; where it was refused, why, and what `failed` so."""
        return Observation(name, words) if self.error is None else Observation(name, self.problem, failed)

    @property
    def calls(self) -> list[tuple[ch.CallOpened, str]]:
        """The calls that may run, each with its arguments."""
        opened = {chunk.index: chunk for chunk in self.of(ch.CallOpened)}
        return [(opened[one.index], one.arguments) for one in self.of(ch.CallClosed)]

    @property
    def message(self) -> AssistantMessage:
        """The answer as it goes back to the endpoint."""
        kept = {chunk.index: chunk.data for chunk in self.of(ch.ProviderData)}
        calls = tuple(
            ToolCall(
                id=one.id or f"call_test_{one.index}",
                name=one.name,
                arguments=arguments or "{}",
                provider_data=kept.get(one.index, {}),
            )
            for one, arguments in self.calls
        )
        return AssistantMessage(
            content="".join(chunk.text for chunk in self.of(ch.TextChunk)),
            tool_calls=calls,
            reasoning=tuple(chunk.reasoning for chunk in self.of(ch.ReasoningFinished)),
            provider_data=kept.get(None, {}),
        )


async def probe(
    config: ProviderConfig, known: KnownRefusals, tell: Callable[[str], None], clean: Callable[[str], str]
) -> list[Observation]:
    """Play all requests; `known` learns what the endpoint refuses, `tell` hears what is asked, `clean` takes secrets
    out of what is told. Raises ProviderError where not even the first one is answered."""
    found: list[Observation] = []
    told: list[str] = []
    learnt = known.of(config.model_identity)
    learnt.clear()

    async def play(provider: WireProvider, what: str, request: ports.ModelRequest) -> _Played:
        tell(what)
        played = await _play(provider, request, clean)
        told.extend(played.line(chunk.text, 160) for chunk in played.of(ch.NoticeChunk))
        return played

    async with _opened(config, known) as provider:
        one = await play(
            provider, "one call", _asked("Call test_note once, with the word one. Say nothing else.", _TOOL)
        )
        if one.error is not None and not one.calls:
            raise one.error
        found += _of_one_call(one, config.api)
        learnt.pairs_labels = _is_paired(one)
        back = await play(provider, "reasoning and results given back", _with_results(one.message, provider.endpoint))
        found.append(_of_given_back(one.message, back))
        learnt.takes_no_reasoning = any(notice.without_reasoning_of for notice in back.of(ch.NoticeChunk))
        wide = await play(provider, "a tool of many words", _asked("Say yes.", _TOOL, _WIDE_TOOL))
        found.append(wide.taken("tool of many words", wide.notices or "taken", "one tool like it ends every turn"))
        words = "In one answer call test_note four times, with the words one, two, three and four."
        found += _of_four_calls(await play(provider, "four calls", _asked(words, _TOOL)), config.api)
        words = f"Count from 1 to {_LONG}, one number a line, and nothing else."
        found += _of_long_text(await play(provider, "a long text", _asked(words)))
        with _picture() as request:
            found.append(_of_picture(await play(provider, "a picture", request), provider))
        limits = Sampling(max_tokens=_SHORT, temperature=0.5, stop=("§§",))
        short = _asked("Count from 1 to 500.", sampling=limits)
        found.append(_of_cut(await play(provider, "an answer cut by its token limit", short)))
        learnt.hides_cuts = found[-1].breaks == _HIDDEN
    known.keep(config.model_identity)
    async with _opened(config, KnownRefusals()) as provider:  # whose concessions nobody keeps
        tell("an unknown field")
        odd = Sampling(extra_body={UNKNOWN_FIELD: True}, max_tokens=_SHORT)
        found.append(_of_unknown_field(await _play(provider, _asked("Say yes.", sampling=odd), clean)))
    refused = "; ".join(dict.fromkeys(told)) or "nothing that is usually sent"
    return [*found, Observation("refused", refused)]


@asynccontextmanager
async def _opened(config: ProviderConfig, known: KnownRefusals) -> AsyncGenerator[WireProvider]:
    provider = open_provider(config, known)
    try:
        yield provider
    finally:
        await provider.close()


def _asked(prompt: str, *tools: ToolSpec, sampling: Sampling | None = None) -> ports.ModelRequest:
    return _request((UserMessage(content=prompt),), tools, sampling)


def _request(
    messages: tuple[Message, ...], tools: tuple[ToolSpec, ...] = (), sampling: Sampling | None = None
) -> ports.ModelRequest:
    """Make a request as a conversation has it: with a system's words, and a name for caches."""
    return ports.ModelRequest(
        messages, system=_SYSTEM, tools=tools, sampling=sampling or Sampling(), conversation="fanout-test"
    )


async def _play(provider: WireProvider, request: ports.ModelRequest, clean: Callable[[str], str]) -> _Played:
    played = _Played(clean)
    provider.watch = lambda name, data: played.events.append((name, data))
    provider.watch_headers = lambda headers: played.headers.update(headers)
    began = time.monotonic()
    try:
        async with provider.stream(request) as chunks:
            async for chunk in chunks:
                if not played.first and not isinstance(chunk, ch.NoticeChunk | ch.RetryChunk):
                    played.first = time.monotonic() - began
                played.chunks.append(chunk)
    except errors.ProviderError as error:
        played.error = error
    played.seconds = time.monotonic() - began
    return played


# -- what a request showed


def _of_one_call(one: _Played, api: str) -> list[Observation]:
    calls = one.calls
    seen = f"{len(calls)} called, {len(one.of(ch.CallBroken))} can not be run"
    if not calls:
        breaks = "tools can't be called natively: try /protocol text"
        return [Observation("one call", _text_of(one) or "no call came", breaks)]
    found = [Observation("one call", seen if one.of(ch.CallBroken) else f"arguments {one.line(calls[0][1], 60)}")]
    found += [_labels(one, api, "labels of one call"), _ends(one, api)]
    usage = [
        f"{chunk.input_tokens} in, {chunk.output_tokens} out" for chunk in one.of(ch.UsageChunk) if chunk.input_tokens
    ]
    found.append(Observation("usage", (usage or ["none"])[-1], "" if usage else "tokens and costs can't be counted"))
    limits = {name: value for name, value in one.headers.items() if any(part in name for part in _LIMIT_HEADERS)}
    listed = ", ".join(f"{name} {one.line(value, 30)}" for name, value in sorted(limits.items())[:8])
    return [*found, Observation("limits", listed or "no headers say"), _gives(one)]


def _of_four_calls(four: _Played, api: str) -> list[Observation]:
    calls, broken = four.calls, four.of(ch.CallBroken)
    seen = f"{len(calls)} of 4 in one answer" if not four.problem else four.problem
    breaks = ""
    if broken:
        breaks = f"{len(broken)} can't be run: {four.line(broken[0].problem, 120)}"
    elif len(calls) < 2:
        breaks = "calls come one an answer, so nothing runs in parallel"
    return [Observation("four calls", seen, breaks), _labels(four, api, "labels of four calls")]


def _of_long_text(long: _Played) -> list[Observation]:
    if long.error is not None:
        return [Observation("long text", long.problem, "long answers break off")]
    whole = "".join(chunk.text for chunk in long.of(ch.TextChunk))
    lines = [line.strip(" .") for line in whole.splitlines()]
    seen = f"{len(whole)} characters in {plural(len(long.events), 'event')}, {long.seconds:.1f} s"
    breaks = "" if str(_LONG) in lines else "the text did not come to its end"
    streamed = len(long.events) > 1
    return [
        Observation("long text", seen, breaks),
        Observation("stream", f"first piece after {long.first:.1f} s" if streamed else "the answer came whole",
                "" if streamed else "nothing is shown until an answer is complete"),
    ]  # fmt: skip


def _with_results(answer: AssistantMessage, endpoint: str) -> ports.ModelRequest:
    results = [ToolMessage(tool_call_id=call.id, name=call.name, content="noted") for call in answer.tool_calls]
    asked = UserMessage(content="Call test_note once, with the word one. Then say done.")
    own = answer.model_copy(update={"endpoint": endpoint})
    return _request((asked, own, *results, UserMessage(content="Now say done.")), (_TOOL,))


def _of_given_back(answer: AssistantMessage, back: _Played) -> Observation:
    given = plural(len(answer.tool_calls), "result") + (", reasoning" if answer.reasoning else "")
    if back.error is not None:
        return Observation("given back", f"{given}: {back.problem}", "a turn ends at its first call")
    return Observation("given back", "; ".join(filter(None, (f"{given}: taken", back.notices))))


@contextmanager
def _picture() -> Generator[ports.ModelRequest]:
    """A request with a small picture, which is there meanwhile."""
    with tempfile.TemporaryDirectory(prefix="fanout-test-") as folder:
        path = Path(folder, "red.png")
        path.write_bytes(_red_square())
        yield _request((UserMessage(content="Which colour is this? One word.", images=(str(path),)),))


def _of_picture(seen: _Played, provider: WireProvider) -> Observation:
    words = f"taken; it says: {said}" if (said := _text_of(seen)) else "taken"
    if provider.no_pictures:
        words = "refused: its model sees none, and the text goes without them"
    return seen.taken("pictures", words, "a message with a picture fails")


def _of_cut(cut: _Played) -> Observation:
    if cut.error is not None:
        return Observation("cut by its limit", cut.problem, "an answer cut by its token limit is an error")
    reasons = [chunk.reason for chunk in cut.of(ch.FinishChunk)]
    if reasons == ["length"]:
        return Observation("cut by its limit", "said: length")
    usage = cut.of(ch.UsageChunk)
    if usage[-1].output_tokens > _SHORT if usage else len(_text_of(cut)) > 100:
        return Observation("cut by its limit", f"the limit of {_SHORT} tokens was not kept", "max_tokens has no effect")
    return Observation("cut by its limit", f"hidden behind: {', '.join(reasons)}", _HIDDEN)


def _of_unknown_field(odd: _Played) -> Observation:
    if odd.error is None:
        return Observation("unknown field", "passed over")
    names = UNKNOWN_FIELD in odd.error.line
    breaks = "" if names else "what it refuses can't be told from its words, so nothing is left out for it"
    return Observation("unknown field", f"refused: {odd.problem}", breaks)


def _gives(one: _Played) -> Observation:
    blocks = [chunk.reasoning.data for chunk in one.of(ch.ReasoningFinished)]
    kinds = {text(data.get("field")) for data in blocks} | {name for data in blocks for name in obj(data.get("block"))}
    named = ", ".join(sorted(kinds & _OF_REASONING))
    parts = [f"reasoning ({named or 'text'})"] if blocks or one.of(ch.ReasoningChunk) else []
    parts += sorted({name for chunk in one.of(ch.ProviderData) for name in chunk.data} - {"id"})
    return Observation("gives", ", ".join(one.line(part, 80) for part in parts) or "text and calls alone")


# -- labels and ends, as they stand in the events

_Label = tuple[object, object, bool]  # index, id, and whether the fragment names its tool


def _fragments(api: str, events: Iterable[tuple[str, dict[str, Any]]]) -> list[_Label]:
    found: list[_Label] = []
    for _, data in events:
        if api == "openai-chat":
            for choice in map(obj, arr(data.get("choices"))):
                for call in map(obj, arr((obj(choice.get("delta")) or obj(choice.get("message"))).get("tool_calls"))):
                    named = bool(text(obj(call.get("function")).get("name")))
                    found.append((call.get("index"), call.get("id") or None, named))
        elif api == "openai-responses":
            item, kind = obj(data.get("item")), text(data.get("type"))
            if kind == "response.output_item.added" and item.get("type") == "function_call":
                found.append((data.get("output_index"), item.get("id") or None, True))
            elif kind.startswith("response.function_call_arguments."):
                found.append((data.get("output_index"), data.get("item_id") or None, False))
        elif data.get("type") == "content_block_start" and obj(data.get("content_block")).get("type") == "tool_use":
            found.append((data.get("index"), obj(data.get("content_block")).get("id") or None, True))
        elif obj(data.get("delta")).get("type") == "input_json_delta":
            found.append((data.get("index"), None, False))
    return found


def _labels(played: _Played, api: str, name: str) -> Observation:
    fragments = _fragments(api, played.events)
    first, later = [one for one in fragments if one[2]], [one for one in fragments if not one[2]]
    if not first:
        return Observation(name, "no labels: nothing came in fragments" if not played.problem else played.problem)
    words = [f"first: {_worn(first)}", f"later: {_worn(later)}" if later else "each call in one fragment"]
    indexes = {one[0] for one in first if one[0] is not None}
    ids = [one[1] for one in first if one[1] is not None]
    if len(first) > 1 and len(indexes) == 1:
        words.append("all calls under one index")
    if len(set(ids)) < len(ids):
        words.append("one id for several calls")
    strange = {one[0] for one in later if one[0] is not None} - indexes
    if strange and indexes:
        words.append("later fragments under other indexes")
    if api == "openai-responses" and {one[1] for one in later if one[1]} - {*ids}:
        words.append("ids that differ between events")
    broken = played.of(ch.CallBroken)
    return Observation(name, "; ".join(words), played.line(broken[0].problem, 160) if broken else "")


def _is_paired(one: _Played) -> bool:
    paired = [chunk.index for chunk in one.of(ch.CallClosed) if chunk.must_ask == PAIRED]
    return bool(paired) and [obj(json.loads(words or "{}")) for _, words in one.calls] == [{"word": "one"}]


def _worn(fragments: list[_Label]) -> str:
    counts = [(sum(one[place] is not None for one in fragments), what) for place, what in ((0, "index"), (1, "id"))]
    words = [what if count == len(fragments) else f"{what} in some" for count, what in counts if count]
    return " and ".join(words) or "none"


def _ends(one: _Played, api: str) -> Observation:
    kinds = [text(data.get("type")) or name for name, data in one.events]
    said = [
        text(value)
        for _, data in one.events
        for value in (
            *(obj(choice).get("finish_reason") for choice in arr(data.get("choices"))),
            obj(data.get("delta")).get("stop_reason"),
            obj(data.get("response")).get("status") if data.get("type") == "response.completed" else None,
        )
        if text(value)
    ]
    marks = [kind for kind in ("[DONE]", "message_stop", "response.completed") if kind in kinds]
    closings = {"openai-responses": "response.function_call_arguments.done", "anthropic": "content_block_stop"}
    words = [f"reason {', '.join(dict.fromkeys(said)) or 'none'}", *marks]
    if closing := closings.get(api):
        words.append(f"calls end with {closing}" if closing in kinds else f"calls without {closing}")
    calls = [chunk for chunk in one.of(ch.CallClosed) if chunk.sure]
    late = "" if calls or not one.calls else "a call waits for the end of the answer, or asks"
    return Observation("ends", "; ".join(words), late if closing else "")


def _text_of(played: _Played) -> str:
    return played.line("".join(chunk.text for chunk in played.of(ch.TextChunk)), 60)


def _red_square() -> bytes:
    from PIL import Image  # 40 ms, and only for this

    file = io.BytesIO()
    Image.new("RGB", (32, 32), "red").save(file, "PNG")
    return file.getvalue()
