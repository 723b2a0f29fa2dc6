"""A tool in words, for whoever looks at it: its effects, what it costs, and which rule lets it run."""

from __future__ import annotations

from console_app.console.permissions import source_of
from console_app.console.servers.switches import tokens_of
from console_app.domain import ToolSpec, one_line
from console_app.engine import ApprovalGate

_VERDICTS = {"allow": "runs without asking", "ask": "asks first", "deny": "is denied"}


def facts_of_tool(spec: ToolSpec, gate: ApprovalGate, *, on: bool) -> list[tuple[str, str]]:
    """Return rows of a name and a text; a row without a name goes on with the one before."""
    cost = f"~{tokens_of(spec):,} tokens in every request" if on else "nothing: it is off"
    limits = [f"{spec.timeout:g} s without progress"] if spec.timeout is not None else []
    limits += [f"{spec.server_limit} at once of its server"] if spec.server_limit is not None else []
    rows = [("effects", effects(spec)), ("cost", cost), ("rule", _rule_of(spec, gate))]
    rows += [("", text) for text in _conditions(spec, gate)]
    return [*rows, ("limits", ", ".join(limits))] if limits else rows


def effects(spec: ToolSpec) -> str:
    """Say what the server declares of a tool's effects; these are hints of the server, not facts."""
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


def _rule_of(spec: ToolSpec, gate: ApprovalGate) -> str:
    """Say what becomes of a call without further conditions, and which rule or mode says so."""
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
