"""A folder with every kind of file that others read: nothing of it counts before trust, all of it after."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from console_app.config.files import Paths, trusted
from tests.each import each
from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

SERVER = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "faulty_server.py"
SERVERS = {"mcpServers": {"mine": {"command": sys.executable, "args": ["-S", str(SERVER), "plain"]}}}
HOOKS = {
    "hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": "echo start >> ran; echo FROM-THE-START"}]}],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo prompt >> ran; echo FROM-THE-PROMPT"}]}],
        "PreToolUse": [{"matcher": "mcp__mine__.*", "hooks": [{"type": "command", "command": "cat >> told"}]}],
    },
    "permissions": {"allow": ["Bash"]},
}
FILES = {
    "AGENTS.md": "\ufeffUse tabs.\r\nSee @docs/style.md and `@not/this.md`.\r\n",
    "docs/style.md": "Names are short. @../AGENTS.md",
    ".mcp.json": json.dumps(SERVERS),
    ".agents/skills/deploy/SKILL.md": (
        "---\nname: deploy\ndescription: >-\n  How we\n  deploy.\nnew-key: 1\n---\nFirst, BODY-OF-DEPLOY.\n"
    ),
    ".agents/skills/deploy/steps.txt": "STEPS-OF-DEPLOY",
    ".claude/skills/review/SKILL.md": "---\nname: review\ndescription: How we review.\n---\nLook twice.\n",
    ".agents/plugins/kit/plugin.json": json.dumps({"$schema": "s", "name": "kit"}),
    ".agents/plugins/kit/skills/pack/SKILL.md": "---\nname: pack\ndescription: How we pack.\n---\nTightly.\n",
    ".agents/plugins/kit/mcp.json": json.dumps(
        {
            "mcpServers": {
                "box": {"command": sys.executable, "args": ["-S", str(SERVER), "plain"], "env": {"A": "${PLUGIN_DATA}"}}
            }
        }
    ),
    ".claude/commands/git/tidy.md": "---\ndescription: Tidies\nfancy: yes\n---\nTidy $1.\n",
    ".claude/agents/critic.md": (
        "---\nname: critic\ndescription: Finds faults.\ntools: Read, Grep\nmodel: opus\n---\nBe fair.\n"
    ),
    ".claude/settings.json": json.dumps(HOOKS),
}


@pytest.fixture
def project(fanout: Inside) -> Inside:
    (fanout.cwd / ".git").mkdir()
    for name, text in FILES.items():
        fanout.write(name, text)
    return fanout


def system_of(server: WireServer, number: int = -1) -> str:
    first = server.requests[number].body["messages"][0]
    assert first["role"] == "system"
    return str(first["content"])


def model(server: WireServer) -> list[str]:
    return ["-m", "openai/test-model", "--base-url", server.base_url("openai-chat")]


def test_nothing_counts_before_trust(project: Inside, server: WireServer) -> None:
    server.script(Answer(Text("Hello.")))
    done = project.run("run", *model(server), "go")
    assert done.code == 0, done.err
    waits = "skill review, plugin kit, agent critic, .claude/settings.json"
    assert f"{waits}. To see it all and say yes: fanout trust." in done.err
    system = system_of(server)
    assert f"You work in the folder {project.cwd}" in system
    told = json.dumps(server.requests[-1].body)
    for word in ("Use tabs", "Names are short", "How we deploy", "How we review", "How we pack", "mine_", "FROM-THE"):
        assert word not in told, word
    assert not (project.cwd / "ran").exists()


def test_files_and_a_shell_stay_beside_the_servers_of_a_trusted_file(project: Inside, server: WireServer) -> None:
    """The request of each way to say which servers there are has them, until a file says otherwise."""

    def offered(*words: str) -> set[str]:
        server.script(Answer(Text("Hello.")))
        done = project.run("run", *model(server), *words, "go")
        assert done.code == 0, done.err
        return {tool["function"]["name"].split("_")[0] for tool in server.requests[-1].body["tools"]}

    ours = {"calculator", "files", "shell", "web"}
    assert offered() >= ours
    assert "mine" not in offered()
    assert project.run("trust", "--yes").code == 0
    assert offered() >= {*ours, "mine"}
    assert offered("--mcp-config", ".mcp.json") >= {*ours, "mine"}
    assert "mine" not in offered("--mcp", "files")
    project.write("home/mcp.json", '{"mcpServers": {"files": {"disabled": true}}}')
    assert offered() >= {*ours - {"files"}, "mine"}
    assert "files" not in offered()
    project.write("named.json", '{"mcpServers": {"shell": {"disabled": true}}}')
    named = offered("--mcp-config", "named.json")
    assert named >= ours - {"shell"}
    assert "shell" not in named


def test_all_is_one_list_with_what_each_may_do(project: Inside) -> None:
    asked = project.run("trust")
    assert asked.code == 2
    assert "To say yes: fanout trust --yes." in asked.err
    for text in (
        "instructions for the model",
        "Use tabs.",
        "Names are short.",
        "the skill deploy",
        "In each request: deploy: How we deploy.",
        "not known here, and kept: new-key",
        "BODY-OF-DEPLOY",
        "1 file to read beside it: steps.txt",
        "the plugin kit with 1 skill and 1 server",
        "kit-box",
        "3 hooks that run programs around calls",
        "PreToolUse of mcp__mine__.* runs, for at most 60 s:",
        "cat >> told",
        "would be the command /tidy",
        "the agent critic",
        "tools: Read, Grep",
        "would start:",
    ):
        assert text in asked.out, text
    assert "Trust " in asked.err
    assert f" {str(project.cwd)[1:]}" not in asked.err  # a path without its beginning


def test_all_counts_once_it_is_trusted_as_it_is(project: Inside, server: WireServer) -> None:
    done = project.run("trust", "--yes")
    assert done.code == 0, done.err
    assert "Nothing of this project waits" in project.run("trust").out
    read = Call("fanout_skill", json.dumps({"name": "deploy"}))
    file = Call("fanout_skill", json.dumps({"name": "deploy", "file": "steps.txt"}))
    out = Call("fanout_skill", json.dumps({"name": "deploy", "file": "../../../AGENTS.md"}))
    server.script(Answer(read, file, out, Call("mine_echo", '{"text": "x"}')), Answer(Text("Done.")))
    done = project.run("run", *model(server), "--approval-mode", "yolo", "go")
    assert done.code == 0, done.err
    system = system_of(server)
    for word in ("Use tabs.\nSee @docs", "Names are short.", "- deploy: How we deploy.", "- review:", "- pack:"):
        assert word in system, word
    assert "BODY-OF-DEPLOY" not in system
    results = [one["content"] for one in server.requests[-1].body["messages"] if one["role"] == "tool"]
    assert "BODY-OF-DEPLOY" in results[0]
    assert results[1] == "STEPS-OF-DEPLOY"
    assert "has no file" in results[2]
    told = json.dumps(server.requests[0].body["messages"])
    assert "FROM-THE-START" in told
    assert "FROM-THE-PROMPT" in told
    assert (project.cwd / "ran").read_text().split() == ["start", "prompt"]


CHANGES = {
    "AGENTS.md": "Use spaces.",
    "docs/style.md": "Names are long.",
    ".agents/skills/deploy/SKILL.md": FILES[".agents/skills/deploy/SKILL.md"] + "And more.",
    ".agents/skills/deploy/steps.txt": "Other steps.",
    ".agents/plugins/kit/skills/pack/SKILL.md": FILES[".agents/plugins/kit/skills/pack/SKILL.md"] + "x",
    ".agents/plugins/kit/mcp.json": "{}",
    ".claude/settings.json": json.dumps({"hooks": {"Stop": HOOKS["hooks"]["SessionStart"]}}),
    ".claude/agents/critic.md": FILES[".claude/agents/critic.md"] + "x",
    ".claude/commands/git/tidy.md": "Tidy.",
    ".mcp.json": json.dumps({"mcpServers": {"mine": {"command": "rm"}}}),
}


@each("name", CHANGES)
def test_what_changed_waits_again(
    name: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    project = Inside(tmp_path_factory.mktemp("p"), monkeypatch, capfd)
    for file, text in FILES.items():
        project.write(file, text)
    assert project.run("trust", "--yes").code == 0
    project.write(name, CHANGES[name])
    assert "Nothing of this project waits" not in project.run("trust").out


def test_one_by_one_by_name(project: Inside) -> None:
    assert project.run("trust", "skill deploy", "AGENTS.md", "--yes").code == 0
    left = project.run("trust").out
    assert "BODY-OF-DEPLOY" not in left
    assert "Use tabs" not in left
    assert "Look twice" in left
    wrong = project.run("trust", "skill nothing", "--yes")
    assert wrong.code == 2
    assert "skill review" in wrong.err


def test_trust_of_servers_is_no_trust_of_hooks_in_the_same_file(project: Inside, server: WireServer) -> None:
    project.write(".claude/settings.json", json.dumps({**HOOKS, **SERVERS}))
    trusted.trust(Paths.find({"FANOUT_HOME": str(project.home)}), project.cwd / ".claude/settings.json")
    server.script(Answer(Text("Hello.")))
    project.run("run", *model(server), "go")
    assert not (project.cwd / "ran").exists()


def test_which_file_of_servers_is_taken_is_said(project: Inside) -> None:
    project.write(".vscode/mcp.json", json.dumps({"servers": {"theirs": {"command": "x", "type": "stdio"}}}))
    project.run("trust", "--yes")
    listed = project.run("mcp", "list")
    assert "mine" in listed.out
    assert "kit-box" in listed.out
    assert (project.home / "data" / "plugins" / "kit").is_dir()
    assert "theirs" not in listed.out
    assert (
        f"The project's servers are those of {project.cwd}/.mcp.json, and not of {project.cwd}/.vscode/mcp.json"
        in listed.err
    )
