"""A new event, or a new state of a call, is looked at by everyone who reads only some of them.

A reader of all closes its `match` with `assert_never`: forgetting one is a type error there. The readers of a few are
found here: a `match` that lets the rest pass, an `isinstance`, a comparison with a state.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from console_app.domain import events as ev
from console_app.domain.tools import CallState

CODE = Path(__file__).parents[1] / "console_app"
EVENTS = frozenset(event.__name__ for event in get_args(ev.Event))
STATES = frozenset(CallState.__members__)

# How many events and states there were when each of their readers was looked at. After you add one: go to each that is
# named, decide whether it has to hear of yours, and then write the new number.
EVENTS_SEEN, STATES_SEEN = 36, 5


def test_every_reader_of_some_events_was_looked_at_since_the_newest_event() -> None:
    readers = list(_readers("ev", EVENTS))
    assert len(readers) > 20
    assert len(EVENTS) == EVENTS_SEEN, "look at each of these:\n" + "\n".join(readers)


def test_every_reader_of_some_states_was_looked_at_since_the_newest_state() -> None:
    readers = list(_readers("CallState", STATES))
    assert len(readers) > 20
    assert len(STATES) == STATES_SEEN, "look at each of these:\n" + "\n".join(readers)


def _readers(owner: str, names: frozenset[str]) -> Iterator[str]:
    for path in sorted(CODE.rglob("*.py")):
        if f"{owner}." in (code := path.read_text()):
            for line in sorted(set(_partial(ast.parse(code), owner, names))):
                yield f"{path.relative_to(CODE)}:{line}"


def _partial(tree: ast.Module, owner: str, names: frozenset[str]) -> Iterator[int]:
    """The line of every place that asks for some of the names of `owner` and lets the others pass."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            asked = {name for case in node.cases for name in _names(case.pattern, owner)}
            last = node.cases[-1]
            closed = any(isinstance(part, ast.Name) and part.id == "assert_never" for part in ast.walk(last))
            if asked & names and not closed:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            if set(_names(node.args[1], owner)) & names:
                yield node.lineno
        elif isinstance(node, ast.Compare) and any(
            names & set(_names(part, owner)) for part in [node.left, *node.comparators]
        ):
            yield node.lineno


def _names(node: ast.AST, owner: str) -> Iterator[str]:
    """The classes of `ev.`, or the members of `CallState.`, in it."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == owner:
            yield part.attr
