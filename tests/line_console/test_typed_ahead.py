"""A line that was typed before a question is no answer to it, and is not lost."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console_app.console.files import file_changes, text_of
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import Chunk
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import ToolAnnotations, ToolSpec
from console_app.engine import ApprovalGate
from console_app.headless import OutputStreams
from console_app.line_console.console import LineConsole
from console_app.line_console.dialogue import TypedLines
from tests.patience import PATIENCE
from tests.tui.parts import Tools, WrittenModel, calls, echo, say, services


class Shown:
    """A line console on two pipes."""

    face: LineConsole  # what is opened

    def __init__(self, typing: int, reading: int) -> None:
        self._typing, self._reading = typing, reading
        self.text = ""
        self._thread = ThreadPoolExecutor(1)  # its own: a test may hold up what the console reads

    def type(self, *lines: str) -> None:
        os.write(self._typing, "".join(f"{line}\n" for line in lines).encode())

    async def see(self, text: str, times: int = 1, *, or_else: str = "\0") -> None:
        async with asyncio.timeout(PATIENCE):
            while self.text.count(text) < times and or_else not in self.text:
                loop = asyncio.get_running_loop()
                self.text += (await loop.run_in_executor(self._thread, os.read, self._reading, 65536)).decode()


@asynccontextmanager
async def opened(folder: Path, model: WrittenModel, tools: Tools | None = None, **more: Any) -> AsyncGenerator[Shown]:
    tools = tools or Tools({("lab", "do"): echo})
    more.setdefault("gate", ApprovalGate(ApprovalMode.ASK))
    made = services(folder, model, tools, **more)
    (keys, typing), (reading, out) = os.pipe(), os.pipe()
    output = OutputStreams(out)
    try:
        with TypedLines(keys) as typed:
            shown = Shown(typing, reading)
            shown.face = LineConsole(made, output, typed)
            running = asyncio.create_task(shown.face.run(None))
            await shown.see("Fanout, as lines")
            try:
                yield shown
            finally:
                shown.type("/quit")
                await running
        await output.finish()
    finally:
        output.close()
        for descriptor in (keys, typing, reading, out):
            os.close(descriptor)


def held_up(until: asyncio.Event) -> Callable[[], Any]:
    """A /doctor that takes its time: what is typed behind it waits."""

    async def diagnose() -> Sequence[str]:
        await until.wait()
        return ["Nothing is wrong."]

    return diagnose


async def test_an_approval_typed_before_the_call_was_said_approves_nothing(tmp_path: Path) -> None:
    begin, healthy = asyncio.Event(), asyncio.Event()
    model = WrittenModel([begin, *calls(("lab_do", '{"text": "a"}'))])
    async with opened(tmp_path, model, diagnose=held_up(healthy)) as shown:
        shown.type("go")
        await shown.see("Turn 1 begins")
        shown.type("/doctor", "/approve 1", "/deny 1 no")
        begin.set()
        await shown.see("Call 1 needs approval")
        healthy.set()
        await shown.see("Nothing is wrong")
        await shown.see("typed before call 1 was said. Nothing was decided")
        shown.type("/calls")
        await shown.see("1. lab.do, needs approval")
        shown.type("/approve 1")
        await shown.see("Call 1 is approved by you")
        await shown.see("Done")


async def test_a_call_whose_file_is_still_read_is_not_approved_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, read = asyncio.Event(), threading.Event()

    def held(path: Path) -> str | None:
        read.wait(PATIENCE)
        return text_of(path)

    monkeypatch.setattr(file_changes, "text_of", held)
    monkeypatch.setattr(file_changes, "LONGEST_LOOK", 2 * PATIENCE)
    edit = '{"path": "a.txt", "old_text": "a", "new_text": "b"}'
    async with opened(tmp_path, WrittenModel([begin, *calls(("lab_do", edit))], say("Over."))) as shown:
        shown.type("go")
        await shown.see("Turn 1 begins")
        begin.set()
        try:
            for times in itertools.count(1):
                shown.type("/calls", "/approve .")
                await shown.see("is no number of a call", times)
                if "1. lab.do, needs approval" in shown.text:
                    break
            shown.type("/approve 1", "/status")
            await shown.see("Something runs.")
            assert "typed before call 1 was said. Nothing was decided" in shown.text
            shown.type("/approve")
        finally:
            read.set()
        await shown.see("Which?")
        shown.type("1")
        await shown.see("Call 1 is approved by you")
        await shown.see("Over.")
        assert shown.text.count("Call 1 needs approval: ") == 1


class Mixed(Tools):
    """A tool that only reads, and another that does not."""

    def tools(self) -> Sequence[ToolSpec]:
        changes = ToolAnnotations(read_only=False)
        return [one.model_copy(update={"annotations": changes}) if one.tool == "do" else one for one in super().tools()]


async def test_all_that_was_said_to_wait_or_only_what_reads_is_decided_by_a_word(tmp_path: Path) -> None:
    begin, healthy = asyncio.Event(), asyncio.Event()
    wanted = calls(("lab_look", "{}"), ("lab_do", '{"text": "a"}'), ("lab_look", '{"n": 2}'))
    model = WrittenModel([begin, *wanted], say("Over."))
    async with opened(
        tmp_path, model, tools=Mixed({("lab", "look"): echo, ("lab", "do"): echo}), diagnose=held_up(healthy)
    ) as shown:
        shown.type("go")
        await shown.see("Turn 1 begins")
        shown.type("/doctor", "/approve all")
        begin.set()
        await shown.see("Call 3 needs approval")
        healthy.set()
        await shown.see("Nothing was decided")
        assert "approved by you" not in shown.text
        shown.type("/approve reads")
        await shown.see("Call 3 is approved by you")
        assert "Call 1 is approved by you" in shown.text
        assert "Call 2 is approved" not in shown.text
        shown.type("/approve reads")
        await shown.see("No such call waits for approval.")
        shown.type("/deny all not that one")
        await shown.see("\nOver.\n")
        assert shown.text.count("not that one") == 1


async def test_a_line_typed_before_a_question_is_given_back(tmp_path: Path) -> None:
    healthy = asyncio.Event()
    async with opened(tmp_path, WrittenModel(), diagnose=held_up(healthy)) as shown:
        shown.type("/doctor", "/policy", "2", "/status", "and more")
        healthy.set()
        await shown.see("Type a number")
        await shown.see("Yours again, not sent: 2")
        await shown.see("Nothing runs")
        await shown.see("Not sent: and more")
        assert "Policy: " not in shown.text
        shown.type("3")
        await shown.see("Policy: single")


class SlowToClose(WrittenModel):
    """Its connection closes behind the whole answer, in its own time."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async with super().stream(request) as chunks:
            yield chunks
            await asyncio.Event().wait()


