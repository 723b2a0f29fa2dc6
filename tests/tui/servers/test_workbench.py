"""A tool is opened and run, a server's wire is read: on real servers, with keys."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.config.files import Paths
from console_app.config.servers import Selection, ServerChoice, ServerConfig
from console_app.console.servers.switches import HubSwitches
from console_app.domain.ports import Invocation
from console_app.mcp_client import Hub
from console_app.mcp_client.traffic import MOST_MESSAGES
from console_app.tui.app import FanoutApp
from console_app.tui.servers.screen import ServersScreen
from console_app.tui.servers.wire_screen import MessageScreen, WireList, WireScreen
from console_app.tui.servers.workbench import ToolScreen
from tests.mcp_client.conftest import Reports, faulty
from tests.patience import PATIENCE
from tests.tui.parts import see, seen, services, until

SERVER = Path(__file__).parent / "bench_server.py"
MANY = Path(__file__).parents[2] / "mcp_client" / "fixtures" / "many_server.py"
SECRET = "hunter2-is-a-secret"


def bench(*modes: str, name: str = "bench") -> ServerConfig:
    """The server in some of its modes."""
    return ServerConfig(name=name, command=sys.executable, args=("-S", str(SERVER), *modes))


@asynccontextmanager
async def opened(
    folder: Path, *servers: ServerConfig, size: tuple[int, int] = (120, 40), wait: bool = True
) -> AsyncGenerator[tuple[Pilot[Any], Hub]]:
    """The console on real servers, with the servers screen open on the first of them."""
    configs = servers or (bench(),)
    listeners: list[Callable[[], None]] = []
    hub = Hub(configs, log_dir=folder / "logs", files_dir=folder / "files", retry_delays=(30.0,))
    desk = HubSwitches(
        hub, Paths.find({"FANOUT_HOME": str(folder / "home")}), folder, ServerChoice(configs), Selection()
    )

    def changed() -> None:
        desk.changed()
        for listener in listeners:
            listener()

    hub.on_change = changed
    await hub.start()
    if wait:
        await hub.ready(PATIENCE)
    app = FanoutApp(
        services(
            folder,
            None,
            hub,
            hub=hub,
            servers=desk,
            server_statuses=hub.statuses,
            on_servers_changed=listeners.append,
            calls_path=folder / "calls.json",
            redact=lambda text: text.replace(SECRET, "(hidden)"),
        )
    )
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.press("ctrl+l")
            await until(pilot, lambda: isinstance(pilot.app.screen, ServersScreen))
            yield pilot, hub
    finally:
        hub.on_change = None  # the screens are gone
        await hub.close()


async def to_tool(pilot: Pilot[Any], name: str) -> None:
    await pilot.press("slash", *name, "enter", "down", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ToolScreen), "the tool")


async def called(hub: Hub, tool: str, **arguments: Any) -> None:
    """Calls a tool past the console."""
    spec = next(spec for spec in hub.tools() if spec.tool == tool)
    await asyncio.wait_for(hub.call(Invocation("past", spec, arguments), Reports()), PATIENCE)


async def told(pilot: Pilot[Any], text: str) -> None:
    """Waits for a line that goes away by itself."""
    lines = pilot.app._notifications  # pyright: ignore[reportPrivateUsage]
    await until(pilot, lambda: any(text in one.message for one in lines), text)


async def test_a_tool_opens_with_all_that_is_to_be_said_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, _):
        await to_tool(pilot, "greet")
        said = (
            "Greets somebody.",
            "And says it twice.",
            "only reads, stays within its server (declared by the server)",
            "tokens in every request",
            "runs without asking: mode auto runs what only reads",
            "Input  3 fields, 1 required",
            "who  string · required · at most 20 characters",
            "Whom to greet.",
            "how  value · loud | soft · default soft",
            "each item  object",
            "Output",
            "none in this session",
            "esc back",
        )
        for size in ((120, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            for text in said:
                await see(pilot, text)


async def test_a_tool_behind_the_search_costs_nothing_until_it_is_found(tmp_path: Path) -> None:
    many = ServerConfig(name="lab", command=sys.executable, args=("-S", str(MANY), "200"))
    async with opened(tmp_path, many) as (pilot, _):
        await to_tool(pilot, "work_7")
        await see(pilot, "tokens once the model has found it")
        assert "in every request" not in seen(pilot.app)


async def test_what_a_server_does_not_declare_is_not_said_to_be_declared(tmp_path: Path) -> None:
    async with opened(tmp_path, faulty("plain")) as (pilot, _):
        await to_tool(pilot, "work")
        await see(pilot, "not declared: may change or destroy and reach outside its server")


async def test_a_ping_of_a_server_that_starts_is_answered_at_once(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with opened(tmp_path, faulty("after", str(gate)), wait=False) as (pilot, _):
        await pilot.press("p")
        await told(pilot, "odd is still starting")
        gate.touch()


async def test_a_server_that_rests_is_said_to_rest_wherever_it_is_told_of(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, _):
        await pilot.press("h")
        await see(pilot, "disconnected by you")
        await pilot.press("p")
        await told(pilot, "bench is stopped: disconnected by you until")
        await pilot.press("i")
        await see(pilot, "state      stopped: disconnected by you")


async def test_the_opening_page_offers_what_the_servers_that_are_there_can_do(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, _):  # neither the calculator nor the demo server
        await pilot.press("escape")
        await see(pilot, "Enter writes an example.")
        assert "shows twelve of them" not in seen(pilot.app)
        await pilot.press("3")  # a digit is text
        await see(pilot, "│ 3")
        await pilot.press("backspace", "enter")
        await see(pilot, "│ Use several of the tools that are on at once")


async def test_servers_that_failed_are_counted_below_the_list(tmp_path: Path) -> None:
    async with opened(tmp_path, faulty("plain"), faulty("exits", name="broken"), size=(80, 24)) as (pilot, _):
        await see(pilot, "1 server failed")
        await see(pilot, "2025-11-25")


async def test_a_narrow_wire_says_what_each_message_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path, faulty("logs"), size=(80, 24)) as (pilot, hub):
        await called(hub, "work")
        await pilot.press("w")
        await see(pilot, "tools/call work")
        await see(pilot, "notifications/message a line")


async def test_a_tool_is_run_and_run_again_with_what_it_was_run_with(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, _):
        await to_tool(pilot, "greet")
        await pilot.press("enter")
        await see(pilot, "Call bench.greet")
        await pilot.press(*"Ada", "ctrl+s")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1, "the conversation")
        await see(pilot, "Hello, Ada")
        await pilot.press("ctrl+l")
        await to_tool(pilot, "greet")
        await see(pilot, "1 call · none failed · p50")
        await pilot.press("end")
        await see(pilot, "enter run again with these")
        await pilot.press("enter")
        await see(pilot, "Call bench.greet")
        await see(pilot, "Ada")
        await pilot.press("end", *" L", "ctrl+n")  # another beside it: both run at once
        await see(pilot, "Call a tool")
        await pilot.press(*"greet", "enter")
        await see(pilot, "1 more call will run with it")
        await pilot.press(*"Bob", "ctrl+s")
        await see(pilot, "Hello, Bob")
        assert "Hello, Ada L" in seen(pilot.app)
        await pilot.press("ctrl+l")
        await to_tool(pilot, "greet")
        await see(pilot, "3 calls · none failed")


async def test_escape_half_way_goes_back_a_step_at_a_time_and_runs_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await to_tool(pilot, "greet")
        for _ in range(2):  # the second time as the first
            await pilot.press("enter")
            await see(pilot, "Call bench.greet")
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(pilot.app.screen, ToolScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, ServersScreen))
        assert not [one for one in hub.traffic("bench").after(0) if one.method == "tools/call"]


async def test_failures_are_counted_and_say_what_failed(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, _):
        await to_tool(pilot, "fail")
        await pilot.press("enter")
        await see(pilot, "Call bench.fail")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await see(pilot, "on purpose")
        await pilot.press("ctrl+l")
        await to_tool(pilot, "fail")
        await see(pilot, "1 call · 1 failed")
        await see(pilot, "✗ failed")


async def test_a_server_that_dies_while_its_tool_is_open_is_said_and_nothing_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await to_tool(pilot, "greet")
        await hub.set_enabled("bench", False)
        await see(pilot, "bench is not connected")
        await pilot.press("enter")
        await told(pilot, "its server is not connected")
        assert isinstance(pilot.app.screen, ToolScreen)


async def test_a_schema_fifty_levels_deep_opens_and_folds(tmp_path: Path) -> None:
    async with opened(tmp_path, bench("deep"), size=(80, 24)) as (pilot, _):
        await to_tool(pilot, "abyss")
        await see(pilot, "level0")
        assert "level9" not in seen(pilot.app)
        await pilot.press("o", "end", "up", "up")
        await see(pilot, "level49")
        await pilot.press("o")
        await until(pilot, lambda: "level49" not in seen(pilot.app))


async def test_a_thousand_tools_are_searched_and_one_is_opened(tmp_path: Path) -> None:
    async with opened(tmp_path, bench("many")) as (pilot, _):
        await see(pilot, "1,000 tools")
        await to_tool(pilot, "tool_777")
        await see(pilot, "bench · tool_777")


async def test_a_server_without_tools_has_a_wire_too(tmp_path: Path) -> None:
    async with opened(tmp_path, bench("none")) as (pilot, _):
        await see(pilot, "It offers nothing.")
        await pilot.press("w")
        await see(pilot, "Wire of bench")
        await see(pilot, "tools/list result")


async def test_the_wire_shows_both_ways_live_and_a_message_as_a_tree(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await pilot.press("right", "down", "w")  # on a tool's row as on its server's
        for text in ("→ initialize", "← initialize result", "→ tools/list", "ms"):
            await see(pilot, text)
        await hub.ping("bench")
        await see(pilot, "← ping result")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MessageScreen))
        await see(pilot, "← from bench · result")
        await see(pilot, "jsonrpc  2.0")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, WireScreen))


async def test_the_wire_is_filtered_by_method_and_words_and_paused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await pilot.press("w", "slash", *"initialize")
        await until(pilot, lambda: "tools/list" not in seen(pilot.app))
        await see(pilot, "of ")
        await pilot.press("escape")
        await see(pilot, "→ tools/list")
        await pilot.press("m")
        await see(pilot, "all methods")
        await pilot.press(*"tools/list", "enter")
        await see(pilot, "only tools/list")
        assert "initialize" not in seen(pilot.app)
        await pilot.press("escape", "p")
        await see(pilot, "paused · 0 more since")
        await hub.ping("bench")
        await see(pilot, "paused · 2 more since")
        assert "→ ping" not in seen(pilot.app)
        await pilot.press("p")
        await see(pilot, "→ ping")


async def test_a_secret_is_neither_shown_nor_exported(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await pilot.press("w")
        await called(hub, "greet", who=SECRET)
        await see(pilot, "tools/call result")
        assert SECRET not in seen(pilot.app)
        await pilot.press("up", "enter")
        await see(pilot, "who  (hidden)")
        await pilot.press("escape", "x")
        await told(pilot, "without secrets that are known")
        (file,) = tmp_path.glob("wire-bench-*.jsonl")
        assert file.stat().st_mode & 0o777 == 0o600
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert SECRET not in file.read_text()
        calls = [line for line in lines if line["method"] == "tools/call"]
        assert [(line["direction"], line["kind"]) for line in calls] == [("sent", "request"), ("received", "result")]
        assert calls[0]["message"]["params"]["arguments"] == {"who": "(hidden)"}
        assert calls[1]["seconds"] > 0


async def test_a_flood_on_the_wire_leaves_the_keys_alive_and_says_what_was_dropped(tmp_path: Path) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await pilot.press("w")
        await called(hub, "flood")
        await see(pilot, "dropped: the newest 10,000")
        await pilot.press("home")
        await see(pilot, "→ server/discover")
        await pilot.press("c")
        await until(pilot, lambda: "dropped" not in seen(pilot.app))


async def test_the_cursor_stays_where_a_key_took_it_and_on_its_message_while_older_ones_are_dropped(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (pilot, hub):
        await pilot.press("w")
        await see(pilot, "→ tools/list")
        rows, traffic = pilot.app.screen.query_one(WireList), hub.traffic("bench")
        traffic.keep(b'{"method": "first"}', "notification", "first", None, sent=False)
        rows.look()
        assert rows.cursor == rows.count - 1
        rows.action_move_to(0)
        traffic.keep(b'{"method": "second"}', "notification", "second", None, sent=False)
        rows.look()  # before the console was told that the cursor moved
        assert rows.cursor == 0

        def pour(many: int) -> None:
            for number in range(many):
                traffic.keep(b'{"method": "ping"}', "request", "ping", number, sent=True)
            rows.look()

        pour(MOST_MESSAGES)
        rows.move_to(200)
        message = rows.message
        assert message is not None
        pour(150)
        assert (rows.cursor, rows.message) == (50, message)
        pour(150)
        assert rows.message is not None
        assert (rows.cursor, rows.message.number) == (0, message.number + 100)


async def test_a_letter_means_the_same_on_a_tool_as_on_its_server(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as (pilot, hub):
        await pilot.press("right", "down")
        for text in ("esc close", "f1 help", "enter open"):
            await see(pilot, text)
        await pilot.press("p")
        await told(pilot, "bench answered in")
        await pilot.press("i")
        await see(pilot, "roots      none")
        await see(pilot, "The server says that it")
        await see(pilot, "offers tools")
        await see(pilot, "lets the server ask you (elicitation): forms, pages")
        await pilot.press("escape", "f1")
        await see(pilot, "disconnect the server for an hour")
        await pilot.press("escape", "l")
        await see(pilot, "Log of bench")
        await until(pilot, lambda: "| ready to greet" in seen(pilot.app), "stderr with its time")
        await pilot.press("escape", "h")
        await see(pilot, "stopped: disconnected by you until")
        assert hub.statuses()[0].state == "disabled"
        await pilot.press("r")
        await see(pilot, "● ready")
