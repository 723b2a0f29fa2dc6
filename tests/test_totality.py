"""A new event, or a new state of a call, is looked at by everyone who reads only some of them.

A reader of all closes its `match` with `assert_never`: forgetting one is a type error there. The readers of a few are
found here: a `match` that lets the rest pass, an `isinstance`, a comparison with a state.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from console_app.domain import events as ev
from console_app.domain.tools import CallState

CODE = Path(__file__).parents[1] / "console_app"
EVENTS = frozenset(event.__name__ for event in get_args(ev.Event))
STATES = frozenset(CallState.__members__)

# How many events and states there were when each of these was looked at. After you add one: go to each, decide whether
# it has to hear of yours, and then write the new number.
SEEN_WITH = (36, 5)


def test_every_reader_of_some_events_was_looked_at_since_the_newest_event_or_state() -> None:
    readers = {
        f"{path.relative_to(CODE)}:{line}"
        for path in sorted(CODE.rglob("*.py"))
        if re.search(r"\b(ev|CallState)\.", code := path.read_text())
        for line in _partial(ast.parse(code))
    }
    assert len(readers) > 20
    assert (len(EVENTS), len(STATES)) == SEEN_WITH, "look at each of these:\n" + "\n".join(sorted(readers))


def _partial(tree: ast.Module) -> Iterator[int]:
    """The line of every place that asks for some events or states and lets the others pass."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            asked = {name for case in node.cases for name in _names(case.pattern)}
            last = node.cases[-1]
            closed = any(isinstance(part, ast.Name) and part.id == "assert_never" for part in ast.walk(last))
            if asked & (EVENTS | STATES) and not closed:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            if set(_names(node.args[1])) & EVENTS:
                yield node.lineno
        elif isinstance(node, ast.Compare) and any(_names_a_state(part) for part in [node.left, *node.comparators]):
            yield node.lineno


def _names(node: ast.AST) -> Iterator[str]:
    """The classes and members of `ev.` and `CallState.` in it."""
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Attribute)
            and isinstance(part.value, ast.Name)
            and part.value.id in ("ev", "CallState")
        ):
            yield part.attr


def _names_a_state(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "CallState"
        for part in ast.walk(node)
    )
