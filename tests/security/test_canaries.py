"""Forty secrets in all places that hold any; then everything is run, and no file, screen or stream has one of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.program.process import Done, Fanout
from tests.program.terminal import Terminal
from tests.security.canaries import (
    CANARIES,
    KEPT,
    VARIABLES,
    VARIABLES_SET,
    files,
    forms,
    leaks,
)
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, WireServer


def printed(name: str, done: Done) -> dict[str, bytes]:
    return {f"stdout of {name}": done.out.encode(), f"stderr of {name}": done.err.encode()}


def calls() -> Answer:
    return Answer(Call("spy_environment", "{}"), Call("spy_fails", "{}"))


def sent(server: WireServer) -> dict[str, bytes]:
    return {f"request {number}": request.raw for number, request in enumerate(server.requests)}


def test_the_search_finds_what_is_there() -> None:
    assert len(set(CANARIES)) == 41
    for secret in CANARIES:
        for form, wanted in forms(secret).items():
            assert f"{CANARIES.index(secret):02} as {form} in x" in leaks({"x": b"before " + wanted + b" after"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("mcp", "test", "--debug"),
        *(("mcp", "get", name) for name in ("bearer", "basic", "query", "older", "oauth")),
        ("mcp", "trust", "spy"),
        ("doctor", "--debug"),
        ("models", "--debug"),
        ("run", "--no-mcp", "-m", "mine/m", "--debug", "--", "go"),
        ("run", "-m", "offline/rehearsal", "--debug", "what is 6*7?"),
        ("call", "spy.fails", "{}", "--debug"),
    ],
    ids=" ".join,
)
def test_no_command_says_a_secret(fanout: Fanout, arguments: tuple[str, ...]) -> None:
    """These commands run with arguments that test_canaries_kept.py does not try."""
    done = fanout.run(*arguments, env=VARIABLES_SET)
    assert done.out or done.err
    assert leaks({**printed(" ".join(arguments), done), **files(fanout)}) == []


def test_a_key_is_kept_without_a_word_of_it(fanout: Fanout) -> None:
    done = fanout.run("auth", "set", "openai-responses", stdin=KEPT[3].encode() + b"\n", env=VARIABLES_SET)
    assert done.code == 0, done.err
    assert leaks({**printed("auth set", done), **files(fanout)}) == []


def test_a_server_that_was_added_by_hand_is_told_without_its_secrets(fanout: Fanout, host: str) -> None:
    url = f"http://{host}/x?key={CANARIES[20]}"
    done = fanout.run("mcp", "add", "by-hand", url, "--header", f"X-Key: {CANARIES[21]}", env=VARIABLES_SET)
    assert done.code == 0, done.err
    assert f"http://{host}/x" in done.out
    program = fanout.run("mcp", "add", "other", "--", "python", "--token", CANARIES[12], env=VARIABLES_SET)
    assert leaks({**printed("add", done), **printed("add", program)}) == []


def test_a_turn_and_its_exports_hold_no_secret(fanout: Fanout) -> None:
    with WireServer() as server:
        env = {**VARIABLES_SET, "OPENAI_BASE_URL": server.base_url("openai-chat")}
        server.script(calls(), Answer(Text("Seen.")))
        modes = ("--approval-mode", "yolo", "--output-format", "stream-json", "--debug", "-m", "openai/m")
        done = fanout.run("run", *modes, "--", "go", env=env)
        assert done.code == 0, done.err
        outcomes = [event["outcome"] for event in done.events if event["type"] == "call.finished"]
        assert sorted(outcomes) == ["failed", "succeeded"]
        session = done.events[0]["session_id"]
        server.script(Reply.json({"error": {"message": f"no: {VARIABLES[0]} {VARIABLES[0].encode().hex()}"}}, 400))
        refused = fanout.run("run", *modes, "--no-mcp", "again", env=env)
        assert refused.code != 0
        named = {**printed("run", done), **printed("refused", refused), **sent(server)}
    for form in ("md", "html", "jsonl"):
        exported = fanout.run("sessions", "export", session, "--format", form, env=env)
        assert exported.code == 0, exported.err
        named |= printed(form, exported)
    named |= printed("show", fanout.run("sessions", "show", session, env=env))
    assert leaks({**named, **files(fanout)}) == []


def test_a_secret_that_was_typed_is_not_exported(fanout: Fanout) -> None:
    with WireServer() as server:
        env = {**VARIABLES_SET, "OPENAI_BASE_URL": server.base_url("openai-chat")}
        server.script(Answer(Text(f"It is {VARIABLES[1]}.")))
        done = fanout.run("run", "--no-mcp", "--output-format", "stream-json", "-m", "openai/m", VARIABLES[5], env=env)
        assert done.code == 0, done.err
    session = done.events[0]["session_id"]
    for form in ("md", "html", "jsonl"):
        exported = fanout.run("sessions", "export", session, "--format", form, env=env)
        assert "(hidden)" in exported.out
        assert leaks(printed(form, exported)) == []


def test_a_crash_says_no_secret(fanout: Fanout) -> None:
    code = (
        "import os, sys\nfrom console_app import wiring\nfrom console_app.commands import models as models_command\n"
        "def fault(setup):\n"
        "    setup.arguments.mcp, setup.arguments.no_mcp = None, False\n"
        "    servers = [server.model_dump() for server in wiring.choose_servers(setup).servers]\n"
        "    raise RuntimeError(f'{servers} {dict(setup.environ)} {setup.settings.providers}')\n"
        "models_command.themes = fault\nsys.argv = ['fanout', '--debug', 'themes']\n"
        "from console_app.cli import main\nmain()"
    )
    argv = [sys.executable, "-P", "-c", code]
    done = subprocess.run(argv, env=fanout.environment(VARIABLES_SET), cwd=fanout.cwd, capture_output=True)
    assert done.returncode == 1
    assert b"(hidden)" in done.stderr
    (report,) = (fanout.home / "state").glob("crash-*.txt")
    assert "(hidden)" in report.read_text()
    assert leaks({"stdout": done.stdout, "stderr": done.stderr, **files(fanout)}) == []


def test_the_console_shows_and_keeps_no_secret(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(
            calls(), Answer(Text("All said.")), Reply.json({"error": {"message": f"no: {VARIABLES[0]}"}}, 400)
        )
        url = {"OPENAI_BASE_URL": server.base_url("openai-chat"), "TERM": "xterm-256color"}
        environment = fanout.environment({**VARIABLES_SET, **url})
        argv = fanout.argv("--debug", "--approval-mode", "yolo", "-m", "openai/m", "--", "go")
        with Terminal(argv, env=environment, cwd=fanout.cwd, rows=50, columns=160) as terminal:
            screens = [terminal.expect("All said")]
            terminal.type("again\r")
            screens.append(terminal.expect("400"))
            terminal.type("/doctor\r")
            screens.append(terminal.expect("Endpoints"))  # something is wrong there, so they come first
            terminal.press("end")
            screens.append(terminal.expect("ANY_NAME: set"))
            terminal.press("escape")
            terminal.expect_gone("ANY_NAME: set")
            terminal.press("ctrl+l")
            screens.append(terminal.expect("to search servers"))
            terminal.press("escape")
            terminal.expect_gone("to search servers")
            terminal.press("ctrl+d")
            terminal.wait_exit()
            raw = bytes(terminal.raw)
        named = {f"screen {number}": screen.encode() for number, screen in enumerate(screens)}
        assert leaks({**named, **sent(server), "the terminal": raw, **files(fanout)}) == []
