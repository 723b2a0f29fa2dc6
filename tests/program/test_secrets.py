"""Keys through the whole program: into the request they are for, and nothing that is written, printed or started."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.headless.inside import Inside
from tests.program.process import Done, Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, WireServer

KEY = "sk-canary-4d2f9b1c7e6a"
HEADER = "canary-header-91ab33cd"
OTHER = "canary-other-secret-5511"
# A server that gives back its whole environment, and says which console_app it found.
SPY = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], {}
    if method == "initialize":
        server = {"name": "s", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": [{"name": "environment", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def fanout(tmp_path: Path) -> Iterator[Fanout]:
    before = os.umask(0)  # the least careful there is
    fanout = Fanout(tmp_path)
    fanout.write("spy.py", SPY)
    servers = {
        "spy": {"command": sys.executable, "args": [str(fanout.cwd / "spy.py")], "env": {"NAMED": "by mcp.json"}}
    }
    fanout.home.mkdir(mode=0o700)
    fanout.write("home/mcp.json", json.dumps({"mcpServers": servers}))
    yield fanout
    os.umask(before)


def env(server: WireServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url("openai-chat"), "GITHUB_TOKEN": OTHER}


def canaries(fanout: Fanout | Inside, *printed: str | bytes) -> list[str]:
    """Where a key was left: files below the home and the working folder, and what was printed."""
    found = [
        f"printed {n}"
        for n, text in enumerate(printed)
        if "canary" in (text if isinstance(text, str) else text.decode())
    ]
    for folder in (fanout.home, fanout.cwd):
        for path in folder.rglob("*"):
            if path.is_file() and b"canary" in path.read_bytes():
                found.append(str(path))
    return found


def open_to_others(folder: Path) -> list[str]:
    return [
        f"{path} {stat.S_IMODE(path.stat().st_mode):o}"
        for path in folder.rglob("*")
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077 and path.name not in ("mcp.json",)
    ]


def sent(server: WireServer) -> list[str]:
    return [request.headers.get("authorization", "") for request in server.requests]


def test_a_run_with_a_tool_call_leaves_the_key_nowhere(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(Answer(Call("spy_environment", "{}")), Answer(Text("Seen.")))
        arguments = [
            "run",
            "--debug",
            "-m",
            "openai/m",
            "--approval-mode",
            "yolo",
            "--output-format",
            "stream-json",
            "go",
        ]
        done = fanout.run(*arguments, env=env(server))
        assert done.code == 0, done.err
        assert sent(server)[0] == f"Bearer {KEY}"
        given = next(json.loads(event["content"]) for event in done.events if event["type"] == "call.finished")
        assert given["NAMED"] == "by mcp.json"
        assert not {"OPENAI_API_KEY", "OPENAI_BASE_URL", "GITHUB_TOKEN"} & given.keys()
        assert canaries(fanout, done.out, done.err) == []
        assert open_to_others(fanout.home) == []
        exported = fanout.run("sessions", "export", done.events[0]["session_id"], env=env(server))
        assert canaries(fanout, exported.out, exported.err) == []


def test_the_console_leaves_the_key_nowhere(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(Answer(Text("All said.")), Reply.json({"error": {"message": f"no: {KEY}"}}, 401))
        environment = fanout.environment({"TERM": "xterm-256color", **env(server)})
        with Terminal(
            fanout.argv("--debug", "-m", "openai/m", "--", "go"), env=environment, cwd=fanout.cwd
        ) as terminal:
            terminal.expect("All said")
            terminal.type("again\r")
            terminal.expect("401|refused")
            terminal.press("ctrl+d")
            assert terminal.wait_exit() == 0
            assert canaries(fanout, bytes(terminal.raw)) == []
            assert open_to_others(fanout.home) == []


def test_a_hostile_working_folder_does_not_stand_in_for_the_bundled_servers(fanout: Fanout) -> None:
    (fanout.home / "mcp.json").unlink()
    for name in (
        "console_app/__init__.py",
        "mcp/__init__.py",
        "json.py",
        "sitecustomize.py",
        "console_app/servers/calculator.py",
    ):
        fanout.write(name, "open('EVIL', 'w').write('ran')\nraise SystemExit('evil')\n")
    done = fanout.run("call", "calculator.evaluate", '{"expression": "6*7"}')
    assert done.code == 0, done.err
    assert "42" in done.out
    assert not (fanout.cwd / "EVIL").exists()


def test_a_key_kept_by_fanout_auth_is_used_and_shown_nowhere(fanout: Fanout) -> None:
    with WireServer() as server:
        server.script(Answer(Text("Hello.")), Answer(Text("Hello.")))
        environment = {"OPENAI_BASE_URL": server.base_url("openai-chat")}

        def run(*arguments: str, stdin: bytes = b"", **more: str) -> Done:
            return fanout.run(*arguments, stdin=stdin, env=environment | more)

        kept = run("auth", "set", "openai", stdin=KEY.encode() + b"\n")
        assert kept.code == 0, kept.err
        assert "OPENAI_API_KEY is kept in" in kept.out
        assert run("auth", "list").out == "OPENAI_API_KEY\n"
        done = run("run", "--no-mcp", "--debug", "-m", "openai/m", "go")
        assert done.code == 0, done.err
        assert run("run", "--no-mcp", "-m", "openai/m", "go", OPENAI_API_KEY="sk-from-the-environment").code == 0
        assert sent(server) == [f"Bearer {KEY}", "Bearer sk-from-the-environment"]
        assert open_to_others(fanout.home) == []
        left = canaries(fanout, kept.out, kept.err, done.out, done.err)
        assert left == [str(fanout.home / "data" / "keys.json")]
        assert run("auth", "remove", "openai").code == 0
        assert canaries(fanout) == []
        assert run("auth", "remove", "openai").out == "No key for OPENAI_API_KEY is kept.\n"
        assert run("auth", "set", "nobody").code == 2


def test_links_and_images_of_an_answer_are_never_fetched(fanout: Fanout) -> None:
    with WireServer() as server, WireServer() as elsewhere:
        base = elsewhere.url
        text = f"![picture]({base}/a.png) [link]({base}/b) <img src='{base}/c'> {base}/d\n\nThe end."
        server.script(Answer(Text(text)))
        environment = fanout.environment({"TERM": "xterm-256color", **env(server)})
        arguments = fanout.argv("--no-mcp", "-m", "openai/m", "--", "go")
        with Terminal(arguments, env=environment, cwd=fanout.cwd) as terminal:
            terminal.expect(r"The end\.")
            terminal.press("ctrl+d")
            terminal.wait_exit()
        assert elsewhere.requests == []


def test_a_key_is_not_in_the_arguments_of_any_process(fanout: Fanout) -> None:
    done = subprocess.run(
        fanout.argv("auth", "set", "openai", KEY), env=fanout.environment(), capture_output=True, text=True
    )
    assert done.returncode == 2  # there is no such argument
