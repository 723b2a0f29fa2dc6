"""Which model answers, from flags, configuration and keys."""

from __future__ import annotations

from typing import Any

import pytest

from console_app.config.models import ModelChoice, choose_model
from console_app.config.settings import Settings
from console_app.domain.errors import ConfigError
from console_app.domain.settings import ProviderConfig
from tests.each import each


def choose(env: dict[str, str] | None = None, **settings: Any) -> ModelChoice:
    return choose_model(Settings.model_validate(settings), env or {})


def config_of(choice: ModelChoice) -> ProviderConfig:
    assert choice.config is not None
    return choice.config


def complaint(env: dict[str, str] | None = None, **settings: Any) -> str:
    with pytest.raises(ConfigError) as error:
        choose(env, **settings)
    return error.value.line


OWN = {"api": "openai-chat", "base_url": "https://models.example/v1", "api_key_env": "OWN_KEY", "model": "big"}


def test_without_a_name_or_a_key_the_offline_model_answers() -> None:
    assert choose().name == "offline/rehearsal"


def test_without_a_name_the_first_provider_with_a_key_answers() -> None:
    assert choose({"ANTHROPIC_API_KEY": "k"}).provider == "anthropic"
    assert choose({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}).provider == "openai"
    assert choose({"OWN_KEY": "k"}, providers={"own": OWN}).name == "own/big"


def test_the_configured_model_beats_a_key() -> None:
    assert choose({"OPENAI_API_KEY": "k"}, model="offline/rehearsal").provider == "offline"


@each(
    ("name", "provider", "model"),
    [
        ("openai/gpt-x", "openai", "gpt-x"),
        ("openai/org/gpt:free", "openai", "org/gpt:free"),
        ("anthropic", "anthropic", "claude-sonnet-5-5"),
        ("claude-x", "anthropic", "claude-x"),
        ("gpt-x", "openai", "gpt-x"),
        ("scripted/a/b.toml", "scripted", "a/b.toml"),
        ("own", "own", "big"),
        ("own/small/1", "own", "small/1"),
    ],
)
def test_a_name_is_split_at_the_first_slash_only(name: str, provider: str, model: str) -> None:
    env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OWN_KEY": "k"}
    choice = choose(env, model=name, providers={"own": OWN})
    assert (choice.provider, choice.model) == (provider, model)


KEY = "sk-proj-0123456789abcdefghij"


@each("name", [KEY, f"openai/{KEY}", f" {KEY}\n", f"own/x/{KEY}", f"offline/{KEY}", f"Bearer {KEY}"])
def test_a_key_in_place_of_a_name_is_refused_and_not_repeated(name: str) -> None:
    for more in ({}, {"base_url": "http://127.0.0.1:9/v1"}):
        said = complaint({"OPENAI_API_KEY": "k"}, model=name, providers={"own": OWN}, **more)
        assert "looks like a key" in said
        assert KEY not in said


def test_a_base_url_needs_no_key_and_takes_any_name() -> None:
    choice = choose(base_url="http://localhost:8000/v1/", model="meta/llama")
    assert (choice.provider, choice.model, config_of(choice).base_url) == (
        "openai",
        "meta/llama",
        "http://localhost:8000/v1",
    )
    assert config_of(choice).api_key is None


def test_the_vendors_own_variables_set_the_base_url() -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://proxy/v1", "ANTHROPIC_BASE_URL": "http://other"}
    assert config_of(choose(env, model="openai/x")).base_url == "http://proxy/v1"
    assert config_of(choose(env, model="openai-responses/x")).base_url == "http://proxy/v1"
    assert config_of(choose(env, model="anthropic/x")).base_url == "http://other"


@each(
    ("host", "expected"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box:1234", "http://box:1234/v1"),
        ("https://box", "https://box:443/v1"),
        ("[::1]:5", "http://[::1]:5/v1"),
    ],
)
def test_ollama_is_found_by_its_variable(host: str, expected: str) -> None:
    assert config_of(choose({"OLLAMA_HOST": host}, model="ollama/q")).base_url == expected


