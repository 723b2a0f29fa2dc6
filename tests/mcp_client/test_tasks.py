"""Tools that their server runs as tasks: asked how they stand, cancelled, and found again after a lost connection."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from console_app.domain.questions import Elicitation, ElicitationAnswer
from console_app.domain.tools import Outcome
from console_app.mcp_client import Asking
from tests.mcp_client.conftest import Reports, SaidServer, StartHub
from tests.mcp_client.people import Person
from tests.patience import PATIENCE, until_so
from tests.program.process import Fanout
from tests.program.terminal import Terminal
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

TEXT = {"content": [{"type": "text", "text": "done"}]}
ABLE = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
ABOUT = {"protocolVersion": "2025-11-25", "capabilities": ABLE, "serverInfo": {"name": "said", "version": "1"}}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
MODERN: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHED}


def task(status: str, message: str = "", **fields: Any) -> dict[str, Any]:
    when = "2026-01-01T00:00:00Z"
    state = {"taskId": "t1", "status": status, "createdAt": when, "lastUpdatedAt": when, "ttl": None, "pollInterval": 1}
    return {**state, **({"statusMessage": message} if message else {}), **fields}


def results(*given: Any) -> Any:
    return [{"result": one} for one in given]


def server(support: str = "required", **methods: Any) -> dict[str, Any]:
    tool = {"name": "work", "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}}
    return {
        "initialize": {"result": ABOUT},
        "tools/list": {"result": {"tools": [tool]}},
        "tools/call": {"result": {"task": task("working")}},
        **{name.replace("_", "/"): said for name, said in methods.items()},
    }


def heard(folder: Path, method: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "heard").read_text().splitlines())
    return [one["params"] for one in lines if one.get("method") == method]


@pytest.mark.parametrize("support", ["required", "optional"])
async def test_a_task_is_asked_for_until_it_is_over_and_its_result_fetched(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path, support: str
) -> None:
    states = results(task("working", "reading"), task("working", "writing"), task("completed"))
    said = server(support, tasks_get=states, tasks_result={"result": TEXT})
    bench, reports = await start_hub(said_server(said)), Reports()
    result = await bench.call("work", reports)
    assert (result.outcome, result.content) == (Outcome.SUCCEEDED, "done")
    assert [message for _, _, message in reports.progressed] == ["reading", "writing", "task completed"]
    assert heard(tmp_path, "tools/call")[0]["task"] == {}
    assert {one["taskId"] for one in heard(tmp_path, "tasks/get")} == {"t1"}


async def test_a_tool_without_tasks_is_called_as_ever(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path
) -> None:
    bench = await start_hub(said_server(server("forbidden", tools_call={"result": TEXT})))
    assert (await bench.call("work")).content == "done"
    assert "task" not in heard(tmp_path, "tools/call")[0]


async def test_a_server_that_runs_the_call_at_once_is_taken_at_its_word(
    start_hub: StartHub, said_server: SaidServer
) -> None:
    bench = await start_hub(said_server(server("optional", tools_call={"result": TEXT})))
    assert (await bench.call("work")).content == "done"


@pytest.mark.parametrize(
    ("status", "said", "error"),
    [
        ("failed", {"error": {"code": -32000, "message": "no paper"}}, "The task was failed: out of cheese"),
        ("cancelled", {"error": {"code": -32000, "message": "gone"}}, "The task was cancelled: out of cheese"),
        ("failed", {"result": {**TEXT, "isError": True}}, "done"),
    ],
)
async def test_a_task_that_ends_badly_says_why(
    start_hub: StartHub, said_server: SaidServer, status: str, said: dict[str, Any], error: str
) -> None:
    states = results(task("working"), task(status, "out of cheese"))
    bench = await start_hub(said_server(server(tasks_get=states, tasks_result=said)))
    result = await bench.call("work")
    assert (result.outcome, result.error) == (Outcome.FAILED, error)


async def test_cancelling_the_call_cancels_the_task(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path
) -> None:
    said = server(tasks_get={"result": task("working", "reading")}, tasks_cancel={"result": task("cancelled")})
    bench, reports = await start_hub(said_server(said)), Reports()
    call = asyncio.create_task(bench.call("work", reports))
    async with asyncio.timeout(PATIENCE):
        await reports.news.wait()
        call.cancel()
        await asyncio.wait({call})
    assert [one["taskId"] for one in heard(tmp_path, "tasks/cancel")] == ["t1"]


async def test_a_lost_connection_goes_on_with_the_task_by_its_id(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path
) -> None:
    states = [{"exit": str(tmp_path / "mark"), "result": task("working", "reading")}, *results(task("completed"))]
    bench, reports = await start_hub(said_server(server(tasks_get=states, tasks_result={"result": TEXT}))), Reports()
    result = await bench.call("work", reports)
    assert (result.outcome, result.content) == (Outcome.SUCCEEDED, "done")
    assert len(heard(tmp_path, "tools/call")) == 1
    assert ("info", "The connection was lost; the task t1 is asked for again.") in reports.logged


async def test_a_task_that_its_server_forgot_says_so(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path
) -> None:
    states = [
        {"exit": str(tmp_path / "mark"), "error": {"code": -32602, "message": "Task t1 not found"}},
    ]
    bench = await start_hub(said_server(server(tasks_get=states)))
    assert (await bench.call("work")).error == "Task t1 not found"


async def test_a_server_of_2026_07_28_makes_a_call_a_task_and_asks_in_its_state(
    start_hub: StartHub, said_server: SaidServer, tmp_path: Path
) -> None:
    question = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": FORM}}
    states = results(
        task("working", "reading"),
        task("input_required", inputRequests={"q": question}),
        task("working"),
        task("completed", result={**TEXT, **CACHED}),
    )
    said = {
        "server/discover": {"result": MODERN},
        "tools/list": {"result": {"tools": [{"name": "work", "inputSchema": {"type": "object"}}], **CACHED}},
        "tools/call": {"result": {"resultType": "task", **task("working")}},
        "tasks/get": states,
        "tasks/update": {"result": {"resultType": "complete"}},
    }
    person = Person(ElicitationAnswer("accept", {"size": 7}))
    bench, reports = await start_hub(said_server(said), asking=Asking(person)), Reports()
    result = await bench.call("work", reports)
    assert (result.outcome, result.content) == (Outcome.SUCCEEDED, "done")
    assert [one.call_id for one in person.asked if isinstance(one, Elicitation)] == ["call1"]
    (update,) = heard(tmp_path, "tasks/update")
    assert update["inputResponses"] == {"q": {"action": "accept", "content": {"size": 7}}}
    declared = heard(tmp_path, "tools/call")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"]
    assert declared == {"io.modelcontextprotocol/tasks": {}}


FORM = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}


@pytest.mark.parametrize("looked_at", [True, False], ids=["its parent looked", "its parent has not looked"])
async def test_a_call_whose_program_was_killed_goes_on_with_its_task(
    said_server: SaidServer, tmp_path: Path, looked_at: bool
) -> None:
    config = said_server(server(tasks_get={"result": task("working")}, tasks_result={"result": TEXT}))
    servers = {"odd": {"command": config.command, "args": list(config.args)}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    fanout, call = Fanout(tmp_path), ("call", "--mcp-config", str(tmp_path / "mcp.json"), "odd.work")
    with fanout.start(*call, anew=True) as killed:
        seen = tmp_path / "heard"
        await until_so(lambda: seen.exists() and "tasks/get" in seen.read_text(), "the task is asked for")
        kill(killed, looked_at=looked_at)
        said_server(server(tasks_get={"result": task("completed")}, tasks_result={"result": TEXT}))
        done = await asyncio.to_thread(fanout.run, *call)
    assert (done.code, done.out) == (0, "done\n")
    assert len(heard(tmp_path, "tools/call")) == 1
    assert not list((tmp_path / "home").rglob("tasks/*"))


def kill(process: subprocess.Popen[bytes], *, looked_at: bool) -> None:
    """The system keeps a process that has ended until its parent looks."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if looked_at:
        process.wait()


