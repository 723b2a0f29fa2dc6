"""The line at the top: what it says, and what goes when there is no room."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from console_app.domain.amounts import tokens
from console_app.domain.approvals import ApprovalMode
from console_app.engine import ApprovalGate
from console_app.tui.main_screen.bars.status_bar import Status, fitting, pieces
from tests.each import each
from tests.tui.parts import Server, Tools, WrittenModel, app, calls, echo, enter, pass_by, say, see, seen


@each(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (12_400, "12.4k"), (128_000, "128k"), (999_900, "1M"), (1_250_000, "1.2M")],
)
def test_tokens_are_short(count: int, text: str) -> None:
    assert tokens(count) == text


def test_everything_is_said_in_order_and_what_is_usual_is_not() -> None:
    status = Status("gpt-4o", "openai", servers_ready=4, tools=31, context=12_400, context_window=128_000, cost=0.031)
    line = "   ".join(part.plain for part in pieces(status))
    assert line == (
        "fanout   gpt-4o · openai   ask   ● 4 servers · 31 tools   context ▰▱▱▱▱▱▱▱▱▱ 12.4k of 128k   $0.031"
    )
    other = replace(status, strategy="react", policy="sequential", protocol="hermes")
    line = "   ".join(part.plain for part in pieces(other))
    assert "ask   react · sequential   ● 4 servers · 31 tools   hermes   context" in line


def test_yolo_is_red_and_a_failed_server_has_its_own_glyph() -> None:
    parts = pieces(Status(mode=ApprovalMode.YOLO, servers_ready=1, servers_failed=1))
    assert any("error" in str(span.style) for span in parts[2].spans)
    assert parts[3].plain.startswith("✗ 1/2 servers")


@each(
    ("ready", "starting", "failed", "said"),
    [(3, 0, 0, "● 10 tools"), (0, 0, 0, "○ 10 tools"), (1, 2, 0, "◌ 1/3 servers"), (2, 0, 1, "✗ 2/3 servers")],
)
def test_a_number_is_never_without_its_word(ready: int, starting: int, failed: int, said: str) -> None:
    """A stranger can't know what `● 1` is."""
    status = Status("qwen3", servers_ready=ready, servers_starting=starting, servers_failed=failed, tools=10)
    assert said in [part.plain for part in pieces(status, {"words"})]


@each("width", range(20, 140, 4))
def test_what_does_not_fit_goes_by_importance(width: int) -> None:
    status = Status(
        "qwen3-coder", "localhost:8000", "react", "", "single", ApprovalMode.AUTO, 4, 0, 0, 31, "hermes", 41_000,
        128_000, 0.031,
    )  # fmt: skip
    parts = [part.plain for part in fitting(status, width, 2)]
    line = "  ".join(parts)
    goes = ("react", "servers", "localhost", "hermes", "$0.031", "tools", "▰")
    there = [word in line for word in goes]
    assert there == sorted(there), "what matters less went first"
    if width >= 34:
        assert len(line) <= width
    assert "qwen3-coder" in line
    assert "auto" in parts
    assert "41k" in line


def test_an_address_is_whole_where_there_is_room_and_a_context_is_named_at_every_width() -> None:
    status = Status("qwen3", "local-18765 at localhost:18765", servers_ready=3, tools=20, context=4_800)
    assert "qwen3 · local-18765 at localhost:18765" in "  ".join(part.plain for part in fitting(status, 110, 3))
    for width in range(40, 110, 5):
        parts = [part.plain for part in fitting(status, width, 2)]
        assert "context 4.8k" in parts
        assert not any("tokens" in part for part in parts), "tokens are what was spent"


@each("width", [60, 80, 100, 120])
async def test_model_mode_and_context_are_said_at_every_width(tmp_path: Path, width: int) -> None:
    model = WrittenModel(say("Hi."), model="qwen3-coder")
    console = app(tmp_path, model, server_statuses=lambda: [Server("a"), Server("b")], context_window=128_000)
    async with console.run_test(size=(width, 30)) as pilot:
        await pilot.press("h", "enter")
        await see(pilot, "Hi.")
        line = seen(console).split("\n")[0]
        assert len(line) <= width
        assert "qwen3-coder" in line
        assert "auto" in line
        assert "▰▱▱" in line
        assert ("servers" in line) is (width >= 100)
        assert not line.endswith("·")


@each("model", ["gpt-4o", "the-longest-name-of-a-model-that-anybody-gave-one"])
@each("width", [60, 80])
async def test_the_mode_is_always_said(tmp_path: Path, width: int, model: str) -> None:
    gate = ApprovalGate(ApprovalMode.YOLO)
    console = app(tmp_path, WrittenModel(model=model), gate=gate)
    async with console.run_test(size=(width, 30)) as pilot:
        await see(pilot, "yolo")
        line = seen(console).split("\n")[0]
        assert f"fanout  {model[:8]}" in line.replace("   ", "  ")


async def test_what_the_bar_names_is_changed_by_a_click(tmp_path: Path) -> None:
    console = app(tmp_path, WrittenModel(say("Hi.")))
    async with console.run_test(size=(120, 30)) as pilot:
        await enter(pilot, "/policy sequential")
        await see(pilot, "auto   sequential")
        line = seen(console).split("\n")[0]
        await pilot.click(offset=(line.index("sequential") + 2, 0))
        await see(pilot, "one after the other, in order")
        await pilot.press("escape")
        await pilot.click(offset=(line.index("auto") + 1, 0))
        await pass_by(pilot)
        await see(pilot, "plan   sequential")
        await pilot.click(offset=(line.index("servers") + 2, 0))
        await see(pilot, "No server is configured")


async def test_from_the_second_step_on_the_steps_are_counted(tmp_path: Path) -> None:
    going = asyncio.Event()
    model = WrittenModel(calls(("lab_echo", "{}")), [going, *say("Done.")])
    async with app(tmp_path, model, Tools({("lab", "echo"): echo})).run_test(size=(60, 30)) as pilot:
        await pilot.press("h", "enter")
        await see(pilot, "step 2/25")
        going.set()
        await see(pilot, "✓ done")


@each("size", [(59, 30), (80, 14), (20, 5)])
async def test_a_small_terminal_is_told_what_it_takes(tmp_path: Path, size: tuple[int, int]) -> None:
    console = app(tmp_path)
    async with console.run_test(size=size) as pilot:
        await see(pilot, "Fanout needs 60x15.")
        await see(pilot, f"This is {size[0]}x{size[1]}.")
        await pilot.resize_terminal(80, 24)
        await see(pilot, "many tool calls at once")


async def test_a_call_is_not_decided_where_it_can_not_be_seen(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_echo", "{}")), say("Done."))
    tools = Tools({("lab", "echo"): echo}, read_only=False)
    async with app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK)).run_test(size=(60, 15)) as pilot:
        await pilot.press("h", "enter")
        await see(pilot, "1 needs you")
        await pilot.press("tab")
        await see(pilot, "y run it")
        await see(pilot, "esc later")
        await pilot.resize_terminal(60, 14)
        await see(pilot, "Fanout needs 60x15.")
        assert "echo" not in seen(pilot.app), "nothing stands beside it"
        await pass_by(pilot)
        await pilot.press("y")
        await pass_by(pilot)
        await pilot.resize_terminal(60, 15)
        await see(pilot, "1 needs you")
        assert len(model.requests) == 1, "it waits still"
