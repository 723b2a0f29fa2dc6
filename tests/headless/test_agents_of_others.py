"""Agents that the settings name, from the command line: as kinds, as calls of a model, and as the model itself."""

from __future__ import annotations

import json
import platform
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.headless.inside import Inside
from tests.wire_server import Reply, WireServer

SCRIPT = Path(__file__).parents[1] / "acp_client/scripted_agent.py"
SENDS = """
[[answer]]
steps = [
  {{ call = "fanout.agent", arguments = {{ kind = "{0}", task = "do it" }} }},
  {{ call = "fanout.agent", arguments = {{ kind = "{0}", task = "and it", name = "other" }} }},
]
[[answer]]
steps = [{{ text = "So." }}]
"""


def named(scenario: str, name: str = "helper", **more: str) -> str:
    """The settings of one agent."""
    lines = [f"command = {json.dumps([sys.executable, '-S', str(SCRIPT), scenario])}"]
    return "\n".join([f"[agents.{name}]", *lines, *(f"{key} = {value}" for key, value in more.items()), ""])


def sent(fanout: Inside, *arguments: str, kind: str = "helper") -> tuple[int, list[dict[str, Any]]]:
    """Run a model that sends two agents, and return the exit code and the events."""
    fanout.write("script.toml", SENDS.format(kind))
    done = fanout.run("run", "-m", "scripted/script.toml", "--output-format", "stream-json", *arguments, "go")
    return done.code, [json.loads(line) for line in done.out.splitlines()]


def test_it_is_a_kind(fanout: Inside) -> None:
    fanout.write("home/config.toml", named("words", description='"says hello"'))
    listed = fanout.run("agents", "list").out
    assert "helper  says hello" in listed
    shown = fanout.run("agents", "show", "helper").out
    assert "config.toml, runs" in shown
    assert "scripted_agent.py words" in shown


@pytest.mark.parametrize("allowed", [True, False])
def test_a_model_sends_two_that_ask_side_by_side(fanout: Inside, allowed: bool) -> None:
    fanout.write("home/config.toml", named("three"))
    code, events = sent(fanout, *(["--allow-tool", "helper.execute"] if allowed else []))
    calls = {event["call_id"]: event for event in events if event["type"] == "call.announced"}
    sending = [call for call, event in calls.items() if event["tool"] == "agent"]
    below = [event for event in calls.values() if event["server"] == "helper"]
    assert sorted(event["parent"] for event in below) == sorted(3 * sending)
    assert {event["agent"] for event in below} == {"helper", "other"}
    ends = {event["call_id"]: event for event in events if event["type"] == "call.finished"}
    assert ends.keys() == calls.keys()
    words = "yes" if allowed else "no"
    assert [ends[call]["content"] for call in sending] == [f"a={words} b={words} c={words}"] * 2
    assert code == (0 if allowed else 3)
    ended = [(event["agent"], event["outcome"]) for event in events if event["type"] == "turn.finished"]
    assert sorted(ended) == [("", "completed"), ("helper", "completed"), ("other", "completed")]


def test_one_that_fails_is_a_failed_call_with_its_reason(fanout: Inside) -> None:
    fanout.write("home/config.toml", named("dies"))
    code, events = sent(fanout)
    failed = [event["error"] for event in events if event["type"] == "call.finished" and not event["agent"]]
    assert failed == ["Agent: helper: it exited with code 3: out of cheese"] * 2
    assert code == 0


def test_what_may_change_nothing_sends_no_program(fanout: Inside) -> None:
    fanout.write("home/config.toml", named("words"))
    _, events = sent(fanout, "--approval-mode", "plan")
    ends = [event for event in events if event["type"] == "call.finished"]
    assert {event["outcome"] for event in ends} == {"denied"}
    assert "may change things" in ends[0]["content"]


def test_it_answers_in_the_place_of_a_model(fanout: Inside) -> None:
    fanout.write("home/config.toml", named("words") + named("three", "asking"))
    done = fanout.run("run", "-m", "acp/helper", "hi")
    assert (done.code, done.out.strip()) == (0, "Hello there.")
    asked = fanout.run("run", "-m", "acp/asking", "hi")
    assert asked.code == 3
    assert "--allow-tool asking.execute" in asked.err
    assert fanout.run("run", "-m", "acp/asking", "--approval-mode", "yolo", "hi").out.strip() == "a=yes b=yes c=yes"


def test_a_session_with_it_is_gone_on_with(fanout: Inside) -> None:
    fanout.write("home/config.toml", named("echo"))
    fanout.run("run", "-m", "acp/helper", "one")
    again = fanout.run("run", "-c", "two")
    assert again.code == 0, again.err
    assert "user: one" in again.out
    assert again.out.rstrip().endswith("two>")


