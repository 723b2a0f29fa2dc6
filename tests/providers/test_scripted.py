"""A script plays answers, and a broken one is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain.chunks import (
    CallBroken,
    CallClosed,
    CallDelta,
    CallOpened,
    Chunk,
    FinishChunk,
    NoticeChunk,
    ReasoningChunk,
    ReasoningFinished,
    RetryChunk,
    TextChunk,
    TextReplaced,
    UsageChunk,
)
from console_app.domain.errors import AnswerInterrupted, ConfigError, ContextOverflow, ProviderError
from console_app.domain.messages import AssistantMessage, Reasoning, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest, Provider
from console_app.domain.tools import ToolSpec
from console_app.providers import ScriptedProvider
from console_app.providers.scripted import parse_script, read_script
from tests.each import each
from tests.patience import PATIENCE

SCRIPTS = Path(__file__).parent / "scripts"
EVALUATE = ToolSpec(name="calculator_evaluate", server="calculator", tool="evaluate")


def scripted(text: str) -> ScriptedProvider:
    return ScriptedProvider(parse_script(text))


async def play(provider: Provider, prompt: str = "go", *rest: AssistantMessage | ToolMessage) -> list[Chunk]:
    request = ModelRequest((UserMessage(content=prompt), *rest), tools=(EVALUATE,))
    async with provider.stream(request) as chunks:
        return [chunk async for chunk in chunks]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_the_script_of_the_main_job_plays_its_calls_and_then_reads_the_last_result() -> None:
    provider = ScriptedProvider(SCRIPTS / "three_calculations.toml")
    assert (provider.name, provider.model, provider.protocol) == ("scripted", "three-calculations", "native")
    first = await play(provider)
    opened = [chunk for chunk in first if isinstance(chunk, CallOpened)]
    assert [(chunk.index, chunk.name) for chunk in opened] == [(number, "calculator_evaluate") for number in range(3)]
    assert len({chunk.id for chunk in opened}) == 3
    assert [chunk.arguments for chunk in first if isinstance(chunk, CallClosed)] == [
        '{"expression": "355/113"}',
        '{"expression": "sqrt(2)"}',
        '{"expression": "e^pi"}',
    ]
    assert first[-2:] == [UsageChunk(120, 40, None, 0.0004), FinishChunk("tool_calls")]
    second = await play(provider, "go", ToolMessage(tool_call_id="x", content="23.14"))
    assert "`23.14`" in text_of(second)
    assert second[-1] == FinishChunk("stop")
    with pytest.raises(ProviderError, match="no answer left for request 3"):
        await play(provider)


async def test_every_kind_of_step_is_played_in_order() -> None:
    chunks = await play(
        scripted("""
[[answer]]
finish = "length"
steps = [
  { retry = "overloaded", attempt = 2, delay = 0 },
  { notice = "careful", level = "warning" },
  { reasoning = "hm so", provider = "anthropic", data = { signature = "s" } },
  { text = "a b", pieces = "characters" },
  { revise = "c" },
  { wait = 0 },
  { call = "x", id = "", arguments = "{bad", piece = 2 },
  { call = "y", id = "mine", broken = "cut off", sure = false },
]
""")
    )
    assert chunks == [
        RetryChunk(2, 0, "overloaded"),
        NoticeChunk("careful", "warning"),
        ReasoningChunk("hm "),
        ReasoningChunk("so"),
        ReasoningFinished(Reasoning(provider="anthropic", text="hm so", data={"signature": "s"})),
        TextChunk("a"),
        TextChunk(" "),
        TextChunk("b"),
        TextReplaced("c"),
        CallOpened(0, "", "x"),
        CallDelta(0, "{b"),
        CallDelta(0, "ad"),
        CallClosed(0, "{bad"),
        CallOpened(1, "mine", "y"),
        CallDelta(1, "{}"),
        CallBroken(1, "cut off", "{}"),
        UsageChunk(6, 8),
        FinishChunk("length"),
    ]


async def test_loops_count_from_one_inside_texts_and_arguments() -> None:
    chunks = await play(
        scripted("""
