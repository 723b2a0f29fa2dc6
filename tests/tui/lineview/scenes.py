"""The tests of the conversation share this: a palette, a clock that stands still, a tiny app, short ways to events."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input

from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.tui.lineview import ConversationView, EventRouter
from console_app.tui.lineview.lines import Line, Row
from console_app.tui.lineview.markdown.stream import MarkdownStream
from console_app.tui.lineview.markdown.units import TextLook
from console_app.tui.lineview.palette import build_palette
from tests.tui.driven_time import DrivenTime
from tests.tui.parts import until

PALETTE = build_palette(
    {
        "background": "#1a1b26",
        "foreground": "#c6cff5",
        "surface": "#12131c",
        "panel": "#2b2f48",
        "primary": "#ff9e64",
        "secondary": "#bb9af7",
        "accent": "#7dcfff",
        "success": "#9ece6a",
        "warning": "#e0af68",
        "error": "#ff8095",
    }
)
PAPER = build_palette({"background": "#ffffff", "foreground": "#202020", "primary": "#0055aa", "error": "#aa0000"})
START = 1_000_000.0


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Story:
    """Sends events to a router as an engine would, with times counted from START."""

    def __init__(self, router: EventRouter) -> None:
        self.router = router
        self.turns = 0

    def send(self, event: type[Any], at: float = 0.0, **fields: Any) -> None:
        self.router.show(event(at=START + at, turn=self.turns, **fields))

    def turn(self, prompt: str = "Do it", at: float = 0.0) -> None:
        self.turns += 1
        self.send(ev.TurnStarted, at, prompt=prompt)
        self.send(ev.StepStarted, at)

    def say(self, text: str, at: float = 0.0) -> None:
        self.send(ev.TextDelta, at, text=text)

    def call(self, index: int, at: float = 0.0, *, started: float | None = None, **arguments: Any) -> str:
        """A call of `demo · look_up`, ready at `at`, running from `started`."""
        call_id = f"call_{self.turns}_{index}"
        names = {"name": "demo_look_up", "server": "demo", "tool": "look_up"}
        self.send(ev.CallAnnounced, at, call_id=call_id, index=index, **names)
        self.send(ev.CallArguments, at, call_id=call_id, delta=json.dumps(arguments))
        self.send(ev.CallReady, at, call_id=call_id, arguments=arguments)
        if started is not None:
            self.send(ev.CallStarted, started, call_id=call_id)
        return call_id

    def finish(self, call_id: str, at: float, content: str = "done it", outcome: Outcome = Outcome.SUCCEEDED) -> None:
        error = None if outcome is Outcome.SUCCEEDED else content
        took = {"duration_ms": 1000}
        self.send(ev.CallFinished, at, call_id=call_id, outcome=outcome, content=content, error=error, **took)


class TinyApp(App[None]):
    """The view above an input."""

    AUTO_FOCUS = "Input"
    CSS = "Input { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.timing = DrivenTime()
        self.actions: list[tuple[str, str]] = []
        self.copied: list[str] = []
        self.opened: list[str] = []

    def compose(self) -> ComposeResult:
        self.view = ConversationView(clock=self.clock)
        yield self.view
        yield Input()

    def on_mount(self) -> None:
        self.view.use_time(partial(self.timing.later, self.view), self.timing.now)
        self.story = Story(EventRouter(self.view, Transcript()))

    def on_conversation_view_call_action(self, event: ConversationView.CallAction) -> None:
        self.actions.append((event.call_id, event.action))

    def on_conversation_view_copy_requested(self, event: ConversationView.CopyRequested) -> None:
        self.copied.append(event.text)

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.opened.append(url)


async def painted(pilot: Pilot[None]) -> None:
    """Waits until every change is on screen."""
    view = pilot.app.query_one(ConversationView)
    await until(pilot, lambda: view.is_painted)
    await pilot.pause()


def screen_lines(app: TinyApp) -> list[str]:
    """The view's lines as they are on screen, without trailing spaces."""
    view = app.view
    size = view.size
    return [strip.text.rstrip() for strip in view.render_lines(size.region)]


def text_of(lines: list[Line]) -> str:
    """Lines as plain text, without trailing spaces."""
    return "\n".join(line.text.rstrip() for line in lines)


def markdown_lines(stream: MarkdownStream, width: int = 60) -> list[Line]:
    """Gives the lines that a stream shows at a width."""

    def frame(row: Row) -> Line:
        return Line.fit(row.pieces, width, row.fill or PALETTE.base, start=row.gutter, joint=row.joint)

    return stream.all_lines(TextLook(width, PALETTE, frame, (width, PALETTE)))
