"""A model that answers what a test wrote, tools that wait for the test, and services made of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from console_app import page
from console_app.config.models import ModelChoice
from console_app.config.servers import Selection
from console_app.config.settings import Settings
from console_app.console.models import ConfiguredModels, Models, Wires
from console_app.console.servers.switches import Offered, tokens_of
from console_app.console.services import Services
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallClosed, CallOpened, Chunk, FinishChunk, TextChunk, UsageChunk
from console_app.domain.errors import ConfigError
from console_app.domain.events import Level
from console_app.domain.ports import CallReporter, Invocation, ModelRequest, Provider, Toolset
from console_app.domain.settings import Effort
from console_app.domain.tools import Outcome, ToolAnnotations, ToolResult, ToolSpec
from console_app.engine import ApprovalGate, Engine
from console_app.mcp_client import ServerState, ServerStatus
from console_app.tui.app import FanoutApp
from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.screen import ChatScreen
from tests.patience import PATIENCE
from tests.tui.driven_time import DrivenTime
from tests.tui.quiet import quiet

THEMES = Path(__file__).parents[2] / "themes"
NOW = 1_750_000_000.0  # a fixed clock for pictures

Answer = Sequence[Chunk | asyncio.Event]


def say(text: str) -> Answer:
    """An answer of text alone."""
    return [TextChunk(text), UsageChunk(1200, 80), FinishChunk("stop")]


def calls(*arguments: tuple[str, str], text: str = "") -> Answer:
    """An answer that calls tools: (wire name, JSON arguments) each."""
    chunks: list[Chunk | asyncio.Event] = [TextChunk(text)] if text else []
    for index, (name, json_text) in enumerate(arguments):
        chunks += [CallOpened(index, f"call-{index}", name), CallClosed(index, json_text)]
    return [*chunks, UsageChunk(1500, 120), FinishChunk("tool_calls")]


class WrittenModel(Provider):
    """Answers one after the other; an Event in an answer holds the stream until the test sets it."""

    name = "lab"
    protocol = "native"

    def __init__(self, *answers: Answer, model: str = "test-model") -> None:
        self.model = model
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.slow_close: asyncio.Event | None = None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[Chunk]]:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else say("That is all.")
        yield self._chunks(answer)
        if self.slow_close is not None:
            await self.slow_close.wait()

    def effort_for(self, asked: Effort | None) -> str:
        """It takes any."""
        return asked or ""

    async def _chunks(self, answer: Answer) -> AsyncIterator[Chunk]:
        for item in answer:
            if isinstance(item, asyncio.Event):
                await item.wait()
            else:
                yield item


class ListedModels(ConfiguredModels):
    """So many names; each is a WrittenModel."""

    def __init__(self, *names: str) -> None:
        super().__init__(Settings(), dict.fromkeys(names, ""))

    def choose(self, name: str = "") -> ModelChoice:
        provider, _, model = name.partition("/")
        if provider == "nobody":
            raise ConfigError("there is no provider nobody.", "Providers are listed in config.toml.")
        return ModelChoice(provider, model, "picked")

    async def named(self, choice: ModelChoice) -> ModelChoice:
        return choice

    def open(self, choice: ModelChoice, wires: Wires | None = None) -> WrittenModel:
        opened = WrittenModel(model=choice.model)
        opened.name = choice.provider
        return opened

    def load(self, choice: ModelChoice) -> None:
        pass

    def window(self, choice: ModelChoice) -> int | None:
        return None

    async def names(self) -> tuple[Sequence[str], Sequence[str]]:
        return tuple(self.environ), ()


Run = Callable[[Invocation, CallReporter], Awaitable[str]]


@dataclass
class Tools:
    """Tools by wire name `server_tool`."""

    runs: dict[tuple[str, str], Run] = field(default_factory=dict[tuple[str, str], Run])
    read_only: bool = True

    def tools(self) -> Sequence[ToolSpec]:
        return [
            ToolSpec(
                name=f"{server}_{tool}",
                server=server,
                tool=tool,
                description=f"the {tool} of {server}",
                annotations=ToolAnnotations(read_only=self.read_only),
            )
            for server, tool in self.runs
        ]

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        run = self.runs[invocation.spec.server, invocation.spec.tool]
        return ToolResult(outcome=Outcome.SUCCEEDED, content=await run(invocation, reporter))


@dataclass
class Server:
    """A server as the console sees it."""

    name: str
    state: str = "ready"
    reason: str = ""
    tools: int = 1
    transport: str = "stdio"
    protocol: str = "2025-11-25"


class Desk:
    """The servers screen's side of `server_statuses`, with the tools of the engine; what is asked of it is noted."""

    def __init__(self, servers: Callable[[], Sequence[Server]], tools: Callable[[], Sequence[ToolSpec]]) -> None:
        self._servers = servers
        self._tools = tools
        self.revision = 0
        self.file = Path("mcp.json")
        self.selection = Selection()
        self.entries: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []

    def statuses(self) -> list[ServerStatus]:
        return [
            ServerStatus(s.name, ServerState(s.state), s.reason, s.tools, s.transport, s.protocol)
            for s in self._servers()
        ]

    def offered(self) -> list[Offered]:
        return [Offered(s.server, "tool", s.tool, s.description, tokens_of(s)) for s in self._tools()]

    def default_on(self, name: str) -> bool:
        return all(server.state != "disabled" for server in self._servers() if server.name == name)

    async def apply(self, selection: Selection) -> None:
        self.selection = selection
        self.revision += 1

    async def reconnect(self, name: str) -> None:
        self.asked.append(("reconnect", name))

    async def rest(self, name: str) -> None:
        self.asked.append(("rest", name))

    async def sign_in(self, name: str) -> None:
        self.asked.append(("sign in", name))

    async def set_log_level(self, name: str, level: Level) -> None:
        self.asked.append((f"log from {level}", name))

    def written(self, name: str) -> dict[str, Any]:
        return self.entries.get(name, {})

    async def put(self, name: str, fields: Mapping[str, Any]) -> None:
        self.entries[name] = dict(fields)

    async def remove(self, name: str) -> None:
        self.asked.append(("remove", name))


