"""Agents as calls: each a conversation of its own in the one stream, with one result at every depth."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from console_app.domain import ApprovalMode, Decision, ToolSpec
from console_app.domain import events as ev
from console_app.domain.agents import AgentKind, Kinds
from console_app.domain.chunks import Chunk, FinishChunk, TextChunk, UsageChunk
from console_app.domain.errors import ToolError
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.ports import AgentHost, AgentOffer, ModelRequest, Provider
from console_app.domain.settings import EngineSettings
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript
from console_app.engine import ApprovalGate, Engine, Rule, Turn
from console_app.engine.context import normalise
from console_app.sessions import Replay
from console_app.sessions.repair import closing_events
from tests.each import each
from tests.engine.peers import Line, Model, Tools, calls, ending, only, outcomes, play, spec, tool_texts
from tests.engine.strict_history import check_events, check_messages
from tests.engine.virtual_time import at_rest, run

AGENT = "fanout_agent"


class Models(Model):
    """Plays the answers of each conversation by the prompt that began it; “done” where there are none left."""

    def __init__(self, **answers: Sequence[Sequence[Line]]) -> None:
        super().__init__()
        self.by_prompt = {prompt.replace("_", " "): list(told) for prompt, told in answers.items()}
        self.asked: dict[str, list[ModelRequest]] = {}
        self.begun: dict[str, float] = {}  # when the first answer to each prompt was asked for

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[Chunk]]:
        prompt = request.messages[0].content
        asked = self.asked.setdefault(prompt, [])
        self.begun.setdefault(prompt, asyncio.get_running_loop().time())
        asked.append(request)
        told = self.by_prompt.get(prompt, [])
        lines = told[len(asked) - 1] if len(asked) <= len(told) else [TextChunk(f"done {prompt}"), FinishChunk("stop")]
        yield self._play(lines)


def sends(*tasks: str | Mapping[str, Any]) -> list[Chunk]:
    return calls(*({"task": one} if isinstance(one, str) else one for one in tasks), name=AGENT)


def says(text: str, **usage: int) -> list[Line]:
    used = [UsageChunk(usage["tokens"], 0)] if usage else []
    return [TextChunk(text), *used, FinishChunk("stop")]


def agents_of(
    model: Model,
    tools: Tools | None = None,
    mode: ApprovalMode = ApprovalMode.YOLO,
    kinds: Kinds | None = None,
    rules: Sequence[Rule] = (),
    **settings: Any,
) -> Engine:
    loop = asyncio.get_running_loop()
    return Engine(
        provider=model,
        toolset=tools or Tools([spec(), spec("write", read_only=False)]),
        settings=EngineSettings(**{"ask_agents": 100, **settings}),
        gate=ApprovalGate(mode, list(rules)),
        session_id="s",
        clock=loop.time,
        monotonic=loop.time,
        agents=lambda: kinds or {},
    )


def check_agents(engine: Engine, events: Sequence[ev.Event]) -> None:
    """The stream is whole, and each agent's history is one that goes on the wire."""
    check_events(events)
    told = Transcript.of([ev.EVENT.validate_json(ev.EVENT.dump_json(event)) for event in events])
    assert told.history == engine.history
    assert told.agents.keys() == engine.transcript.agents.keys()
    for path, agent in told.agents.items():
        assert agent.history == engine.transcript.agents[path].history
        assert not agent.open_calls
        check_messages(agent.history)
    assert not told.open_calls


