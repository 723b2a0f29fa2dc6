"""Another approval mode is about calls that come later, in every face: what waits goes on waiting."""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.console.permissions import ApprovalDecision, Permissions
from console_app.console.talk.conversation import Conversation
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import Decision
from console_app.domain.tools import ToolAnnotations, ToolSpec
from console_app.engine import ApprovalGate, Rule
from tests.acp_agent.editor import opened as opened_editor
from tests.acp_agent.editor import stdio
from tests.acp_agent.model import Model as Endpoint
from tests.console.peers import Screen
from tests.each import each
from tests.examples import EXPLORING
from tests.line_console.test_typed_ahead import Shown
from tests.line_console.test_typed_ahead import opened as opened_lines
from tests.patience import PATIENCE
from tests.program.process import Fanout
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, pass_by, say, services, until
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

KINDS = ["read", "change", "keep"]  # the last is one that a rule asks for
WAITING = [[], ["change"], KINDS]
# Each mode is reached from every other, and a tour may begin anywhere within.
TOUR = ["ask", "auto", "plan", "yolo", "auto", "ask", "plan", "auto", "yolo", "plan", "ask", "yolo", "ask"]
NEXT = {
    "ask": {"read": "asked", "change": "asked"},
    "auto": {"read": "allow", "change": "asked"},
    "plan": {"read": "allow", "change": "deny"},
    "yolo": {"read": "allow", "change": "allow"},
}


def tour(last: str, whole: bool = True) -> list[str]:
    """All the ways from one mode to another, the last of them to `last`; or only the last of them."""
    ring = TOUR[:-1]
    at = ring.index(last)
    return [*ring[at + 1 :], *ring[: at + 1]] if whole else [last]


def named(kinds: Sequence[str], n: int) -> list[tuple[str, str]]:
    return [(f"lab_{kind}", json.dumps({"n": n})) for kind in kinds]


class Lab(Tools):
    """A tool that reads, and two that change things."""

    def __init__(self) -> None:
        super().__init__({("lab", kind): echo for kind in KINDS})

    def tools(self) -> Sequence[ToolSpec]:
        return [
            spec.model_copy(update={"annotations": ToolAnnotations(read_only=spec.tool == "read")})
            for spec in super().tools()
        ]


class Kept:
    """A store that only remembers."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self._news = asyncio.Event()

    async def append(self, events: Sequence[ev.Event]) -> None:
        self.events += events
        self._news.set()

    async def until(self, fact: Callable[[], bool]) -> None:
        while not fact():
            self._news.clear()
            await self._news.wait()


class Face(ABC):
    """A way to use a conversation. `kept` has all that happened in it."""

    def __init__(self, gate: ApprovalGate, kept: Kept) -> None:
        self.gate = gate
        self.kept = kept

    @abstractmethod
    async def use(self, mode: str) -> None:
        """Changes the mode as a person does here."""

    @abstractmethod
    async def send(self, prompt: str) -> None:
        """Sends a prompt."""

    @abstractmethod
    async def deny_all(self) -> None:
        """Denies what waits."""

    @abstractmethod
    async def until(self, fact: Callable[[], bool]) -> None:
        """Returns when that is so."""

    def fates(self, tools: Sequence[str]) -> dict[str, str]:
        """Return the fate of the newest call of each tool: asked, allow or deny."""
        found: dict[str, str] = {}
        names: dict[str, str] = {}
        for event in self.kept.events:
            if isinstance(event, ev.CallAnnounced):
                names[event.call_id] = event.name.removeprefix("lab_")
                found.pop(names[event.call_id], None)
            elif isinstance(event, ev.ApprovalRequested):
                found[names[event.call_id]] = "asked"
            elif isinstance(event, ev.ApprovalResolved):
                found[names[event.call_id]] = event.decision.value
        return {tool: fate for tool, fate in found.items() if tool in tools}


class Alone(Face):
    """The console's own object, without a face."""

    def __init__(self, folder: Path, model: WrittenModel, gate: ApprovalGate, kept: Kept) -> None:
        super().__init__(gate, kept)
        self._screen = Screen()
        self.conversation = Conversation(services(folder, model, Lab(), gate=gate).engine, None, self._screen)
        self._permissions = Permissions(
            self.conversation.engine, lambda: self.conversation.calls_of, None, self._screen
        )
        kept.events = self._screen.events

    async def use(self, mode: str) -> None:
        self._permissions.use_mode(ApprovalMode(mode))
        await asyncio.sleep(0)

    async def send(self, prompt: str) -> None:
        self.conversation.send(prompt)

    async def deny_all(self) -> None:
        waiting = tuple(self.conversation.engine.transcript.calls)
        self._permissions.decide(ApprovalDecision(waiting, Decision.DENY))

    async def until(self, fact: Callable[[], bool]) -> None:
        await self._screen.until(fact)