async def test_a_command_behind_the_word_that_a_turn_is_done_finds_it_so(tmp_path: Path) -> None:
    async with opened(tmp_path, SlowToClose(say("Hello."), say("Hello again."))) as shown:
        for number, asked in enumerate(("go", "go on"), 1):
            shown.type(asked)
            await shown.see("\nDone", times=number)
            shown.type("/undo")
            await shown.see("The last turn is undone", times=number)
    assert "is running" not in shown.text


async def test_a_full_stop_where_nothing_is_asked_is_no_prompt(tmp_path: Path) -> None:
    """Typed once more than needed, it was sent to the model."""
    model = WrittenModel()
    async with opened(tmp_path, model) as shown:
        shown.type("/policy", ".")
        await shown.see("Type a number")
        shown.type(".", ".")
        await shown.see("There is nothing to leave. Nothing was sent.")
        shown.type("/status")
        await shown.see("Nothing runs")
    assert model.requests == []


async def test_lines_that_were_counted_before_the_loops_turn_came_hold_nothing_up() -> None:
    keys, typing = os.pipe()
    try:
        with TypedLines(keys) as typed:
            os.write(typing, b"one\n")
            await asyncio.sleep(0)  # the loop has seen that something came, and this goes on before its reader
            assert typed.newest() == 1
            held_up = threading.Timer(20, os.write, (typing, b"held up\n"))
            held_up.start()
            assert await typed.next() == "one"
            await asyncio.sleep(0)  # the reader's turn
            os.write(typing, b"two\n")
            assert await typed.next() == "two"
            held_up.cancel()
    finally:
        os.close(keys)
        os.close(typing)
