"""Reads a streamed answer of Anthropic's Messages API: content blocks by index, each started, filled and stopped."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from console_app.domain import Reasoning, ToolSpec
from console_app.domain import chunks as ch
from console_app.providers.faults.error_bodies import raise_for_error
from console_app.providers.formats.placed_blocks import APART, placed
from console_app.providers.formats.server_tools import anthropic_finished, anthropic_started
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.labelled_calls import LabelledCalls, Where
from console_app.providers.stream.loose_json import arr, count, obj, object_problem, text
from console_app.records import dataclass, field

FORMAT = "anthropic"
THINKING = ("thinking", "redacted_thinking")
_EVENT = frozenset(("index", "type"))
_GIVEN_BACK = ("caller", "toolset_name")  # of a call
_CALL = frozenset(("cache_control", "id", "input", "name", "type", *_GIVEN_BACK))
_INPUT = "partial_json"  # the text of a delta that adds up to the input of a tool
_OF = {"citations_delta": "text", "compaction_delta": "compaction", "signature_delta": "thinking"}  # one kind of block


@dataclass(slots=True)
class _Block:
    """A block that is open; `began` is how much text and how many calls came before it."""

    fields: dict[str, Any]
    began: tuple[int, int]
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # of its texts, as they are streamed
    gap: int = 0  # of a text: how much parts it from the one before

    @property
    def kind(self) -> str:
        return text(self.fields.get("type"))

    def grow(self, name: str, piece: str) -> None:
        self.pieces.setdefault(name, [text(self.fields.get(name))]).append(piece)

    def join(self) -> str:
        """Make its texts whole; give the JSON of its input."""
        self.fields |= {name: "".join(pieces) for name, pieces in self.pieces.items() if name != _INPUT}
        return "".join(self.pieces.get(_INPUT, ()))


class AnthropicAnswer(WireAnswer):
    """A message. Thinking and the blocks of server tools are kept whole, with the calls and text before them."""

    def __init__(self, tools: Sequence[ToolSpec] = (), source: str = "") -> None:
        super().__init__(tools)
        self._source = source
        self.calls = self._calls = LabelledCalls(self.chunks, "content_block_stop", self.offered, once=True)
        self._open: dict[int | None, _Block] = {}
        self._apart = False  # something stands between the text so far and what follows
        self._where = Where()  # of the newest piece of arguments: most are of the call of the one before

    def event(self, name: str, data: dict[str, Any]) -> None:
        match kind := text(data.get("type")) or name:
            case "content_block_delta":
                delta = obj(data.get("delta"))
                self._delta(_index(data), delta)
                if len(data) != 3 or not delta:
                    self.account(data, _EVENT | {"delta"} if delta else _EVENT, at="content_block")
            case "content_block_start":
                block = obj(data.get("content_block"))
                self._start(_index(data), block)
                self.account(data, _EVENT | {"content_block"} if block else _EVENT, at="content_block")
            case "content_block_stop":
                self._stop(_index(data))
            case "message_start":
                self.take_usage(message := obj(data.get("message")))
                self._ran_in(obj(message.get("container")))
            case "message_delta":
                self.take_usage(data)
                self._ran_in(obj(obj(data.get("delta")).get("container")))
                self._stopped(obj(data.get("delta")))
            case "message_stop":
                self.over = True
            case _:
                raise_for_error(name, data)
        if kind not in ("content_block_delta", "content_block_start"):
            self.account(data, _EVENT, at=kind, objects="index" in data or kind == "content_block_stop")

    def whole(self, body: dict[str, Any]) -> bool:
        if body.get("type") != "message" or "content" not in body:
            return False
        self.take_usage(body)
        for index, block in enumerate(map(obj, arr(body["content"]))):
            self._start(index, block)
            self._stop(index)
        self._ran_in(obj(body.get("container")))
        self._stopped({"stop_reason": "end_turn"} | {k: body[k] for k in ("stop_reason",) if body.get(k)})
        self.over = True
        return True

    # -- blocks

    def _start(self, index: int | None, fields: dict[str, Any]) -> None:
        if unstopped := self._open.pop(index, None):
            self._close(unstopped, complete=False)
        gap = APART if self._apart and fields.get("type") == "text" else ""
        self.add_text(gap)
        self._apart = fields.get("type") != "text" and self.text_length > 0
        block = _Block(dict(fields), (self.text_length, len(self._calls)), gap=len(gap))
        match block.kind:
            case "tool_use":
                # `{}` stands for what is still to be streamed.
                arguments = fields.get("input") or None
                self.account(fields, _CALL, at="tool_use")
                given = {name: fields[name] for name in _GIVEN_BACK if fields.get(name)}
                self._calls.begin(Where(index), text(fields.get("id")), text(fields.get("name")), arguments, given)
                return
            case "text":
                self.add_text(text(fields.get("text")))
            case "thinking":
                thought = self.think(text(fields.get("thinking")))
                block.fields |= {"thinking": thought, "signature": text(fields.get("signature"))}
            case _:
                pass
        self._open[index] = block

    def _delta(self, index: int | None, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        block = self._open.get(index)
        if kind == "text_delta":
            self.add_text(text(delta.get("text")))
            if block is None or len(delta) != 2 or block.kind != "text":
                self.account(delta, at="text_delta")
            return
        match kind:
            case "input_json_delta":
                self.account(delta, {_INPUT, "type"}, at=kind)
                if block is None or "input" not in block.fields:
                    if self._where.place != index:
                        self._where = Where(index)
                    self._calls.fragment(self._where, delta.get(_INPUT))
                else:
                    block.grow(_INPUT, text(delta.get(_INPUT)))
            case "thinking_delta":
                thought = self.think(text(delta.get("thinking")))
                if block is None:
                    self.account(delta, at=kind)
                    if all(call.where.place != index for call in self._calls.open):
                        began = self.text_length, len(self._calls)
                        self._open[index] = _Block({"type": "thinking", "thinking": thought, "signature": ""}, began)
                elif block.kind == "thinking":
                    block.grow("thinking", thought)
            case "signature_delta" if block is not None and block.kind == "thinking":
                block.grow("signature", text(delta.get("signature")))
            case "citations_delta" if block is not None and block.kind == "text":
                block.fields["citations"] = cited = arr(block.fields.get("citations"))
                cited.append(obj(delta.get("citation")))
            case _ if block and block.kind not in ("text", *THINKING) and _OF.get(text(kind), block.kind) == block.kind:
                # An unknown block goes back as it is: its texts grow, its other fields are set.
                for name, value in delta.items():
                    if isinstance(value, str) and isinstance(block.fields.get(name), str) and name != "type":
                        block.grow(name, value)
                    elif name != "type":
                        block.fields[name] = value
                        block.pieces.pop(name, None)
            case _:
                self.account(delta, {"citation", "signature"}, at=text(kind) or "content_block_delta")

    def _stop(self, index: int | None) -> None:
        self._calls.closes = True
        if index is None and len(self._open) == 1 and not self._calls.open:
            index = next(iter(self._open))
        if block := self._open.pop(index, None):
            self._close(block, complete=True)
        elif index is not None:
            self._calls.close(Where(index))
        elif not self._open:
            self._calls.close_alone()

    def _close(self, block: _Block, *, complete: bool) -> None:
        """Keep a block; thinking that was cut off is kept for people only, since it has no signature."""
        written = block.join()
        if block.kind == "text":
            # Only what tells it from the text before it: the words are those of the message.
            said = self.text_length > block.began[0] or block.gap
            if said and (block.began != (0, 0) or block.fields.get("citations")):
                fields = {name: value for name, value in block.fields.items() if name not in ("type", "text") and value}
                gap = {"gap": block.gap} if block.gap else {}
                self._keep(placed(self._source, *block.began, text=fields, **gap))
            return
        if block.kind in THINKING:
            data = placed(self._source, *block.began, block=block.fields) if complete else {}
            self._keep(data, text(block.fields.get("thinking")))
            return
        if written:
            if object_problem(written):
                self.calls.stray(block.kind)
                complete = False
            block.fields["input"] = obj(json.loads(written)) if complete else {}
        if not complete:
            return
        self._keep(placed(self._source, *block.began, block=block.fields))
        if block.kind.endswith("_tool_use"):
            self.chunks.append(anthropic_started(block.fields))
        elif block.fields.get("tool_use_id"):
            self.chunks.append(anthropic_finished(block.fields))

    def _keep(self, data: dict[str, Any], shown: str = "") -> None:
        self.chunks.append(ch.ReasoningFinished(Reasoning(provider=FORMAT, text=shown, data=data)))

    def close_reasoning(self) -> None:
        for index in list(self._open):
            self._close(self._open.pop(index), complete=False)

    def _ran_in(self, container: dict[str, Any]) -> None:
        """Keep the container of the provider's programs, which go on there: those that wait do so until it expires."""
        if container.get("id"):
            self.chunks.append(ch.ProviderData({"container": container}))
            if 0 < (left := seconds_left(container, time.time())) < math.inf:
                self.chunks.append(ch.ProviderWaits(left))

    # -- the end

    def _stopped(self, delta: dict[str, Any]) -> None:
        reason = text(delta.get("stop_reason"))
        if not reason:
            return
        if reason == "model_context_window_exceeded":
            self.chunks.append(ch.NoticeChunk("The answer reached the end of the model's context window.", "warning"))
        if why := text(obj(delta.get("stop_details")).get("explanation")):
            self.chunks.append(ch.NoticeChunk(f"The model declined: {why}", "warning"))
        self.finish(reason)

    def take_usage(self, event: dict[str, Any]) -> None:
        self.usage |= {name: value for name, value in obj(event.get("usage")).items() if value is not None}

    def tokens(self) -> tuple[int, int, int | None] | None:
        """Input counts what was read from and written to the cache too, as the other formats do."""
        if not self.usage:
            return None
        cached = count(self.usage.get("cache_read_input_tokens"))
        fresh = count(self.usage.get("input_tokens"))
        output = count(self.usage.get("output_tokens"))
        return (fresh or 0) + (cached or 0) + self.cache_written, output or 0, cached

    @property
    def cache_written(self) -> int:
        return count(self.usage.get("cache_creation_input_tokens")) or 0


def seconds_left(container: dict[str, Any], now: float) -> float:
    """Return how long a container is kept from `now` on; without end where it doesn't say."""
    try:
        return datetime.fromisoformat(text(container.get("expires_at"))).timestamp() - now
    except (ValueError, OverflowError):
        return math.inf


def _index(data: dict[str, Any]) -> int | None:
    index = data.get("index")
    return index if isinstance(index, int) else None
