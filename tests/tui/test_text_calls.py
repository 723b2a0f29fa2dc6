"""Calls written as text, in the console: they overlap, their markup is never seen, none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import Chunk, FinishChunk, TextChunk
from console_app.domain.ports import CallReporter, Invocation, ModelRequest
from console_app.engine import ApprovalGate, Rule
from console_app.providers import TextProtocol
from console_app.textcalls import ToolSignature, render_calls
from tests.each import each
from tests.examples import spread
from tests.tui.parts import Tools, WrittenModel, app, at_rest, chat, say, see, seen, until


class Asked:
    """A call as it is written."""

    def __init__(self, name: str, **arguments: Any) -> None:
        self.name = name
        self.arguments = arguments


ECHO = "lab_echo"


def written(dialect: str, word: str) -> str:
    return render_calls(dialect, [Asked(ECHO, word=word)], [ToolSignature(ECHO, {"type": "object"})])


def gate() -> ApprovalGate:
    return ApprovalGate(ApprovalMode.YOLO, [Rule("allow", "*")])


@each("dialect", ["gemma4", "harmony", "llama4_pythonic"])
async def test_two_calls_run_beside_each_other_when_the_answer_has_ended(dialect: str, tmp_path: Path) -> None:
    running: set[str] = set()
    ready, last = asyncio.Event(), asyncio.Event()

    async def run(invocation: Invocation, _: CallReporter) -> str:
        running.add(invocation.arguments["word"])
        await ready.wait()
        return "done"

    first, second = (written(dialect, word) for word in ("one", "two"))
    answer: Sequence[Chunk | asyncio.Event] = [
        TextChunk(f"{first}\n{second}"), last, FinishChunk("stop"),
    ]  # fmt: skip
    model: Any = TextProtocol(WrittenModel(answer, say("Done.")), dialect=dialect)
    console = app(tmp_path, model, Tools({("lab", "echo"): run}), gate=gate())
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: len(chat(console).ui.shown.transcript.calls) == 2)
        assert not running, "more of the answer may say that it quotes them"
        last.set()
        await until(pilot, lambda: running == {"one", "two"})
        ready.set()
        await see(pilot, "Done.")
        assert [call.dialect for call in chat(console).ui.shown.transcript.calls.values()] == [dialect] * 2


@each(
    "dialect",
    spread(["qwen3_coder_xml", "glm45", "gemma4", "deepseek_v3", "kimi_k3_xtml", "minimax_m3", "harmony"], 3),
)
async def test_no_frame_shows_markup(dialect: str, tmp_path: Path) -> None:
    async def run(_: Invocation, __: CallReporter) -> str:
        return "done"

    text = f"I look.\n\n{written(dialect, 'one')}\n{written(dialect, 'two')}"
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    held = [asyncio.Event() for _ in pieces]
    answer: list[Chunk | asyncio.Event] = []
    for piece, event in zip(pieces, held, strict=True):
        answer += [TextChunk(piece), event]
    model: Any = TextProtocol(WrittenModel([*answer, FinishChunk("stop")], say("Done.")), dialect=dialect)
    console = app(tmp_path, model, Tools({("lab", "echo"): run}), gate=gate())
    async with console.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        for event in held:
            event.set()
            await pilot.pause()
            assert not any(sign in seen(console) for sign in ("<", "|>", "｜", "to=", "[>")), seen(console)
        await see(pilot, "Done.")
        assert "I look." in seen(console)


MARKED = '<tool_call>\n{"name": "lab_echo", "arguments": {"word": "x"}}\n</tool_call>'
QWEN = written("qwen3_coder_xml", "x")
HUNYUAN = written("hunyuan_v3", "x")
BROKEN = {
    "cut in its name": MARKED[:28],
    "cut in its values": MARKED[:-20],
    "no JSON": MARKED.replace('": "x"', '" x"'),
    "a tool there isn't": MARKED.replace("lab_echo", "lab_none"),
    "a mark with a sign": HUNYUAN.replace("<tool_call:opensource>", "<tool_call=lab_echo>"),
    "only thought": f"<think>{MARKED}</think>",
    "a value that goes on": QWEN[: QWEN.index("</parameter>")],
    "a list for arguments": MARKED.replace('{"word": "x"}', '["x"]'),
    "no name": MARKED.replace('"name": "lab_echo", ', ""),
    "a label with a sign": 'Action= lab_echo\nAction Input= {"word": "x"}',
    "a tag with attributes": '<lab_echo word="x"/>',
}


@each("text", BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_call_is_told_of_and_the_model_hears_it(text: str, tmp_path: Path) -> None:
    ran: list[str] = []

    async def run(invocation: Invocation, _: CallReporter) -> str:
        ran.append(str(invocation.arguments))
        return "done"

    written_model = WrittenModel(say(text), say("Well."), say("Well."))
    model: Any = TextProtocol(written_model)
    console = app(tmp_path, model, Tools({("lab", "echo"): run}), gate=gate())
    async with console.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await until(pilot, lambda: bool(chat(console).ui.shown.transcript.history[1:]))
        await at_rest(pilot)
        calls = chat(console).ui.shown.transcript.calls.values()
        assert any(call.error for call in calls) or "nothing was run" in " ".join(seen(console).split())
        if len(written_model.requests) == 1:
            await pilot.press(*"so", "enter")
        await until(pilot, lambda: len(written_model.requests) > 1)
        heard = _words(written_model.requests[1])
        assert "was not run" in heard or "not taken as a call" in heard or "unknown tool" in heard
    assert not ran


def _words(request: ModelRequest) -> str:
    return " ".join(message.content for message in request.messages).lower()
