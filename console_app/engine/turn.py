"""A turn: one prompt until its last event, as an async context manager that owns every task it starts.

One task follows the strategy, one reads the answer, one runs each call; all put events into one queue. Stopping is
synchronous: every open call gets its result, the answer so far joins the history, `turn.finished` is queued, and only
then are tasks waited for. So leaving the context never hangs and always leaves a valid history.

An answer that is cut off is kept and marked. Its complete calls run to their end, since their results are real; others
are `invalid`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from console_app.domain import (
    ApprovalMode,
    AssistantMessage,
    Decision,
    FanoutError,
    Message,
    Outcome,
    ThoughtLabel,
    ToolResult,
    ToolSpec,
    UserMessage,
    errors,
    one_line,
    ports,
    safe_text,
)
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings, ToolChoice
from console_app.domain.tools import OWN_SERVER
from console_app.domain.transcript import Transcript
from console_app.engine import compaction
from console_app.engine import strategies as loops
from console_app.engine.answer import ProviderCalls
from console_app.engine.calls import results
from console_app.engine.calls.arguments import compact
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.execution import hooks
from console_app.engine.execution.approval import Approvals, Decidable, MissedApproval, Repetition
from console_app.engine.execution.builtin_specs import FINISHED, QUESTION, SPECS, as_checklist, open_items
from console_app.engine.manual_calls import ManualCall, ManualCallsProvider
from console_app.engine.session import Session
from console_app.engine.step import Ask, Step
from console_app.engine.strategies import STRATEGIES, Ending, Phase, StepResult, Strategy
from console_app.records import replace

PLAN_ON = (
    "[Fanout: plan mode is on. Only tools that are known to be read-only run; calls of all others are denied. Look at "
    "what you need, change nothing, and end with a plan for the user to agree to.]"
)
PLAN_OFF = "[Fanout: plan mode is off. Tools that change things may be called again.]"


def note_for(mode: ApprovalMode, transcript: Transcript) -> str:
    """Return the words on plan mode that the model needs before its next request; "" when it knows. Only the history
    tells, so undo, resuming and summaries have it told again."""
    covered = transcript.compaction.covers if transcript.compaction else 0
    later = (one for one in reversed(transcript.history[covered:]) if isinstance(one, UserMessage))
    notes = (one.content for one in later if one.origin == "fanout")
    told = next((note for note in notes if note in (PLAN_ON, PLAN_OFF)), PLAN_OFF)
    now = PLAN_ON if mode is ApprovalMode.PLAN else PLAN_OFF
    return "" if now == told else now


STOPPED = "[Fanout: the user stopped the turn here, before it was finished.]"
FAILED = "[Fanout: the turn ended here with an error, before it was finished.]"
MOST_STOPS = 5  # times that hooks may have a turn go on
TODO_EDITED = "I changed the to-do list. It is now this:"

logger = logging.getLogger(__name__)


class Turn(Decidable):
    """Runs one prompt to its end. `outcome` is None meanwhile. Where the turn failed, `approvals_missed` and
    `timed_out` say why."""

    def __init__(self, session: Session, prompt: UserMessage, number: int) -> None:
        super().__init__(session, number)
        self.prompt = prompt
        self.outcome: ev.TurnOutcome | None = None
        self.error: str | None = None
        self.timed_out = False
        self.stopped_at: float | None = None  # of the session's clock, when it was stopped from outside
        self.on_decided: Callable[[Turn], None] | None = None  # called with it, its last events still unread
        self.approvals_missed: list[MissedApproval] = []  # of calls that nobody could approve, and that never ran
        self.unread: set[str] = set()  # tools that a text seemed to call ("": unknown) and that ran no more
        self.provider_calls = ProviderCalls(session, self.emit)
        self._may_compact = True
        self._repetition = Repetition()
        self._unpriced = False  # a request came whose price nobody knows
        self.unsent: list[UserMessage] = []  # what `steer` was given and no request has carried, whole
        self.step_now: Step | None = None
        self._builtins = frozenset[str]()
        self.said = ""  # the newest text of an answer
        self._ending: Ending | None = None  # set when the turn is stopped from outside
        self._deadline: asyncio.TimerHandle | None = None
        self._before = len(session.transcript.history)  # messages that an agent in the model's place has had
        self._host: Host | None = None  # of such an agent
        self._joins = False  # the prompt joins once its hooks were asked
        self._blocked = False  # by one of them

    def _begin(self) -> None:
        limit = self._session.settings.turn_timeout
        if limit is not None:
            self._deadline = asyncio.get_running_loop().call_later(limit, self._time_is_up, limit)
        self._session.calls.clear()
        self._session.provider.turn_began()
        self.emit(ev.TurnStarted(prompt=self.prompt.source or self.prompt.content))
        self._joins = self._session.workplace is not None and self._session.workplace.asks("UserPromptSubmit")
        if not self._joins:
            self.join(self.prompt)

    @property
    def cut_by(self) -> str:
        """Return the name of the limit that cut the answer off, as `CUT_BY` has it; "" where none did."""
        return loops.CUT_BY.get(self.error or "", "") if self.outcome == "failed" else ""

    @property
    def unread_line(self) -> str:
        tools = ", ".join(sorted(one_line(tool, 60) for tool in self.unread if tool)) or "a tool"
        return f"The model seemed to call {tools} in its text, and nothing was run." if self.unread else ""

    # What the user can do

    def cancel(self, why: str = "") -> None:
        """Stop the turn: it ends as `cancelled`, `why` for people. Returns at once; the events follow."""
        self._stop(Ending("cancelled", why or None, cut=why == ev.CONSOLE_ENDED))

    def cancel_call(self, call_id: str) -> bool:
        step = self._step_of(call_id)
        return step is not None and (call := step.batch.find(call_id)) is not None and step.executor.cancel(call)

    def detach_call(self, call_id: str) -> bool:
        step = self._step_of(call_id)
        return step is not None and (call := step.batch.find(call_id)) is not None and step.executor.detach(call)

    def extend_call(self, call_id: str) -> bool:
        step = self._step_of(call_id)
        return step is not None and (call := step.batch.find(call_id)) is not None and step.executor.extend(call)

    def retry(self, call_id: str) -> bool:
        """Run a call of the open batch again; its last result counts. False when the batch is closed (see
        `Engine.rerun`), or the call waits, has unreadable arguments or is Fanout's own."""
        step = self._step_of(call_id)
        return step is not None and step.restarts is not None and step.restarts.retry(call_id)

    def edit_and_run(self, call_id: str, arguments: dict[str, Any]) -> bool:
        """Run a call of the open batch with `arguments`, which approves them; the model is told. False as with `retry`,
        and, with a notice, for arguments that don't fit or that a rule denies."""
        step = self._step_of(call_id)
        if step is not None and step.approvals.waits(call_id):
            return self.resolve(call_id, Decision.ALLOW, arguments=arguments)
        return step is not None and step.restarts is not None and step.restarts.edit_and_run(call_id, arguments)

    def send_now(self) -> int:
        """Send the results that are there; the other calls end as interrupted, with their output so far. Count those; 0
        while the answer still streams."""
        return self.step_now.send_now() if self.step_now else 0

    def answer(self, call_id: str, text: str | None) -> bool:
        """Answer a `question.asked`, or leave it unanswered (None); False when it is not open, or the answer blank."""
        step = self._step_of(call_id)
        return step is not None and step.tools.answer(call_id, text)

    def steer(self, message: str | UserMessage) -> None:
        """Add a user message that the next request of this turn carries."""
        message = as_message(message)
        if message.whole.strip():
            self.unsent.append(message)

    def _approvals_of(self, call_id: str) -> Approvals | None:
        step = self._step_of(call_id)
        return step.approvals if step is not None else None

    def reconsider(self) -> int:
        agents = self._session.agents
        found: list[Step | None] = [self.step_now, *(agents.steps() if agents is not None else ())]
        steps = {id(step): step for step in found if step is not None}
        return sum(step.approvals.reconsider() for step in steps.values())

    def _step_of(self, call_id: str) -> Step | None:
        agents = self._session.agents
        step: Step | None = agents.step_of(call_id) if agents is not None else None
        return step or self.step_now

    # What the strategy can do

    @property
    def settings(self) -> EngineSettings:
        return self._session.settings

    @property
    def open_todos(self) -> str:
        left = open_items(self._session.transcript.todo)
        return as_checklist(left) if left else ""

    def spent(self) -> str | None:
        settings, view = self.settings, self._session.transcript.turn
        tokens, cost = (view.tokens, view.cost or 0.0) if view is not None else (0, 0.0)
        if settings.max_price is not None and cost >= settings.max_price and cost > 0:
            return f"Price limit: this turn has cost ${cost:.4f} of ${settings.max_price:.4f} (max_price)."
        if settings.max_turn_tokens is not None and tokens >= settings.max_turn_tokens:
            return f"Token limit: this turn has used {tokens:,} of {settings.max_turn_tokens:,} tokens."
        return None

    async def step(
        self, *, tool_choice: ToolChoice = "auto", note: str = "", label: ThoughtLabel | None = None
    ) -> StepResult:
        self._join_what_the_user_did()
        self._step_number += 1
        self._repetition.next_step()
        self.emit(ev.StepStarted())
        await self._make_room()
        if self._session.search.is_new(offer := self._session.offer(self.settings.tools)):
            self.notice("info", offer.saving)
        ask = Ask(tool_choice, note, label, self._builtins | self.settings.builtin_tools)
        answered = await self._run_step(self._session, ask)
        while answered.too_large and (await self._make_room(refused=True) or self._shorten()):
            answered = await self._run_step(self._session, ask)
        ran = {call.name for call in answered.calls if call.ran}
        self.unread -= {*ran, ""} if ran else ran
        self.unread |= answered.unread.keys()
        broken = [call for call in answered.calls if call.origin == "text" and call.arguments is None and call.closed]
        self.unread |= {call.name if call.spec else "" for call in broken if call.outcome is Outcome.INVALID}
        if label is None and answered.text.strip():
            self.said = answered.text.strip()
        if (final := answered.completed) and final.strip() and final.strip() != self.said:
            self.join(AssistantMessage(content=final))
        return answered

    async def ask(self, question: str) -> bool:
        """Ask the user as a step of one given call: question and answer join the history. False without an answer."""
        self._step_number += 1
        self.emit(ev.StepStarted())
        given = ManualCallsProvider([ManualCall(f"{OWN_SERVER}.{QUESTION}", {"question": question})], [SPECS[QUESTION]])
        answered = await self._run_step(replace(self._session, provider=given), Ask(builtins=frozenset({QUESTION})))
        return all(call.outcome is Outcome.SUCCEEDED for call in answered.calls)

    async def _run_step(self, session: Session, ask: Ask) -> StepResult:
        ask = replace(ask, given=isinstance(session.provider, ManualCallsProvider))
        self.step_now = step = Step(session, self, self.provider_calls, self._repetition, self._step_number, ask)
        try:
            return await step.run()
        finally:
            self._session.calls.update((call.id, call) for call in step.batch.all_calls)
            self._repetition.answered(step.batch.ran)
            ran = {(spec.label, arguments) for spec, arguments, _ in step.batch.ran}
            self.approvals_missed.extend(step.approvals.missed)
            self.approvals_missed[:] = [one for one in self.approvals_missed if (one.tool, one.arguments) not in ran]

    async def _make_room(self, *, refused: bool = False) -> bool:
        session = self._session
        if not self._may_compact or not (refused or compaction.is_needed(session)):
            return False
        if not compaction.coverable(session, automatic=True, refused=refused):
            return False
        self._may_compact = await compaction.compact(session, self.emit, automatic=True, refused=refused)
        return self._may_compact

    def _shorten(self) -> bool:
        if (notice := compaction.shorten(self._session)) is None:
            return False
        self.emit(notice)
        return True

    def _join_what_the_user_did(self) -> None:
        waiting, self.unsent = self.unsent, []
        for message in waiting:
            self.join(message)
            self._repetition.forget_answers()
        self._join_late_results()
        if self._session.todo_edited:
            self._session.todo_edited = False
            self.add_message(f"{TODO_EDITED}\n{as_checklist(self._session.transcript.todo)}")
        if note := note_for(self._session.gate.mode, self._session.transcript):
            self.add_message(note)

    def _join_late_results(self) -> None:
        for note in self._session.background.notes():
            self.join(note)
            self._repetition.forget_answers()

    def add_message(self, text: str) -> None:
        self.join(UserMessage(content=text, origin="fanout"))

    def notice(self, level: ev.Level, text: str) -> None:
        self.emit(ev.Notice(level=level, text=text))

    def emit(self, event: ev.Event) -> None:
        super().emit(event)
        if isinstance(event, ev.UsageReported):
            if event.cost is None and self.settings.max_price is not None and not self._unpriced:
                self.notice("warning", "The price of this model isn't known, so max_price can't be kept.")
            self._unpriced = self._unpriced or event.cost is None
            if self._host is not None and (limit := self.spent()):
                self._stop(Ending("failed", limit))  # there is no next request to refuse

    # The main task

    async def _run(self) -> None:
        try:
            ending = await self._follow()
        except asyncio.CancelledError:
            ending = self._ending or Ending("cancelled")
        except Exception as error:
            logger.exception("Turn %d failed", self.number)
            ending = Ending("failed", f"Turn: {type(error).__name__}: {error} (see the log)")
        self._conclude(self._ending or ending)

    async def _follow(self) -> Ending:
        """Go from the prompt to the end, as the strategy has it; hooks may forbid the one, and put off the other."""
        await self._session.look_around()
        if (blocked := await self._hooked_start()) is not None:
            return blocked
        ending = await self._work()
        for again in range(MOST_STOPS):
            while (
                self._session.gate.headless and ending.outcome == "completed" and await self._session.background.news()
            ):
                ending = await self._work()  # nobody would read what comes after the end
            if ending.outcome != "completed" or self._session.workplace is None:
                break
            heard = await self._hooked("Stop", stop_hook_active=again > 0)
            if not heard.block:
                break
            self.add_message(f"[Fanout: a hook has you go on: {heard.block}]")
            ending = await self._work()
        return ending

    async def _work(self) -> Ending:
        agent = self._session.provider.agent
        if agent is None:
            return await Loop(self, self._strategy()).run()
        while True:
            history = self._session.transcript.history
            earlier = in_words(history[: self._before])
            self._join_what_the_user_did()
            self._step_number += 1
            self.emit(ev.StepStarted())
            said = [one.whole for one in history[self._before :] if isinstance(one, UserMessage)]
            if (ending := await self._conversed(agent, "\n\n".join(said), earlier)) is not None:
                return ending
            self._before = len(history)
            if limit := self.spent():
                return Ending("failed", limit)
            if not self.unsent:
                return Ending("completed")

    async def _conversed(self, agent: ports.Converses, prompt: str, earlier: str) -> Ending | None:
        session = self._session
        self.step_now = step = Step(session, self, self.provider_calls, self._repetition, self._step_number, Ask())
        self._host = Host(session, step, self)
        try:
            await agent.converse(prompt, earlier, self._host)
        except FanoutError as error:
            return Ending("failed", error.line)
        finally:
            self._host.end_calls()
            self.approvals_missed.extend(step.approvals.missed)
        return None

    async def _hooked(self, event: str, **told: Any) -> ports.Heard:
        return await hooks.at_event(self._session, event, self.emit, **told)

    async def _hooked_start(self) -> Ending | None:
        """Have the hooks of the session's start and of the prompt asked; return how the turn ends where they block
        it. A prompt that is blocked doesn't join the history."""
        session, said = self._session, list[str]()
        if not session.begun:
            session.begun = True
            source = "startup" if self.number == 1 else "resume"
            said.append((await self._hooked("SessionStart", source=source)).context)
        if self._joins:
            heard = await self._hooked("UserPromptSubmit", prompt=self.prompt.whole)
            self._joins = False
            if heard.block:
                self._blocked = True
                return Ending("failed", f"A hook blocked the prompt: {heard.block}")
            self.join(self.prompt)
            said.append(heard.context)
        for context in filter(None, said):
            self.add_message(f"[Fanout: a hook adds: {context}]")
        return None

    def _strategy(self) -> Strategy:
        strategy = STRATEGIES[self.settings.strategy]
        if strategy.tools and not self._session.toolset.tools():
            self.notice("warning", f"Strategy {strategy.name} needs at least one tool; this turn is a plain chat.")
            return STRATEGIES["agentic"]
        self._builtins = strategy.tools
        return strategy

    def _conclude(self, ending: Ending) -> None:
        """End the turn. Nothing is awaited here, so a second stop can't come in between."""
        if self.outcome is not None:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        if self._joins:
            self._joins = False
            self.join(self.prompt)
        if ending.outcome in ("cancelled", "failed") and not self._blocked:
            note = STOPPED if ending.outcome == "cancelled" else FAILED
            history = self._session.transcript.history
            last = history[-1] if history else None
            if last is None or last.role != "assistant" or last.interrupted or last.paused or last.label:
                self.join(UserMessage(content=note, origin="fanout"))
        self.provider_calls.end()
        if self._host is not None:
            self._host.end_calls()
        if self._session.gate.headless or self._session.agent:
            self._session.background.cancel()
            self._join_late_results()
        self.outcome, self.error = ending.outcome, ending.error
        self.emit(ev.TurnFinished(outcome=self.outcome, error=self.error))
        self._session.other_model = False
        self._outbox.close()
        if self.on_decided is not None:
            self.on_decided(self)

    def _main_is_done(self, task: asyncio.Task[None]) -> None:
        if self.outcome is None:  # cancelled before its first step
            self._conclude(self._ending or Ending("cancelled"))

    def _stop(self, ending: Ending) -> bool:
        if self._main is None or self.outcome is not None or self._ending is not None:
            return False
        self._stopped = True
        self._ending = ending
        self.stopped_at = self._session.monotonic()
        if self.step_now is not None:
            self.step_now.ending = ending
        self._main.cancel()
        return True

    def _time_is_up(self, limit: float) -> None:
        ending = Ending("failed", f"Time limit: the turn took longer than {results.seconds(limit)}.")
        self.timed_out = self._stop(ending)


