"""Tools that the model searches for: `/context` and the servers screen say what that saves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tui.parts import Server, Tools, app, chat, echo, see, seen, until

SAVED = re.compile(r"212 tools, ([\d,]+) tokens in each request instead of ([\d,]+)")
ON_SERVERS = re.compile(r"212 tools on · ~([\d,]+) tokens in every request instead of ~([\d,]+)")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_context_and_servers_say_what_the_search_saves(tmp_path: Path, size: tuple[int, int]) -> None:
    there = Tools({("lab", f"work_{number}_{'and_more' * 30}"): echo for number in range(212)})
    console = app(tmp_path, tools=there, server_statuses=lambda: [Server("lab")])
    async with console.run_test(size=size) as pilot:
        chat(console).prompt_area.take("/context")
        await until(pilot, lambda: SAVED.search(" ".join(seen(console).split())) is not None, "what it saves")
        said = SAVED.search(" ".join(seen(console).split()))
        await pilot.press("escape", "ctrl+l")
        await see(pilot, "212 tools on")
        summed = ON_SERVERS.search(seen(console))
    assert said is not None
    assert summed is not None
    assert summed[1] == said[1]
    assert int(summed[2].replace(",", "")) > 20 * int(said[1].replace(",", ""))
