"""The calls of one answer, read as they stream in and started under the policy. A call that its provider marked whole
(`sure`) starts while the answer streams; calls from text, or with `dispatch` batch, at its end. What is not complete
then is `invalid` and never runs: half an argument can be a whole other command."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from console_app.domain import CallPolicy, Outcome, ToolResult, ToolSpec
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings
from console_app.engine.calls import results
from console_app.engine.calls.arguments import UnreadableArguments, as_written, canonical, declared, read
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.execution.builtin_specs import is_agent, with_own_names
from console_app.engine.execution.builtin_tools import is_completion
from console_app.engine.execution.executor import Executor, Queue
from console_app.records import dataclass, field

LARGEST_ARGUMENTS: Final = 8 * 2**20  # characters of one call
LARGEST_TOGETHER: Final = 32 * 2**20  # of all calls of one answer: each is stored, shown and sent to its tool
MOST_OPENED: Final = 4_096  # calls of one answer, unless `max_calls` is more: one beyond that is read to be refused
LONGEST_NAME: Final = 256  # characters: what is longer is no tool's, and every message about the call has it
RAW_KEPT: Final = 1_000  # characters of arguments that were refused for their size
UNREADABLE_NAME = "unreadable_call"  # of a call whose name could not be read either

logger = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class Batch:
    """The calls of one answer. `refusal` is the result of each where none may run; `new_id` makes an id from the
    provider's and the index, `question` says what a person is asked before these calls send agents. `made` are the
    calls that programs of the answer made; `program` gives the id of the provider's program that makes a call, by the
    provider's."""

    settings: EngineSettings
    policy: CallPolicy
    refusal: ToolResult | None
    specs: Mapping[str, ToolSpec]
    executor: Executor
    emit: Callable[[ev.Event], None]
    new_id: Callable[[str, int], str]
    missing: Callable[[str], ToolResult]
    unloaded: Callable[[str], ToolSpec | None]  # the tool that a name means, which the model had not searched for
    question: Callable[[Sequence[CallExecution]], str]
    made: dict[str, CallExecution]
    program: Callable[[str], str]
    overflow: str = ""  # why no more of the answer can be taken
    _by_index: dict[int, CallExecution] = field(default_factory=dict[int, CallExecution])
    _beyond: set[int] = field(default_factory=set[int])  # of those, the calls that are too many
    _sizes: dict[int, int] = field(default_factory=dict[int, int])  # characters of arguments that arrived
    _together: int = 0  # of all calls
    _first: dict[tuple[str, str, str], CallExecution] = field(  # of equal calls, the one that runs
        default_factory=dict[tuple[str, str, str], CallExecution]
    )

    @property
    def calls(self) -> list[CallExecution]:
        return [self._by_index[index] for index in sorted(self._by_index)]

    @property
    def all_calls(self) -> list[CallExecution]:
        return [*self.calls, *self.made.values()]

    @property
    def ran(self) -> list[tuple[ToolSpec, str, Outcome | None]]:
        """Return the calls of servers that were started, with what they ran with in canonical form, and how they
        ended."""
        return [
            (call.spec, canonical(call.arguments or {}), call.outcome)
            for call in self.all_calls
            if call.ran and call.spec is not None and not call.spec.builtin
        ]

    def find(self, call_id: str) -> CallExecution | None:
        made = self.made.get(call_id)
        return made or next((call for call in self._by_index.values() if call.id == call_id), None)

    # While the answer streams

    def opened(self, chunk: ch.CallOpened) -> None:
        if chunk.index in self._by_index:
            logger.warning("A second opening of call %d of an answer is ignored", chunk.index)
            return
        spec = self.specs.get(chunk.name)
        call_id = self.new_id(chunk.id, chunk.index)
        name = chunk.name if len(chunk.name) <= LONGEST_NAME else f"{chunk.name[:LONGEST_NAME]}…"
        parent = self.program(chunk.caller)
        call = CallExecution(call_id, chunk.index, name, spec, chunk.origin, chunk.dialect, parent)
        if len(self._by_index) >= self.settings.max_calls:
            self._beyond.add(chunk.index)
        if len(self._by_index) >= (most := max(MOST_OPENED, self.settings.max_calls)):
            self.overflow = f"it makes more than {most:,} calls"
        self._by_index[chunk.index] = call
        self._announce(call)

    def _announce(self, call: CallExecution) -> None:
        spec = call.spec or self.unloaded(call.name)
        self.emit(
            ev.CallAnnounced(
                call_id=call.id,
                index=call.index,
                name=call.name,
                server=spec.server if spec else "",
                tool=spec.tool if spec else "",
                origin=call.origin,
                dialect=call.dialect,
                parent=call.parent,
            )
        )

    def delta(self, index: int, text: str) -> None:
        call = self._by_index.get(index)
        if call is None or call.closed or call.result is not None or index in self._beyond:
            return
        if problem := self._grown(index, len(text)):
            self.overflow = problem
            self._refuse_size(call, "".join(call.received), problem)
            return
        call.received.append(text)
        self.emit(ev.CallArguments(call_id=call.id, delta=text))

    def _grown(self, index: int, more: int) -> str:
        self._sizes[index] = size = self._sizes.get(index, 0) + more
        self._together += more
        if size > LARGEST_ARGUMENTS:
            return f"its arguments are larger than {LARGEST_ARGUMENTS // 2**20} MB"
        if self._together > LARGEST_TOGETHER:
            return f"the calls of the answer have more than {LARGEST_TOGETHER // 2**20} MB of arguments"
        return ""

    def _refuse_size(self, call: CallExecution, written: str, problem: str) -> None:
        call.closed = True
        call.raw = written[:RAW_KEPT]
        call.received = [call.raw]
        self.executor.finish(call, results.unreadable(problem, call.raw))

    def closed(self, chunk: ch.CallClosed) -> None:
        call = self._by_index.get(chunk.index)
        if call is None or call.closed:
            logger.warning("The end of call %d, which is not open, is ignored", chunk.index)
            return
        more = max(0, len(chunk.arguments) - self._sizes.get(chunk.index, 0))  # that no delta brought
        if chunk.index not in self._beyond and (problem := self._grown(chunk.index, more)):
            self.overflow = problem if self._together > LARGEST_TOGETHER else ""
            self._refuse_size(call, chunk.arguments, problem)
            return
        call.closed = True
        try:
            call.arguments = given = read(chunk.arguments)
            if call.spec is not None:
                own = with_own_names(call.spec, given) if call.spec.builtin else given
                call.arguments, call.left_out = declared(call.spec.input_schema, own)
        except UnreadableArguments as error:
            call.raw = chunk.raw or chunk.arguments
            self.executor.finish(call, results.unreadable(str(error), call.raw))
            return
        call.written = as_written(chunk.arguments, given)
        left_out = tuple(f"left out {name}, which is no argument of the tool" for name in call.left_out)
        call.raw, call.repaired, call.must_ask = chunk.raw, (*chunk.repaired, *left_out), chunk.must_ask
        call.unlicensed, call.advice, call.dialect = chunk.unlicensed, chunk.advice, chunk.dialect or call.dialect
        if call.result is not None:
            return  # cancelled while its arguments came in
        self.emit(ev.CallReady(call_id=call.id, arguments=call.arguments, raw=call.raw, repaired=call.repaired))
        if call.spec is None:
            self.executor.finish(call, self.missing(call.name))
        elif chunk.index in self._beyond:
            self.executor.finish(call, results.too_many(self.settings.max_calls))
        elif self.refusal is not None:
            self.executor.finish(call, self.refusal)
        elif is_completion(call) or is_agent(call.spec):
            pass  # one is judged by the results of all the others, and of agents a person may be asked how many
        elif chunk.sure and self.settings.dispatch == "eager":
            self._dispatch(call, call.spec)

    def broken(self, chunk: ch.CallBroken) -> None:
        if chunk.index not in self._by_index:
            self.opened(ch.CallOpened(chunk.index, "", UNREADABLE_NAME, "text"))
        call = self._by_index[chunk.index]
        if not call.closed:
            call.closed = True
            call.raw = chunk.raw or "".join(call.received)
            self.executor.finish(call, results.unreadable(chunk.problem.rstrip("."), call.raw))

    def kept(self, index: int, kept: ch.ProviderData, endpoint: str) -> None:
        if (call := self._by_index.get(index)) is None:
            return
        is_open = not call.closed and call.result is None
        if is_open and not call.parent and (parent := self.program(kept.caller)):
            self.emit(ev.CallDropped(call_id=call.id))
            call.id, call.parent = self.new_id("", index), parent
            self._announce(call)
        call.provider_data = kept.data
        self.emit(ev.AnswerKept(endpoint=endpoint, call_id=call.id, provider_data=kept.data))

    def dropped(self, index: int) -> None:
        call = self._by_index.get(index)
        if call is None or call.dispatched or call.result is not None:
            logger.warning("Call %d, which isn't open, can't be taken back", index)
            return
        del self._by_index[index]
        self.emit(ev.CallDropped(call_id=call.id))

    # At its end

    def seal(self, cut: str | None, *, lost: bool = False) -> None:
        """End the answer and start what waited for it. `cut` names the cause (None: whole); a token limit takes only
        the call being written. With `lost`, no call counts as ended by itself."""
        sent = [call for call in self.calls if call.closed and call.result is None and is_agent(call.spec)]
        if question := self.question(sent) if sent else "":
            for call in sent:
                call.must_ask = question
        for call in self.calls:
            if not call.closed:
                call.closed = True
                problem = f"{cut} before its arguments were complete" if cut else "its arguments never came to an end"
                call.raw = "".join(call.received)
                self.executor.finish(call, results.unreadable(problem, call.raw))
            elif call.result is None and not call.dispatched and call.spec is not None:
                if is_completion(call):
                    self._complete(call, call.spec, cut)
                elif cut and lost and (call.origin == "text" or self.settings.dispatch == "batch"):
                    self.executor.finish(call, results.unreadable(f"{cut} before this call was sure", call.written))
                else:
                    self._dispatch(call, call.spec)
        started = sum(call.dispatched and not is_completion(call) for call in self._by_index.values())
        if started > 1 and self.policy is CallPolicy.PARALLEL:
            logger.info("Executing %d tool calls in parallel", started)

    async def settled(self) -> None:
        while open_calls := [call for call in self.all_calls if not call.finished.is_set()]:
            await open_calls[0].finished.wait()

    def restart(self, old: CallExecution, fresh: CallExecution, spec: ToolSpec) -> None:
        if old.id in self.made:
            self.made[old.id] = fresh
        else:
            self._by_index[old.index] = fresh
        self.executor.restart(old, fresh, spec, self._queue_of(fresh))

    @property
    def completed(self) -> bool:
        """Tell whether completion was judged by the results that are there, so that none may change any more."""
        return any(is_completion(call) and call.result is not None for call in self._by_index.values())

    def report(self) -> None:
        calls = self.all_calls
        if not calls:
            return
        starts = [call.started_at for call in calls if call.started_at is not None]
        ends = [call.ended_at for call in calls if call.ran and call.ended_at is not None]
        wall = max(ends) - min(starts) if starts and ends else 0.0
        summed = sum(call.duration for call in calls)
        self.emit(ev.BatchFinished(calls=len(calls), wall_ms=round(wall * 1000), summed_ms=round(summed * 1000)))

    def _unfinished(self) -> list[CallExecution]:
        return [call for call in self._by_index.values() if not call.finished.is_set()]

    def _policy_of(self, call: CallExecution) -> CallPolicy:
        return CallPolicy.SINGLE if call.dialect in self.settings.single_dialects else self.policy

    def _dispatch(self, call: CallExecution, spec: ToolSpec) -> None:
        if self._policy_of(call) is CallPolicy.SINGLE and any(
            other.index < call.index for other in self._by_index.values()
        ):
            self.executor.finish(call, results.not_single())
        elif (first := self._same(call, spec)) is not call and first.index < call.index:
            self.executor.follow(call, spec, lambda: self._by_index[first.index], self._queue_of(call))
        else:
            self.executor.start(call, spec, self._queue_of(call))

    def _same(self, call: CallExecution, spec: ToolSpec) -> CallExecution:
        if not self.settings.dedupe or not spec.annotations.read_only or spec.builtin:
            return call
        return self._first.setdefault((spec.name, canonical(call.arguments or {}), call.asks), call)

    def _complete(self, call: CallExecution, spec: ToolSpec, cut: str | None) -> None:
        if cut:
            self.executor.finish(
                call, results.unreadable(f"{cut}, so more may have been meant to follow", call.written)
            )
        elif any(is_completion(other) and other.dispatched for other in self.calls):
            self.executor.finish(call, results.one_completion())
        elif self._policy_of(call) is CallPolicy.SINGLE:
            self._dispatch(call, spec)
        else:
            queue = Queue(
                lambda: [other for other in self._unfinished() if not is_completion(other)],
                "completion is judged after the other calls",
            )
            self.executor.start(call, spec, queue)

    def _queue_of(self, call: CallExecution) -> Queue | None:
        if self.policy is CallPolicy.PARALLEL:
            return None
        return Queue(
            lambda: [
                other
                for other in self._unfinished()
                if other.id != call.id and not is_completion(other) and (other.index < call.index or other.released)
            ],
            f"{self.policy.value}: after the calls before it",
        )
