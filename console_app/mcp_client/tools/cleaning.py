"""Cleans what a server answers before the SDK validates it: each listed thing is judged alone, by the SDK's models.

The SDK refuses a whole answer over one part of it. Here parts that its models refuse and can do without are dropped,
the smallest that will do. A thing that doesn't fit then is left out with its reason, and words take the place of a
content block. Nothing here knows a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from types import UnionType
from typing import Any, Final, cast, get_args

from mcp_types import InputRequiredResult, methods
from pydantic import TypeAdapter, ValidationError

from console_app.domain import safe_text
from console_app.mcp_client.connecting.status import LeftOut
from console_app.mcp_client.tools.schemas import measure
from console_app.mcp_client.transport import cut_of
from console_app.records import dataclass

LONGEST_NAME = 256
LONGEST: Final = 2_000  # characters of an unknown block that are passed on
MOST_BLOCKS: Final = 10_000  # of one result: a list of words may be a block each


def clean(method: str, version: str, result: dict[str, Any]) -> tuple[dict[str, Any], list[LeftOut], list[LeftOut]]:
    """Return a result in which everything fits the protocol, the things that don't, and the fields that others lost."""
    try:
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
    except _Unfit:
        return result, [], []  # the SDK says why


class _Unfit(Exception):
    """The result itself is not what the protocol has, whatever it lists."""


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


Path = tuple[str | int, ...]
_TAGS: Final = (("type",), ("resultType",))  # of unions
_ONE_BY_ONE: Final = 10  # parts of one value that are dropped with care for their surroundings; then whole fields go
_MOST_FAULTS: Final = 50  # of one value for which that care is taken


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place in a value that the models refuse; `missing` names what they miss in it, `told` says what is wrong."""

    place: Path
    missing: str
    told: str
    tag: bool = False  # it names another member of a union than the one that refuses it

    def within(self, place: Path) -> str:
        where = ".".join(map(str, self.place[len(place) :]))
        return f"{f'its {where}' if where else 'it'} {self.told}"


def reason(faults: Sequence[Misfit], place: Path) -> str:
    """Say what is wrong with the value at `place`, in the words of the fault that is deepest in it."""
    return max(faults, key=lambda fault: len(fault.place)).within(place)


@dataclass(frozen=True, slots=True)
class Shape:
    """The models that the result of a method has to fit in one version of the protocol."""

    models: tuple[TypeAdapter[Any], ...]
    defaults: dict[str, Any]

    def refusal(self, result: Any) -> ValidationError | None:
        for model in self.models:
            try:
                model.validate_python(result, by_name=False)
            except ValidationError as error:
                return error
        return None

    def faults(self, result: Any) -> list[Misfit]:
        """Return what is wrong with `result`; nothing where all models take it."""
        error = self.refusal(result)
        return [] if error is None else _faults(error, result)


@cache
def shape(method: str, version: str, asks: bool = False) -> Shape:
    """Return the shape of a method's results; nothing is refused in those of a method that the SDK doesn't know.

    `asks` is for a result that asks for input in place of an answer: its model takes any answer for one of its own.
    """
    rows = (methods.SERVER_RESULTS.get((method, version)), methods.MONOLITH_RESULTS.get(method))
    arms = [(row, get_args(row) if isinstance(row, UnionType) else (row,)) for row in rows if row is not None]
    asking = InputRequiredResult.__name__
    models: list[Any] = [next((one for one in of if (one.__name__ == asking) is asks), row) for row, of in arms]
    return Shape(tuple(TypeAdapter[Any](model) for model in models), _defaults(models[0], models[-1]) if models else {})


def _defaults(wire: Any, model: Any) -> dict[str, Any]:
    """Return what the protocol means by a result without the fields that one of its versions wants all the same."""
    wanted = {field.alias or name for name, field in wire.model_fields.items() if field.is_required()}
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    return {name: field.get_default() for name, field in fields.items() if name in wanted and not field.is_required()}


@dataclass(slots=True)
class Fitting:
    """Fits values of one shape; what had to go from one is tried first on the next, as a server's faults are alike."""

    shape: Shape
    _last: tuple[Path, ...] = ()
    _refused: tuple[Misfit, ...] = ()

    def fitted(self, value: Any, whole: Path = ()) -> tuple[Any, list[Misfit], list[Misfit]]:
        """Return `value` with nothing that the models refuse, the faults that were dropped, and those that can't be.

        What is at `whole`, or around it, stays: it is for the caller to leave out.
        """
        dropped: list[Misfit] = []
        cuts: list[Path] = []
        faults = self.shape.faults(value)
        if faults and tuple(faults) == self._refused:
            return value, [], faults
        if faults and self._last:
            trial = value
            for cut in self._last:
                trial = _without(trial, cut)
            if self.shape.refusal(trial) is None:
                return trial, faults, []
        while faults:
            found = self._cut(value, faults, whole, coarse=len(cuts) >= _ONE_BY_ONE or len(faults) > _MOST_FAULTS)
            if found is None:
                self._refused = () if cuts else tuple(faults)
                return value, dropped, faults
            fault, cut, value, faults = found
            dropped.append(fault)
            cuts.append(cut)
        self._last = tuple(cuts)
        return value, dropped, []

    def _cut(
        self, value: Any, faults: Sequence[Misfit], whole: Path, *, coarse: bool
    ) -> tuple[Misfit, Path, Any, list[Misfit]] | None:
        """Return the first fault that can go, with how much had to; None where the value can't do without any."""
        for fault in sorted(faults, key=lambda one: (-len(one.place), bool(one.missing))):
            if fault.tag:
                continue
            longest = len(whole) + 1 if coarse else len(fault.place)
            for end in range(min(longest, len(fault.place)), len(whole), -1):
                cut = fault.place[:end]
                trial = _without(value, cut)
                left = self.shape.faults(trial)
                if not any(one.missing == cut[-1] and one.place == cut[:-1] for one in left):
                    return fault, cut, trial, left
        return None


