"""Hold the conversation that is on screen: its transcript, its blocks, and the boards that it keeps in step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from console_app.console import Console
from console_app.domain import event_news
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.tui.lineview import ConversationView, EventRouter, Waits
from console_app.tui.main_screen.agent_pane import AgentPane
from console_app.tui.prompt.prompt import Prompt

if TYPE_CHECKING:
    from console_app.tui.main_screen.board_area import BoardArea

STORED_SLICE = 400  # events of a stored session between two looks at the keys: some 10 ms


class ShownConversation:
    """Shows the conversation of one chat screen in the widgets that it is given. After `clear`, `transcript` is a new
    one."""

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
        self.boards.follow(self.transcript, self._prompt)

    def sending(self, text: str | None, waits: Waits) -> None:
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
        """Tell whether at least `most` characters of an answer came since this was last true, and count them anew
        then."""
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
        router = self._router
        self._loading = True
        try:
            for at in range(0, len(stored), STORED_SLICE):
                for event in stored[at : at + STORED_SLICE]:
                    router.show(event)
                await asyncio.sleep(0)
        finally:
            self._loading = False
        self.boards.todo.show(self.transcript.todo)
