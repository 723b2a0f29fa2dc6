"""Drives turns: one after the other, from a queue, each event stored before it is shown, in slices so that keys pass.

It knows the engine and nothing of widgets; the screen gives it `show` for events and `changed` for its own state.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from console_app.domain.errors import FanoutError, UsageError
from console_app.domain.events import Event, Notice, TurnFinished
from console_app.domain.messages import UserMessage
from console_app.engine import given_calls
from console_app.sessions.recorder import recorded, to_store

if TYPE_CHECKING:
    from console_app.domain.ports import SessionStore
    from console_app.engine.compaction import Compacting
    from console_app.engine.engine import Engine
    from console_app.engine.rerun import Rerun
    from console_app.engine.turn import Turn

GIVEN = "/call "  # how a prompt begins that is calls made by hand
SLICE = 16  # events between two yields to the loop: a burst of tokens must not starve the keys
CLOSING = 4.0  # seconds that running calls get to end when the console closes

log = logging.getLogger(__name__)


class TurnDriver:
    """The queue of prompts and the turn that runs."""

    def __init__(
        self,
        engine: Engine,
        store: SessionStore | None,
        *,
        ready: Callable[[], Awaitable[None]],
        show: Callable[[Event], None],
        changed: Callable[[], None],
        compose: Callable[[str], Awaitable[UserMessage] | None] | None = None,
        refused: Callable[[FanoutError], None] | None = None,
    ) -> None:
        """`compose` asks servers for the message of a prompt, None where the prompt is its own; what can't be had is
        told to `refused`, and the prompt stays in the queue, which is paused."""
        self._engine = engine
        self._store = store
        self._ready = ready
        self._show = show
        self._changed = changed
        self._compose = compose
        self._refused = refused
        self.queue: deque[str] = deque()
        self.paused = False  # a stopped turn holds the queue back until you send again
        self.turn: Turn | None = None
        self._rerun: Rerun | None = None  # a single call that runs again between turns
        self._compacting: Compacting | None = None
        self._composing: asyncio.Future[UserMessage] | None = None
        self._task: asyncio.Task[None] | None = None
        self._opened = False  # the session's first event is out

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or is about to."""
        return self._task is not None and not self._task.done()

    @property
    def waiting(self) -> Sequence[str]:
        """The queue without a prompt that is only on its way into its turn; asking servers for it may take long."""
        queue = list(self.queue)
        return queue if self.turn is not None or self.paused or self.composing else queue[1:]

    @property
    def composing(self) -> bool:
        """Whether servers are asked for what the next prompt names."""
        return self._composing is not None

    @property
    def activity(self) -> Turn | Rerun | None:
        """What runs now, and whose calls can be approved and cancelled."""
        return self.turn or self._rerun

    def rerun(self, call_id: str, arguments: dict[str, Any] | None = None) -> None:
        """Runs a call of an earlier answer again. Raises ToolError when it can't be; nothing may run."""
        self._rerun = self._engine.rerun(call_id, arguments)
        self._task = asyncio.create_task(self._between_turns(self._rerun), name="a call again")

    def compact(self) -> None:
        """Has a summary made of the older turns. Raises UsageError when there is nothing to; nothing may run."""
        self._compacting = self._engine.compact()
        self._task = asyncio.create_task(self._between_turns(self._compacting), name="compaction")

    def submit(self, text: str) -> None:
        """Sends `text`, after what is queued already."""
        self.queue.append(text)
        self.resume()

    def resume(self) -> bool:
        """Lets the queue go on; False when there is nothing in it or it does already."""
        self.paused = False
        start = bool(self.queue) and not self.busy
        if start:
            self._task = asyncio.create_task(self._run(), name="turns")
        self._changed()
        return start

    def new_session(self) -> None:
        """The next turn opens a session of its own."""
        self._opened = False

    async def close(self) -> None:
        """Stops everything and waits until the turn's tasks have ended."""
        self.queue.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSING)

    def take_back(self) -> str | None:
        """Removes the newest queued message and gives it, or None."""
        if not self.queue:
            return None
        text = self.queue.pop()
        if self._composing is not None and not self.queue:
            self._composing.cancel()
        self._changed()
        return text

    def give_back(self) -> str | None:
        """Removes the oldest queued message, which could not be sent, and gives it; the queue goes on with the next
        one once something is sent."""
        text = self.queue.popleft() if self.queue else None
        self.paused = bool(self.queue)
        self._changed()
        return text

    def steer(self, message: str | UserMessage) -> bool:
        """Sends a message into the running turn; False when none runs."""
        if self.turn is None or not self.turn.running:
            return False
        self.turn.steer(message)
        return True

    def cancel(self) -> bool:
        """Stops the turn; False when none runs or it is being stopped already."""
        if (between := self._rerun or self._compacting) is not None:
            between.cancel()
            return True
        if self.turn is None and self.busy and not self.paused:
            self.paused = True  # it has not begun: it stays in the queue
            if self._composing is not None:
                self._composing.cancel()
            self._changed()
            return True
        if self.turn is None or not self.turn.running:
            return False
        self.turn.cancel()
        return True

    async def _run(self) -> None:
        """Runs the queue until it is empty or paused."""
        try:
            await self._ready()
            while self.queue and not self.paused:
                if not self._opened:
                    self._opened = True
                    await self.deliver(self._engine.session_event())
                message = await self._composed(self.queue[0])
                if self.paused:
                    break
                if message is not None and self.queue:
                    await self._one(self.queue.popleft(), message)
        finally:
            self._task = None
            self._changed()

    async def _composed(self, prompt: str) -> UserMessage | None:
        """The message of a prompt; None when it can't be had or was stopped, and waits in the queue."""
        asked = None if self._compose is None or prompt.startswith(GIVEN) else self._compose(prompt)
        if asked is None:
            return UserMessage(content=prompt)
        self._composing = composing = asyncio.ensure_future(asked)
        self._changed()
        try:
            await asyncio.wait({composing})
        finally:
            composing.cancel()
            self._composing = None
            self._changed()
        if composing.cancelled():
            return None
        error = composing.exception()
        if error is None:
            return composing.result()
        if not isinstance(error, FanoutError):
            log.error("a message could not be put together", exc_info=error)
            error = FanoutError(f"the message could not be put together: {error!r}. /log has the details.")
        self.paused = True
        if self._refused is not None:
            self._refused(error)
        return None

    async def _one(self, prompt: str, message: UserMessage) -> None:
        outcome = "failed"
        unsent: Sequence[str] = ()
        try:
            self.turn = turn = self._begin(prompt, message)
            outcome = await self._play(turn)
            unsent = turn.unsent
        except UsageError as error:
            self._show(Notice(level="error", text=error.line))
        finally:
            self.turn = None
            self.queue.extendleft(reversed(unsent))
            self.paused = (outcome == "cancelled" or bool(unsent)) and bool(self.queue)
            self._changed()

    def _begin(self, prompt: str, message: UserMessage) -> Turn:
        """The turn of a prompt; of calls made by hand, one that asks no model. Raises UsageError."""
        if not prompt.startswith(GIVEN):
            return self._engine.start(message)
        known = {spec.label for spec in self._engine.toolset.tools()}
        return self._engine.start_given(prompt, given_calls.read(prompt.removeprefix(GIVEN), known))

    async def _between_turns(self, activity: Rerun | Compacting) -> None:
        try:
            await self._play(activity)
        finally:
            self._rerun = self._compacting = self._task = None
            self._changed()
            if self.queue and not self.paused:
                self.resume()

    async def _play(self, activity: Turn | Rerun | Compacting) -> str:
        """Shows all that happens in a turn, or in what is done between two; how the turn ended."""
        outcome = "failed"
        try:
            async with activity:
                self._changed()
                async for events in recorded(activity, self._store):
                    for event in events:
                        self._show(event)
                        if isinstance(event, TurnFinished):
                            outcome = event.outcome
                    await asyncio.sleep(0)
        except FanoutError as error:
            self._show(Notice(level="error", text=error.line))
        except Exception as error:
            log.exception("the turn ended by a fault of the program")
            self._show(Notice(level="error", text=f"Fanout failed in this turn: {error!r}. /log has the details."))
        return outcome

    async def deliver(self, event: Event) -> None:
        """Stores one event, then shows it."""
        if self._store is not None and (kept := to_store([event])):
            await self._store.append(kept)
        self._show(event)
