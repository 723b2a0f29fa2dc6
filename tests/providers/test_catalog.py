"""Models are known beforehand and listed by endpoints, and little is imported for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from console_app.domain.settings import ProviderConfig
from console_app.providers import catalog, list_models
from console_app.providers.endpoint.address import EndpointAddress
from tests.patience import PATIENCE
from tests.providers.reading import answer_to, provider_at, read, usage_of
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, WireServer


def test_a_provider_opens_without_loading_an_sdk() -> None:
    code = (
        "import sys\n"
        "from console_app.providers.factory import open_provider\n"
        "from console_app.domain.settings import ProviderConfig\n"
        "for api in ('openai-chat', 'openai-responses', 'anthropic'): open_provider(ProviderConfig('x', api, 'm'))\n"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'genai_prices', 'mcp') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert ran.stdout.strip() == "[]"


def test_a_configuration_does_not_show_its_key() -> None:
    config = ProviderConfig("x", "anthropic", "m", api_key="sk-secret", headers={"x-api-key": "sk-secret"})
    assert "secret" not in repr(config)
    config = ProviderConfig("x", "anthropic", "m", headers={"User-Agent": "lab-browser", "X-Lab": "hunter2-hunter2"})
    assert EndpointAddress(config).scrub("lab-browser, hunter2-hunter2") == "lab-browser, (hidden)"

    catalog.preload()
    assert catalog.cost("openai", "gpt-4o", 1_000_000, 0) == pytest.approx(2.5)
    cheaper = catalog.cost("openai", "gpt-4o", 1_000_000, 0, 1_000_000)
    assert cheaper is not None
    assert cheaper < 2.5
    assert catalog.context_window("anthropic", "claude-haiku-4-5") == 200_000


def test_what_is_not_known_has_no_price() -> None:
    assert catalog.cost("openai", "no-such-model", 1, 1) is None
    assert catalog.cost("openai", "gpt-4o", 1, 1, base_url="http://127.0.0.1:1/v1") is None
    assert catalog.cost("ollama", "gpt-4o", 1, 1) is None
    assert catalog.place_in_table("openai", "http://localhost:1/v1") is None, "and its prices aren't loaded"
    assert catalog.context_window("my-server", "gpt-4o") is None


async def test_an_endpoint_lists_its_models(server: WireServer) -> None:
    server.script(Reply.json({"data": [{"id": "b"}, {"id": "a"}, {"no": "id"}]}), Reply.html("<title>Nope</title>"))
    config = ProviderConfig("ollama", "openai-chat", "m", server.base_url("openai-chat"))
    assert await list_models(config) == ["b", "a"]
    with pytest.raises(Exception, match="in place of a model's answer"):
        await list_models(config)


@pytest.mark.parametrize("api", APIS)
async def test_a_known_model_at_its_vendor_has_a_cost(server: WireServer, api: Api) -> None:
    """The vendor's own price list goes by name where no base URL is set; here only the reading of it is seen."""
    assert usage_of(await answer_to(server, api, Answer(Text("hi")))) is not None
    model = "claude-haiku-4-5" if api == "anthropic" else "gpt-4o"
    name = "anthropic" if api == "anthropic" else "openai"
    assert catalog.cost(name, model, 10, 5, 2)
    provider = provider_at(server, api, name=name, model=model)
    server.script(Answer(Text("hi")))
    usage = usage_of((await read(provider))[0])
    await provider.close()
    assert usage is not None
    assert usage.cost is None  # at a base URL of one's own the vendor's prices say nothing
