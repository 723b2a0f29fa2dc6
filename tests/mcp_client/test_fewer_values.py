"""Messages of a million values: what is read of them, before anything is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, Tool

from console_app.domain.tools import Outcome
from console_app.mcp_client.tools.cleaning import MOST_BLOCKS
from console_app.mcp_client.tools.schemas import OutputSchemas
from console_app.mcp_client.transport.cutting import DEEPEST, MOST_VALUES, cut_of, fewer, forgiven
from tests.each import each
from tests.mcp_client.conftest import StartHub
from tests.mcp_client.test_http import http
from tests.mcp_client.test_http_floods import Peer
from tests.wire_server import WireServer

MARK = "[Fanout: left out, "
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('a"\\{}[],:é\ud800', max_size=6),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text('a"{[', max_size=3), inner, max_size=6),
    max_leaves=40,
)


def message(result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "result": result, "id": 7}).encode()


def values(value: Any) -> int:
    """How many there are in a JSON value, with itself."""
    inner: Any = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values, inner))


@given(st.dictionaries(st.text("bcd", max_size=3), JSON, max_size=5), st.integers(1, 60))
def test_what_is_left_is_whole_json_that_begins_as_it_did(result: dict[str, Any], most: int) -> None:
    line = message(result)
    cut = fewer(line, most)
    read = json.loads(cut)
    assert (read["id"], read["jsonrpc"]) == (7, "2.0")
    if cut == line:
        return
    assert MARK in cut.decode()
    assert cut.partition(MARK.encode())[0].rstrip(b'"').rstrip(b',"[Fanout]:') in line[: len(cut)]
    said = [name for name, value in read["result"].items() if name in result and value != result[name]]
    assert all(cut_of(read["result"][name]) for name in said)
    assert {name: read["result"][name] for name in result if name in read["result"] and name not in said} == {
        name: value for name, value in result.items() if name in read["result"] and name not in said
    }


OVER = MOST_VALUES * 6 // 5


@each(
    "make",
    [
        lambda: {"content": [{"type": "text", "text": "a"}] * OVER},
        lambda: {"content": [{"type": "text", "text": "a", "_meta": {"x": [1] * OVER}}]},
        lambda: {"content": [], "structuredContent": {"rows": [{"a": 1}] * OVER}},
        lambda: {"content": [], "structuredContent": {str(number): number for number in range(OVER)}},
        lambda: {str(number): [number] for number in range(OVER)},
        lambda: {str(number): {"a": [1] * (OVER // 6)} for number in range(10)},
    ],
    ids=["blocks", "within a block", "rows", "names", "names of the result", "many lists"],
)
def test_a_message_of_too_many_values_is_read_to_a_number_of_them(make: Callable[[], dict[str, Any]]) -> None:
    result = make()
    cut = fewer(message(result | {"isError": True}))
    read = json.loads(cut)
    assert values(read) <= 3 * MOST_VALUES
    assert read["id"] == 7
    assert MARK.encode() in cut
    if len(result) < 20:
        assert read["result"]["isError"] is True


@each(
    "end",
    [b'"' + b'\\"' * 1_000_000, b"[" * 200_000, b"]" * 200_000, b"," * 200_000, b'{"a":' * 9],
    ids=["quotes", "opened", "closed", "commas", "half"],
)
def test_what_has_no_end_stays_as_it_is(end: bytes) -> None:
    line = b'{"result": {"content": [' + b"1," * (MOST_VALUES - 5) + end
    assert fewer(line) == line


def test_a_text_without_an_end_is_looked_through_once() -> None:
    with pytest.raises(ValueError, match="Unterminated string"):
        forgiven(b"[" * (DEEPEST // 2) + b'"' + b'\\"' * 1_000_000)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_result_of_too_many_blocks_is_cut_and_says_so(start_hub: StartHub, kind: str) -> None:
    block = b'{"type":"text","text":"a"}'
    answer = b'{"jsonrpc":"2.0","result":{"content":[%b]},"id":IDENTIFIER}' % b",".join([block] * OVER)
    framed = answer if kind == "application/json" else b"event: message\ndata: " + answer + b"\n\n"
    with WireServer(Peer(kind, framed)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        result = await bench.call("work")
        assert result.outcome is Outcome.SUCCEEDED
        lines = result.content.split("\n")
        assert (lines[:-2], len(lines)) == (["a"] * MOST_BLOCKS, MOST_BLOCKS + 2)
        assert " more blocks are left out" in lines[-2]
        assert lines[-1].startswith(MARK)
        await bench.hub.close()


async def test_structured_content_that_was_cut_says_so_and_is_not_judged(start_hub: StartHub) -> None:
    rows = b",".join([b'{"a":1}'] * OVER)
    answer = b'{"jsonrpc":"2.0","result":{"content":[],"structuredContent":{"rows":[%b]}},"id":IDENTIFIER}' % rows
    with WireServer(Peer("application/json", answer)) as server:
        bench = await start_hub(http(f"{server.url}/mcp"))
        result = await bench.call("work")
        assert result.outcome is Outcome.SUCCEEDED
        assert MARK in result.content
        assert MOST_VALUES // 3 < result.content.count('"a": 1') < MOST_VALUES
        await bench.hub.close()


@each(("last", "marked"), [(f"{MARK}9 bytes]", False), ("another text", True)])
async def test_words_in_place_of_what_was_cut_are_no_fault_of_the_tool(last: str, marked: bool) -> None:
    schemas = OutputSchemas()
    said = {"type": "object", "properties": {"rows": {"items": {"type": "integer"}}}}
    schemas.listed([Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": said})])
    result = CallToolResult.model_validate({"content": [], "structuredContent": {"rows": [1, last]}})
    await schemas.validate_tool_result("t", result)
    assert not result.is_error
    assert bool(result.meta) is marked
