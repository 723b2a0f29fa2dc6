"""Offer the main screen to the conversation and the rooms, which say, ask and show things there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ParamSpec, TypeVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from console_app.console import Console, Services
from console_app.domain import CallState, Event, Level, amounts, call_description, event_news, one_line, plural, ports
from console_app.domain import events as ev
from console_app.domain.transcript import CallView, Transcript
from console_app.tui.asking.approval_board import ApprovalBoard
from console_app.tui.lineview import ConversationView, EventRouter
from console_app.tui.main_screen.bars.activity_line import ActivityLine, BackgroundLine
from console_app.tui.main_screen.bars.find_bar import FindBar
from console_app.tui.main_screen.bars.status_bar import Status, StatusBar
from console_app.tui.main_screen.base import MainScreen, Survival
from console_app.tui.main_screen.board_area import BoardArea
from console_app.tui.main_screen.draft_keeping import DraftKeeping
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.prompt.prompt_box import QueueStrip
from console_app.tui.terminal.attention import Attention
from console_app.tui.terminal.key_names import key_name
from console_app.tui.terminal.key_order import KeysInOrder
from console_app.tui.textual_internals import driver_of
from console_app.tui.ui import Ui
from console_app.tui.widgets.key_hints import KeyHints


class AgentPane(Vertical):
    """Shows what the transcript has of an agent, and what it does from then on. `agent` is its path, "" if closed."""

    DEFAULT_CSS = """
    AgentPane { height: 1fr; display: none; }
    AgentPane > #agent-title { height: 1; padding: 0 1; background: $panel; color: $foreground; text-wrap: nowrap; }
    AgentPane > ConversationView { height: 1fr; }
    """
    view = getters.query_one("#agent", ConversationView)

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._router: EventRouter | None = None
        self._call: CallView | None = None
        self._said: list[tuple[str, str, float]] = []  # what was said to which agent, and when
        self.agent = ""

    def compose(self) -> ComposeResult:
        yield Static(id="agent-title", markup=False)
        yield ConversationView(id="agent", clock=self._clock)

    def show(self, call: CallView, transcript: Transcript) -> None:
        """Show the agent that is the work of a call; `transcript` is that of the whole session."""
        self._call, self.agent = call, call.runs
        self.view.clear()
        self._router = EventRouter(self.view, transcript.agent(call.runs), agent=call.runs, above=transcript)
        self._router.catch_up()
        own = transcript.agent(call.runs)
        read = {message.content for message in own.history}
        if own.turn is not None and own.turn.outcome is None:
            for agent, text, at in self._said:
                if agent == self.agent and text not in read:
                    self._router.said(text, at)
        self.view.action_scroll_end()
        self.look(self._clock())
        self.view.wake()

    def close(self) -> None:
        self._call, self._router, self.agent = None, None, ""
        self.view.clear()

    def happened(self, event: Event) -> None:
        if self._router is not None and (event.agent == self.agent or event.agent.startswith(f"{self.agent}/")):
            self._router.show(event)

    def said(self, text: str) -> None:
        """Show words that were said to the agent until it has read them, and then say when that was."""
        if self._router is not None:
            self.view.action_scroll_end()
            self._router.said(text, at := self._clock())
            self._said.append((self.agent, text, at))

    def look(self, now: float) -> bool:
        """Say in the title how far it is; True while that changes."""
        if (call := self._call) is None:
            return False
        runs = call.state is CallState.RUNNING
        took = amounts.seconds((call.finished_at or now) - (call.started_at or call.announced_at))
        news, _ = call_description.agent_state(call, now)
        state = call_description.in_words(call)
        facts = [f"Agent {one_line(self.agent, 60)}", state, news, call_description.agent_work(call), took]
        keys = "ctrl+s tells it what you wrote · esc back" if runs else "esc back"
        self.query_one("#agent-title", Static).update(Content(" · ".join([one for one in facts if one] + [keys])))
        return runs


class ShownConversation:
    def __init__(
        self, view: ConversationView, boards: BoardArea, prompt: Prompt, console: Console, agent: AgentPane
    ) -> None:
        self.view, self.agent, self.boards = view, agent, boards
        self._prompt = prompt
        self._loading = False
        self._begin()
        console.services.human.listen(self._asked)

    def _asked(self) -> None:
        # Servers ask from tasks of their own: what comes of it on screen is the screen's.
        self.view.call_later(self.boards.sync)

    def _begin(self) -> None:
        self.transcript = Transcript()
        self._router = EventRouter(self.view, self.transcript)
        self._router.key_of = lambda intent: _key_of(self.view.screen, intent)
        self.boards.follow(self.transcript, self._prompt)

    def sending(self, text: str | None, waits: Callable[[float], str]) -> None:
        """Show a prompt that is sent and has no turn yet, behind a stored conversation once that is there."""
        if not self._loading:
            self._router.sending(text, waits)

    def show(self, event: ev.Event) -> None:
        self._router.show(event)
        self.agent.happened(event)
        news = event_news.News.of(event)
        if news & event_news.News.TODO:
            self.boards.todo.show(self.transcript.todo)
        if news & (event_news.News.WAITS | event_news.News.DECIDED | event_news.News.OVER | event_news.News.ENDS):
            self.boards.sync()

    def take_unpainted(self, most: int) -> bool:
        """Tell whether `most` characters of an answer came since this was last true, and count anew then."""
        if full := self._router.unpainted >= most:
            self._router.unpainted = 0
        return full

    def clear(self) -> None:
        """Forget the conversation. Everything from here on belongs to another session."""
        self.view.clear()
        self._begin()
        self.boards.sync()
        self.boards.todo.show(())

    async def show_stored(self, stored: Sequence[ev.Event]) -> None:
        """Show the conversation that `stored` tells of in place of this one, in slices so that keys pass."""
        self.clear()
        self._loading = True
        try:
            await self._router.show_all(stored)
        finally:
            self._loading = False
        self.boards.todo.show(self.transcript.todo)


REFUSED_EVERY = 2.0  # seconds between two hints about keys that mean nothing
MOST_UNPAINTED = 2**16  # characters of an answer that one frame may have to paint, some 0.2 s of work
LONGEST_FRAME = 1.0  # seconds that an answer waits for one
FIGURES_EVERY = 0.5  # seconds between two looks at what agents spent
SHOWN_PRESSED = 1.5  # seconds that a key of a replay is shown
LONG_COPY = 70_000  # characters, of which some terminals take less than they are sent

P = ParamSpec("P")
T = TypeVar("T")


class ConsoleUi(Ui):
    """The `Ui` of one main screen. `connect` and `shown` are for the screen, which makes what stands there."""

    shown: ShownConversation  # there once the screen is mounted

    def __init__(self, screen: MainScreen, services: Services, problems: Sequence[str]) -> None:
        self._screen = screen
        self._services = services
        self.drafts: DraftKeeping | None = None  # once there is a prompt
        self._notices: list[tuple[Level, str]] = [("warning", problem) for problem in problems]
        self._untold = set(problems)  # of the notices: those that no conversation has
        self._survival = Survival()
        self._model = ("", "")
        self._figures_come = False  # of an agent, and `changed` is to tell of them soon
        self._refused_at = float("-inf")
        self._ways_back: list[tuple[str, bool, Prompt.Submitted]] = []  # from agents: above, in the view or not, draft
        self._for_agents: dict[str, Prompt.Submitted] = {}  # what was written for each, and not said
        self._attention = Attention(services.attention, self._to_terminal, lambda: screen.app.app_focus)

    def connect(self, console: Console) -> None:
        self._console = console
        self._conversation = console.conversation

    @property
    def transcript(self) -> Transcript:
        return self.shown.transcript

    # What happens

    @property
    def talking(self) -> bool:
        return self._screen.talking

    @talking.setter
    def talking(self, talking: bool) -> None:
        self._screen.talking = talking

    @property
    def view(self) -> ConversationView:
        """The view of the conversation on the screen: the user's, or that of an agent."""
        return self._screen.query_one("#agent" if self.agent else "#conversation", ConversationView)

    @property
    def agent(self) -> str:
        """The agent whose conversation is shown, by its path; "" while it is the user's."""
        return self.shown.agent.agent if self._ways_back else ""

    def enter_agent(self, call: CallView) -> None:
        """Show the conversation of an agent in the place of this one. What is written in the prompt is kept for the way
        back, and what was written for the agent is there again."""
        pane, screen, prompt = self.shown.agent, self._screen, self._screen.prompt
        if pane.agent == call.runs:
            return
        if self.drafts is not None:
            self.drafts.aside = True
        draft = prompt.hand_over()
        if (kept := self._for_agents.pop(call.runs, None)) is not None:
            prompt.give_back(kept)
        self._ways_back.append((self.agent, self.view.has_focus, draft))
        pane.show(call, self.shown.transcript)
        screen.add_class("-agent")
        screen.query_one(FindBar).search(pane.view)
        screen.set_focus(prompt)
        self.changed()

    def leave_agent(self) -> bool:
        """Go back to the conversation that sent the agent, as it was left; False where none is shown."""
        if not (self._ways_back and self.agent):
            return False
        pane, screen, prompt = self.shown.agent, self._screen, self._screen.prompt
        left, transcript = pane.agent, self.shown.transcript
        above, in_view, draft = self._ways_back.pop()
        self._for_agents[left] = prompt.hand_over()
        prompt.give_back(draft)
        from_call = transcript.calls.get(transcript.call_of_agent(left))
        back = transcript.calls.get(transcript.call_of_agent(above))
        if back is not None:
            pane.show(back, transcript)
        else:
            pane.close()
            screen.remove_class("-agent")
            if self.drafts is not None:
                self.drafts.aside = False
        screen.query_one(FindBar).search(self.view)
        screen.set_focus(prompt)
        if in_view and from_call is not None:
            self.view.go_to_call(from_call)
        self.changed()
        return True

    def leave_agents(self) -> None:
        while self.leave_agent():
            pass

    def say_to_agent(self, text: str) -> bool:
        """Say something to the agent whose conversation is shown; False, and told, where nothing reads it any more."""
        agents = self._services.engine.agents
        call_id = agents.running.get(self.agent) if agents is not None else None
        if agents is None or call_id is None or not agents.steer(call_id, text):
            self.toast(f"{one_line(self.agent, 40)} takes no words now. {key_name('escape')} goes back.")
            return False
        self.shown.agent.said(text)
        return True

    def show(self, event: Event) -> None:
        """Show an event. One that can't be shown is told of: the turn goes on, and the session is whole."""
        try:
            self.talking = True
            before = self.transcript.turn
            self.shown.show(event)
            if self._untold and self.transcript.turn is not before:
                self._carry_over()
            self._call_back(event)
            if self._services.replay is not None and (act := call_description.act_behind(event)) is not None:
                self._show_pressed(act, self.transcript.calls.get(event_news.call_of(event)))
            if event_news.is_whole_answer(event) and self._screen.is_attached:
                self.shown.view.paint_frame()
                self._screen.paint_now(self.shown.view)
            if not event_news.News.of(event) & event_news.News.FIGURES:
                return
            if not event.agent:
                self.changed()
            elif not self._figures_come:  # of a hundred agents they come a hundred times as often
                self._figures_come = True
                self._services.timing.later(self._screen, FIGURES_EVERY, self.changed)
        except Exception as error:
            if not self.goes_on(error):
                raise

    def _show_pressed(self, act: call_description.Act, call: CallView | None) -> None:
        """Say for a while in the last line which key was pressed then, and on what."""
        name = {"approve": "board.once", "deny": "board.deny"}.get(act, f"panel.{act}")
        bindings = [one for one in (*ApprovalBoard.BINDINGS, *ConversationView.BINDINGS) if isinstance(one, Binding)]
        binding = next(one for one in bindings if one.id == name)
        line = Content.styled("pressed then  ", "$muted") + Content.styled(key_name(binding.key), "bold $primary")
        line += Content(f" {binding.description}{'' if call is None else f' · {one_line(call.label, 60)}'}")
        hints = self._screen.query_one(KeyHints)
        hints.say_instead(line)
        self._screen.set_timer(SHOWN_PRESSED, lambda: hints.say_instead(None, line))

    def _carry_over(self) -> None:
        """Say in the conversation what the opening page warned of, which is out of sight now."""
        for level, text in self._notices:
            if text in self._untold and level in ("warning", "error"):
                self.view.add_notice(level, text)
        self._untold.clear()

    def _call_back(self, event: Event) -> None:
        """Tells whoever looks at another window of what waits for them, and of the turn's end."""
        news = event_news.News.of(event)
        if news & event_news.News.WAITS:
            call = self.transcript.calls.get(event_news.call_of(event))
            approval = call is not None and call.state is CallState.WAITING
            self._attention.waits("a call needs approval" if approval else "a question needs your answer")
        elif news & event_news.News.DECIDED:
            self._attention.decided()
        elif news & event_news.News.ENDS and (turn := self.transcript.turn) is not None:
            failed = turn.without_success if turn.outcome == "completed" else ()
            done = "done" if turn.outcome == "completed" else (turn.outcome or "over").replace("_", " ")
            missed = f"over, and {plural(len(failed), 'call')} of it did not succeed"
            self._attention.ended(f"the turn is {missed if failed else done}")
            if len(self.transcript.turns) == 1 and any(len(step.batch.calls) > 1 for step in turn.steps):
                self.shown.view.add_notice("info", f"{self.key_of('timeline')} shows how they ran.")
        else:
            return
        self._name_window()

    def _to_terminal(self, sequence: str) -> None:
        if (driver := driver_of(self._screen.app)) is not None:
            driver.write(sequence)

    def _name_window(self) -> None:
        waits, busy = self.shown.boards.wanted is not None, self._conversation.busy
        state = "needs you" if waits else "working" if busy else ""
        self._attention.name(self._services.engine.provider.model, state)

    def goes_on(self, error: Exception) -> bool:
        """Tells of an internal error; False when there were so many that the console had better end."""
        if not self._survival.goes_on(error):
            return False
        self.tell("error", self._survival.line_of(error))
        return True

    def changed(self) -> None:
        """Draws anew what stands around the conversation; called for a server's state too."""
        screen, conversation = self._screen, self._conversation
        self._figures_come = False
        if not screen.is_attached or (queue := screen.query_one_optional(QueueStrip)) is None:
            return  # the screen is going away, and the turn with it
        self._show_sent()
        queue.show(conversation.waiting, conversation.paused)
        turn, step = conversation.turn, self.shown.transcript.step
        later = (
            "" if turn is None or step is None or step.number < 2 else f"step {step.number}/{turn.settings.max_steps}"
        )
        screen.prompt.border_subtitle = later
        screen.query_one(ActivityLine).look(self.view.now)
        screen.query_one(BackgroundLine).look(self.view.now)
        self.view.wake()
        self._name_window()
        screen.refresh_bindings()
        servers = self._services.server_statuses()
        screen.query_one(StatusBar).status = read_status(
            self._services, self.shown.transcript, [str(server.state) for server in servers]
        )
        provider = self._services.engine.provider
        if (model := (provider.model, provider.name)) != self._model:
            self._model = model
            screen.welcome.tell(*model)
        if not self.talking and (servers or self._services.hub is not None):
            screen.welcome.offer([status.name for status in servers])
            if screen.welcome.asked and not screen.prompt.text:
                screen.prompt.post_message(Prompt.BeginRequested())
            screen.welcome.asked = False

    def _show_sent(self) -> None:
        """Show a message in the conversation as soon as it is sent. Called off, with nothing else there, it goes."""
        conversation, sent = self._conversation, self._conversation.on_its_way
        if sent is not None:
            self.talking = True
        if sent is not None or conversation.turn is None:  # a turn's first event takes the place of what was sent
            self.shown.sending(None if sent is None else sent.text, self._console.activity.waits_for)
        if not conversation.busy and not self.shown.transcript.turns and not self.shown.view.blocks:
            self.talking = False

    async def next_slice(self) -> None:
        """Lets keys pass, and text come no faster than it can be painted."""
        await asyncio.sleep(0)
        await self.view.slices.make_way()
        if self.shown.take_unpainted(MOST_UNPAINTED):
            await self.view.frames.until(lambda: self.view.is_painted, LONGEST_FRAME)

    async def show_stored(self, events: Sequence[Event]) -> None:
        self.leave_agents()
        self.talking = True
        if self.drafts is not None:
            await self.drafts.switched()
        await self.shown.show_stored(events)
        self.changed()

    def another_session(self) -> AbstractContextManager[None]:
        return nullcontext() if self.drafts is None else self.drafts.on_the_way()

    def show_new(self) -> None:
        self.leave_agents()
        self.shown.clear()
        self.talking = False
        self._untold = {text for _, text in self._notices}
        if self.drafts is not None:
            self.drafts.begun()

    # Saying and asking

    def tell(self, level: Level, text: str) -> None:
        """Write a line that stays: in the conversation, or on the opening page while there is none."""
        if self.talking:
            self.shown.view.add_notice(level, text)
            if self.agent:
                self.toast(text)
        else:
            self._notices.append((level, text))
            self._untold.add(text)
            self.tell_notices()

    def take_back(self, text: str) -> None:
        if (left := [notice for notice in self._notices if notice[1] != text]) != self._notices:
            self._notices = left
            self.tell_notices()

    def key_of(self, intent: str) -> str:
        return _key_of(self._screen, intent)

    def tell_notices(self) -> None:
        self._screen.welcome.notices(self._notices)

    def toast(self, text: str, seconds: float = 4) -> None:
        self._screen.notify(text, markup=False, timeout=seconds)

    def refuse(self, why: str) -> None:
        """Say that a key did nothing, and why: once for a word that was typed by mistake."""
        now = self._services.timing.now()
        if now - self._refused_at >= REFUSED_EVERY:
            self._refused_at = now
            self.toast(why)

    async def report(
        self,
        title: str,
        read: Callable[[], str],
        *,
        at_end: bool = False,
        every: float | None = None,
        whole: asyncio.Task[None] | None = None,
    ) -> None:
        from console_app.tui.widgets.text_dialog import TextDialog

        await self.push(TextDialog(title, read, at_end=at_end, every=every))

    async def choose(self, title: str, options: Mapping[str, str], *, current: str = "") -> str | None:
        from console_app.tui.widgets.pick_list import PickList

        hint = "" if current else "arrows and enter"
        return await self.push(PickList(title, options, current=current, hint=hint))

    async def ask(self, title: str, hint: str = "") -> str | None:
        from console_app.tui.widgets.pick_list import PickList

        return await self.push(PickList(title, {}, hint=hint, free_text=True))

    async def trusts(self, text: str) -> bool:
        from console_app.tui.asking.consent import ConsentDialog

        return await self.push(ConsentDialog(self._services.redact(text), self._services.timing))

    def give_back(self, text: str) -> bool:
        if self.written:
            return False
        self._screen.prompt.recall(text)
        return True

    # What rooms and commands ask for

    @property
    def app(self) -> KeysInOrder[int]:
        return self._screen.app

    @property
    def written(self) -> str:
        return self._screen.prompt.text

    def put(self, text: str) -> None:
        self._screen.prompt.put(text)

    async def push(self, screen: Screen[T]) -> T:
        return await self._screen.app.push_screen_wait(screen)

    def open(self, dialog: Callable[..., Awaitable[object]], *arguments: object) -> None:
        worker = self._screen.run_worker(partial(dialog, *arguments), group="dialog", exclusive=True)
        self._screen.app.opening(worker)

    def open_beside(self, work: Callable[P, Coroutine[object, object, None]], *args: P.args, **named: P.kwargs) -> None:
        self._screen.run_worker(partial(work, *args, **named))

    def copy(self, text: str, what: str = "") -> None:
        """Copies by OSC 52: over ssh and tmux too, where the terminal allows it."""
        self._screen.app.copy_to_clipboard(text)
        lines = text.removesuffix("\n").count("\n") + 1
        size = f"{lines:,} lines, " * (lines > 1) + plural(len(text), "character")
        more = " Your terminal may take less: it is long." if len(text) > LONG_COPY else ""
        self.toast(f"Copied {what}: {size}.{more}" if what else f"Copied {size}.{more}")


