"""The prompt with what stands around it: what you send, take back, and pick from the opening page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Spacing
from textual.screen import Screen
from textual.widgets import TextArea

from console_app.console import Around, Console
from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.bars.activity_line import ActivityLine, BackgroundLine
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.draft_keeping import DraftKeeping
from console_app.tui.main_screen.start.welcome import Welcome
from console_app.tui.prompt.commands import CommandLine
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.prompt.prompt_box import PromptBox, QueueStrip
from console_app.tui.servers.offers import ServerOffers


class PromptArea(Vertical):
    """Holds the prompt of one main screen, its queue, and the line about what runs."""

    DEFAULT_CSS = "PromptArea { height: auto; }"

    def __init__(self, ui: ConsoleUi, console: Console, command_line: CommandLine, offers: ServerOffers) -> None:
        super().__init__()
        self._ui = ui
        self._program = console
        self._services = console.services
        self._conversation = console.conversation
        self._command_line = command_line
        self._offers = offers

    def compose(self) -> ComposeResult:
        yield BackgroundLine(lambda: self._ui.transcript)
        yield QueueStrip()
        yield ActivityLine(self._program.activity.at)
        yield PromptBox(
            self._services.history_path,
            self._services.working_folder,
            self._command_line.completions,
            self._offers.completions,
            self._program.attachments.chips,
            self._program.attachments.keep_picture,
            clock=self._services.timing.now,
        )

    def _place_toasts(self, screen: Screen[object]) -> None:
        """Place toasts over the conversation, and over nothing that is written in: the prompt, a board, the find bar.
        Where the conversation has no room at all, they stand over the status bar."""
        below = [screen.size.height - shown.region.bottom for shown in screen.query_children("#conversation, #welcome")
                 if shown.region]  # fmt: skip
        margin = Spacing(0, 0, min(below, default=screen.size.height - 1), 0)
        for toasts in screen.query_children("ToastRack"):
            if toasts.styles.margin != margin:
                toasts.styles.margin = margin

    def on_mount(self) -> None:
        self.screen.screen_layout_refresh_signal.subscribe(self, self._place_toasts)  # pyright: ignore[reportUnknownMemberType]
        self.drafts = DraftKeeping(self._services, self.prompt)

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self.drafts.changed()

    @property
    def prompt(self) -> Prompt:
        return self.query_one(PromptBox).prompt

    def look_again(self) -> None:
        if self.is_attached and self.query("#prompt"):  # else it is going away
            self.query_one(PromptBox).look_again()

    def send(self, text: str, typed: str | None = None, *, around: Around = nullcontext) -> None:
        """Send a prompt, now or after the turn that runs, within `around`. `typed` is the part that was not pasted."""
        idle = not self._conversation.busy
        if self._program.send(text, typed=typed, around=around) and idle:
            # Who sends wants to see what comes of it, wherever they were reading.
            self.screen.query_one(ConversationView).action_scroll_end()
        if (files := self._program.server_files) is not None:
            self._ui.open_beside(files.look)

    def take(self, text: str, typed: str | None = None, taken: Callable[[], None] = lambda: None) -> bool:
        """Send the text, or run the command that it is, after calling `taken`. Return False where it can't be."""
        command = self._command_line.read(text)
        if command is None and not self._program.may_send():
            return False
        if command is None and self._ui.agent:
            if not self._ui.say_to_agent(text):
                return False
            taken()
        elif command is None:
            taken()
            self.send(text, typed)
        elif (known := self._command_line.find(command[0])) is not None:
            taken()
            self._command_line.run(known, command[1])
        else:
            return False
        return True

    def steer(self) -> None:
        """Add the text of the prompt to the running turn at its next step, or to the agent that is shown."""
        prompt = self.prompt
        if text := prompt.expanded().strip():
            sent = prompt.hand_over()
            if self._ui.agent and not self._ui.say_to_agent(text):
                prompt.give_back(sent)
                return
            prompt.remember(sent)
            if self._ui.agent:
                return
            self._ui.open_beside(self._conversation.steer, text, typed=sent.shown)

    def stop(self) -> bool:
        """Stop what runs. A message whose turn has not begun goes back to the prompt, or to the queue while something
        is written there. False when nothing runs."""
        conversation = self._conversation
        if conversation.on_its_way is None or self.prompt.text:
            return conversation.stop()
        if text := conversation.call_off():
            self.prompt.recall(text)
        return True

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        if not self.take(event.text, event.shown, partial(self.prompt.remember, event)):
            self.prompt.give_back(event)

    @on(Prompt.TakeBackRequested)
    def _take_back(self) -> None:
        conversation, prompt = self._conversation, self.prompt
        text = conversation.take_back() if conversation.waiting else None
        if text is None and self._program.activity.waits_for(self._services.clock()):
            text = conversation.call_off()
        if text is not None:
            prompt.recall(text)
        elif not (self._ui.talking and self._ui.view.has_calls and self._ui.view.enter()):
            prompt.show_older()

    @on(Prompt.BeginRequested)
    def _begin(self) -> None:
        """Enter in an empty prompt: what waits goes on, or the example of the opening page begins."""
        welcome = self.screen.query_one(Welcome)
        if self._conversation.paused:
            self._conversation.resume()
        elif self._conversation.on_its_way is not None:
            self._program.readiness.skip()  # the turn begins without the servers that are not there yet
        elif not self._ui.talking:
            if welcome.example is None:
                welcome.asked = True
            elif welcome.runs:
                self.send(welcome.example.text)
            else:
                self.prompt.put(welcome.example.text)

    @on(BackgroundLine.Chosen)
    def _chosen(self, event: BackgroundLine.Chosen) -> None:
        if event.end:
            self._program.calls.cancel(event.call.id)
        else:
            self._ui.leave_agents()
            self._ui.view.go_to_call(event.call)