class Loop:
    """A turn under a strategy."""

    def __init__(self, turn: Turn, strategy: Strategy) -> None:
        self._turn = turn
        self._strategy = strategy
        self._called = False  # an answer of this turn had a call
        self._was_refused = False  # the answer before the newest could not complete
        self._refused = False  # the newest answer may not complete: its model may say so in words
        self._asks = strategy.asks
        self._cuts = self._heard = 0
        self._pauses = 0  # in a row
        self._nudged = self._reminded = self._called_upon = False

    async def run(self) -> Ending:
        turn, at = self._turn, 0
        for _ in range(turn.settings.max_steps):
            if ending := self._spent():
                return ending
            phase = self._strategy.phases[at]
            note = "" if self._pauses else phase.note  # what goes on has been told
            answer = await turn.step(tool_choice=self._tool_choice(phase), note=note, label=phase.label)
            self._called = self._called or bool(answer.calls)
            self._was_refused = self._refused
            self._refused = any(call.outcome is Outcome.BLOCKED for call in answer.calls)
            if ending := self._judge(phase, answer):
                return ending
            asks = self._asks and phase.label == "reason" and not answer.calls
            question = loops.ASK.search(answer.text) if asks else None
            if question is not None:
                self._asks = await self._turn.ask(question["question"].strip())
            at = 0 if question is not None else at if answer.paused else self._next(at, answer)
        if ending := self._spent():
            return ending
        turn.notice("warning", f"Step limit of {turn.settings.max_steps} reached: one last answer, without tools.")
        turn.add_message(loops.CLOSING)
        answer = await turn.step(tool_choice="none")
        return Ending("step_limit", answer.error)

    def _tool_choice(self, phase: Phase) -> ToolChoice:
        """Return what the settings want, else the phase. A thought calls nothing; where only text can end the turn,
        calls are demanded until there was one."""
        wanted = self._turn.settings.tool_choice
        if phase.label is None and self._refused and wanted != "none":
            return "auto"
        if phase.label is not None or wanted is None:
            return phase.tool_choice
        ends_by_call = FINISHED in self._strategy.tools | self._turn.settings.builtin_tools
        return "auto" if wanted == "required" and self._called and not ends_by_call else wanted

    def _spent(self) -> Ending | None:
        limit = self._turn.spent()
        return None if limit is None else Ending("failed", limit)

    def _judge(self, phase: Phase, answer: StepResult) -> Ending | None:
        turn = self._turn
        self._cuts = self._cuts + 1 if answer.error or answer.finish == "length" else 0
        self._pauses = self._pauses + 1 if answer.paused else 0
        if answer.completed is not None:
            return None if turn.unsent else Ending("completed")
        if answer.calls:
            if self._cuts >= loops.MOST_CUTS or (answer.error and not any(call.ran for call in answer.calls)):
                return ended_by(turn, answer)
            if answer.error:
                turn.notice("warning", f"{answer.error.rstrip('.')}. Going on with the results of the calls that ran.")
            return None
        if answer.paused:
            if self._pauses > loops.MOST_PAUSES:
                why = f"The provider paused its answer {self._pauses} times in a row."
                turn.notice("warning", f"{why} Say “go on” to let it continue.")
                return Ending("failed", why)
            return None
        if phase.label is not None and not answer.error and answer.finish != "filtered":
            return ended_by(turn, answer) if self._cuts >= loops.MOST_CUTS else None
        if answer.unread and answer.finish in ("stop", "tool_calls") and self._heard < loops.MOST_UNREAD:
            self._heard += 1
            turn.add_message("\n".join(answer.unread.values()))
            return None
        if answer.empty and answer.finish in ("stop", "tool_calls") and not self._nudged:
            self._nudged = True
            turn.add_message(loops.NUDGE)
            return None
        may_call = self._strategy.nudges and self._turn.settings.tool_choice != "none" and not self._was_refused
        whole = not answer.error and answer.finish in ("stop", "tool_calls") and not answer.empty
        if may_call and whole and not self._called_upon:
            self._called_upon = True
            turn.add_message(loops.NO_CALL.format(finished=SPECS[FINISHED].name))
            return None
        if not answer.error and (turn.unsent or self._has_to_go_on()):
            return None
        return ended_by(turn, answer)

    def _has_to_go_on(self) -> bool:
        """Tell whether open items of the to-do list keep the turn from ending; told once, since a loop would be
        worse."""
        turn = self._turn
        if not turn.settings.finish_todos or not turn.open_todos:
            return False
        if self._reminded:
            turn.notice("warning", "The model ended its turn with open items on the to-do list.")
            return False
        self._reminded = True
        turn.add_message(f"{loops.REMIND}\n{turn.open_todos}")
        return True

    def _next(self, at: int, answer: StepResult) -> int:
        phases = self._strategy.phases
        following = (at + 1) % len(phases)
        if not answer.calls and phases[at].label is None:
            return 0  # an answer that did not end the turn: a new cycle
        if answer.calls and phases[at].label is not None and phases[following].label is None:
            following = (following + 1) % len(phases)  # it acted already
        return following


