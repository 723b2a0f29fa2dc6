"""Servers that don't start, die, or write nonsense: each is one clear line, and nothing else suffers."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from console_app.config.servers import ServerConfig
from console_app.domain.ports import Invocation
from console_app.domain.tools import Outcome, ToolSpec
from console_app.mcp_client import ServerState
from tests.examples import turns
from tests.mcp_client.conftest import Reports, StartHub, faulty

LATE = Invocation("late", ToolSpec(name="odd_work", server="odd", tool="work"), {})


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (ServerConfig(name="odd", command="no-such-command-anywhere"), "command not found: no-such-command-anywhere"),
        (
            ServerConfig(name="odd", command=sys.executable, cwd="/no/such/folder"),
            "the folder /no/such/folder doesn't exist",
        ),
        (ServerConfig(name="odd", command="/etc"), "/etc can't be run: permission denied"),
        (faulty("exits"), "exited with code 2: error: no API token given"),
        (faulty("garbage"), "is not an MCP server: its output starts with 'Welcome to the wrong program'"),
        (faulty("hang", timeout=5), "no answer to the handshake in time; it last said: loading models..."),
        (
            faulty("quiet-garbage", timeout=5),
            "is not an MCP server: its output starts with 'Server started on port 3000'",
        ),
        (
            ServerConfig(name="odd", problem="the environment variable TOKEN is not set (mcp.json:3:9)"),
            "the environment variable TOKEN is not set (mcp.json:3:9)",
        ),
    ],
    ids=["unknown command", "no folder", "not a program", "exits", "garbage", "hangs", "a banner", "bad config"],
)
async def test_a_server_that_can_not_be_used_says_why_in_one_line(
    start_hub: StartHub, config: ServerConfig, reason: str
) -> None:
    bench = await start_hub(config)
    assert bench.status().state is ServerState.FAILED
    assert bench.status().reason == reason
    assert list(bench.hub.tools()) == []


@pytest.mark.parametrize(
    ("server", "extra", "library"), [("duckduckgo", "search", "ddgs"), ("pptx_generator", "slides", "pptx")]
)
async def test_a_bundled_server_without_its_library_says_what_installs_it(
    start_hub: StartHub, monkeypatch: pytest.MonkeyPatch, server: str, extra: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # Python's own way to say that a module is not to be had
    config = ServerConfig(name="odd", command="python", args=("-m", f"console_app.servers.{server}"))
    status = (await start_hub(config)).status()
    assert status.state is ServerState.FAILED
    assert re.fullmatch(
        rf"it needs {library}, which is not installed\. Install it with: .*\b{extra}\b.*", status.reason
    )


async def test_a_server_that_fails_is_a_status_and_the_others_work(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("exits", name="broken"), faulty("plain", name="fine"))
    assert bench.status("broken").state is ServerState.FAILED
    assert bench.status("fine").state is ServerState.READY
    assert (await bench.call("work")).content == "work done"


async def test_a_hanging_server_delays_nobody(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("hang", name="hanging"), faulty("plain", name="fine"), wait=False)
    await bench.until_state(ServerState.READY, "fine")
    assert bench.status("hanging").state is ServerState.STARTING
    assert (await bench.call("work")).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("mode", "how"), [("dies", "exited with code 3: ValueError: out of cheese"), ("killed", "was ended by SIGKILL")]
)
async def test_a_server_that_dies_during_a_call_fails_that_call_and_is_connected_again(
    start_hub: StartHub, mode: str, how: str
) -> None:
    bench = await start_hub(faulty(mode))
    result = await bench.call("work")
    assert result.outcome is Outcome.FAILED
    assert result.error == f"odd went away: {how}. Whether the call took effect is not known."
    status = await bench.until_state(ServerState.READY)
    assert status.tools == 2


async def test_a_servers_own_error_is_its_refusal_of_the_call_whatever_its_code(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("refuses"))
    for code in (-32000, -32001, -32603, 0):
        result = await bench.call("work", code=code, message="out of cheese")
        assert (result.outcome, result.error) == (Outcome.FAILED, "out of cheese"), code
        assert bench.status().state is ServerState.READY


async def test_a_call_made_while_its_server_reconnects_waits_for_it_and_says_so(start_hub: StartHub) -> None:
    bench, reports = await start_hub(faulty("dies")), Reports()
    again = bench.invocation("work")
    await bench.call("work")
    assert bench.status().state is ServerState.RECONNECTING
    result = await bench.hub.call(again, reports)
    assert "odd went away" in (result.error or "")  # it was sent, to the new one
    assert reports.progressed == [(0, None, "waits for server odd"), (0, None, "")]


async def test_a_server_that_keeps_dying_is_given_up_with_its_last_reason(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("dies"))
    for _ in range(4):
        await bench.until(lambda: bench.status().state.settled)
        await bench.call("work")
    status = await bench.until_state(ServerState.FAILED)
    assert status.reason == "exited with code 3: ValueError: out of cheese (gave up after 3 tries)"
    await bench.hub.connection("odd").reconnect()
    assert bench.status().state is ServerState.READY


async def test_bytes_that_are_not_utf8_are_shown_as_replacement_characters(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("bad-utf8"))
    assert (await bench.call("work")).content == "caf\ufffd"


async def test_a_lone_surrogate_does_not_lose_the_answer(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("surrogate"))
    result = await bench.call("work")
    assert result.content.startswith("half \ufffd")
    result.content.encode()


async def test_a_byte_order_mark_is_tolerated(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("bom"))
    assert (await bench.call("work")).content == "work done"


async def test_answers_that_come_as_one_batch_reach_their_calls(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("batch"))
    first, second = await asyncio.gather(bench.call("work", n=1), bench.call("other", n=2))
    assert (first.content, second.content) == ("answer to 1", "answer to 2")


@pytest.mark.parametrize(("indent", "begun"), turns([0, 2, "\t"], [True, False]))
async def test_an_answer_that_is_spread_over_several_lines_is_read(
    start_hub: StartHub, tmp_path: Path, indent: int | str, begun: bool
) -> None:
    bench = await start_hub(faulty("spread"))
    for _ in range(2):
        assert (await bench.call("work", indent=indent, begun=begun)).content == f"}} said over {indent} ["
    assert (tmp_path / "logs" / "odd.log").read_text().count("are joined") == 1


async def test_an_answer_that_is_the_servers_last_and_ends_without_a_line_break_is_read(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("last-words"))
    assert (await bench.call("work")).content == "said at the end"


async def test_structured_content_without_any_other_is_a_result(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("structured-alone"))
    result = await bench.call("work")
    assert (result.outcome, result.structured) == (Outcome.SUCCEEDED, {"degrees": 21})
    assert json.loads(result.content) == {"degrees": 21}


WRONG = "its structured content breaks the tool's own schema: 'warm' is not of type 'integer'"
NONE = "its tool promises structured content and gave none"


@pytest.mark.parametrize(
    ("given", "content", "remark"),
    [
        ({"structuredContent": {"degrees": "warm"}}, '{\n  "degrees": "warm"\n}', WRONG),
        (
            {"content": [{"type": "text", "text": "mail sent"}], "structuredContent": {"degrees": "warm"}},
            "mail sent",
            WRONG,
        ),
        ({"content": [{"type": "text", "text": "mail sent"}]}, "mail sent", NONE),
        ({"content": []}, "", NONE),
    ],
)
async def test_a_result_that_is_not_what_its_tool_said_counts_and_is_marked(
    start_hub: StartHub, given: dict[str, Any], content: str, remark: str
) -> None:
    bench = await start_hub(faulty("off-schema"))
    result = await bench.call("work", **given)
    assert (result.outcome, result.content, result.remark) == (Outcome.SUCCEEDED, content, remark)
    assert result.structured == given.get("structuredContent")


async def test_stray_lines_on_stdout_go_to_the_servers_log(start_hub: StartHub, tmp_path: Path) -> None:
    bench = await start_hub(faulty("chatty"))
    assert (await bench.call("work")).content == "done"
    assert "not an MCP message on stdout: Listening for requests..." in (tmp_path / "logs/odd.log").read_text()


async def test_a_flood_of_nonsense_on_stdout_loses_no_answer_and_fills_no_disk(
    start_hub: StartHub, tmp_path: Path
) -> None:
    bench = await start_hub(faulty("garbage-flood"))
    assert (await bench.call("work")).content == "done"
    assert sum(file.stat().st_size for file in (tmp_path / "logs").iterdir()) <= 2_100_000


async def test_nonsense_without_end_ends_the_connection_with_one_line(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("endless-garbage"))
    result = await bench.call("work")
    assert result.outcome is Outcome.FAILED
    assert "wrote more than 64 MB in a row that hold no MCP message" in (result.error or "")
    assert bench.status().state is not ServerState.READY


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("broken-json", "The server's answer can't be read as JSON-RPC"),
        ("no-object", "The server's answer can't be read as JSON-RPC (result: Input should be an object)."),
        ("wrong-shape", "The server's answer doesn't fit the protocol"),
    ],
)
async def test_an_answer_that_can_not_be_read_fails_its_call_at_once(
    start_hub: StartHub, mode: str, error: str
) -> None:
    bench = await start_hub(faulty(mode))
    result = await bench.call("work")
    assert result.outcome is Outcome.FAILED
    assert (result.error or "").startswith(error)
    assert bench.status().state is ServerState.READY


async def test_a_flood_on_stderr_neither_blocks_the_server_nor_fills_the_disk(
    start_hub: StartHub, tmp_path: Path
) -> None:
    bench = await start_hub(faulty("stderr-flood"))
    assert (await bench.call("work")).content == "done"
    assert sum(file.stat().st_size for file in (tmp_path / "logs").iterdir()) <= 2_100_000


async def test_a_result_over_the_limit_fails_its_call_and_the_session_lives(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("huge-line"))
    result = await bench.call("work")
    assert result.error == "The result is too large: 38 MB, and the limit is 32 MB."
    assert (await bench.call("work")).outcome is Outcome.FAILED
    assert bench.status().state is ServerState.READY


async def test_a_line_without_end_fails_its_call_and_then_the_connection(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("endless-line"))
    result = await bench.call("work")
    assert result.error == "The result is too large: more than the limit of 32 MB."
    await bench.until(lambda: bench.status().state is not ServerState.READY)
    assert bench.status().reason == "wrote a line of more than 256 MB without an end"


async def test_cancelling_a_call_reaches_the_server_and_the_session_lives(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("never-answers"))
    call = asyncio.create_task(bench.call("work"))
    await bench.until_logged("called work")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await bench.until_logged("cancelled by the client")
    assert bench.status().state is ServerState.READY


async def test_closing_during_a_call_says_that_the_server_was_stopped(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("never-answers"))
    call = asyncio.create_task(bench.call("work"))
    await bench.until_logged("called work")
    await bench.hub.close()
    assert (await call).error == "odd was stopped during the call."
    assert bench.status().state is ServerState.STOPPED
    assert (await bench.hub.call(LATE, Reports())).error == "The server odd is stopped."
