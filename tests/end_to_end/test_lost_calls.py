"""Answers that show nothing, or meant a call and made none, in each wire format: told of, and the model hears it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.settings import ProviderConfig
from console_app.engine import ApprovalGate, Engine
from console_app.engine.strategies import NUDGE
from console_app.mcp_client import Hub
from console_app.providers import TextProtocol, open_provider
from tests.each import each
from tests.examples import turns
from tests.wire_bytes import APIS, Answer, Api, Reasoning, Text
from tests.wire_server import Request, Scripted, WireServer

ARGUMENTS = '{"expression": "6*7"}'
OBJECT = f'{{"name": "calculator_evaluate", "arguments": {ARGUMENTS}}}'
MARKED = f"<tool_call>{OBJECT}</tool_call>"
LEVELS: list[dict[str, Any]] = [{"mode": "auto"}, {"mode": "text"}]
LOST = {
    "the end of a call in bars": f"{ARGUMENTS}<｜tool▁call▁end｜>",
    "the end of a call in bars, and the name": f"calculator_evaluate\n```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜>",
    "the end of calls in bars": f"functioncalculator_evaluate\n{ARGUMENTS}<|tool_calls_end|>",
    "the end of a call in tags": f"{ARGUMENTS}\n</tool_call>",
    "an end alone": "</tool_call>",
    "a tag of a function": "<functon=calculator_evaluate><parameter=expression>1</parameter></functon>",
    "a tag of a call": '<invok name="calculator_evaluate"><parameter name="expression">1</parameter></invok>',
    "a label": f"Acton: calculator_evaluate\nAction Input: {ARGUMENTS}",
    "the tool's label as code": "calculator.evaluate(expression='6*7')",
    "code that prints": "print(calculator_evaluate(expression='6*7'))",
    "a tag that is nearly the tool's": "<calculator_evalute><expression>1</expression></calculator_evalute>",
    "entities": MARKED.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;"),
    "a call in backticks": "Now `calculator_evaluate(expression='6*7')` runs.",
    "an object in backticks": f'I use `{{"calculator_evaluate": {ARGUMENTS}}}`.',
    "a call in an element": "<note>calculator_evaluate(expression='6*7')</note>",
    "a form of its own": f"<|go|>calculator_evaluate<|with|>{ARGUMENTS}<|stop|>",
    "a call in a block quote": "The page says:\n\n> " + MARKED.replace("\n", "\n> "),
}
READ = {
    "a tag that is nearly a mark": f"<tool_cal>\n{OBJECT}\n</tool_cal>",
    "a token that is nearly a mark": "<|tool_call_strat|>[calculator_evaluate(expression='1')]<|tool_call_end|>",
    "a call in a sentence": f"I say {MARKED} here.",
}
SHOWS_NOTHING: dict[str, list[Text | Reasoning]] = {
    "nothing": [],
    "white space": [Text(" \n\n\t\u00a0")],
    "invisible signs": [Text("\u200b\u2060\ufeff\u2800")],
    "reasoning apart": [Reasoning("I wonder.")],
    "reasoning apart, with a call": [Reasoning(f"I do {MARKED}")],
    "reasoning": [Text("<think>I wonder.</think>")],
    "reasoning without its end": [Text("<think>I wonder.")],
    "marks": [Text("<|im_start|>assistant\n<|im_end|>")],
    "marks around no call": [Text("<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>")],
}


def done(_: Request) -> Scripted:
    return Answer(Text("Done."))


def engine_of(server: WireServer, api: Api, hub: Hub, **more: Any) -> Engine:
    config = ProviderConfig(name="lab", api=api, model="m", base_url=server.base_url(api), api_key="k", max_tries=1)
    provider = TextProtocol(open_provider(config), **more)
    return Engine(provider=provider, toolset=hub, gate=ApprovalGate(ApprovalMode.YOLO, headless=True))


async def play(engine: Engine) -> tuple[list[str], list[str]]:
    """Return the notices of a turn, and how its calls ended."""
    async with engine.start("Calculate.") as turn:
        events = [event async for event in turn]
    told = [event.text for event in events if isinstance(event, ev.Notice)]
    return told, [event.outcome.value for event in events if isinstance(event, ev.CallFinished)]


@each("api, lost", turns(APIS, product(LOST, LEVELS)))
async def test_a_call_that_was_lost_is_told_of_and_the_model_hears_it(
    api: Api, lost: tuple[str, dict[str, Any]], hub: Hub
) -> None:
    text, more = LOST[lost[0]], lost[1]
    with WireServer(done) as server:
        server.script(Answer(Text("Hello.")), Answer(Text(text, size=5)))
        engine = engine_of(server, api, hub, **more)
        await play(engine)
        told, ended = await play(engine)
        heard = str(server.requests[2].body)
        assert await play(engine) == ([], [])
        later = str(server.requests[3].body)
        await engine.provider.close()
    assert not ended
    assert len(told) == 1
    assert "nothing was run" in told[0]
    assert (heard.count("(The answer "), later.count("(The answer ")) == (1, 1), "it is told once, in the same turn"


@each("more", LEVELS)
@each("text", READ.values(), ids=READ.keys())
async def test_what_is_nearly_a_mark_is_read_and_asks(text: str, more: dict[str, Any], hub: Hub) -> None:
    with WireServer(done) as server:
        server.script(Answer(Text(text, size=5)))
        engine = engine_of(server, "openai-chat", hub, **more)
        _, ended = await play(engine)
        await engine.provider.close()
    assert ended == ["denied"], "nobody is there to ask"


@each("pieces", SHOWS_NOTHING.values(), ids=SHOWS_NOTHING.keys())
@each("api", APIS)
async def test_an_answer_that_shows_nothing_is_asked_for_again_and_then_told(
    api: Api, pieces: list[Text | Reasoning], hub: Hub
) -> None:
    with WireServer(done) as server:
        server.script(Answer(Text("Hello.")), Answer(*pieces), Answer(*pieces))
        engine = engine_of(server, api, hub)
        await play(engine)
        told, _ = await play(engine)
        asked = str(server.requests[2].body)
        await engine.provider.close()
    assert NUDGE in asked or "(The answer " in asked
    assert told[-1].startswith("The model gave an empty answer twice") or "nothing was run" in told[-1], told


ORDINARY = [
    "The tool calculator_evaluate takes an expression.",
    "Use it as `calculator_evaluate(expression)`, or ask me.",
    "The tag </tool_call> ends a call, as `<tool_call>` begins one.",
    "Tools:\n- calculator_evaluate: evaluates\n- others",
    "calculator_evaluate: evaluates an expression.",
    "name = calculator_evaluate, or another.",
    "Tool: calculator_evaluate\nDescription: evaluates an expression",
    "(tool: calculator_evaluate) is there.",
    "It is 42.",
    "```python\nresult = evaluate(6 * 7)\n```",
    '{"name": "Alice", "age": 30}',
    "<p>Hello</p>\n<table><tr><td>1</td></tr></table>",
]


@pytest.mark.parametrize("text", ORDINARY)
async def test_an_ordinary_answer_is_told_nothing_of(text: str, hub: Hub) -> None:
    with WireServer(done) as server:
        server.script(Answer(Text(text)))
        engine = engine_of(server, "openai-chat", hub)
        assert await play(engine) == ([], [])
        await engine.provider.close()


SHOWN = [
    "Now `calculator_evaluate(expression='6*7')` runs.",
    f"I use `{OBJECT}` here.",
    f"> {MARKED}",
    f"<|go|>calculator_evaluate<|with|>{ARGUMENTS}<|stop|>",
    '[[calculator_evaluate expression="6*7"]]',
    MARKED.replace("<", "&lt;").replace(">", "&gt;"),
]


@each("text", SHOWN)
async def test_a_call_that_was_only_shown_is_kept_with_its_arguments_to_be_run(text: str, hub: Hub) -> None:
    with WireServer(done) as server:
        server.script(Answer(Text(text, size=5)))
        engine = engine_of(server, "openai-chat", hub)
        await play(engine)
        await engine.provider.close()
    assert engine.transcript.shown_call == ev.ShownCall(name="calculator_evaluate", arguments={"expression": "6*7"})
