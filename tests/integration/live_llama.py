"""Our provider on llama.cpp's server (llama-cpp-python), with a model of random weights that the test writes.

A call that a request names is written under a grammar made of the tool's schema: what the model writes is then a call
whatever it knows. Each chunk of its stream repeats the call's name and id, as `tool_calls` and as `function_call`. The
server writes one call an answer, so two at once are two conversations.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig, Sampling
from console_app.providers import open_provider
from console_app.providers.wire_provider import WireProvider
from tests.engine.peers import Tools, ending, engine_of, only, play, results_of, spec
from tests.integration.served import served
from tests.providers.reading import read

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "string", "enum": ["here", "there"]},
        "count": {"type": "array", "items": {"enum": [1, 22, 333]}, "minItems": 1, "maxItems": 3},
    },
    "required": ["n", "count"],
}
NAMED = {"tool_choice": {"type": "function", "function": {"name": "demo_do"}}, "temperature": 1.0}


@pytest.fixture(scope="module", params=["", "chatml-function-calling"], ids=["its own template", "chatml"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server with the model, which is asked by the template of its file, or by one that the server has."""
    folder = tmp_path_factory.mktemp("llama")
    python = str(Path(os.environ["FANOUT_TEST_LLAMA"], "bin", "python"))
    subprocess.run([python, str(Path(__file__).with_name("tiny_model.py")), str(folder / "tiny.gguf")], check=True)
    command = [python, "-m", "llama_cpp.server", "--model", "tiny.gguf", "--model_alias", "tiny", "--n_ctx", "8192"]
    template = ["--chat_format", request.param] if request.param else []
    with served([*command, "--n_threads", "1", *template], folder, {"HOME": str(folder)}) as port:
        yield port


def model_at(port: int, **sampling: Any) -> WireProvider:
    url = f"http://127.0.0.1:{port}/v1"
    settings = Sampling(**{"max_tokens": 400, **sampling})
    return open_provider(ProviderConfig("llama", "openai-chat", "tiny", url, sampling=settings))


@pytest.fixture
async def calling(port: int) -> AsyncIterator[WireProvider]:
    """The model, made to call."""
    provider = model_at(port, extra_body=NAMED)
    yield provider
    await provider.close()


def check_call(call: ev.CallReady) -> None:
    """It is one that the schema allows."""
    assert call.arguments["n"] in ("here", "there")
    assert set(call.arguments["count"]) <= {1, 22, 333}
    assert not call.repaired


async def test_two_turns_of_calls_under_a_grammar_and_then_words(port: int, calling: WireProvider) -> None:
    tools = Tools([spec(input_schema=SCHEMA)])
    engine = engine_of(calling, tools, max_steps=2)
    for turn in (1, 2):
        seen = await play(engine, f"turn {turn}")
        assert ending(seen).outcome == "step_limit", ending(seen).error
        assert [result.outcome for result in results_of(seen)][:2] == ["succeeded"] * 2
        ready = only(seen, ev.CallReady)
        for call in ready:
            check_call(call)
        streamed = "".join(one.delta for one in only(seen, ev.CallArguments) if one.call_id == ready[0].call_id)
        assert json.loads(streamed) == ready[0].arguments, "it came in pieces that add up to it"
        assert len(only(seen, ev.CallArguments)) > 10
    assert len(tools.ran) >= 4
    answers = [message for message in engine.history if isinstance(message, AssistantMessage) and message.tool_calls]
    assert all(call.id.startswith("call_") for message in answers for call in message.tool_calls)
    talking = model_at(port, max_tokens=20)
    engine.provider = talking
    seen = await play(engine, "and in words?")
    await talking.close()
    assert "".join(event.text for event in only(seen, ev.TextDelta)) or ending(seen).error


async def test_two_calls_at_once_in_two_conversations(calling: WireProvider) -> None:
    engines = [engine_of(calling, Tools([spec(input_schema=SCHEMA)]), max_steps=1) for _ in range(2)]
    for seen in await asyncio.gather(*map(play, engines)):
        (call, *_) = only(seen, ev.CallReady)
        check_call(call)


async def test_a_call_that_the_limit_cuts_does_not_run(port: int) -> None:
    provider = model_at(port, extra_body=NAMED, max_tokens=5)
    tools = Tools([spec(input_schema=SCHEMA)])
    seen = await play(engine_of(provider, tools, max_steps=1))
    await provider.close()
    assert tools.ran == []
    assert {result.outcome for result in results_of(seen)} <= {"invalid"}


async def test_it_lists_its_model_and_an_empty_answer_to_too_long_a_prompt_is_told(port: int) -> None:
    provider = model_at(port)
    assert await provider.models() == ["tiny"]
    _, error = await read(provider, ModelRequest((UserMessage(content="much " * 5_000),)))
    await provider.close()
    assert error is not None
    assert "answered with nothing" in error.line
