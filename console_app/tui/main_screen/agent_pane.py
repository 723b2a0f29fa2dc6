"""The conversation of one agent, in the place of the one that sent it: with the same keys, as long as it is open."""

from __future__ import annotations

from collections.abc import Callable

from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from console_app.domain import CallState, Event, amounts, call_description, one_line
from console_app.domain.transcript import CallView, Transcript
from console_app.tui.lineview import ConversationView, EventRouter

QUIET_AFTER = 60.0  # seconds without news of it that are said


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
        """Show an event of the session, which its transcript has already."""
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
        runs, quiet = call.state is CallState.RUNNING, now - call.news_at
        took = amounts.seconds((call.finished_at or now) - (call.started_at or call.announced_at))
        news = f"no news for {amounts.seconds(quiet)}" if runs and quiet > QUIET_AFTER else ""
        state = call_description.in_words(call)
        facts = [f"Agent {one_line(self.agent, 60)}", state, news, call_description.agent_work(call), took]
        keys = "ctrl+s says it what you wrote · esc back" if runs else "esc back"
        self.query_one("#agent-title", Static).update(Content(" · ".join([one for one in facts if one] + [keys])))
        return runs
