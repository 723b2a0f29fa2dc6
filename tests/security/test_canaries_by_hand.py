"""The same forty secrets where things are done by hand: calls in bulk, servers of other clients, trust, refusals."""

from __future__ import annotations

import json

import pytest

from tests.program.process import Done, Fanout
from tests.program.terminal import Terminal
from tests.security.canaries import CONFIG, VARIABLES, VARIABLES_SET, files, leaks, servers


def printed(name: str, done: Done) -> dict[str, bytes]:
    return {f"stdout of {name}": done.out.encode(), f"stderr of {name}": done.err.encode()}


def test_calls_in_bulk_and_their_report_hold_no_secret(fanout: Fanout) -> None:
    lines = [{"id": "a", "tool": "spy.environment"}, {"id": "b", "tool": "spy.fails"}]
    fanout.write("calls.jsonl", "".join(json.dumps({**line, "arguments": {}}) + "\n" for line in lines))
    where = ("-o", "results.jsonl", "--report", "report.html", "--debug", "--mcp", "spy", "--approval-mode", "yolo")
    done = fanout.run("call", "--from", "calls.jsonl", *where, env=VARIABLES_SET)
    results = (fanout.cwd / "results.jsonl").read_text()
    assert len(results.splitlines()) == 2, done.err
    assert (fanout.cwd / "report.html").stat().st_size
    assert leaks({**printed("call", done), **files(fanout)}) == []


@pytest.mark.parametrize("words", [(), ("cursor",), ("claude-code",)], ids=" ".join)
def test_other_clients_servers_are_told_without_their_secrets(
    fanout: Fanout, host: str, words: tuple[str, ...]
) -> None:
    entries = json.dumps({"mcpServers": servers(fanout.cwd / "spy.py", host)})
    for name in (".mcp.json", ".cursor/mcp.json"):
        fanout.write(name, entries)
    done = fanout.run("mcp", "import", *words, env=VARIABLES_SET)
    assert "spy" in done.out + done.err
    assert leaks(printed("import", done)) == []


def test_what_is_asked_before_a_project_is_trusted_has_no_secret(fanout: Fanout, host: str) -> None:
    given = servers(fanout.cwd / "spy.py", host)
    filled = {"command": "x", "args": ["${OPENAI_API_KEY}", "--key=${MY_PASSWORD}"], "env": given["spy"]["env"]}
    far = {"url": "http://x.test/?a=${GITHUB_TOKEN}&b=${DATABASE}"}
    entries = {"filled": filled, "far": far, "bearer": given["bearer"], "basic": given["basic"]}
    fanout.write("mcp.json", json.dumps({"mcpServers": entries}))
    done = fanout.run("mcp", "trust", "--yes", env=VARIABLES_SET)
    assert done.code == 0, done.err
    assert "is given     GITHUB_TOKEN, DATABASE of your environment" in done.out
    environment = fanout.environment({**VARIABLES_SET, "TERM": "xterm-256color"})
    (fanout.cwd / "mcp.json").write_text(json.dumps({"mcpServers": {**entries, "more": {"command": "y"}}}))
    with Terminal(fanout.argv("-m", "offline/rehearsal"), env=environment, cwd=fanout.cwd, rows=50) as terminal:
        terminal.expect("trust")
        terminal.press("alt+t")
        screen = terminal.expect("is given")
        terminal.press("escape")
        terminal.expect_gone("is given")
        terminal.press("ctrl+d")
        terminal.wait_exit()
        raw = terminal.whole()
    assert leaks({**printed("trust", done), "the question": screen.encode(), "the terminal": raw}) == []


BY_HAND = (
    ("--no-such", VARIABLES[0]),
    ("config", "set", "base_url", f"http://u:{CONFIG[0]}@127.0.0.1:9/v1"),
    ("mcp", "test", "--junit", "junit.xml"),
    ("mcp", "auth", "oauth"),
    ("mcp", "add", "x y/..", f"http://u:{CONFIG[1]}@x.test/?key={VARIABLES[1]}"),
    ("auth", "set", VARIABLES[1]),
    ("call", "query.x", "{}", "--output-format", "stream-json"),
)


@pytest.mark.parametrize("arguments", BY_HAND, ids=lambda words: " ".join(words[:2]))
def test_what_is_done_by_hand_says_no_secret(fanout: Fanout, arguments: tuple[str, ...]) -> None:
    proxy = {"HTTPS_PROXY": f"http://me:{VARIABLES[2]}@127.0.0.1:9"}
    done = fanout.run(*arguments, env={**VARIABLES_SET, **proxy})
    assert done.out or done.err
    assert leaks({**printed(arguments[0], done), **files(fanout)}) == []
