"""A key goes only to the host it was given for, whoever asks: a run, `models`, `doctor`, the console's model picker."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console_app.command_line import parse_arguments
from console_app.commands import open_services
from tests.headless.inside import Inside
from tests.program.process import Done
from tests.wire_bytes import Answer, Text
from tests.wire_server import Reply, Request, WireServer

PROVIDERS = ("openai", "openai-responses", "anthropic", "ollama", "lab")
KEYS = {
    "OPENAI_API_KEY": "sk-canary-openai",
    "ANTHROPIC_API_KEY": "sk-canary-anthropic",
    "ANTHROPIC_AUTH_TOKEN": "canary-token",
    "LAB_KEY": "sk-canary-lab",
}
OWN_KEY = {
    "openai": "sk-canary-openai",
    "openai-responses": "sk-canary-openai",
    "anthropic": "sk-canary-anthropic",
    "lab": "sk-canary-lab",
}


def models_or_answer(request: Request) -> Reply | Answer:
    if request.method == "GET":
        return Reply.json({"data": [{"id": "llama-big"}, {"id": "llama-small"}]})
    return Answer(Text("Hello."))


@pytest.fixture
def home() -> Iterator[WireServer]:
    """Start the endpoint that every provider's own base URL names: the keys are for this one."""
    with WireServer(models_or_answer) as running:
        yield running


@pytest.fixture
def foreign() -> Iterator[WireServer]:
    """Start the endpoint that --base-url names."""
    with WireServer(models_or_answer) as running:
        yield running


def url_for(server: WireServer, provider: str) -> str:
    return server.base_url("anthropic" if provider == "anthropic" else "openai-chat")


def environment(fanout: Inside, home: WireServer) -> dict[str, str]:
    lab = f'api = "openai-chat"\nbase_url = "{home.url}/v1"\napi_key_env = "LAB_KEY"\nmodel = "llama-big"\n'
    fanout.write("home/config.toml", f'[providers.lab]\n{lab}headers = {{ x-secret = "canary-header" }}\n')
    urls = {"OPENAI_BASE_URL": f"{home.url}/v1", "ANTHROPIC_BASE_URL": home.url, "OLLAMA_HOST": home.url}
    return (
        KEYS
        | urls
        | {"OPENAI_CUSTOM_HEADERS": "x-gate: canary-gate", "ANTHROPIC_CUSTOM_HEADERS": "x-gate: canary-gate"}
    )


def secrets_of(server: WireServer) -> set[str]:
    """Every secret that came in, in a header, a path or a body."""
    wires = [f"{one.path} {one.headers} {one.raw!r}" for one in server.requests]
    words = (*KEYS.values(), "canary-header", "canary-gate")
    return {word for word in words if any(word in wire for wire in wires)}


def picked_from(fanout: Inside, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], *arguments: str) -> list[str]:
    """Return the models that the console's picker offers."""

    async def offered() -> list[str]:
        services = await asyncio.to_thread(open_services, parse_arguments(["--no-mcp", *arguments]))
        try:
            return list(await services.models.known())
        finally:
            await services.close()

    with monkeypatch.context() as patch:
        for name in os.environ:
            if name.startswith(("FANOUT_", "OPENAI_", "ANTHROPIC_", "OLLAMA_")):
                patch.delenv(name)
        for name, value in {**env, "FANOUT_HOME": str(fanout.home)}.items():
            patch.setenv(name, value)
        return asyncio.run(offered())


Use = Callable[[Inside, pytest.MonkeyPatch, dict[str, str], str, str], None]


def run(fanout: Inside, _patch: pytest.MonkeyPatch, env: dict[str, str], provider: str, url: str) -> None:
    done = fanout.run("run", "--no-mcp", "-m", f"{provider}/m", "--base-url", url, "hi", env=env)
    assert done.code == 0, done.err


def run_without_a_model(
    fanout: Inside, _patch: pytest.MonkeyPatch, env: dict[str, str], provider: str, url: str
) -> None:
    done = fanout.run("run", "--no-mcp", "-m", provider, "--base-url", url, "hi", env=env)
    assert done.code == 0, done.err


def models(fanout: Inside, _patch: pytest.MonkeyPatch, env: dict[str, str], provider: str, url: str) -> None:
    done = fanout.run("models", "-m", provider, "--base-url", url, env=env)
    assert done.out.split() == [f"{provider}/llama-big", f"{provider}/llama-small"]


def doctor(fanout: Inside, _patch: pytest.MonkeyPatch, env: dict[str, str], provider: str, url: str) -> None:
    done = fanout.run("doctor", "--no-mcp", "-m", f"{provider}/m", "--base-url", url, env=env)
    assert f"✓ {provider}: answers, 2 models" in done.out, done.out


def picker(fanout: Inside, patch: pytest.MonkeyPatch, env: dict[str, str], provider: str, url: str) -> None:
    offered = picked_from(fanout, patch, env, "-m", f"{provider}/m", "--base-url", url)
    assert offered[0] == f"{provider}/m"
    assert f"{provider}/llama-big" in offered


def chosen_by_the_configuration(
    fanout: Inside, patch: pytest.MonkeyPatch, env: dict[str, str], provider: str, url: str
) -> None:
    table = (fanout.home / "config.toml").read_text()
    fanout.write("home/config.toml", f'model = "{provider}/m"\nbase_url = "{url}"\n{table}')
    assert f"{provider}/llama-big" in picked_from(fanout, patch, env)


