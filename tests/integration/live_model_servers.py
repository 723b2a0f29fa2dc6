"""Our providers on LiteLLM's proxy, which speaks all three formats and translates each to the endpoint behind it.

That endpoint is the tests' own, so that what the model says is known; answers and errors that the proxy makes up itself
are its `mock_response`. A prompt names the test that it is of, since the proxy may ask again for a test that is over.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from console_app.domain import events as ev
from console_app.providers.wire_provider import WireProvider
from tests.engine.peers import Tools, ending, engine_of, only, play, spec
from tests.integration.served import served
from tests.providers.reading import KEY, failure_of, provider_at, read, text_of
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import Cut, Reply, Request, Scripted, WireServer

CONFIG = """
model_list:
  - model_name: known
    litellm_params: {{model: openai/known, api_base: "{url}/v1", api_key: none, max_retries: 0}}
  - model_name: busy
    litellm_params: {{model: openai/busy, api_key: none, mock_response: litellm.RateLimitError}}
  - model_name: mock
    litellm_params: {{model: openai/mock, api_key: none, mock_response: Hello from the proxy.}}
litellm_settings: {{num_retries: 0}}
router_settings: {{num_retries: 0, disable_cooldowns: true}}
"""


@dataclass
class Proxy:
    """The proxy, and what the endpoint behind it answers next to the test that a prompt names."""

    port: int
    behind: WireServer
    answers: dict[str, list[Scripted]]

    @asynccontextmanager
    async def provider(self, api: Api, model: str = "known") -> AsyncGenerator[WireProvider]:
        provider = provider_at(self.behind, api, **self.place(api, model))
        try:
            yield provider
        finally:
            await provider.close()

    def place(self, api: Api, model: str) -> dict[str, Any]:
        """How a provider of `api` reaches a model of the proxy."""
        url = f"http://127.0.0.1:{self.port}"
        return {"base_url": url if api == "anthropic" else f"{url}/v1", "model": model}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("litellm")
    answers: dict[str, list[Scripted]] = {}

    def answer(request: Request) -> Scripted:
        of_test = next((queue for name, queue in answers.items() if name.encode() in request.raw), None)
        return of_test.pop(0) if of_test else Answer(Text("I see."))

    with WireServer(answer) as behind:
        (folder / "config.yaml").write_text(CONFIG.format(url=behind.url))
        own = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY, "HOME": str(folder)}
        own["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
        program = Path(os.environ["FANOUT_TEST_MODEL_SERVERS"], "bin", "litellm")
        with served([str(program), "--config", "config.yaml"], folder, own) as port:
            yield Proxy(port, behind, answers)


def calls(turn: int) -> Answer:
    made = [Call("demo_do", json.dumps({"n": f"{turn}.{n}"}), id=f"call_{turn}{n}") for n in range(4)]
    return Answer(Text("Working."), *made)


@pytest.mark.parametrize("api", APIS)
async def test_two_turns_with_four_calls(proxy: Proxy, api: Api) -> None:
    name = f"two-turns-{api}"
    proxy.answers[name] = [one for turn in (1, 2) for one in (calls(turn), Answer(Text(f"Done {turn}.")))]
    tools = Tools([spec()])
    async with proxy.provider(api) as provider:
        engine = engine_of(provider, tools)
        for turn in (1, 2):
            seen = await play(engine, f"{name}, turn {turn}")
            assert ending(seen).outcome == "completed", ending(seen).error
            assert sorted(str(one.arguments["n"]) for one in tools.ran) == [f"{turn}.{n}" for n in range(4)]
            assert engine.history[-1].content == f"Done {turn}."
            assert only(seen, ev.Notice) == []
            tools.ran.clear()
    sent = [request.raw for request in proxy.behind.requests if name.encode() in request.raw][-1].decode()
    assert all(f"result of {turn}.{n}" in sent for turn in (1, 2) for n in range(4))


@pytest.mark.parametrize("api", APIS)
async def test_half_a_call_of_a_broken_stream_never_runs(proxy: Proxy, api: Api) -> None:
    wire: Api = "openai-chat" if api == "openai-chat" else "openai-responses"  # of the endpoint behind the proxy
    body = calls(1).body(wire)
    name = f"half-a-call-{api}"
    proxy.answers[name] = [Reply([body[: body.index(b"call_11")], Cut()])]
    tools = Tools([spec()])
    async with proxy.provider(api) as provider:
        engine = engine_of(provider, tools)
        seen = await play(engine, name)
    assert {str(one.arguments["n"]) for one in tools.ran} <= {"1.0"}
    # The proxy breaks off as well, or asks again itself.
    assert ending(seen).error or engine.history[-1].content == "I see."


@pytest.mark.parametrize("api", APIS)
async def test_an_error_is_one_line(proxy: Proxy, api: Api) -> None:
    _, error = await failure_of(proxy.behind, api, **proxy.place(api, "busy"))
    assert (error.status, "\n" in error.line) in ((429, False), (500, False))
    assert "data:" not in error.line
    _, error = await failure_of(proxy.behind, api, **proxy.place(api, "no-such-model"))
    assert "no-such-model" in error.line


@pytest.mark.parametrize("api", ["openai-chat", "anthropic"])
async def test_an_answer_that_the_proxy_makes_up(proxy: Proxy, api: Api) -> None:
    async with proxy.provider(api, "mock") as provider:
        chunks, error = await read(provider)
        assert (text_of(chunks), error) == ("Hello from the proxy.", None)
        assert sorted(await provider.models()) == ["busy", "known", "mock"]
