"""The main screen: puts its parts together, starts them, and has the keys that work everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual import events, getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message

from console_app.console import MODES, Console, Services
from console_app.console.intents import Commands
from console_app.domain import ApprovalMode, plural
from console_app.tui.approvals.mode_switch import ModeSwitch, strip
from console_app.tui.commands.registry import CommandLine, CommandRegistry
from console_app.tui.lineview import CallBlock, ConversationView
from console_app.tui.main_screen.agent_pane import AgentPane
from console_app.tui.main_screen.bars.activity_line import ActivityLine
from console_app.tui.main_screen.bars.background_line import BackgroundLine
from console_app.tui.main_screen.bars.find_bar import FindBar
from console_app.tui.main_screen.bars.status_bar import StatusBar
from console_app.tui.main_screen.base import MainScreen
from console_app.tui.main_screen.board_area import BoardArea
from console_app.tui.main_screen.boards import Boards
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.dialogs import Dialogs
from console_app.tui.main_screen.hints import hints_of
from console_app.tui.main_screen.keys_that_go import KeysThatGo, Place
from console_app.tui.main_screen.over.copying import copy_part, name_of
from console_app.tui.main_screen.over.leaving import Leaving
from console_app.tui.main_screen.prompt_area import PromptArea
from console_app.tui.main_screen.shown_conversation import ShownConversation
from console_app.tui.main_screen.start.welcome import Welcome
from console_app.tui.main_screen.ways import ScreenKeys, act_on_call, screen_ways
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.servers.offers import ServerOffers
from console_app.tui.servers.workbench import Workbench
from console_app.tui.terminal.key_names import key_name, writes_text
from console_app.tui.themes import LoadedTheme
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.too_small import TooSmall

WATCHED_ONLY = "A replay: / for commands, nothing is sent"


class ChatScreen(MainScreen):
    """The console's one main screen; dialogs open on top of it."""

    conversation = getters.query_one("#conversation", ConversationView)
    agent = getters.query_one(AgentPane)
    find_bar = getters.query_one(FindBar)
    boards = getters.query_one(BoardArea)
    prompt_area = getters.query_one(PromptArea)

    def __init__(
        self,
        services: Services,
        themes: Sequence[LoadedTheme],
        problems: Sequence[str],
        *,
        prompt: str | None = None,
    ) -> None:
        super().__init__()
        self.services = services
        self.ui = ui = ConsoleUi(self, services, problems)
        self.console = console = Console(
            services, ui, opened=lambda: ui.open_beside(self.prompt_area.drafts.opening_is_over)
        )
        own = self.own_commands = Commands(console)
        self.commands = CommandRegistry(own)
        self.offers = ServerOffers(services.hub, ui, self.commands, console, lambda text: self.prompt_area.send(text))
        self.keys_that_go = KeysThatGo(self, ui)
        later = partial(services.timing.later, self)
        self.modes = ModeSwitch(console.permissions, ui, services.timing, later, self._show_mode)
        self._leaving = Leaving(
            self,
            ui,
            lambda: self.prompt_area.stop(),
            partial(self.action_command, "rewind"),
            services.timing.now,
            lambda: len(services.engine.background),
        )
        self.dialogs = Dialogs(ui, console, self.offers, lambda: self.prompt)
        equip(self.offers, services, ui, self.dialogs)
        ui.connect(console)
        self.command_line = CommandLine(console, own, ui, self.commands, self.offers.is_prompt)
        self._themes = themes
        self._first_prompt = prompt

    def compose(self) -> ComposeResult:
        yield StatusBar()
        yield Welcome(id="welcome")
        yield (view := ConversationView(id="conversation", clock=self.services.clock))
        yield AgentPane(self.services.clock)
        yield FindBar(view)
        yield BoardArea(self.ui, self.console, self.dialogs)
        yield PromptArea(self.ui, self.console, self.command_line, self.offers)
        yield KeyHints(lambda: hints_of(self.ui, self.console), self.services.timing.now)
        yield TooSmall()

    def on_mount(self) -> None:
        """Paints first; everything that takes time comes after."""
        if not self.query("#prompt"):
            return  # left (by a signal, say) before there was anything to see
        services, boards = self.services, self.boards
        self.ui.shown = ShownConversation(
            self.conversation,
            Boards(boards.approvals, boards.human, boards.questions),
            boards.todo,
            self.prompt,
            self.console,
            self.agent,
        )
        panel = ("On a panel", self.conversation)
        places = [("Everywhere", self), panel, *boards.places, ("In the prompt", self.prompt)]
        keys = ScreenKeys(self.action_toggle_plan, self.keys_that_go.find)
        own, known = self.own_commands, self.commands
        own.use(screen_ways(self.ui, self.dialogs, boards, self.modes, known, keys, places, self._themes))
        services.on_servers_changed(self._servers_changed)
        self.ui.drafts = self.prompt_area.drafts
        self.ui.tell_notices()
        if services.replay is not None:
            self.prompt.placeholder = WATCHED_ONLY
        doing, beside = self.query_one(ActivityLine), self.query_one(BackgroundLine)
        for view in (self.conversation, self.agent.view):
            view.on_beat(lambda now: any([doing.look(now), beside.look(now), self.agent.look(now)]))
            view.use_time(partial(services.timing.later, view), services.timing.now)
        self.ui.changed()
        self.set_focus(self.prompt)
        self.call_after_refresh(self._begin)

    @property
    def view(self) -> ConversationView:
        """The conversation that is shown: the user's, or that of an agent."""
        return self.ui.view

    async def end(self) -> None:
        """Stop the turn that runs and withdraw all questions. Return when all has ended, and is stored."""
        self.ui.leave_agents()
        await self.console.close()
        if self.ui.drafts is not None:
            await self.ui.drafts.close()

    async def on_unmount(self) -> None:
        """End everything that runs before the program ends."""
        await self.end()

    def _begin(self) -> None:
        self.run_worker(self.console.read_project, name="project")
        self.run_worker(self.console.start, name="start")
        if not self.services.resume and self.services.replay is None:
            self.ui.open_beside(self.prompt_area.drafts.restore)
        if self._first_prompt:
            self.prompt_area.send(self._first_prompt)

    async def _dispatch_message(self, message: Message) -> None:
        """A message whose handler fails is a line on the screen; only one of the screen's making ends the console."""
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if isinstance(message, events.Compose | events.Mount) or not self.ui.goes_on(error):
                raise

    def _servers_changed(self) -> None:
        self.console.servers_changed()
        self.offers.changed()
        for area in self.query(PromptArea):  # none any more while the console closes
            self.call_later(area.look_again)

    # -- the conversation's panels

    @on(ConversationView.CallAction)
    def _call_action(self, event: ConversationView.CallAction) -> None:
        act_on_call(event, self.ui, self.console, self.dialogs, self.boards)

    @on(ConversationView.AgentOpened)
    def _open_agent(self, event: ConversationView.AgentOpened) -> None:
        self.ui.enter_agent(event.call)

    @on(ConversationView.FilesRequested)
    def _open_files(self, event: ConversationView.FilesRequested) -> None:
        self.ui.open(self.dialogs.files, event.files, event.server)

    @on(ConversationView.Left)
    def action_close_find(self) -> None:
        """Escape on a panel, or while something is looked for: the focus goes back, or to the prompt."""
        if not (self.find_bar.is_open and self.find_bar.close()) and not self.ui.leave_agent():
            self.prompt.focus()

    def action_find_step(self, delta: int) -> None:
        """n, N."""
        self.find_bar.action_step(delta)

    @on(ConversationView.Typed)
    def _typed(self, event: ConversationView.Typed) -> None:
        """Words that were typed on a panel go to the prompt."""
        self.set_focus(self.prompt)
        self.prompt.write(event.text)

    @on(ConversationView.MenuRequested)
    def _menu(self) -> None:
        self.ui.open(self._pick_act)

    async def _pick_act(self) -> None:
        from console_app.tui.main_screen.over.call_menu import CallMenu

        block, view = self.view.cursor, self.view
        if isinstance(block, CallBlock):
            acts = [one.binding for one in self.active_bindings.values() if one.node is view and one.enabled]
            acts = list(
                {one.action: one for one in reversed(acts) if one.show and one.action not in ("menu", "leave")}.values()
            )[::-1]
            if (action := await self.ui.push(CallMenu(block.group.name_of(block.call), acts))) is not None:
                await view.run_action(action)

    @on(ConversationView.Refused)
    def _key_refused(self, event: ConversationView.Refused) -> None:
        self.ui.refuse(event.why + ("" if self.ui.shown.boards.wanted is None else " tab goes to what needs you."))

    @on(ConversationView.BelowChanged)
    def _below_changed(self, event: ConversationView.BelowChanged) -> None:
        """Tell a reader further up how much is new below."""
        what = f"{event.new} new below" if event.new else "more below"
        self.prompt.border_title = f"↓ {what} · pgdn" if event.more else ""

    @on(ConversationView.CopyRequested)
    def _copy(self, event: ConversationView.CopyRequested) -> None:
        self.ui.copy(event.text, name_of(self.view.cursor, event.text))

    def action_copy_part(self) -> None:
        if (block := self.view.cursor) is not None:
            self.ui.open(copy_part, self.ui, block)

    def on_text_selected(self) -> None:
        """Text was selected with the mouse: how it is copied."""
        if text := self.get_selected_text():
            self.ui.toast(f"{plural(len(text), 'character')} selected. Ctrl+C copies.", 2)

    @on(StatusBar.Clicked)
    def _status_clicked(self, event: StatusBar.Clicked) -> None:
        if event.part == "mode":
            self.action_cycle_mode()
        else:
            self.action_command(event.part)

    # -- keys

    @on(Prompt.Left)
    def _left(self) -> None:
        self.keys_that_go.out_of_prompt()

    def on_key(self, event: events.Key) -> None:
        """Write a typed character into the prompt wherever the focus is, unless it is a key of the panel or board
        there.

        The prompt and other fields stop what they write, so with the focus on one this is a key typed before it came.
        """
        if not writes_text(event) or event.key in self.active_bindings:
            return
        event.stop()
        self.set_focus(self.prompt)
        self.prompt.insert(event.character or "")

    def action_go_on(self) -> None:
        """Tab out of the prompt: to what waits for you too, else to the next part of the screen."""
        if not self.keys_that_go.to_what_waits():
            self.focus_next()

    def action_command(self, name: str) -> None:
        if (command := self.command_line.find(name)) is not None:
            self.command_line.run(command)

    def action_commands(self) -> None:
        """Ctrl+P: the commands, each with the key that does the same."""
        bound = {one.binding.action: key_name(one.binding.key) for one in self.active_bindings.values()}
        names = [command.intent.name for command in self.commands.own]
        keys = {name: bound.get(f"command('{name}')", "") for name in names}
        self.ui.open(self.dialogs.commands, self.commands, keys, self.command_line.run)

    def action_stop(self) -> None:
        """Escape while something runs."""
        self.prompt_area.stop()

    def action_close(self) -> None:
        """Escape otherwise: see Leaving."""
        self._leaving.escape()

    def action_steer(self) -> None:
        self.prompt_area.steer()

    def action_interrupt(self) -> None:
        """Ctrl+C: copies a selection, clears the prompt, stops the turn; pressed again with nothing left, quits."""
        self._leaving.interrupt(self.get_selected_text() or "")

    def action_quit_if_empty(self) -> None:
        """Ctrl+D out of the prompt: quits like in it, unless something is written there."""
        if not self.prompt.text:
            self.action_quit()

    def action_quit(self) -> None:
        """Quit, unless something runs that would end with it: that is asked for twice."""
        self._leaving.quit()

    def action_background(self) -> None:
        """Ctrl+B: the call that has the focus goes on in the background, else the newest that runs."""
        at = self.view.cursor
        if isinstance(at, CallBlock) and self.view.has_focus:
            self.console.calls.background(at.call.id)
        else:
            self.console.calls.newest_to_background()

    def action_go(self, place: Place, number: int) -> None:
        """Go to a panel, a turn or a page, from wherever the focus is."""
        self.keys_that_go.go(place, number)

    def action_toggle_all(self) -> None:
        self.view.toggle_all()

    def action_cycle_mode(self) -> None:
        """Shift+Tab: ask, auto, plan, yolo, ask."""
        self.modes.next()

    def _show_mode(self, mode: ApprovalMode | None) -> None:
        line, board = None, self.boards.approvals
        if mode is not None:
            many = len(board.selection.waiting)
            key, them = "Y" if board.has_focus else "tab Y", f"the {many} that wait" if many > 1 else "what waits"
            line = strip(mode) + Content(f"  {f'{key} runs {them} · ' if many else ''}{MODES[mode]}")
        self.query_one(KeyHints).say_instead(line)

    def action_toggle_plan(self) -> None:
        """Alt+P: into plan mode and out of it, to the mode before."""
        self.modes.toggle_plan()

    def action_search_history(self) -> None:
        self.ui.open(self.dialogs.history)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tell whether a key does something now; one that doesn't is neither named nor taken."""
        match action:
            case "stop":
                return self.console.conversation.busy and not self.prompt_field.popup.is_open and not self.ui.agent
            case "steer":
                return self.console.conversation.busy or bool(self.ui.agent)
            case "toggle_all":
                return self.ui.talking
            case "copy_part":
                return self.view.cursor is not None
            case "find_step":
                return self.find_bar.is_open
            case _:
                return True


def equip(offers: ServerOffers, services: Services, ui: ConsoleUi, dialogs: Dialogs) -> None:
    """Without a hub, as in a replay, there is nothing to open."""
    if services.hub is not None and services.servers is not None:
        offers.bench = Workbench(
            services.hub,
            ui,
            statuses=services.servers.statuses,
            gate=services.engine.gate,
            calls=lambda: ui.shown.transcript.calls,
            run=dialogs.call,
            redact=services.redact,
            folder=services.working_folder,
            clock=services.clock,
        )
