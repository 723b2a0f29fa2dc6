"""`fanout run` as a process of its own: what it imports, where its log goes, how it ends when it is told to."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Gate, Hang, Reply, WireServer

DUMP_MODULES = """
import atexit, os, sys
if name := os.environ.get("MODULES"):
    atexit.register(lambda: open(name, "w").write("\\n".join(sys.modules)))
"""


BOTH = ("--mcp", "calculator", "--mcp", "demo")  # demo is off from the start


def model(server: WireServer) -> list[str]:
    return ["-m", "openai/test-model", "--base-url", server.base_url("openai-chat")]


def long_task(seconds: float) -> Call:
    return Call("demo_long_task", json.dumps({"task": "wait", "duration_seconds": seconds, "interval_seconds": 0.05}))


def test_the_main_job_runs_without_key_or_network(fanout: Fanout) -> None:
    done = fanout.run("run", "Calculate these three things: (1) 355/113, (2) sqrt(2), (3) e^pi")
    assert done.code == 0
    for start in ("3.14159292", "1.41421356", "23.14069263"):
        assert start in done.out
    calls = [line for line in done.err.splitlines() if line.startswith("✓ calculator.evaluate")]
    assert len(calls) == 3


def test_headless_never_loads_textual_or_a_vendors_sdk(fanout: Fanout, server: WireServer, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(DUMP_MODULES)
    path = f"{tmp_path / 'site'}{os.pathsep}{fanout.environment()['PYTHONPATH']}"
    server.script(Answer(Text("ok")))
    done = fanout.run("run", *model(server), "go", env={"PYTHONPATH": path, "MODULES": str(tmp_path / "modules")})
    assert done.code == 0
    loaded = set((tmp_path / "modules").read_text().split())
    assert "mcp" in loaded
    assert not loaded & {"textual", "rich", "openai", "anthropic", "console_app.tui", "console_app.commands.console"}


def test_logs_go_to_a_file_and_only_with_debug_to_standard_error(fanout: Fanout, server: WireServer) -> None:
    calls = [Call("calculator_evaluate", '{"expression": "1+1"}'), Call("calculator_evaluate", '{"expression": "2"}')]
    server.script(Answer(*calls), Answer(Text("ok")), Answer(Text("ok")))
    done = fanout.run("run", *model(server), "--log-file", "mine.log", "go")
    assert "Executing 2 tool calls in parallel" in (fanout.cwd / "mine.log").read_text()
    assert "Executing" not in done.err
    done = fanout.run("run", *model(server), "--debug", "--no-mcp", "go")
    assert "DEBUG" in done.err
    assert (fanout.home / "state" / "fanout.log").exists()


def read_events(process: subprocess.Popen[bytes], until: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Events of a running stream-json process, up to the one that `until` is true of."""
    assert process.stdout is not None
    events: list[dict[str, Any]] = []
    for line in process.stdout:
        events.append(json.loads(line))
        if until(events[-1]):
            break
    return events


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_every_running_call_with_its_result_and_the_process_in_time(
    fanout: Fanout, server: WireServer, number: signal.Signals
) -> None:
    server.script(Answer(Text("Working."), *(long_task(3600 - n) for n in range(4))))
    process = fanout.start("run", *model(server), *BOTH, "--output-format", "stream-json", "go")
    started: list[str] = []

    def all_run(event: dict[str, Any]) -> bool:
        if event["type"] == "call.started":
            started.append(event["call_id"])
        return len(started) == 4

    read_events(process, all_run)
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.send_signal(number)
    assert process.stdout is not None
    assert process.stderr is not None
    # Not communicate(): it reads past the buffer, in which lines behind the last event may stand.
    with process:  # its pipes are closed in the end
        out, err = process.stdout.read(), process.stderr.read()
    events = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 130
    finished = {event["call_id"]: event["outcome"] for event in events if event["type"] == "call.finished"}
    assert finished == dict.fromkeys(started, "cancelled")
    assert events[-1]["type"] == "turn.finished"
    assert err.decode().splitlines()[-1] == "fanout: Interrupted."
    psutil.wait_procs(children, timeout=PATIENCE)
    assert not any(child.is_running() for child in children)