USES = (run, run_without_a_model, models, doctor, picker, chosen_by_the_configuration)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("use", USES)
def test_no_key_goes_to_the_host_of_a_base_url_that_it_was_not_given_for(
    fanout: Inside, monkeypatch: pytest.MonkeyPatch, home: WireServer, foreign: WireServer, use: Use, provider: str
) -> None:
    use(fanout, monkeypatch, environment(fanout, home), provider, url_for(foreign, provider))
    assert foreign.requests
    assert secrets_of(foreign) == set()


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("use", USES)
def test_a_base_url_that_names_the_keys_own_host_gets_it(
    fanout: Inside, monkeypatch: pytest.MonkeyPatch, home: WireServer, use: Use, provider: str
) -> None:
    use(fanout, monkeypatch, environment(fanout, home), provider, url_for(home, provider))
    if provider in OWN_KEY:
        assert OWN_KEY[provider] in secrets_of(home)


def test_the_other_providers_keep_their_own_endpoints_and_keys(
    fanout: Inside, monkeypatch: pytest.MonkeyPatch, home: WireServer, foreign: WireServer
) -> None:
    url = url_for(foreign, "openai")
    offered = picked_from(fanout, monkeypatch, environment(fanout, home), "--base-url", url)
    assert "anthropic/llama-big" in offered
    assert [request.path for request in foreign.requests] == ["/v1/models"]
    assert {"sk-canary-anthropic", "sk-canary-lab", "canary-header"} <= secrets_of(home)


def test_a_configured_providers_key_goes_to_its_host_by_whatever_name(
    fanout: Inside, home: WireServer, foreign: WireServer
) -> None:
    env = environment(fanout, home) | {"OPENAI_BASE_URL": url_for(foreign, "openai")}
    done = fanout.run("run", "--no-mcp", "-m", "openai/m", "--base-url", f"{home.url}/v1", "hi", env=env)
    assert done.code == 0
    assert secrets_of(home) == {"sk-canary-lab", "canary-header"}


def test_an_endpoint_is_listed_once(fanout: Inside, home: WireServer) -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{home.url}/v1", "OLLAMA_HOST": home.url}
    done = fanout.run("models", env=env)
    names = [name for name in done.out.split() if name.endswith("llama-big")]
    assert names == ["openai/llama-big", "ollama/llama-big"]  # with a key and without: two listings


def refused(fanout: Inside, server: WireServer, env: dict[str, str], *arguments: str) -> Done:
    server.script(*[Reply.json({"error": {"message": "no"}}, 401)] * 4)
    return fanout.run("run", "--no-mcp", *arguments, "hi", env=env)


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("openai", "set OPENAI_BASE_URL={url} beside OPENAI_API_KEY, in place of --base-url"),
        ("openai-responses", "set OPENAI_BASE_URL={url} beside OPENAI_API_KEY, in place of --base-url"),
        ("anthropic", "set ANTHROPIC_BASE_URL={url} beside ANTHROPIC_API_KEY, in place of --base-url"),
        ("ollama", "give [providers.ollama] of config.toml base_url"),
        ("lab", "give [providers.lab] of config.toml base_url"),
    ],
)
def test_a_401_without_the_key_says_how_to_send_it(
    fanout: Inside, home: WireServer, foreign: WireServer, provider: str, hint: str
) -> None:
    env = {name: value for name, value in environment(fanout, home).items() if not name.endswith("_BASE_URL")}
    url = url_for(foreign, provider)
    done = refused(fanout, foreign, env, "-m", f"{provider}/m", "--base-url", url)
    assert done.code == 1
    assert "unauthorized (401)" in done.err
    assert hint.format(url=url) in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("openai", "Set OPENAI_API_KEY to a valid key"),
        ("anthropic", "Set ANTHROPIC_API_KEY to a valid key"),
        ("ollama", "api_key_env of [providers.ollama]"),
        ("lab", "Set LAB_KEY to a valid key"),
    ],
)
def test_a_401_names_the_variable_that_is_used_there(
    fanout: Inside, home: WireServer, provider: str, hint: str
) -> None:
    done = refused(fanout, home, environment(fanout, home), "-m", f"{provider}/m")
    assert hint in done.err


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("method", ["run", "models"])
def test_no_key_follows_a_redirect(
    fanout: Inside, home: WireServer, foreign: WireServer, provider: str, method: str
) -> None:
    home.script(*[Reply([], 307, {"Location": f"{foreign.url}/v1/elsewhere"})] * 4)
    words = ["run", "--no-mcp", "-m", f"{provider}/m", "hi"] if method == "run" else ["models", "-m", provider]
    done = fanout.run(*words, env=environment(fanout, home))
    assert done.code == 1
    assert "redirects to" in done.err
    assert foreign.requests == []


def test_without_a_model_the_first_that_the_endpoint_lists_answers(fanout: Inside, foreign: WireServer) -> None:
    foreign.script(Reply.json({"data": [{"id": name} for name in ("all-embed", "llama-big", "llama-small")]}))
    done = fanout.run("run", "--no-mcp", "--base-url", url_for(foreign, "openai"), "hi")
    assert (done.code, done.out) == (0, "Hello.\n")
    assert [request.method for request in foreign.requests] == ["GET", "POST"]
    assert foreign.requests[1].body["model"] == "llama-big"


def test_an_endpoint_that_lists_nothing_asks_for_a_name(fanout: Inside, tmp_path: Path) -> None:
    with WireServer(lambda _: Reply.json({"data": []})) as server:
        done = fanout.run("run", "--no-mcp", "--base-url", server.base_url("openai-chat"), "hi")
    assert done.code == 2
    assert "-m openai/MODEL" in done.err