def test_agents_of_one_answer_run_in_parallel_and_only_their_answers_join() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Models(
            go=[sends("a", "b", "c")], a=[calls({"n": "a1", "seconds": 2}), says("found a")],
            b=[calls({"n": "b1", "seconds": 2}), says("found b")],
        )  # fmt: skip
        engine = agents_of(model, tools)
        loop = asyncio.get_running_loop()
        began = loop.time()
        events = await play(engine)
        assert loop.time() - began < 3, "side by side"
        assert tools.most_running == 2
        assert tool_texts(engine) == ["found a", "found b", "done c"]
        assert [message.role for message in engine.history] == [
            "user",
            "assistant",
            "tool",
            "tool",
            "tool",
            "assistant",
        ]
        check_agents(engine, events)
        announced = [event for event in only(events, ev.CallAnnounced) if event.agent]
        assert {(event.agent, event.parent) for event in announced} == {
            ("general", "call_1_1_0"), ("general-2", "call_1_1_1"),
        }  # fmt: skip
        below = [(call.id, call.parent) for call in engine.transcript.turns[0].steps[0].batch.calls]
        assert [parent for _, parent in below] == ["", "call_1_1_0", "", "call_1_1_1", ""]

    run(scene)


def test_an_agent_thinks_as_much_as_its_kind_says() -> None:
    async def scene() -> None:
        model = Models(go=[sends({"task": "a", "kind": "deep"})])
        await play(agents_of(model, kinds={"deep": AgentKind("deep", effort="high")}, effort="low"))
        assert [model.asked[one][0].sampling.effort for one in ("go", "a")] == ["low", "high"]

    run(scene)


def test_no_agent_goes_to_the_background_because_it_takes_long() -> None:
    async def scene() -> None:
        steps = [calls({"n": n, "seconds": 3}) for n in ("1", "2")]
        engine = agents_of(Models(go=[sends("a")], a=[*steps, says("found a")]), background_after=5)
        assert not only(await play(engine), ev.CallDetached)
        assert tool_texts(engine) == ["found a"]

    run(scene)


def test_the_words_of_an_agent_stand_where_it_said_them_live_and_replayed() -> None:
    async def scene() -> None:
        look = [TextChunk("I look. "), *calls({"n": "a1"})]
        engine = agents_of(Models(go=[sends("a")], a=[look, says("found a")]))
        events = await play(engine)
        stored = [event for event in events if not isinstance(event, ev.TextDelta)]
        replayed = Transcript()
        async for event in Replay(stored, speed=10_000).play():
            replayed.apply(event)
            if isinstance(event, ev.CallAnnounced) and event.agent:
                assert str(replayed.agents["general"].step.visible) == "I look. ", "before its call"  # pyright: ignore
        for told in (engine.transcript, Transcript.of(events), Transcript.of(stored), replayed):
            parts = [part for step in told.agents["general"].turns[0].steps for part in step.parts]
            assert [(part.text.strip(), len(part.calls)) for part in parts] == [("I look.", 1), ("found a", 0)]

    run(scene)


def test_all_that_an_agent_in_the_background_ran_when_the_console_ended_was_interrupted() -> None:
    async def scene() -> None:
        tree = {"a": [sends("b")], "b": [calls({"n": "slow", "do": "hang"})]}
        engine = agents_of(Models(go=[sends({"task": "a", "background": True})], **tree))
        events = list(await play(engine))
        while not any(event.agent == "general/general" for event in only(events, ev.CallStarted)):
            events += await engine.background.next_slice(100)
        said = engine.transcript.what_is_cut()
        assert said == "1 call was cut off: /retry runs it again. Agents that were cut off: general."
        engine.background.cancel()
        while slice := await engine.background.next_slice(100):
            events += slice
        assert {one.outcome for one in Transcript.of(events).calls.values()} == {Outcome.INTERRUPTED}
        check_agents(engine, events)

    run(scene)


def test_at_most_so_many_run_at_once() -> None:
    async def scene() -> None:
        tools = Tools()
        tasks = [f"t{n}" for n in range(6)]
        model = Models(go=[sends(*tasks)], **{task: [calls({"n": task, "seconds": 1})] for task in tasks})
        events = await play(agents_of(model, tools, max_agents=2))
        assert tools.most_running == 2
        assert {event.why for event in only(events, ev.CallQueued)} == {"2 agents run already, the most at once"}

    run(scene)


