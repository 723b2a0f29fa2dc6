"""Pictures of the servers screen, its form and its question; `pytest --snapshot-update` takes them anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.config.servers import Selection
from console_app.console.servers.switches import Offered
from console_app.mcp_client import LeftOut, ServerState, ServerStatus
from console_app.tui.app import FanoutApp
from tests.tui.parts import Desk, app, see

Compare = Callable[..., bool]


class Shown(Desk):
    """A desk with a server in each state."""

    def statuses(self) -> list[ServerStatus]:
        return [
            ServerStatus(
                "calculator", ServerState.READY, protocol_version="2025-11-25", description="Exact arithmetic"
            ),
            ServerStatus(
                "forge",
                ServerState.READY,
                transport="http",
                protocol_version="2026-07-28",
                server_info="forge-mcp 3.1",
                description="Repositories, issues and pull requests",
                prompts=1,
                rejected=(LeftOut("search_code", "its inputSchema is no object"),),
            ),
            ServerStatus("news", ServerState.FAILED, "command not found: news-mcp"),
            ServerStatus("linear", ServerState.NEEDS_SIGN_IN, "it wants you to sign in", transport="http"),
            ServerStatus("files", ServerState.DISABLED, description="List, read, search and write files"),
        ]

    def offered(self) -> list[Offered]:
        names = ("create_issue", "list_issues", "add_comment", "merge_pull_request")
        return [
            Offered("calculator", "tool", "evaluate", "Works out an expression exactly", 118),
            *(Offered("forge", "tool", name, f"{name.replace('_', ' ')} of a repository", 210) for name in names),
            Offered("forge", "prompt", "review", "Review a pull request"),
            Offered("forge", "resource", "repo://{owner}/{name}", "A repository"),
        ]

    def default_on(self, name: str) -> bool:
        return name != "files"


def console(folder: Path, **more: Any) -> FanoutApp:
    desk = Shown(list, list)
    desk.selection = Selection({}, frozenset({("forge", "tool", "merge_pull_request")}))
    return app(folder, servers=desk, **more)


async def opened(pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+l", "down", "right", "down", "down", "space")
    await see(pilot, "not saved")


@pytest.mark.parametrize("size", [(120, 30), (80, 24), (60, 15)], ids=str)
def test_servers_in_every_state(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(console(tmp_path), terminal_size=size, run_before=opened)


def test_servers_in_a_light_theme(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(console(tmp_path, theme="fanout-light"), terminal_size=(100, 26), run_before=opened)


def test_a_search(snap_compare: Compare, tmp_path: Path) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+l", "slash", *"issue")
        await see(pilot, "list_issues")

    assert snap_compare(console(tmp_path), terminal_size=(100, 26), run_before=run)


def test_the_form_of_a_server(snap_compare: Compare, tmp_path: Path) -> None:
    async def run(pilot: Pilot[Any]) -> None:
        await pilot.press("ctrl+l", "a", *"forge", "tab", *"npx -y forge-mcp", "tab", *"TOKEN=${TOKEN}", "ctrl+s")
        await see(pilot, "another server")

    assert snap_compare(console(tmp_path), terminal_size=(100, 30), run_before=run)
