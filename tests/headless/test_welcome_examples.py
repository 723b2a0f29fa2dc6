"""The examples of the opening page work on the model that is there without any key."""

from __future__ import annotations

import json

from console_app.tui.main_screen.start.welcome import DEMO, WITH_ANY, WITHOUT_TOOLS, example_for
from tests.headless.inside import Inside


def test_what_the_opening_page_shows_makes_twelve_calls_at_once(fanout: Inside) -> None:
    done = fanout.run("run", DEMO.text, "-m", "offline/rehearsal", "--output-format", "stream-json")
    events = [json.loads(line) for line in done.out.splitlines()]
    called = [event["name"] for event in events if event.get("type") == "call.announced"]
    assert len(called) == 12
    ends = {event["call_id"]: event for event in events if event.get("type") == "call.finished"}
    outcomes = sorted(event["outcome"] for event in ends.values())
    assert outcomes == ["denied", "failed", *["succeeded"] * 10], "headless, nobody can be asked"
    assert sum("exit code: 2" in event["content"] for event in ends.values()) == 1


def test_what_is_offered_beside_other_servers_works_there(fanout: Inside) -> None:
    done = fanout.run("run", WITH_ANY.text, "-m", "offline/rehearsal", "--mcp", "demo")
    assert "With the tools that are on now I can" in done.out
    done = fanout.run("run", WITHOUT_TOOLS.text, "-m", "offline/rehearsal", "--no-mcp")
    assert done.code == 0
    assert "No tool that I know how to use is on right now" in done.out


def test_an_example_is_offered_only_where_its_servers_are() -> None:
    assert example_for(("demo", "calculator", "mine"), scripted=True) is DEMO
    assert example_for(("mine", "demo"), scripted=True) is example_for(("mine",), scripted=True) is WITH_ANY
    assert example_for((), scripted=True) is example_for((), scripted=False) is WITHOUT_TOOLS
    assert example_for(("demo", "calculator"), scripted=False) is WITH_ANY, "a real one has no twelve calls by heart"
