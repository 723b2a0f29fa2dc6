"""/reload: a changed mcp.json takes effect without a new start; only servers that changed are started again."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.config.files import Paths
from console_app.config.files.trusted import is_trusted, trust
from console_app.config.servers import Selection, ServerChoice, choose_servers
from console_app.config.trust import ServerFiles
from console_app.console.servers.switches import HubSwitches
from console_app.mcp_client import Hub
from console_app.tui.app import FanoutApp
from tests.patience import PATIENCE
from tests.tui.parts import decide, see, seen, services, until

SERVER = Path(__file__).parent / "bench_server.py"


@dataclass
class Place:
    """A console in a folder whose own mcp.json is trusted."""

    pilot: Pilot[Any]
    hub: Hub
    desk: HubSwitches
    file: Path
    paths: Paths
    reloaded: list[ServerChoice]

    def write(self, **servers: list[str]) -> None:
        write(self.file, **servers)

    @property
    def text(self) -> str:
        """All words on screen: a long path before them has lines broken anywhere."""
        return " ".join(seen(self.pilot.app).replace("│", " ").split())

    async def reads(self, words: str) -> None:
        """Waits until `text` has them."""
        await until(self.pilot, lambda: words in self.text, words)

    async def reload(self) -> None:
        self.pilot.app.screen_stack[0].prompt_area.take("/reload")  # type: ignore[attr-defined]

    def begun(self, server: str) -> int:
        """How often a server was connected to."""
        return sum(one.method == "initialize" and one.sent for one in self.hub.traffic(server).after(0))


def write(file: Path, **servers: list[str]) -> None:
    entries = {name: {"command": sys.executable, "args": ["-S", str(SERVER), *args]} for name, args in servers.items()}
    file.write_text(json.dumps({"mcpServers": entries}))


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Place]:
    paths, file, bundled = Paths.find({"FANOUT_HOME": str(folder / "home")}), folder / "mcp.json", folder / "b.json"
    bundled.write_text('{"mcpServers": {}}')
    write(file, one=[], two=[], three=[])
    trust(paths, file)

    def choose() -> ServerChoice:
        return choose_servers(paths, folder, mcp_config=None, bundled=bundled)

    listeners: list[Callable[[], None]] = []
    reloaded: list[ServerChoice] = []
    choice = choose()
    hub = Hub(choice.servers, log_dir=folder / "logs", files_dir=folder / "files")
    desk = HubSwitches(hub, paths, folder, choice, Selection())
    files = ServerFiles(paths, folder, choice, choose)
    desk.on_reload, desk.on_write = reloaded.append, files.wrote

    def changed() -> None:
        desk.changed()
        for listener in listeners:
            listener()

    hub.on_change = changed
    await hub.start()
    await hub.ready(PATIENCE)
    app = FanoutApp(
        services(
            folder,
            None,
            hub,
            hub=hub,
            servers=desk,
            server_files=files,
            server_statuses=hub.statuses,
            on_servers_changed=listeners.append,
        )
    )
    try:
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await pilot.pause()
            yield Place(pilot, hub, desk, file, paths, reloaded)
    finally:
        hub.on_change = None
        await hub.close()


async def test_what_changed_is_asked_about_and_only_that_starts_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        place.write(one=[], two=["none"], four=[])
        await place.reload()
        await place.reads("added four · removed three · restarted two")
        await place.reads("Trust this project's files?")
        asked = place.text.partition("restarted two")[2]
        assert {"four", "two", "none"} <= set(asked.split())  # all that would run, down to an argument, in the question
        assert " one " not in asked  # it is as it was
        await decide(place.pilot, "y")
        await place.reads("added four · removed three · restarted two.")
        await until(place.pilot, lambda: all(one.state == "ready" for one in place.hub.statuses()), "all ready")
        assert [one.name for one in place.hub.statuses()] == ["one", "two", "four"]
        assert [place.begun(name) for name in ("one", "two", "four")] == [1, 2, 1]
        assert is_trusted(place.paths, place.file)
        assert [choice.path for choice in place.reloaded] == [place.file]

        await place.reload()  # the second time there is nothing to do
        await place.reads("no server has changed")
        assert place.begun("two") == 2


async def test_of_another_file_the_servers_are_named_and_none_as_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        write(tmp_path / "b.json", one=[], five=[])
        place.file.unlink()
        await place.reload()
        await place.reads("its servers are used now: one, five.")
        assert "removed" not in place.text


async def test_a_no_leaves_everything_as_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        place.write(other=[])
        await place.reload()
        await see(place.pilot, "Trust this project's files?")
        await place.pilot.press("enter")  # no yes
        assert len(place.pilot.app.screen_stack) == 2
        await place.pilot.press("escape")
        await until(place.pilot, lambda: len(place.pilot.app.screen_stack) == 1)
        assert [one.name for one in place.hub.statuses()] == ["one", "two", "three"]
        assert not is_trusted(place.paths, place.file)


async def test_of_a_file_that_another_program_writes_meanwhile_only_what_was_written_here_runs(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        intruder = tmp_path / "intruder"
        theirs = {"mcpServers": {"four": {"command": "touch", "args": [str(intruder)]}}}
        place.desk.on_write = lambda: place.file.write_text(json.dumps(theirs)) and None
        await place.desk.put("four", {"command": sys.executable, "args": ["-S", str(SERVER), "none"]})
        await until(place.pilot, lambda: all(one.state == "ready" for one in place.hub.statuses()), "all ready")
        assert place.begun("four") == 1
        assert not intruder.exists()
        assert not is_trusted(place.paths, place.file)


async def test_a_broken_file_is_one_line_and_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        place.file.write_text('{"mcpServers": {')
        await place.reload()
        await place.reads("Nothing was changed.")
        await place.reads("mcp.json:1:")
        assert [one.state for one in place.hub.statuses()] == ["ready"] * 3


async def test_a_file_that_changes_is_offered_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        await place.pilot.press("ctrl+l")
        await see(place.pilot, "─ Servers ─")
        await place.pilot.press("escape")
        await until(place.pilot, lambda: len(place.pilot.app.screen_stack) == 1)
        assert "has changed" not in place.text
        place.write(one=[], two=[])
        for _ in range(2):
            await place.pilot.press("ctrl+l")
            await see(place.pilot, "─ Servers ─")
            await place.reads("mcp.json changed · /reload reads it ─")  # in the frame, until it is read
            await place.pilot.press("escape")
            await until(place.pilot, lambda: len(place.pilot.app.screen_stack) == 1)
        await place.reads("/reload reads it.")
        assert place.text.count("/reload reads it.") == 1


async def test_a_sent_message_notices_a_changed_file(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        place.write(one=[])
        await place.pilot.press(*"hi", "enter")
        await place.reads("/reload reads it.")


async def test_what_is_written_from_here_is_no_news(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        await place.desk.put("five", {"command": sys.executable, "args": ["-S", str(SERVER)]})
        await place.desk.remove("three")
        await place.pilot.press("ctrl+l")
        await see(place.pilot, "five")
        await place.pilot.press("escape")
        await until(place.pilot, lambda: len(place.pilot.app.screen_stack) == 1)
        await place.reload()
        await place.reads("no server has changed")
        assert "/reload reads it." not in place.text
        assert place.begun("five") <= 1
