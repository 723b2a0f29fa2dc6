"""Fits JSON to the SDK's own models: parts that they refuse and can do without are dropped, the smallest that will do.

Nothing here knows a field. The models say where a value doesn't fit, and whether it can be done without: then they
miss nothing once it is gone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Final, cast, get_args

from mcp_types import InputRequiredResult, methods
from pydantic import TypeAdapter, ValidationError

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
        """Say what is wrong with the value at `place`."""
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
        """Return the error of the first model that refuses `result`."""
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
    models = [_arm(row, asks) for row in rows if row is not None]
    return Shape(tuple(TypeAdapter[Any](model) for model in models), _defaults(models[0], models[-1]) if models else {})


def _arm(row: Any, asks: bool) -> Any:
    arms = get_args(row) if isinstance(row, UnionType) else (row,)
    return next((arm for arm in arms if (arm.__name__ == InputRequiredResult.__name__) is asks), row)


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
    """Return pydantic's message without the names of its models."""
    wanted = message.removeprefix("Input should be ")
    if wanted == message:
        return f"doesn't fit the protocol ({message})"
    kind = re.sub(r"^a valid dictionary.*", "an object", wanted.partition(", ")[0])
    return f"is not {kind.replace('a valid string', 'a text').replace('valid ', '')}"


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
