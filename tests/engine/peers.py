"""A model that answers as a test wrote it, and tools that do what their arguments say: real parts, driven by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.chunks import CallClosed, CallDelta, CallOpened, Chunk, FinishChunk, TextChunk
from console_app.domain.errors import ToolError
from console_app.domain.messages import UserMessage
from console_app.domain.ports import CallReporter, Invocation, ModelRequest, Provider, Workplace
from console_app.domain.settings import EngineSettings
from console_app.domain.tools import Outcome, ToolAnnotations, ToolResult, ToolSpec
from console_app.engine import ApprovalGate, Engine, Turn

Line = Chunk | BaseException | asyncio.Event | Callable[[], None]
DONE: list[Line] = [TextChunk("done"), FinishChunk("stop")]


class Model(Provider):
    """Plays its answers, one a request, then says “done”. A line is a chunk to send, an event to wait for, a function
    to call, or an error to raise."""

    name = "test"
    model = "scripted"

    def __init__(
        self, *answers: Sequence[Line], protocol: str = "native", paced: bool = False, deaf: bool = False
    ) -> None:
        self.answers = list(answers)
        self.protocol = protocol
        self.paced = paced  # lets others run before every line
        self.deaf = deaf  # goes on with its answer when it is cancelled
        self.requests: list[ModelRequest] = []
        self.open_streams = 0
        self.closed_whole = 0  # streams that could close in their own time
        self.slow_close: asyncio.Event | None = None

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[Chunk]]:
        self.requests.append(request)
        number = len(self.requests) - 1
        lines = self.answers[number] if number < len(self.answers) else DONE
        self.open_streams += 1
        try:
            yield self._play(lines)
            if self.slow_close is not None:
                await self.slow_close.wait()
            self.closed_whole += 1
        finally:
            self.open_streams -= 1

    async def _play(self, lines: Sequence[Line]) -> AsyncIterator[Chunk]:
        for line in lines:
            if self.paced:
                await asyncio.sleep(0)
            if isinstance(line, BaseException):
                raise line
            if isinstance(line, asyncio.Event):
                try:
                    await line.wait()
                except asyncio.CancelledError:
                    if not self.deaf:
                        raise
            elif callable(line):
                line()
            else:
                yield line


def call(
    index: int, arguments: Mapping[str, Any] | str, name: str = "demo_do", *, id: str | None = None
) -> list[Chunk]:
    """The chunks of one whole native call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call_id = f"id_{index}" if id is None else id
    return [CallOpened(index, call_id, name), CallDelta(index, text), CallClosed(index, text)]


def calls(*arguments: Mapping[str, Any], name: str = "demo_do") -> list[Chunk]:
    """An answer of several calls."""
    chunks = [chunk for index, given in enumerate(arguments) for chunk in call(index, given, name, id="")]
    return [*chunks, FinishChunk("tool_calls")]


def spec(name: str = "do", server: str = "demo", *, read_only: bool = True, **more: Any) -> ToolSpec:
    """A tool that is switched on."""
    return ToolSpec(
        name=f"{server}_{name}",
        server=server,
        tool=name,
        annotations=ToolAnnotations(read_only=read_only),
        **more,
    )


@dataclass
class Tools:
    """Every tool does what its argument `do` says: succeed, fail, raise, error, exit, wait, hang, stubborn, chatty,
    write, late, self_cancel. `n` names the call for the test."""

    specs: list[ToolSpec] = field(default_factory=lambda: [spec()])
    ran: list[Invocation] = field(default_factory=list[Invocation])
    ended: list[str] = field(default_factory=list[str])
    running: int = 0
    most_running: int = 0
    cancelled: list[str] = field(default_factory=list[str])
    events: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])

    def tools(self) -> Sequence[ToolSpec]:
        return self.specs

    def event(self, name: object) -> asyncio.Event:
        """Return the event that a call with `do: wait` waits for, by its `n`."""
        return self.events.setdefault(str(name), asyncio.Event())

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        self.ran.append(invocation)
        name = str(invocation.arguments.get("n", invocation.call_id))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._do(str(invocation.arguments.get("do", "succeed")), name, invocation, reporter)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        finally:
            self.running -= 1
            self.ended.append(name)

    async def _do(self, what: str, name: str, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        seconds = float(invocation.arguments.get("seconds", 0))
        if seconds:
            await asyncio.sleep(seconds)
        match what:
            case "fail":
                return ToolResult(outcome=Outcome.FAILED, content="no such order", error="no such order")
            case "raise":
                raise ZeroDivisionError("division by zero")
            case "error":
                raise ToolError("the server is gone")
            case "exit":
                raise SystemExit(3)
            case "self_cancel":
                raise asyncio.CancelledError
            case "wait":
                await self.event(name).wait()
            case "hang":
                reporter.log("info", f"working on {name}")
                await asyncio.Event().wait()
            case "chatty":
                for part in range(1, 4):
                    reporter.progress(part, 3, f"part {part}")
                    await asyncio.sleep(0.5)
            case "write":
                for part in range(int(invocation.arguments.get("lines", 5))):
                    reporter.output("stdout", f"line {part}\n")
                    await asyncio.sleep(0.001)
                await self.event(name).wait()
            case "stubborn":
                await self._ignore_cancel(name, reporter)
            case _:
                pass
        return ToolResult(outcome=Outcome.SUCCEEDED, content=f"result of {name}")

    async def _ignore_cancel(self, name: str, reporter: CallReporter) -> None:
        event = self.event(name)
        while not event.is_set():
            try:
                await event.wait()
            except asyncio.CancelledError:
                self.cancelled.append(name)
                reporter.progress(1, None, "still here")
                reporter.log("info", "still here")


def engine_of(
    model: Provider,
    tools: Tools | None = None,
    *,
    mode: ApprovalMode = ApprovalMode.YOLO,
    gate: ApprovalGate | None = None,
    workplace: Workplace | None = None,
    **settings: Any,
) -> Engine:
    """An engine on the running loop's clock."""
    loop = asyncio.get_running_loop()
    return Engine(
        provider=model,
        toolset=tools or Tools(),
        settings=EngineSettings(**settings),
        gate=gate or ApprovalGate(mode),
        workplace=workplace,
        session_id="s",
        clock=loop.time,
        monotonic=loop.time,
    )


Reaction = Callable[[Turn, ev.Event], None]


async def play(engine: Engine, prompt: str | UserMessage = "go", react: Reaction | None = None) -> list[ev.Event]:
    """Runs a turn to its end; `react` is called with every event, as a user who sees it."""
    seen: list[ev.Event] = []
    async with engine.start(prompt) as turn:
        async for event in turn:
            seen.append(event)
            if react is not None:
                react(turn, event)
    return seen


def results_of(events: Sequence[ev.Event]) -> list[ev.CallFinished]:
    """The results in the order in which they came."""
    return [event for event in events if isinstance(event, ev.CallFinished)]


def outcomes(engine: Engine) -> list[str]:
    """The outcomes of the tool messages, in history order."""
    return [message.outcome.value for message in engine.history if message.role == "tool"]


def tool_texts(engine: Engine) -> list[str]:
    """Return the result that the model reads of each call, in history order."""
    return [message.content for message in engine.history if message.role == "tool"]


def ending(events: Sequence[ev.Event]) -> ev.TurnFinished:
    """The last event of a turn."""
    last = events[-1]
    assert isinstance(last, ev.TurnFinished)
    return last


def only(events: Sequence[ev.Event], kind: type[Any]) -> list[Any]:
    """The events of one type."""
    return [event for event in events if isinstance(event, kind)]
