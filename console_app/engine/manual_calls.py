"""Calls that a person asked for by hand, run as the one answer of a turn: no model takes part, and all else is the
same."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from console_app.domain import ApprovalMode, CallPolicy, ToolSpec, UsageError, ports, safe_text
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.settings import EngineSettings
from console_app.engine.calls.approval_gate import ApprovalGate, Rule, Ruling
from console_app.engine.calls.arguments import compact, declared
from console_app.engine.program_calls import PROGRAM_SPEC
from console_app.records import dataclass, replace

if TYPE_CHECKING:
    from console_app.engine.session import Session


@dataclass(frozen=True, slots=True)
class ManualCall:
    label: str
    arguments: Mapping[str, Any]
    must_ask: str = ""  # why a person is asked before it runs

    def __str__(self) -> str:
        return f"{self.label} {json.dumps(dict(self.arguments), ensure_ascii=False)}"

    @staticmethod
    def read(text: str, known: Collection[str]) -> list[ManualCall]:
        """Read calls as `str` writes them; JSON left out is {}. `known` labels may hold spaces. Raises UsageError."""
        calls: list[ManualCall] = []
        at = 0
        while rest := text[at:].strip():
            at = len(text) - len(text[at:].lstrip())
            brace = rest.find("{")
            words = (rest if brace < 0 else rest[:brace]).strip()
            if not words:
                raise UsageError(f"the arguments {rest[:60]} belong to no tool", "Write SERVER.TOOL JSON.")
            labels = [words] if words in known else words.split()
            calls += [ManualCall(label, {}) for label in labels]
            if brace < 0:
                break
            try:
                value, end = safe_text.AS_WRITTEN.raw_decode(text, at + brace)
            except (ValueError, RecursionError) as error:
                raise UsageError(f"the arguments of {labels[-1]} are no JSON: {error}") from None
            calls[-1] = ManualCall(labels[-1], cast("dict[str, Any]", value))
            at = end
        return calls

    def nearest(self, known: Sequence[str]) -> str:
        import difflib  # only needed to word an error

        if close := difflib.get_close_matches(self.label, known, 1, 0.7):
            return f"Did you mean {close[0]}?"
        return f"There are: {', '.join(known)}." if known else "No server has a tool."


def find_tools(calls: Sequence[ManualCall], specs: Sequence[ToolSpec]) -> list[ToolSpec]:
    table = {spec.label: spec for spec in specs}
    for call in calls:
        if call.label not in table:
            raise UsageError(f"no tool is called {call.label}", call.nearest(list(table)))
    return [table[call.label] for call in calls]


def session_for(session: Session, calls: Sequence[ManualCall]) -> Session:
    """Return the session with the calls in place of the model; history and limits stay shared. Raises UsageError."""
    agent = session.agents.spec(session) if session.agents is not None else None
    own = [*([] if session.programs is None else [PROGRAM_SPEC]), *([agent] if agent is not None else [])]
    specs = find_tools(calls, [*session.toolset.tools(), *own])
    return replace(
        session,
        provider=ManualCallsProvider(calls, specs),
        gate=TypedCallsGate(**dict[str, Any](vars(session.gate), own_alone=PROGRAM_SPEC in specs)),
        settings=typed(session.settings),
        given=None,
        todo_edited=False,  # the model is told of it in its own turn
    )


def typed(settings: EngineSettings, *, read_by_model: bool = True) -> EngineSettings:
    """Return the settings without those that leave out calls of a model's answer: nobody would ask for them again."""
    policy = CallPolicy.SEQUENTIAL if settings.policy is CallPolicy.SINGLE else settings.policy
    own = replace(settings, strategy="agentic", builtin_tools=frozenset(), dedupe=False)
    return replace(own, policy=policy, max_calls=sys.maxsize, read_by_model=read_by_model)


@dataclass(eq=False)
class TypedCallsGate(ApprovalGate):
    """Typing a call approves it, but denials stay, and a changed tool or a call only read somewhere is shown first.
    With `own_alone` a program was typed, and its calls weren't."""

    own_alone: bool = False

    def check(self, spec: ToolSpec, arguments: Mapping[str, Any], must_ask: str = "") -> Ruling:
        verdict = super().check(spec, arguments, must_ask)
        asks = verdict.action == "ask" and not spec.changed and not must_ask and (spec.builtin or not self.own_alone)
        return Ruling("allow", "you asked for it yourself", ev.DecidedBy.USER) if asks else verdict


LateTool = Callable[[], Coroutine[Any, Any, ToolSpec]]


class ManualCallsProvider(ports.Provider):
    """An answer that makes the given calls, each as soon as its tool is there. A call runs as it was typed or not at
    all, since nobody would see that it ran with other arguments."""

    name = "command"
    model = "call"
    protocol = "native"

    def __init__(self, calls: Sequence[ManualCall], specs: Sequence[ToolSpec | LateTool]) -> None:
        self._calls = list(zip(calls, specs, strict=True))
        self._answered = False

    @staticmethod
    def gate(mode: ApprovalMode, rules: list[Rule], **more: Any) -> ApprovalGate:
        return TypedCallsGate(mode, rules, headless=True, **more)

    @classmethod
    def of_program(cls, code: str) -> ManualCallsProvider:
        return cls([ManualCall(PROGRAM_SPEC.label, {"code": code})], [PROGRAM_SPEC])

    @asynccontextmanager
    async def stream(self, request: ports.ModelRequest) -> AsyncGenerator[AsyncIterator[ch.Chunk]]:
        answered, self._answered = self._answered, True
        async with aclosing(self._done() if answered else self._answer()) as chunks:
            yield chunks

    async def _answer(self) -> AsyncGenerator[ch.Chunk]:
        coming = {asyncio.create_task(_there(spec)): index for index, (_, spec) in enumerate(self._calls)}
        try:
            while coming:
                there, _ = await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in coming if task in there]:
                    index, spec = coming.pop(task), task.result()
                    yield ch.CallOpened(index, "", spec.name)
                    yield _end(index, self._calls[index][0], spec)
        finally:
            for task in coming:
                task.cancel()
        yield ch.FinishChunk("tool_calls")

    async def _done(self) -> AsyncGenerator[ch.Chunk]:
        yield ch.TextChunk("Done.")
        yield ch.FinishChunk("stop")


async def _there(spec: ToolSpec | LateTool) -> ToolSpec:
    return spec if isinstance(spec, ToolSpec) else await spec()


def _end(index: int, call: ManualCall, spec: ToolSpec) -> ch.CallClosed | ch.CallBroken:
    arguments, written = dict(call.arguments), json.dumps(dict(call.arguments))
    if safe_text.encodable(text := compact(arguments)) != text:
        return ch.CallBroken(index, "half a character is in its arguments, which no text can hold", written)
    if left_out := declared(spec.input_schema, arguments)[1]:
        return ch.CallBroken(index, f"“{'”, “'.join(left_out)}” is no argument of the tool", written)
    return ch.CallClosed(index, written, must_ask=call.must_ask)
