"""The console on real servers that ask: what the tests of the board share."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.config.servers import ServerConfig
from console_app.console.talk.question_queue import QuestionQueue
from console_app.domain.approvals import ApprovalMode
from console_app.domain.transcript import CallView
from console_app.engine import ApprovalGate
from console_app.mcp_client import Asking, Hub
from console_app.mcp_client.connecting.asking import OpenUrl
from console_app.tui.app import FanoutApp
from tests.mcp_client.conftest import program
from tests.patience import PATIENCE
from tests.tui.parts import Answer, WrittenModel, app, calls, chat, decide, pass_by, until

SERVER = program("asking_server.py", name="asking")


@dataclass
class Stage:
    """A console whose servers are real, and the pages that it opened."""

    pilot: Pilot[int]
    hub: Hub
    model: WrittenModel
    desk: QuestionQueue
    opened: list[str] = field(default_factory=list[str])

    @property
    def console(self) -> FanoutApp:
        assert isinstance(self.pilot.app, FanoutApp)
        return self.pilot.app

    @property
    def calls(self) -> list[CallView]:
        return list(chat(self.console).ui.shown.transcript.calls.values())

    async def ask(self, *tools: str, **arguments: Any) -> None:
        """Sends a prompt whose answer calls these tools at once, all with the same arguments."""
        await self.answer(calls(*((f"asking_{tool}", json.dumps(arguments)) for tool in tools)))

    async def answer(self, answer: Answer) -> None:
        self.model.answers.append(answer)
        chat(self.console).prompt_area.send("Go")
        await self.pilot.pause()

    async def come_to_the_board(self) -> None:
        """Once something is asked, and half a second."""
        board = chat(self.console).boards.human
        await until(self.pilot, lambda: board.is_asking, "a question")
        board.focus()
        await until(self.pilot, lambda: board.has_focus and board.is_ready, "the board has the focus, and all of it")
        await pass_by(self.pilot)

    async def press(self, *keys: str) -> None:
        """Keys that were meant."""
        await decide(self.pilot, *keys)

    async def ended(self) -> list[Any]:
        """Gives the results of the calls, once all have ended; what servers answer is JSON."""
        await until(self.pilot, lambda: bool(self.calls) and all(c.outcome for c in self.calls), "every call's end")
        return [_read(call.content) for call in self.calls]


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@asynccontextmanager
async def stage(
    folder: Path,
    size: tuple[int, int] = (100, 40),
    *,
    server: ServerConfig = SERVER,
    browser: OpenUrl | None = None,
    limit: float | None = None,
) -> AsyncIterator[Stage]:
    """A console of that size with one server, ready for a prompt. Every call may run. `limit`: seconds for an answer to
    what is asked."""
    desk, model, opened = QuestionQueue(limit), WrittenModel(), list[str]()

    async def open_url(url: str) -> None:
        opened.append(url)

    hub = Hub(
        [server],
        log_dir=folder / "logs",
        files_dir=folder / "files",
        asking=Asking(desk, open_url=browser or open_url),
        definitions=folder / "tools.json",
    )

    def listen(listener: Callable[[], None]) -> None:
        hub.on_change = listener

    hub.asking.sample_with(lambda: model)
    await hub.start()
    try:
        await hub.ready(PATIENCE)
        gate = ApprovalGate(ApprovalMode.YOLO)
        console = app(folder, model, hub, human=desk, gate=gate, on_servers_changed=listen)  # pyright: ignore[reportArgumentType]
        async with console.run_test(size=size) as pilot:
            yield Stage(pilot, hub, model, desk, opened)
    finally:
        await hub.close()
