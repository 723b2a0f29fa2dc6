"""A dialog of one tool or one prompt: a tree of what is known, which is looked at again and again.

Below it, what stands in such trees: how often an offer was used, JSON, and a schema that people read: a name, what it
must be, what it is for.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast

from textual import on
from textual.app import ComposeResult

from console_app.domain import amounts, one_line, plural
from console_app.domain import schema as json_schema
from console_app.domain.schema import words
from console_app.domain.transcript import CallView
from console_app.mcp_client import RawMessage, Traffic
from console_app.records import dataclass, field
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers.folding_tree import FoldingTree, Node, Paint
from console_app.tui.widgets.dialog import Dialog
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.row_list import RowList

LOOK = 0.5  # seconds between two looks
LONGEST_DESCRIPTION = 20_000  # characters

Result = TypeVar("Result")


def described(title: str, description: str) -> Node:
    title, text = one_line(title, 200), Line.clean(description[:LONGEST_DESCRIPTION]).strip() or "No description."
    return Node(lambda ink: [(f"{title}\n" if title else "", ink.strong), (text, ink.base)], key="description")


def section(title: str, words: str, below: Callable[[], Sequence[Node]] | None, key: str) -> Node:
    return Node(lambda ink: [(title, ink.heading), (f"  {words}", ink.muted)], below, open=True, key=key)


class TreeDialog(Dialog[Result | None], sheets=("servers.tcss",)):
    """Shows what a server calls `name`. It gives None when it was left."""

    DEFAULT_CLASSES = "dialog -tall workbench"
    AUTO_FOCUS = "FoldingTree"

    def __init__(self, server: str, name: str) -> None:
        super().__init__()
        self._heading = f"{one_line(server, 40)} · {one_line(name, 80)}"

    def compose(self) -> ComposeResult:
        with self.box(self._heading):
            yield FoldingTree()
            yield KeyHints()

    def on_mount(self) -> None:
        self.look()
        self.set_interval(LOOK, self.look)

    @abstractmethod
    def look(self) -> None:
        """Show the facts of now, if they differ from those on screen."""

    @on(RowList.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()

    @on(RowList.Clicked)
    def _clicked(self) -> None:
        self.query_one(FoldingTree).action_fold()


@dataclass(slots=True)
class OfferUse:
    """A request for a prompt or a resource: `at` in seconds since the epoch, `arguments` as they were filled in.
    `answer` is None while there is none."""

    at: float
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    answer: RawMessage | None = None


def uses_of(traffic: Traffic, method: Literal["prompts/get", "resources/read"], name: str) -> list[OfferUse]:
    """Return the uses of a prompt (`name`) or a resource (its URI), as far back as the wire is kept, oldest first."""
    found: list[OfferUse] = []
    waiting: dict[int | str, OfferUse] = {}
    for message in traffic.after(0):
        if message.method != method or message.id is None:
            continue
        if message.sent and message.kind == "request":
            params = cast("dict[str, Any]", message.data.get("params") or {})
            if params.get("name", params.get("uri")) == name:
                found.append(OfferUse(message.at, params.get("arguments") or {}))
                waiting[message.id] = found[-1]
        elif not message.sent and (use := waiting.pop(message.id, None)) is not None:
            use.answer = message
    return found


def uses_in_brief(uses: Sequence[OfferUse]) -> str:
    answers = [use.answer for use in uses if use.answer is not None]
    failed = sum(answer.kind == "error" for answer in answers)
    took = sorted(answer.seconds for answer in answers if answer.seconds is not None)
    return _in_brief(plural(len(uses), "use"), failed, "", took)


def calls_in_brief(calls: Sequence[CallView]) -> str:
    took = sorted(call.duration_ms / 1000 for call in calls if call.started_at is not None and call.outcome is not None)
    failed = sum(call.went_wrong for call in calls)
    open_calls = sum(call.outcome is None for call in calls)
    return _in_brief(plural(len(calls), "call"), failed, f"{open_calls} open" if open_calls else "", took)


def _in_brief(count: str, failed: int, more: str, took: Sequence[float]) -> str:
    """Join the words; half of the uses took the first time at most, all but one in twenty the second."""
    words = [count, f"{failed} failed" if failed else "none failed", more]
    if took:
        words += [f"p50 {amounts.measured(_percentile(took, 50))}", f"p95 {amounts.measured(_percentile(took, 95))}"]
    return " · ".join(filter(None, words))


def _percentile(ordered: Sequence[float], part: int) -> float:
    """Return the smallest of the values that `part` in a hundred of them don't exceed (nearest rank)."""
    return ordered[max(-(-len(ordered) * part // 100) - 1, 0)]


OPEN_DEPTH = 3  # levels that are open at first
MOST_OPEN = 30  # things in a list or object that is open at first
MOST_ITEMS = 1000  # of one list or object
LONGEST = 4000  # characters of one text


def json_nodes(value: Any, depth: int = 0) -> list[Node]:
    if isinstance(value, dict):
        pairs = list(cast("dict[str, Any]", value).items())
        nodes = [_json_node(str(key), item, depth) for key, item in pairs[:MOST_ITEMS]]
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        pairs = items
        nodes = [_json_node(str(at), item, depth) for at, item in enumerate(items[:MOST_ITEMS])]
    else:
        return [Node(_scalar("", value))]
    if len(pairs) > MOST_ITEMS:
        nodes.append(_note(f"… {len(pairs) - MOST_ITEMS:,} more"))
    return nodes


def _json_node(key: str, value: Any, depth: int) -> Node:
    if isinstance(value, dict | list) and value:
        held = cast("dict[str, Any] | list[Any]", value)
        count, (begin, end) = len(held), ("{}" if isinstance(value, dict) else "[]")

        def paint(palette: Palette) -> Sequence[Piece]:
            return [(one_line(key, 80), palette.syntax["key"]), (f"  {begin}{count:,}{end}", palette.muted)]

        opened = depth < OPEN_DEPTH and count <= MOST_OPEN
        return Node(paint, lambda: json_nodes(value, depth + 1), open=opened)
    return Node(_scalar(key, value))


def _scalar(key: str, value: Any) -> Paint:
    def paint(palette: Palette) -> Sequence[Piece]:
        ink = palette.syntax["string" if isinstance(value, str) else "number"]
        if value is None or isinstance(value, bool):
            ink = palette.syntax["keyword"]
        text = value[:LONGEST] if isinstance(value, str) else json.dumps(value)
        cut = f" … {len(value) - LONGEST:,} more characters" if isinstance(value, str) and len(value) > LONGEST else ""
        label: list[Piece] = [(one_line(key, 80), palette.syntax["key"]), ("  ", palette.base)] if key else []
        return [*label, (Line.clean(text), ink), (cut, palette.muted)]

    return paint


def schema_nodes(schema: json_schema.Schema, root: json_schema.Schema | None = None, depth: int = 0) -> list[Node]:
    root = schema if root is None else root
    return [
        _heading(place, root, depth) if place.is_heading else _place(place, root, depth)
        for place in words.inside(schema, root)
    ]


def _heading(place: words.SchemaPart, root: json_schema.Schema, depth: int) -> Node:
    if not place.below:
        return _note(place.name)
    return Node(
        lambda palette: [(place.name, palette.accent)],
        lambda: [_place(one, root, depth + 1) for one in place.below],
        open=depth < OPEN_DEPTH,
    )


def _place(place: words.SchemaPart, root: json_schema.Schema, depth: int) -> Node:
    own, found = json_schema.as_schema(place.schema), json_schema.followed(json_schema.as_schema(place.schema), root)

    def paint(palette: Palette) -> Sequence[Piece]:
        said = ((own, "description"), (found, "description"), (found, "title"))
        about = next(filter(None, (json_schema.text(one, word) for one, word in said)), "")
        return [
            (one_line(place.name, 80), palette.strong),
            (f"  {words.type_words(found) if place.schema is not False else 'nothing'}", palette.secondary),
            (" · required" if place.required else "", palette.warning),
            ("".join(f" · {one}" for one in words.limits(found)), palette.muted),
            (f"\n{Line.clean(about[:LONGEST])}" if about else "", palette.base),
        ]

    folds = bool(words.inside(found, root))
    below: Callable[[], Sequence[Node]] | None = (lambda: schema_nodes(found, root, depth + 1)) if folds else None
    return Node(paint, below, open=folds and depth < OPEN_DEPTH - 1)


def _note(text: str) -> Node:
    return Node(lambda palette: [(text, palette.muted)])
