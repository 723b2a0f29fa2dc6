"""A conversation: a queue of prompts and one activity, each event stored before it is shown, in slices so that a front
end can answer its keys. An event that can't be shown is reported, and the turn goes on. Where one can't be stored the
turn is stopped; the rest is still shown, so that nothing seems to run that has ended."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from console_app.console.ui_port import UiPort
from console_app.domain import Attachment, Event, FanoutError, UsageError, UserMessage, one_line
from console_app.domain import events as ev
from console_app.domain.steady_time import steady_time
from console_app.engine import ManualCall, Turn
from console_app.records import dataclass, replace
from console_app.sessions import Recorder

if TYPE_CHECKING:
    from console_app.console.files import Attachments
    from console_app.domain import ports
    from console_app.engine import Compacting, Engine, Rerun


MANUAL = "/call "  # how a prompt begins that is calls made by hand,
SHOWN = "/run "  # and one that is a call which an answer only showed
Around = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Queued:
    """A prompt in the queue. Only names in `typed` count; the rest was pasted. `message` is ready to go. The turn runs
    within `around`, which may raise UsageError. `calls`, tools and JSON, are what the text says in another way."""

    text: str
    typed: str | None = None
    message: UserMessage | None = None
    around: Around = nullcontext
    calls: str | None = None

    @property
    def by_hand(self) -> str | None:
        """The calls that are made by hand; None for what a model answers."""
        if self.message is not None or self.calls is not None:
            return self.calls
        return self.text.partition(" ")[2] if self.text.startswith((MANUAL, SHOWN)) else None


@dataclass(frozen=True, slots=True)
class Sent:
    """A prompt whose turn has not begun: it waits for servers to connect, say, or for what it names at one."""

    text: str
    since: float  # seconds of the conversation's clock


CLOSING = 4.0  # seconds that running calls get to end when the conversation closes
STEERED = "It joins at the next step."
BUSY = "something else runs, or is about to"
SHELL = "shell.run"  # the tool that `!command` is run by
LATER = "That runs once its servers are there. Esc calls it off."
SOON = 0.5  # seconds that a wait goes without a word
AT_ONCE = partial(asyncio.sleep, 0)
T = TypeVar("T")
BetweenT = TypeVar("BetweenT", "Rerun", "Compacting")


class Conversation:
    """A queue of prompts and one activity. What it does between two turns is a task of its own; `close` ends it."""

    def __init__(
        self,
        engine: Engine,
        store: ports.SessionStore | None,
        ui: UiPort,
        *,
        ready: Callable[[], Awaitable[None]] = AT_ONCE,
        attachments: Attachments | None = None,
        attached: Callable[[Sequence[Attachment]], None] = lambda _: None,
        heard: Callable[[Event], None] = lambda _: None,
        clock: Callable[[], float] = steady_time,
    ) -> None:
        """`ready` returns when a turn may begin. `store` None keeps nothing. `attachments` gives what prompts name,
        `attached` is told of it, and `heard` of each event before it is shown."""
        self.engine = engine
        self._delivery = Delivery(store, ui, heard)
        self._ui = ui
        self._ready = ready
        self._attachments = attachments
        self._attached = attached
        self._clock = clock
        self.paused = False  # a stopped turn holds the queue back until you send again
        self.composing = False  # what the oldest prompt names is being asked for
        self.changing = asyncio.Lock()  # held by a turn, and by what changes the conversation between two
        self.last_turn: Turn | None = None  # the one that ran last, or runs
        self._queue: deque[Queued] = deque()
        self._sent_at = 0.0
        self._before: asyncio.Future[Any] | None = None  # what the oldest prompt waits for before its turn
        self._called_off = False  # the oldest prompt was given back: the next one sent takes its place
        self._task: asyncio.Task[None] | None = None
        self._beside: asyncio.Task[str] | None = None  # delivers what calls in the background tell between two turns
        engine.background.on_first = self._deliver_beside
        self._opened = False  # the session's first event is out

    @property
    def activity(self) -> Turn | Rerun | Compacting | None:
        """Return what runs now, until the last of its tasks has ended."""
        return self.engine.activity

    @property
    def turn(self) -> Turn | None:
        return self.activity if isinstance(self.activity, Turn) else None

    @property
    def calls_of(self) -> Turn | Rerun | None:
        """Return the turn or rerun whose calls can be approved and cancelled now."""
        from console_app.engine import Compacting

        if self.activity is None and self.engine.agents is not None:
            return self.engine.agents.any_turn  # of one in the background
        return None if isinstance(self.activity, Compacting) else self.activity

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def on_its_way(self) -> Sent | None:
        """The prompt that is next to have its turn, and only waits for what that needs."""
        if not self._queue or not self.busy or self.paused or self.activity is not None:
            return None
        return Sent(self._queue[0].text, self._sent_at)

    @property
    def waiting(self) -> Sequence[str]:
        return [prompt.text for prompt in self._queue][self.on_its_way is not None :]

    def send(
        self,
        text: str,
        *,
        typed: str | None = None,
        message: UserMessage | None = None,
        around: Around = nullcontext,
        calls: str | None = None,
    ) -> None:
        """Send a prompt (see Queued) after what is queued, or in its old place when it was called off."""
        prompt = Queued(text, typed, message, around, calls)
        if self._called_off:
            self._queue.appendleft(prompt)
        else:
            self._queue.append(prompt)
        self.resume()

    def send_again(self, message: UserMessage) -> None:
        """Send a message that had no answer once more, before what is queued."""
        self._queue.appendleft(Queued(message.source or message.content, message=message))
        self.resume()

    def resume(self) -> bool:
        start = bool(self._queue) and not self.busy and not self._delivery.closing
        if start or self.paused:
            self._sent_at = self._clock()
        self.paused = self._called_off = False
        if start:
            self._task = asyncio.create_task(self._run(), name="turns")
        self._ui.changed()
        return start

    async def steer(self, text: str, *, typed: str | None = None) -> None:
        joins = self.turn
        asked = self._composed(Queued(text, typed))
        try:
            message = None if asked is None else await asked
        except FanoutError as error:
            self._ui.tell("error", error.line)
            self._ui.give_back(text)
            return
        if (turn := self.turn) is not None and turn.running:
            turn.steer(message or text)
            self._ui.toast(STEERED)
        elif joins is not None and joins.outcome in (None, "cancelled"):
            # The turn was stopped, and this was meant for that turn alone: the user decides whether it is sent.
            self._queue.append(Queued(text, typed, message))
            self.paused = self.paused or not self.busy
            self._ui.changed()
        else:
            self.send(text, typed=typed, message=message)

    def take_back(self) -> str | None:
        """Remove and return the newest queued prompt, or None."""
        if not self._queue:
            return None
        text = self._queue.pop().text
        if self._before is not None and not self._queue:
            self._before.cancel()
        self._ui.changed()
        return text

    def call_off(self) -> str | None:
        """Gives back the prompt that is on its way, None when there is none; those behind it wait until you send."""
        if self.on_its_way is None:
            return None
        self.stop()
        text = self._give_back()
        self._called_off = bool(self._queue)
        return text

    def _give_back(self) -> str:
        text = self._queue.popleft().text
        self.paused = bool(self._queue)
        self._ui.changed()
        return text

    def stop(self, why: str = "") -> bool:
        activity = self.activity
        if activity is None and self.busy and not self.paused:
            self.paused = True  # it has not begun: it stays in the queue
            if self._before is not None:
                self._before.cancel()
            self._ui.changed()
            return True
        if activity is None or not activity.running:
            return False
        activity.cancel(why)
        return True

    @property
    def ending(self) -> bool:
        return (activity := self.activity) is not None and not activity.running

    async def settled(self) -> None:
        if (activity := self.activity) is not None and not activity.running:
            await asyncio.wait({activity.left})

    def once_settled(self, act: Callable[[], object]) -> None:
        """Act now, or after an activity that reported its end has closed its tasks and connections."""
        if (activity := self.activity) is None or activity.running:
            act()
        else:
            activity.left.add_done_callback(lambda _: self._delivery.closing or act())

    def once_ready(self, act: Callable[[], object]) -> None:
        """Act once a turn may begin, as a prompt waits for its servers; not at all if that was stopped meanwhile."""

        self._before = before = asyncio.ensure_future(self._ready())

        async def wait() -> None:
            late = asyncio.get_running_loop().call_later(SOON, self._ui.toast, LATER)
            try:
                ready = await self._waited_for(before)
            finally:
                late.cancel()
                self._task = None
            if ready.cancelled():
                self.paused = bool(self._queue)
            elif (error := ready.exception()) is not None:
                self._ui.tell("error", error.line if isinstance(error, FanoutError) else repr(error))
            else:
                act()
            if not self.paused:
                self.resume()
            self._ui.changed()

        self._task = asyncio.create_task(wait(), name="servers awaited")

    async def ended(self) -> None:
        """Returns when nothing runs any more, and what is queued waits for you."""
        while self._task is not None:
            await asyncio.wait({self._task})

    async def close(self) -> None:
        """Stop everything and wait until its tasks have ended. What still happens is stored, and not shown."""
        self._delivery.closing = True
        self._queue.clear()
        cut = self.engine.transcript.what_is_cut()
        if (task := self._task) is not None:
            if not self.stop(ev.CONSOLE_ENDED) and self.activity is None:
                task.cancel()
            await asyncio.wait({task}, timeout=CLOSING)
            task.cancel()
        self.engine.background.cancel()
        if cut:
            self.engine.background.tell(ev.Notice(level="warning", text=cut))
            self._deliver_beside()
        if self._beside is not None:
            await asyncio.wait({self._beside}, timeout=CLOSING)
            self._beside.cancel()

    def _deliver_beside(self) -> None:
        if self._beside is None or self._beside.done():
            self._beside = asyncio.create_task(self._delivery.all_of(self.engine.background), name="background")
            self._beside.add_done_callback(lambda _: self._delivery.closing or self._ui.changed())

    # Between turns

    def rerun(self, call_id: str, arguments: dict[str, Any] | None = None) -> Sequence[str]:
        return self._between_turns(lambda: self.engine.rerun(call_id, arguments), "a call again").left_out

    def rerun_all(self, call_ids: Sequence[str]) -> Sequence[str]:
        """Run several calls again side by side; return why those left out can't run. Raises ToolError when none can."""
        return self._between_turns(lambda: self.engine.rerun_all(call_ids), "calls again").left_out

    def take_up(self) -> None:
        """Fetch results of calls that go on at their servers since an earlier program, unless something runs."""
        with suppress(FanoutError):
            self._between_turns(self.engine.take_up, "calls taken up")

    def compact(self) -> None:
        self._between_turns(self.engine.compact, "compaction")

    async def undo_compaction(self) -> bool:
        self._must_be_idle()
        async with self.changing:
            if (event := self.engine.undo_compaction()) is not None:
                await self.deliver(event)
        return event is not None

    async def note(self, text: str) -> None:
        self._must_be_idle()
        async with self.changing:
            added = ev.MessageAdded.of(UserMessage(content=text, origin="fanout"))
            await self.deliver(self.engine.record(added))

    async def deliver(self, event: Event) -> None:
        await self._delivery.one(event)

    def another_session(self) -> None:
        """Leave this session: the next turn opens one of its own, or goes on with a stored one."""
        self._opened = False

    def _must_be_idle(self) -> None:
        if self.busy or self.changing.locked():
            raise UsageError(BUSY, "Try again when it is over.")

    def _between_turns(self, begin: Callable[[], BetweenT], name: str) -> BetweenT:
        self._must_be_idle()
        activity = begin()

        async def play() -> None:
            try:
                async with self.changing:
                    await self._play(activity)
            finally:
                self._task = None
                self._ui.changed()
                if self._queue and not self.paused:
                    self.resume()

        self._task = asyncio.create_task(play(), name=name)
        return activity

    async def _run(self) -> None:
        try:
            while self._queue and not self.paused:
                prompt = self._queue[0]
                message = await self._message(prompt)
                if message is None:
                    continue  # called off, or it can't be had: the queue is paused, or another one
                async with self.changing:
                    if self._is_next(prompt) and await self._place_made(message) and self._is_next(prompt):
                        await self._turn_of(prompt, message)
        finally:
            self._task = None
            self._ui.changed()
            if not self._delivery.closing:
                self.take_up()  # of servers that came meanwhile

    def _is_next(self, prompt: Queued) -> bool:
        return bool(self._queue) and self._queue[0] is prompt and not self.paused

    async def _place_made(self, message: UserMessage) -> bool:
        """Prepare for a turn, and return whether it may begin: the first event is stored, and an earlier copy of an
        unanswered message taken back. Where storing fails, the queue is paused."""
        try:
            if not self._opened:
                await self.deliver(self.engine.session_event())
                self._opened = True
            before = self.engine.transcript.unanswered
            same = before is not None and (before.content, before.source) == (message.content, message.source)
            if same and (undone := self.engine.undo_turn()):
                await self.deliver(undone)
        except Exception as error:
            self.paused = True
            self._delivery.failed(error)
            return False
        return True

    async def _message(self, prompt: Queued) -> UserMessage | None:
        ready = await self._waited_for(self._ready())
        if ready.cancelled():
            return None
        if (error := ready.exception()) is not None:
            return self._not_sent(prompt, error)
        if (asked := self._composed(prompt)) is None:
            return prompt.message or UserMessage(content=prompt.text)
        self.composing = True
        self._ui.changed()
        try:
            composed = await self._waited_for(asked)
        finally:
            self.composing = False
            self._ui.changed()
        if composed.cancelled():
            return None
        error = composed.exception()
        return composed.result() if error is None else self._not_sent(prompt, error)

    def _not_sent(self, prompt: Queued, error: BaseException) -> None:
        if self._is_next(prompt):
            self.paused = True
            self._ui.tell("error", error.line if isinstance(error, FanoutError) else repr(error))
            if self._ui.give_back(prompt.text):
                self._give_back()

    def _composed(self, prompt: Queued) -> Awaitable[UserMessage] | None:
        """Return what composes the message of a prompt that names something, None for one that doesn't."""
        ready = prompt.message is not None or prompt.by_hand is not None
        if ready or self._attachments is None or not self._attachments.may_name(prompt.text):
            return None
        return self._compose(self._attachments, prompt)

    async def _compose(self, attachments: Attachments, prompt: Queued) -> UserMessage:
        composed = await attachments.put_together(prompt.text, prompt.typed)
        for notice in composed.notices:
            self._ui.tell("warning", notice)
        self._attached(composed.message.attachments)
        return composed.message

    async def _waited_for(self, work: Awaitable[T]) -> asyncio.Future[T]:
        """Wait for `work` that the oldest prompt needs. The returned future is cancelled if that was called off."""
        self._before = before = asyncio.ensure_future(work)
        try:
            await asyncio.wait({before})
        finally:
            before.cancel()
            self._before = None
        return before

    async def _turn_of(self, prompt: Queued, message: UserMessage) -> None:
        outcome = ""  # it has not begun: it is in the queue, unless it was given back
        unsent: Sequence[UserMessage] = ()
        try:
            async with prompt.around():
                if self._is_next(prompt):  # else it was stopped meanwhile
                    self._queue.popleft()
                    outcome = "failed"
                    self.last_turn = turn = self._begin(prompt, message)
                    outcome = await self._play(turn)
                    unsent = turn.unsent
        except UsageError as error:
            if outcome or self._is_next(prompt):
                if not outcome:
                    self._queue.popleft()
                self._ui.tell("error", error.line)
                if not self._ui.give_back(prompt.text):
                    self._ui.tell("warning", f"Not sent: {prompt.text}")
        finally:
            self._sent_at = self._clock()  # of the next one: it was queued until now
            if not self._delivery.closing:
                self._queue.extendleft(Queued(one.source or one.content, message=one) for one in reversed(unsent))
            self.paused = (self.paused or outcome == "cancelled" or bool(unsent)) and bool(self._queue)
            self._ui.changed()

    def _begin(self, prompt: Queued, message: UserMessage) -> Turn:
        if (by_hand := prompt.by_hand) is None:
            return self.engine.start(message)
        known = {spec.label for spec in self.engine.toolset.tools()}
        if prompt.text.startswith("!") and by_hand.startswith(f"{SHELL} ") and SHELL not in known:
            raise UsageError("! runs a command with the server shell, and that is off", "/mcp switches it on.")
        calls = ManualCall.read(by_hand, known)
        if prompt.text.startswith(SHOWN):
            calls = [replace(call, must_ask="an answer only showed it") for call in calls]
        return self.engine.start_manual(prompt.text, calls)

    async def _play(self, activity: Turn | Rerun | Compacting) -> str:
        async with activity:
            self._ui.changed()
            return await self._delivery.all_of(activity)


