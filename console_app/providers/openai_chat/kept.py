"""What an endpoint of Chat Completions gave beside text and calls, and wants back as it came.

Reasoning stands in a text field of its own (DeepSeek, Kimi, vLLM), in `reasoning_details` (OpenRouter, MiniMax) or in
parts of the content (Mistral); Gemini signs messages and calls in their `extra_content`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console_app.domain.chunks import Chunk, ProviderData, ReasoningFinished, ReasoningSoFar
from console_app.domain.messages import Reasoning
from console_app.providers.stream.loose_json import arr, obj, text

FORMAT = "openai-chat"
TEXT_FIELDS = ("reasoning_content", "reasoning")
CALL_FIELDS = frozenset({"extra_content", "provider_specific_fields"})


class KeptFields:
    """The fields of one answer. `source` names the endpoint, the only one that gets its reasoning back."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._field = ""  # the reasoning field this server writes; some write the same text into two
        self._blank = ""  # one that it wrote with nothing in it: it may be wanted back beside calls
        self._shown: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._parts: list[tuple[int, dict[str, Any]]] = []  # and how much text came before each
        self._extra: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._shown or self._details)

    def think(self, delta: dict[str, Any]) -> list[str]:
        """Takes the reasoning of a delta; returns what of it is to be shown."""
        given = delta.get("reasoning_details")
        details = [dict(detail) for detail in map(obj, arr(given)) if detail] if given else ()
        for detail in details:
            _merge_detail(self._details, detail)
        for field in (self._field,) if self._field else TEXT_FIELDS:
            piece = delta.get(field)
            if piece and isinstance(piece, str):
                self._field = field
                self._shown.append(piece)
                return [piece]
            if piece == "":
                self._blank = self._blank or field
        if self._field or not details:
            return []
        pieces = [text(detail.get("text")) or text(detail.get("summary")) for detail in details]
        self._shown += pieces
        return pieces

    def part(self, part: dict[str, Any], text_before: int) -> str:
        """Takes a part of the content that is no text; returns what of it is to be shown."""
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
        self._shown.append(thought)
        return thought

    def signed(self, extra: dict[str, Any]) -> bool:
        """Takes the `extra_content` of a delta; returns whether it says that the delta's text is thought."""
        google = dict(obj(extra.get("google")))
        thought = google.pop("thought", None) is True
        for name, value in ({**extra, "google": google} if "google" in extra else extra).items():
            if isinstance(value, dict):
                if value:
                    self._extra[name] = obj(self._extra.get(name)) | obj(value)
            else:
                self._extra[name] = value
        return thought

    def thought(self, piece: str) -> None:
        """More reasoning that only people read."""
        self._shown.append(piece)

    def chunks(self, *, calls: bool) -> list[Chunk]:
        """All that is kept, once; `calls` says whether the answer has any."""
        out = self.so_far(ReasoningFinished, calls=calls)
        self.__init__(self._source)
        return out

    def so_far(self, kind: type[ReasoningFinished | ReasoningSoFar], *, calls: bool) -> list[Chunk]:
        """What is kept by now, its reasoning as a chunk of `kind`."""
        out: list[Chunk] = []
        field = self._field or (self._blank if calls else "")
        if self or field:
            data: dict[str, Any] = {"source": self._source, "field": field}
            if self._details:
                data |= {"field": "reasoning_details", "value": [dict(detail) for detail in self._details]}
            kept = data if data["field"] else dict[str, Any]()
            out.append(kind(Reasoning(provider=FORMAT, text="".join(self._shown), data=kept)))
        given: dict[str, Any] = {"parts": [[before, dict(part)] for before, part in self._parts]} if self._parts else {}
        if self._extra:
            given["fields"] = {"extra_content": dict(self._extra)}
        if given:
            out.append(ProviderData(given))
        return out


def content_of(content: str, parts: Sequence[Any]) -> str | list[dict[str, Any]]:
    """The text of a message with the parts that stood in it, each behind as much text as before; alone as it is."""
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
    """OpenRouter streams each detail in pieces: the same index and type belong together."""
    same = [one for one in details[-1:] if _same_detail(one, detail)]
    if detail.get("index") is not None:
        same = [one for one in details if _same_detail(one, detail)]
    if not same:
        details.append(detail)
        return
    last = same[-1]
    for key, value in detail.items():
        if key in ("text", "summary", "data") and isinstance(value, str):
            last[key] = text(last.get(key)) + value
        elif value is not None:
            last[key] = value


def _same_detail(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if (one.get("type"), one.get("index")) != (other.get("type"), other.get("index")):
        return False
    ids = {one.get("id"), other.get("id")} - {None, ""}
    return len(ids) < 2
