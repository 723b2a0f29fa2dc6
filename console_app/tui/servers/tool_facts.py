"""What there is to say of one tool, as sections that fold: its words, effects, cost, rule, schemas and last calls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style

from console_app.console.permissions import source_of
from console_app.console.servers.switches import tokens_of
from console_app.domain.amounts import measured, plural, seconds
from console_app.domain.safe_text import one_line
from console_app.domain.schema import properties, required
from console_app.domain.tools import ToolSpec
from console_app.domain.transcript import CallView
from console_app.engine.approval_gate import ApprovalGate
from console_app.tui.lineview import brief_arguments, state_of, state_style
from console_app.tui.lineview.lines import Piece, clean
from console_app.tui.lineview.palette import Palette
from console_app.tui.servers.schema_tree import schema_nodes
from console_app.tui.widgets.folding_tree import Node

MOST_CALLS = 50  # of the newest that are listed
LONGEST = 20_000  # characters of a description
_VERDICTS = {"allow": "runs without asking", "ask": "asks first", "deny": "is denied"}


@dataclass(frozen=True, slots=True)
class PastCall:
    """The key of a past call's row."""

    call_id: str


def nodes_of(spec: ToolSpec, gate: ApprovalGate, *, on: bool) -> list[Node]:
    """The sections but for the calls, in the order in which they are asked for."""
    return [
        _description(spec),
        *_facts(spec, gate, on=on),
        *_changed(spec),
        _schema("Input", spec.input_schema, "takes nothing"),
        _schema("Output", spec.output_schema, "not declared"),
    ]


def _description(spec: ToolSpec) -> Node:
    text = clean(spec.description[:LONGEST]).strip() or "No description."
    title = one_line(spec.annotations.title, 200)
    return Node(
        lambda palette: [(f"{title}\n" if title else "", palette.strong), (text, palette.base)], key="description"
    )


def _facts(spec: ToolSpec, gate: ApprovalGate, *, on: bool) -> list[Node]:
    cost = f"~{tokens_of(spec):,} tokens in every request" if on else "nothing: it is off"
    limits = [f"{spec.timeout:g} s without progress"] if spec.timeout is not None else []
    limits += [f"{spec.server_limit} at once of its server"] if spec.server_limit is not None else []
    rows = [("effects", effects(spec)), ("cost", cost), ("rule", rule_of(spec, gate))]
    rows += [("", text) for text in _conditions(spec, gate)]
    rows += [("limits", ", ".join(limits))] if limits else []
    return [_fact(name, text) for name, text in rows]


def _fact(name: str, text: str) -> Node:
    return Node(lambda palette: [(f"{name:<9}", palette.muted), (text, palette.base)], key=("fact", name, text))


def effects(spec: ToolSpec) -> str:
    """What the server declares of a tool's effects, in words; hints of the server, not facts."""
    notes = spec.annotations
    said: list[str] = []
    assumed: list[str] = []
    (said if notes.declares_effect else assumed).append(notes.effect)
    said += ["running it again changes nothing more"] if notes.idempotent and not notes.read_only else []
    if not notes.open_world or notes.says_open_world:
        said.append("reaches outside its server" if notes.open_world else "stays within its server")
    else:
        assumed.append("reach outside its server" if assumed else "may reach outside its server")
    parts = [f"{', '.join(said)} (declared by the server)"] if said else []
    return "; ".join([*parts, *([f"not declared: {' and '.join(assumed)}"] if assumed else [])])


def rule_of(spec: ToolSpec, gate: ApprovalGate) -> str:
    """What becomes of a call without further conditions, and what says so."""
    verdict = gate.check(spec.model_copy(update={"input_schema": {}}), {})  # no default meets a rule's condition
    spoke = next((rule for rule in gate.rules if str(rule) == verdict.rule), None)
    why = f"rule {one_line(spoke.text, 80)} ({source_of(spoke.source)})" if spoke is not None else verdict.why
    if spoke is None and spec.require_approval and not spec.changed:
        why = "mcp.json, require_approval"
    return f"{_VERDICTS[verdict.action]}: {one_line(why, 200)}"


