"""The main screen before there is anything to talk to shows the same picture, with a prompt that can be written in.

A message can be sent, and is shown. Its turn begins on the chat screen, which takes over the text and the messages.
Anything more than that waits for the chat screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea

from console_app.records import dataclass
from console_app.tui.main_screen.bars.status_bar import StatusBar
from console_app.tui.main_screen.base import IDLE, MainScreen
from console_app.tui.main_screen.start.welcome import Welcome
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.prompt.prompt_box import PromptBox, QueueStrip
from console_app.tui.terminal.key_names import writes_text
from console_app.tui.textual_internals import typed_app
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from console_app.tui.lineview.lines import Line, Piece

MOST_LINES = 12
BEFORE, BEHIND, SCROLL_BAR = 3, 2, 1  # cells beside the text, as a conversation leaves them
STARTING = "Starting · esc take back"


class SentPreview(Widget):
    """Shows `message`, and that it waits for everything to be loaded."""

    DEFAULT_CSS = "SentPreview { height: 1fr; background: $background; }"

    app = getters.app(typed_app)
    message: reactive[str] = reactive("")

    def render_line(self, y: int) -> Strip:
        lines = self._lines()
        return lines[y - 1] if 1 <= y <= len(lines) else Strip.blank(self.size.width, self.rich_style)

    def _lines(self) -> Sequence[Line]:
        # Not before something is sent: the first paint waits for what it imports.
        from console_app.tui.lineview.lines import Line
        from console_app.tui.lineview.palette import Palette

        palette = Palette.of(self.app)
        ground, width = palette.on_raised, self.size.width - SCROLL_BAR
        left: list[Piece] = [(" ", ground.base), ("▌", ground.primary), (" ", ground.base)]
        room = max(width - BEFORE - BEHIND - 1, 1)
        lines: list[Line] = []
        for text in self.message.split("\n"):
            rows = Line.wrap([(Line.clean(text), ground.base)], room) if text else []
            for pieces in [row.pieces for row in rows] or [[]]:
                inner = Line.fit([*left, *pieces], max(width - BEHIND, 1), ground.base)
                painted = [(segment.text, segment.style or ground.base) for segment in inner]
                lines.append(Line.fit(painted, self.size.width, palette.base))
        waits: list[Piece] = [(" ", palette.base), ("·", palette.muted), (f" {STARTING}", palette.muted)]
        return [*lines[:MOST_LINES], Line.fit(waits, self.size.width, palette.base)]


# Actions of a text area's own keys. Keys of the prompt that do more than write in it are not among them.
WRITING = {binding.action for binding in TextArea.BINDINGS if isinstance(binding, Binding)} - {"paste"} | {"newline"}
IN_A_TURN = ("steer", "toggle_all")  # actions of keys that do nothing before there is a conversation


class StartupScreen(MainScreen):
    """Shows the status bar, the opening page, the prompt and hints. `sent` are the messages that were sent."""

    @dataclass
    class Ready(Message):
        screen: StartupScreen

    def __init__(self, history_path: Path, working_folder: Path) -> None:
        super().__init__()
        self._history_path = history_path
        self._working_folder = working_folder
        self.ready = False  # to be written in
        self.sent: list[str] = []  # the oldest first
        self.begins = False  # Enter was pressed in an empty prompt

    def compose(self) -> ComposeResult:
        yield StatusBar()
        yield Welcome(id="welcome")
        yield SentPreview(id="conversation")
        yield QueueStrip()
        yield PromptBox(self._history_path, self._working_folder, lambda _: ())
        yield KeyHints(lambda: IDLE)
        yield TooSmall()

    def on_mount(self) -> None:
        self.set_focus(self.prompt)
        self.ready = True
        self.post_message(self.Ready(self))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self.sent) if action == "stop" else action not in IN_A_TURN

    def writes(self, event: events.Key | events.Paste) -> bool:
        """Tell whether `event` only writes in the prompt, sends a message or takes one back. Such an event opens no
        completions, picks nothing, and runs nothing."""
        if self.focused is not self.prompt:
            return False
        if isinstance(event, events.Paste):
            return event.text.lstrip()[:1] not in ("", "/")  # a picture, or a command, is the chat screen's
        if writes_text(event):
            return event.character != "@" and (bool(self.prompt.text) or event.character not in set("/?"))
        if (action := self.action_of(event)) == "submit":
            return not self.prompt.completing
        active = self.active_bindings.get(event.key)
        takes_back = active is not None and active.node is self and active.binding.action == "stop"
        return action in WRITING or (bool(self.sent) and takes_back)

    def action_of(self, event: events.Key | events.Paste) -> str:
        active = self.active_bindings.get(event.key) if isinstance(event, events.Key) else None
        return active.binding.action if active is not None and active.node is self.prompt else ""

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        self.prompt.remember(event)
        self.sent.append(event.text)
        self._show_sent()

    @on(Prompt.BeginRequested)
    def _begin(self) -> None:
        self.begins = True

    def action_stop(self) -> None:
        """Escape: the message that would be first goes back to the prompt; while something is written there, none."""
        if self.sent and not self.prompt.text:
            self.prompt.put(self.sent.pop(0))
            self._show_sent()

    def _show_sent(self) -> None:
        self.talking = bool(self.sent)
        self.query_one(SentPreview).message = self.sent[0] if self.sent else ""
        self.query_one(QueueStrip).show(self.sent[1:], paused=False)
        self.refresh_bindings()
