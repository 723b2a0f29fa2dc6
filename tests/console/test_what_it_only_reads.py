"""Switching a server on for the model is one question: with it goes what the server only reads."""

from __future__ import annotations

from console_app.console.permissions import helpful_rules
from console_app.domain.rules import speaks_of
from console_app.engine import ApprovalGate, Rule
from console_app.engine.execution.builtin_specs import enable_spec
from tests.each import each
from tests.engine.peers import spec

TOOLS = [
    ("notes.*:reads", "notes", "look", True, True),
    ("notes.*:reads", "notes", "write", False, False),
    ("notes.*:reads", "others", "look", True, False),
    ("notes.look:reads", "notes", "look:reads", False, False),
]


@each(("rule", "server", "tool", "reads", "runs"), TOOLS)
def test_a_rule_for_what_reads_means_nothing_else(rule: str, server: str, tool: str, reads: bool, runs: bool) -> None:
    gate = ApprovalGate(rules=[Rule("allow", rule)])
    assert (gate.check(spec(tool, server, read_only=reads), {}).action == "allow") is runs


def test_a_tool_whose_name_ends_like_the_mark_can_be_denied() -> None:
    assert speaks_of("notes.look:reads", "notes", "look:reads", strictly=False)
    gate = ApprovalGate(rules=[Rule("deny", "notes.*:reads")])
    assert gate.check(spec("look", "notes"), {}).action == "deny"
    assert gate.check(spec("look:reads", "notes", read_only=False), {}).action == "deny"


def test_what_a_server_only_reads_is_offered_with_it() -> None:
    tool = enable_spec({"my.notes": ""})
    assert helpful_rules(ApprovalGate(), tool, {"server": "my.notes"}) == ("my[.]notes.*:reads",)