def _conditions(spec: ToolSpec, gate: ApprovalGate) -> list[str]:
    return [
        f"{_VERDICTS[rule.action]} where it matches {one_line(rule.text, 120)} ({source_of(rule.source)})"
        for rule in gate.rules
        if rule.arguments and rule.speaks_of(spec)
    ]


def _changed(spec: ToolSpec) -> list[Node]:
    if not spec.changed:
        return []
    lines = [one_line(line, 400) for line in spec.changed.splitlines()]

    def below() -> list[Node]:
        return [Node(lambda palette, line=line: [(line, _diff_ink(line, palette))]) for line in lines]

    return [Node(lambda palette: [("Changed since you trusted it", palette.warning)], below, open=True, key="changed")]


def _diff_ink(line: str, palette: Palette) -> Style:
    return {"+": palette.success, "-": palette.error}.get(line[:1], palette.muted)


def _schema(title: str, schema: dict[str, object] | None, nothing: str) -> Node:
    nodes = schema_nodes(schema) if schema else []
    if not nodes:
        return Node(lambda palette: [(title, palette.heading), (f"  {nothing}", palette.muted)], key=title)
    count, needed = len(properties(schema or {})), len(required(schema or {}))
    words = plural(count, "field") if count else "see below"
    words += f", {needed} required" if needed else ""
    return Node(
        lambda palette: [(title, palette.heading), (f"  {words}", palette.muted)], lambda: nodes, open=True, key=title
    )


def calls_node(calls: Sequence[CallView], now: float) -> Node:
    """The section of the last calls, the newest first."""
    if not calls:
        none = "none in this session; enter runs it"
        return Node(lambda palette: [("Last calls", palette.heading), (f"  {none}", palette.muted)], key="calls")
    newest = list(reversed(calls[-MOST_CALLS:]))
    words = times(calls)
    return Node(
        lambda palette: [("Last calls", palette.heading), (f"  {words}", palette.muted)],
        lambda: [_call(call, now) for call in newest],
        open=True,
        key="calls",
    )


def _call(call: CallView, now: float) -> Node:
    def paint(palette: Palette) -> Sequence[Piece]:
        glyph, word = state_of(call, palette.turning(now))
        failed = call.verdict is not None and call.verdict.needs_an_eye
        ink = state_style(call, palette)
        at = time.strftime("%H:%M:%S", time.localtime(call.announced_at))
        took = measured(call.duration_ms / 1000) if call.duration_ms else ""
        if call.outcome is None and call.started_at is not None:
            took = seconds(now - call.started_at)
        arguments = brief_arguments(call.arguments or {}, 60) or "no arguments"
        result = call.error or call.content if call.outcome is not None else call.message
        return [
            (f"{at}  ", palette.muted),
            (f"{glyph} {word:<8}", ink),
            (f"{took:>8}  ", palette.base),
            (arguments, palette.base),
            (f"  {one_line(result, 100)}" if result else "", palette.error if failed else palette.muted),
        ]

    return Node(paint, key=PastCall(call.id))


def times(calls: Sequence[CallView]) -> str:
    """How many there were and failed, and how long those took that ran: half of them, and all but one in twenty."""
    took = sorted(call.duration_ms / 1000 for call in calls if call.started_at is not None and call.outcome is not None)
    failed = sum(call.verdict is not None and call.verdict.needs_an_eye for call in calls)
    open_calls = sum(call.outcome is None for call in calls)
    words = [plural(len(calls), "call")]
    words += [f"{failed} failed"] if failed else ["none failed"]
    words += [f"{open_calls} open"] if open_calls else []
    if took:
        words += [f"p50 {measured(percentile(took, 50))}", f"p95 {measured(percentile(took, 95))}"]
    return " · ".join(words)


def percentile(ordered: Sequence[float], part: int) -> float:
    """The smallest of the values that `part` in a hundred of them don't exceed (nearest rank)."""
    return ordered[max(-(-len(ordered) * part // 100) - 1, 0)]