[[answer]]
steps = [
  { text = "{{n}}. item of {{prompt}}\\n", times = 3 },
  { repeat = [{ text = "<{{n}}>" }, { call = "calculator.evaluate", arguments = { x = "{{n}}*2" } }], times = 2 },
  { call = "calculator_evaluate", arguments = { list = ["{{n}}", { deep = "{{n}}" }] }, times = 2 },
]
""")
    )
    assert text_of(chunks) == "1. item of go\n2. item of go\n3. item of go\n<1><2>"
    assert [chunk.arguments for chunk in chunks if isinstance(chunk, CallClosed)] == [
        '{"x": "1*2"}',
        '{"x": "2*2"}',
        '{"list": ["1", {"deep": "1"}]}',
        '{"list": ["2", {"deep": "2"}]}',
    ]
    assert [chunk.index for chunk in chunks if isinstance(chunk, CallOpened)] == [0, 1, 2, 3]


async def test_braces_of_code_are_left_alone() -> None:
    assert text_of(await play(scripted("[[answer]]\nsteps = [{ text = 'f\"{n} {{x}}\"' }]"))) == 'f"{n} {{x}}"'


async def test_a_million_pieces_start_at_once_and_leave_the_loop_free() -> None:
    provider = scripted("[[answer]]\nsteps = [{ text = 'word ', times = 1000000 }]")
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    seen = 0
    async with provider.stream(ModelRequest((UserMessage(content="go"),))) as chunks:
        async for _ in chunks:
            seen += 1
            if seen == 5_000:
                break
    counting.cancel()
    assert turns > 100


async def test_a_cut_stream_has_no_finish_reason_and_a_lost_connection_is_an_error() -> None:
    ended = await play(scripted("[[answer]]\nsteps = [{ text = 'so' }, { cut = 'end' }, { text = 'never' }]"))
    assert ended == [TextChunk("so")]
    in_a_call = await play(
        scripted("[[answer]]\nsteps = [{ call = 'x', arguments = '{\"a', unclosed = true }, { cut = 'end' }]")
    )
    assert in_a_call == [CallOpened(0, "script_1_1", "x"), CallDelta(0, '{"a')]
    with pytest.raises(AnswerInterrupted):
        await play(scripted("[[answer]]\nsteps = [{ text = 'so' }, { cut = 'error' }]"))


async def test_errors_of_an_endpoint_arrive_with_their_status() -> None:
    provider = scripted("""
[[answer]]
steps = [{ error = "wait", status = 429, retry_after = 90 }]
[[answer]]
steps = [{ error = "too long", kind = "context_overflow", status = 400 }]
""")
    with pytest.raises(ProviderError) as limited:
        await play(provider)
    assert (limited.value.status, limited.value.retry_after) == (429, 90)
    with pytest.raises(ContextOverflow, match="too long"):
        await play(provider)


async def test_an_empty_answer_is_just_its_end() -> None:
    assert await play(scripted("[[answer]]")) == [UsageChunk(6, 0), FinishChunk("stop")]


async def test_a_hang_ends_when_the_turn_is_stopped() -> None:
    provider = scripted("[[answer]]\nsteps = [{ text = 'so' }, { hang = true }]")
    told = asyncio.Event()

    async def read() -> None:
        async with provider.stream(ModelRequest((UserMessage(content="go"),))) as chunks:
            async for _ in chunks:
                told.set()

    task = asyncio.create_task(read())
    await told.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    assert done
    assert task.cancelled()


async def test_answers_wait_for_the_prompt_they_are_for_and_a_script_can_start_over() -> None:
    provider = scripted("""
repeat = true
[[answer]]
when = "weather"
steps = [{ text = "rain {{use}}" }]
[[answer]]
times = 2
steps = [{ text = "no {{use}}" }]
""")
    said = [text_of(await play(provider, prompt)) for prompt in ("hi", "the WEATHER?", "hi", "hi", "weather")]
    assert said == ["no 1", "rain 1", "no 2", "no 1", "rain 1"]
    always = scripted("[[answer]]\ntimes = 0\nsteps = [{ text = '{{request}}' }]")
    assert [text_of(await play(always)) for _ in range(3)] == ["1", "2", "3"]


@each(
    ("text", "line", "what"),
    [
        ("x = ", 1, "not TOML"),
        ("a = 1\nb = [", 2, "not TOML"),
        ("name = 'x'", 1, "no [[answer]] in it"),
        ("answer = 3", 1, "`answer`"),
        ("[[answer]]\nstep = []", 2, "unknown key `step`"),
        ("[[answer]]\n[[answer]]\ntimes = 'x'", 3, "`times`: input should be a valid integer"),
        ("[[answer]]\nsteps = [\n{ text = 'a' },\n{ text = 'a', wait = 1 },\n]", 4, "a step does exactly one of: text"),
        ("[[answer]]\nsteps = [\n{ text = 'a' },\n{ call = 'x', argumnts = {} },\n]", 4, "unknown key `argumnts`"),
        ("[[answer]]\nsteps = [\n{ cut = 'now' },\n]", 3, "`cut`: input should be 'error' or 'end'"),
        ("[[answer]]\nsteps = [\n{ call = 'x', arguments = 3 },\n]", 3, "`arguments`"),
        ("rate = -1\n[[answer]]", 1, "`rate`"),
    ],
)
def test_a_broken_script_names_its_file_line_and_fault(text: str, line: int, what: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_script(text, where="demo.toml")
    assert error.value.line.startswith(f"Configuration: demo.toml:{line}: {what}")
    assert "docs/scripts.md" in error.value.line


def test_a_script_that_is_not_there_or_is_no_text_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        ScriptedProvider(tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        ScriptedProvider(str(binary))


@given(st.one_of(st.text(max_size=60), st.text(max_size=40).map(lambda text: f"[[answer]]\nsteps = [{{ {text} }}]")))
def test_any_text_is_a_script_or_a_configuration_error(text: str) -> None:
    told = "played"
    try:
        parse_script(text)
    except ConfigError as error:
        told = error.line
    assert "\n" not in told


def test_the_scripts_in_the_documentation_can_be_played(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "scripts.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in page.split("```toml\n")[1:]]
    assert blocks
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.toml"
        file.write_text(block, encoding="utf-8")
        assert read_script(file).answer