def ended_by(turn: Turn, answer: StepResult) -> Ending:
    """Return the ending that the last answer makes; what the user should do about an answer that isn't whole is a
    notice."""
    if answer.error:
        return Ending("failed", answer.error)
    if answer.finish == "length":
        turn.notice("warning", "The answer reached the token limit and is cut; ask it to go on, or raise max_tokens.")
        return Ending("failed", loops.TOKEN_LIMIT)
    if answer.finish == "filtered":
        turn.notice("warning", "The provider's content filter stopped the answer; word the request differently.")
        return Ending("failed", loops.FILTERED)
    if answer.empty:
        turn.notice("warning", "The model gave an empty answer twice; try again, or another model.")
        return Ending("failed", "The answer was empty.")
    return Ending("completed")


def as_message(message: str | UserMessage) -> UserMessage:
    if isinstance(message, str):
        return UserMessage(content=safe_text.encodable(message))
    attachments = tuple(
        one.model_copy(
            update={name: safe_text.encodable(getattr(one, name)) for name in ("text", "uri", "name", "part")}
        )
        for one in message.attachments
    )
    fields = {
        "content": safe_text.encodable(message.content),
        "source": safe_text.encodable(message.source),
        "attachments": attachments,
    }
    return message.model_copy(update=fields)


