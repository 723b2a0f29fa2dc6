"""A console with something in each of its rooms, and the way through them, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import OptionList

from console_app import wiring
from console_app.config.files import Paths
from console_app.config.settings import LayeredSettings, OwnSettings
from console_app.console.services import Services
from console_app.console.talk.question_queue import QuestionQueue
from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.questions import Elicitation, SamplingRequest
from console_app.engine import ApprovalGate
from console_app.sessions import Library, Store
from console_app.tui.app import FanoutApp
from console_app.tui.asking.consent import ConsentDialog
from console_app.tui.prompt.prompt_box import AttachmentChips
from console_app.tui.servers.wire_screen import WireScreen
from console_app.tui.servers.workbench import ToolScreen, ToolSource
from tests.console.test_connecting import Console
from tests.tui.parts import NOW, Tools, WrittenModel, at_rest, calls, chat, decide, pass_by, say, see, services, until
from tests.tui.questions.test_boards_pictures import QUESTIONS
from tests.tui.servers.test_servers_pictures import Shown
from tests.tui.servers.test_workbench_pictures import SPEC, wire
from tests.tui.test_sessions_picture import fill

ANSWER = "# Weather\n\n| city | degrees |\n|---|---|\n| Oslo | 3 |\n\n```python\nwarm = 22 > 3  # in Lima\n```\n"
DIFF = '--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return "2"\n'
RESULTS = {"diff": DIFF, "json": '{"name": "Oslo", "days": [1, 2.5, true, null]}', "text": "line\n" * 3}
QUESTION = '{"question": "Which format?", "options": ["Markdown", "CSV"]}'


class Lab:
    """A tool that answers, one that runs until it is let go, and one that asks you."""

    def __init__(self, desk: QuestionQueue) -> None:
        self._desk = desk
        self.let_go = asyncio.Event()
        self.tools = Tools({("lab", name): getattr(self, name) for name in ("work", "wait", "ask")}, read_only=False)

    async def work(self, invocation: Invocation, _reporter: CallReporter) -> str:
        return RESULTS[str(invocation.arguments["kind"])]

    async def wait(self, _invocation: Invocation, reporter: CallReporter) -> str:
        reporter.progress(3, 10, "step three")
        await self.let_go.wait()
        return "at last"

    async def ask(self, invocation: Invocation, reporter: CallReporter) -> str:
        question: Elicitation | SamplingRequest = QUESTIONS[str(invocation.arguments["kind"])]
        question = replace(question, call_id=invocation.call_id)
        reporter.asked("It asks.")
        asking = self._desk.ask(question) if isinstance(question, Elicitation) else self._desk.allow_sampling(question)
        return str(await asking)


@asynccontextmanager
async def furnished(folder: Path, *said: Any) -> AsyncGenerator[FanoutApp]:
    """The console; its files are under `folder`. The model answers as the walk needs it, or what it is to say."""
    project, paths = folder / "project", Paths.find({"FANOUT_HOME": str(folder / "home")})
    for name in ("notes.md", "a name.txt", "src/one.py", "src/two.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("one\ntwo\n" * 20)
    (folder / "history").write_text('"what is 355/113?"\n"compare the weather in Oslo and Lima"\n')
    (folder / "fanout.log").write_text("INFO fanout: started\nWARNING mcp_client: server news failed\n")
    kept = Library(Store(folder / "sessions.db"), folder / "locks")
    await fill(kept)
    desk = QuestionQueue()
    lab = Lab(desk)
    made = services(
        folder,
        WrittenModel(*(said or answers()), model="gpt-4o"),
        lab.tools,
        gate=ApprovalGate(ApprovalMode.YOLO),
        known_models=["openai/gpt-5", "anthropic/claude-opus", "ollama/qwen3-coder"],
        context_window=128_000,
        servers=Shown(list, list),
        server_statuses=Shown(list, list).statuses,
        store=kept,
        library=kept,
        close=kept.close,
        human=desk,
        connecting=Console(folder / "home", ports={}).connecting,
        pictures_path=folder / "pictures",
    )
    made.working_folder = project
    load = partial(LayeredSettings.load, paths, cwd=project, flags={}, environ={})
    made.settings = OwnSettings(paths.settings, load, partial(wiring.apply_setting, made.engine))
    tools = frozenset({"update_todo_list", "ask_followup_question"})
    made.engine.settings = replace(made.engine.settings, builtin_tools=tools)
    console = FanoutApp(made)
    console.lab = lab  # type: ignore[attr-defined]
    yield console


def answers() -> list[Any]:
    """Gives the answers of the model in the turns of the walk."""
    worked = [("lab_work", f'{{"kind": "{kind}"}}') for kind in ("diff", "json", "text")]
    return [
        calls(*worked, ("lab_missing", "{}"), text="I **look**."),
        say(ANSWER),
        calls(*[("lab_wait", f'{{"n": {n}}}') for n in range(2)], ("lab_work", '{"kind": "text"}')),
        say("So much for that."),
        calls(*worked),
        say("Denied, then."),
        calls(("fanout_ask_followup_question", QUESTION)),
        say("Markdown it is."),
        *(one for kind in QUESTIONS for one in (calls(("lab_ask", f'{{"kind": "{kind}"}}')), say("Thank you."))),
        calls(*worked, text="I would work."),
        say("That is the plan."),
    ]


@dataclass(frozen=True)
class Room:
    """A room opens by a slash command, by being pushed, or by `keys`, pressed after that too. It stands once `shows` is
    on screen; `back` leaves it."""

    name: str
    keys: tuple[str, ...]
    shows: str
    back: tuple[str, ...] = ("escape",)
    push: Callable[[Services], Screen[Any]] | None = None
    command: str = ""
    filled: bool = False  # a list is read before keys mean something
    ready: Callable[[Pilot[Any]], bool] = lambda _pilot: True  # what of it comes later has come

    async def open(self, pilot: Pilot[Any]) -> None:
        """From the conversation."""
        await self.begin(pilot)
        await pilot.press(*self.keys)
        await pass_by(pilot)  # a letter on a call may be the first of a word
        await see(pilot, self.shows)
        await until(pilot, lambda: self.ready(pilot), self.name)
        await at_rest(pilot)

    async def begin(self, pilot: Pilot[Any]) -> None:
        """Does what comes before `keys`."""
        if self.push is not None:
            pilot.app.push_screen(self.push(chat(pilot.app).services))
        name, _, rest = self.command.partition(" ")
        if name and (command := chat(pilot.app).commands.get(name)) is not None:
            chat(pilot.app).commands.run(command, rest)
            await until(pilot, lambda: len(pilot.app.screen_stack) > 1 or name == "todo", self.name)
        if self.filled:
            await until(pilot, lambda: pilot.app.screen.query_one(OptionList).option_count > 0)

    async def leave(self, pilot: Pilot[Any]) -> None:
        """Back to the conversation, with an empty prompt that has the keys."""
        await pilot.press(*self.back)
        await pass_by(pilot)
        prompt = chat(pilot.app).prompt
        await until(pilot, lambda: not prompt.text and prompt.has_focus and len(pilot.app.screen_stack) == 1, self.name)
        await at_rest(pilot)


def tool(_services: Services) -> Screen[Any]:
    return ToolScreen(
        SPEC, ToolSource(lambda: SPEC, list, ApprovalGate(ApprovalMode.ASK), lambda: True, lambda: False, lambda: NOW)
    )


def traffic(services: Services) -> Screen[Any]:
    return WireScreen("forge", wire(), lambda text: text.replace("sk-secret", "(hidden)"), services.working_folder)


def trust(services: Services) -> Screen[Any]:
    return ConsentDialog("mcp.json of this project would start:\n  lab: sh -c x", services.timing)


def costed(pilot: Pilot[Any]) -> bool:
    """A slow typist's first file is priced before the others are named."""
    chips = pilot.app.screen.query_one(AttachmentChips).chips
    return len(chips) == 3 and all("~" in chip.about for chip in chips)


