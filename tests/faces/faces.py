"""Every face on one waiting call: what each shows of it, which rules it offers, what "all that read" does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from acp import schema

from console_app.acp_agent.asking import CallQuestions, EditorQuestions
from console_app.acp_agent.updates import Updates
from console_app.console.console import Console
from console_app.domain import events as ev
from console_app.domain.chunks import CallClosed, CallOpened, FinishChunk, UsageChunk
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome, ToolResult, ToolSpec
from console_app.engine import ApprovalGate
from console_app.page import LivePage
from tests.console.peers import Memory, Screen
from tests.line_console.test_typed_ahead import opened as lines_opened
from tests.page.parts import Page
from tests.tui.parts import Answer, WrittenModel, app, chat, decide, pass_by, say, see, seen, services, until


@dataclass
class OneTool:
    """A toolset of one tool; `ran` are the arguments of its calls."""

    spec: ToolSpec
    ran: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def tools(self) -> Sequence[ToolSpec]:
        return [self.spec]

    async def call(self, invocation: Invocation, reporter: CallReporter) -> ToolResult:
        self.ran.append(dict(invocation.arguments))
        return ToolResult(outcome=Outcome.SUCCEEDED, content="ran")


def answer(spec: ToolSpec, *arguments: str, must_ask: str = "") -> Answer:
    """Calls of the tool."""
    chunks: list[Any] = []
    for n, text in enumerate(arguments):
        chunks += [CallOpened(n, f"call-{n}", spec.name), CallClosed(n, text, must_ask=must_ask)]
    return [*chunks, UsageChunk(10, 10), FinishChunk("tool_calls")]


def written(calls: Answer) -> WrittenModel:
    """A model that makes these calls, then says that it is over."""
    return WrittenModel(calls, say("Over."))


Answered = Literal["once", "form", "deny"]


@dataclass
class Face:
    """A face as its user meets it. `rules` asks for those on offer, `reads` runs all that only read, where a face has
    that. `decide` gives one of the answers to whether a model writes calls so."""

    shown: str
    rules: Callable[[], Awaitable[bool]]
    reads: Callable[[], Awaitable[None]] | None
    decide: Callable[[Answered], Awaitable[None]] | None = None


@asynccontextmanager
async def on_screen(
    folder: Path, tool: OneTool, calls: Answer, gate: ApprovalGate, model: Any = None
) -> AsyncGenerator[Face]:
    console = app(folder, model or written(calls), tool, gate=gate)  # type: ignore[arg-type]
    async with console.run_test(size=(160, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "1 needs you")
        await pilot.press("tab")
        await until(pilot, lambda: chat(console).boards.approvals.has_focus)
        await pass_by(pilot)

        async def rules() -> bool:
            return re.search(r" a +and lab\S* for this session", seen(console)) is not None

        async def answered(which: Answered) -> None:
            await decide(pilot, {"once": "y", "form": "a", "deny": "n"}[which])
            await see(pilot, "Over.")

        yield Face(" ".join(seen(console).split()), rules, partial(decide, pilot, "R"), answered)


@asynccontextmanager
async def in_lines(
    folder: Path, tool: OneTool, calls: Answer, gate: ApprovalGate, model: Any = None
) -> AsyncGenerator[Face]:
    async with lines_opened(folder, model or written(calls), tool, gate=gate) as lines:  # type: ignore[arg-type]
        lines.type("go")
        await lines.see(" 1 decides.", or_else="/allow 1:")
        shown = lines.text

        async def rules() -> bool:
            lines.type("/allow 1")
            await lines.see("Never ask again about", or_else="No rule can change that")
            offered = "Never ask again about" in lines.text
            assert offered == ("/allow 1 decides." in shown)
            if offered:
                lines.type(".")
            return offered

        async def reads() -> None:
            lines.type("/approve reads")
            await lines.see("is approved by you" if tool.spec.annotations.title == "runs" else "No such call waits")

        async def answered(which: Answered) -> None:
            lines.type({"once": "/approve 1", "form": "/allow 1", "deny": "/deny 1"}[which])
            await lines.see("Over.")

        yield Face(" ".join(shown.split()), rules, reads, answered)


class EditorFace(Screen):
    """A conversation of an editor without the wire: `asked` are the permission requests."""

    def __init__(
        self, folder: Path, tool: OneTool, calls: Answer, gate: ApprovalGate, model: Any = None, **more: Any
    ) -> None:
        super().__init__()
        self.store: Any = Memory()
        made = services(folder, model or written(calls), tool, gate=gate, store=self.store, **more)
        console = Console(made, self)
        console.readiness.waits_for_nothing()
        self.asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.picked = "reject"
        self.conversation = console.conversation
        editor: Any = self
        asking = EditorQuestions(
            editor, "s", forms=False, pages=False, limit=None, note=lambda _: None, tell=lambda _: None
        )
        self.updates = Updates(lambda _: None, lambda _: tool.spec, folder, lambda: None)
        self.call_questions = CallQuestions(console, asking, self.updates)

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption]
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        outcome: Any = {"outcome": "selected", "optionId": self.picked}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    def show(self, event: ev.Event) -> None:
        super().show(event)
        self.updates.show(event)
        if isinstance(event, ev.ApprovalRequested):
            self.call_questions.approve(self.updates.transcript.calls[event.call_id])

    @property
    def text(self) -> str:
        """The words that came with the first question."""
        (call, _) = self.asked[0]
        return "\n".join(
            part.content.text for part in call.content or () if part.type == "content" and part.content.type == "text"
        )

    async def run(self, picked: str) -> None:
        """A turn in which every question is answered so."""
        self.picked = picked
        self.conversation.send("go")
        await self.sees(ev.TurnFinished)
        await self.conversation.close()


@asynccontextmanager
async def in_editor(
    folder: Path, tool: OneTool, calls: Answer, gate: ApprovalGate, model: Any = None
) -> AsyncGenerator[Face]:
    editor = EditorFace(folder, tool, calls, gate, model)
    await editor.run("reject")

    async def rules() -> bool:
        return any(one.kind == "allow_always" for one in editor.asked[0][1])

    yield Face(" ".join(editor.text.split()), rules, None)


@asynccontextmanager
async def on_page(
    folder: Path, tool: OneTool, calls: Answer, gate: ApprovalGate, model: Any = None
) -> AsyncGenerator[Face]:
    page, blocks, news = (
        LivePage(lambda: services(folder, model or written(calls), tool, gate=gate)),
        dict[str, str](),
        asyncio.Event(),
    )

    async def tell(message: Mapping[str, Any]) -> None:
        for name, _, html, *_ in message.get("blocks", ()):
            blocks[name] = html
        news.set()

    async def see(text: str) -> str:
        while not (found := next((one for one in blocks.values() if text in one and " disabled>" not in one), "")):
            news.clear()
            await news.wait()
        return found

    async with page.show_on(tell, {}):
        await page.act({"do": "send", "words": "go"})
        asked = Page(await see('data-how="once"'))
        buttons = {one["data-how"]: one for one in asked.all("button") if "data-how" in one}

        async def rules() -> bool:
            return "session" in buttons

        async def answered(which: Answered) -> None:
            one = buttons[which]
            await page.act({"do": "answer", "of": one["data-of"], "how": which, "stamp": one["data-stamp"]})
            await see("Over.")

        yield Face(" ".join(asked.text.split()), rules, None, answered)
    await page.close()


FACES = {"screen": on_screen, "lines": in_lines, "editor": in_editor, "page": on_page}