def test_one_pool_of_places_for_all_depths_and_who_waits_for_its_agents_holds_none() -> None:
    async def scene() -> None:
        tools = Tools()
        tasks = [f"t{n}" for n in range(4)]
        answers: dict[str, Sequence[Sequence[Line]]] = {"go": [sends(*tasks)]}
        for task in tasks:
            below = [f"{task}x{n}" for n in range(3)]
            answers[task] = [sends(*below), calls({"n": f"{task}-end", "seconds": 1})]
            answers |= {one: [calls({"n": one, "seconds": 2})] for one in below}
        engine = agents_of(Models(**answers), tools, max_agents=2)
        events = await play(engine)
        assert tools.most_running == 2
        assert outcomes(engine) == ["succeeded"] * 4
        assert len(tools.ran) == 16
        check_agents(engine, events)

    run(scene)


def test_one_is_stopped_and_gives_back_what_it_had_while_its_sibling_goes_on() -> None:
    async def scene() -> None:
        model = Models(
            go=[sends("a", "b")],
            a=[[TextChunk("First look."), *calls({"n": "one"})], calls({"n": "two", "do": "hang"})],
            b=[calls({"n": "b", "seconds": 5}), says("found b")],
        )

        def stop(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and event.agent == "general" and event.call_id.endswith("2_0"):
                assert turn.cancel_call("call_1_1_0")

        engine = agents_of(model)
        events = await play(engine, react=stop)
        assert outcomes(engine) == ["cancelled", "succeeded"]
        had, other = tool_texts(engine)
        assert "2 calls" in had
        assert "First look." in had
        assert "sent nothing" not in had
        assert "do one · ok" in had
        assert "do two · " in had
        assert other == "found b"
        check_agents(engine, events)

    run(scene)


@each(("why", "ended"), [("", Outcome.CANCELLED), (ev.CONSOLE_ENDED, Outcome.INTERRUPTED)])
def test_all_is_stopped_at_once_with_a_result_at_every_depth(why: str, ended: Outcome) -> None:
    async def scene() -> None:
        model = Models(go=[sends("a")], a=[sends({"task": "deep", "name": "deep"})], deep=[calls({"do": "hang"})])

        def stop(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and event.agent == "general/deep":
                turn.cancel(why)

        engine = agents_of(model)
        events = await play(engine, react=stop)
        assert ending(events).outcome == "cancelled"
        assert {event.agent for event in only(events, ev.TurnFinished)} == {"general/deep", "general", ""}
        assert [event.outcome for event in only(events, ev.CallFinished)] == [ended] * 3
        check_agents(engine, events)

    run(scene)


def test_the_third_depth_has_no_agents() -> None:
    async def scene() -> None:
        model = Models(go=[sends("a")], a=[sends("b")], b=[sends("c")])
        engine = agents_of(model)
        events = await play(engine)
        assert [any(spec.name == AGENT for spec in model.asked[one][0].tools) for one in ("go", "a", "b")] == [
            True, True, False,
        ]  # fmt: skip
        assert "c" not in model.asked
        check_agents(engine, events)

    run(scene)


def test_each_approval_is_its_own_and_holds_no_sibling_up() -> None:
    async def scene() -> None:
        model = Models(
            go=[sends("a", "b")],
            a=[calls({"n": "write a"}, name="demo_write"), says("wrote a")],
            b=[calls({"n": "read b"}), says("read b")],
        )
        engine = agents_of(model, mode=ApprovalMode.AUTO)
        waits: list[str] = []

        def decide(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                waits.append(event.call_id)
                assert [call.id for call in engine.transcript.open_calls.values() if call.waits_for_you] == waits
                assert engine.transcript.calls[event.call_id].agent == "general"
            if isinstance(event, ev.CallFinished) and event.call_id == "call_1_1_1":
                assert turn.resolve(waits[0], Decision.ALLOW)

        events = await play(engine, react=decide)
        assert tool_texts(engine) == ["wrote a", "read b"]
        check_agents(engine, events)

    run(scene)


def test_explore_changes_nothing_whatever_a_rule_says() -> None:
    async def scene() -> None:
        tools = Tools([spec(), spec("write", read_only=False)])
        model = Models(
            go=[sends({"task": "a", "kind": "explore"})],
            a=[calls({"n": "w"}, name="demo_write"), sends({"task": "b", "kind": "general"}), says("no luck")],
            b=[calls({"n": "w2"}, name="demo_write")],
        )
        rules = [Rule("allow", "demo.write", "test")]
        engine = agents_of(model, tools, rules=rules)
        events = await play(engine)
        assert [one.spec.tool for one in tools.ran] == []
        told = [event.content for event in only(events, ev.CallFinished) if event.outcome is Outcome.DENIED]
        assert len(told) == 2
        assert all("this agent can change nothing" in content for content in told)
        check_agents(engine, events)

    run(scene)


@each(
    ("call", "says_so"),
    [
        ({"task": "a", "kind": "nobody"}, "there is no kind “nobody”; there are explore, general, review"),
        ({"task": "a", "tools": ["nothing.such"]}, "no tool is called nothing.such"),
        ({"task": "a", "model": "other/model"}, "no other model than the one that answers can be had here"),
        ({"task": ""}, "“task”"),
    ],
)
def test_bad_input_is_a_result_that_says_what_is_wrong(call: dict[str, Any], says_so: str) -> None:
    async def scene() -> None:
        engine = agents_of(Models(go=[sends(call, "b")]))
        events = await play(engine)
        assert says_so in tool_texts(engine)[0]
        assert tool_texts(engine)[1] == "done b"
        check_agents(engine, events)

    run(scene)


def test_many_ask_first_and_say_how_many() -> None:
    async def scene() -> None:
        tasks = [f"t{n}" for n in range(12)]
        engine = agents_of(Models(go=[sends(*tasks)]), ask_agents=4)
        asked: list[str] = []

        def decide(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                asked.append(event.why)
                turn.resolve(event.call_id, Decision.ALLOW if len(asked) <= 2 else Decision.DENY)

        events = await play(engine, react=decide)
        assert set(asked) == {"12 agents, scripted, about 40,000 tokens each"}
        assert outcomes(engine) == ["succeeded"] * 2 + ["denied"] * 10
        check_agents(engine, events)

    run(scene)


@each(
    ("most", "asks"),
    [(None, ""), (2.0, ""), (0.5, "2 agents, scripted, about 40,000 tokens each, about $0.80 together")],
)
def test_dear_agents_ask_first_and_say_what_they_may_cost(most: float | None, asks: str) -> None:
    async def scene() -> None:
        go = [TextChunk("Two."), UsageChunk(900, 100, cost=0.01), *sends("a", "b")]
        engine = agents_of(Models(go=[go]), ask_agents=4, ask_agent_cost=most)
        asked: list[str] = []

        def decide(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                asked.append(event.why)
                turn.resolve(event.call_id, Decision.ALLOW)

        events = await play(engine, react=decide)
        assert set(asked) == ({asks} if asks else set())
        check_agents(engine, events)

    run(scene)


def test_the_pool_refuses_the_next_answer_and_the_parent_is_told() -> None:
    async def scene() -> None:
        model = Models(
            go=[sends("a", "b")],
            a=[calls({"n": "a1", "seconds": 1}), says("late a")],
            b=[[*calls({"n": "b1", "seconds": 3})], [*calls({"n": "b2"})], says("late b")],
        )
        engine = agents_of(model, agent_steps=4)
        events = await play(engine)
        assert tool_texts(engine)[0] == "late a"
        assert tool_texts(engine)[1].startswith(
            "Tool execution failed: Step limit: the agents of this turn have given 4"
        )
        assert "2 calls" in tool_texts(engine)[1]
        check_agents(engine, events)

    run(scene)


def test_an_agent_in_the_background_of_an_earlier_turn_leaves_the_pool_of_this_one_as_it_is() -> None:
    async def scene() -> None:
        many = {name: [calls({"n": f"{name}{n}", "seconds": 1}) for n in range(12)] for name in ("a", "b")}
        model = Models(go=[sends({"task": "a", "background": True}), says("sent"), sends("b")], **many)
        engine = agents_of(model, agent_steps=6)
        await play(engine)
        await play(engine, "more")
        assert "have given 6 answers together" in tool_texts(engine)[1]
        assert len(model.asked["b"]) == 6
        engine.background.cancel()
        while await engine.background.next_slice(100):
            pass

    run(scene)


def test_what_agents_spend_counts_for_the_turn_that_sent_them() -> None:
    async def scene() -> None:
        model = Models(
            go=[sends("a")],
            a=[[*calls({"n": "a1"})[:-1], UsageChunk(900, 200), FinishChunk("tool_calls")], says("too late")],
        )
        engine = agents_of(model, max_turn_tokens=1000)
        events = await play(engine)
        assert "Token limit" in tool_texts(engine)[0]
        assert engine.transcript.usage.input_tokens == 900
        assert engine.transcript.usage.context == 0, "it was no request of the conversation itself"
        assert engine.transcript.agents["general"].usage.input_tokens == 900
        check_agents(engine, events)

    run(scene)


def test_three_equal_failures_end_an_agent_with_the_reason() -> None:
    async def scene() -> None:
        model = Models(go=[sends("a")], a=[calls({"n": "x", "do": "fail"})] * 9)
        engine = agents_of(model)
        events = await play(engine)
        assert "failed 3 times alike: no such order" in tool_texts(engine)[0]
        assert len(model.asked["a"]) == 3
        check_agents(engine, events)

    run(scene)


def test_what_you_say_to_a_running_agent_goes_with_its_next_step() -> None:
    async def scene() -> None:
        model = Models(go=[sends("a")], a=[calls({"n": "x", "seconds": 1}), says("as you said")])
        engine = agents_of(model)

        def steer(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and event.agent:
                assert engine.agents is not None
                assert engine.agents.steer("call_1_1_0", "look at b too")

        events = await play(engine, react=steer)
        said = [event for event in only(events, ev.MessageAdded) if event.role == "user" and event.agent]
        assert [event.content for event in said] == ["a", "look at b too"]
        assert [message.content for message in model.asked["a"][1].messages][-1] == "look at b too"
        check_agents(engine, events)

    run(scene)


def test_an_agent_in_the_background_outlives_its_turn() -> None:
    async def scene() -> None:
        tools = Tools()
        model = Models(go=[sends("a")], a=[calls({"n": "slow", "do": "wait"}), says("found a")])
        engine = agents_of(model, tools)

        def detach(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.CallStarted) and event.agent:
                assert turn.detach_call("call_1_1_0")

        events = await play(engine, react=detach)
        assert ending(events).outcome == "completed"
        tools.event("slow").set()
        late: list[ev.Event] = []
        while more := await engine.background.next_slice(16):
            late += more
        assert [event.seq for event in [*events, *late]] == list(range(1, len(events) + len(late) + 1))
        assert "found a" in engine.history[-1].content
        told = Transcript.of([*events, *late])
        assert told.agents["general"].history == engine.transcript.agents["general"].history
        assert told.calls["call_1_1_0"].outcome is Outcome.SUCCEEDED
        check_history_of(engine)

    run(scene)


def check_history_of(engine: Engine) -> None:
    for transcript in (engine.transcript, *engine.transcript.agents.values()):
        check_messages(transcript.history)


def test_agents_with_one_beginning_wait_for_the_first_answer_of_the_first_and_begin_one_after_another() -> None:
    async def scene() -> None:
        begun = asyncio.Event()
        model = Models(go=[sends("a", "b", "c")], a=[[begun, *says("a")]])
        loop = asyncio.get_running_loop()
        loop.call_later(2, begun.set)
        engine = agents_of(model)
        asked: list[str] = []
        loop.call_later(1.9, lambda: asked.extend(model.asked))
        await play(engine)
        assert asked == ["go", "a"]
        assert tool_texts(engine) == ["a", "done b", "done c"]
        first, *others = (at - model.begun["a"] for prompt, at in model.begun.items() if prompt != "go")
        assert first == 0
        assert all(0 < later - earlier < 0.1 for earlier, later in pairwise((2.0, *others))), others

    run(scene)


class Elsewhere(Provider):
    """An agent of others that makes a call of its own, asks for it, uses a tool of ours, and says what came of it."""

    name = "elsewhere"
    model = "theirs"
    protocol = "theirs"

    def __init__(self, do: str = "") -> None:
        self.do = do
        self.closed = False
        self.earlier = list[str]()

    @property
    def agent(self) -> Elsewhere:
        return self

    def stream(self, request: ModelRequest) -> Any:
        raise ToolError("it takes prompts alone")

    async def converse(self, prompt: str, earlier: str, host: AgentHost) -> None:
        self.earlier.append(earlier)
        own = ToolSpec(name="theirs_edit", server="theirs", tool="edit")
        call_id = host.new_call_id("t1")
        host.tell(ev.CallAnnounced(call_id=call_id, index=0, name=own.name, server="theirs", tool="edit"))
        host.tell(ev.CallReady(call_id=call_id, arguments={"path": "a.py"}))
        permit = await host.permitted(call_id, own, {"path": "a.py"}, "theirs asks")
        if self.do == "hang":
            await asyncio.Event().wait()
        if self.do == "die":
            raise ToolError("it died")
        outcome = Outcome.SUCCEEDED if permit.allowed else Outcome.DENIED
        host.tell(ev.CallFinished(call_id=call_id, outcome=outcome, content="edited"))
        made = await host.make("demo.do", {"n": "ours"})
        host.tell(ev.TextDelta(text="all done"))
        words = f"{permit.allowed} and {made.content} for {prompt}"
        host.tell(ev.MessageAdded.of(AssistantMessage(content=words)))

    @property
    def offers(self) -> Sequence[AgentOffer]:
        return ()

    async def choose(self, name: str, wanted: str) -> AgentOffer:
        raise ToolError("there is nothing to choose")

    async def close(self) -> None:
        self.closed = True


@each("do", ["", "hang", "die"])
@each("background", [False, True])
def test_an_agent_of_others_is_an_agent_like_any(do: str, background: bool) -> None:
    async def scene() -> None:
        made: list[Elsewhere] = []

        def opens(model: str) -> Elsewhere:
            made.append(Elsewhere(do))
            return made[-1]

        kinds = {"other": AgentKind("other", "theirs", opens=opens, background=background)}
        engine = agents_of(Models(go=[sends({"task": "a", "kind": "other"})]), mode=ApprovalMode.AUTO, kinds=kinds)
        loop, agents = asyncio.get_running_loop(), engine.agents
        assert agents is not None

        def decide(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                assert event.agent == "other"
                assert event.why == "theirs asks"
                found = engine.asked_about(event.call_id)
                assert found is not None
                assert found.label == "theirs.edit"
                loop.call_later(1, lambda: (agents.any_turn or turn).resolve(event.call_id, Decision.ALLOW))
            if isinstance(event, ev.ApprovalResolved) and do == "hang":
                loop.call_later(1, lambda: turn.cancel_call("call_1_1_0"))

        events = await play(engine, react=decide)
        assert ending(events).outcome == "completed"
        if background:
            turn = Turn(engine.session, UserMessage(content=""), 9)
            while more := await engine.background.next_slice(16):
                for event in more:
                    decide(turn, event)
                    events.append(event)
                if do == "hang" and any(isinstance(event, ev.ApprovalResolved) for event in more):
                    engine.background.cancel_call("call_1_1_0")
        said = engine.history[-1].content if background else tool_texts(engine)[0]
        assert {"": "True and result of ours for a", "hang": "ancelled", "die": "it died"}[do] in said
        finished = {event.call_id: event.outcome for event in only(events, ev.CallFinished) if event.agent}
        assert finished["t1"] is (Outcome.INTERRUPTED if do else Outcome.SUCCEEDED)
        assert not engine.transcript.open_calls
        await at_rest()  # what was stopped is closed behind its end
        assert [one.closed for one in made] == [True]

    run(scene)


def test_words_for_a_denied_call_are_its_next_prompt() -> None:
    async def scene() -> None:
        engine = agents_of(Models(), mode=ApprovalMode.AUTO)
        engine.provider = agent = Elsewhere()

        def decide(turn: Turn, event: ev.Event) -> None:
            if isinstance(event, ev.ApprovalRequested):
                first = event.step == 1
                turn.resolve(
                    event.call_id, Decision.DENY if first else Decision.ALLOW, feedback="use b.py" if first else None
                )

        await play(engine, react=decide)
        said = [message.content for message in engine.history if message.role == "assistant"]
        assert said[0] == "False and result of ours for go"
        assert said[1] == "True and result of ours for About theirs.edit, which I denied: use b.py"
        assert agent.earlier[0] == ""

    run(scene)


def test_wherever_the_program_dies_each_call_of_each_agent_gets_one_result() -> None:
    async def scene() -> list[ev.Event]:
        model = Models(
            go=[sends("a", "b")],
            a=[[TextChunk("First."), *calls({"n": "a1", "seconds": 1}, {"n": "a2", "seconds": 2})], says("found a")],
            b=[sends({"task": "deep", "name": "deep"}), says("found b")],
            deep=[calls({"n": "d", "seconds": 1}), says("found deep")],
        )
        return await play(agents_of(model))

    events: list[ev.Event] = []

    async def played() -> None:
        events.extend(await scene())

    run(played)
    for end in range(1, len(events)):
        closing = closing_events(events[:end])
        assert closing, end
        told = Transcript.of([*events[:end], *closing])
        assert not told.open_calls, end
        results = Counter(event.call_id for event in (*events[:end], *closing) if isinstance(event, ev.CallFinished))
        assert set(results.values()) <= {1}
        assert results.keys() == told.calls.keys()
        for one in (told, *told.agents.values()):
            assert one.turn is None or one.turn.outcome is not None
            check_messages(normalise([*one.history, UserMessage(content="go on")]))
            assert [message.role for message in one.history].count("tool") == sum(
                len(message.tool_calls) for message in one.history if message.role == "assistant"
            ), end
        assert closing_events([*events[:end], *closing]) == []
    end = next(n for n, one in enumerate(events) if isinstance(one, ev.CallFinished) and one.call_id == "call_1_1_1")
    said = " ".join(one.text for one in closing_events(events[: end + 1]) if isinstance(one, ev.Notice))
    agents = "Agents that were cut off: general. Agents that had finished: general-2."
    assert said == f"1 call was cut off: /retry runs it again. {agents}"


def test_an_agent_that_was_cut_goes_on_with_its_own_conversation() -> None:
    async def scene() -> None:
        model = Models(go=[sends("a")], a=[calls({"n": "a1", "seconds": 1}), says("found a")])
        events = await play(agents_of(model))
        cut = next(n for n, event in enumerate(events) if isinstance(event, ev.CallFinished) and event.agent) + 1
        kept = [*events[: cut - 1]]
        told = Transcript.of([*kept, *closing_events(kept)])
        assert told.calls["call_1_1_0"].was_cut_off
        again = Models(a=[says("no"), says("found it after all")])
        engine = agents_of(again)
        engine.go_on("s", told)
        more: list[ev.Event] = []
        async with engine.rerun("call_1_1_0") as rerun:
            async for event in rerun:
                more.append(event)
                if isinstance(event, ev.ApprovalRequested):
                    rerun.resolve(event.call_id, Decision.ALLOW)
        [request] = again.asked["a"]
        assert [message.role for message in request.messages] == ["user", "assistant", "tool", "user"]
        assert told.agents.keys() == {"general"}
        assert told.calls["call_1_1_0"].outcome is Outcome.SUCCEEDED
        assert told.calls["call_1_1_0"].content == "no"

    run(scene)
