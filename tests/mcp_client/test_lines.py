"""Lines out of chunks: the same lines however the bytes were cut, and bounded memory for those without end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.mcp_client.lines import ENDLESS, OVERSIZED_EXCERPT, LineSplitter, Oversized, find_id


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b""))), st.integers(1, 7))
def test_lines_come_out_whole_however_they_were_cut(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    found = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    assert found == lines


def test_a_line_over_the_limit_is_told_once_while_it_arrives_and_once_at_its_end() -> None:
    splitter = LineSplitter(limit=10_000)
    head, body, tail = b'{"jsonrpc":"2.0","id":4,', b"x" * 20_000, b'"end"}'
    (early,) = splitter.feed(head + body)
    assert isinstance(early, Oversized)
    assert early.head == (head + body)[:OVERSIZED_EXCERPT]
    assert not early.whole
    late, after = splitter.feed(tail + b"\nnext\n")
    assert isinstance(late, Oversized)
    assert late.whole
    assert late.size == len(head + body + tail)
    assert late.tail.endswith(tail)
    assert after == b"next"


def test_a_line_without_end_is_told_so() -> None:
    splitter = LineSplitter(limit=1000)
    found = [event for _ in range(ENDLESS + 5) for event in splitter.feed(b"x" * 1000)]
    assert [event.endless for event in found if isinstance(event, Oversized)] == [False, True]


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{}}', 12),
        (b'{"id": 12, "jsonrpc": "2.0", "result": {}}', 12),
        (b'{"result":{"structuredContent":{"id":5}},"jsonrpc":"2.0","id":12}', 12),
        (b'{"result":{"a":1},"id":12,"jsonrpc":"2.0"}\r', 12),
        (b'{"result":{"structuredContent":{"id":5}}', None),
        (b'{"jsonrpc":"2.0","method":"x","params":{"id":5}}', None),
        (b"nonsense", None),
    ],
)
def test_the_request_that_a_line_answers_is_found_at_its_ends(line: bytes, identifier: int | None) -> None:
    assert find_id(line, line) == identifier
