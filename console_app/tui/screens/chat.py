"""The main screen, put together: its parts from top to bottom, its life, and how it shows what happens in a turn.

Its keys are in `chat_keys`, the prompt in `chat_prompt`, what the boards and panels ask for in `chat_panels`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.message import Message

from console_app.domain import events as ev
from console_app.domain.errors import FanoutError
from console_app.domain.safe_text import one_line
from console_app.domain.transcript import Transcript
from console_app.tui.approvals import Boards
from console_app.tui.commands.builtin import builtin_commands
from console_app.tui.commands.line import CommandLine
from console_app.tui.compaction import Compaction
from console_app.tui.conversation.view import ConversationView
from console_app.tui.decisions import Decisions
from console_app.tui.dialogs import Dialogs
from console_app.tui.human.board import HumanBoard
from console_app.tui.mode_switch import ModeSwitch
from console_app.tui.offers.desk import ServerOffers
from console_app.tui.panel_keys import PanelKeys
from console_app.tui.screens.chat_panels import ChatPanels
from console_app.tui.screens.chat_prompt import ChatPrompt
from console_app.tui.server_news import ServerNews
from console_app.tui.services import ConsoleServices
from console_app.tui.session_actions import SessionActions
from console_app.tui.shown import Shown
from console_app.tui.status import model_and_provider, read_status
from console_app.tui.survival import Survival, line_of
from console_app.tui.themes import LoadedTheme
from console_app.tui.turn_driver import TurnDriver
from console_app.tui.widgets.approval_board import ApprovalBoard
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.prompt import SENDS
from console_app.tui.widgets.prompt_box import PromptBox
from console_app.tui.widgets.question_board import QuestionBoard
from console_app.tui.widgets.queue_strip import QueueStrip
from console_app.tui.widgets.status_bar import StatusBar
from console_app.tui.widgets.todo_pane import TodoPane
from console_app.tui.widgets.too_small import TooSmall
from console_app.tui.widgets.welcome import Welcome

log = logging.getLogger(__name__)


class ChatScreen(ChatPrompt, ChatPanels):
    """The console's one main screen; dialogs open on top of it."""

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
        self.command_line = CommandLine(self, self.commands)
        self.compaction = Compaction(self)
        self.offers = ServerOffers(self)
        self.driver = TurnDriver(
            services.engine,
            services.store,
            ready=self._ready_to_send,
            show=self.show_event,
            changed=self._turn_changed,
            compose=self.offers.compose,
            refused=self.offers.refused,
        )
        self._problems = list(problems)
        self._first_prompt = prompt
        self._started = asyncio.Event()
        self._server_news = ServerNews(services, self.tell)
        self._survival = Survival()
        self.sessions = SessionActions(self)
        self.decisions = Decisions(services, self.driver, tell=self.tell, toast=self.toast)
        self.modes = ModeSwitch(services.engine.gate, self.set_timer, self.mode_settled)
        self.panel_keys = PanelKeys(self.driver, self.toast, services.clock)

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield StatusBar()
        yield Welcome(id="welcome")
        yield ConversationView(id="conversation", clock=self.services.clock)
        yield TodoPane()
        yield ApprovalBoard(now=self.services.clock)
        yield HumanBoard(model=lambda: self.services.engine.provider.model)
        yield QuestionBoard()
        yield QueueStrip()
        yield PromptBox(
            self.services.history_path,
            self.services.working_folder,
            self.command_line.completions,
            self.offers.completions,
        )
        yield KeyHints()
        yield TooSmall()

    # -- life

    def on_mount(self) -> None:
        """Paints first; everything that takes time comes after."""
        if not self.query("#prompt"):
            return  # left (by a signal, say) before there was anything to see
        engine = self.services.engine
        boards = Boards(self.board, self.human, self.questions)
        self.shown = Shown(self.view, boards, self.services.human, self.todo, self.prompt, engine)
        self.dialogs = Dialogs(self)
        self.board.rules_path = self.services.rules.path if self.services.rules else ""
        self.services.on_servers_changed(self._servers_changed)
        self.model_changed()
        self.welcome.problems(self._problems)
        self.prompt.offering = True
        self._turn_changed()
        self.set_focus(self.prompt)
        self.call_after_refresh(self._begin)

    async def on_unmount(self) -> None:
        """The turn that runs is stopped, and its calls have ended, before the program does."""
        self.services.human.close()
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

    # -- what happens in a turn

    @property
    def transcript(self) -> Transcript:
        """What was told of the conversation on screen."""
        return self.shown.transcript

    def show_event(self, event: ev.Event) -> None:
        """Shows an event that was stored. One that can't be shown is told: the turn goes on, the session is whole."""
        try:
            self._show(event)
        except Exception as error:
            if not self._survival.goes_on(error):
                raise
            self.tell("error", line_of(error))

    def _show(self, event: ev.Event) -> None:
        self._talks(True)
        self.shown.show(event)
        match event:
            case ev.StepStarted():
                self._turn_changed()
            case ev.UsageReported() | ev.SessionStarted() | ev.TurnFinished():
                self.refresh_status()
            case _:
                pass

    def _talks(self, talking: bool) -> None:
        """Whether there is a conversation to see, or the opening page."""
        self.set_class(talking, "-talking")
        self.prompt.offering = not talking

    async def _dispatch_message(self, message: Message) -> None:
        """A message whose handler fails is a line on the screen; only one of the screen's making ends the console."""
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if isinstance(message, events.Compose | events.Mount) or not self._survival.goes_on(error):
                raise
            self.tell("error", line_of(error))

    def _turn_changed(self) -> None:
        if not self.is_attached or not self.query(QueueStrip):
            return  # the screen is going away, and the turn with it
        busy = self.driver.busy
        self.query_one(QueueStrip).show(self.driver.waiting, self.driver.paused, self.driver.composing)
        self.prompt.border_subtitle = self._step() + "enter queues · ctrl+s steers · esc stops" if busy else SENDS
        self.refresh_bindings()
        self.refresh_status()

    def _step(self) -> str:
        """How far the turn is, from its second request on."""
        turn, step = self.driver.turn, self.transcript.step
        if turn is None or step is None or step.number < 2:
            return ""
        return f"step {step.number}/{turn.settings.max_steps} · "

    def _servers_changed(self) -> None:
        self.refresh_status()
        self._server_news.changed()
        self.offers.changed()

    def refresh_status(self) -> None:
        if self.is_attached:
            self.query_one(StatusBar).status = read_status(self.services, self.transcript, self.modes.shown)

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

    # -- another conversation

    def new_conversation(self) -> None:
        """/new: nothing of this conversation goes to the model again."""
        self.sessions.begin()
        self.driver.new_session()
        self.shown.clear()
        self._talks(False)
        self.refresh_status()

    async def show_stored(self, stored: Sequence[ev.Event]) -> None:
        """The conversation that `stored` tells of in place of this one."""
        self.driver.new_session()
        self._talks(True)
        await self.shown.show_stored(stored)
        self.refresh_status()

    def clear_screen(self) -> None:
        """/clear: the conversation goes on, the screen is empty."""
        self.view.clear()