def test_a_signal_while_servers_start_ends_the_process_too(fanout: Fanout) -> None:
    mark = fanout.cwd / "started"
    os.mkfifo(mark)
    program = f"import time; open({str(mark)!r}, 'w').close(); time.sleep(3600)"
    servers = {"mcpServers": {"slow": {"command": "python", "args": ["-c", program]}}}
    fanout.write("home/mcp.json", json.dumps(servers))
    process = fanout.start("run", "hello")
    with open(mark):  # opens when the server runs
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_a_run_whose_terminal_goes_is_kept_and_ends_its_servers(fanout: Fanout, server: WireServer) -> None:
    soon = Call("calculator_evaluate", '{"expression": "6*7"}')
    server.script(Answer(Text("Working."), long_task(3600), soon))
    environment = fanout.environment({"TERM": "xterm-256color"})
    with Terminal(fanout.argv("run", *model(server), *BOTH, "go"), env=environment, cwd=fanout.cwd) as terminal:
        terminal.expect("Working")
        terminal.expect("✓ calculator.evaluate")  # the call before it has come too by then, and runs
        children = psutil.Process(terminal.process.pid).children(recursive=True)
        assert children
        terminal.hang_up()
        assert terminal.wait_exit() == 130
    psutil.wait_procs(children, timeout=PATIENCE)
    assert not any(child.is_running() for child in children)
    kept = json.loads(fanout.run("sessions", "list", "--jsonl").out)
    shown = fanout.run("sessions", "show", kept["id"]).out
    assert "Working." in shown
    assert "long_task" in shown


def test_what_nohup_started_goes_on_without_its_terminal(fanout: Fanout, server: WireServer) -> None:
    gate = Gate()
    server.script(Reply([gate, *Answer(Text("done")).events("openai-chat")]))
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *fanout.argv("run", "--no-mcp", *model(server), "go")]
    with subprocess.Popen(ignoring, cwd=fanout.cwd, env=fanout.environment(), stdout=subprocess.PIPE) as process:
        server.wait_requests(1)
        process.send_signal(signal.SIGHUP)
        gate.open()
        assert process.stdout is not None
        assert process.stdout.read() == b"done\n"
    assert process.returncode == 0


def test_a_reader_who_stops_reading_does_not_keep_a_signal_from_ending_the_process(
    fanout: Fanout, server: WireServer
) -> None:
    server.script(Reply([*Answer(Text("x" * 4_000_000, size=100_000)).events("openai-chat")[:-2], Hang()]))
    process = fanout.start("run", "--no-mcp", *model(server), "go")
    assert process.stdout is not None
    select.select([process.stdout], [], [], PATIENCE)  # something has come, and nobody reads it: the pipe fills up
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 130
    process.communicate()


def test_a_reader_who_goes_away_ends_the_turn_quietly(fanout: Fanout, server: WireServer) -> None:
    events = Answer(Text("y" * 1000, size=10)).events("openai-chat")[:-2]
    closed = Gate()
    server.script(Reply([*events, closed, *events, Hang()]))
    process = fanout.start("run", "--no-mcp", *model(server), "--output-format", "stream-json", "go")
    assert process.stdout is not None
    read_events(process, lambda event: event["type"] == "text.delta")
    process.stdout.close()
    closed.open()
    server.wait_closed_early(1)
    assert process.wait(PATIENCE) == 1
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_pipe_that_never_ends_is_not_waited_for_beside_a_prompt(fanout: Fanout, server: WireServer) -> None:
    server.script(Answer(Text("ok")))
    reading, writing = os.pipe()
    try:
        process = fanout.start("run", "--no-mcp", *model(server), "go", stdin=reading)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        os.close(reading)
        os.close(writing)
    assert (process.returncode, out) == (0, b"ok\n")
    assert b"Nothing came on standard input" in err
