"""Calls on real servers: at once on one session, with progress and log lines where they belong."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from console_app.config.servers import ServerConfig
from console_app.domain.tools import Outcome
from console_app.engine.calls.slots import limits_of
from console_app.mcp_client import ServerState
from tests.mcp_client.conftest import Reports, StartHub, faulty

DEMO = ServerConfig(name="demo", command="python", args=("-m", "console_app.servers.demo"))
CALCULATOR = ServerConfig(name="calculator", command="python", args=("-m", "console_app.servers.calculator"))


@pytest.mark.parametrize("calls", [8, 256])
async def test_calls_of_one_server_run_at_once(start_hub: StartHub, calls: int) -> None:
    # The server answers none before all are inside: one after the other would wait for ever.
    bench = await start_hub(faulty("barrier"))
    results = await asyncio.gather(*(bench.call("work", calls=calls) for _ in range(calls)))
    assert {result.content for result in results} == {f"all {calls} were inside at once"}


async def test_progress_arrives_in_order_and_before_the_result(start_hub: StartHub) -> None:
    bench = await start_hub(DEMO)
    reports = Reports()
    result = await bench.call("long_task", reports, task="dig", duration_seconds=0.2, interval_seconds=0.05)
    assert result.content == "done in 0.2 s, 4 steps."
    assert [(progress, total) for progress, total, _ in reports.progressed] == [(n, 4) for n in range(5)]
    assert reports.progressed[-1][2] == "step 4 of 4"


async def test_of_a_flood_of_progress_the_newest_counts(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("progress-flood"))
    reports = Reports()
    assert (await bench.call("work", reports)).content == "done"
    steps = [progress for progress, _, _ in reports.progressed]
    assert steps[-1] == 20_000
    assert steps == sorted(steps)
    assert len(steps) < 10_000
    wire = bench.hub.traffic("odd")
    notices = [one for one in wire.after(0) if one.method == "notifications/progress"]
    assert len(notices) + wire.dropped == 20_000


async def test_output_of_a_call_is_reported_to_its_last_byte_and_a_gap_in_it_is_told(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("output"))
    reports = Reports()
    assert (await bench.call("work", reports, pieces=2000, lost=1000)).content == "done"
    assert "".join(text for _, text, _ in reports.written) == "".join(f"line {step}\n" for step in range(2000))
    assert [dropped for _, _, dropped in reports.written] == [0, 1000, *[0] * 1998]
    assert {stream for stream, _, _ in reports.written} == {"stdout"}
    assert reports.progressed == []


async def test_output_that_is_none_is_progress_and_odd_fields_are_passed_over(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("output"))
    reports = Reports()
    odd = ["text", None, {"text": 7}, {"text": "a", "stream": ["stderr"], "offset": "x"}, {"text": "b", "offset": -5}]
    assert (await bench.call("work", reports, pieces=0, odd=odd)).content == "done"
    assert reports.written == [("text", "a", 0), ("text", "b", 0)]
    assert [progress for progress, _, _ in reports.progressed] == [1, 1, 1]


async def test_of_a_flood_of_log_lines_some_are_reported_and_the_rest_is_counted(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("log-flood"))
    reports = Reports()
    assert (await bench.call("work", reports)).content == "done"
    assert reports.dropped
    assert len(reports.logged) + reports.dropped == 20_000
    assert reports.logged[-1] == ("info", "line 19999")
    assert len(reports.logged) < 15_000


async def test_updates_that_ride_in_progress_are_unpacked_and_their_artifacts_saved(start_hub: StartHub) -> None:
    chart = {"name": "chart.png", "b64": base64.b64encode(b"PNG").decode(), "mime": "image/png"}
    updates = [
        {"type": "artifacts", "artifacts": [chart, "odd"], "progress_message": "the chart is drawn"},
        {"type": "system_message", "message": "low on ink", "subtype": "warning"},
        {"type": "canvas_update", "content": "<b>x</b>", "progress_message": "painted"},
        {"type": "canvas_update", "content": "<b>y</b>"},
        "{broken",
    ]
    bench = await start_hub(faulty("updates"))
    reports = Reports()
    result = await bench.call("work", reports, updates=updates)
    files = {artifact.name: artifact.path for artifact in result.artifacts}
    assert {name: Path(path).read_bytes() for name, path in files.items()} == {
        "chart.png": b"PNG",
        "canvas.html": b"<b>y</b>",  # as it stood at the end
    }
    assert result.content.startswith("done\n[chart.png")  # the model reads where they are
    assert all(f"saved as {path}]" in result.content for path in files.values())
    assert [message for _, _, message in reports.progressed] == [
        *("the chart is drawn", "low on ink", "painted", "canvas update", "MCP_UPDATE:{broken"),
    ]
    assert ("warning", "low on ink") in reports.logged
    assert any("saved as" in line for _, line in reports.logged)


async def test_no_artifact_is_lost_in_a_flood(start_hub: StartHub) -> None:
    data = base64.b64encode(b"x").decode()
    updates = [
        {"artifacts": [{"name": f"{n}.txt", "b64": data, "mime": "text/plain"}]} if n % 10 == 0 else {}
        for n in range(900)
    ]
    bench = await start_hub(faulty("updates"))
    result = await bench.call("work", updates=updates)
    assert [artifact.name for artifact in result.artifacts] == [f"{n}.txt" for n in range(0, 900, 10)]


async def test_arguments_that_only_fanout_fills_in_are_the_settings_and_never_the_models(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("injected"), injected={"_atlas_user": "ada", "_mcp_data": True})
    schema = bench.spec("work").input_schema
    assert (list(schema["properties"]), schema["required"]) == (["text"], ["text"])  # a model doesn't see them
    reports = Reports()
    got = json.loads((await bench.call("work", reports, text="x", _atlas_user="mallory")).content)
    assert (got["_atlas_user"], got["text"]) == ("ada", "x")
    (server,) = got["_mcp_data"]["available_servers"]
    assert (server["server_name"], [tool["name"] for tool in server["tools"]]) == ("odd", ["work", "other"])
    assert reports.logged == [("info", "filled in by Fanout: _atlas_user, _mcp_data")]
    assert json.loads((await bench.call("other", _atlas_user="mallory")).content) == {}


async def test_without_a_setting_nothing_is_filled_in_and_the_models_own_is_still_left_out(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("injected"))
    assert json.loads((await bench.call("work", text="x", _atlas_user="mallory")).content) == {"text": "x"}


async def test_destructive_calls_of_a_server_run_together_but_for_those_on_one_file(start_hub: StartHub) -> None:
    spec = (await start_hub(faulty("destructive"))).spec("work", "odd")
    assert spec.annotations.says_destructive
    assert [limit.why for limit in limits_of(spec, {"command": "make"}, 128)[1:]] == []
    assert [limit.why for limit in limits_of(spec, {"path": "a.py"}, 128)[1:]] == ["another call works on a.py"]


async def test_an_unknown_block_costs_itself_alone_and_says_so(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("odd-blocks"))
    result = await bench.call("work")
    assert result.outcome is Outcome.SUCCEEDED
    text, hologram, image, number, untyped = result.content.splitlines()
    assert text == "the text beside it"
    assert hologram == '[a block of the unknown type \'hologram\': {"type": "hologram", "beam": "blue"}]'
    assert image.startswith("[a block of type image that can't be read (it has no mimeType): {")
    assert number == "[a block without a type: 7]"
    assert untyped == '[a block without a type: {"text": "a"}]'


async def test_progress_and_log_lines_of_calls_side_by_side_stay_apart(start_hub: StartHub) -> None:
    bench = await start_hub(DEMO)
    names = ["red", "green", "blue"]
    reports = {name: Reports() for name in names}
    calls = [bench.call("status_updates", reports[name], stages=[name], interval_seconds=0.05) for name in names]
    await asyncio.gather(*calls)
    for name in names:
        assert reports[name].progressed == [(1, None, name)]
        assert reports[name].logged == [("info", f"{name}: running"), ("notice", "all stages are done")]


async def test_a_log_line_nobody_claims_goes_to_the_only_call_there_is(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("logs"))
    reports = Reports()
    assert (await bench.call("work", reports)).content == "logged"
    assert reports.logged == [("info", "a line")]


async def test_a_log_line_that_may_be_of_several_calls_stands_once_in_the_log_of_its_server(
    start_hub: StartHub,
) -> None:
    bench = await start_hub(faulty("logs"))
    waiting, other = Reports(), Reports()
    call = asyncio.create_task(bench.call("work", waiting, wait=True))
    await asyncio.sleep(0)  # the first call is sent first
    await bench.call("other", other)
    await bench.until_logged("[info] a line")
    assert waiting.logged == other.logged == []  # so it puts off nobody's deadline
    assert (bench.folder / "logs" / "odd.log").read_text().count("a line") == 1
    call.cancel()


@pytest.mark.parametrize("named", ["token", "relatedRequestId", "requestId"])
async def test_a_log_line_that_names_its_call_is_shown_under_that_call_alone(start_hub: StartHub, named: str) -> None:
    bench = await start_hub(faulty("logs"))
    waiting, other = Reports(), Reports()
    call = asyncio.create_task(bench.call("work", waiting, wait=True))
    await asyncio.sleep(0)
    await bench.call("other", other, named=named)
    assert (waiting.logged, other.logged) == ([], [("info", "a line")])
    call.cancel()


async def test_a_log_line_after_a_cancelled_call_is_not_taken_for_the_next_ones_own(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("logs"))
    call = asyncio.create_task(bench.call("work", wait=True))
    await asyncio.sleep(0)  # it is sent first
    await bench.call("work", named="token")
    call.cancel()
    await asyncio.wait({call})
    reports = Reports()
    await bench.call("other", reports)
    assert reports.logged == []
    await bench.until_logged("[info] a line")
    await bench.call("other", reports, ends=True)
    assert reports.logged == [("info", "a line")], "the stopped call has its answer: it writes nothing more"


async def test_a_log_line_of_a_call_that_is_gone_is_nobody_elses(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("logs"))
    reports = Reports()
    await bench.call("other", reports, named="gone")
    assert reports.logged == []
    await bench.until_logged("[info] a line")


async def test_a_failed_tool_is_a_result_and_not_an_exception(start_hub: StartHub) -> None:
    bench = await start_hub(DEMO)
    result = await bench.call("fail", message="no luck\ntoday")
    assert result.outcome is Outcome.FAILED
    assert result.content == "Tool execution failed: no luck\ntoday"
    assert result.error == "no luck today"


async def test_ten_megabytes_of_text_arrive_whole(start_hub: StartHub) -> None:
    bench = await start_hub(DEMO)
    result = await bench.call("big", bytes=10_000_000)
    assert len(result.content) == 10_000_000


async def test_a_cancelled_call_leaves_its_siblings_alone(start_hub: StartHub) -> None:
    bench = await start_hub(DEMO)
    lost, kept = Reports(), Reports()
    doomed = asyncio.create_task(bench.call("long_task", lost, task="a", duration_seconds=600))
    sibling = asyncio.create_task(bench.call("long_task", kept, task="b", duration_seconds=0.2, interval_seconds=0.1))
    await lost.news.wait()
    doomed.cancel()
    await asyncio.wait({doomed})
    assert doomed.cancelled()
    assert (await sibling).outcome is Outcome.SUCCEEDED


async def test_the_bundled_servers_do_what_the_first_prompt_asks(start_hub: StartHub) -> None:
    bench = await start_hub(CALCULATOR)
    expressions = {"355/113": "3.1415929203539825", "sqrt(2)": "1.4142135623730951", "e^pi": "23.140692632779263"}
    results = await asyncio.gather(*(bench.call("evaluate", expression=text) for text in expressions))
    assert [result.content for result in results] == list(expressions.values())


async def test_a_server_sees_no_variable_that_was_not_meant_for_it(
    start_hub: StartHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("LC_TIME", "C")
    bench = await start_hub(faulty("environment", env={"GIVEN": "yes"}))
    environment = json.loads((await bench.call("work")).content)
    assert "OPENAI_API_KEY" not in environment
    assert environment["GIVEN"] == "yes"
    assert {"PATH", "LC_TIME"} <= environment.keys()


async def test_tools_that_a_server_changes_are_listed_again(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("changing"))
    await bench.call("version1")
    await bench.until(lambda: bench.hub.tools()[0].tool != "version1")
    assert bench.hub.tools()[0].tool == "version2"  # five notices, listed once


async def test_every_page_of_a_listing_is_read(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("paging"))
    assert [spec.tool for spec in bench.hub.tools()] == [f"tool{number}" for number in range(50)]


async def test_a_listing_that_never_ends_is_cut_off(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("endless-paging"))
    assert [spec.tool for spec in bench.hub.tools()] == ["one"]
    reasons = [tool.reason for tool in bench.status().rejected]
    assert reasons == ["it is listed twice", "its list goes on after 5,000 entries, or in a circle"]


async def test_a_tool_with_a_bad_schema_is_left_out_alone_and_says_why(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("bad-schema"))
    assert [spec.tool for spec in bench.hub.tools()] == ["good", "untyped", "odd_description"]
    assert bench.spec("untyped").input_schema == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert {tool.name: tool.reason for tool in bench.status().rejected} == {
        "list_schema": "its inputSchema is not an object",
        "no_schema": "it has no inputSchema",
        "wrong_type": "its inputSchema.type is not 'object'",
        "bad_keyword": "its inputSchema is not valid JSON Schema (properties.a.type: 'strnig' is not valid under any of"
        " the given schemas)",
        "deep": "its inputSchema is nested more than 120 levels deep",
        "abyss": "its inputSchema is nested more than 120 levels deep",
        "large_and_wrong": "its inputSchema is not valid JSON Schema (properties.b.type: 'strnig' is no type)",
        "number 10": "it has no name",
        "number 11": "it is not an object",
        "good": "it is listed twice",
    }


async def test_names_on_the_wire_are_legal_and_unique(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("clash", name="a"), faulty("plain", name="a_b"), faulty("plain", name="ä" * 80))
    names = [spec.name for spec in bench.hub.tools()]
    assert len(set(names)) == len(names) == 10
    assert all(
        len(name) <= 64 and name.isascii() and name.replace("_", "").replace("-", "").isalnum() for name in names
    )
    assert (await bench.call("b.c", server="a")).content == "b.c done"
    assert (await bench.call("b c", server="a")).content == "b c done"


@pytest.mark.parametrize("mode", ["no-tools", "shy"])
async def test_capabilities_that_lie_are_tolerated(start_hub: StartHub, mode: str) -> None:
    bench = await start_hub(faulty(mode))
    assert bench.status().state is ServerState.READY
    assert bench.status().tools == (0 if mode == "no-tools" else 2)


async def test_a_disabled_server_is_not_started(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("exits", disabled=True))
    assert bench.status().state is ServerState.DISABLED
    assert bench.status().reason == ""


async def test_what_mcp_json_says_of_a_server_reaches_its_tools(start_hub: StartHub) -> None:
    config = faulty("plain", timeout=12, max_concurrency=3, require_approval=("work",))
    bench = await start_hub(config)
    work, other = bench.spec("work"), bench.spec("other")
    assert (work.timeout, work.server_limit, work.require_approval) == (12, 3, True)
    assert not other.require_approval


async def test_a_server_whose_tools_never_stop_changing_can_be_called(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("restless"))  # each listing is followed by a notice that it is old
    results = [await bench.call("work") for _ in range(2)]
    assert [result.content for result in results] == ["work done"] * 2