class Lines(Face):
    """The line console."""

    def __init__(self, shown: Shown, gate: ApprovalGate, kept: Kept) -> None:
        super().__init__(gate, kept)
        self._shown = shown

    async def use(self, mode: str) -> None:
        said = f"Mode: {mode}"
        times = self._shown.text.count(said)
        self._shown.type(f"/mode {mode}")
        await self._shown.see(said, times + 1)

    async def send(self, prompt: str) -> None:
        self._shown.type(prompt)

    async def deny_all(self) -> None:
        asked = sum(isinstance(event, ev.ApprovalRequested) for event in self.kept.events)
        await self._shown.see("needs approval: ", asked)  # a call that was not said yet is not meant
        self._shown.type("/deny all", "")

    async def until(self, fact: Callable[[], bool]) -> None:
        await self.kept.until(fact)


class OnScreen(Face):
    """The screen, by Shift+Tab."""

    def __init__(self, pilot: Pilot[Any], gate: ApprovalGate, kept: Kept) -> None:
        super().__init__(gate, kept)
        self._pilot = pilot

    async def use(self, mode: str) -> None:
        screen = chat(self._pilot.app)
        while screen.modes.shown.value != mode:
            await pass_by(self._pilot, 0.2)
            screen.set_focus(screen.prompt)  # a board takes the focus by itself, where Shift+Tab goes a row back
            await self._pilot.press("shift+tab")
        await pass_by(self._pilot)
        await until(self._pilot, lambda: self.gate.mode.value == mode or self._pilot.app.screen is not screen)
        if self._pilot.app.screen is not screen:
            await decide(self._pilot, "y")
        await until(self._pilot, lambda: self.gate.mode.value == mode)

    async def send(self, prompt: str) -> None:
        chat(self._pilot.app).prompt_area.send(prompt)

    async def deny_all(self) -> None:
        board = chat(self._pilot.app).boards.approvals
        asked = {event.call_id for event in self.kept.events if isinstance(event, ev.ApprovalRequested)}
        asked -= {event.call_id for event in self.kept.events if isinstance(event, ev.ApprovalResolved)}
        # The store hears of a call before the board shows it.
        await until(self._pilot, lambda: {one.call.id for one in board.selection.waiting} >= asked)
        board.focus()
        await decide(self._pilot, "N")

    async def until(self, fact: Callable[[], bool]) -> None:
        await until(self._pilot, fact)


@asynccontextmanager
async def alone(folder: Path, model: WrittenModel, gate: ApprovalGate, kept: Kept) -> AsyncGenerator[Face]:
    face = Alone(folder, model, gate, kept)
    yield face
    await face.conversation.close()


@asynccontextmanager
async def as_lines(folder: Path, model: WrittenModel, gate: ApprovalGate, kept: Kept) -> AsyncGenerator[Face]:
    async with opened_lines(folder, model, Lab(), store=kept, gate=gate) as shown:
        yield Lines(shown, gate, kept)


@asynccontextmanager
async def on_screen(folder: Path, model: WrittenModel, gate: ApprovalGate, kept: Kept) -> AsyncGenerator[Face]:
    console = app(folder, model, Lab(), gate=gate, store=kept)
    async with console.run_test(size=(100, 40), notifications=True) as pilot:
        yield OnScreen(pilot, gate, kept)


Opened = Callable[[Path, WrittenModel, ApprovalGate, Kept], AbstractAsyncContextManager[Face]]


