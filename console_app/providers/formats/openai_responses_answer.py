"""Reads a streamed answer of OpenAI's Responses API, whose events name the output item that they belong to.

Closing events (`…done`, `response.completed`) repeat what came, or are all that came: each text and call counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console_app.domain import Reasoning, ToolSpec, one_line
from console_app.domain import chunks as ch
from console_app.providers.faults.error_bodies import ServerFault, raise_for_error, read_error
from console_app.providers.formats.placed_blocks import APART, placed
from console_app.providers.formats.server_tools import (
    RESPONSES_ASKED,
    RESPONSES_CALLS,
    RESPONSES_KEPT,
    program_ended,
    program_written,
    responses_finished,
    responses_started,
)
from console_app.providers.stream.answer import WireAnswer
from console_app.providers.stream.labelled_calls import LabelledCalls, Where
from console_app.providers.stream.loose_json import arr, count, obj, text
from console_app.records import dataclass, field

_EVENT = frozenset(("item_id", "obfuscation", "output_index", "sequence_number", "type"))
_FRAGMENT = _EVENT | {"arguments", "call_id", "delta", "name"}
# What a response repeats of its request, and of its own texts: no call of the answer is in it.
_REPEATED = frozenset(("input", "instructions", "metadata", "output_text", "prompt", "text", "tool_choice", "tools"))
_GIVEN_BACK = ("async", "caller", "namespace")  # of a call
_CALL = frozenset(("arguments", "call_id", "id", "name", "status", "type", *_GIVEN_BACK))

PartKey = tuple[int, str]  # content_index, and whether it is text or a refusal


@dataclass(slots=True, eq=False)
class Item:
    """An output item that is no call of ours. `began` is how much text and how many calls came before it."""

    where: Where
    began: tuple[int, int]
    parts: dict[PartKey, list[str]] = field(default_factory=dict[PartKey, list[str]])
    thinking: list[str] = field(default_factory=list[str])
    thought_part: object = None
    phase: str = ""
    gap: int = 0  # of a message: how much parts it from the text before
    untold: bool = False  # no event of its own told of it: its words may be the arguments of a call
    started: bool = False  # a call of the provider that has a panel
    done: bool = False
    kept: bool = False  # so that it goes back
    unfinished: dict[str, Any] = field(default_factory=dict[str, Any])  # reasoning as it ended first: it ends again

    @property
    def text(self) -> str:
        """Return all text of it, its parts in the order in which they came."""
        return "".join(piece for pieces in self.parts.values() for piece in pieces)

    def missing(self, key: PartKey, whole: str) -> str:
        """Return what of a part's whole text has not come yet; "" where something else was shown."""
        came = "".join(self.parts.get(key, ()))
        return whole[len(came) :] if whole.startswith(came) else ""


