"""The front matter of an agent's file: each key that others write is acted on, or said to mean nothing here."""

from __future__ import annotations

from typing import Any

from console_app.config.files import Paths
from console_app.domain import agents as ag
from console_app.workplace import WorkingFolder
from tests.each import each

KEYS: dict[str, tuple[str, dict[str, Any], str]] = {
    "all tools": ("", {"tools": None, "without": (), "worktree": False, "skills": (), "effort": None}, ""),
    "tools": ("tools: Read, Grep", {"tools": ("Read", "Grep")}, ""),
    "no tools": ("tools:", {"tools": ()}, ""),
    "not these": ("disallowedTools: [Write, Edit]", {"without": ("Write", "Edit")}, ""),
    "skills": ("skills:\n  - deploy\n  - review", {"skills": ("deploy", "review")}, ""),
    "effort": ("effort: High", {"effort": "high"}, ""),
    "no such effort": ("effort: ultra", {"effort": None}, "no effort is called ultra"),
    "worktree": ("isolation: worktree", {"worktree": True}, ""),
    "no such isolation": ("isolation: container", {"worktree": False}, "no isolation is called container"),
    "servers by name": ("tools: Read\nmcpServers: [git, web]", {"tools": ("Read", "git.*", "web.*")}, ""),
    "servers and all tools": ("mcpServers: git", {"tools": None}, ""),
    "servers of its own": (
        "tools: Read\nmcpServers:\n  - own:\n      type: stdio\n      command: npx\n      args: [-y, 'some server']\n"
        "      env:\n        # a comment\n        KEY: secret # one more\n  - git",
        {"tools": ("Read", "git.*", "own.*"), "starts": {"own": "npx -y 'some server'"}},
        "",
    ),
    "servers as an object": (
        "mcpServers:\n  own:\n    command: run\n    args:\n    - a\n    - b: c\n  web:\n    url: https://example.org/mcp",
        {"starts": {"web": "https://example.org/mcp"}},
        "mcpServers.own.args.1: `args`: input should be a valid string",
    ),
    "servers in JSON": (
        'mcpServers: {"own": {"command": "run", "comand": 1}}',
        {"starts": {"own": "run"}},
        "mcpServers.own.comand: unknown key; did you mean `command`?",
    ),
    "servers that can't be read": (
        "mcpServers:\n  - own:\n      command: run\n     args: []",
        {"starts": {}},
        "mcpServers can't be read: a line stands in no place of the outline: args: []",
    ),
    "servers too deep": (
        "mcpServers:\n" + "\n".join(f"{'  ' * depth}- x:" for depth in range(1, 30)),
        {"starts": {}},
        "mcpServers can't be read: it is nested too deeply",
    ),
    "model of the parent": ("model: inherit", {"model": ""}, ""),
    "model": ("model: openai/small", {"model": "openai/small"}, ""),
    "turns": ("maxTurns: 7", {"max_steps": 7}, ""),
    "background": ("background: true", {"background": True}, ""),
    "color": ("color: red", {}, ""),
    "others": ("permissionMode: bypassPermissions\nhooks: x", {}, "not known here, and kept: permissionMode, hooks"),
}


@each("key", KEYS)
def test_every_key_of_an_agent_file_counts_or_is_said_to_mean_nothing(key: str, tmp_path_factory: Any) -> None:
    tmp_path = tmp_path_factory.mktemp("kind")
    text, wanted, note = KEYS[key]
    home = tmp_path / key.replace(" ", "-")
    (home / "agents").mkdir(parents=True)
    file = home / "agents" / "one.md"
    file.write_text(f"---\nname: one\ndescription: Does it.\n{text}\n---\nDo it.\n")
    paths = Paths.find({"FANOUT_HOME": str(home)})
    kind = WorkingFolder(paths, tmp_path, {}).agents()["one"]
    assert {name: getattr(kind, name) for name in wanted} == wanted
    assert kind.note == note
    assert kind.prompt == "Do it."
    said = "\n".join(ag.described(kind))
    assert note in said
    assert ("git worktree" in said) == kind.worktree
    assert all(f"It starts for itself {name}: {runs}" in said for name, runs in kind.starts.items())
