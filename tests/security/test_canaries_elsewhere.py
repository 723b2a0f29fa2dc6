"""The same forty secrets where Fanout hands things on: batches, recordings, traces, lines, a browser, completions."""

from __future__ import annotations

import json
import subprocess

import httpx2
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.patience import PATIENCE
from tests.program.process import Done, Fanout
from tests.program.terminal import Terminal
from tests.security.canaries import KEPT, VARIABLES, VARIABLES_SET, files, leaks
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, WireServer

SAID = f"It is {VARIABLES[1]} and {VARIABLES[5]}."


COMPLETED = ("fanout mcp get ", "fanout call ", "fanout -m ", "fanout config get ", "fanout -r ")


def printed(name: str, done: Done) -> dict[str, bytes]:
    return {f"stdout of {name}": done.out.encode(), f"stderr of {name}": done.err.encode()}


def calls() -> Answer:
    return Answer(Call("spy_environment", "{}"), Call("spy_fails", "{}"))


def refusal() -> Reply:
    """Return an endpoint's answer that repeats what it was sent."""
    return Reply.json({"error": {"message": f"no: {VARIABLES[0]} {VARIABLES[0].encode().hex()}"}}, 400)


def reaching(server: WireServer) -> dict[str, str]:
    return {**VARIABLES_SET, "OPENAI_BASE_URL": server.base_url("openai-chat")}


def test_a_batch_and_its_report_hold_no_secret(fanout: Fanout) -> None:
    items = fanout.write("items.jsonl", '{"id": "good", "prompt": "go"}\n{"id": "bad", "prompt": "go"}\n')
    with WireServer() as server:
        server.script(calls(), Answer(Text("Seen.")), refusal())
        where = ("-o", "results.jsonl", "--report", "report.html", "--events", "events", "--debug")
        model = ("-m", "openai/m", "--approval-mode", "yolo", "--jobs", "1")
        done = fanout.run("batch", str(items), *where, *model, env=reaching(server))
    assert done.code == 1, "one of them was refused"
    results = [json.loads(line) for line in (fanout.cwd / "results.jsonl").read_text().splitlines()]
    assert [result["status"] for result in results] == ["completed", "failed"]
    assert "(hidden)" in results[1]["error"]
    shown = fanout.run("batch", "show", "results", env=VARIABLES_SET)
    assert leaks({**printed("batch", done), **printed("show", shown), **files(fanout)}) == []


def test_a_report_hides_what_an_answer_said_and_is_private(fanout: Fanout) -> None:
    items = fanout.write("items.jsonl", '{"id": "one", "prompt": "go"}\n')
    with WireServer() as server:
        server.script(Answer(Text(f"{'x' * 1980} {SAID}")))  # where a long answer is cut
        done = fanout.run(
            *("batch", str(items), "-o", "results.jsonl", "--report", "report.html", "--no-mcp", "-m", "openai/m"),
            env=reaching(server),
            umask=0,
        )
    assert done.code == 0, done.err
    report = fanout.cwd / "report.html"
    assert report.stat().st_mode & 0o777 == 0o600
    assert b"Canary" not in report.read_bytes(), "nor the beginning of one"


