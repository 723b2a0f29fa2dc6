"""Classes made with `console_app.records` do what those of the standard library do."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from copy import copy, deepcopy
from typing import Any

import pytest
from pydantic import TypeAdapter

from console_app import records
from console_app.records import KW_ONLY
from tests.each import each


@records.dataclass(frozen=True, slots=True)
class Place:
    line: int
    column: int = 0
    marks: tuple[str, ...] = ()
    seen: list[str] = records.field(default_factory=list[str], compare=False, repr=False)


@records.dataclass(frozen=True, slots=True)
class Named(Place):
    _: KW_ONLY
    name: str = "here"


@records.dataclass
class Counter:
    start: int = 1
    count: int = records.field(init=False, default=5)
    double: int = records.field(init=False)

    def __post_init__(self) -> None:
        self.double = self.start * 2


@records.dataclass(eq=False, slots=True)
class Alone:
    """Has an identity."""


@records.dataclass(frozen=True)
class Own:
    size: int

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "mine"

    __hash__ = object.__hash__


def both(**given: Any) -> tuple[type[Any], type[Any]]:
    """The same class, made by us and by the standard library."""

    def body() -> type[Any]:
        return type("Made", (), {"__annotations__": {"a": int, "b": "list[int]"}, "b": (), "__qualname__": "Made"})

    return records.dataclass(**given)(body()), dataclasses.dataclass(**given)(body())


@each("slots", [True, False])
@each("frozen", [True, False])
@each("eq", [True, False])
def test_a_class_is_the_standard_librarys(frozen: bool, slots: bool, eq: bool) -> None:
    ours, theirs = both(frozen=frozen, slots=slots, eq=eq)
    for made in (ours, theirs):
        one, same, other = made(1), made(1, b=()), made(1, (2,))
        assert ((one == same), (one == other), (one == 1)) == (eq, False, False)
        assert (dataclasses.astuple(other), dataclasses.replace(other, a=3).a) == ((1, (2,)), 3)
        assert repr(other) == "Made(a=1, b=(2,))"
        assert (made.__hash__ is None) == (eq and not frozen)
        assert hasattr(one, "__dict__") != slots
        if eq and frozen:
            assert len({one, same, other}) == 2
        match other:
            case made(a, b):
                assert (a, b) == (1, (2,))
        if frozen:
            with pytest.raises(AttributeError):
                one.a = 2
            with pytest.raises(AttributeError):
                del one.a
        else:
            one.a = 2
            assert one.a == 2
    assert list(inspect.signature(ours.__init__).parameters) == list(inspect.signature(theirs.__init__).parameters)


@each(("given", "named"), [((), {}), ((1, 2, (), [], 5), {}), ((1,), {"column": 2, "other": 1})])
def test_what_an_init_does_not_take_is_a_type_error(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    for _ in range(2):  # the first time makes the method
        with pytest.raises(TypeError):
            Place(*given, **named)


def test_fields_have_their_defaults_each_object_its_own() -> None:
    one, other = Place(1), Place(1)
    one.seen.append("x")
    assert (other.seen, one == other, hash(one) == hash(other)) == ([], True, True)
    assert repr(one) == "Place(line=1, column=0, marks=())"
    assert (Counter().count, Counter(3).double) == (5, 6)
    assert (Alone() == Alone(), (same := Alone()) == same) == (False, True)
    assert (Own(1) == Own(2), repr(Own(1))) == (True, "mine")


def test_a_class_below_has_its_own_fields_and_is_not_the_one_above() -> None:
    below = Named(1, 2, name="there")
    assert repr(below) == "Named(line=1, column=2, marks=(), name='there')"
    assert (below == Place(1, 2), Place(1, 2) == below) == (False, False)
    with pytest.raises(TypeError):
        Named(1, 2, (), [], "there")  # type: ignore[misc]


def test_frozen_ones_are_copied_pickled_and_validated() -> None:
    one = Named(1, 2, ("a",), ["b"], name="there")
    for again in (copy(one), deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert (again, again.seen) == (one, ["b"])
    adapter: TypeAdapter[Named] = TypeAdapter(Named)
    assert adapter.validate_json(adapter.dump_json(one)) == one
