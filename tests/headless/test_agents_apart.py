"""An agent whose kind works in a git worktree of its own: what it changed comes back as a branch and a diff."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Request, WireServer
from tests.workplace.test_place import git

KIND = """---
name: mender
description: Mends.
isolation: worktree
effort: low
skills: deploy
tools: files.*, shell.run, nothing.such
---
Mend it.
"""
SKILL = "---\nname: deploy\ndescription: How we deploy.\n---\nBODY-OF-DEPLOY\n"


class Mending:
    """Sends two menders; each writes a file, asks the shell where it is, and answers."""

    def __init__(self, *tasks: str) -> None:
        self.tasks = tasks
        self.told: list[dict[str, Any]] = []

    def __call__(self, request: Request) -> Answer:
        messages = request.body["messages"]
        prompt = next(one["content"] for one in messages if one["role"] == "user")
        self.told.append(request.body)
        last = messages[-1]["role"]
        if prompt == "go":
            sends = [Call("fanout_agent", json.dumps({"task": task, "kind": "mender"})) for task in self.tasks]
            return Answer(Text("Both are back.")) if last == "tool" else Answer(*sends)
        if last == "tool":
            return Answer(Text(f"Mended {prompt}."))
        made = [Call("files_write_file", json.dumps({"path": "a.txt", "content": f"{prompt}\n"}))]
        made += [Call("shell_run", json.dumps({"command": "pwd; cat a.txt"}))]
        return Answer(*(made if prompt != "look" else made[1:]))


def brought(fanout: Inside) -> None:
    fanout.write("home/agents/mender.md", KIND)
    fanout.write(".agents/skills/deploy/SKILL.md", SKILL)
    assert fanout.run("trust", "--yes").code == 0


@pytest.fixture
def repository(fanout: Inside) -> Inside:
    brought(fanout)
    fanout.write("a.txt", "as it was\n")
    git(fanout.cwd, "init")
    git(fanout.cwd, "add", ".")
    git(fanout.cwd, "commit", "-m", "x")
    return fanout


def run(fanout: Inside, mending: Mending) -> Any:
    with WireServer(mending) as server:
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        return fanout.run("run", *model, "--approval-mode", "yolo", "--output-format", "stream-json", "go")


def results(done: Any) -> list[str]:
    events = [json.loads(line) for line in done.out.splitlines()]
    return [
        one["content"]
        for one in events
        if one["type"] == "message.added" and one["role"] == "tool" and not one.get("agent")
    ]


def branches(folder: Path) -> list[str]:
    asked = ("git", "for-each-ref", "--format=%(refname:short)", "refs/heads/fanout")
    return subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout.split()


def test_two_agents_change_one_file_each_in_a_worktree_of_its_own(repository: Inside) -> None:
    mending = Mending("one", "two")
    done = run(repository, mending)
    assert done.code == 0, done.err
    first, second = results(done)
    for task, result in (("one", first), ("two", second)):
        assert result.startswith(f"Mended {task}."), result
        assert f"-as it was\n+{task}" in result
    assert (repository.cwd / "a.txt").read_text() == "as it was\n"
    assert len(branches(repository.cwd)) == 2
    assert not list((repository.home / "data" / "worktrees").rglob("a.txt"))
    of_one = next(
        one for one in mending.told if one["messages"][-1]["role"] == "tool" and "one" in str(one["messages"])
    )
    ran = str(of_one["messages"][-1]["content"])
    assert "data/worktrees/" in ran
    assert "BODY-OF-DEPLOY" in str(of_one["messages"][0])
    assert "data/worktrees/" in str(of_one["messages"][0]), "its prompt says where it works"
    assert of_one["reasoning_effort"] == "low"
    told = [json.loads(line) for line in done.out.splitlines()]
    notices = {one["text"] for one in told if one["type"] == "notice" and one.get("agent")}
    assert "mender names tools that are not here: nothing.such." in notices


def test_one_that_changes_nothing_leaves_nothing(repository: Inside) -> None:
    done = run(repository, Mending("look"))
    assert results(done) == ["Mended look."]
    assert branches(repository.cwd) == []


def test_in_no_repository_its_call_fails_and_says_why(fanout: Inside) -> None:
    brought(fanout)
    [result] = results(run(fanout, Mending("one")))
    assert "is in no git repository" in result
    assert not (fanout.cwd / "a.txt").exists()
