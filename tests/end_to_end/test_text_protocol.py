"""Models that write their calls as text: a local endpoint answers with text, the calls run on real MCP servers."""

from __future__ import annotations

from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode, CallPolicy
from console_app.domain.events import Decision
from console_app.domain.ports import ProtocolMode as Mode
from console_app.domain.settings import EngineSettings, ProviderConfig
from console_app.domain.tools import Outcome
from console_app.engine import ApprovalGate, Engine
from console_app.mcp_client import Hub
from console_app.providers import TextProtocol, open_provider
from console_app.textcalls import FAMILIES, ToolSignature, render_calls
from tests.each import each
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import Reply, WireServer

SUMS = {"355/113": "3.1415929203539825", "sqrt(2)": "1.4142135623730951", "e^pi": "23.140692632779263"}
TOOL = "calculator_evaluate"
SIGNATURE = ToolSignature(
    TOOL, {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
)
DONE = Answer(Text("All three are done."))


class Asked:
    """A call as it is written."""

    def __init__(self, expression: str) -> None:
        self.name = TOOL
        self.arguments = {"expression": expression}


def written(dialect: str, *expressions: str) -> str:
    return render_calls(dialect, [Asked(expression) for expression in expressions], [SIGNATURE])


def engine(server: WireServer, hub: Hub, mode: Mode, dialect: str | None = None, **settings: Any) -> Engine:
    config = ProviderConfig(
        name="lab", api="openai-chat", model="m", base_url=server.base_url("openai-chat"), api_key="k", max_tries=1
    )
    provider = TextProtocol(open_provider(config), mode, dialect=dialect)
    gate = ApprovalGate(ApprovalMode.YOLO)
    return Engine(provider=provider, toolset=hub, settings=EngineSettings(**settings), gate=gate)


async def play(engine: Engine, prompt: str = "Calculate these.") -> list[ev.Event]:
    async with engine.start(prompt) as turn:
        events = [event async for event in turn]
    await engine.provider.close()
    return events


def of(events: list[ev.Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def said(events: list[ev.Event]) -> list[str]:
    return [event.content for event in of(events, ev.MessageAdded) if event.role == "assistant"]


WRITABLE = [row.name for row in FAMILIES.values() if row.name != "roo_xml"]


@each("dialect", WRITABLE)
async def test_all_calls_of_a_text_answer_run_in_parallel(dialect: str, hub: Hub) -> None:
    text = written(dialect, *SUMS)
    with WireServer() as server:
        server.script(Answer(Text(text, size=3)), DONE)
        events = await play(engine(server, hub, "text", dialect))
        second = server.requests[1].body
    finished = of(events, ev.CallFinished)
    assert sorted(event.content for event in finished) == sorted(SUMS.values())
    order = [event.type for event in events if event.type in ("call.announced", "call.finished")]
    assert order == ["call.announced"] * 3 + ["call.finished"] * 3, "all are known before one of them may run"
    assert {event.origin for event in of(events, ev.CallAnnounced)} == {"text"}
    results = [event.content for event in of(events, ev.MessageAdded) if event.role == "tool"]
    assert results == list(SUMS.values()), "results join the history in call order"
    assert said(events)[0].strip() == "", "nothing of the calls is shown"
    assert events[-1].outcome == "completed"  # type: ignore[union-attr]
    assert "tools" not in second, "the tools are in the prompt"
    places = [second["messages"][-1]["content"].index(value) for value in SUMS.values()]
    assert places == sorted(places), "one user turn holds all results in call order"


async def test_at_least_ten_dialects_are_written_and_read() -> None:
    assert len(WRITABLE) >= 10


async def test_prose_around_calls_is_kept_and_no_tag_is_shown(hub: Hub) -> None:
    text = f"I'll work both out.\n{written('hermes_json', '1+1', '2+2')}"
    with WireServer() as server:
        server.script(Answer(Text(text, size=1)), DONE)
        events = await play(engine(server, hub, "text"))
    shown = "".join(event.text for event in of(events, ev.TextDelta) if event.step == 1)
    assert shown.strip() == "I'll work both out."
    assert said(events)[0].strip() == "I'll work both out."


async def test_the_tools_are_described_and_parallel_calls_asked_for(hub: Hub) -> None:
    with WireServer() as server:
        server.script(Answer(Text("Nothing to do.")))
        await play(engine(server, hub, "text"))
        body = server.requests[0].body
    system = body["messages"][0]["content"]
    assert TOOL in system
    assert "several tools in one reply" in system
    assert "tools" not in body
    assert body["stop"]
    assert "</tool_call>" not in body["stop"], "the reply must not end after its first call"


async def test_an_endpoint_without_tools_is_asked_in_text_until_a_new_start(hub: Hub) -> None:
    refusal = Reply.json({"error": {"message": "this model does not support tools", "type": "invalid"}}, 400)
    with WireServer() as server:
        server.script(refusal, Answer(Text(written("hermes_json", *SUMS))), DONE)
        first = engine(server, hub, "auto")
        assert first.provider.protocol == "native"
        events = await play(first)
        assert first.provider.protocol == "text"
        assert len(of(events, ev.CallFinished)) == 3
        assert any("takes no tools" in event.text for event in of(events, ev.Notice))
        assert ["tools" in request.body for request in server.requests] == [True, False, False]
        assert engine(server, hub, "auto").provider.protocol == "native"


async def test_native_calls_leave_quoted_ones_alone(hub: Hub) -> None:
    quoted = f"You could write {written('hermes_json', '6*7')}"
    with WireServer() as server:
        server.script(Answer(Text(quoted), Call(TOOL, '{"expression": "1+1"}')), DONE)
        asked = engine(server, hub, "auto")
        events = await play(asked)
    assert [event.content for event in of(events, ev.CallFinished)] == ["2"]
    assert said(events)[0] == quoted
    assert asked.provider.protocol == "native"


async def test_a_call_that_was_cut_off_is_named_and_its_siblings_run(hub: Hub) -> None:
    text = written("hermes_json", "1+1") + '\n<tool_call>\n{"name": "calculator_evaluate", "arguments": {"expr'
    with WireServer() as server:
        server.script(Answer(Text(text), finish="length"), DONE)
        events = await play(engine(server, hub, "text"))
        sent = server.requests[1].body["messages"][-1]["content"]
    outcomes = {event.outcome for event in of(events, ev.CallFinished)}
    assert outcomes == {Outcome.SUCCEEDED, Outcome.INVALID}
    assert "NOT run" in sent
    assert "Call 1 was read whole" in sent


async def test_xml_keeps_one_tool_a_message_and_says_so(hub: Hub) -> None:
    text = written("roo_xml", "1+1", "2+2")
    with WireServer() as server:
        server.script(Answer(Text(text)), DONE)
        asked = engine(server, hub, "xml")
        assert asked.provider.protocol == "xml"
        events = await play(asked)
        sent = server.requests[1].body["messages"][-1]["content"]
    assert [event.outcome for event in of(events, ev.CallFinished)] == [Outcome.SKIPPED, Outcome.SUCCEEDED] or [
        event.outcome for event in of(events, ev.CallFinished)
    ] == [Outcome.SUCCEEDED, Outcome.SKIPPED]
    assert "one tool a message" in sent


async def outcomes(asked: Engine) -> dict[str, Outcome]:
    """Return the outcome of each call of a turn, whose approvals are given as they are asked for."""
    ends: dict[str, Outcome] = {}
    async with asked.start("Calculate these.") as turn:
        async for event in turn:
            if isinstance(event, ev.ApprovalRequested):
                assert turn.resolve(event.call_id, Decision.ALLOW)
            if isinstance(event, ev.CallFinished):
                ends[event.call_id] = event.outcome
    await asked.provider.close()
    return dict(sorted(ends.items()))


@pytest.mark.parametrize(
    ("dialect", "chosen", "second"),
    [
        ("roo_xml", {}, Outcome.SKIPPED),
        ("roo_xml", {"policy": CallPolicy.PARALLEL, "text_single": False}, Outcome.SUCCEEDED),
        ("qwen3_coder_xml", {}, Outcome.SUCCEEDED),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "text"])
async def test_two_calls_in_xml_without_ids_run_one_a_message_where_their_models_were_told_so(
    mode: Mode, dialect: str, chosen: dict[str, Any], second: Outcome, hub: Hub
) -> None:
    with WireServer() as server:
        server.script(Answer(Text(written(dialect, "1+1", "2+2"))), DONE)
        ends = await outcomes(engine(server, hub, mode, dialect if mode == "text" else None, **chosen))
        sent = str(server.requests[1].body["messages"][-1]["content"])
    assert list(ends.values()) == [Outcome.SUCCEEDED, second]
    assert ("one tool a message" in sent) == (second is Outcome.SKIPPED)


async def test_calls_with_ids_of_their_provider_run_side_by_side_whatever_the_model_wrote_before(hub: Hub) -> None:
    with WireServer() as server:
        native = Answer(Call(TOOL, '{"expression": "1+1"}'), Call(TOOL, '{"expression": "2+2"}'))
        server.script(Answer(Text(written("roo_xml", "6*7"))), native, DONE)
        ends = await outcomes(engine(server, hub, "auto"))
    assert list(ends.values()) == [Outcome.SUCCEEDED] * 3


async def test_xml_runs_all_when_a_policy_says_so(hub: Hub) -> None:
    with WireServer() as server:
        server.script(Answer(Text(written("roo_xml", "1+1", "2+2"))), DONE)
        events = await play(engine(server, hub, "xml", policy=CallPolicy.PARALLEL, text_single=False))
    assert [event.outcome for event in of(events, ev.CallFinished)] == [Outcome.SUCCEEDED] * 2


@pytest.mark.parametrize("dialect", ["hermes_json", "qwen3_coder_xml", "mistral_json", "pythonic_list", "kimi_k2"])
async def test_the_history_is_written_again_in_the_models_own_dialect(dialect: str, hub: Hub) -> None:
    text = written(dialect, "6*7", "1+1")
    with WireServer() as server:
        server.script(Answer(Text(text)), DONE, Answer(Text("Yes.")))
        asked = engine(server, hub, "text", dialect)
        async with asked.start("one") as turn:
            async for _ in turn:
                pass
        await play(asked, "two")
        messages = server.requests[2].body["messages"]
    roles = [message["role"] for message in messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[2]["content"].strip() == text.strip()
    assert "42" in messages[3]["content"]


async def test_data_that_looks_like_a_call_of_no_tool_leaves_native_tools_on(hub: Hub) -> None:
    with WireServer() as server:
        server.script(Answer(Text('{"name": "Alice", "input": {"age": 30}}')), DONE)
        asked = engine(server, hub, "auto")
        events = await play(asked)
    assert asked.provider.protocol == "native"
    assert not of(events, ev.CallFinished)
    assert said(events) == ['{"name": "Alice", "input": {"age": 30}}']