class ManualTurn(Turn):
    async def _follow(self) -> Ending:
        self._may_compact = False  # no model takes part
        if (blocked := await self._hooked_start()) is not None:
            return blocked
        answered = await self.step()
        while self._session.gate.headless and await self._session.background.news():
            self._join_late_results()
        return Ending("failed", answered.error) if answered.error else Ending("completed")


MOST_EARLIER = 60_000  # characters of what was said before, the newest


class Host:
    """Implements AgentHost, for one prompt of a turn."""

    def __init__(self, session: Session, step: Step, turn: Turn) -> None:
        self._session, self._step, self._turn = session, step, turn
        self.spent = turn.spent
        self._open: dict[str, None] = {}  # calls that have no result yet
        self._made = 0
        self._ended = False

    def tell(self, event: ev.Event) -> None:
        if isinstance(event, ev.CallAnnounced):
            self._open[event.call_id] = None
        elif isinstance(event, ev.CallFinished | ev.CallDropped):
            self._open.pop(event.call_id, None)
        self._turn.emit(event)

    def new_call_id(self, given: str) -> str:
        self._made += 1
        return self._session.new_call_id(given, f"call_{self._turn.number}_{self._made}")

    def tools(self) -> Collection[str]:
        return [spec.label for spec in self._session.toolset.tools()]

    def servers(self) -> Mapping[str, Mapping[str, Any]]:
        switch, specs = self._session.servers, self._session.toolset.tools()
        if switch is None or self._session.reads_only:
            return {}
        return {name: switch.entry(name) for name in dict.fromkeys(spec.server for spec in specs if not spec.builtin)}

    def kept(self, provider: str) -> Mapping[str, Any]:
        answers = (one for one in reversed(self._session.transcript.history) if isinstance(one, AssistantMessage))
        newest = next(answers, None)
        kept = [one.data for one in (newest.reasoning if newest else ()) if one.provider == provider]
        return kept[0] if kept else {}

    async def permitted(self, call_id: str, spec: ToolSpec, arguments: Mapping[str, Any], why: str) -> ports.Permit:
        self._goes_on()
        call = CallExecution(call_id, 0, spec.name, spec, why=why, closed=True)
        call.arguments = dict(arguments)
        refused = await self._step.approvals.ask(call, spec)
        answer = call.resolution
        if refused is not None and answer is not None and answer.by is ev.DecidedBy.USER and answer.feedback:
            # Its protocol has no place for it.
            self._turn.steer(f"About {spec.label}, which I denied: {answer.feedback}")
        return ports.Permit(refused is None, call.arguments or {})

    async def make(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self._goes_on()
        spec = next((one for one in self._session.toolset.tools() if one.label == tool), None)
        if spec is None:
            raise errors.ToolError(f"there is no tool {tool} here")
        self._made += 1
        return await self._step.made("", spec, ports.ProgramCall(self._made, tool, compact(arguments), earlier=False))

    def _goes_on(self) -> None:
        if self._ended:
            raise errors.ToolError("the agent has ended")

    def progress(self, words: str) -> None:
        self.tell(ev.Notice(level="info", text=words))

    def end_calls(self) -> None:
        self._ended = True
        result = results.interrupted()
        for call_id in list(self._open):
            self.tell(
                ev.CallFinished(
                    call_id=call_id, outcome=Outcome.INTERRUPTED, content=result.content, error=result.error
                )
            )


def in_words(history: Sequence[Message]) -> str:
    """Return what was said before as the beginning of a prompt; "" where nothing was."""
    said = [f"{one.role}: {one.content}" for one in history if one.role in ("user", "assistant") and one.content]
    text = "\n\n".join(said)[-MOST_EARLIER:]
    opens = "[Fanout: this was said before you were asked; answer what stands below it.]"
    return f"{opens}\n\n{text}\n\n[Fanout: now it says:]\n\n" if text else ""
