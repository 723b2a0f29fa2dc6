"""Where two paintings of a block differ, so that only these lines are painted on the screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console_app.tui.lineview.lines import Line


def first_difference(old: Sequence[Line], new: Sequence[Line], start: int, stop: int) -> int:
    """The first line from `start` to before `stop` that is not as it was; `stop`, or what both have, where none is."""
    for y in range(start, past := min(stop, len(old), len(new))):
        if old[y] is not new[y] and old[y] != new[y]:
            return y
    return past


def differences(old: Sequence[Line], new: Sequence[Line], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Runs of lines of `new`, from `start` to before `stop`, that are not as they were: the first, and how many."""
    run: int | None = None
    for y in range(start, stop):
        same = y < len(old) and (old[y] is new[y] or old[y] == new[y])
        if not same and run is None:
            run = y
        elif same and run is not None:
            yield run, y - run
            run = None
    if run is not None:
        yield run, stop - run
