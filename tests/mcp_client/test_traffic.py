"""The traffic between Fanout and a server is recorded, both ways, from the handshake on, and within bounds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import BaseModel

from console_app.domain.errors import ServerError
from console_app.mcp_client import RawMessage, Traffic, traffic
from console_app.mcp_client.traffic import Kind, json_of, to_keep
from tests.mcp_client.conftest import StartHub, faulty, program


def keep(kept: Traffic, message: BaseModel, kind: Kind, method: str, id: int | None) -> None:
    raw, size = to_keep(message, b"")
    kept.keep(raw, kind, method, id, kind == "request", "", size)


def newest(kept: Traffic) -> RawMessage:
    (found,) = kept.after(kept.revision - 1)
    return found


def request(kept: Traffic, id: int, method: str = "tools/call", **params: Any) -> RawMessage:
    message = JSONRPCRequest(jsonrpc="2.0", id=id, method=method, params=params)
    keep(kept, message, "request", method, id)
    return newest(kept)


def answer(kept: Traffic, id: int, **result: Any) -> RawMessage:
    keep(kept, JSONRPCResponse(jsonrpc="2.0", id=id, result=result), "result", "", id)
    return newest(kept)


async def test_everything_is_there_from_the_handshake_on(start_hub: StartHub) -> None:
    bench = await start_hub(program("asking_server.py", name="asking"))
    await bench.until(lambda: bool(bench.hub.prompts()))
    await bench.call("say")
    found = list(bench.hub.traffic("asking").after(0))
    methods = [(message.sent, message.kind, message.method) for message in found]
    assert (True, "request", "initialize") in methods[:3]
    assert (False, "result", "initialize") in methods[:4]
    assert (True, "request", "tools/list") in methods
    assert (False, "notification", "notifications/message") in methods
    assert methods[-1] == (False, "result", "tools/call")
    assert all(message.seconds is not None for message in found if message.kind == "result")
    assert [message.number for message in found] == sorted({message.number for message in found})
    assert found[-1].size == len(found[-1].raw)


def test_what_a_server_says_counts_once_it_has_shaken_hands() -> None:
    kept = Traffic()
    request(kept, 1, "server/discover")
    answer(kept, 1)  # nothing: it doesn't know the newer way
    request(kept, 2, "initialize")
    answer(kept, 2, capabilities={"tools": {}})
    assert kept.capabilities[0] == ["offers tools"]


async def test_both_sides_say_what_they_can_do(start_hub: StartHub) -> None:
    bench = await start_hub(program("asking_server.py", name="asking"))
    theirs, ours = bench.hub.traffic("asking").capabilities
    assert any(line.startswith("offers tools") for line in theirs)
    assert "lets the server ask you (elicitation): forms, pages" in ours
    assert Traffic().capabilities == ([], [])


async def test_a_ping_takes_the_time_it_takes(start_hub: StartHub) -> None:
    bench = await start_hub(program("asking_server.py", name="one"))
    before = bench.hub.traffic("one").revision
    assert 0 < await bench.hub.ping("one") < 10
    assert "ping" in [message.method for message in bench.hub.traffic("one").after(before) if message.sent]


async def test_a_ping_of_a_server_that_is_down_says_why(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("exits"))
    with pytest.raises(ServerError, match="The server odd is failed: "):
        await bench.hub.ping("odd")


async def test_a_new_connection_goes_on_in_the_same_record(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("plain"))
    await bench.hub.connection("odd").reconnect()
    methods = [message.method for message in bench.hub.traffic("odd").after(0) if message.kind == "request"]
    assert methods.count("initialize") == 2


def test_an_answer_has_the_method_and_the_time_of_its_request() -> None:
    ticks = iter([1.0, 1.25, 2.0])
    kept = Traffic(lambda: next(ticks))
    request(kept, 7)
    told = answer(kept, 7)
    assert (told.method, told.seconds) == ("tools/call", 0.25)
    assert answer(kept, 7).seconds is None  # a second answer answers nothing


def test_the_newest_messages_are_kept_and_the_others_counted() -> None:
    kept = Traffic()
    for number in range(traffic.MOST_MESSAGES + 10):
        request(kept, number)
    assert (len(kept), kept.dropped) == (traffic.MOST_MESSAGES, 10)
    assert [message.id for message in kept.after(kept.revision - 2)] == [10_008, 10_009]
    assert len(list(kept.after(0))) == traffic.MOST_MESSAGES
    assert list(kept.after(kept.revision)) == []


def test_large_messages_take_the_place_of_many() -> None:
    kept = Traffic()
    for number in range(60):
        answer(kept, number, text="x" * 900_000)
    assert len(kept) < 25
    assert kept.dropped == 60 - len(kept)


def test_a_huge_message_is_kept_by_its_beginning_with_the_size_it_had() -> None:
    kept = Traffic()
    told = answer(kept, 1, texts=["y" * 3_000_000, *range(5000)])
    assert told.size > 3_000_000 > len(told.raw)
    assert told.data["result"]["texts"][0].endswith("… (3,000,000 characters)")
    many = answer(kept, 2, many=[["z" * 9000] * 40] * 40)
    assert len(many.raw) < 2 * traffic.LARGEST
    deep: list[Any] = []
    for _ in range(600):
        deep = [deep]
    assert answer(kept, 3, deep=deep, odd="\ud800").data["id"] == 3


def test_a_flood_of_notices_is_counted_and_costs_next_to_nothing() -> None:
    kept = Traffic(lambda: 5.0)
    notice = JSONRPCNotification(jsonrpc="2.0", method="notifications/progress", params={"progress": 1})
    for _ in range(50_000):
        keep(kept, notice, "notification", notice.method, None)
    assert (len(kept), kept.dropped) == (traffic.MOST_NOTICES, 50_000 - traffic.MOST_NOTICES)
    request(kept, 1)  # what is no notice is kept, whatever the flood
    assert len(kept) == traffic.MOST_NOTICES + 1


def test_an_answer_finds_its_request_whenever_somebody_looks() -> None:
    """Its request may be dropped by then, or be of a connection that is gone."""
    kept = Traffic()
    kept.connected()
    keep(kept, JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/call"), "request", "tools/call", 1)
    for number in range(traffic.MOST_MESSAGES):
        keep(kept, JSONRPCResponse(jsonrpc="2.0", id=number + 5, result={}), "result", "", number + 5)
    told = answer(kept, 1)
    assert told.method == "tools/call"
    assert told.seconds is not None
    request(kept, 2)
    kept.connected()
    assert kept.handshake is None
    assert answer(kept, 2).seconds is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), _JSON, max_size=4), st.integers() | st.text())
def test_what_is_kept_is_what_the_sdk_sends(values: dict[str, Any], id: int | str) -> None:
    for message in (
        JSONRPCRequest(jsonrpc="2.0", id=id, method="m", params=values),
        JSONRPCRequest(jsonrpc="2.0", id=id, method="m"),
        JSONRPCNotification(jsonrpc="2.0", method="m", params=values),
        JSONRPCResponse(jsonrpc="2.0", id=id, result=values),
        JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=-1, message="no", data=values)),
        JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=-1, message="no")),
    ):
        assert json_of(message) == message.model_dump_json(by_alias=True, exclude_unset=True).encode()


async def test_a_line_is_kept_as_the_server_wrote_it_unless_it_holds_a_secret(start_hub: StartHub) -> None:
    bench = await start_hub(faulty("environment", env={"API_TOKEN": "hunter2-is-a-secret"}))
    result = await bench.call("work")
    assert "hunter2" not in result.content
    kept = [message.raw for message in bench.hub.traffic("odd").after(0)]
    assert not any(b"hunter2" in raw for raw in kept)
    assert b"(hidden)" in kept[-1]
    assert kept[1].startswith(b'{"jsonrpc": "2.0", ')  # with the blanks that Python's json writes