def typed(name: str, command: str, shows: str, *keys: str, **fields: Any) -> Room:
    return Room(name, keys, shows, command=command.removeprefix("/"), **fields)


CLEAR = ("escape", "ctrl+c")
DIALOGS = (
    Room("commands completed", ("slash",), "/help", CLEAR),
    Room("files completed", (*"see @",), "notes.md", CLEAR),
    Room("attached", (*'see @notes.md @"a name.txt" @src/one.py:2-4 ',), "~", CLEAR, ready=costed),
    Room("help", ("f1",), "stop, or go back"),
    Room("help, filtered", ("f1", *"rewind"), "go back to a message"),
    Room("palette", ("ctrl+p",), "Search for commands"),
    Room("prompts before", ("ctrl+r",), "what is 355/113?"),
    typed("models", "/model", "qwen3-coder"),
    typed("themes", "/theme", "esc cancel", filled=True),
    typed("permissions", "/permissions", "every call runs unasked"),
    typed("policy", "/policy", "one after the other"),
    typed("effort", "/effort", "very little"),
    typed("settings", "/config", "base_url", filled=True),
    typed(
        "a setting changed",
        "/config max_steps",
        "enter save · esc cancel",
        "enter",
        back=("escape", "escape"),
        filled=True,
    ),
    typed(
        "a setting refused",
        "/config max_steps",
        "not x.",
        "enter",
        "x",
        "enter",
        back=("escape", "escape"),
        filled=True,
    ),
    typed("connect", "/connect", "Nothing answers at the usual ports"),
    typed("connect refused", "/connect", "as the port", *"ftp:x", "enter"),
    Room("servers", ("ctrl+l", "down", "right"), "list_issues"),
    Room("servers, searched", ("ctrl+l", "slash", *"issue"), "list_issues", ("escape", "escape", "escape")),
    Room("tool", (), "create_issue", push=tool),
    Room("wire", (), "tools/call error", push=traffic),
    Room("trust", (), "Trust", push=trust),
    typed("a call by hand", "/call lab.work", "ctrl+s"),
    typed("to do", "/todo", "What is to be done", back=("escape", "escape")),
    typed("log", "/log", "server news failed"),
    typed("context", "/context", "The next request"),
    typed("request", "/request", "7 messages"),
    typed("cost", "/cost", "Turn"),
)
AFTER_A_TURN = (
    Room("selected", ("alt+up",), "esc back"),
    Room("selected and open", ("alt+1", "o"), "kind", ("o", "escape")),
    Room("inspected", ("alt+1", "i"), "call ", ("escape", "escape")),
    Room("find", ("ctrl+f", *"oslo"), "1 of"),
    Room("find, nothing typed", ("ctrl+f", "backspace"), "in the whole"),
    Room("timeline", ("ctrl+t",), "Timeline"),
    typed("rewind", "/rewind", "undoes 1 turn"),
)


