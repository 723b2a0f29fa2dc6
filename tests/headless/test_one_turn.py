"""A turn without a terminal, on an engine driven by hand, can be ended before or beside its own end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from console_app.domain import events as ev
from console_app.domain.errors import FanoutError
from console_app.domain.messages import UserMessage
from console_app.headless import Interrupts, OutputStreams, RunEnding, run_turn
from console_app.sessions import Library
from tests.each import each
from tests.engine.peers import Model, Tools, calls, engine_of


async def ran(
    model: Model,
    prompt: str | UserMessage = "go",
    *,
    tools: Tools | None = None,
    interrupted: bool = False,
    library: Library | None = None,
) -> tuple[RunEnding, str]:
    """How the turn ended, and what was printed as JSON."""
    with ExitStack() as files:
        reading, writing = os.pipe()
        files.callback(os.close, reading)
        output, interrupts = OutputStreams(writing, os.open(os.devnull, os.O_WRONLY)), Interrupts()
        if interrupted:
            interrupts.asked.set()
        ending = await run_turn(
            engine_of(model, tools), prompt, output=output, output_format="json", interrupts=interrupts, library=library
        )
        await output.finish()
        output.close()
        os.close(writing)
        return ending, os.read(reading, 1_000_000).decode()


async def test_a_run_that_was_interrupted_before_its_turn_begins_none() -> None:
    model = Model()
    ending, printed = await ran(model, interrupted=True)
    assert ending.code == 130
    assert not model.requests
    assert json.loads(printed)["messages"] == []


@each("prompt", ["/call demo.do {}", UserMessage(content="/call demo.do {}")])
async def test_a_prompt_is_never_a_call_by_hand(prompt: str | UserMessage) -> None:
    model, tools = Model(), Tools()
    ending, printed = await ran(model, prompt, tools=tools)
    assert ending == RunEnding(0)
    assert tools.ran == []
    assert [message["content"] for message in json.loads(printed)["messages"]] == ["/call demo.do {}", "done"]


class Refusing:
    """A library that takes the first events and no more."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.store = self
        self.problem = self.set_aside = self.salvaged = None
        self.on_change: Callable[[], None] = lambda: None

    async def append(self, events: Sequence[ev.Event]) -> None:
        self.takes -= 1
        if self.takes < 0:
            raise FanoutError("the session can't be kept")


@each("takes", [0, 1, 2])
async def test_a_turn_that_cannot_be_kept_fails_with_the_reason(takes: int) -> None:
    model = Model(calls({"do": "chatty"}))
    ending, printed = await ran(model, library=Refusing(takes))  # type: ignore[arg-type]
    assert ending.code == 1
    assert "the session can't be kept" in ending.line
    assert json.loads(printed)["session_id"] == "s"
