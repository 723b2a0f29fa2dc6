"""Cleans what a server answers before the SDK validates it: each listed thing is judged alone, by the SDK's models.

The SDK refuses a whole answer over one part of it. Here a thing that doesn't fit is left out with its reason, and words
take the place of a content block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from mcp_types import methods

from console_app.domain import safe_text
from console_app.mcp_client.connecting.status import LeftOut
from console_app.mcp_client.tools.fitting import Fitting, Misfit, Path, reason, shape
from console_app.mcp_client.tools.schemas import measure
from console_app.mcp_client.transport import cut_of

LONGEST_NAME = 256
LONGEST: Final = 2_000  # characters of an unknown block that are passed on
MOST_BLOCKS: Final = 10_000  # of one result: a list of words may be a block each


def clean(method: str, version: str, result: dict[str, Any]) -> tuple[dict[str, Any], list[LeftOut], list[LeftOut]]:
    """Return a result in which everything fits the protocol, the things that don't, and the fields that others lost."""
    try:
        return _clean(method, version, result)
    except _Unfit:
        return result, [], []  # the SDK says why


class _Unfit(Exception):
    """The result itself is not what the protocol has, whatever it lists."""


def _clean(method: str, version: str, result: dict[str, Any]) -> tuple[dict[str, Any], list[LeftOut], list[LeftOut]]:
    match method:
        case "tools/list":
            fitted, left_out, dropped = _fitted(method, version, _typed(result))
            fitted, not_offerable = _offerable(fitted)
            return fitted, left_out + not_offerable, dropped
        case "tools/call":
            fitted, _, dropped = _fitted(method, version, _bounded(result))
            if "structuredContent" in result and "structuredContent" not in fitted:
                text = json.dumps(result["structuredContent"], ensure_ascii=False)
                fitted = fitted | {"content": [*fitted["content"], {"type": "text", "text": text}]}
            return fitted, [], dropped
        case _:
            return _fitted(method, version, result)


def _fitted(method: str, version: str, result: dict[str, Any]) -> tuple[dict[str, Any], list[LeftOut], list[LeftOut]]:
    asks = methods.is_input_required(result)
    known = shape(method, version, asks)
    if known.refusal(result) is None:
        return result, [], []
    result = {name: value for name, value in known.defaults.items() if name not in result} | result
    lists = {name: cast("list[Any]", value) for name, value in result.items() if isinstance(value, list)}
    empty: dict[str, list[Any]] = {name: [] for name in lists}
    fitted, own, faults = Fitting(known).fitted(result | empty, ("inputRequests",) if asks else ())
    if faults:
        raise _Unfit
    left_out: list[LeftOut] = []
    dropped = [LeftOut("its list", fault.within(()), str(fault.place[0])) for fault in own]
    for name, things in lists.items():
        fitting = Fitting(known)
        kept: list[Any] = []
        for number, thing in enumerate(things, 1):
            called, place = _name(thing) or f"number {number}", (name, 0)
            judged, gone, faults = fitting.fitted(fitted | {name: [thing]}, place)
            dropped += [LeftOut(called, fault.within(place), str(fault.place[2])) for fault in gone]
            if not faults:
                kept += judged[name]
            elif (in_words := _IN_WORDS.get(method)) is not None:
                kept.append(in_words(thing, faults, place))
            else:
                left_out.append(LeftOut(called, reason(faults, place)))
        fitted = fitted | {name: kept}
    return fitted, left_out, dropped


def _name(thing: Any) -> str:
    name: Any = safe_text.as_object(thing).get("name")
    return name.strip()[:LONGEST_NAME] if isinstance(name, str) else ""


def _typed(result: dict[str, Any]) -> dict[str, Any]:
    """Return a list of tools in which a schema without a type is one of an object, since nothing else can be."""
    listed: Any = result.get("tools")
    if not isinstance(listed, list):
        return result
    tools: list[Any] = []
    for tool in cast("list[Any]", listed):
        schema: Any = safe_text.as_object(tool).get("inputSchema")
        typed = isinstance(schema, dict) and "type" not in schema
        tools.append(tool | {"inputSchema": {"type": "object"} | schema} if typed else tool)
    return result | {"tools": tools}


def _offerable(result: dict[str, Any]) -> tuple[dict[str, Any], list[LeftOut]]:
    """Leave out tools that fit the protocol, and that no model could be offered."""
    kept: list[dict[str, Any]] = []
    left_out: list[LeftOut] = []
    for tool in cast("list[dict[str, Any]]", result["tools"]):
        name: str = tool["name"]
        if not name.strip():
            left_out.append(LeftOut(repr(name), "it has no name"))
        elif len(name) > LONGEST_NAME:
            left_out.append(LeftOut(name[:40], f"its name is longer than {LONGEST_NAME} characters"))
        elif problem := measure(tool["inputSchema"]).problem:
            left_out.append(LeftOut(name, f"its inputSchema is {problem}"))
        else:
            large = bool(measure(tool.get("outputSchema")).problem)
            kept.append({key: value for key, value in tool.items() if not (large and key == "outputSchema")})
    return result | {"tools": kept}, left_out


def _bounded(result: dict[str, Any]) -> dict[str, Any]:
    """Return a `tools/call` result with a bounded number of blocks; some servers give structured content alone."""
    content: Any = result.get("content")
    if content is None and result.get("resultType", "complete") == "complete":
        return result | {"content": []}
    if not isinstance(content, list):
        return result
    listed = cast("list[Any]", content)
    cut = [{"type": "text", "text": listed.pop()}] if listed and isinstance(listed[-1], str) and cut_of(listed) else []
    blocks = listed[:MOST_BLOCKS]
    if left_out := len(listed) - len(blocks):
        words = f"[{left_out} more blocks are left out: of one result, the first {MOST_BLOCKS} are kept]"
        blocks.append({"type": "text", "text": words})
    return result | {"content": blocks + cut}


def _block_in_words(block: Any, faults: Sequence[Misfit], place: Path) -> dict[str, Any]:
    """Return a text that names a block and what it holds."""
    kind: Any = safe_text.as_object(block).get("type")
    if not kind:
        said = "without a type"
    elif any(fault.tag and fault.place == (*place, "type") for fault in faults):
        said = f"of the unknown type {kind!r:.60}"
    else:
        said = f"of type {kind} that can't be read ({reason(faults, place)})"
    return {"type": "text", "text": f"[a block {said}: {_shown(block)}]"}


def _message_in_words(message: Any, faults: Sequence[Misfit], place: Path) -> dict[str, Any]:
    fields = safe_text.as_object(message)
    role = fields.get("role")
    block = _block_in_words(fields.get("content", message), faults, (*place, "content"))
    return {"role": role if role in ("user", "assistant") else "user", "content": block}


def _contents_in_words(contents: Any, faults: Sequence[Misfit], place: Path) -> dict[str, Any]:
    uri = safe_text.as_object(contents).get("uri")
    text = f"[a part that can't be read ({reason(faults, place)}): {_shown(contents)}]"
    return {"uri": uri if isinstance(uri, str) else "", "text": text}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


# The results of these methods are for the model to read, so words stand in place of a part that doesn't fit.
_IN_WORDS: Final[dict[str, Callable[[Any, Sequence[Misfit], Path], dict[str, Any]]]] = {
    "tools/call": _block_in_words,
    "prompts/get": _message_in_words,
    "resources/read": _contents_in_words,
}