async def walk(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """Through all rooms; gives the name of the one that is on screen."""
    screen = chat(pilot.app)
    await see(pilot, "many tool calls at once")
    yield "opening page"
    sessions = typed("sessions", "/sessions", "0 calls · lab/gpt-4o", filled=True)
    for room in (sessions, *DIALOGS[:-4]):
        async for name in visited(pilot, room):
            yield name
    screen.prompt_area.send("go")
    await until(pilot, lambda: not screen.console.conversation.busy and len(screen.ui.shown.transcript.turns) == 1)
    await at_rest(pilot)
    yield "answered"
    for room in (*DIALOGS[-4:], *AFTER_A_TURN):
        async for name in visited(pilot, room):
            yield name
    async for name in running(pilot):
        yield name
    async for name in boards(pilot):
        yield name
    async for name in planned(pilot):
        yield name


async def visited(pilot: Pilot[Any], room: Room) -> AsyncIterator[str]:
    await room.open(pilot)
    yield room.name
    await room.leave(pilot)


async def running(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """A turn that runs, with a message behind it."""
    screen = chat(pilot.app)
    screen.prompt_area.send("again")
    await see(pilot, "2 running")
    await until(pilot, lambda: any(call.progress for call in screen.ui.shown.transcript.calls.values()))
    await at_rest(pilot)
    yield "running"
    screen.prompt_area.send("and then?")
    await see(pilot, "and then?")
    await pilot.press(*"half a thou")
    await at_rest(pilot)
    yield "queued"
    await pilot.press("ctrl+c", "up")  # the queued message, back in the prompt
    await until(pilot, lambda: screen.prompt.text == "and then?")
    await pilot.press("ctrl+c")
    pilot.app.lab.let_go.set()  # type: ignore[attr-defined]
    await until(pilot, lambda: not screen.console.conversation.busy)


async def boards(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """Brings up the boards of all that may wait for you."""
    screen = chat(pilot.app)
    screen.services.engine.gate.mode = ApprovalMode.ASK
    board = screen.boards.approvals
    screen.prompt_area.send("more")
    await see(pilot, "3 need you")
    await focused(pilot, board)
    yield "approvals"
    await pilot.press("A")
    await see(pilot, "Always allow")
    yield "approvals, a rule"
    await pilot.press("escape")
    await decide(pilot, "f")
    await until(pilot, lambda: board.has_class("-words"))
    yield "approvals, words"
    await pilot.press("escape")
    await decide(pilot, "N")
    await until(pilot, lambda: not screen.console.conversation.busy)
    screen.services.engine.gate.mode = ApprovalMode.YOLO
    screen.prompt_area.send("which?")
    await see(pilot, "Which format?")
    await focused(pilot, screen.boards.questions)
    yield "question"
    await decide(pilot, "1")
    await until(pilot, lambda: not screen.console.conversation.busy)
    for kind in QUESTIONS:
        screen.prompt_area.send("book")
        human = screen.boards.human
        await until(pilot, lambda board=human: board.is_asking and board.is_ready)
        await focused(pilot, human)
        yield f"asked: {kind}"
        await decide(pilot, "n")
        await until(pilot, lambda: not screen.console.conversation.busy)


async def planned(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """In plan mode nothing that changes anything runs."""
    screen = chat(pilot.app)
    await pilot.press("alt+p")
    await see(pilot, "plan")
    screen.prompt_area.send("how?")
    await see(pilot, "That is the plan.")
    await until(pilot, lambda: not screen.console.conversation.busy)
    await at_rest(pilot)
    yield "plan mode"


async def focused(pilot: Pilot[Any], board: Any) -> None:
    board.focus()
    await until(pilot, lambda: board.has_focus_within)
    await see(pilot, "paused")  # the call's own state may come after its question
    await pass_by(pilot)
    await at_rest(pilot)