FAULT = "Fanout failed"

log = logging.getLogger(__name__)


class Delivered(Protocol):
    async def next_slice(self, limit: int, pause: float = 0.0) -> Sequence[Event]: ...

    def cancel(self, why: str = "") -> None: ...


class Delivery:
    """Store and show the events of one conversation. `heard` is told before. While `closing`, events are only
    stored."""

    def __init__(self, store: ports.SessionStore | None, ui: UiPort, heard: Callable[[Event], None]) -> None:
        self._recorder = Recorder(store)
        self._ui = ui
        self._heard = heard
        self.closing = False
        self._last_fault = ""  # the newest: one that comes with every event that is shown is told once

    async def one(self, event: Event) -> None:
        await self._recorder.one(event)
        self._show(event)

    async def all_of(self, activity: Delivered) -> str:
        """Deliver what happens in `activity`, which was entered; return how a turn ended, "failed" after a fault."""
        outcome = "failed"
        for recorder in (self._recorder, Recorder(None)):  # where storing fails, the rest is shown all the same
            try:
                async for events in recorder.slices(activity):
                    for event in events:
                        if isinstance(event, ev.TurnFinished) and not event.agent:
                            outcome = event.outcome
                        self._show(event)
                    if not self.closing:
                        await self._ui.next_slice()
                break
            except Exception as error:
                self.failed(error)
                activity.cancel(FAULT)
        return outcome

    def _show(self, event: Event) -> None:
        if self.closing:
            return
        try:
            if event.agent and isinstance(event, ev.MessageAdded) and event.role == event.origin == "user":
                agent = self._ui.transcript.agents.get(event.agent)
                if agent is not None and agent.turn is not None and agent.turn.message is not None:  # not its task
                    self._ui.toast(f"{one_line(event.agent, 40)} has read what you said.")
            self._heard(event)
            self._ui.show(event)
        except Exception as error:
            self.failed(error, once=True)

    def failed(self, error: Exception, *, once: bool = False) -> None:
        if isinstance(error, FanoutError):
            line = error.line
        else:
            log.error("a fault of the program", exc_info=error)
            line = f"Fanout made a mistake: {error!r}. /log has the details."
        try:
            if not once or line != self._last_fault:
                self._ui.tell("error", line)
            self._last_fault = line
        except Exception:
            log.exception("and it could not be told")
