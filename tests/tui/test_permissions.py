"""The permissions screen: every rule, where it comes from, what it matches; rules come and go."""

from __future__ import annotations

from pathlib import Path

from console_app.config.machine.paths import Paths
from console_app.config.trust.written_rules import UserRules
from console_app.domain.approvals import ApprovalMode
from console_app.engine.approval_gate import ApprovalGate, Rule
from tests.tui.parts import Tools, app, chat, echo, see, seen, until


async def test_rules_are_listed_added_written_and_removed(tmp_path: Path) -> None:
    paths = Paths.find({"FANOUT_HOME": str(tmp_path)})
    paths.settings.write_text('# mine\n[rules]\nallow = ["git.*"]\n')
    rules = [
        Rule("allow", "git.*", str(paths.settings)),
        Rule("deny", "files.write", "the command line"),
        Rule("ask", "files.[x]", str(tmp_path / ".fanout" / "config.toml"), {"path": "[/red]*"}),
    ]
    gate = ApprovalGate(ApprovalMode.ASK, rules)
    tools = Tools({("files", "write"): echo, ("files", "read"): echo, ("git", "log"): echo})
    console = app(tmp_path, None, tools, gate=gate, rules=UserRules(paths))
    async with console.run_test(size=(130, 36)) as pilot:
        await pilot.press(*"/permissions", "enter")
        await see(pilot, "deny   files.write")
        text = seen(console)
        assert "the command line" in text
        assert "1 tool: log" in text
        assert "ask    files.[x](path=[/red]*)" in text
        assert "no tool that is on" in text
        assert "project, config.toml" in text

        await pilot.press("a", *"allow files.*", "enter")
        await see(pilot, "2 tools: write, read")
        assert "this session" in seen(console)
        await pilot.press("A", *"deny git.push(force=true)", "enter")
        await see(pilot, "git.push(force=true)")
        assert 'deny = ["git.push(force=true)"]' in paths.settings.read_text()
        await pilot.press("a", *"permit x", "enter")
        await see(pilot, "begins with allow, ask or deny")
        await pilot.press("escape", "m")
        await see(pilot, "what only reads runs")
        await pilot.press("end", "k", "d")  # the one of the user's file stands before the session's
        await until(pilot, lambda: "git.*" not in seen(console))
        assert paths.settings.read_text().startswith("# mine\n[rules]\n")
        assert '"git.*"' not in paths.settings.read_text()
        await pilot.press("escape")
        await until(pilot, lambda: chat(console).is_current)
    assert [str(rule) for rule in gate.rules] == [
        "deny files.write",
        "ask files.[x](path=[/red]*)",
        "allow files.*",
        "deny git.push(force=true)",
    ]
