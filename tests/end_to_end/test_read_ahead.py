"""Calls in the form that a model is known to write start while its answer goes on; real engine, server and wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from console_app.config.models import KnownDialects
from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from console_app.mcp_client import Hub
from tests.each import each
from tests.end_to_end.test_when_text_is_a_call import BARE, DONE, MARKED, TOOL, engine_of, of, play
from tests.wire_bytes import Answer, Call, Reasoning, Text
from tests.wire_server import WireServer

HERMES = "hermes_json"
OTHER = MARKED.replace("6*7", "1+1")
WORDS = "And so it goes on. " * 20
PLAIN = Answer(Text("I am ready."))
"""An answer that shows that the prompt opens no reasoning."""


class Said(KnownDialects):
    """Somebody said that the model writes so."""

    def __init__(self) -> None: ...

    def get(self, key: str) -> str | None:
        return HERMES if key else None

    def drop(self, key: str) -> None: ...


async def turns(hub: Hub, *answers: Answer) -> list[list[ev.Event]]:
    """The events of two turns, of which the first is answered by the first answer alone."""
    with WireServer() as server:
        server.script(*answers)
        engine = engine_of(server, hub, known=Said())
        both = [await play(engine, ev.Decision.DENY), await play(engine, ev.Decision.DENY)]
        await engine.provider.close()
    return both


def begun_early(events: Sequence[ev.Event]) -> bool:
    """Tell whether a call was handed over before the last text of the first answer came."""
    last = max(event.seq for event in of(events, ev.TextDelta) if event.step == 1)
    return any(event.seq < last for event in of(events, ev.CallReady))


def results(events: Sequence[ev.Event]) -> list[str]:
    return [event.content for event in of(events, ev.CallFinished)]


async def test_a_call_starts_while_the_answer_goes_on(hub: Hub) -> None:
    _, events = await turns(hub, PLAIN, Answer(Text(f"I look:\n{MARKED}\n{WORDS}\n{OTHER}\n{WORDS}", size=9)), DONE)
    assert begun_early(events)
    assert results(events) == ["42", "2"]
    assert not of(events, ev.ApprovalRequested)
    said = next(event for event in of(events, ev.MessageAdded) if event.role == "assistant")
    assert len(said.tool_calls) == 2
    assert "tool_call" not in said.content


async def test_where_the_prompt_may_have_opened_reasoning_nothing_starts_early(hub: Hub) -> None:
    first, _ = await turns(hub, Answer(Text(f"I look:\n{MARKED}\n{WORDS}", size=9)), DONE, PLAIN)
    assert not of(first, ev.CallStarted)
    assert [event.why for event in of(first, ev.ApprovalRequested)] == ["maybe quoted: text follows it"]


async def test_what_a_prompt_opened_as_reasoning_runs_nothing(hub: Hub) -> None:
    thought = Answer(Text("I wonder.\n</think>\nI am ready."))
    both = await turns(hub, thought, Answer(Text(f"Perhaps:\n{MARKED}\n{WORDS}\n</think>\nNo.", size=9)))
    assert not any(of(events, ev.CallAnnounced) and of(events, ev.CallStarted) for events in both)


async def test_behind_reasoning_that_came_apart_the_first_answer_is_read_ahead(hub: Hub) -> None:
    first, _ = await turns(hub, Answer(Reasoning("Hm."), Text(f"{MARKED}\n{WORDS}", size=9)), DONE, PLAIN)
    assert begun_early(first)
    assert results(first) == ["42"]


@each(
    "text",
    [f"> {BARE}\n{WORDS}", f"```\n{MARKED}\n```\n{WORDS}", f"<page>\n{MARKED}\n</page>\n{WORDS}", f"As {MARKED} is."],
)
async def test_what_may_be_quoted_never_starts_early(text: str, hub: Hub) -> None:
    _, events = await turns(hub, PLAIN, Answer(Text(text, size=9)), DONE, DONE)
    assert not of(events, ev.CallStarted)


async def test_a_native_call_behind_one_that_started_is_its_own(hub: Hub) -> None:
    native = Call(TOOL, json.dumps({"expression": "1+1"}))
    _, events = await turns(hub, PLAIN, Answer(Text(f"{MARKED}\n{WORDS}", size=9), native), DONE)
    assert sorted(results(events)) == ["2", "42"]
    assert sorted(event.index for event in of(events, ev.CallAnnounced)) == [0, 1]


async def test_a_call_in_another_form_waits_beside_one_that_started(hub: Hub) -> None:
    other = f"<tool_call>{TOOL}\n<arg_key>expression</arg_key>\n<arg_value>1+1</arg_value>\n</tool_call>"
    _, events = await turns(hub, PLAIN, Answer(Text(f"{MARKED}\n{WORDS}\n{other}\n", size=9)), DONE, DONE)
    ended: dict[Any, str] = {event.outcome: event.content for event in of(events, ev.CallFinished)}
    assert ended[Outcome.SUCCEEDED] == "42"
    assert Outcome.DENIED in ended
    assert [event.why for event in of(events, ev.ApprovalRequested)] == ["written as glm45 on line 5: does m write so?"]
