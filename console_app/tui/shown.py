"""The conversation that is on screen: what was told of it, its blocks, and the boards that it keeps in step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.engine.engine import Engine
from console_app.tui.approvals import Approvals, Boards
from console_app.tui.conversation.view import ConversationView
from console_app.tui.event_router import EventRouter
from console_app.tui.human.desk import HumanDesk
from console_app.tui.widgets.prompt import Prompt
from console_app.tui.widgets.todo_pane import TodoPane

STORED_SLICE = 400  # events of a stored session between two looks at the keys: some 10 ms


class Shown:
    """Of one chat screen, whose widgets it is given. `transcript` is another one after `clear`."""

    def __init__(
        self,
        view: ConversationView,
        boards: Boards,
        desk: HumanDesk,
        todo: TodoPane,
        prompt: Prompt,
        engine: Engine,
    ) -> None:
        self._view = view
        self._boards = boards
        self._desk = desk
        self._todo = todo
        self._prompt = prompt
        self._engine = engine
        self._begin()
        desk.listen(self._asked)

    def _asked(self) -> None:
        # Servers ask from tasks of their own: what comes of it on screen is the screen's.
        self._view.call_later(lambda: self.approvals.sync())

    def _begin(self) -> None:
        self.transcript = Transcript()
        self._router = EventRouter(self._view, self.transcript)
        self.approvals = Approvals(self._boards, self._desk, self._prompt, self.transcript, self._engine)

    def show(self, event: ev.Event) -> None:
        """Shows one event of a turn."""
        self._router.show(event)
        if isinstance(event, ev.CallFinished):
            self._desk.call_ended(event.call_id)
        match event:
            case ev.TodoChanged():
                self._todo.show(event.items)
            case (
                ev.ApprovalRequested()
                | ev.ApprovalResolved()
                | ev.CallRestarted()
                | ev.QuestionAsked()
                | ev.CallFinished()
                | ev.TurnFinished()
            ):
                self.approvals.sync()
            case _:
                pass

    def clear(self) -> None:
        """Forgets the conversation; what comes next belongs to another session."""
        self._view.clear()
        self._begin()
        self.approvals.sync()
        self._todo.show(())

    async def show_stored(self, stored: Sequence[ev.Event]) -> None:
        """The conversation that `stored` tells of in place of this one, in slices so that keys pass."""
        self.clear()
        router = self._router
        for at in range(0, len(stored), STORED_SLICE):
            for event in stored[at : at + STORED_SLICE]:
                router.show(event)
            await asyncio.sleep(0)
        self._todo.show(self.transcript.todo)
