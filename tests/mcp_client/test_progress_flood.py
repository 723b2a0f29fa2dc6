"""A flood of progress that waits is read only for the newest of each call: nothing else has to be parsed."""

from __future__ import annotations

import json

from console_app.mcp_client.transport.lines import MOST_A_SECOND, ProgressFlood


def notice(token: str | int, progress: int, **more: object) -> bytes:
    params = {"progressToken": token, "progress": progress, **more}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).encode()


def test_of_a_hundred_thousand_notices_within_a_second_all_but_a_few_hundred_are_held_back() -> None:
    flood = ProgressFlood(lambda: 100.0)
    passed = sum(not flood.holds(notice(("a", 7)[step % 2], step)) for step in range(100_000))
    assert passed == MOST_A_SECOND
    assert flood.take() == [notice("a", 99_998), notice(7, 99_999)]
    assert flood.take() == []


def test_output_of_many_calls_is_all_read_beside_a_flood_of_progress() -> None:
    flood = ProgressFlood(lambda: 100.0)
    output = {"_meta": {"fanout/output": {"stream": "stdout", "text": "a line", "offset": 0}}}
    held = [
        flood.holds(notice(call, step, **more)) for step in range(20) for call in range(100) for more in ({}, output)
    ]
    assert not any(held[1::2])
    assert sum(held[::2]) == 2000 - MOST_A_SECOND


def test_what_comes_slowly_is_all_read() -> None:
    times = iter(range(10_000))
    flood = ProgressFlood(lambda: next(times) / MOST_A_SECOND)
    assert not any(flood.holds(notice("a", step)) for step in range(1_000))


def test_other_messages_are_never_held_back() -> None:
    flood = ProgressFlood(lambda: 100.0)
    while not flood.holds(notice("a", 1)):
        pass
    quoted = {"method": "notifications/progress", "params": {"progressToken": "a"}}
    for message in (
        {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": quoted}},
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": quoted}},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}},
    ):
        assert not flood.holds(json.dumps(message).encode())
    assert not flood.holds(notice("a", 1, message="x" * 10_000))