def _faults(error: ValidationError, value: Any) -> list[Misfit]:
    """Return the faults in terms of the value. Of a union, only those of members that the value's own tags allow."""
    by_member: dict[tuple[str, ...], list[Misfit]] = {}
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        member, place, missing = _place(one["loc"], value, one["type"] == "missing")
        told = f"has no {missing}" if missing else _in_our_words(one["msg"])
        tag = bool(member) and one["type"] == "literal_error" and place[-1:] in _TAGS
        fault = Misfit(place, missing, told, tag)
        by_member.setdefault(member, []).append(fault)
    own = [faults for faults in by_member.values() if not any(fault.tag for fault in faults)]
    return list(dict.fromkeys(fault for faults in own or by_member.values() for fault in faults))


def _in_our_words(message: str) -> str:
    wanted = message.removeprefix("Input should be ")
    if wanted == message:
        return f"doesn't fit the protocol ({message})"
    kind = (
        wanted if wanted.startswith("'") else re.sub(r"^a valid dictionary.*", "an object", wanted.partition(", ")[0])
    )
    return f"is not {kind.replace('a valid string', 'a text').replace('a valid i', 'an i').replace('valid ', '')}"


def _place(loc: Sequence[str | int], value: Any, misses: bool) -> tuple[tuple[str, ...], Path, str]:
    """Return the members of unions on the way to a place, the way itself, and the name of what is missing there."""
    member: list[str] = []
    place: list[str | int] = []
    at: Any = value
    for step in loc[:-1] if misses else loc:
        if isinstance(at, dict) and step in at:
            at = cast("dict[Any, Any]", at)[step]
        elif isinstance(at, list) and isinstance(step, int):
            at = cast("list[Any]", at)[step]
        else:
            member.append(f"{len(place)} {step}")  # a name that pydantic gives to a model
            continue
        place.append(step)
    return tuple(member), tuple(place), str(loc[-1]) if misses else ""


def _without(value: Any, cut: Path) -> Any:
    """Return a copy of a JSON value without the part at `cut`, itself where there is none."""
    step, rest = cut[0], cut[1:]
    if isinstance(value, dict) and step in value:
        fields = cast("dict[Any, Any]", value)
        if rest:
            return fields | {step: _without(fields[step], rest)}
        return {name: part for name, part in fields.items() if name != step}
    if isinstance(value, list) and isinstance(step, int) and step < len(items := cast("list[Any]", value)):
        return [*items[:step], *([_without(items[step], rest)] if rest else []), *items[step + 1 :]]
    return cast("Any", value)
