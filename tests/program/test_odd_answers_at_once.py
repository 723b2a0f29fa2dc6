"""A thousand odd answers of models and servers at once cost a bounded memory, and each ends in one line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import psutil

from tests.mcp_client.conftest import FIXTURES
from tests.mcp_client.test_odd_errors import ODD as ERRORS
from tests.program.process import Fanout
from tests.program.test_endless_answers import COST, PROVIDERS
from tests.providers.test_odd_endpoints import ODD
from tests.wire_server import Request, Scripted, WireServer

AT_ONCE = 1000
CALLED = (b'"tool_calls"', b'"tool_use"', b'"function_call"')  # in a history, a format each
BLOCKS = (
    {"type": "new", "words": "x" * 2000},
    {"type": "image", "data": "no base64", "mimeType": 7},
    {"type": "resource", "resource": {"uri": 3, "text": None}},
    {"type": "resource_link", "name": ["no name"]},
    {"type": "text", "text": {"deep": [[["x"] * 50]]}},
    {"text": "of no type"},
    "no block",
    None,
)
RESULTS = (
    *(said for block in BLOCKS for said in ({"result": {"content": [block]}}, {"result": {"content": block}})),
    *({"result": odd} for odd in (None, [], "words", 7, {}, {"content": []}, {"resultType": "new"})),
    {"result": {"content": [{"type": "text", "text": "a"}] * 200, "structuredContent": ["no object"]}},
    {"result": {"content": [], "structuredContent": {"n": "no number"}, "isError": "maybe"}},
    *({"error": error} for error, _ in ERRORS),
)
SERVER = {
    "tools/list": {
        "result": {
            "tools": [
                {
                    "name": "do",
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
                }
            ]
        }
    },
    "tools/call": [RESULTS[number % len(RESULTS)] for number in range(2 * AT_ONCE)],
}


def test_a_thousand_odd_answers_at_once_cost_a_bounded_memory_and_end_in_a_line_each(tmp_path: Path) -> None:
    numbers, asked = count(), list[int]()
    odd = {api: [one for of, one in ODD if of == api] for api in PROVIDERS}

    def answer(request: Request) -> Scripted:
        if not asked:
            asked.append(process.memory_info().rss)
        assert request.api is not None
        one = odd[request.api][next(numbers) % len(odd[request.api])]
        return one.said(1) if any(called in request.raw for called in CALLED) else one.calls(1)

    fanout = Fanout(tmp_path)
    (fanout.cwd / "says.json").write_text(json.dumps(SERVER))
    program = {"command": sys.executable, "args": ["-S", str(FIXTURES / "said_server.py"), "says.json"]}
    (fanout.cwd / "servers.json").write_text(json.dumps({"mcpServers": {"demo": program}}))
    models = [f"{provider}/m" for provider in PROVIDERS.values()]
    items = [{"prompt": "go", "model": models[number % len(models)]} for number in range(AT_ONCE)]
    (fanout.cwd / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    with WireServer(answer) as server:
        run = fanout.start(
            *("batch", "items.jsonl", "-o", "results.jsonl", "--jobs", str(AT_ONCE)),
            *("--mcp-config", "servers.json", "--allow-tool", "demo.*"),
            env={
                "OPENAI_API_KEY": "k",
                "OPENAI_BASE_URL": server.base_url("openai-chat"),
                "ANTHROPIC_API_KEY": "k",
                "ANTHROPIC_BASE_URL": server.base_url("anthropic"),
            },
            stdout=subprocess.DEVNULL,
        )
        process = psutil.Process(run.pid)
        most, ended = 0, threading.Event()
        threading.Thread(target=lambda: (run.communicate(), ended.set()), daemon=True).start()
        while not ended.wait(0.02):
            try:
                most = max(most, process.memory_info().rss)
            except psutil.NoSuchProcess:
                break
    results = [json.loads(line) for line in (fanout.cwd / "results.jsonl").read_text().splitlines()]
    assert len(results) == AT_ONCE
    assert most - asked[0] < COST, f"{(most - asked[0]) / 2**20:.0f} MB"
    errors = [one["error"] for result in results for one in (result, *result["calls"]) if one["error"]]
    assert len(errors) > AT_ONCE
    assert [said for said in errors if len(said.splitlines()) != 1] == []