def test_what_is_said_of_one_model_beats_what_is_said_of_its_provider() -> None:
    own = OWN | {
        "parallel_tool_calls": "omit",
        "context_window": 1000,
        "headers": {"x-team": "a"},
        "models": {"org/small": {"context_window": 500, "protocol": "text", "dialect": "hermes"}},
    }
    small = choose({"OWN_KEY": "k"}, model="own/org/small", providers={"own": own})
    assert (small.settings.context_window, small.settings.protocol, small.settings.dialect) == (500, "text", "hermes")
    assert (small.settings.parallel_tool_calls, config_of(small).headers) == ("omit", {"x-team": "a"})
    assert choose({"OWN_KEY": "k"}, model="own/big", providers={"own": own}).settings.context_window == 1000


def test_a_built_in_providers_table_changes_only_what_it_names() -> None:
    choice = choose({"OPENAI_API_KEY": "k"}, providers={"openai": {"model": "mine"}})
    assert (choice.name, config_of(choice).api, config_of(choice).api_key) == ("openai/mine", "openai-chat", "k")


@each(
    ("settings", "env", "says"),
    [
        ({"model": "openai/x"}, {}, "openai needs a key, and OPENAI_API_KEY is not set"),
        ({"model": "foo/x"}, {}, 'no provider is called "foo"'),
        ({"model": "ollama"}, {}, "ollama needs the name of a model"),
        ({"model": "offline/big"}, {}, "offline has no model big"),
        ({"model": "scripted"}, {}, "scripted needs the path of a script"),
        ({"providers": {"own": {"model": "x"}}}, {}, "[providers.own] lacks api"),
        ({"providers": {"offline": OWN}}, {}, "the provider name offline is taken"),
        ({"model": "openai/x"}, {"OPENAI_BASE_URL": "ftp://x"}, "OPENAI_BASE_URL is no URL"),
        ({"model": "openai/x"}, {"OPENAI_API_KEY": "a\nb"}, "OPENAI_API_KEY holds a character that no key has"),
        ({"model": "own", "providers": {"own": OWN}}, {}, "own needs a key, and OWN_KEY is not set"),
    ],
)
def test_what_is_missing_is_named(settings: dict[str, Any], env: dict[str, str], says: str) -> None:
    assert says in complaint(env, **settings)


def test_a_key_is_never_part_of_what_is_printed() -> None:
    assert "sk-secret" not in repr(choose({"OPENAI_API_KEY": "sk-secret"}))


@each(
    ("url", "key"),
    [
        ("https://api.openai.com/v1", "k"),
        ("https://API.openai.com:443/other", "k"),
        ("http://api.openai.com/v1", None),
        ("https://api.openai.com:8443/v1", None),
        ("https://api.openai.com.example/v1", None),
        ("https://api.openai.com@example.com/v1", None),
        ("http://localhost:8000/v1", None),
    ],
)
@each("provider", ["openai", "openai-responses"])
def test_a_vendors_key_is_for_the_vendors_host_alone(provider: str, url: str, key: str | None) -> None:
    assert config_of(choose({"OPENAI_API_KEY": "k"}, model=f"{provider}/x", base_url=url)).api_key == key


def test_a_base_url_stays_with_the_provider_that_the_settings_choose() -> None:
    settings = Settings.model_validate({"base_url": "http://localhost:8000/v1", "model": "openai/x"})
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"}
    other = choose_model(settings, keys, name="anthropic/x")
    assert (config_of(other).base_url, config_of(other).api_key) == (None, "a")
    same = choose_model(settings, keys, name="openai/y")
    assert (config_of(same).base_url, config_of(same).api_key) == ("http://localhost:8000/v1", None)
    assert choose_model(settings, keys, name="llama").name == "openai/llama"


def test_the_host_is_told_where_it_is_not_the_vendors() -> None:
    keys = {"OPENAI_API_KEY": "k"}
    assert choose(keys, model="openai/x").host == ""
    assert choose(keys, model="openai/x", base_url="http://u:p@box:8000/v1").host == "box:8000"
