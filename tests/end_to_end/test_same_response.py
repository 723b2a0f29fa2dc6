"""The prompt that people try parallel calls with: a file is read and the to-do list updated in the same response."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from console_app.config.servers import ServerConfig
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import Chunk, FinishChunk, TextChunk
from console_app.domain.events import TodoItem
from console_app.domain.ports import Provider
from console_app.domain.settings import EngineSettings
from console_app.engine import ApprovalGate, Engine
from console_app.mcp_client import Hub
from console_app.providers import OfflineProvider
from tests.engine.peers import Model, call
from tests.patience import PATIENCE

PROMPT = (
    "Read the README.md file in this directory, and update the To Do list to add 'Check for coolness'. "
    "These are independent actions and should be requested in the SAME response."
)
BLOCKED = "Cannot complete because a previous tool call failed in this turn. Address the failure before completing."
COOL = TodoItem(content="Check for coolness")
READ, TODO, FINISHED = "files_read_file", "fanout_update_todo_list", "fanout_finished"
ALL_AT_ONCE: list[Chunk] = [
    *call(0, {"path": "README.md"}, READ),
    *call(1, {"todos": "[ ] Check for coolness"}, TODO),
    *call(2, {"final_answer": "Read and updated."}, FINISHED),
    FinishChunk("tool_calls"),
]
ANYWAY: list[Chunk] = [*call(0, {"final_answer": "Completed, as you asked."}, FINISHED), FinishChunk("tool_calls")]


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[Hub]:
    work = tmp_path / "work"
    work.mkdir()
    server = ServerConfig(name="files", command="python", args=["-m", "console_app.servers.files"], cwd=str(work))
    files = Hub([server], log_dir=tmp_path / "logs", files_dir=tmp_path / "files")
    await files.start()
    await files.ready(PATIENCE)
    yield files
    await files.close()


def engine_with(provider: Provider, files: Hub, strategy: str) -> Engine:
    settings = EngineSettings(strategy=strategy, builtin_tools=frozenset({"update_todo_list"}))
    return Engine(provider=provider, toolset=files, settings=settings, gate=ApprovalGate(ApprovalMode.YOLO))


async def play(engine: Engine, prompt: str) -> list[ev.Event]:
    async with engine.start(prompt) as turn:
        return [event async for event in turn]


def of(events: list[ev.Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def results(events: list[ev.Event]) -> dict[str, tuple[str, str]]:
    tools = {event.call_id: event.tool for event in of(events, ev.CallAnnounced)}
    return {tools[event.call_id]: (event.outcome.value, event.content) for event in of(events, ev.CallFinished)}


@pytest.mark.parametrize("strategy", ["agentic", "act", "think-act", "react"])
async def test_the_offline_model_asks_for_both_in_one_answer(files: Hub, tmp_path: Path, strategy: str) -> None:
    (tmp_path / "work" / "README.md").write_text("# Fine\n")
    engine = engine_with(OfflineProvider(pace=0), files, strategy)
    events = await play(engine, PROMPT)
    announced = of(events, ev.CallAnnounced)
    assert [event.tool for event in announced[:2]] == ["read_file", "update_todo_list"]
    assert announced[0].step == announced[1].step
    assert "# Fine" in results(events)["read_file"][1]
    assert engine.transcript.todo == (COOL,)
    assert events[-1].outcome == "completed"  # type: ignore[union-attr]
    assert "# Fine" in engine.history[-1].content  # the answer, by `finished` or as text


async def test_a_file_that_is_missing_blocks_completion_until_you_say_so(files: Hub) -> None:
    model = Model(ALL_AT_ONCE, [TextChunk("README.md is missing."), FinishChunk("stop")], ANYWAY)
    engine = engine_with(model, files, "act")
    events = await play(engine, PROMPT)
    came = results(events)
    assert came["read_file"][0] == "failed"
    assert came["update_todo_list"] == ("succeeded", "The to-do list is now:\n[ ] Check for coolness")
    assert came["finished"] == ("blocked", BLOCKED)
    assert engine.transcript.todo == (COOL,)
    again = await play(engine, "just complete anyway")
    assert results(again)["finished"] == ("succeeded", "Completed.")
    assert engine.history[-1].content == "Completed, as you asked."


async def test_the_offline_model_goes_on_after_a_file_that_is_missing(files: Hub) -> None:
    engine = engine_with(OfflineProvider(pace=0), files, "act")
    events = await play(engine, PROMPT)
    assert results(events)["read_file"][0] == "failed"
    assert engine.transcript.todo == (COOL,)
    assert "README.md does not exist" in engine.history[-1].content
    again = await play(engine, "just complete anyway")
    assert "Completed, as you asked." in engine.history[-1].content
    assert again[-1].outcome == "completed"  # type: ignore[union-attr]