MISTAKES = {
    "nobody": (
        named("words"),
        ["run", "-m", "acp/nobody", "hi"],
        'no agent is called "nobody". There are: acp/helper.',
    ),
    "no command": ("[agents.x]\nmode = 'a'\n", ["agents", "list"], "config.toml:1:2: agents.x.command is missing"),
    "its own name": (named("words", "fanout"), ["agents", "list"], "is the name of Fanout's own tools"),
    "not there": (
        '[agents.gone]\ncommand = "/no/such"\n',
        ["run", "-m", "acp/gone", "hi"],
        "gone can't be started: /no/such: No such file or directory",
    ),
    "unset": (
        named("words", env='{ KEY = "${NOT_SET_ANYWHERE}" }'),
        ["run", "-m", "acp/helper", "hi"],
        "helper can't be started: the environment variable NOT_SET_ANYWHERE is not set",
    ),
    "hidden": (named("words", env='{ KEY = "verysecret" }'), ["config", "list"], ""),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_line(fanout: Inside, mistake: str) -> None:
    settings, words, said = MISTAKES[mistake]
    fanout.write("home/config.toml", settings)
    done = fanout.run(*words)
    assert said in done.err
    lines = [line for line in done.err.splitlines() if not line.startswith("Waiting for ")]  # for slow servers
    assert len(lines) <= 1
    assert "verysecret" not in done.out


def test_a_project_names_none_before_it_is_trusted(fanout: Inside) -> None:
    fanout.write(".fanout/config.toml", named("words"))
    assert "helper" not in fanout.run("agents", "list").out
    fanout.run("trust", "--yes")
    assert "helper" in fanout.run("agents", "list").out


def test_the_switch_is_read_by_its_older_name_and_said(fanout: Inside) -> None:
    fanout.write("home/config.toml", 'agents = "off"\n')
    done = fanout.run("config", "get", "send_agents")
    assert done.out.strip() == "off"
    assert "the setting agents is called send_agents now" in done.err


HERE = f"{platform.system().lower()}-{platform.machine().lower().replace('arm64', 'aarch64')}"
REGISTRY = {
    "version": "1.0.0",
    "agents": [
        {
            "id": "node",
            "description": "From\u202enode",
            "distribution": {"npx": {"package": "n@1.2.3", "args": ["--acp"], "env": {"K": "v"}}},
        },
        {"id": "py", "name": "Of Python", "distribution": {"uvx": {"package": "p==1"}}},
        {
            "id": "packed",
            "distribution": {"binary": {HERE: {"archive": "http://a.test/x.tgz", "cmd": "./x", "args": ["acp"]}}},
        },
        {"id": "elsewhere", "distribution": {"binary": {"plan9-mips": {"archive": "http://a.test/x", "cmd": "x"}}}},
        {"id": "flag", "distribution": {"npx": {"package": "--eval=evil"}}},
        {"id": 7},
        "nothing",
    ],
}


@pytest.mark.parametrize("at", ["file", "address", "setting"])
def test_one_is_added_from_a_registry(fanout: Inside, at: str) -> None:
    with WireServer(lambda _: Reply.json(REGISTRY)) as server:
        check_added(fanout, at, server.url)


def check_added(fanout: Inside, at: str, address: str) -> None:
    path = fanout.write("agents.json", json.dumps(REGISTRY))
    if at == "setting":
        fanout.write("home/config.toml", f"# mine\nagent_registry = {json.dumps(str(path))}\n")
    given = {"file": ["--from", str(path)], "address": ["--from", address], "setting": []}[at]
    assert fanout.run("agents", "add", "node", *given).code == 2
    assert "agents" not in fanout.run("config", "get", "agents").out
    done = fanout.run("agents", "add", "node", "--yes", *given)
    assert done.code == 0, done.err
    assert '  command = ["npx", "-y", "n@1.2.3", "--acp"]' in done.out
    assert "\u202e" not in done.out
    assert fanout.run("agents", "add", "py", "-y", *given).code == 0
    written = tomllib.loads((fanout.home / "config.toml").read_text())["agents"]
    assert written["node"]["env"] == {"K": "v"}
    assert written["py"] == {"command": ["uvx", "p==1"], "description": "Of Python"}
    shown = fanout.run("agents", "show", "py").out
    assert "runs uvx p==1" in shown


NOT_ADDED = {
    "packed": "Unpack http://a.test/x.tgz, then: fanout agents add packed -- PATH/x acp.",
    "elsewhere": "elsewhere has no form that could be started here",
    "flag": "flag has no form that could be started here",
    "none": "There are: elsewhere, flag, node, packed, py.",
}


@pytest.mark.parametrize("name", NOT_ADDED)
def test_what_can_not_be_started_here_is_said(fanout: Inside, name: str) -> None:
    path = fanout.write("agents.json", json.dumps(REGISTRY))
    done = fanout.run("agents", "add", name, "--yes", "--from", str(path))
    assert done.code == 2
    assert NOT_ADDED[name] in done.err


@pytest.mark.parametrize("text", ["", "[", "7", '{"agents": 7}'])
def test_what_is_no_registry_is_a_line(fanout: Inside, text: str) -> None:
    path = fanout.write("agents.json", text)
    done = fanout.run("agents", "add", "node", "--yes", "--from", str(path))
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_a_program_of_any_name_is_added_and_answers(fanout: Inside) -> None:
    added = fanout.run("agents", "add", "mine", "--yes", "--", sys.executable, "-S", str(SCRIPT), "words")
    assert added.code == 0, added.err
    assert fanout.run("run", "-m", "acp/mine", "hi").out.strip() == "Hello there."
