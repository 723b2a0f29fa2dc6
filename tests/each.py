"""A family of inputs is one test: pytest collects it once, and each input that fails is named."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, product
from typing import Any, TypeVar, cast

import pytest

T = TypeVar("T", bound=Callable[..., Any])
Ids = Callable[[Any], object] | Iterable[object] | None

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120


class _Failures:
    def __init__(self, inputs: int) -> None:
        self._inputs = inputs
        self._failed: list[tuple[str, Exception]] = []

    @contextmanager
    def of(self, label: Callable[[], str]) -> Iterator[None]:
        """Keeps what fails in here, so that the inputs behind it are tried too."""
        try:
            yield
        except pytest.skip.Exception:
            raise AssertionError(f"{label()}: a skipped input would skip all others") from None
        except pytest.fail.Exception as error:  # also that of the time limit, behind which nothing goes on
            error.add_note(f"with the input {label()}")
            raise
        except Exception as error:
            self._failed.append((label(), error))

    def tell(self) -> None:
        """Raises the first failure, with the names of all inputs that failed."""
        if self._failed:
            _, error = self._failed[0]
            labels = "\n  ".join(label for label, _ in self._failed)
            error.add_note(f"{len(self._failed)} of {self._inputs} inputs failed, this one first:\n  {labels}")
            raise error


def each(names: str | Sequence[str], inputs: Iterable[Any], ids: Ids = None) -> Callable[[T], T]:
    """`pytest.mark.parametrize`, for inputs without a fixture that one of them could change.

    Each input has a `tmp_path` of its own, a folder in that of the test.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [(one,) if len(wanted) == 1 else tuple(one) for one in inputs]
    named = ids if ids is None or callable(ids) else list(ids)

    def decorate(test: T) -> T:
        if inspect.iscoroutinefunction(test):

            async def all_of_them(**rest: Any) -> None:
                failures = _Failures(len(cases))
                for number, values in enumerate(cases):
                    given = dict(zip(wanted, values, strict=True))
                    with failures.of(functools.partial(_label, number, values, named)):
                        await test(**_own_folder(rest, number), **given)
                failures.tell()
        else:

            def all_of_them(**rest: Any) -> None:
                failures = _Failures(len(cases))
                for number, values in enumerate(cases):
                    given = dict(zip(wanted, values, strict=True))
                    with failures.of(functools.partial(_label, number, values, named)):
                        test(**_own_folder(rest, number), **given)
                failures.tell()

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in wanted]
        made = functools.wraps(test)(all_of_them)
        made.__signature__ = signature.replace(parameters=left)  # what pytest gives it
        return cast("T", made)

    return decorate


def _own_folder(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    if "tmp_path" not in fixtures:
        return fixtures
    folder = fixtures["tmp_path"] / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}


def _label(number: int, values: Iterable[Any], ids: Any) -> str:
    if isinstance(ids, list):
        return str(ids[number])
    return "-".join(str(ids(value) if ids else _SHORT.repr(value)) for value in values)[:300]


def pairs(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows of one value of each axis in which every two values of two axes meet: few, where their product is thousands.

    The two longest axes meet in rows of their own; the others add the values that meet most of what they have not met.
    """
    values = [list(axis) for axis in axes]
    sizes = [range(len(axis)) for axis in values]
    longest = sorted(sizes, key=len, reverse=True)
    missing = {
        frozenset({(one, i), (other, j)})
        for (one, first), (other, second) in combinations(enumerate(sizes), 2)
        for i, j in product(first, second)
    }

    def new(row: dict[int, int], axis: int, value: int) -> set[frozenset[tuple[int, int]]]:
        return {frozenset({(axis, value), met}) for met in row.items()} & missing

    rows = list[tuple[Any, ...]]()
    order = sorted(range(len(axes)), key=lambda axis: -len(sizes[axis]))
    begun = [dict(zip(order, both, strict=False)) for both in product(*longest[:2])]
    while missing:
        row = begun.pop(0) if begun else dict(next(iter(sorted(map(sorted, missing)))))
        missing.discard(frozenset(row.items()))
        for axis in order:
            if axis not in row:
                turned = sorted(sizes[axis], key=lambda value: (value - len(rows)) % len(longest[0]))
                best = max(turned, key=lambda value: len(new(row, axis, value)))
                missing -= new(row, axis, best)
                row[axis] = best
        rows.append(tuple(values[axis][row[axis]] for axis in range(len(axes))))
    return rows
