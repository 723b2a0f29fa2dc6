"""A batch in a real pseudo-terminal: the screen while it runs, the summary after it, the terminal as it was."""

from __future__ import annotations

import json

import psutil
import pytest

from tests.batch.conftest import results
from tests.batch.models import calculating
from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Gate, Reply, Request, WireServer


def test_it_is_seen_while_it_runs_and_summed_up_after(program: Fanout) -> None:
    gate = Gate()

    def odd(prompt: str, request: Request) -> Answer | Reply | None:
        if prompt == "wait" and request.body["messages"][-1]["role"] == "tool":
            events = Answer(Text("waited for it")).events("openai-chat")
            return Reply([gate, *events])
        if prompt == "wait":
            return Answer(Call(_name(request), '{"expression": "6*7"}'))
        return None

    program.write("items.txt", "quick\nwait\n")
    with WireServer(calculating(odd)) as server:
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"), "--mcp", "calculator")
        argv = program.argv("batch", "items.txt", "-o", "r.jsonl", *model)
        environment = program.environment({"TERM": "xterm-256color"})
        with Terminal(argv, env=environment, cwd=program.cwd, rows=24, columns=80) as terminal:
            terminal.expect(r"r · 1/2 done")
            terminal.expect("✓ the model")
            terminal.press("enter")
            terminal.expect("42")
            terminal.expect("Item 2")
            gate.open()
            assert terminal.wait_exit() == 0
            terminal.expect("2 of 2 items done: 2 completed.")
            assert terminal.left_changed() == []
    assert results(program.cwd / "r.jsonl")["2"]["answer"] == "waited for it"


def test_it_is_stopped_by_two_keys_and_goes_on_later(program: Fanout) -> None:
    gate = Gate()

    def odd(prompt: str, request: Request) -> Reply | None:
        return Reply([gate]) if prompt == "wait" else None

    program.write("items.txt", "quick\nwait\n")
    with WireServer(calculating(odd)) as server:
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"), "--no-mcp")
        argv = program.argv("batch", "items.txt", "-o", "r.jsonl", *model)
        environment = program.environment({"TERM": "xterm-256color"})
        with Terminal(argv, env=environment, cwd=program.cwd, rows=24, columns=80) as terminal:
            terminal.expect(r"r · 1/2 done")
            terminal.press("q")
            terminal.expect("Again to stop")
            terminal.press("q")
            assert terminal.wait_exit() == 130
            terminal.expect("Stopped: stopped by hand.")
            assert terminal.left_changed() == []
    assert set(results(program.cwd / "r.jsonl")) == {"1"}


@pytest.mark.parametrize("plain", [[], ["--plain"]], ids=["with a screen", "as lines"])
def test_a_terminal_that_goes_ends_it_in_order_and_it_goes_on_later(program: Fanout, plain: list[str]) -> None:
    gate = Gate()

    def odd(prompt: str, request: Request) -> Reply | None:
        return Reply([gate, *Answer(Text("at last")).events("openai-chat")]) if prompt == "wait" else None

    program.write("items.txt", "quick\nwait\n")
    with WireServer(calculating(odd)) as server:
        model = ("-m", "openai/test-model", "--base-url", server.base_url("openai-chat"), "--mcp", "calculator")
        argv = program.argv("batch", "items.txt", "-o", "r.jsonl", *model, *plain)
        environment = program.environment({"TERM": "xterm-256color"})
        with Terminal(argv, env=environment, cwd=program.cwd, rows=24, columns=80) as terminal:
            terminal.expect(r"1/2 done")
            children = psutil.Process(terminal.process.pid).children(recursive=True)
            assert children
            terminal.hang_up()
            assert terminal.wait_exit() == 130
        psutil.wait_procs(children, timeout=PATIENCE)
        assert not any(child.is_running() for child in children)
        assert set(results(program.cwd / "r.jsonl")) == {"1"}
        told = json.loads(program.run("batch", "status", "r", "--jsonl").out)
        assert (told["state"], told["ending"]) == ("ended", "interrupted")
        gate.open()
        assert program.run(*argv[argv.index("batch") :]).code == 0
    assert results(program.cwd / "r.jsonl")["2"]["answer"] == "at last"


def _name(request: Request) -> str:
    return next(tool["function"]["name"] for tool in request.body["tools"] if "evaluate" in tool["function"]["name"])
