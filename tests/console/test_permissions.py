"""Who may run: what you decide of calls that wait, rules that come and go, the mode. Without a screen."""

from __future__ import annotations

from pathlib import Path

from console_app.config.files import Paths
from console_app.config.settings import UserRules
from console_app.console.permissions import SESSION, ApprovalDecision, Permissions
from console_app.console.talk.conversation import Conversation
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import Decision
from console_app.engine import Rule
from tests.console.peers import Screen, consistent
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of, outcomes, spec, tool_texts


class Asked:
    """A turn with two calls of `danger` that wait, n=1 and n=2."""

    def __init__(self, folder: Path) -> None:
        self.screen = Screen()
        self.tools = Tools([spec("danger", read_only=False), spec("other", require_approval=True)])
        model = Model(calls({"n": "1"}, {"n": "2"}, name="demo_danger"))
        self.conversation = Conversation(engine_of(model, self.tools, mode=ApprovalMode.ASK), None, self.screen)
        self.file = folder / "config.toml"
        self.permissions = Permissions(
            self.conversation.engine,
            lambda: self.conversation.calls_of,
            UserRules(Paths.find({"FANOUT_HOME": str(folder)})),
            self.screen,
        )

    async def wait(self) -> list[str]:
        """The ids of the calls, once they wait."""
        self.conversation.send("go")
        await self.screen.sees(ev.ApprovalRequested, 2)
        return list(self.conversation.engine.transcript.calls)

    @property
    def ran(self) -> list[object]:
        return [invocation.arguments.get("n") for invocation in self.tools.ran]


async def test_one_call_may_run_and_the_other_not_with_your_words(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    first, second = await asked.wait()
    asked.permissions.decide(ApprovalDecision((first,), Decision.ALLOW))
    asked.permissions.decide(ApprovalDecision((second,), Decision.DENY, feedback="not on a Sunday"))
    await asked.conversation.ended()
    assert asked.ran == ["1"]
    assert outcomes(asked.conversation.engine) == ["succeeded", "denied"]
    assert "not on a Sunday" in tool_texts(asked.conversation.engine)[1]
    assert not asked.conversation.engine.gate.rules
    consistent(asked.conversation, asked.screen)


async def test_all_that_wait_are_denied_at_once(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    ids = await asked.wait()
    asked.permissions.decide(ApprovalDecision(tuple(ids), Decision.DENY))
    await asked.conversation.ended()
    assert outcomes(asked.conversation.engine) == ["denied", "denied"]
    asked.permissions.decide(ApprovalDecision(tuple(ids), Decision.ALLOW))
    assert asked.ran == []


async def test_for_this_session_lets_the_others_run_too_and_writes_nothing(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    first, _ = await asked.wait()
    asked.permissions.decide(ApprovalDecision((first,), Decision.ALLOW, "session", "demo.danger"))
    await asked.conversation.ended()
    assert sorted(map(str, asked.ran)) == ["1", "2"]
    assert not asked.file.exists()
    [rule] = asked.conversation.engine.gate.rules
    assert rule.source == SESSION


async def test_always_is_written_first_and_holds(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    first, second = await asked.wait()
    asked.permissions.decide(ApprovalDecision((first,), Decision.ALLOW, "always", 'demo.danger(n="1")'))
    await asked.screen.sees(ev.CallFinished)
    assert asked.ran == ["1"]
    assert "demo.danger" in asked.file.read_text()
    [rule] = asked.conversation.engine.gate.rules
    assert rule.source == asked.permissions.rules_path == str(asked.file)
    asked.permissions.decide(ApprovalDecision((second,), Decision.DENY))
    await asked.conversation.ended()


@each("rule", ["demo.danger", "demo.danger(", ""])
async def test_a_rule_that_cannot_be_written_leaves_its_call_waiting(tmp_path: Path, rule: str) -> None:
    asked = Asked(tmp_path)
    asked.file.write_text("this is = no [toml")
    first, second = await asked.wait()
    decided = ApprovalDecision((first,), Decision.ALLOW, "always", rule)
    asked.permissions.decide(decided)
    if rule:
        assert [level for level, _ in asked.screen.told] == ["error"]
        assert asked.ran == []
        assert not asked.conversation.engine.gate.rules
        asked.permissions.decide(ApprovalDecision((first,), Decision.ALLOW))
    asked.permissions.decide(ApprovalDecision((second,), Decision.DENY))
    await asked.conversation.ended()
    assert asked.ran == ["1"]


async def test_a_waiting_call_runs_with_other_arguments(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    first, second = await asked.wait()
    asked.permissions.run_edited(first, {"n": "mine"})
    asked.permissions.run_edited("nobody", {})
    asked.permissions.decide(ApprovalDecision((second,), Decision.DENY))
    await asked.conversation.ended()
    assert asked.ran == ["mine"]
    assert asked.screen.toasts == ["That call doesn't wait any more."]
    asked.permissions.run_edited(second, {})
    assert len(asked.screen.toasts) == 2


async def test_a_call_that_runs_again_between_turns_is_decided_too(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    first, second = await asked.wait()
    asked.permissions.decide(ApprovalDecision((first,), Decision.ALLOW))
    asked.permissions.decide(ApprovalDecision((second,), Decision.DENY))
    await asked.conversation.ended()
    asked.conversation.rerun(second)
    await asked.screen.sees(ev.ApprovalRequested, 3)
    asked.permissions.decide(ApprovalDecision((second,), Decision.ALLOW))
    await asked.conversation.ended()
    assert asked.ran == ["1", "2"]


async def test_rules_in_force_are_listed_and_taken_out_again(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    permissions, gate = asked.permissions, asked.conversation.engine.gate
    gate.rules.append(Rule("allow", "demo.*", "/none/such/.fanout/config.toml"))
    assert permissions.add_rule("deny", "demo.danger", keep=True)
    assert permissions.add_rule("deny", "demo.danger", keep=True)
    assert permissions.add_rule("ask", "nobody.*", keep=False)
    assert not permissions.add_rule("allow", "demo.danger(", keep=False)
    rows = permissions.rows()
    assert [(row.action, row.text, row.matches) for row in rows] == [
        ("deny", "demo.danger", "1 tool: danger"),
        ("deny", "demo.danger", "1 tool: danger"),
        ("ask", "nobody.*", "no tool that is on"),
        ("ask", "demo.other", "1 tool: other"),
        ("allow", "demo.*", "2 tools: danger, other"),
    ]
    assert [row.source for row in rows] == [
        "yours, config.toml",
        "yours, config.toml",
        SESSION,
        "mcp.json, require_approval",
        "project, config.toml",
    ]
    assert rows[0].rule is not None
    assert permissions.remove_rule(rows[0].rule)
    assert [row.action for row in permissions.rows()] == ["ask", "ask", "allow"]
    assert "demo.danger" not in asked.file.read_text()
    # Somebody took it out of the file: it can't be taken out twice, and stays in force.
    assert permissions.add_rule("deny", "demo.danger", keep=True)
    asked.file.write_text("")
    rule = permissions.rows()[0].rule
    assert rule is not None
    assert not permissions.remove_rule(rule)
    assert asked.screen.told[-1][0] == "error"


async def test_without_a_file_rules_hold_until_the_end(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    permissions = Permissions(asked.conversation.engine, lambda: None, None, asked.screen)
    assert permissions.rules_path == ""
    assert permissions.add_rule("allow", "demo.danger", keep=True)
    assert asked.screen.toasts[-1].startswith("Until you leave")
    permissions.decide(ApprovalDecision(("nobody",), Decision.ALLOW))
