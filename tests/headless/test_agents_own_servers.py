"""Servers that the file of an agent's kind defines: they start for that agent, end with it, and are nobody else's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.headless.inside import Inside
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Request, WireServer

KIND = """---
name: counter
description: Counts.
mcpServers:
  - own:
      command: {python}
      args: ["-c", "{code}"]
  - lost:
      command: no-such-program-anywhere
---
Count.
"""
CODE = (
    "import os, runpy; print(os.getpid(), file=open('pid', 'a')); "
    "runpy.run_module('console_app.servers.calculator', run_name='__main__')"
)
CALL = Call("own_evaluate", json.dumps({"expression": "6*7"}))


class Sending:
    """Sends two counters, who count, and then counts without them."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def __call__(self, request: Request) -> Answer:
        self.told.append(request.body)
        said = [one for one in request.body["messages"] if one["role"] != "system"]
        results = [one["content"] for one in said if one["role"] == "tool"]
        if said[0]["content"] != "go":
            return Answer(Text(f"It is {results[-1]}.")) if results else Answer(CALL)
        if not results:
            return Answer(*(Call("fanout_agent", json.dumps({"task": one, "kind": "counter"})) for one in "ab"))
        return Answer(Text("Done.")) if len(results) > 2 else Answer(CALL)

    def offered(self, *, by_agent: bool) -> set[bool]:
        """Whether requests of the agents, or of the conversation, offered a tool of the server."""
        mine = (body for body in self.told if ("go" in [one["content"] for one in body["messages"]]) is not by_agent)
        return {"own_evaluate" in [tool["function"]["name"] for tool in body["tools"]] for body in mine}


def run(fanout: Inside, sending: Callable[[Request], Answer], *more: str) -> Any:
    more = more or ("--approval-mode", "yolo")
    with WireServer(sending) as server:
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"))
        return fanout.run("run", *model, "--output-format", "stream-json", *more, "go")


def events(done: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def written(fanout: Inside, *, trusted: bool = True) -> None:
    fanout.write(".claude/agents/counter.md", KIND.format(python=sys.executable, code=CODE))
    if trusted:
        shown = fanout.run("trust", "--yes")
        assert shown.code == 0
        assert "it starts for itself own: " in shown.out + shown.err
        assert "run_module" in shown.out + shown.err


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it may go between the opening and the reading
        return False


def test_they_start_for_each_agent_and_are_gone_with_it(fanout: Inside) -> None:
    written(fanout)
    sending = Sending()
    done = run(fanout, sending)
    assert done.code == 0, done.err
    told = events(done)
    ran = [one for one in told if one["type"] == "call.finished" and one.get("agent")]
    assert [(one["outcome"], one["content"]) for one in ran] == [("succeeded", "42"), ("succeeded", "42")]
    (mine,) = (one for one in told if one["type"] == "call.finished" and not one.get("agent") and "own" in str(one))
    assert mine["outcome"] == "invalid", "the conversation has no such tool"
    assert sending.offered(by_agent=True) == {True}
    assert sending.offered(by_agent=False) == {False}
    notices = [one["text"] for one in told if one["type"] == "notice" and one.get("agent")]
    assert len([text for text in notices if text.startswith("Its server lost is failed: ")]) == 2, notices
    pids = [int(line) for line in (fanout.cwd / "pid").read_text().splitlines()]
    assert len(pids) == 2
    assert not any(map(is_there, pids))


def test_a_question_of_such_a_server_is_declined(fanout: Inside) -> None:
    server = Path(__file__).parents[1] / "mcp_client" / "fixtures" / "asking_server.py"
    kind = KIND.format(python=sys.executable, code=f"import runpy; runpy.run_path('{server}', run_name='__main__')")
    fanout.write(".claude/agents/counter.md", kind)
    assert fanout.run("trust", "--yes").code == 0

    def answer(request: Request) -> Answer:
        said = [one for one in request.body["messages"] if one["role"] != "system"]
        if said[-1]["role"] == "tool":
            return Answer(Text("Done."))
        sends = Call("fanout_agent", json.dumps({"task": "a", "kind": "counter"}))
        return Answer(sends if said[0]["content"] == "go" else Call("own_form", "{}"))

    told = events(run(fanout, answer))
    (form,) = (one for one in told if one["type"] == "call.finished" and one.get("agent"))
    assert form["outcome"] == "succeeded", told
    assert "decline" in form["content"], form


def test_a_file_that_is_not_trusted_starts_nothing(fanout: Inside) -> None:
    written(fanout, trusted=False)
    told = events(run(fanout, Sending()))
    assert len([one for one in told if "there is no kind “counter”" in str(one.get("content"))]) >= 2
    assert not (fanout.cwd / "pid").exists()


def test_one_with_the_name_of_a_server_that_is_here_takes_no_place_of_it(fanout: Inside) -> None:
    fanout.write(
        ".claude/agents/counter.md", KIND.format(python=sys.executable, code=CODE).replace("own:", "calculator:")
    )
    fanout.run("trust", "--yes")
    told = events(run(fanout, Sending()))
    assert [one for one in told if "have the name of servers that are here: calculator" in str(one.get("content"))]
    assert not (fanout.cwd / "pid").exists()


@pytest.mark.parametrize(
    ("place", "mode", "runs"),
    [("", "", False), ("", "auto", True), ("home/agents/counter.md", "", True)],
    ids=["a project's, no mode chosen", "a project's, auto chosen", "the user's"],
)
def test_reads_of_a_server_that_a_projects_kind_brings_ask_until_a_mode_is_chosen(
    fanout: Inside, place: str, mode: str, runs: bool
) -> None:
    if place:
        fanout.write(place, KIND.format(python=sys.executable, code=CODE))
    else:
        written(fanout)
    told = events(run(fanout, Sending(), "--approval-mode" if mode else "--max-steps", mode or "9"))
    ended = {one["outcome"] for one in told if one["type"] == "call.finished" and one.get("agent")}
    assert ended == {"succeeded" if runs else "denied"}
