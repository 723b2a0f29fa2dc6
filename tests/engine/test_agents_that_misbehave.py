"""Agents of bad input and bad manners: each comes to one result that says what is wrong, and holds no sibling up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from console_app.domain import ApprovalMode, AssistantMessage, Decision, ToolSpec
from console_app.domain import events as ev
from console_app.domain.agents import AgentKind
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.errors import ToolError
from console_app.domain.ports import AgentHost
from console_app.engine import Engine, Turn
from tests.each import each
from tests.engine.peers import DONE, Line, Tools, calls, play, spec, tool_texts
from tests.engine.test_agents import Elsewhere, Models, agents_of, check_agents, says, sends
from tests.engine.virtual_time import run

Told = Sequence[ev.Event]
LATE: list[str] = []  # what came of what an ended agent asked for


class AsksLate(Elsewhere):
    """An agent of others whose task goes on when its answer has ended, and asks for more."""

    async def converse(self, prompt: str, earlier: str, host: AgentHost) -> None:
        async def later() -> None:
            await asyncio.sleep(1)
            host.tell(ev.TextDelta(text="late words"))
            host.tell(ev.CallAnnounced(call_id="late", index=0, name="late"))
            for ask in (
                lambda: host.permitted("late", ToolSpec(name="late", server="x", tool="late"), {}, "late"),
                lambda: host.make("demo.do", {"n": "late"}),
            ):
                try:
                    await ask()
                    LATE.append("done")
                except ToolError as error:
                    LATE.append(error.detail)

        self.task = asyncio.get_running_loop().create_task(later())
        host.tell(ev.MessageAdded.of(AssistantMessage(content="early")))


@dataclass
class Case:
    """The calls of the model, the acts of its agents, and the beginning of the first call's result."""

    go: Sequence[Any]
    result: str
    agents: dict[str, list[list[Line]]] = field(default_factory=dict[str, list[list[Line]]])
    kinds: dict[str, AgentKind] = field(default_factory=dict[str, AgentKind])
    more: Callable[[Engine, Tools, Told], None] = lambda _engine, _tools, _told: None
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


def at_most_eight(engine: Engine, tools: Tools, told: Told) -> None:
    assert tools.most_running == 8
    results = Counter(text.split(":")[0] for text in tool_texts(engine))
    assert results.total() == 20
    asked = {one.why for one in told if isinstance(one, ev.ApprovalRequested)}
    assert asked == {"20 agents, scripted, about 40,000 tokens each"}


def no_agent_of_an_agent_of_an_agent(engine: Engine, tools: Tools, told: Told) -> None:
    assert set(engine.transcript.agents) == {"general", "general/general", "sibling"}


def says_what_is_missing(engine: Engine, tools: Tools, told: Told) -> None:
    said = [one.text for one in told if isinstance(one, ev.Notice) and one.agent]
    assert said == ["odd names tools that are not here: nothing.such."]
    assert [spec.label for spec in engine.toolset.tools()] == ["demo.do"], "those of its parent stay"


def said_no_more(engine: Engine, tools: Tools, told: Told) -> None:
    assert LATE == ["the agent has ended"] * 2
    assert not any(getattr(one, "call_id", "") == "late" for one in told)
    assert tools.ran == []


MANY = [f"t{n}" for n in range(20)]
CASES: dict[str, Case] = {
    "twenty in one answer": Case(
        MANY,
        "done",
        {task: [[*calls({"n": task, "seconds": 1})], [*DONE]] for task in MANY},
        more=at_most_eight,
        settings={"ask_agents": 4},
    ),
    "a kind with no such model": Case(
        [{"task": "a", "kind": "odd"}],
        "Tool execution failed: no other model than the one that answers can be had here, so not no/model",
        kinds={"odd": AgentKind("odd", model="no/model")},
    ),
    "a kind with no such tool": Case(
        [{"task": "a", "kind": "odd"}],
        "done a",
        kinds={"odd": AgentKind("odd", tools=("nothing.such",))},
        more=says_what_is_missing,
    ),
    "a kind with no such skill": Case(
        [{"task": "a", "kind": "odd"}],
        "Tool execution failed: Tool: there are no skills here",
        kinds={"odd": AgentKind("odd", skills=("deploy",))},
    ),
    "a kind with a worktree where none can be had": Case(
        [{"task": "a", "kind": "odd"}],
        "Tool execution failed: Tool: odd works in a git worktree of its own, which can't be had here",
        kinds={"odd": AgentKind("odd", worktree=True)},
    ),
    "one that calls itself": Case(
        ["again"], "done again", {"again": [sends("again"), sends("again")]},
        more=no_agent_of_an_agent_of_an_agent,
    ),
    "one that floods": Case(
        ["a"], "x" * 100, {"a": [[*(TextChunk("x") for _ in range(2_000)), FinishChunk("stop")]]}
    ),
    "one that floods with calls": Case(
        ["a"],
        "Too many",
        {"a": [[*calls(*({"n": n} for n in range(300)))], says("Too many")]},
        settings={"max_calls": 32},
    ),
    "one that hangs": Case(["a"], "It had worked for 9.0 s", {"a": [[TextChunk("Well,"), asyncio.Event()]]}),
    "one that asks after its end": Case(
        [{"task": "a", "kind": "odd"}],
        "early",
        kinds={"odd": AgentKind("odd", opens=lambda _: AsksLate())},
        more=said_no_more,
    ),
}  # fmt: skip


@each("name", CASES)
def test_whatever_an_agent_does_its_call_has_one_result_and_its_sibling_goes_on(name: str) -> None:
    case = CASES[name]
    LATE.clear()

    async def scene() -> None:
        tools = Tools([spec()])
        go = [*case.go, *([] if len(case.go) > 1 else [{"task": "sibling", "name": "sibling"}])]
        sibling: list[list[Line]] = [[*calls({"n": "sibling", "seconds": 3})], says("sibling is done")]
        tools_of_case = tools if len(case.go) > 1 else Tools([spec()])
        model = Models(**{"go": [sends(*go)], "sibling": sibling, **case.agents})
        engine = agents_of(model, tools_of_case, ApprovalMode.YOLO, case.kinds, **case.settings)

        def react(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                turn.resolve(event.call_id, Decision.ALLOW)
            if name == "one that hangs" and isinstance(event, ev.TextDelta) and event.text == "Well,":
                asyncio.get_running_loop().call_later(9, lambda: turn.cancel_call("call_1_1_0"))

        told = await play(engine, react=react)
        texts = tool_texts(engine)
        assert case.result.lower() in texts[0].lower(), texts[0]
        if len(case.go) == 1:
            assert texts[1] == "sibling is done"
            tools_of_case.ran = [one for one in tools_of_case.ran if one.arguments.get("n") != "sibling"]
        case.more(engine, tools_of_case, told)
        if not any(kind.opens for kind in case.kinds.values()):
            check_agents(engine, told)
        assert not engine.transcript.open_calls

    run(scene)
