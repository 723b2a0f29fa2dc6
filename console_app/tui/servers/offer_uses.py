"""When a prompt or a resource of a server was last asked for, from what passed on its wire, and how to show that."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from console_app.domain.amounts import measured, plural, size
from console_app.domain.safe_text import one_line
from console_app.mcp_client.traffic import RawMessage, Traffic
from console_app.tui.lineview import brief_arguments
from console_app.tui.lineview.lines import Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers.tool_facts import percentile
from console_app.tui.widgets.folding_tree import Node

MOST_USES = 50  # of the newest that are listed


@dataclass(slots=True)
class OfferUse:
    """One time that it was asked for: `at` in seconds since the epoch, `arguments` what was filled in. The answer is
    None while there is none."""

    at: float
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    answer: RawMessage | None = None


def uses_of(traffic: Traffic, method: Literal["prompts/get", "resources/read"], name: str) -> list[OfferUse]:
    """As far back as the wire is kept, the oldest first; `name` is that of the prompt, or the URI."""
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


def in_brief(uses: Sequence[OfferUse]) -> str:
    """How many there were and failed, and how long the answers took."""
    answers = [use.answer for use in uses if use.answer is not None]
    failed = sum(answer.kind == "error" for answer in answers)
    took = sorted(answer.seconds for answer in answers if answer.seconds is not None)
    words = [plural(len(uses), "use"), f"{failed} failed" if failed else "none failed"]
    if took:
        words += [f"p50 {measured(percentile(took, 50))}", f"p95 {measured(percentile(took, 95))}"]
    return " · ".join(words)


def uses_node(uses: Sequence[OfferUse]) -> Node:
    """The section of the last uses, the newest first."""
    words = in_brief(uses) if uses else "none since it was connected; enter runs it"
    newest = list(reversed(uses[-MOST_USES:]))
    return Node(
        lambda palette: [("Last uses", palette.heading), (f"  {words}", palette.muted)],
        (lambda: [_use(use) for use in newest]) if newest else None,
        open=True,
        key="uses",
    )


def _use(use: OfferUse) -> Node:
    answer = use.answer
    failed = answer is not None and answer.kind == "error"
    word = "✗ failed" if failed else "✓ done" if answer is not None else "○ open"
    took = measured(answer.seconds) if answer is not None and answer.seconds is not None else ""
    said = one_line(str(answer.data["error"].get("message", "")), 200) if failed and answer is not None else ""

    def paint(palette: Palette) -> Sequence[Piece]:
        ink = palette.error if failed else palette.success if answer is not None else palette.muted
        return [
            (f"{time.strftime('%H:%M:%S', time.localtime(use.at))}  ", palette.muted),
            (f"{word:<9}", ink),
            (f"{took:>8}  ", palette.base),
            (brief_arguments(use.arguments, 60) or "no arguments", palette.base),
            (
                f"  {said or (size(answer.size) if answer is not None else '')}",
                palette.error if failed else palette.muted,
            ),
        ]

    return Node(paint, key=("use", use.at))