def read_status(services: Services, transcript: Transcript, states: Sequence[str]) -> Status:
    engine = services.engine
    model, provider, host = engine.provider.model, engine.provider.name, services.models.host
    usage, context, library = transcript.usage, transcript.usage.context, services.library
    if usage.stale and context:  # the next request is another by now
        context = sum(part.tokens for part in services.engine.context_parts(transcript))
    storage = "" if services.replay is None else "replay"
    if not storage and library is not None:
        problem = library.store.problem
        storage = "read only" if library.read_only else f"not saved: {problem.reason}" if problem is not None else ""
    return Status(
        model=model or "…",
        provider=f"{provider} at {host}" if host else provider,
        strategy=engine.settings.strategy,
        effort=engine.provider.effort_for(engine.settings.effort),
        policy=engine.settings.policy_for(engine.provider.protocol).value,
        mode=None if services.replay is not None else engine.gate.mode,
        servers_ready=states.count("ready"),
        servers_starting=states.count("starting") + states.count("reconnecting"),
        servers_failed=states.count("failed"),
        tools=len(engine.toolset.tools()),
        protocol=ports.protocol_label(engine.provider).removeprefix("native, "),
        context=context,
        context_window=services.models.window,
        cost=transcript.usage.cost,
        storage=storage,
    )


def _key_of(screen: Screen[Any], intent: str) -> str:
    """Return the key that does what a slash command does, or the command itself where none is bound."""
    for one in screen.active_bindings.values():
        if one.binding.action == f"command('{intent}')":
            return key_name(one.binding.key)
    return f"/{intent}"
