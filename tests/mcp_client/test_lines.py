"""Lines out of chunks: the same lines however the bytes were cut, and bounded memory for those without end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.mcp_client.transport.lines import (
    ENDLESS,
    LARGEST_LINE,
    OVERSIZED_EXCERPT,
    LineSplitter,
    Oversized,
    SpreadLines,
    find_id,
)


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b""))), st.integers(1, 7))
def test_lines_come_out_whole_however_they_were_cut(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    found = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    assert found == lines


TEXTS = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)
LOGGED = st.sampled_from(["", "Listening: {", "[info] a,", '"', "}", "]", "{ port: 3000 }", "Call [", "{port: 1,"])


@given(st.lists(st.tuples(VALUES, st.none() | st.integers(0, 4), st.booleans(), LOGGED), max_size=4))
def test_messages_spread_over_lines_come_out_whole_among_others_and_what_is_logged(
    written: list[tuple[Any, int | None, bool, str]],
) -> None:
    spread, found, messages = SpreadLines(), list[bytes](), list[Any]()
    for number, (value, indent, escaped, logged) in enumerate(written):
        message: Any = {"jsonrpc": "2.0", "id": number, "result": {"value": value}}
        messages.append(message)
        for line in [logged, *json.dumps(message, indent=indent, ensure_ascii=escaped).split("\n")]:
            found += spread.take(line.encode())
    read = [json.loads(line) for line in found if b'"jsonrpc"' in line]
    assert read == messages


def test_a_message_that_never_ends_is_let_go_at_the_limit_and_at_half_a_string() -> None:
    lines = [b"{", b'  "jsonrpc": "2.0",', b'  "result": "half of a']
    spread = SpreadLines()
    assert [each for line in lines for each in spread.take(line)] == lines
    spread, many = SpreadLines(), [b"{", *[b" " * 2**20] * (LARGEST_LINE // 2**20), b"x"]
    assert [each for line in many for each in spread.take(line)] == many


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
