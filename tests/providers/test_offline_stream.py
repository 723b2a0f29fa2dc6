"""How the offline model streams, and that no prompt, tool or history can make it fail."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, Chunk, FinishChunk, TextChunk, UsageChunk
from console_app.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest, Provider
from console_app.domain.schema import required
from console_app.domain.tools import Outcome, ToolCall, ToolSpec
from console_app.providers import OfflineProvider
from tests.patience import PATIENCE
from tests.providers.offline_play import ask
from tests.providers.offline_tools import EVERYTHING, FINISHED

PIECES = (
    "calculate 2^64 ( ) (1) (2) sqrt(2) 3*7 and , . ? \n 15% ! - ² π \u202e \x1b ` again just complete anyway",
    "run two long tasks of 6 s read README.md list the files in docs/ add 'x' to my to-do list",
    "create a one-slide PowerPoint about parallel computing search for orders for customer Acme revenue order 12",
    'demo.fail {} {"message": demo_fail }',
)
WORDS = st.sampled_from([word for piece in PIECES for word in piece.split(" ")])
PROMPTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join))
SCHEMAS = st.recursive(
    st.one_of(
        st.none(), st.integers(), st.text(max_size=8), st.sampled_from(["string", "array", "object", "expression"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "properties", "required", "items", "enum", "expression", "todos"]), inner
        ),
    ),
    max_leaves=12,
)
ODD_TOOLS = st.lists(
    st.tuples(st.sampled_from(["evaluate", "update_todo_list", "read_file", "find_orders", "finished", "x"]), SCHEMAS),
    max_size=4,
).map(
    lambda pairs: [
        ToolSpec(name=f"odd_{number}", server="odd", tool=name, input_schema=schema if isinstance(schema, dict) else {})
        for number, (name, schema) in enumerate(pairs)
    ]
)


def check(chunks: list[Chunk], tools: list[ToolSpec]) -> None:
    """The order that every answer keeps: text, the calls by name, then call by call, then usage, then the finish."""
    assert isinstance(chunks[-1], FinishChunk)
    assert isinstance(chunks[-2], UsageChunk)
    assert sum(isinstance(chunk, FinishChunk) for chunk in chunks) == 1
    known = {spec.name: spec for spec in tools}
    names: list[str] = []
    arguments: dict[int, str] = {}
    closed: list[int] = []
    for chunk in chunks[:-2]:
        match chunk:
            case TextChunk(text):
                assert text
                assert not names
            case CallOpened():
                assert not closed, "every call is announced before the first is complete"
                assert chunk.index == len(names)
                names.append(chunk.name)
                arguments[chunk.index] = ""
            case CallDelta(index, text):
                assert index not in closed
                arguments[index] += text
            case CallClosed():
                assert chunk.index == len(closed)
                assert chunk.sure
                assert chunk.arguments == arguments[chunk.index]
                value: Any = json.loads(chunk.arguments)
                assert isinstance(value, dict)
                assert set(required(known[names[chunk.index]].input_schema)) <= set(cast("dict[str, Any]", value))
                closed.append(chunk.index)
            case _:
                raise AssertionError(chunk)
    assert len(closed) == len(names)
    assert (chunks[-1].reason == "tool_calls") == bool(names)


@given(prompt=PROMPTS, odd=ODD_TOOLS, finished=st.booleans())
async def test_any_prompt_with_any_tools_gives_a_whole_answer_with_calls_that_fit(
    prompt: str, odd: list[ToolSpec], finished: bool
) -> None:
    tools = [*odd, *EVERYTHING, *([FINISHED] if finished else [])]
    check((await ask(prompt, tools)).chunks, tools)
    check((await ask(prompt, odd)).chunks, odd)


@given(
    st.lists(st.tuples(PROMPTS, st.sampled_from(Outcome), st.text(max_size=80), st.booleans()), min_size=1, max_size=5)
)
async def test_any_history_ends_in_a_whole_answer(turns: list[tuple[str, Outcome, str, bool]]) -> None:
    tools = [*EVERYTHING, FINISHED]
    history: list[Message] = []
    for number, (prompt, outcome, content, interrupted) in enumerate(turns):
        history.append(UserMessage(content=prompt, origin="fanout" if number and interrupted else "user"))
        call = ToolCall(id=f"c{number}", name=tools[number].name, arguments=content)
        history.append(AssistantMessage(content=content, tool_calls=(call,), interrupted=interrupted))
        history.append(ToolMessage(tool_call_id=call.id, content=content, outcome=outcome))
    check((await ask(history, tools)).chunks, tools)


async def test_every_turn_ends_after_finitely_many_answers_whatever_the_calls_come_to() -> None:
    for outcome in Outcome:
        history: list[Message] = [UserMessage(content="2^8, 3^8, demo.fail {} and read README.md")]
        for _ in range(6):
            reply = await ask(history, EVERYTHING)
            if not reply.calls:
                break
            history.append(reply.message)
            history += [ToolMessage(tool_call_id=one.id, content="x", outcome=outcome) for one in reply.calls]
        else:
            raise AssertionError(outcome)


async def test_it_is_labelled_as_what_it_is() -> None:
    provider: Provider = OfflineProvider()
    assert (provider.name, provider.model, provider.protocol) == ("offline", "rehearsal", "offline")
    await provider.close()


async def test_words_arrive_one_by_one_and_the_call_is_announced_before_its_arguments() -> None:
    reply = await ask("2^64", EVERYTHING)
    kinds = [type(chunk).__name__ for chunk in reply.chunks]
    assert kinds[:4] == ["TextChunk"] * 4
    assert kinds[4] == "CallOpened"
    assert kinds.count("CallDelta") > 1
    usage = reply.chunks[-2]
    assert isinstance(usage, UsageChunk)
    assert usage.output_tokens == 4 + 3


async def test_a_stop_in_the_middle_ends_the_stream_at_once() -> None:
    request = ModelRequest((UserMessage(content="hello"),))
    first = asyncio.Event()

    async def read() -> None:
        async with OfflineProvider(pace=0.01).stream(request) as chunks:
            first.set()
            async for _ in chunks:
                pass

    task = asyncio.create_task(read())
    await first.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    assert done
    assert task.cancelled()


async def test_leaving_the_stream_ends_whoever_still_waits_for_a_word() -> None:
    request = ModelRequest((UserMessage(content="hello"),))
    async with OfflineProvider(pace=0.01).stream(request) as chunks:
        waiting = asyncio.create_task(anext(chunks, None))
        await asyncio.sleep(0)
    assert await asyncio.wait_for(waiting, PATIENCE) is None
