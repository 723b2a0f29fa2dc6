"""Every rule in force as a row: what it does, what it matches among the tools that are on, and where it was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from console_app.domain.safe_text import one_line
from console_app.domain.tools import ToolSpec
from console_app.engine.approval_gate import Action, ApprovalGate, Rule

_ORDER: tuple[Action, ...] = ("deny", "ask", "allow")  # as they count
MOST_NAMED = 3  # tools that are named of those a rule matches


@dataclass(frozen=True, slots=True)
class PermissionRow:
    """`rule` is None for what mcp.json says of a tool, which no rule here changes."""

    action: Action
    text: str
    matches: str
    source: str
    rule: Rule | None


def permission_rows(gate: ApprovalGate, specs: Sequence[ToolSpec]) -> list[PermissionRow]:
    """The rows, the strictest first."""
    rows = [
        PermissionRow(
            rule.action,
            one_line(rule.text, 120),
            matched([spec for spec in specs if rule.speaks_of(spec)]),
            source_of(rule.source),
            rule,
        )
        for rule in gate.rules
    ]
    rows += [
        PermissionRow("ask", one_line(spec.label, 120), matched([spec]), "mcp.json, require_approval", None)
        for spec in specs
        if spec.require_approval
    ]
    return sorted(rows, key=lambda row: _ORDER.index(row.action))


def matched(specs: Sequence[ToolSpec]) -> str:
    """The tools in a few words."""
    if not specs:
        return "no tool that is on"
    names = ", ".join(one_line(spec.tool, 24) for spec in specs[:MOST_NAMED])
    more = f" and {len(specs) - MOST_NAMED} more" if len(specs) > MOST_NAMED else ""
    return f"{len(specs)} tool{'' if len(specs) == 1 else 's'}: {names}{more}"


def source_of(source: str) -> str:
    """Where a rule was written, as short as it stays clear."""
    path = Path(source)
    if not path.is_absolute():
        return one_line(source, 40) or "unknown"
    kind = "project" if path.parent.name == ".fanout" else "yours"
    return one_line(f"{kind}, {path.name}", 40)