@each(
    ("face", "waiting", "last"),
    [
        *product([alone], WAITING, NEXT),
        *product([as_lines, on_screen], WAITING[-1:], NEXT if EXPLORING else ["yolo"]),  # which the way of all ends in
    ],
    ids=lambda one: one.__name__ if callable(one) else str(one),
)
async def test_a_mode_decides_nothing_that_waits_and_all_that_comes(
    tmp_path: Path, face: Opened, waiting: list[str], last: str
) -> None:
    answers = [calls(*named(waiting, 1))] if waiting else []
    model = WrittenModel(*answers, calls(*named(list(NEXT[last]), 2)), say("Done."))
    gate, kept = ApprovalGate(ApprovalMode.ASK, [Rule("ask", "lab.keep")]), Kept()
    still = dict.fromkeys(waiting, "asked")
    async with asyncio.timeout(PATIENCE), face(tmp_path, model, gate, kept) as one:
        if waiting:
            await one.send("go")
            await one.until(lambda: one.fates(KINDS) == still)
        ways = tour(last, whole=face is alone or last == "ask")
        for mode in ways if face is alone or EXPLORING else NEXT:
            await one.use(mode)
            assert gate.mode.value == mode
            assert one.fates(KINDS) == still, f"{mode} decided"
        await (one.deny_all() if waiting else one.send("go"))
        await one.until(lambda: len(model.requests) > bool(waiting))
        await one.until(lambda: one.fates(["read", "change"]) == NEXT[last])
        if "asked" in NEXT[last].values():
            await one.deny_all()


@each("mode", list(NEXT))
async def test_no_mode_decides_when_rules_are_looked_at_again(tmp_path: Path, mode: str) -> None:
    gate, kept = ApprovalGate(ApprovalMode.ASK), Kept()
    async with alone(tmp_path, WrittenModel(calls(*named(KINDS, 1))), gate, kept) as one:
        await one.send("go")
        await one.until(lambda: one.fates(KINDS) == dict.fromkeys(KINDS, "asked"))
        await one.use(mode)
        assert isinstance(one, Alone)
        permissions = Permissions(one.conversation.engine, lambda: one.conversation.calls_of, None, Screen())
        assert permissions.reconsider() == 0
        assert permissions.add_rule("deny", "lab.keep", keep=False)
        assert permissions.reconsider() == 1, "a rule that was made for it decides"
        await one.until(lambda: one.fates(KINDS) == {"read": "asked", "change": "asked", "keep": "deny"})
        await one.deny_all()


async def test_a_mode_that_an_editor_picks_decides_nothing_that_waits_and_all_that_comes(tmp_path: Path) -> None:
    fanout, model = Fanout(tmp_path), Endpoint()
    fanout.write("home/config.toml", '[rules]\nask = ["disk.edit_file"]\n')
    fanout.write("a.txt", "one\n")
    files = stdio("disk", [sys.executable, "-m", "console_app.servers.files"])
    tools = {
        "read": ("disk_read_file", {"path": "a.txt"}),
        "change": ("disk_write_file", {"path": "b.txt", "content": "new"}),
        "keep": ("disk_edit_file", {"path": "a.txt", "old_text": "one", "new_text": "1"}),
    }

    def of(kinds: Sequence[str], name: str) -> Answer:
        return Answer(*(Call(tools[one][0], json.dumps(tools[one][1]), f"{name}-{one}") for one in kinds))

    with WireServer(model) as server:
        base = server.base_url("openai-chat")
        async with asyncio.timeout(120), opened_editor(fanout, "-m", "openai/test-model", "--base-url", base) as editor:
            for number, waiting in enumerate(WAITING):
                opened = await editor.agent.new_session(cwd=str(fanout.cwd), mcp_servers=[files])
                for last in NEXT:
                    await editor.agent.set_session_mode(session_id=opened.session_id, mode_id="ask")
                    first, then = f"first{number}{last}", f"then{number}{last}"
                    model.answers[f"Go {first}."] = [
                        *([of(waiting, first)] if waiting else []),
                        of(list(NEXT[last]), then),
                        Answer(Text("Done.")),
                    ]
                    turn = None
                    if waiting:
                        turn = asyncio.ensure_future(editor.ask(opened.session_id, f"Go {first}."))
                        for one in waiting:
                            await editor.asks_for(f"{first}-{one}")
                    for mode in tour(last, whole=last == "ask"):
                        await editor.agent.set_session_mode(session_id=opened.session_id, mode_id=mode)
                        states = editor.calls(opened.session_id)
                        assert all(states[f"{first}-{one}"] in (["pending"], ["pending"] * 2) for one in waiting), mode
                    for one in waiting:
                        await editor.answer(f"{first}-{one}", "reject")
                    turn = turn or asyncio.ensure_future(editor.ask(opened.session_id, f"Go {first}."))
                    for one, fate in NEXT[last].items():
                        if fate == "asked":
                            await editor.answer(f"{then}-{one}", "reject")
                    assert await turn == "end_turn"
                    states = editor.calls(opened.session_id)
                    ends = {one: states[f"{then}-{one}"][-1] for one in NEXT[last]}
                    assert ends == {
                        one: "completed" if fate == "allow" else "failed" for one, fate in NEXT[last].items()
                    }
                    assert not editor.asked
