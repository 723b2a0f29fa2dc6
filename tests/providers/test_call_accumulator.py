"""Calls put together from fragments: however a server cuts and labels them, the same calls come out."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from console_app.domain.tools import ToolSpec
from console_app.providers.formats.openai_chat_calls import ChatCalls, Label
from console_app.providers.stream.calls_in_pieces import ChunkBuffer
from console_app.providers.stream.offered_tools import OfferedTools
from tests.examples import examples
from tests.providers.reading import assert_well_formed, broken_of, calls_of, deltas_of

NAMES = ("get", "get_all", "calculator_evaluate")
values = st.one_of(st.integers(), st.text(max_size=6), st.lists(st.integers(), max_size=2), st.just({"}": "{"}))
objects = st.dictionaries(st.text(max_size=4), values, max_size=3).map(lambda value: json.dumps(value, indent=1))
whole_calls = st.lists(st.tuples(st.sampled_from(NAMES), objects), min_size=1, max_size=5)


class Gathered:
    """Fragments as Chat Completions labels them."""

    def __init__(self, out: ChunkBuffer) -> None:
        specs = [ToolSpec(name=name, server="a", tool=name) for name in NAMES]
        self.calls = ChatCalls(out, OfferedTools(specs))

    def fragment(self, key: int | None, id: str = "", name: str = "", arguments: Any = None) -> None:
        self.calls.fragment(Label(key, id), name, arguments)


def pieces(draw: Any, text: str) -> list[str]:
    """`text` cut at random places."""
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@examples(200)
@given(
    calls=whole_calls,
    data=st.data(),
    keys=st.sampled_from(["own", "same", "none"]),
    ids=st.sampled_from(["own", "none", "empty"]),
    repeat=st.booleans(),
    split_names=st.booleans(),
)
def test_calls_one_after_the_other(
    calls: list[tuple[str, str]], data: st.DataObject, keys: str, ids: str, repeat: bool, split_names: bool
) -> None:
    out = ChunkBuffer()
    gathered = Gathered(out)
    for number, (name, arguments) in enumerate(calls):
        key = {"own": number, "same": 0, "none": None}[keys]
        id = f"call_{number}" if ids == "own" else ""
        # A name comes whole, or in pieces before any arguments; pieces need a key or an id to belong to.
        names = pieces(data.draw, name) if split_names and (keys == "own" or ids == "own") else [name]
        names = [piece for piece in names if piece] or [name]
        gathered.fragment(key, id, names[0])
        for piece in names[1:]:
            gathered.fragment(key, "", piece)
        for piece in pieces(data.draw, arguments):
            repeated = name if repeat and ids == "own" and not split_names else ""
            gathered.fragment(key, id if repeated else "", repeated, piece)
    gathered.calls.finish()
    gathered.calls.over()
    assert_well_formed(list(out))
    assert not broken_of(out)
    assert calls_of(out) == calls
    assert [deltas_of(out, index) for index in range(len(calls))] == [arguments for _, arguments in calls]


@examples(150)
@given(calls=whole_calls, data=st.data())
def test_calls_in_turns(calls: list[tuple[str, str]], data: st.DataObject) -> None:
    out = ChunkBuffer()
    gathered = Gathered(out)
    waiting: list[tuple[int, str]] = []
    for number, (name, arguments) in enumerate(calls):
        gathered.fragment(number, f"call_{number}", name)
        waiting.append((number, arguments))
    while waiting:
        turn = data.draw(st.integers(0, len(waiting) - 1))
        number, rest = waiting.pop(turn)
        size = data.draw(st.integers(1, len(rest)))
        gathered.fragment(number, arguments=rest[:size])
        if rest[size:]:
            waiting.append((number, rest[size:]))
    gathered.calls.finish()
    gathered.calls.over()
    assert_well_formed(list(out))
    assert calls_of(out) == calls


@examples(200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, 0, 1, 2]),
            st.sampled_from(["", "a", "b"]),
            st.sampled_from(["", "get", "get_", "all", "calculator_evaluate"]),
            st.sampled_from([None, "", "{", "}", "{}", '"a":1', "null", " ", {"a": 1}, [1], 5]),
        ),
        max_size=12,
    ),
    st.sampled_from(["", "the token limit"]),
)
@example([(0, "a", "", None), (0, "a", "", '{"a":1}'), (0, "a", "get", None)], "")  # a name behind its arguments
def test_any_fragments_give_each_call_one_end(fragments: list[Any], cut: str) -> None:
    out = ChunkBuffer()
    gathered = Gathered(out)
    for key, id, name, arguments in fragments:
        gathered.fragment(key, id, name, arguments)
    gathered.calls.finish(cut)
    gathered.calls.finish(cut)
    gathered.calls.over()
    assert_well_formed(list(out))
    assert len(gathered.calls) == len(calls_of(out)) + len(broken_of(out))
    for _, text in calls_of(out):
        assert text == "" or isinstance(json.loads(text), dict)


def test_a_call_is_closed_when_the_next_begins_and_not_before() -> None:
    out = ChunkBuffer()
    gathered = Gathered(out)
    gathered.fragment(0, "a", "get_all", '{"a": {}}')
    assert calls_of(out) == []
    gathered.fragment(1, "b", "get")
    assert calls_of(out) == [("get_all", '{"a": {}}')]


def test_numbers_that_json_does_not_have_are_refused() -> None:
    for text, reason in (
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": ' + "[" * 20_000, "nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "Exceeds the limit"),
    ):
        out = ChunkBuffer()
        gathered = Gathered(out)
        gathered.fragment(0, "a", "get_all", text)
        gathered.calls.finish()
        gathered.calls.over()
        (problem,) = broken_of(out)
        assert reason in problem
