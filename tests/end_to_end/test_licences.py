"""The licence to run calls that a model writes as text: asked once, kept, told, dropped; the real engine and wire."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from console_app.config.models import KnownDialects
from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import DecidedBy, Decision
from console_app.domain.ports import Licence, protocol_label
from console_app.domain.tools import Outcome
from console_app.engine import ApprovalGate, Engine, Rule
from console_app.mcp_client import Hub
from console_app.textcalls import render_calls
from console_app.textcalls.dialects.table import DIALECTS
from tests.each import each
from tests.end_to_end.test_when_text_is_a_call import MARKED, REFUSAL, SIGNATURE, TOOL, of, provider_of
from tests.wire_bytes import Answer, Call, Text
from tests.wire_server import WireServer

DONE = Answer(Text("Done."))
HERMES, CODER = "hermes_json", "qwen3_coder_xml"
NOT_KNOWN = ": does m write so?"
BEFORE = "other text stands before it on its line"


@dataclass
class Asked:
    """A call as it is written."""

    expression: str
    name: str = TOOL
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.arguments = {"expression": self.expression}


def written(form: str, *expressions: str) -> str:
    return render_calls(form, [Asked(one) for one in expressions or ("6*7",)], [SIGNATURE])


def engine_of(server: WireServer, hub: Hub, *, headless: bool = False, **more: Any) -> Engine:
    """In the mode that runs everything, with a rule that allows it too: what asks asks for the licence."""
    gate = ApprovalGate(ApprovalMode.YOLO, [Rule("allow", "*")], headless=headless)
    return Engine(provider=provider_of(server, **more), toolset=hub, gate=gate)


async def play(engine: Engine, decision: Decision | None = None, *, licensed: bool = False) -> list[ev.Event]:
    """Play one turn; waiting calls are decided so, None when nothing may wait."""
    events: list[ev.Event] = []
    async with engine.start("Calculate.") as turn:
        async for event in turn:
            events.append(event)
            if isinstance(event, ev.ApprovalRequested) and not engine.gate.headless and turn.always_asks(event.call_id):
                assert decision is not None, event.why
                assert turn.reconsider() == 0, "no rule and no mode answers in a person's place"
                turn.resolve(event.call_id, decision, licensed=licensed)
    return events


def why(events: list[ev.Event]) -> list[str]:
    """The reasons, without the lines at which the calls stand."""
    return [re.sub(r" on line \d+", "", event.why) for event in of(events, ev.ApprovalRequested)]


def results(events: list[ev.Event]) -> list[str]:
    return [event.content for event in of(events, ev.CallFinished)]


@each("form", [row.name for row in DIALECTS])
@each("refused", [False, True])
async def test_the_first_call_of_an_unknown_form_asks_with_it_and_a_yes_to_the_form_is_the_last(
    form: str, refused: bool, hub: Hub, tmp_path: Path
) -> None:
    if refused and form == HERMES:
        return  # which is what the model is asked to write then
    known = KnownDialects(tmp_path / f"{form}-{refused}.json")
    with WireServer() as server:
        server.script(*[REFUSAL] * refused, *[Answer(Text(written(form), size=5)), DONE] * 2)
        engine = engine_of(server, hub, known=known)
        first = await play(engine, Decision.ALLOW, licensed=True)
        second = await play(engine)
        await engine.provider.close()
        later = engine_of(server, hub, known=known)
    assert why(first) == [f"written as {form}{NOT_KNOWN}"]
    assert of(first, ev.ApprovalRequested)[0].form == form
    assert [event.licensed for event in of(first, ev.ApprovalResolved)] == [form]
    assert results(first) == results(second) == ["42"]
    assert engine.provider.licence == later.provider.licence == Licence(form, "as you said")


@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.DENY])
async def test_an_answer_for_once_leaves_the_form_unknown(decision: Decision, hub: Hub) -> None:
    with WireServer() as server:
        server.script(*[Answer(Text(MARKED)), DONE] * 2)
        engine = engine_of(server, hub)
        both = [await play(engine, decision), await play(engine, decision)]
        heard = str(server.requests[1].body["messages"])
        await engine.provider.close()
    assert [len(why(events)) for events in both] == [1, 1]
    assert engine.provider.licence is None
    assert ("It is a quotation" in heard) == (decision is Decision.DENY)


async def test_a_call_that_is_a_quotation_is_text_of_the_answer_again(hub: Hub) -> None:
    said = f"The page says:\n\n{MARKED}"
    with WireServer() as server:
        server.script(Answer(Text(f"The page says:\n\n{MARKED}")), DONE)
        engine = engine_of(server, hub)
        events = await play(engine, Decision.DENY)
        sent = server.requests[1].body["messages"]
        await engine.provider.close()
    (answer, _) = [event for event in of(events, ev.MessageAdded) if event.role == "assistant"]
    assert answer.content == said
    assert of(events, ev.TextRevised)[-1].text == said
    assert any(message.get("content") == said for message in sent)


async def test_one_yes_lets_the_other_calls_of_the_answer_go_on(hub: Hub) -> None:
    with WireServer() as server:
        server.script(Answer(Text(written(CODER, "1+1", "2+2", "3+3"))), DONE)
        engine = engine_of(server, hub)
        events: list[ev.Event] = []
        async with engine.start("Calculate.") as turn:
            async for event in turn:
                events.append(event)
                if isinstance(event, ev.ApprovalRequested) and event.form and len(why(events)) == 3:
                    turn.resolve(event.call_id, Decision.ALLOW, licensed=True)
        await engine.provider.close()
    assert sorted(results(events)) == ["2", "4", "6"]
    assert sorted(event.by for event in of(events, ev.ApprovalResolved)) == [
        DecidedBy.RULE, DecidedBy.RULE, DecidedBy.USER,
    ]  # fmt: skip


async def test_what_may_be_quoted_asks_beside_the_form_and_after_it(hub: Hub) -> None:
    text = f"As in {MARKED}\nThat is it."
    with WireServer() as server:
        server.script(*[Answer(Text(text)), DONE] * 2)
        engine = engine_of(server, hub)
        first = await play(engine, Decision.ALLOW, licensed=True)
        second = await play(engine, Decision.DENY)
        await engine.provider.close()
    assert why(first) == [f"written as {HERMES}{NOT_KNOWN}; maybe quoted: {BEFORE}"]
    assert why(second) == [f"maybe quoted: {BEFORE}"]
    assert not of(second, ev.ApprovalRequested)[0].form


KNOWN = {
    "configured": ({"dialect": CODER}, "from the configuration"),
    "configured for text": ({"dialect": CODER, "mode": "text"}, "from the configuration"),
}


@pytest.mark.parametrize(("more", "source"), KNOWN.values(), ids=KNOWN.keys())
async def test_a_form_that_is_known_runs_and_any_other_asks(more: dict[str, Any], source: str, hub: Hub) -> None:
    with WireServer() as server:
        server.script(Answer(Text(written(CODER))), DONE, Answer(Text(MARKED)), DONE)
        engine = engine_of(server, hub, **more)
        first, other = await play(engine), await play(engine, Decision.DENY)
        await engine.provider.close()
    assert (results(first), why(first)) == (["42"], [])
    assert why(other) == [f"written as {HERMES}{NOT_KNOWN}"]
    assert engine.provider.licence == Licence(CODER, source)


async def test_the_first_native_call_and_another_protocol_drop_what_you_said(hub: Hub, tmp_path: Path) -> None:
    known = KnownDialects(tmp_path / "dialects.json")
    key = "lab/m at "
    with WireServer() as server:
        server.script(Answer(Call(TOOL, '{"expression": "1+1"}')), DONE)
        known.keep(key, HERMES)
        engine = engine_of(server, hub, known=known)
        assert protocol_label(engine.provider) == f"native, writes {HERMES}"
        await play(engine)
        assert (protocol_label(engine.provider), known.get(key)) == ("native", None)
        await engine.provider.close()
        known.keep(key, HERMES)
        later: Any = provider_of(server, known=known)
        assert protocol_label(provider_of(server, known=known, official=True)) == "native"
        assert protocol_label(provider_of(server, known=known, mode="native")) == "native"
        later.choose_protocol("auto")
        assert (protocol_label(later), known.get(key)) == ("native", None)


NOBODY: dict[str, tuple[Answer, list[str], bool]] = {
    "the same call natively": (Answer(Call(TOOL, '{"expression": "6*7"}')), ["42"], False),
    "another call natively": (Answer(Call(TOOL, '{"expression": "1+1"}')), ["2"], True),
    "words alone": (DONE, [], True),
}


@pytest.mark.parametrize(("then", "ran", "missed"), NOBODY.values(), ids=NOBODY.keys())
async def test_where_nobody_is_there_the_model_hears_how_to_call_and_the_turn_goes_on(
    then: Answer, ran: list[str], missed: bool, hub: Hub
) -> None:
    with WireServer() as server:
        server.script(Answer(Text(MARKED)), then, DONE)
        engine = engine_of(server, hub, headless=True)
        async with engine.start("Calculate.") as turn:
            events = [event async for event in turn]
        heard = str(server.requests[1].body["messages"][-1])
        await engine.provider.close()
    assert [event.content for event in of(events, ev.CallFinished) if event.outcome is Outcome.SUCCEEDED] == ran
    assert "API's own tool calls" in heard
    assert bool(turn.approvals_missed) == missed
