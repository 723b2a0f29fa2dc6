"""The prompt on the main screen: what you send, commands, the opening page's examples, and where typed keys go."""

from __future__ import annotations

from textual import events, on

from console_app.tui.commands.line import CommandLine
from console_app.tui.offers.desk import STEERED, ServerOffers
from console_app.tui.screens.chat_keys import ChatKeys
from console_app.tui.session_actions import READ_ONLY, SessionActions
from console_app.tui.shown import Shown
from console_app.tui.widgets.prompt import Prompt
from console_app.tui.widgets.welcome import Welcome


class ChatPrompt(ChatKeys):
    """Handlers of the prompt's and the opening page's messages."""

    command_line: CommandLine
    sessions: SessionActions
    shown: Shown
    offers: ServerOffers

    def send(self, text: str) -> None:
        """Sends a prompt, now or after the turn that runs."""
        if self.sessions.read_only:
            self.toast(READ_ONLY)
            return
        if not self.driver.busy:
            self.view.action_scroll_end()  # who sends wants to see what comes of it, wherever they were reading
        self.driver.submit(text)

    def steer(self, text: str) -> None:
        """Sends a message into the running turn; what servers have to be asked for comes with it, once it is there."""
        if self.offers.is_asked_for(text):
            self.prompt.remember_and_clear()
            self.run_worker(self.offers.steer(text), group="steering")
        elif self.driver.steer(text):
            self.prompt.remember_and_clear()
            self.toast(STEERED)

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        command = self.command_line.read(event.text)
        if command is None and self.sessions.read_only:
            self.toast(READ_ONLY)
            return
        if command is None:
            self.prompt.remember_and_clear()
            self.send(event.text)
            return
        name, rest = command
        if (known := self.command_line.find(name)) is not None:
            self.prompt.remember_and_clear()
            self.command_line.run(known, rest)

    @on(Prompt.TakeBackRequested)
    def _take_back(self) -> None:
        if (text := self.driver.take_back() if self.driver.waiting else None) is not None:
            self.prompt.put(text)
        elif self.prompt.offering and self.welcome.highlighted is not None:
            self.welcome.move(-1)
        else:
            self.prompt.show_older()

    @on(Prompt.ExampleRequested)
    def _example(self, event: Prompt.ExampleRequested) -> None:
        """A digit, an arrow or Enter in an empty prompt."""
        if self.driver.paused and not event.move and not event.number:
            self.driver.resume()
        elif not self.prompt.offering:
            return
        elif event.move:
            self.welcome.move(event.move)
        elif event.number:
            self.prompt.offer(self.welcome.examples[event.number - 1].text, str(event.number))
        elif (example := self.welcome.highlighted) is not None:
            self.send(example.text)

    @on(Welcome.Picked)
    def _picked(self, event: Welcome.Picked) -> None:
        self.send(event.text)

    @on(Prompt.Left)
    def _left(self) -> None:
        """Tab: to what waits for you, else to the conversation."""
        if not self._to_what_waits() and self.talking:
            self.view.focus()

    def action_go_on(self) -> None:
        """Tab out of the prompt: to what waits for you too, else to the next part of the screen."""
        if not self._to_what_waits():
            self.focus_next()

    def _to_what_waits(self) -> bool:
        board = self.shown.approvals.wanted
        if board is None or board.has_focus_within:
            return False
        board.focus()
        return True

    @on(Prompt.QuitRequested)
    def _quit_requested(self) -> None:
        self.quit()

    def on_key(self, event: events.Key) -> None:
        """What is typed goes to the prompt wherever the focus is, unless it is a key of the panel or board there.

        The prompt and other fields stop what they write, so with the focus on one this is a key typed before it came.
        """
        if not event.is_printable or event.key in self.active_bindings:
            return
        event.stop()
        self.set_focus(self.prompt)
        self.prompt.insert(event.character or "")

    def action_command(self, name: str) -> None:
        """A key that does what a slash command does."""
        if (command := self.command_line.find(name)) is not None:
            self.command_line.run(command)
