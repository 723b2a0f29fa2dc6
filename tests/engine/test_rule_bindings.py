"""An allow rule means the program that a server's name was first used with, and no other."""

from __future__ import annotations

from pathlib import Path

from console_app.config.settings import RuleServers
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.tools import ServerIdentity, ToolSpec
from console_app.engine import ApprovalGate, Rule, RuleBindings, RuleKey
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, only, outcomes, play, spec

MINE, THEIRS = (ServerIdentity(digest=text, text=text) for text in ("uvx files", "python evil.py"))
FILE = "/none/such/config.toml"


def of(identity: ServerIdentity) -> ToolSpec:
    return spec(read_only=False, identity=identity)


def gate_of(*rules: Rule, own: bool = True, record: RuleServers | None = None) -> ApprovalGate:
    bindings = RuleBindings(user_file=FILE, foreign=frozenset() if own else frozenset({"demo"}))
    if record is not None:
        bindings.store = lambda key, identity: record.add(key.source, key.rule, key.server, identity)
        for source, rule, server, identities in record.read():
            bindings.bound[RuleKey(source, rule, server)] = identities
    return ApprovalGate(ApprovalMode.ASK, rules, headless=True, bindings=bindings)


async def test_a_rule_is_bound_at_its_first_use_which_is_said_once_and_kept(tmp_path: Path) -> None:
    record = RuleServers(tmp_path / "rules.json")
    gate = gate_of(Rule("allow", "demo.*", FILE), record=record)
    engine = engine_of(Model(calls({}, {"n": "b"}), calls({"n": "c"})), Tools([of(MINE)]), gate=gate)
    notices = only(await play(engine), ev.Notice)
    assert outcomes(engine) == ["succeeded"] * 3
    assert [notice.text for notice in notices] == [
        f"allow demo.* (a rule of {FILE}) now stands for demo as it is: uvx files. "
        "Another program or address of that name will ask."
    ]
    again = gate_of(Rule("allow", "demo.*", FILE), record=record)
    assert again.check(of(MINE), {}).action == "allow"
    verdict = again.check(of(THEIRS), {})
    assert (verdict.action, verdict.why) == ("ask", "allow demo.* is for another demo")
    [other] = again.other_servers(of(THEIRS), {})
    assert other.bound == "uvx files"


async def test_another_program_under_the_name_that_a_rule_allows_does_not_run(tmp_path: Path) -> None:
    gate = gate_of(Rule("allow", "demo.*", FILE))
    assert gate.bind(gate.rules[0], of(MINE))
    tools = Tools([of(THEIRS)])
    engine = engine_of(Model(calls({})), tools, gate=gate)
    [asked] = only(await play(engine), ev.ApprovalRequested)
    assert (tools.ran, asked.why) == ([], "allow demo.* is for another demo")


@each(
    ("source", "own", "action"),
    [
        (FILE, True, "allow"),
        (FILE, False, "ask"),
        ("the command line", False, "allow"),
        ("/project/.fanout/config.toml", False, "allow"),  # trusted as it is, with the servers of the same project
    ],
)
def test_your_rule_never_allows_a_server_of_a_project_by_itself(source: str, own: bool, action: str) -> None:
    gate = gate_of(Rule("allow", "demo.*", source), own=own)
    verdict = gate.check(of(THEIRS), {})
    assert verdict.action == action
    assert (verdict.why == "allow demo.* is not yet for this demo") is (action == "ask")
    gate.bind(gate.rules[0], of(THEIRS))  # as a key on the board does
    assert gate.check(of(THEIRS), {}).action == "allow"


def test_rules_that_ask_or_deny_are_for_every_server_of_that_name() -> None:
    gate = gate_of(Rule("deny", "demo.*", FILE), own=False)
    assert gate.check(of(THEIRS), {}).action == "deny"


def test_a_rule_of_this_session_is_kept_nowhere(tmp_path: Path) -> None:
    record = RuleServers(tmp_path / "rules.json")
    record.add("this session", "demo.*", "demo", MINE)
    assert not (tmp_path / "rules.json").exists()


@each("text", ["", "no json", "[]", '{"x": 1}', '{"[1]": []}', '{"[\\"a\\",\\"b\\",\\"c\\"]": [{}]}'])
def test_a_record_that_cannot_be_read_binds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.json").write_text(text)
    record = RuleServers(tmp_path / "rules.json")
    assert list(record.read()) == []
    record.add(FILE, "demo.*", "demo", MINE)
    record.add(FILE, "demo.*", "demo", MINE)
    record.add(FILE, "demo.*", "demo", THEIRS)
    assert list(record.read()) == [(FILE, "demo.*", "demo", (MINE, THEIRS))]
