"""Which rules would let a waiting call run, to offer them; and what its server says that the tool does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console_app.domain.rules import RuleText, exact, literal
from console_app.domain.tools import ToolSpec
from console_app.engine.approval_gate import ApprovalGate, Rule

MOST_ARGUMENT = 80  # characters of an argument that a rule is offered for


def helpful_rules(gate: ApprovalGate, spec: ToolSpec, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Rules that would let this call run without asking: for its tool, for just these arguments, for its server.

    None where another rule, or `require_approval`, asks whatever is allowed.
    """
    tool = RuleText(exact(spec.label))
    offers = [tool]
    fixed = {
        name: literal(value)
        for name, value in arguments.items()
        if isinstance(value, str) and value and len(value) <= MOST_ARGUMENT and "\n" not in value
    }
    if fixed and len(fixed) == len(arguments) and len(fixed) <= 2:
        offers.append(RuleText(tool.pattern, fixed))
    offers.append(RuleText(f"{exact(spec.server)}.*"))
    return tuple(str(offer) for offer in offers if _helps(gate, offer, spec, arguments))


def _helps(gate: ApprovalGate, offer: RuleText, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    rule = Rule("allow", offer.pattern, "", offer.arguments)
    trial = ApprovalGate(gate.mode, [*gate.rules, rule], headless=gate.headless, trusted=gate.trusted)
    return trial.check(spec, arguments).action == "allow"


def traits(spec: ToolSpec) -> str:
    """What the server says of the tool's effects; only hints, and its own."""
    notes = spec.annotations
    if notes.read_only:
        return "says it only reads"
    return "may change or delete" if notes.destructive else "says it only adds"
