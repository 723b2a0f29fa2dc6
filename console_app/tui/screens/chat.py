"""The main screen: status bar, conversation, approvals, queue, prompt, key hints, and what the keys do between them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.message import Message

from console_app.domain import events as ev
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallState
from console_app.domain.transcript import Transcript
from console_app.tui.approvals import Approvals
from console_app.tui.commands.builtin import builtin_commands
from console_app.tui.commands.registry import parse
from console_app.tui.compaction import Compaction
from console_app.tui.completion import Completion, Token
from console_app.tui.conversation.view import ConversationView
from console_app.tui.decisions import Decisions
from console_app.tui.dialogs import Dialogs
from console_app.tui.event_router import EventRouter
from console_app.tui.panel_keys import PanelKeys
from console_app.tui.screens.chat_keys import ChatKeys
from console_app.tui.services import ConsoleServices
from console_app.tui.session_actions import READ_ONLY, SessionActions
from console_app.tui.status import model_and_provider, read_status
from console_app.tui.survival import Survival, line_of
from console_app.tui.themes import LoadedTheme
from console_app.tui.turn_driver import TurnDriver
from console_app.tui.widgets.approval_board import ApprovalBoard
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.prompt import Prompt
from console_app.tui.widgets.prompt_box import PromptBox, choices
from console_app.tui.widgets.question_board import QuestionBoard
from console_app.tui.widgets.queue_strip import QueueStrip
from console_app.tui.widgets.status_bar import StatusBar
from console_app.tui.widgets.todo_pane import TodoPane
from console_app.tui.widgets.too_small import TooSmall
from console_app.tui.widgets.welcome import Welcome

STORED_SLICE = 400  # events of a stored session between two looks at the keys: some 10 ms

log = logging.getLogger(__name__)


class ChatScreen(ChatKeys):
    """The console's one main screen; dialogs open on top of it."""

    AUTO_FOCUS = "#prompt"
    HORIZONTAL_BREAKPOINTS = TooSmall.BREAKPOINTS_ACROSS
    VERTICAL_BREAKPOINTS = TooSmall.BREAKPOINTS_DOWN

    def __init__(
        self,
        services: ConsoleServices,
        themes: Sequence[LoadedTheme],
        problems: Sequence[str],
        *,
        prompt: str | None = None,
    ) -> None:
        super().__init__()
        self.services = services
        self.themes = themes
        self.commands = builtin_commands()
        self.transcript = Transcript()
        self.compaction = Compaction(self)
        self.driver = TurnDriver(
            services.engine,
            services.store,
            ready=self._ready_to_send,
            show=self._show_safely,
            changed=self._turn_changed,
            before_turn=self.compaction.before_turn,
        )
        self._problems = list(problems)
        self._first_prompt = prompt
        self._started = asyncio.Event()
        self._failed_servers: set[str] = set()
        self._survival = Survival()
        self._router: EventRouter | None = None

        self._approvals: Approvals | None = None
        self.sessions = SessionActions(self)
        self.decisions = Decisions(services, self.driver, tell=self.tell, toast=self.toast)
        self.panel_keys = PanelKeys(self.driver, self.toast, services.clock)

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield StatusBar()
        yield Welcome(id="welcome")
        yield ConversationView(id="conversation", clock=self.services.clock)
        yield TodoPane()
        yield ApprovalBoard(now=self.services.clock)
        yield QuestionBoard()
        yield QueueStrip()
        yield PromptBox(self.services.history_path, self.services.working_folder, self._completions)
        yield KeyHints()
        yield TooSmall()

    # -- life

    def on_mount(self) -> None:
        """Paints first; everything that takes time comes after."""
        if not self.query("#prompt"):
            return  # left (by a signal, say) before there was anything to see
        self._router = EventRouter(self.view, self.transcript)
        self.dialogs = Dialogs(self)
        self.board.rules_path = self.services.rules.path if self.services.rules else ""
        self._approvals = Approvals(self.board, self.questions, self.prompt, self.transcript, self.services.engine)
        self.services.on_servers_changed(self._servers_changed)
        self.model_changed()
        self.welcome.problems(self._problems)
        self.prompt.offering = True
        self._turn_changed()
        self.set_focus(self.prompt)
        self.call_after_refresh(self._begin)

    async def on_unmount(self) -> None:
        """The turn that runs is stopped, and its calls have ended, before the program does."""
        await self.driver.close()

    def _begin(self) -> None:
        self.run_worker(self._start(), name="start")
        if self._first_prompt:
            self.send(self._first_prompt)

    async def _start(self) -> None:
        try:
            await asyncio.gather(self.services.start(), self.sessions.first())
        except FanoutError as error:
            self.tell("error", error.line)
        except Exception as error:
            log.exception("starting the services failed")
            self.tell(
                "error", f"Fanout could not start everything: {one_line(repr(error), 200)}. /log has the details."
            )
        finally:
            self._started.set()
            self.model_changed()

    async def _ready_to_send(self) -> None:
        await self._started.wait()
        await self.sessions.settled()

    def action_command(self, name: str) -> None:
        """A key that does what a slash command does."""
        if (command := self.commands.get(name)) is not None:
            command.run(self, "")

    # -- what happens in a turn

    def send(self, text: str) -> None:
        """Sends a prompt, now or after the turn that runs."""
        if self.sessions.read_only:
            self.toast(READ_ONLY)
        else:
            self.driver.submit(text)

    def show_event(self, event: ev.Event) -> None:
        """Shows an event that was stored."""
        self._show_safely(event)

    async def _dispatch_message(self, message: Message) -> None:
        """A message whose handler fails is a line on the screen; only one of the screen's making ends the console."""
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if isinstance(message, events.Compose | events.Mount) or not self._survival.goes_on(error):
                raise
            self.tell("error", line_of(error))

    def _show_safely(self, event: ev.Event) -> None:
        """An event that can't be shown is told: the turn goes on, and what the session keeps is whole."""
        try:
            self._show(event)
        except Exception as error:
            if not self._survival.goes_on(error):
                raise
            self.tell("error", line_of(error))

    def _show(self, event: ev.Event) -> None:
        """Shows one event of a turn."""
        assert self._router is not None
        assert self._approvals is not None
        self.set_class(True, "-talking")
        self.prompt.offering = False
        self._router.show(event)
        match event:
            case ev.TodoChanged():
                self.todo.show(event.items)
            case (
                ev.ApprovalRequested()
                | ev.ApprovalResolved()
                | ev.CallRestarted()
                | ev.QuestionAsked()
                | ev.CallFinished()
                | ev.TurnFinished()
            ):
                self._approvals.sync()
                if isinstance(event, ev.TurnFinished):
                    self.refresh_status()
            case ev.UsageReported() | ev.SessionStarted() | ev.StepStarted():
                self.refresh_status()
            case _:
                pass

    def _turn_changed(self) -> None:
        if not self.is_attached or not self.query(QueueStrip):
            return  # the screen is going away, and the turn with it
        busy = self.driver.busy
        self.query_one(QueueStrip).show(self._waiting(), self.driver.paused)
        self.prompt.border_subtitle = (
            "enter queues · ctrl+s steers · esc stops" if busy else "enter send · ctrl+j newline"
        )
        self.refresh_bindings()
        self.refresh_status()

    def _waiting(self) -> Sequence[str]:
        """The queue without a prompt that is only on its way into its turn."""
        queue = list(self.driver.queue)
        return queue if self.driver.turn is not None or self.driver.paused else queue[1:]

    def _servers_changed(self) -> None:
        self.refresh_status()
        failed = {server.name: server.reason for server in self.services.server_statuses() if server.state == "failed"}
        for name in failed.keys() - self._failed_servers:
            reason = one_line(failed[name], 200).rstrip(".")
            self.tell("warning", f"Server {one_line(name, 40)} failed: {reason}. Ctrl+L shows all servers.")
        self._failed_servers = set(failed)

    def refresh_status(self) -> None:
        if self.is_attached:
            self.query_one(StatusBar).status = read_status(self.services, self.transcript)

    def model_changed(self) -> None:
        """Another model answers."""
        model, provider = model_and_provider(self.services)
        self.welcome.tell(model, provider, self.services.model_hint)
        self.refresh_status()

    # -- saying things

    def tell(self, level: ev.Level, text: str) -> None:
        """A line that stays: in the conversation, or on the opening page while there is none."""
        if self.talking:
            self.view.add_notice(level, text)
        else:
            self._problems.append(text)
            self.welcome.problems(self._problems)

    # -- the prompt

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        command = parse(event.text)
        if command is None and self.sessions.read_only:
            self.toast(READ_ONLY)
            return
        if command is None:
            self.prompt.remember_and_clear()
            self.send(event.text)
            return
        name, rest = command
        known = self.commands.get(name)
        if known is None:
            nearest = self.commands.nearest(name)
            meant = f"Did you mean /{nearest}? " if nearest else ""
            self.toast(f"There is no command /{name}. {meant}/help lists them.")
            return
        self.prompt.remember_and_clear()
        known.run(self, rest)

    @on(Prompt.TakeBackRequested)
    def _take_back(self) -> None:
        if (text := self.driver.take_back() if self._waiting() else None) is not None:
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
        if self._approvals is not None and (board := self._approvals.wanted) is not None:
            board.focus()
        elif self.talking:
            self.view.focus()

    @on(Prompt.QuitRequested)
    def _quit_requested(self) -> None:
        self.quit()

    def on_key(self, event: events.Key) -> None:
        """What is typed while the conversation has the focus goes to the prompt, unless it is a key of a panel."""
        if not event.is_printable or event.key in self.active_bindings:
            return
        # The prompt stops what it writes, so with the focus on it this is a key typed before it had the focus.
        if self.focused not in (None, self.view, self.prompt):  # none: the window was too small for a while
            return
        event.stop()
        self.set_focus(self.prompt)
        self.prompt.insert(event.character or "")

    def _completions(self, token: Token) -> Sequence[Completion]:
        if token.kind == "command":
            return [
                Completion(f"/{command.name}", f"/{command.name} ", command.about, runs=True)
                for command in self.commands.match(token.query)
            ]
        command = self.commands.get(token.command)
        return choices(token.query, command.choices(self)) if command else ()

    # -- approvals

    @on(ApprovalBoard.Decided)
    def _decided(self, event: ApprovalBoard.Decided) -> None:
        self.decisions.rule_on(event.ruling)

    @on(ApprovalBoard.EditRequested)
    def _edit_requested(self, event: ApprovalBoard.EditRequested) -> None:
        if (call := self.transcript.calls.get(event.call_id)) is not None:
            self.open_dialog(self.dialogs.edit_waiting, call)

    @on(ApprovalBoard.Refused)
    def _refused(self, event: ApprovalBoard.Refused) -> None:
        self.toast(event.why)

    @on(QuestionBoard.Answered)
    def _answered(self, event: QuestionBoard.Answered) -> None:
        if self.driver.turn is None or not self.driver.turn.answer(event.call_id, event.text):
            self.toast("That question isn't open any more.")

    @on(QuestionBoard.Declined)
    def _declined(self, event: QuestionBoard.Declined) -> None:
        if self.driver.activity is not None:
            self.driver.activity.cancel_call(event.call_id)

    @on(TodoPane.Edited)
    async def _todo_edited(self, event: TodoPane.Edited) -> None:
        told = self.services.engine.edit_todo(event.items)
        if told is not None:
            await self.driver.deliver(told)

    @on(TodoPane.Left)
    def _todo_left(self) -> None:
        self.prompt.focus()

    @on(ApprovalBoard.Left)
    def _board_left(self) -> None:
        assert self._approvals is not None
        self._approvals.put_off()

    # -- the conversation

    @on(ConversationView.CallAction)
    def _call_action(self, event: ConversationView.CallAction) -> None:
        call = self.transcript.calls.get(event.call_id)
        if call is None:
            return
        match event.action:
            case "cancel":
                self.panel_keys.cancel(call)
            case "inspect":
                self.open_dialog(self.dialogs.inspect, call)
            case "retry":
                self.panel_keys.run_again(call)
            case "edit" if call.state is CallState.WAITING:
                self.open_dialog(self.dialogs.edit_waiting, call)
            case "edit":
                self.open_dialog(self.dialogs.edit_and_run, call)
            case "extend":
                self.panel_keys.extend(call)
            case "send":
                self.panel_keys.send_now()

    @on(ConversationView.CopyRequested)
    def _copy(self, event: ConversationView.CopyRequested) -> None:
        self.copy(event.text)

    def new_conversation(self) -> None:
        """/new: nothing of this conversation goes to the model again."""
        self.sessions.begin()
        self._empty()
        self.set_class(False, "-talking")
        self.prompt.offering = True
        self.refresh_status()

    async def show_stored(self, stored: Sequence[ev.Event]) -> None:
        """The conversation that `stored` tells of in place of this one, in slices so that keys pass."""
        router = self._empty()
        self.set_class(True, "-talking")
        self.prompt.offering = False
        for at in range(0, len(stored), STORED_SLICE):
            for event in stored[at : at + STORED_SLICE]:
                router.show(event)
            await asyncio.sleep(0)
        self.refresh_status()

    def _empty(self) -> EventRouter:
        """Forgets the conversation; what comes next belongs to another session."""
        self.driver.new_session()
        self.view.clear()
        self.transcript = Transcript()
        self._router = router = EventRouter(self.view, self.transcript)
        self._approvals = Approvals(self.board, self.questions, self.prompt, self.transcript, self.services.engine)
        return router

    def clear_screen(self) -> None:
        """/clear: the conversation goes on, the screen is empty."""
        self.view.clear()
