"""What the opening page offers works on the model that is there without any key."""

from __future__ import annotations

import json

import pytest

from console_app.tui.main_screen.start.welcome import EXAMPLES, WITH_ANY, WITHOUT_TOOLS, examples_for
from tests.headless.inside import Inside

CALLS = (("evaluate",) * 3, ("long_task",) * 4, ("evaluate", "fail"))


@pytest.mark.parametrize(("number", "tools"), list(enumerate(CALLS)))
def test_what_is_offered_to_try_makes_its_calls(fanout: Inside, number: int, tools: tuple[str, ...]) -> None:
    text = EXAMPLES[number].text.replace("3, 4, 6 and 8 seconds", "0.1, 0.1, 0.1 and 0.1 seconds")
    done = fanout.run("run", text, "-m", "offline/rehearsal", "--output-format", "stream-json")
    events = [json.loads(line) for line in done.out.splitlines()]
    called = sorted(
        event["name"].rpartition("evaluate")[1] or event["name"].partition("_")[2]
        for event in events
        if event.get("type") == "call.announced"
    )
    assert tuple(called) == tools
    failed = [event for event in events if event.get("type") == "call.finished" and event["outcome"] == "failed"]
    assert len(failed) == tools.count("fail")


def test_what_is_offered_beside_other_servers_works_there(fanout: Inside) -> None:
    skills, todo = WITH_ANY
    done = fanout.run("run", skills.text, "-m", "offline/rehearsal", "--mcp", "demo")
    assert "With the tools that are on now I can" in done.out
    done = fanout.run("run", todo.text, "-m", "offline/rehearsal", "--mcp", "demo")
    assert "buy milk" in done.out
    assert "call Ada" in done.out
    (alone,) = WITHOUT_TOOLS
    done = fanout.run("run", alone.text, "-m", "offline/rehearsal", "--no-mcp")
    assert done.code == 0
    assert "No tool that I know how to use is on right now" in done.out


def test_an_example_is_offered_only_where_its_servers_are() -> None:
    assert examples_for(("demo", "calculator", "mine")) == EXAMPLES
    assert examples_for(("mine", "demo")) == EXAMPLES[1:2]
    assert examples_for(("mine",)) == WITH_ANY
    assert examples_for(()) == WITHOUT_TOOLS
