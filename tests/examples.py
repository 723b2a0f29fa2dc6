"""How much a test tries: the same few cases in every run, and all of them in `make explore`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

from hypothesis import settings

from tests.each import pairs

T = TypeVar("T")

# Those that are the same in every run find nothing new: they hold what is known.
FEW = 30
EXPLORING = os.environ.get("HYPOTHESIS_PROFILE") == "exploring"


def examples(number: int, few: int | None = None, **more: Any) -> settings:
    """So many examples where new ones are looked at, and `few`, or a fifth, where they are the same in every run."""
    return settings(max_examples=number if EXPLORING else few or number // 5, **more)


def spread(cases: Iterable[T], few: int) -> list[T]:
    """All cases in `make explore`, and else `few` of them: the first, the last, and those in even steps between."""
    every = list(cases)
    if EXPLORING or len(every) <= few:
        return every
    return [every[round(step * (len(every) - 1) / max(few - 1, 1))] for step in range(few)]


def turns(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows of one value of each axis: in `make explore` so many that every two values of two axes meet, and else as
    many as the longest axis has, in which each value of each axis has its turn."""
    values = [list(axis) for axis in axes]
    if EXPLORING:
        return pairs(*values)
    longest = max(len(axis) for axis in values)
    return [tuple(axis[row % len(axis)] for axis in values) for row in range(longest)]
