"""The main screen: puts its parts together, starts them, and has the keys that work everywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, assert_never

from textual import events, getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from console_app.console import Console, Services
from console_app.console.intents import INTENTS, RUNNING, Cannot, Commands, Key, Slash, Ways
from console_app.domain import ApprovalMode, CallState, UsageError, one_line, plural
from console_app.tui.asking.mode_switch import ModeSwitch
from console_app.tui.lineview import CallBlock, ConversationView
from console_app.tui.main_screen.bars.activity_line import ActivityLine, BackgroundLine
from console_app.tui.main_screen.bars.find_bar import FindBar
from console_app.tui.main_screen.bars.status_bar import StatusBar
from console_app.tui.main_screen.base import IDLE, MainScreen
from console_app.tui.main_screen.board_area import BoardArea
from console_app.tui.main_screen.console_ui import AgentPane, ConsoleUi, ShownConversation
from console_app.tui.main_screen.dialogs import CallMenu, Dialogs, ModelPicker
from console_app.tui.main_screen.over.copying import copy_answer, copy_part, name_of
from console_app.tui.main_screen.prompt_area import PromptArea
from console_app.tui.main_screen.start.welcome import Welcome
from console_app.tui.prompt.commands import CommandLine
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.servers.offers import ServerOffers
from console_app.tui.terminal.key_names import key_name, writes_text
from console_app.tui.themes import LoadedTheme
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.too_small import TooSmall

WATCHED_ONLY = "A replay: / for commands, nothing is sent"
WATCHED = (("/", "commands"), ("prompt.help", "help"))  # hints in a replay, where nothing can be sent
AGAIN = 2.0  # seconds in which a second key counts as one
Place = Literal["panel", "call", "failure", "turn", "failed", "page"]


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
        self.commands = commands = CommandLine(console, own, ui)
        self.offers = ServerOffers(services.hub, ui, commands, console, lambda text: self.prompt_area.send(text))
        later = partial(services.timing.later, self)
        self.modes = ModeSwitch(console.permissions, ui, services.timing, later, self._show_mode)
        self._quit_at = self._interrupted_at = self._escaped_at = float("-inf")
        self.dialogs = Dialogs(ui, console, self.offers, lambda: self.prompt)
        self.offers.open_bench(services, lambda: ui.shown.transcript.calls, self.dialogs.call)
        ui.connect(console)
        self._themes = themes
        self._first_prompt = prompt

    def compose(self) -> ComposeResult:
        yield StatusBar()
        yield Welcome(id="welcome")
        yield (view := ConversationView(id="conversation", clock=self.services.clock))
        yield AgentPane(self.services.clock)
        yield FindBar(view)
        yield BoardArea(self.ui, self.ui.refuse, self.console, self.dialogs)
        yield PromptArea(self.ui, self.console, self.commands, self.offers)
        yield KeyHints(self._hints, self.services.timing.now)
        yield TooSmall()

    def on_mount(self) -> None:
        if not self.query("#prompt"):
            return  # left (by a signal, say) before there was anything to see
        services, boards = self.services, self.boards
        self.ui.shown = ShownConversation(self.conversation, boards, self.prompt, self.console, self.agent)
        panel = ("On a panel", self.conversation)
        places = [("Everywhere", self), panel, *boards.places, ("In the prompt", self.prompt)]
        self.own_commands.use(self._ways(places))
        self.call_later(self.prompt_area.look_again)  # a command may be begun already
        services.on_servers_changed(self._servers_changed)
        self.ui.drafts = self.prompt_area.drafts
        self.ui.tell_notices()
        if services.replay is not None:
            self.prompt.placeholder = WATCHED_ONLY
        doing, beside = self.query_one(ActivityLine), self.query_one(BackgroundLine)
        for view in (self.conversation, self.agent.view):
            view.on_beat(lambda now: any([doing.look(now), beside.look(now), self.agent.look(now)]))
            view.slices.gives_way = view.frames.gives_way = self.gives_way
            view.use_time(partial(services.timing.later, view), services.timing.now)
        self.ui.changed()
        self.set_focus(self.prompt)
        self.call_after_refresh(self._begin)

    @property
    def view(self) -> ConversationView:
        return self.ui.view

    def frame_took(self, seconds: float, painted: set[Widget]) -> None:
        """Have the view rest for what Textual makes of its frame too, which is half of what a frame costs."""
        if self.conversation in painted:
            self.conversation.frames.took(seconds)

    async def end(self) -> None:
        """Stop the turn that runs and withdraw all questions. Return when all has ended, and is stored."""
        self.ui.leave_agents()
        await self.console.close()
        if self.ui.drafts is not None:
            await self.ui.drafts.close()

    async def on_unmount(self) -> None:
        await self.end()

    def _begin(self) -> None:
        self.run_worker(self.console.read_project, name="project")
        self.run_worker(self.console.start, name="start")
        if not self.services.resume and self.services.replay is None:
            self.ui.open_beside(self.prompt_area.drafts.restore)
        if self._first_prompt:
            self.prompt_area.send(self._first_prompt)

    async def _dispatch_message(self, message: Message) -> None:
        """Tell of a message whose handler fails in a line; only one of the screen's making ends the console."""
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

    # -- its way of each intent

    def _ways(self, places: Sequence[tuple[str, Widget]]) -> Ways:
        """Return how the screen has each intent. `places` are the widgets whose keys help lists, each with a title."""
        ui, dialogs, themes = self.ui, self.dialogs, self._themes

        async def model(console: Console, rest: str) -> None:
            await console.use_model(rest or await ui.push(ModelPicker(console.models)))

        async def call(console: Console, rest: str) -> None:
            if "{" in rest:
                console.call_by_hand(rest)
            else:
                await dialogs.call(rest)

        async def sessions(console: Console, rest: str) -> None:
            from console_app.tui.sessions.browse import SessionsScreen

            await SessionsScreen.browse(console, ui, rest)

        async def resume(console: Console, rest: str) -> None:
            await (console.sessions.resume(rest) if rest else sessions(console, ""))

        async def timeline(_console: Console, _rest: str) -> None:
            at = ui.view.cursor
            await dialogs.timeline(
                ui.shown.transcript, ui.view.go_to_call, at.call if isinstance(at, CallBlock) else None
            )

        def clear(console: Console, _rest: str) -> None:
            if console.conversation.busy:
                raise UsageError(f"{RUNNING}; then /clear")
            ui.shown.view.clear()
            ui.toast("Cleared. The model still knows the conversation; /new starts another.")

        def permissions(console: Console, _rest: str) -> None:
            from console_app.tui.asking.permissions_screen import PermissionsScreen

            ui.app.push_screen(PermissionsScreen(console.permissions, self.modes, ui.changed))

        async def servers(console: Console, rest: str) -> None:
            if rest.split()[:1] == ["add"]:
                await console.add_server(rest.partition("add")[2].strip())
            else:
                await dialogs.servers(rest)

        help_ = _waiting(lambda _: dialogs.help(self.commands.own, places))
        return {
            **{name: Key(f"panel.{name}") for name, one in INTENTS.items() if one.act is not None},
            "help": help_,
            "keys": help_,
            "model": Slash(model),
            "connect": _waiting(lambda _: dialogs.connect()),
            "plan": Slash(lambda _, __: self.modes.toggle_plan()),
            "permissions": Slash(permissions),
            "theme": Slash(partial(dialogs.theme, themes), lambda _: [one.theme.name for one in themes]),
            "mcp": Slash(servers),
            "tools": Slash(servers),
            "call": Slash(call),
            "timeline": Slash(timeline),
            "compare": _waiting(dialogs.compare),
            "sessions": Slash(sessions),
            "resume": Slash(resume),
            "find": Slash(lambda _, rest: self._find(rest)),
            "clear": Slash(clear),
            "copy": _waiting(partial(copy_answer, ui)),
            "config": Slash(partial(dialogs.settings, themes)),
            "todo": Slash(lambda _, __: self.boards.todo.open()),
            "editor": _waiting(lambda _: dialogs.editor()),
            "status": Cannot("the line at the top shows it all the time"),
            "quit": _waiting(lambda _: ui.app.run_action("screen.quit")),
            "stop": Key("chat.stop"),
            "steer": Key("chat.steer"),
            "go": Key("prompt.send"),
            "unsend": Key("prompt.older"),
            "draft": Cannot("a message that is given back stands in the prompt"),
            "read": Cannot("the conversation stands on the screen"),
            "results": Key("panel.send"),
            "approve": Key("board.once"),
            "deny": Key("board.deny"),
            "allow": Key("board.session"),
            "answer": Key("asked.enter"),
            "decline": Key("asked.no"),
            "calls": Key("panel.filter"),
            "show": Key("panel.toggle"),
            "edit": Key("panel.edit"),
            "result": Key("panel.edit"),
            "inspect": Key("panel.inspect"),
            "files": Key("panel.files"),
        }

    # -- the conversation's panels

    @on(ConversationView.CallAction)
    def _call_action(self, event: ConversationView.CallAction) -> None:
        ui, call = self.ui, self.ui.shown.transcript.calls.get(event.call_id)
        if call is None:
            return
        calls = self.console.calls
        match event.action:
            case "inspect":
                ui.open(self.dialogs.inspect, call)
            case "retry" if why := self.services.engine.why_again(call.id):
                words = f"{why} · r again"
                if ui.view.says_of(call) == words:  # the second press is a yes: no board asks
                    ui.view.say_of(call, "")
                    calls.run_again(call.id, call.arguments)
                else:
                    ui.view.say_of(call, words)
            case "retry":
                calls.run_again(call.id)
            case "retry_all":
                calls.run_cut_off_again()
            case "edit" if call.state is CallState.WAITING:
                self.boards.edit_waiting(call)
            case "edit":
                ui.open(self.dialogs.edit_arguments, call, "runs it again with these", calls.run_again)
            case "send":
                calls.send_now()
            case name:
                if (act := INTENTS[name].act) is not None:
                    act(calls, call.id)

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
        self.find_bar.action_step(delta)

    @on(ConversationView.Typed)
    def _typed(self, event: ConversationView.Typed) -> None:
        self.set_focus(self.prompt)
        self.prompt.write(event.text)

    @on(ConversationView.MenuRequested)
    def _menu(self) -> None:
        self.ui.open(self._pick_act)

    async def _pick_act(self) -> None:
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
        what = f"{event.new} new below" if event.new else "more below"
        self.prompt.border_title = f"↓ {what} · pgdn" if event.more else ""

    @on(ConversationView.CopyRequested)
    def _copy(self, event: ConversationView.CopyRequested) -> None:
        self.ui.copy(event.text, name_of(self.view.cursor, event.text))

    def action_copy_part(self) -> None:
        if (block := self.view.cursor) is not None:
            self.ui.open(copy_part, self.ui, block)

    def on_text_selected(self) -> None:
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
        if not self._go_to_what_waits() and self.ui.talking and not self.view.enter():
            self.view.focus()

    def _go_to_what_waits(self) -> bool:
        board = self.ui.shown.boards.wanted
        if board is None or board.has_focus_within:
            return False
        board.focus()
        return True

    def on_key(self, event: events.Key) -> None:
        """Write a typed character into the prompt wherever the focus is, unless it is a key of the panel or board
        there. The prompt and other fields stop what they write, so with the focus on one this is a key typed before it
        came."""
        if not writes_text(event) or event.key in self.active_bindings:
            return
        event.stop()
        self.set_focus(self.prompt)
        self.prompt.insert(event.character or "")

    def action_go_on(self) -> None:
        """Tab out of the prompt: to what waits for you too, else to the next part of the screen."""
        if not self._go_to_what_waits():
            self.focus_next()

    def action_command(self, name: str) -> None:
        if (command := self.commands.find(name)) is not None:
            self.commands.run(command)

    def action_commands(self) -> None:
        bound = {one.binding.action: key_name(one.binding.key) for one in self.active_bindings.values()}
        names = [command.intent.name for command in self.commands.own]
        keys = {name: bound.get(f"command('{name}')", "") for name in names}
        self.ui.open(self.dialogs.commands, self.commands, keys)

    def action_stop(self) -> None:
        self.prompt_area.stop()

    def action_close(self) -> None:
        """Escape at rest: closes completions or an agent, else goes to the prompt; twice in an empty one rewinds."""
        if self.prompt_field.close_completion() or self.ui.leave_agent():
            return
        now, prompt = self.services.timing.now(), self.prompt
        empty = prompt.has_focus and not prompt.text and bool(self.ui.shown.transcript.turns)
        if empty and now - self._escaped_at < AGAIN:
            self.app.clear_notifications()  # the one that asked for the second key
            self.action_command("rewind")
        elif empty:
            self.ui.toast("Press Esc again to rewind to a message.", 2)
        self._escaped_at = now if empty else float("-inf")
        prompt.focus()

    def action_steer(self) -> None:
        self.prompt_area.steer()

    def action_interrupt(self) -> None:
        """Ctrl+C: copies a selection, clears the prompt, stops the turn; pressed again with nothing left, quits."""
        now, prompt = self.services.timing.now(), self.prompt
        if selected := self.get_selected_text() or prompt.selected_text:
            self.ui.copy(selected)
            self.clear_selection()
            return
        again, self._interrupted_at = now - self._interrupted_at < AGAIN, now
        if prompt.text:
            prompt.sent.leave()
            prompt.put("")
        elif self.prompt_area.stop():
            pass
        elif again:
            self.action_quit()
        else:
            self.ui.toast("Press Ctrl+C again to quit.")

    def action_quit_if_empty(self) -> None:
        """Ctrl+D out of the prompt: quits like in it, unless something is written there."""
        if not self.prompt.text:
            self.action_quit()

    def action_quit(self) -> None:
        """Quit; where calls run in the background, which would end with it, once that was asked for twice."""
        beside, now = len(self.services.engine.background), self.services.timing.now()
        again, self._quit_at = now - self._quit_at < AGAIN, now
        if beside and not again:
            them = "a call that runs" if beside == 1 else f"{beside} calls that run"
            self.ui.toast(f"Quitting ends {them} in the background. Quit again to do so.")
        else:
            self.app.exit(0)

    def action_background(self) -> None:
        """Ctrl+B: the call that has the focus goes on in the background, else the newest that runs."""
        at = self.view.cursor
        if isinstance(at, CallBlock) and self.view.has_focus:
            self.console.calls.background(at.call.id)
        else:
            self.console.calls.newest_to_background()

    def action_go(self, place: Place, number: int) -> None:
        """Go to a panel, page, turn or failed call so many on, to a call of the newest answer, or the next failure."""
        view, talking, missing = self.view, self.ui.talking, ""
        match place:
            case "page":
                target = view if talking else self.welcome
                scroll = target.scroll_page_up if number < 0 else target.scroll_page_down
                scroll(animate=False)
            case "turn" | "failed":
                missing = self.find_bar.finder.jump(place, number)
            case "panel":
                missing = "There is no call yet." if talking and not view.enter(number) else ""
            case "call":
                missing = f"The newest answer has no call {number}." if talking and not view.enter_call(number) else ""
            case "failure":
                missing = "No call failed." if talking and not view.action_failed() else ""
            case _:
                assert_never(place)
        if missing:
            self.ui.toast(missing, 2)

    def _find(self, words: str) -> None:
        if self.ui.talking:
            self.find_bar.open(words)
        else:
            self.ui.toast("There is nothing to search yet.")

    def action_toggle_all(self) -> None:
        self.view.toggle_all()

    def action_cycle_mode(self) -> None:
        self.modes.next()

    def _show_mode(self, mode: ApprovalMode | None) -> None:
        line, board = None, self.boards.approvals
        if mode is not None:
            many = len(board.selection.waiting)
            key, them = "Y" if board.has_focus else "tab Y", f"the {many} that wait" if many > 1 else "what waits"
            line = ModeSwitch.strip(mode) + Content(
                f"  {f'{key} runs {them} · ' if many else ''}{self.console.permissions.MODES[mode]}"
            )
        self.query_one(KeyHints).say_instead(line)

    def action_toggle_plan(self) -> None:
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

    def _hints(self) -> Sequence[tuple[str, str]]:
        """Return some hints for now, each by its binding's id or by a character that the prompt has a use for."""
        ui, conversation = self.ui, self.console.conversation
        board, view = ui.shown.boards.wanted, ui.view
        decides = board is not None and board.can_focus  # in a replay nobody does
        review = [("prompt.leave", f"to {board.to_do}")] if board is not None and decides else []
        if board is not None and board.has_focus_within:
            return board.hints
        if view.has_focus:
            return [*(("chat.next", does) for _, does in review), *view.hints][:5]
        calls = [("prompt.older", "calls")] if ui.talking and view.has_calls and not conversation.waiting else []
        if agent := ui.agent:
            agents = self.services.engine.agents
            says = [("chat.steer", f"say it to {one_line(agent, 20)}")] if agents and agent in agents.running else []
            return [*review, *calls, *says, ("chat.close", "back")]
        if conversation.paused:
            return [*review, ("prompt.send", "send what waits"), ("prompt.older", "edit it"), *IDLE]
        if not conversation.busy:
            return [*review, *calls, *(IDLE if self.services.replay is None else WATCHED)]
        doing = self.console.activity.at(view.now)
        return [*review, *calls, ("chat.stop", "stop" if doing is None else doing.stop), ("prompt.send", "queue")]


def _waiting(dialog: Callable[[str], Awaitable[object]]) -> Slash:
    async def run(_console: Console, rest: str) -> None:
        await dialog(rest)

    return Slash(run)
