"""An event is read in one place of each face; everybody else is told by the table of what events are news of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from console_app.domain import events as ev
from console_app.domain.event_news import NEWS

CODE = Path(__file__).parents[2] / "console_app"
EVENTS = frozenset(one.__name__ for one in get_args(ev.Event))
UNTOLD = frozenset(one.__name__ for one in get_args(ev.Event) if issubclass(one, ev.Untold))
OWNERS = {  # the one file of each face that makes something to look at or to hear of each event
    "tui": {"lineview/event_router.py"},
    "line_console": {"narrator.py"},
    "acp_agent": {"updates.py"},
    "console": set[str](),
    "page": set[str](),  # which draws the state, and takes every event for news
}
PARTS = {  # these read an event that they look for, and not what happens: where a stored message stands, say
    "console": {"talk/sessions.py", "talk/conversation.py"},
    "page": {"calls.py"},
}


def test_each_face_reads_events_in_one_place() -> None:
    for face, owners in OWNERS.items():
        readers = {
            str(path.relative_to(CODE / face)): lines
            for path in sorted((CODE / face).rglob("*.py"))
            if (lines := sorted(_reads(ast.parse(path.read_text()))))
        }
        assert set(readers) == owners | PARTS.get(face, set()), f"{face}: {readers}"


def test_every_event_is_in_the_table_and_every_owner_knows_all_events() -> None:
    assert set(NEWS) == set(get_args(ev.Event))
    for face, owners in OWNERS.items():
        for owner in owners:
            known = {name for _, names in _asked(ast.parse((CODE / face / owner).read_text())) for name in names}
            assert known >= EVENTS - UNTOLD, f"{face}/{owner} has no word for {sorted(EVENTS - UNTOLD - known)}"


def _reads(tree: ast.Module) -> Iterator[int]:
    """The lines where a type of event decides."""
    yield from (line for line, names in _asked(tree) if names)


def _asked(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Match):
            yield node.lineno, {name for case in node.cases for name in _named(case.pattern)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield node.lineno, _named(node.args[1])


def _named(node: ast.AST) -> set[str]:
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Attribute | ast.Name)]
    return {part.attr if isinstance(part, ast.Attribute) else part.id for part in parts} & EVENTS
