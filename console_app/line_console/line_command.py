"""One slash command of the line console."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Run = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LineCommand:
    """What is typed behind the slash, what it takes and does."""

    name: str
    about: str
    run: Run
    argument: str = ""
