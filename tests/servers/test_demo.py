"""The demo server: takes its time, reports, fails and returns a lot, as asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.each import each
from tests.servers.stdio_client import StdioClient


@pytest.fixture
def demo() -> Iterator[StdioClient]:
    with StdioClient("console_app.servers.demo") as client:
        yield client


def test_a_long_task_reports_step_n_of_m(demo: StdioClient) -> None:
    arguments = {"task": "dig", "duration_seconds": 0.1, "interval_seconds": 0.04}
    request = demo.send("tools/call", name="long_task", arguments=arguments, _meta={"progressToken": "t"})
    assert demo.answer(request)["result"]["content"][0]["text"] == "done in 0.1 s, 3 steps."
    reports = [notice["params"] for notice in demo.notified]
    assert [(report["progress"], report["total"]) for report in reports] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert {report["progressToken"] for report in reports} == {"t"}


def test_a_client_that_asked_for_no_progress_gets_none(demo: StdioClient) -> None:
    assert demo.call("long_task", task="dig", duration_seconds=0) == ("done in 0 s, 1 step.", False)
    assert demo.notified == []


@each("stages", [["plan", "build"], 2])
def test_status_updates_go_through_the_stages_without_a_total(demo: StdioClient, stages: object) -> None:
    demo.notified.clear()
    arguments = {"stages": stages, "interval_seconds": 0}
    request = demo.send("tools/call", name="status_updates", arguments=arguments, _meta={"progressToken": 7})
    text = demo.answer(request)["result"]["content"][0]["text"]
    names = stages if isinstance(stages, list) else ["stage 1", "stage 2"]
    assert text == f"2 stages done: {', '.join(names)}."
    progress = [notice["params"] for notice in demo.notified if notice["method"] == "notifications/progress"]
    lines = [notice["params"] for notice in demo.notified if notice["method"] == "notifications/message"]
    assert [(report["progress"], report.get("total")) for report in progress] == [(1, None), (2, None)]
    assert [line["data"] for line in lines] == [f"{name}: running" for name in names] + ["all stages are done"]
    assert {line["_meta"]["progressToken"] for line in lines} == {7}


def test_calls_overlap_and_a_cancelled_one_is_not_answered(demo: StdioClient) -> None:
    slow = demo.send("tools/call", name="long_task", arguments={"task": "slow", "duration_seconds": 600})
    quick = demo.send("tools/call", name="long_task", arguments={"task": "quick", "duration_seconds": 0})
    assert "done in 0 s" in demo.answer(quick)["result"]["content"][0]["text"]
    demo.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n' % slow)
    assert demo.request("ping") == {}


def test_fail_fails_with_its_message(demo: StdioClient) -> None:
    assert demo.call("fail", message="no luck") == ("no luck", True)
    assert demo.call("fail") == ("This tool always fails.", True)


@each("size", [0, 1, 79, 80, 81, 1_000_000])
def test_big_returns_exactly_so_many_bytes(demo: StdioClient, size: int) -> None:
    text, failed = demo.call("big", bytes=size)
    assert len(text.encode()) == size
    assert not failed


def test_unreasonable_wishes_are_refused(demo: StdioClient) -> None:
    assert demo.call("big", bytes=10**12) == ("big: `bytes` must be between 0 and 200000000.", True)
    assert demo.call("long_task", task="x", duration_seconds=-1)[1]
    assert demo.call("long_task", task="x", duration_seconds="long") == (
        "long_task: the argument `duration_seconds` must be of type number.",
        True,
    )
