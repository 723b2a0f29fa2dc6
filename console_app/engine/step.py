"""A request: the answer read as it streams, its calls run, both joined to the history. A task of its own reads the
answer, so that neither stopping nor the next request waits for a connection to close."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from console_app.domain import CallPolicy, FanoutError, ThoughtLabel, ToolResult, ToolSpec, UserMessage, errors, ports
from console_app.domain import chunks as ch
from console_app.domain.settings import EngineSettings, Sampling, ToolChoice
from console_app.engine.activity import Activity
from console_app.engine.answer import Answer, ProviderCalls
from console_app.engine.calls import results
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.calls.familiar import tool_for
from console_app.engine.calls.slots import limited
from console_app.engine.execution.approval import Approvals, Repetition
from console_app.engine.execution.batch import Batch
from console_app.engine.execution.builtin_specs import is_agent
from console_app.engine.execution.builtin_tools import (
    AnswerTools,
    ToolsAsTheyCome,
    is_completion,
    offered,
    why_not_offered,
    with_programs,
)
from console_app.engine.execution.executor import Executor
from console_app.engine.execution.made_calls import MadeCalls
from console_app.engine.program_calls import PROGRAM_SPEC
from console_app.engine.rerun import Restarts
from console_app.engine.session import Session
from console_app.engine.strategies import Ending, StepResult
from console_app.engine.tool_search import not_loaded
from console_app.records import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ask:
    """Wishes for one request. `note` goes with it alone and joins no history. A `label` makes the text a thought;
    `builtins` are the built-in tools on offer. Tools of `given` calls may come while they are made."""

    tool_choice: ToolChoice = "auto"
    note: str = ""
    label: ThoughtLabel | None = None
    builtins: frozenset[str] = frozenset()
    given: bool = False


class Step:
    """A request of a turn and all that comes of it. Set `ending` before cancelling `run` to say why."""

    def __init__(
        self,
        session: Session,
        turn: Activity,
        provider_calls: ProviderCalls,
        repetition: Repetition,
        number: int,
        ask: Ask,
    ) -> None:
        self.ending: Ending | None = None
        self._session = session
        self._turn = turn
        self._provider_calls = provider_calls
        self._ask = ask
        self._sealed = self._joined = False
        self._answer: Answer | None = None
        self._warmed: ports.ProgramRunner | None = None  # where a program was being written
        self._settings = settings = session.settings
        self._behind: Mapping[str, ToolSpec] = {}  # tools that the model has to search for
        self._deferred: frozenset[str] = frozenset()  # and those that its endpoint searches
        self._specs = ToolsAsTheyCome(self._offered) if ask.given else self._offered()
        self._policy = settings.policy_for(session.provider.protocol)
        self.tools = AnswerTools(session, turn, lambda: self.batch.calls, self.made)
        self.approvals = Approvals(session, repetition, turn.emit)
        self.executor = Executor(session, turn, self.approvals, self.tools)
        self._programs = MadeCalls(session, self.executor, turn.emit)
        # A model may call all the same where the request takes no calls. In the last answer of a turn these are
        # skipped; beside a thought they run, since they are what the next request would ask for.
        refusal = results.no_more_tools() if ask.tool_choice == "none" and ask.label is None else None
        self.batch = Batch(
            settings=settings,
            policy=self._policy,
            refusal=refusal,
            specs=self._specs,
            executor=self.executor,
            emit=turn.emit,
            new_id=lambda provider_id, index: session.new_call_id(provider_id, f"call_{turn.number}_{number}_{index}"),
            missing=self._missing,
            unloaded=self._unloaded,
            question=self._question,
            made=self._programs.by_id,
            program=provider_calls.call_id,
        )
        self._restarts = Restarts(session, self.batch, turn.emit)

    def _offered(self) -> dict[str, ToolSpec]:
        settings, session = self._settings, self._session
        offer = session.offer("all" if self._ask.given else settings.tools)
        self._behind, self._deferred = offer.behind, frozenset(offer.behind if offer.native else ())
        tools = offered(with_programs(offer.callable, session, given=self._ask.given), self._ask.builtins, session)
        return {name: limited(spec, settings.never_parallel, settings.limits) for name, spec in tools.items()}

    def made(self, parent: str, spec: ToolSpec, made: ports.ProgramCall) -> asyncio.Future[ToolResult]:
        program = self.batch.find(parent) or CallExecution("", 0, "", None)  # or the agent that is the conversation
        return self._programs.run(program, spec, made)

    def _question(self, calls: Sequence[CallExecution]) -> str:
        return self._session.agents.question(self._session, calls) if self._session.agents is not None else ""

    def _unloaded(self, tool: str) -> ToolSpec | None:
        return next((spec for spec in self._behind.values() if tool in (spec.name, spec.label)), None)

    def _missing(self, tool: str) -> ToolResult:
        if (spec := self._unloaded(tool)) is not None:
            return not_loaded(spec)
        why = why_not_offered(tool, self._session.servers)
        if not why and (does := tool_for(tool, {**self._behind, **self._specs})):
            if does in self._behind:
                return not_loaded(self._behind[does])
            why = f"there is none of that name here; {does} does its work"
        return results.unknown_tool(tool, self._specs, why)

    async def run(self) -> StepResult:
        """Send the request; return when the answer has ended and each of its calls has its result."""
        self._answer = answer = Answer(
            self.batch, self._provider_calls, self._turn.emit, self._session.provider, self._ask.label
        )
        ended = asyncio.Event()
        settings = self._settings
        note = UserMessage(content=self._ask.note, origin="fanout") if self._ask.note else None
        session = self._session
        session.last_request = request = ports.ModelRequest(
            messages=session.messages(note),
            system=settings.whole_prompt,
            tools=tuple(self._specs.values()),
            deferred=self._deferred,
            programs=settings.programs if session.provider.runs_programs else "off",
            late=frozenset(spec.name for spec in self._specs.values() if _may_be_late(spec, settings)),
            tool_choice=self._ask.tool_choice,
            parallel=self._policy is not CallPolicy.SINGLE,
            conversation=session.stamper.session_id,
            summed_up=session.transcript.summed_up,
            called_before=frozenset(session.transcript.native_callers),
            sampling=Sampling(effort=settings.effort),
        )
        if session.given is not None:
            session.given.read(request, session.transcript.history)
        reader = self._turn.spawn(self._read(request, answer, ended), "answer")
        try:
            await ended.wait()
            self.batch.seal(answer.cut, lost=answer.finish is None)
            self._sealed = True
            await self.batch.settled()
        except BaseException:
            answer.over = True
            reader.cancel()
            self._end_calls()
            raise
        finally:
            self._join(answer)
            if self._warmed is not None:
                self._turn.spawn(self._warmed.rest(), "no program")
        calls, error = tuple(self.batch.calls), answer.error and answer.error.line
        return StepResult(
            answer.text,
            calls,
            answer.finish,
            error,
            completed=self.tools.final_answer,
            paused=answer.paused,
            too_large=isinstance(answer.error, errors.ContextOverflow) and answer.as_message() is None,
            unread=answer.unread,
        )

    @property
    def restarts(self) -> Restarts | None:
        return None if self._joined or self.ending is not None else self._restarts

    def end_now(self, ending: Ending) -> None:
        """End it at once: each call has its result, and both join the history, before this returns."""
        if self._joined:
            return
        self.ending = ending
        if self._answer is None:  # it has the calls of ours that an agent made
            self._end_calls()
            return
        self._answer.over = True
        self._end_calls()
        self._join(self._answer)

    def send_now(self) -> int:
        """End the calls without a result, so that the others' go to the model, and count them. Only once the answer is
        whole, since more calls may come before."""
        if not self._sealed or self._joined or self.ending is not None:
            return 0
        waiting = [call for call in self.batch.calls if not call.finished.is_set() and not is_completion(call)]
        for call in waiting:
            self.executor.end(call, results.not_waited_for(self.executor.sent_by(call), started=call.ran))
        return len(waiting)

    async def _read(self, request: ports.ModelRequest, answer: Answer, ended: asyncio.Event) -> None:
        taken, session = 0, self._session
        try:
            async with session.provider.stream(request) as chunks:
                async for chunk in chunks:
                    if answer.over:
                        break  # the turn was stopped: nothing that still comes may start a call
                    if answer.finish is not None:
                        continue  # what comes after the end is not part of the answer
                    answer.take(chunk)
                    if isinstance(chunk, ch.CallOpened) and chunk.name == PROGRAM_SPEC.name and session.programs:
                        self._warmed = session.programs
                        self._warmed.warm()
                    if self.batch.overflow:
                        answer.error = errors.AnswerInterrupted(f"{self.batch.overflow}: the rest of it is not read.")
                        break
                    if answer.finish is not None:
                        ended.set()
                    taken += 1
                    if taken % ch.SLICE == 0:
                        await self._turn.room()
        except FanoutError as error:
            self._failed(answer, error)
        except Exception as error:
            logger.exception("The provider failed in a way it should not")
            self._failed(answer, errors.ProviderError(f"{type(error).__name__}: {error}", "See the log for more."))
        finally:
            if answer.finish is None and answer.error is None:
                answer.error = errors.AnswerInterrupted("the connection ended before the model had finished.")
            ended.set()

    def _failed(self, answer: Answer, error: FanoutError) -> None:
        if answer.finish is None:
            answer.error = error
        else:
            logger.debug("After the end of the answer: %s", error)

    def _end_calls(self) -> None:
        for call in self.batch.all_calls:
            if call.result is not None or call.detached:
                continue
            if self.ending is not None and self.ending.cut:
                self.executor.interrupt(call)
            elif self.ending is None or self.ending.outcome == "cancelled":
                self.executor.cancel(call)
            elif call.started_at is not None:
                ran = self._session.monotonic() - call.started_at
                limit = self._settings.turn_timeout or ran
                self.executor.end(call, results.timed_out(ran, limit, self.executor.sent_by(call), whole_turn=True))
            else:
                self.executor.end(call, results.interrupted())

    def _join(self, answer: Answer) -> None:
        if self._joined:
            return
        self._joined = True
        if not answer.paused:
            self._provider_calls.end(but={call.parent for call in self.batch.calls})
        self.batch.report()
        if quoted := [call.raw for call in self.batch.calls if call.is_quotation]:
            answer.put_back(quoted)
        for thought in answer.thoughts():
            self._turn.emit(thought)
        message = answer.as_message()
        if message is not None:
            self._turn.join(message)
        for call in self.batch.calls:
            self._turn.join(call.as_message())
            if call.result is not None:
                self._session.background.told(call.id)


def _may_be_late(spec: ToolSpec, settings: EngineSettings) -> bool:
    """Tell whether calls of a tool go to the background without a key: agents, as the model asks, and those of servers
    after `background_after`."""
    return is_agent(spec) or (settings.background_after is not None and not spec.builtin)
