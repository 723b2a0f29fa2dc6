"""The servers screen: switches that take effect when saved, search, states as they come, servers added and removed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.config.files import Paths
from console_app.config.servers import Selection, ServerChoice, load_mcp_config
from console_app.console.servers.switches import HubSwitches
from console_app.domain.tools import ToolSpec
from console_app.mcp_client import Hub
from console_app.tui.app import FanoutApp
from console_app.tui.servers.screen import ServersScreen
from tests.patience import PATIENCE
from tests.tui.parts import Desk, Server, Tools, app, echo, see, seen, until

TOOLS = Tools({("weather", "forecast"): echo, ("weather", "warnings"): echo, ("files", "write"): echo})
HOSTILE = "[/red][@click=app.quit]x[/]\x1b]52;c;eA==\x07\u202e"


def console(folder: Path, *servers: Server, tools: Tools = TOOLS) -> FanoutApp:
    listed = list(servers) or [
        Server("weather"),
        Server("files"),
        Server("news", "failed", "command not found: news-mcp"),
        Server("mail", "disabled"),
    ]
    return app(folder, tools=tools, server_statuses=lambda: listed)


def desk(console: FanoutApp) -> Desk:
    found = console._services.servers  # pyright: ignore[reportPrivateUsage]
    assert isinstance(found, Desk)
    return found


def is_open(pilot: Pilot[Any]) -> bool:
    return isinstance(pilot.app.screen, ServersScreen)


async def test_a_tool_is_switched_off_when_saved_and_not_before(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "right", "down", "space")
        await see(pilot, "1 change not saved")
        assert "[–] *weather" in seen(console_app)
        assert desk(console_app).selection == Selection()
        await pilot.press("enter")
        await until(pilot, lambda: not is_open(pilot))
        assert desk(console_app).selection.off == {("weather", "tool", "forecast")}


async def test_escape_asks_when_something_is_not_saved(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "space", "escape")
        await see(pilot, "not saved.")
        await pilot.press("escape")
        await until(pilot, lambda: is_open(pilot))
        assert "[ ] *weather" in seen(console_app)
        await pilot.press("escape")
        await see(pilot, "not saved.")
        await pilot.press("d")
        await until(pilot, lambda: len(console_app.screen_stack) == 1)
        assert desk(console_app).selection == Selection()


async def test_what_is_switched_back_is_no_change_and_a_server_partly_on_goes_on_whole_then_off(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "space", "space")
        await see(pilot, "3 tools on")
        assert "not saved" not in seen(console_app)
        await pilot.press("escape")
        await until(pilot, lambda: not is_open(pilot))
        await pilot.press("ctrl+l", "right", "down", "space", "up")
        for mark in ("[–]", "[✓]", "[ ]", "[✓]"):
            await see(pilot, f"{mark} {'*' if mark != '[✓]' else ' '}weather")
            await pilot.press("space")


async def test_typing_searches_names_and_descriptions(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", *"mail")  # a letter that is no key begins a search
        await until(pilot, lambda: "weather" not in seen(console_app))
        await pilot.press("escape")
        await see(pilot, "weather")
        await pilot.press("slash", *"the warn")
        await until(pilot, lambda: "files" not in seen(console_app).split("\n", 5)[5])
        assert "warnings" in seen(console_app)
        assert "forecast" not in seen(console_app)
        await pilot.press("down", "minus", "escape")  # off, out of the search
        await see(pilot, "[–] *weather")


async def test_states_say_what_is_wrong_and_follow_the_servers(tmp_path: Path) -> None:
    listed = [Server("weather", "starting"), Server("news", "failed", "command not found: news-mcp")]
    console_app = app(tmp_path, tools=TOOLS, server_statuses=lambda: listed)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l")
        await see(pilot, "✗ failed: command not found: news-mcp")
        await see(pilot, "starting")
        listed[0] = replace(listed[0], state="ready")
        await see(pilot, "● ready · stdio · 2025-11-25")
        await pilot.press("down", "r")
        await until(pilot, lambda: desk(console_app).asked == [("reconnect", "news")])
        listed[1] = replace(listed[1], state="needs sign-in", reason="it wants you to sign in")
        await see(pilot, "! needs sign-in")
        await pilot.press("s")
        await until(pilot, lambda: ("sign in", "news") in desk(console_app).asked)


async def test_the_mouse_switches_and_opens(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l")
        await see(pilot, "weather")
        await pilot.click("ServerTree", offset=(1, 0))
        await see(pilot, "forecast")
        await pilot.click("ServerTree", offset=(6, 1))
        await see(pilot, "1 change not saved")


async def test_a_server_is_removed_only_after_a_yes(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "d")
        await see(pilot, "Take weather out of mcp.json?")
        await pilot.press("escape", "d")
        await see(pilot, "Take weather out of mcp.json?")
        assert desk(console_app).asked == []
        await pilot.press("y")
        await until(pilot, lambda: desk(console_app).asked == [("remove", "weather")])


async def test_the_form_says_what_is_wrong_beside_the_field(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "a", *"weather", "tab", *"npx 'x", "enter")
        await see(pilot, "is the name of another server")
        await see(pilot, "has a quote that is not closed")
        await pilot.press("2", "tab", "end", "backspace", "backspace", "tab", *"KEY=${SECRET}", "ctrl+s")
        await until(pilot, lambda: "weather2" in desk(console_app).entries)
        assert desk(console_app).entries["weather2"] == {"command": "npx", "env": {"KEY": "${SECRET}"}}


async def test_hostile_names_and_reasons_are_shown_as_text(tmp_path: Path) -> None:
    tools = Tools({(HOSTILE, HOSTILE): echo})
    console_app = console(tmp_path, Server(HOSTILE), Server("b", "failed", HOSTILE), tools=tools)
    async with console_app.run_test(size=(140, 30)) as pilot:
        await pilot.press("ctrl+l", "right", "down")
        await see(pilot, "[/red][@click=app.quit]x[/]␛]52;c;eA==␇<U+202E>")
        await pilot.press("up", "d")
        await see(pilot, "Take [/red]")
        assert not any(c in seen(console_app) for c in "\x1b\x07\u202e")


class Many(Tools):
    def tools(self) -> list[ToolSpec]:
        return [ToolSpec(name=f"big_t{n}", server="big", tool=f"tool_{n}", description="does it") for n in range(1000)]


async def test_a_thousand_tools_are_a_thousand_rows_of_one_widget(tmp_path: Path) -> None:
    console_app = console(tmp_path, Server("big"), tools=Many())
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "end")
        await see(pilot, "tool_999")
        assert len(list(console_app.screen.walk_children())) < 20
        await pilot.press("slash", *"tool_77")
        await see(pilot, "tool_770")
        assert "tool_76 " not in seen(console_app)


async def test_it_is_of_use_in_a_small_terminal(tmp_path: Path) -> None:
    console_app = console(tmp_path)
    async with console_app.run_test(size=(60, 15)) as pilot:
        await pilot.press("ctrl+l", "right")
        for size in ((60, 15), (80, 24)):
            await pilot.resize_terminal(*size)
            await see(pilot, "[✓]  forecast")
            assert "● ready" in seen(console_app), size


# On real servers


@pytest.fixture
async def real(tmp_path: Path) -> AsyncIterator[tuple[HubSwitches, Hub, Paths]]:
    paths = Paths.find({"FANOUT_HOME": str(tmp_path / "home")})
    bundled = tmp_path / "bundled.json"
    bundled.write_text(
        '{"mcpServers": {"calculator": {"command": "python", "args": ["-m", "console_app.servers.calculator"]}}}'
    )
    choice = ServerChoice(load_mcp_config(bundled).servers, (bundled,), bundled=True)
    hub = Hub(choice.servers, log_dir=tmp_path / "logs", files_dir=tmp_path / "files")
    found = HubSwitches(hub, paths, tmp_path, choice, Selection())
    hub.on_change = found.changed
    await hub.start()
    await hub.ready(PATIENCE)
    yield found, hub, paths
    await hub.close()


async def test_saving_switches_real_servers_and_is_kept_for_the_folder(
    tmp_path: Path, real: tuple[HubSwitches, Hub, Paths]
) -> None:
    found, hub, paths = real
    console_app = app(tmp_path, servers=found)
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l")
        await see(pilot, "evaluate")
        await pilot.press("down", "space", "ctrl+s")
        await until(pilot, lambda: not hub.tools())
        assert Selection.load(paths, tmp_path) == Selection({}, frozenset({("calculator", "tool", "evaluate")}))
        await pilot.press("up", "space", "space", "ctrl+s")
        await until(pilot, lambda: hub.statuses()[0].state == "disabled")
        assert Selection.load(paths, tmp_path).servers == {"calculator": False}


async def test_a_server_is_added_connected_and_written_beside_the_bundled_ones(
    tmp_path: Path, real: tuple[HubSwitches, Hub, Paths]
) -> None:
    found, hub, paths = real
    console_app = app(tmp_path, servers=found)
    command = f"{shlex.quote(sys.executable)} -m console_app.servers.demo"
    async with console_app.run_test(size=(110, 30)) as pilot:
        await pilot.press("ctrl+l", "a", *"demo", "tab")
        console_app.screen.query_one("#target").value = command  # pyright: ignore[reportAttributeAccessIssue]
        await pilot.press("enter")
        await until(pilot, lambda: any(spec.server == "demo" for spec in hub.tools()))
        await see(pilot, "long_task")
        assert [server.name for server in load_mcp_config(paths.mcp).servers] == ["demo"]
        await pilot.press("d", "y")  # the cursor is on what was added
        await until(pilot, lambda: [status.name for status in hub.statuses()] == ["calculator"])
        assert not load_mcp_config(paths.mcp).servers