class Items:
    """The items of one response, in the order in which they were first told of."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._found: tuple[Where, Item] | None = None  # the newest answer of `find`, until there is another item

    def __iter__(self):
        return iter(self._items)

    def find(self, where: Where) -> Item | None:
        """Return the item that `where` tells: by all labels, else by its place, as some servers change ids."""
        if self._found is not None and self._found[0] is where:
            return self._found[1]
        item = max(reversed(self._items), key=lambda item: item.where.agreement(where), default=None)
        if item is not None and item.where.agreement(where) <= 0:
            same = (item for item in reversed(self._items) if item.where.place == where.place is not None)
            item = next(same, None)
        self._found = None if item is None else (where, item)
        return item

    def at(self, where: Where, began: tuple[int, int]) -> Item:
        """Return the item that `where` tells; a new one where none was told of."""
        return self.find(where) or self._add(where, began)

    def _add(self, where: Where, began: tuple[int, int]) -> Item:
        self._found = None
        self._items.append(Item(where, began))
        return self._items[-1]

    def listed(self, where: Where, text: str, began: tuple[int, int]) -> Item:
        """Return the message that the final list names: places may have shifted there, and ids changed."""
        found = self.find(where)
        if found is not None and text.startswith(found.text):
            return found
        same = next((item for item in self._items if text and item.text == text), None)
        return same or self._add(where, began)

    def position(self, place: int, now: tuple[int, int]) -> tuple[int, int]:
        """Tell where an item that is told of late belongs: in front of the first that stood behind it."""
        behind = [item for item in self._items if item.where.place is not None and item.where.place > place]
        return min((item.began for item in behind), default=now)


FORMAT = "openai-responses"
_PARTS = {"output_text": "text", "text": "text", "refusal": "refusal"}  # of a message, and the field with its words


class ResponsesAnswer(WireAnswer):
    """A response. All that goes back is kept with the calls and text before it, so that its place can be restored."""

    def __init__(self, tools: Sequence[ToolSpec] = (), source: str = "") -> None:
        super().__init__(tools)
        self._source = source
        self.calls = self._calls = LabelledCalls(self.chunks, "response.output_item.done", self.offered)
        self._items = Items()
        self._asked: dict[str, tuple[Item, dict[str, Any]]] = {}  # by id, until their output comes
        self._where = Where()  # of the newest piece: most are of the item of the one before

    def event(self, name: str, data: dict[str, Any]) -> None:
        kind = text(data.get("type")) or name
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._say(self._item(data), _part(data, kind), text(data.get("delta")))
            case "response.function_call_arguments.delta":
                self._calls.fragment(self._place(data), text(data.get("delta")))
                self.account(data, _FRAGMENT if isinstance(data.get("delta"), str) else _EVENT, at=kind)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._reasoning_delta(self._item(data), data)
            case "response.output_text.done" | "response.refusal.done":
                said = text(data.get("text")) or text(data.get("refusal"))
                self._complete(self._item(data), _part(data, kind), said)
            case "response.content_part.done":
                self._part_done(self._item(data), data)
            case "response.function_call_arguments.done":
                self._calls.close(self._place(data), text(data.get("name")), data.get("arguments"))
                self.account(data, _FRAGMENT, at=kind)
            case "response.output_item.added":
                item = obj(data.get("item"))
                self._item_added(_where(data, item), item)
                self.account(data, _EVENT | {"item"} if item else _EVENT, at=kind)
            case "response.output_item.done":
                item = obj(data.get("item"))
                self._item_done(_where(data, item), item, complete=item.get("status") != "incomplete")
                self.account(data, _EVENT | {"item"} if item else _EVENT, at=kind)
            case "response.completed" | "response.incomplete" | "response.done":
                self._completed(kind, obj(data.get("response")))
            case "response.failed":
                raise ServerFault(obj(data.get("response")))
            case "response.created" | "response.in_progress" | "response.queued":
                self.account(obj(data.get("response")), _REPEATED, at=kind, objects=False)
            case _:
                raise_for_error(name, data)
                if self._items.find(self._place(data)) is None:
                    self.account(data, _EVENT, at=kind, objects="output_index" in data or "item_id" in data)

    def whole(self, body: dict[str, Any]) -> bool:
        if "output" not in body:
            return False
        if read_error(body).message and body.get("status") == "failed":
            raise ServerFault(body)
        self._completed("response.completed", body)
        return True

    # -- items

    @property
    def _now(self) -> tuple[int, int]:
        return self.text_length, len(self._calls)

    def _place(self, data: dict[str, Any]) -> Where:
        index, known = data.get("output_index"), self._where
        if known.place != index or known.item != (data.get("item_id") or ""):
            place = index if isinstance(index, int) else None
            self._where = known = Where(place, text(data.get("item_id")))
        return known

    def _item(self, data: dict[str, Any]) -> Item:
        where = self._place(data)
        item = self._items.find(where)
        if item is None:
            item = self._items.at(where, self._now)
            item.untold = True
        if item.untold:
            self.account(data, _EVENT, at=text(data.get("type")), objects=False)
        return item

    def _item_added(self, where: Where, item: dict[str, Any]) -> None:
        kind = text(item.get("type"))
        if kind == "function_call":
            self.account(item, _CALL, at=kind)
            call_id = where.call or where.item
            self._calls.begin(where, call_id, text(item.get("name")), item.get("arguments"), _given_back(item))
            return
        known = self._items.at(where, self._now)
        if kind == "message":
            known.phase = text(item.get("phase"))
        elif kind in RESPONSES_CALLS and item.get("execution") != "client" and not known.started:
            known.started = True
            self.chunks.append(responses_started(item, _panel_id(known)))

    def _item_done(self, where: Where, item: dict[str, Any], *, complete: bool) -> None:
        kind = text(item.get("type"))
        if kind == "function_call":
            self.account(item, _CALL, at=kind)
            name, arguments = text(item.get("name")), item.get("arguments")
            if not self._calls.known(where, name, arguments):
                self._item_added(where, item)
            self._calls.keep(where, _given_back(item))
            if complete:
                self._calls.close(where, name, arguments)
            elif item.get("status") == "incomplete":
                self._calls.incomplete(where)
            return
        known = self._items.at(where, self._now)
        match kind:
            case "message":
                self._message_done(known, item)
            case "reasoning":
                self._reasoning_done(known, item)
            case _ if kind in RESPONSES_CALLS and item.get("execution") != "client":
                self._item_added(where, item)
                self._keep_once(known, item, responses_finished(item, _panel_id(known)))
            case _ if kind in RESPONSES_ASKED:
                if not known.kept:
                    self._asked.setdefault(text(item.get("call_id")) or where.item, (known, item))
            case "program":
                self._keep_once(known, item, program_written(item))
            case "program_output":
                self._keep_once(known, item, program_ended(item))
            case "function_call_output":
                if not known.done:
                    self._leave_out(known, item, "is the result of a call that is made here")
            case _:
                if kind not in RESPONSES_KEPT:
                    self.account(item, at=kind)
                asking = text(item.get("call_id")) or text(item.get("approval_request_id")) or where.item
                if asked := self._asked.pop(asking, None):
                    self._keep(*asked)
                if kind and not known.kept:
                    self._keep(known, item)

    def _keep_once(self, known: Item, item: dict[str, Any], told: ch.Chunk) -> None:
        if not known.kept:
            self._keep(known, item)
            self.chunks.append(told)

    def _leave_out(self, known: Item, item: dict[str, Any], why: str) -> None:
        known.done = True
        what = f"The answer holds a {one_line(text(item.get('type')), 60)}, which {why}: it is left out."
        self.chunks.append(ch.NoticeChunk(what, "warning"))

    def _listed(self, output: list[Any], *, complete: bool) -> None:
        """The whole output, as the last event repeats it."""
        for place, item in enumerate(map(obj, output)):
            where = _where({"output_index": place}, item)
            ended = item.get("status") == "completed" or (complete and item.get("status") != "incomplete")
            match text(item.get("type")):
                case "message":
                    whole = "".join(words for _, words in _message_parts(item))
                    self._message_done(self._items.listed(where, whole, self._now), item)
                case "function_call":
                    self._item_done(where, item, complete=ended)
                case kind if self._items.find(where) is None:
                    if kind == "reasoning" and any(known.kept for known in self._items):
                        continue  # under another id, or in another place, it came before
                    self._items.at(where, self._items.position(place, self._now))
                    self._item_done(where, item, complete=ended)
                case _:
                    self._item_done(where, item, complete=ended)

    # -- texts

    def _say(self, item: Item, part: PartKey, piece: str) -> None:
        if not piece:
            return
        if not item.parts and (item.phase or self._now != (0, 0)):
            item.gap = len(APART) if self.text_length else 0
            self.add_text(APART[: item.gap])
            self._mark(item, self._now)
        item.parts.setdefault(part, []).append(piece)
        self.add_text(piece)

    def _complete(self, item: Item, part: PartKey, whole: str) -> None:
        self._say(item, part, item.missing(part, whole))

    def _part_done(self, item: Item, data: dict[str, Any]) -> None:
        part = obj(data.get("part"))
        if (field := _PARTS.get(kind := text(part.get("type")))) is not None:
            self._complete(item, _part(data, field), text(part.get(field)))
        elif kind == "reasoning_text" and not item.thinking:
            item.thinking.append(self.think(text(part.get("text"))))

    def _message_done(self, known: Item, item: dict[str, Any]) -> None:
        phase = text(item.get("phase"))
        late = phase if phase != known.phase else ""
        known.phase = phase or known.phase
        for part, words in _message_parts(item):
            self._complete(known, part, words)
        self.account(
            [one for one in arr(item.get("content")) if obj(one).get("type") not in _PARTS], at="message.content"
        )
        if late and not known.done:
            self._mark(known, known.began)
        known.done = True

    def _mark(self, item: Item, position: tuple[int, int]) -> None:
        item.began = position
        fields = {"phase": item.phase} if item.phase else {}
        gap = {"gap": item.gap} if item.gap else {}
        data = placed(self._source, *position, text=fields, **gap)
        self.chunks.append(ch.ReasoningFinished(Reasoning(provider=FORMAT, data=data)))

    # -- what goes back as it came

    def _reasoning_delta(self, item: Item, data: dict[str, Any]) -> None:
        part = data.get("summary_index", data.get("content_index"))
        if item.thinking and part != item.thought_part:
            item.thinking.append(self.think("\n\n"))  # parts of a summary are paragraphs
        item.thought_part = part
        item.thinking.append(self.think(text(data.get("delta"))))

    def _reasoning_done(self, known: Item, item: dict[str, Any]) -> None:
        known.unfinished = {} if known.unfinished else item
        if known.kept or (known.unfinished and item.get("status") == "in_progress"):
            return
        shown = "".join(known.thinking)
        if not shown:
            parts = arr(item.get("summary")) or arr(item.get("content"))
            shown = self.think("\n\n".join(text(obj(part).get("text")) for part in parts))
        self._keep(known, {**item, "summary": arr(item.get("summary"))}, shown)

    def _keep(self, known: Item, item: dict[str, Any], shown: str = "") -> None:
        known.done = known.kept = True
        data = placed(self._source, *known.began, block=item)
        self.chunks.append(ch.ReasoningFinished(Reasoning(provider=FORMAT, text=shown, data=data)))

    def close_reasoning(self) -> None:
        """Keep an item that never ended for people only: without its encrypted content it can't be sent back."""
        for item in self._items:
            if item.unfinished and not item.kept:
                self._reasoning_done(item, item.unfinished)
            if item.thinking and not item.kept:
                item.kept = True
                self.chunks.append(ch.ReasoningFinished(Reasoning(provider=FORMAT, text="".join(item.thinking))))

    # -- the end

    def _completed(self, kind: str, response: dict[str, Any]) -> None:
        self.take_usage(response)
        status = text(response.get("status")) or ("incomplete" if kind == "response.incomplete" else "completed")
        if status == "failed":
            raise ServerFault(response)
        self.account(response, _REPEATED | {"output"}, at=kind, objects=False)
        self._listed(arr(response.get("output")), complete=status == "completed")
        for known, item in self._asked.values():
            self._leave_out(known, item, "asks for what Fanout doesn't do")
        self.finish((status != "completed" and text(obj(response.get("incomplete_details")).get("reason"))) or status)
        self.over = True

    def take_usage(self, event: dict[str, Any]) -> None:
        if usage := obj(event.get("usage")) or obj(obj(event.get("response")).get("usage")):
            self.usage = usage

    def tokens(self) -> tuple[int, int, int | None] | None:
        sent, written = count(self.usage.get("input_tokens")), count(self.usage.get("output_tokens"))
        if sent is None and written is None:
            return None
        return sent or 0, written or 0, count(obj(self.usage.get("input_tokens_details")).get("cached_tokens"))


def _where(data: dict[str, Any], item: dict[str, Any]) -> Where:
    index = data.get("output_index")
    return Where(index if isinstance(index, int) else None, text(item.get("id")), text(item.get("call_id")))


def _given_back(item: dict[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in _GIVEN_BACK if item.get(name)}


def _part(data: dict[str, Any], kind: str) -> PartKey:
    index = data.get("content_index")
    return index if isinstance(index, int) else 0, "refusal" if "refusal" in kind else "text"


def _message_parts(item: dict[str, Any]) -> list[tuple[PartKey, str]]:
    parts = enumerate(map(obj, arr(item.get("content"))))
    fields = [(number, _PARTS.get(text(part.get("type")), ""), part) for number, part in parts]
    return [((number, field), text(part.get(field))) for number, field, part in fields if field]


def _panel_id(item: Item) -> str:
    return item.where.item or f"item_{item.where.place}"