async def echo(invocation: Invocation, _reporter: CallReporter) -> str:
    """Gives back its arguments."""
    return str(dict(invocation.arguments))


def services(folder: Path, model: WrittenModel | None = None, tools: Toolset | None = None, **more: Any) -> Services:
    """Services whose files are under `folder`. Time stands still, unless a clock is given: pictures are of one moment.

    `pass_by` lets it pass for the keys, and for how long calls took.
    """
    gate = more.pop("gate", None) or ApprovalGate(ApprovalMode.AUTO)
    clock = more.pop("clock", lambda: NOW)
    timing = DrivenTime()
    engine = Engine(
        provider=model or WrittenModel(),
        toolset=tools or Tools(),
        gate=gate,
        clock=clock,
        monotonic=timing.now,
        agents=more.pop("agents", None),
        workplace=more.pop("workplace", None),
    )
    models = Models(engine, ListedModels(*more.pop("known_models", ())))
    models.window = more.pop("context_window", None)
    more.setdefault("servers", Desk(more.get("server_statuses", list[Server]), engine.toolset.tools))
    return Services(
        engine=engine,
        models=models,
        history_path=folder / "history",
        log_path=folder / "fanout.log",
        theme_dirs=more.pop("theme_dirs", [THEMES]),
        working_folder=folder,
        clock=clock,
        timing=timing,
        page=page.of_conversation,
        **more,
    )


def app(folder: Path, model: WrittenModel | None = None, tools: Tools | None = None, **more: Any) -> FanoutApp:
    """The console on `services`."""
    prompt = more.pop("prompt", None)
    return FanoutApp(services(folder, model, tools, **more), prompt=prompt)


def chat(console: App[Any]) -> ChatScreen:
    """The main screen, whatever is open on top of it."""
    screen = console.screen_stack[0]
    assert isinstance(screen, ChatScreen)
    return screen


def seen(console: App[Any]) -> str:
    """The text on screen, line by line."""
    width, height = console.size
    lines = ["".join(segment.text for segment in strip) for strip in painted(console)]
    return "\n".join(line.rstrip() for line in lines[:height] if width)


def painted(console: App[Any]) -> list[Strip]:
    """The lines on screen, with their colours."""
    return console.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]


async def enter(pilot: Pilot[Any], text: str) -> None:
    """Writes a prompt or a command as if it were pasted, and enters it: of one that is typed each letter is painted."""
    await until(pilot, lambda: bool(chat(pilot.app).query("#prompt")), "the prompt")
    prompt = chat(pilot.app).prompt
    prompt.focus()
    await until(pilot, lambda: prompt.has_focus, "the prompt has the keys")
    prompt.write(text)
    await pilot.press("enter")


async def until(pilot: Pilot[Any], holds: Callable[[], bool], what: str = "") -> None:
    """Lets the console work until every key pressed has acted and `holds`; fails with the screen after a while."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    await quiet()
    pause = 0.005
    while not holds():
        if loop.time() > deadline:
            raise AssertionError(f"never came: {what or holds}\n{seen(pilot.app)}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.05)  # what takes long is looked at less often
        await quiet()


async def see(pilot: Pilot[Any], text: str) -> None:
    """Waits until `text` is on screen."""
    await until(pilot, lambda: text in seen(pilot.app), f"{text!r} on screen")


async def see_open(pilot: Pilot[Any], text: str) -> None:
    """Waits until `text` of a stored session is on screen and the session is open: what is shown can't be acted on
    before that."""
    await see(pilot, text)
    await until(pilot, lambda: not chat(pilot.app).console.conversation.changing.locked(), "the session open")


async def at_rest(pilot: Pilot[Any]) -> None:
    """Waits until the screen is as it stays: nothing goes on, and whatever changed is painted."""
    await pilot.app.animator.wait_until_complete()
    views = [view for screen in pilot.app.screen_stack for view in screen.query(ConversationView)]
    await until(pilot, lambda: all(view.is_painted for view in views), "a conversation that is painted")


async def pass_by(pilot: Pilot[Any], seconds: float = 1.0) -> None:
    """Time passes for the keys of the console."""
    timing = chat(pilot.app).services.timing
    assert isinstance(timing, DrivenTime)
    await until(pilot, lambda: not looks_up(pilot.app), "the file of the selected call, looked at")
    await timing.pass_by(seconds)


def looks_up(console: App[Any]) -> bool:
    """Tells whether a thread still reads what the selected call would change: when it is there the keys begin anew."""
    return any(worker.group == "change" and not worker.is_finished for worker in console.workers)


async def decide(pilot: Pilot[Any], *keys: str) -> None:
    """Keys that were meant: nothing happens for a while before each, and behind it."""
    for key in keys:
        await pass_by(pilot)
        await pilot.press(key)
        await pass_by(pilot)
