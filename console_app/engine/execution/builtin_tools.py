"""Runs the built-in tools of one answer. Whether `finished` may end the turn is told from the same answer's results
alone: the user who says "just complete anyway" gets what they ask for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pydantic import ValidationError

from console_app.domain import Outcome, ToolResult, ToolSpec, errors, ports
from console_app.domain import agents as ag
from console_app.domain import events as ev
from console_app.domain.tools import OWN_SERVER
from console_app.engine import tool_search
from console_app.engine.activity import Activity
from console_app.engine.calls import results
from console_app.engine.calls.arguments import compact
from console_app.engine.calls.call_execution import CallExecution
from console_app.engine.execution.builtin_specs import (
    ENABLE,
    FINISHED,
    QUESTION,
    SKILL,
    SKILL_SPEC,
    SPECS,
    TODO,
    AskFollowupQuestion,
    EnableServer,
    FindTools,
    Finished,
    ReadSkill,
    RunProgram,
    UpdateTodoList,
    as_checklist,
    enable_spec,
    open_items,
    wrong_with,
)
from console_app.engine.program_calls import PROGRAM_SPEC, Made, run_program
from console_app.engine.session import Session
from console_app.records import dataclass, field

BLOCKED = "Cannot complete because a previous tool call failed in this turn. Address the failure before completing."
NOTHING_RAN = (
    "Cannot complete yet: no other call of this answer ran, since the user did not allow it. Tell the user so in "
    "your answer, or do it another way; then complete."
)
OPEN_ITEMS = "The to-do list still has open items. Do them, or take them off the list, before completing."
_REFUSED = frozenset({Outcome.DENIED, Outcome.CANCELLED})


def is_completion(call: CallExecution) -> bool:
    return call.spec is not None and call.spec.builtin and call.spec.tool == FINISHED


def _stands_against(calls: Iterable[CallExecution], todo: Sequence[ev.TodoItem], *, finish_todos: bool) -> str | None:
    """Return the model's words for what stands against completing an answer; None when nothing does. Failures count
    (Outcome.is_error). Denied, cancelled or put off calls don't, unless nothing ran at all: then the final answer,
    written before the no, has to be given again, once. With `finish_todos`, an open to-do counts."""
    others = [call for call in calls if not is_completion(call)]
    if any(call.outcome is not None and call.outcome.is_error for call in others):
        return BLOCKED
    if any(call.outcome in _REFUSED for call in others) and not any(call.ran for call in others):
        return NOTHING_RAN
    if finish_todos and (left := open_items(todo)):
        return f"{OPEN_ITEMS}\n{as_checklist(left)}"
    return None


DECLINED = "The user does not want to answer. Decide yourself, or end with what you need to know."
NOBODY = "Nobody is there to answer. Decide yourself, or end with what you need to know."
EDITED_MEANWHILE = (
    "The list was not replaced, since the user edited it meanwhile. Send yours again if it should still differ from:"
)

logger = logging.getLogger(__name__)


def offered(tools: Mapping[str, ToolSpec], wanted: Iterable[str], session: Session) -> Mapping[str, ToolSpec]:
    """Return the tools of a request by wire name: the servers' `tools` and the built-in ones `wanted`. Without other
    tools there are no built-in ones, but for asking for a server or reading a skill."""
    specs, names, servers, workplace = dict(tools), set(wanted), session.servers, session.workplace
    builtins = [spec for tool, spec in SPECS.items() if tool in names] if specs else []
    if ENABLE in names and servers is not None and (off := servers.off()):
        builtins.append(enable_spec(off))
    if SKILL in names and workplace is not None and workplace.skills():
        builtins.append(SKILL_SPEC)
    if specs and session.agents is not None and (agent := session.agents.spec(session)) is not None:
        builtins.append(agent)
    for spec in builtins:
        if hidden := specs.get(spec.name):
            logger.warning("%s has the wire name of a built-in tool and can't be called", hidden.label)
        specs[spec.name] = spec
    return specs


def with_programs(tools: Mapping[str, ToolSpec], session: Session, *, given: bool = False) -> Mapping[str, ToolSpec]:
    """Return the tools with the one that runs the model's programs, or that and the search alone; unchanged where the
    endpoint runs them. A person may run one whatever the model is offered."""
    plan = session.settings.programs
    if session.programs is None or (not given and (plan == "off" or not tools or session.provider.runs_programs)):
        return tools
    if given or plan == "auto":
        return {**tools, PROGRAM_SPEC.name: PROGRAM_SPEC}
    program = session.program_alone()
    return {**{name: spec for name, spec in tools.items() if spec.builtin}, program.name: program}


def why_not_offered(name: str, servers: ports.ServerSwitch | None) -> str:
    if servers is None:
        return ""
    if name == f"{OWN_SERVER}_{ENABLE}" and not servers.off():
        return "no server is off, so there is none to switch on"
    return servers.why_missing(name)


@dataclass(eq=False)
class AnswerTools:
    """A Toolset for one answer. `calls` gives the calls of the answer, `made` runs a call that a program makes,
    `final_answer` is what `finished` was told."""

    _session: Session
    _activity: Activity
    _calls: Callable[[], Sequence[CallExecution]]
    _made: Made
    final_answer: str | None = None
    _questions: dict[str, asyncio.Future[str | None]] = field(  # None: you don't want to answer
        default_factory=dict[str, asyncio.Future[str | None]]
    )

    def tools(self) -> Sequence[ToolSpec]:
        return [*self._session.toolset.tools(), *SPECS.values()]

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        if not invocation.spec.builtin:
            return await self._session.toolset.call(invocation, reporter)
        arguments, tool = dict(invocation.arguments), invocation.spec.tool
        try:
            if tool == ag.AGENT and (agents := self._session.agents) is not None:
                return await agents.run(self._session, self._activity, invocation, reporter)
            if tool == FINISHED:
                finished = Finished.model_validate(arguments)
                finish_todos = self._session.settings.finish_todos
                if problem := _stands_against(self._calls(), self._session.transcript.todo, finish_todos=finish_todos):
                    return ToolResult(outcome=Outcome.BLOCKED, content=problem, error=problem.splitlines()[0])
                self.final_answer = finished.final_answer
                return ToolResult(outcome=Outcome.SUCCEEDED, content="Completed.")
            if tool == TODO:
                return self._update(UpdateTodoList.model_validate(arguments))
            if tool == ev.PROGRAM and (runner := self._session.programs) is not None:
                code, tools = RunProgram.model_validate(arguments).code, self._session.toolset.tools()
                session_id = self._session.stamper.session_id
                return await run_program(runner, invocation, code, tools, self._made, reporter, session_id)
            if tool == tool_search.FIND:
                offer = self._session.offer(self._session.settings.tools)
                query = FindTools.model_validate(arguments).query
                return await self._session.search.found(query, offer.searched)
            if tool == ENABLE:
                return await self._enable(EnableServer.model_validate(arguments))
            if tool == SKILL:
                wanted = ReadSkill.model_validate(arguments)
                if (workplace := self._session.workplace) is None:
                    return results.unreadable("there are no skills here", "")
                text = await workplace.skill(wanted.name, wanted.file)
                return ToolResult(outcome=Outcome.SUCCEEDED, content=text)
            if tool == QUESTION:
                return await self._ask(invocation.call_id, AskFollowupQuestion.model_validate(arguments))
        except ValidationError as error:
            return results.unreadable(wrong_with(error), compact(arguments))
        raise errors.ToolError(f"there is no built-in tool {tool}")

    def answer(self, call_id: str, text: str | None) -> bool:
        question = self._questions.get(call_id)
        if question is None or question.done() or (text is not None and not text.strip()):
            return False
        question.set_result(text and text.strip())
        return True

    def _update(self, update: UpdateTodoList) -> ToolResult:
        if self._session.todo_edited:
            # The model writes over a list that it has not seen: yours stands, and it may look and write again.
            self._session.todo_edited = False
            listed = as_checklist(self._session.transcript.todo)
            return ToolResult(outcome=Outcome.SKIPPED, content=f"{EDITED_MEANWHILE}\n{listed}")
        self._activity.emit(ev.TodoChanged(items=update.todos))
        return ToolResult(outcome=Outcome.SUCCEEDED, content=f"The to-do list is now:\n{as_checklist(update.todos)}")

    async def _enable(self, wanted: EnableServer) -> ToolResult:
        servers = self._session.servers
        if servers is None or wanted.server not in servers.off():
            return results.unreadable(f"no server that is off is called {wanted.server}", "")
        tools = await servers.switch_on(wanted.server)
        names = ", ".join(spec.name for spec in tools) or "none"
        text = f"The user switched {wanted.server} on. Its tools, from your next answer on: {names}."
        return ToolResult(outcome=Outcome.SUCCEEDED, content=text)

    async def _ask(self, call_id: str, asked: AskFollowupQuestion) -> ToolResult:
        self._activity.emit(ev.QuestionAsked(call_id=call_id, question=asked.question, options=asked.options))
        if self._session.gate.headless:
            return ToolResult(outcome=Outcome.DENIED, content=NOBODY, error="no one to answer (non-interactive)")
        self._questions[call_id] = question = asyncio.get_running_loop().create_future()
        try:
            answer = await question
        finally:
            del self._questions[call_id]
        if answer is None:
            return ToolResult(outcome=Outcome.DENIED, content=DECLINED, error="you gave no answer")
        return ToolResult(outcome=Outcome.SUCCEEDED, content=f"The user answered:\n{answer}")


class ToolsAsTheyCome(Mapping[str, ToolSpec]):
    def __init__(self, now: Callable[[], Mapping[str, ToolSpec]]) -> None:
        self._now = now

    def __getitem__(self, name: str) -> ToolSpec:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())
