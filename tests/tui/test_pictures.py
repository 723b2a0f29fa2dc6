"""Pictures of the main screen and of each dialog; `pytest --snapshot-update` takes them anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.engine import ApprovalGate
from console_app.tui.app import FanoutApp
from tests.tui.parts import Server, Tools, WrittenModel, app, calls, chat, echo, pass_by, say, see, until

Compare = Callable[..., bool]
SIZES = [(120, 40), (80, 24)]
WORK = (
    ("weather_forecast", '{"city": "Oslo"}'),
    ("weather_forecast", '{"city": "Lima"}'),
    ("files_write", '{"path": "report.md", "content": "# Weather report\\n\\nOslo: 3 degrees\\nLima: 22 degrees"}'),
)


async def forecast(invocation: Invocation, reporter: CallReporter) -> str:
    if invocation.arguments["city"] == "Oslo":
        return "3 degrees, rain"
    reporter.progress(31, 50, "fetching the hourly forecast")
    await asyncio.Event().wait()
    return ""


def console(folder: Path, **more: Any) -> FanoutApp:
    """A console with three servers, one of which failed."""
    for name in ("home", "themes"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "history").write_text('"what is 355/113?"\n"compare the weather in Oslo and Lima"\n')
    (folder / "fanout.log").write_text("INFO fanout: started\nWARNING mcp_client: server news failed\n")
    model = WrittenModel(calls(*WORK, text="I'll look those **up together**."), say("Done."), model="gpt-4o")
    servers = [Server("weather"), Server("files"), Server("news", "failed", "command not found: news-mcp", 0)]
    return app(
        folder,
        model,
        Tools({("weather", "forecast"): forecast, ("files", "write"): echo}, read_only=False),
        gate=ApprovalGate(ApprovalMode.YOLO),
        server_statuses=lambda: servers,
        known_models=["openai/gpt-5", "anthropic/claude-opus", "ollama/qwen3-coder"],
        context_window=128_000,
        **more,
    )


def after(*keys: str, shows: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Presses keys and waits until the screen shows something."""

    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press(*keys)
        await see(pilot, shows)

    return run


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_opening_page(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(console(tmp_path), terminal_size=size, run_before=after(shows="many tool calls at once"))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_turn_with_a_queued_message(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press(*"compare", "enter")
        await until(pilot, lambda: any(c.progress for c in chat(pilot.app).ui.shown.transcript.calls.values()))
        await until(
            pilot, lambda: sum(c.outcome is not None for c in chat(pilot.app).ui.shown.transcript.calls.values()) == 2
        )
        await pilot.press(*"and in Hanoi?", "enter")
        await see(pilot, "and in Hanoi?")
        await see(pilot, "62 %")

    assert snap_compare(console(tmp_path), terminal_size=size, run_before=run)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_calls_that_wait_for_approval(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    waiting = console(tmp_path)
    waiting._services.engine.gate.mode = ApprovalMode.ASK

    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press(*"compare", "enter")
        await see(pilot, "3 need you")
        board = chat(pilot.app).boards.approvals
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)
        await pilot.press("3")
        await see(pilot, "3 need you")
        await pass_by(pilot)

    assert snap_compare(waiting, terminal_size=size, run_before=run)


@pytest.mark.parametrize("size", SIZES[1:], ids=str)
def test_forty_calls_that_wait(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    writes = [("files_write", f'{{"path": "part-{n}.md", "content": "one\\ntwo of {n}\\nthree"}}') for n in range(40)]
    many = app(
        tmp_path,
        WrittenModel(calls(*writes)),
        Tools({("files", "write"): echo}, read_only=False),
        gate=ApprovalGate(ApprovalMode.ASK),
    )

    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press("g", "enter")
        await see(pilot, "40 need you")
        board = chat(pilot.app).boards.approvals
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)
        await pilot.press(*"jjjjj")
        await see(pilot, "40 need you")
        await pass_by(pilot)

    assert snap_compare(many, terminal_size=size, run_before=run)


@pytest.mark.parametrize(
    ("keys", "shows"),
    [
        (("slash",), "choose the model"),
        (("f1",), "to what needs you"),
        (("ctrl+p",), "keys and commands"),
        ((*"/theme", "enter"), "Warm orange"),
        ((*"/model", "enter"), "anthropic/claude-opus"),
        (("ctrl+r",), "compare the weather in Oslo"),
        (("ctrl+l",), "command not found"),
        ((*"/log", "enter"), "server news failed"),
    ],
    ids=["completion", "help", "palette", "themes", "models", "history", "servers", "log"],
)
def test_a_dialog(snap_compare: Compare, tmp_path: Path, keys: tuple[str, ...], shows: str) -> None:
    assert snap_compare(console(tmp_path), terminal_size=(100, 32), run_before=after(*keys, shows=shows))


@pytest.mark.parametrize("theme", ["fanout-light", "contrast-dark", "terminal"])
def test_a_turn_in_another_theme(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    themed = console(tmp_path, theme=theme)
    run = after(*"compare", "enter", shows="62 %")
    assert snap_compare(themed, terminal_size=(100, 32), run_before=run)
