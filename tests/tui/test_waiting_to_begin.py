"""A message that is sent while things still start: it is there at once, and says what it waits for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.tui.app import FanoutApp
from console_app.tui.prompt.prompt_box import QueueStrip
from tests.tui.parts import NOW, Server, WrittenModel, app, chat, say, see, seen, until


class Starting:
    """Servers that connect when the test says so, and a clock that it moves."""

    def __init__(self, *names: str) -> None:
        self.servers = [Server(name, state="starting", tools=0) for name in names]
        self.now = NOW
        self._moved = asyncio.Event()
        self._changed = lambda: None

    def console(self, folder: Path, model: WrittenModel, **more: Any) -> FanoutApp:
        """A console that starts them."""
        return app(
            folder,
            model,
            server_statuses=lambda: self.servers,
            on_servers_changed=self._listen,
            connect=self._connect,
            clock=lambda: self.now,
            **more,
        )

    def move(self, name: str, state: str, reason: str = "") -> None:
        """A server is in another state."""
        self.servers = [Server(one.name, state, reason) if one.name == name else one for one in self.servers]
        self._changed()
        self._moved.set()

    def _listen(self, listener: Any) -> None:
        self._changed = listener

    async def _connect(self) -> None:
        while any(server.state == "starting" for server in self.servers):
            await self._moved.wait()
            self._moved.clear()


async def send(pilot: Pilot[Any], *texts: str) -> None:
    for text in texts:
        await pilot.press(*text, "enter")


async def test_what_is_sent_is_there_at_once_with_what_it_waits_for(tmp_path: Path) -> None:
    starting, model = Starting("files"), WrittenModel(say("Here."))
    async with starting.console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "▌ hello")
        await see(pilot, "· Waiting for server files · enter starts without it")
        assert "many tool calls at once" not in seen(pilot.app)
        assert "connecting server files" in seen(pilot.app)
        starting.now += 3
        await see(pilot, "Waiting for server files, 3 s · enter starts without it")
        await see(pilot, "connecting server files 3 s")
        assert not model.requests
        starting.move("files", "ready")
        await see(pilot, "Here.")
        assert "Waiting for" not in seen(pilot.app)
        assert seen(pilot.app).count("hello") == 1


async def test_enter_on_an_empty_prompt_starts_without_the_server(tmp_path: Path) -> None:
    starting, model = Starting("files", "web"), WrittenModel(say("Here."))
    starting.move("web", "ready")
    async with starting.console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "Waiting for server files")
        await pilot.press("enter")
        await see(pilot, "Here.")
        assert "Started without server files, still connecting." in seen(pilot.app)
        places = [seen(pilot.app).index(text) for text in ("▌ hello", "Started without", "Here.")]
        assert places == sorted(places)
        await send(pilot, "again")
        await until(pilot, lambda: len(model.requests) == 2 and not chat(pilot.app).console.conversation.busy)
        assert seen(pilot.app).count("Started without") == 1


async def test_of_two_servers_it_speaks_as_of_two(tmp_path: Path) -> None:
    starting, model = Starting("files", "web"), WrittenModel(say("Here."))
    async with starting.console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "Waiting for servers files and web · enter starts without them")
        await pilot.press("enter")
        await see(pilot, "Here.")
        assert "without servers files and web, still connecting. Their tools come as each is ready." in seen(pilot.app)


async def test_the_second_prompt_is_queued_and_escape_gives_the_first_back(tmp_path: Path) -> None:
    starting, model = Starting("files"), WrittenModel(say("One."), say("Two."))
    async with starting.console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await send(pilot, "first", "second")
        await see(pilot, "▌ first")
        assert screen.query_one(QueueStrip).messages == ("second",)
        await see(pilot, "queued · ↑ to edit")
        await pilot.press("escape")
        await until(pilot, lambda: screen.prompt.text == "first" and not screen.console.conversation.busy)
        assert screen.query_one(QueueStrip).messages == ("second",)
        await see(pilot, "paused: enter to send")
        await pilot.press(*" again", "enter")  # it goes where it was, before the second
        starting.move("files", "ready")
        await see(pilot, "Two.")
        assert [request.messages[-1].content for request in model.requests] == ["first again", "second"]


async def test_escape_with_a_draft_keeps_both(tmp_path: Path) -> None:
    starting, model = Starting("files"), WrittenModel(say("One."))
    async with starting.console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        await send(pilot, "first")
        await see(pilot, "▌ first")
        await pilot.press(*"draft", "escape")
        await see(pilot, "paused: enter to send · ↑ to edit")
        assert (screen.prompt.text, list(screen.console.conversation.waiting)) == ("draft", ["first"])
        assert not model.requests


async def test_called_off_the_first_page_is_back(tmp_path: Path) -> None:
    starting = Starting("files")
    async with starting.console(tmp_path, WrittenModel()).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "▌ hello")
        await pilot.press("escape")
        await see(pilot, "many tool calls at once")
        assert chat(pilot.app).prompt.text == "hello"
        assert "connecting" not in seen(pilot.app)


async def test_up_takes_back_what_waits(tmp_path: Path) -> None:
    starting = Starting("files")
    async with starting.console(tmp_path, WrittenModel()).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "▌ hello")
        await pilot.press("up")
        await until(
            pilot, lambda: chat(pilot.app).prompt.text == "hello" and not chat(pilot.app).console.conversation.busy
        )


async def test_a_server_that_fails_is_told_and_the_turn_starts(tmp_path: Path) -> None:
    starting, model = Starting("files"), WrittenModel(say("Here."))
    async with starting.console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "Waiting for server files")
        starting.move("files", "failed", "no such program")
        await see(pilot, "Here.")
        assert "Server files failed: no such program." in seen(pilot.app)


async def test_without_servers_nothing_is_waited_for(tmp_path: Path) -> None:
    model = WrittenModel(say("Here."))
    async with Starting().console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "Here.")
        assert "Waiting" not in seen(pilot.app)


async def test_what_still_loads_is_said_too(tmp_path: Path) -> None:
    loaded = asyncio.Event()
    starting = Starting()
    model = WrittenModel(say("Here."))

    async def start() -> None:
        await loaded.wait()

    async with starting.console(tmp_path, model, start=start).run_test(size=(100, 30)) as pilot:
        await send(pilot, "hello")
        await see(pilot, "Starting · esc take back")
        starting.now += 2
        await see(pilot, "Starting, 2 s")
        loaded.set()
        await see(pilot, "Here.")


async def test_a_message_sent_while_a_summary_is_made_is_seen_in_the_queue(tmp_path: Path) -> None:
    go = asyncio.Event()
    model = WrittenModel(say("One."), say("Two."), say("Three."), say("Four."), [go, *say("A summary.")], say("Five."))
    async with Starting().console(tmp_path, model).run_test(size=(100, 30)) as pilot:
        screen = chat(pilot.app)
        for number in range(1, 5):
            await send(pilot, f"question {number}")
            await until(
                pilot, lambda number=number: len(model.requests) == number and not screen.console.conversation.busy
            )
        await send(pilot, "/compact")
        await see(pilot, "compacting")
        await send(pilot, "next")
        await until(pilot, lambda: screen.query_one(QueueStrip).messages == ("next",))
        go.set()
        await see(pilot, "Five.")
