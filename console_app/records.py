"""Dataclasses that cost little to define: what they do is made when it is first used.

The standard library compiles six methods for a frozen class (0.5 ms). A start defines some 270 of them, creates objects
of a third, and compares next to none. Fields, `replace`, matching and pickles are the standard library's.
"""

from __future__ import annotations

import dataclasses
from dataclasses import KW_ONLY as KW_ONLY
from dataclasses import asdict as asdict
from dataclasses import astuple as astuple
from dataclasses import field as field
from dataclasses import fields as fields
from dataclasses import replace as replace
from operator import attrgetter

TYPE_CHECKING = False  # type checkers know the name, and see the standard library's own decorator
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from typing import Any
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False, kw_only=False):
        if cls is None:
            return lambda cls: _made(cls, frozen, eq, slots, kw_only)
        return _made(cls, frozen, eq, slots, kw_only)


_set = object.__setattr__
_MISSING: Any = dataclasses.MISSING


def _made(cls: Any, frozen: bool, eq: bool, slots: bool, kw_only: bool) -> Any:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is made, for a docstring
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    own = cls.__dict__
    if "__repr__" not in own:
        cls.__repr__ = _repr
    if eq:
        values = _values([one.name for one in dataclasses.fields(cls) if one.compare])
        if "__eq__" not in own:
            cls.__eq__ = _eq(values)
        if "__hash__" not in own:
            cls.__hash__ = _hash(values) if frozen else None
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_to_set, _refuse_to_delete
        if slots:
            cls.__getstate__, cls.__setstate__ = _state, _take_state

    def first(self: Any, *given: Any, **named: Any) -> None:
        cls.__init__ = init = _init(cls, "_set(self, {0!r}, {1})" if frozen else "self.{0} = {1}")
        init(self, *given, **named)

    cls.__init__ = first
    return cls


def _values(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _eq(values: Callable[[Any], Any]) -> Any:
    def equal(self: Any, other: Any) -> bool:
        return values(self) == values(other) if self.__class__ is other.__class__ else NotImplemented

    return equal


def _hash(values: Callable[[Any], Any]) -> Any:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


def _init(cls: Any, statement: str) -> Any:
    """Compile `__init__`, which takes the fields in their order."""
    known: dict[str, Any] = {"_set": _set, "_MISSING": _MISSING}
    by_place, by_name, lines = list[str](), list[str](), list[str]()
    for one in dataclasses.fields(cls):
        value, made = one.name, f"_{one.name}_made"
        known[made] = one.default if one.default_factory is _MISSING else one.default_factory
        if one.default_factory is not _MISSING:
            value = f"{made}() if {value} is _MISSING else {value}" if one.init else f"{made}()"
        elif not one.init:
            if one.default is _MISSING:
                continue
            value = made
        lines.append(statement.format(one.name, value))
        if one.init:
            default = "_MISSING" if one.default_factory is not _MISSING else "" if one.default is _MISSING else made
            (by_name if one.kw_only else by_place).append(f"{one.name}={default}" if default else one.name)
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    taken = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({taken}):\n " + "\n ".join(lines or ["pass"]), known)  # noqa: S102 - names of fields of our own classes, as in the standard library
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _take_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        _set(self, one.name, value)