def test_recordings_and_traces_hold_no_secret(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(calls(), Answer(Text(SAID)))
        env = reaching(server)
        done = fanout.run(
            *("run", "--approval-mode", "yolo", "--output-format", "stream-json", "-m", "openai/m", VARIABLES[2]),
            env=env,
        )
        assert done.code == 0, done.err
    session = done.events[0]["session_id"]
    for form in ("svg", "cast", "trace"):
        taken = fanout.run("sessions", "export", session, "--format", form, "-o", f"taken.{form}", env=env)
        assert taken.code == 0, taken.err
        made = (fanout.cwd / f"taken.{form}").read_bytes()
        assert b"hidden" in made
        assert b"Canary" not in made, "no piece of one either, wherever a line was cut"
        assert leaks({**printed(form, taken), "made": made}) == []


def test_the_line_console_says_no_secret(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(calls(), Answer(Text("All said.")), refusal())
        environment = fanout.environment({**reaching(server), "TERM": "dumb"})
        argv = fanout.argv("--screen-reader", "--debug", "--approval-mode", "yolo", "-m", "openai/m")
        with Terminal(argv, env=environment, cwd=fanout.cwd, rows=400, columns=200) as terminal:
            terminal.expect("Fanout, as lines")
            terminal.type("go\n")
            terminal.expect("^All said.$")
            terminal.type("again\n")
            terminal.expect("400")
            for command, last in {
                "/doctor": "Endpoints",
                "/permissions": r"^Mode: yolo\. /mode changes it\. \d+ rule",
                "/config": r"^  ui\.screen_reader: ",  # the last of them
                "/log": r'^(\d{4}-\d\d-\d\d | +File ".*", line)',
                "/status": "^Nothing runs",
            }.items():
                terminal.type(f"{command}\n")
                terminal.expect(last)
            terminal.type("\n/quit\n")
            terminal.wait_exit()
            raw = bytes(terminal.raw)
    assert leaks({"the terminal": raw, **files(fanout)}) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "list"),
        ("config", "get", "providers"),
        ("mcp", "list", "--json"),
        ("completion", "bash"),
        *(("__complete", "bash", line, str(len(line)), " ") for line in COMPLETED),
        ("schema", "run"),
    ],
    ids=" ".join,
)
def test_no_list_says_a_secret(fanout: Fanout, arguments: tuple[str, ...]) -> None:
    done = fanout.run(*arguments, env=VARIABLES_SET)
    assert leaks({**printed(" ".join(arguments), done), **files(fanout)}) == []


def test_an_editor_is_told_no_secret(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(calls(), Answer(Text("All seen.")))
        modes = ("--approval-mode", "yolo", "--debug", "-m", "openai/m")
        process = fanout.start("acp", *modes, env=reaching(server), stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        told, session = list[bytes](), ""
        for number, method, params in (
            (1, "initialize", {"protocolVersion": 1}),
            (2, "session/new", {"cwd": str(fanout.cwd), "mcpServers": []}),
            (3, "session/prompt", {"prompt": [{"type": "text", "text": "go"}]}),
        ):
            params |= {"sessionId": session} if session else {}
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            for line in iter(process.stdout.readline, b""):
                told.append(line)
                if (answer := json.loads(line)).get("id") == number:
                    session = answer["result"].get("sessionId", session)
                    break
        rest, errors = process.communicate(timeout=PATIENCE)
    assert any(b"All seen." in line for line in told)
    assert any(b"(hidden)" in line for line in told), "what the servers said"
    assert leaks({"told": b"".join(told) + rest, "stderr": errors, **files(fanout)}) == []


def test_a_browsers_server_and_its_pages_say_no_secret(fanout: Fanout) -> None:
    token = KEPT[1]
    serving = fanout.start(
        *("serve", "--port", "0", "--token", token, "--debug", "--env", f"MY_PASSWORD={VARIABLES[5]}"),
        env=VARIABLES_SET,
    )
    try:
        assert serving.stdout is not None
        link = serving.stdout.readline().decode().split()[-1]
        pages = {"page": httpx2.get(link, timeout=PATIENCE).content}
        for shown in (token[:-1], token):
            origin = link.rstrip("/")
            with connect(f"ws{origin[4:]}/socket", origin=Origin(origin), proxy=None, open_timeout=PATIENCE) as page:
                page.send(json.dumps({"token": shown}))
                pages[f"told of {shown}"] = str(page.recv(timeout=PATIENCE)).encode()
        assert b"closed" in pages[f"told of {token[:-1]}"]
        assert b"ticket" in pages[f"told of {token}"]
    finally:
        serving.terminate()
        said, errors = serving.communicate(timeout=PATIENCE)
    assert leaks({**pages, "stdout": said, "stderr": errors, **files(fanout)}) == []