@pytest.mark.parametrize("face", ["run", "lines", "screen"])
async def test_a_session_that_goes_on_fetches_the_result_of_a_task_that_outlived_its_program(
    said_server: SaidServer, tmp_path: Path, face: str
) -> None:
    config = said_server(server(tasks_get={"result": task("working")}, tasks_result={"result": TEXT}))
    servers = {"odd": {"command": config.command, "args": list(config.args)}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    fanout = Fanout(tmp_path)
    with WireServer() as model:
        model.script(Answer(Call("odd_work", "{}")), *[Answer(Text("Thanks."))] * 2)
        where = ("--base-url", model.base_url("openai-chat"), "--mcp-config", str(tmp_path / "mcp.json"))
        with fanout.start("run", "-m", "openai/m", *where, "--approval-mode", "yolo", "go") as killed:
            seen = tmp_path / "heard"
            await until_so(lambda: seen.exists() and "tasks/get" in seen.read_text(), "the task is asked for")
            killed.kill()
        said_server(server(tasks_get={"result": task("completed")}, tasks_result={"result": TEXT}))
        go_on = ("-c", "-m", "openai/m", *where)
        if face == "run":
            done = await asyncio.to_thread(fanout.run, "run", *go_on, "--output-format", "stream-json", "go on")
            assert [one["content"] for one in done.events if one["type"] == "call.finished"] == ["done"]
        else:
            argv = fanout.argv(*go_on, *(("--screen-reader",) if face == "lines" else ()))
            await asyncio.to_thread(see_it_join, Terminal(argv, env=fanout.environment(XTERM), cwd=fanout.cwd))
        (asked,) = model.requests[1:]
    assert "odd.work went on when Fanout had ended" in json.dumps(asked.body)
    assert len(heard(tmp_path, "tools/call")) == 1
    assert not list((tmp_path / "home").rglob("tasks/*"))


XTERM = {"TERM": "xterm-256color"}


def see_it_join(terminal: Terminal) -> None:
    """Nothing is typed before the result is there."""
    with terminal:
        terminal.expect(r"\bdone\b")
        terminal.type("go on\r")
        terminal.expect(r"Thanks\.")
