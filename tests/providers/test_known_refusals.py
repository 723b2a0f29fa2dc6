"""A refusal of an endpoint is remembered for its model: by whoever opens it next, and after a new start."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console_app.config.models import KnownRefusals, ModelChoice, Refusals
from console_app.config.models.known_models import MOST_MODELS
from console_app.config.settings import Settings
from console_app.console.models import ConfiguredModels
from console_app.domain.chunks import NoticeChunk
from console_app.domain.errors import ProviderError
from console_app.domain.events import Notice
from console_app.domain.messages import AssistantMessage, ToolMessage, UserMessage
from console_app.domain.ports import ModelRequest
from console_app.domain.settings import ProviderConfig, Sampling
from console_app.domain.tools import ToolCall
from console_app.engine import Engine
from tests.engine.peers import Tools, engine_of, only, play
from tests.providers.reading import TOOLS
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, WireServer

NO_TEMPERATURE = Reply.json({"error": {"message": "Unsupported parameter: 'temperature' is not supported"}}, 400)
ASKED = ModelRequest((UserMessage(content="Go on."),), tools=TOOLS, sampling=Sampling(temperature=0.5))


def choice_of(server: WireServer, api: Api = "openai-chat", model: str = "m") -> ModelChoice:
    return ModelChoice("lab", model, "", config=ProviderConfig("lab", api, model, server.base_url(api)))


async def notices(models: ConfiguredModels, choice: ModelChoice, request: ModelRequest = ASKED) -> list[str]:
    """Return the notices of one request to a model that is opened for it."""
    provider = models.open(choice)
    try:
        async with provider.stream(request) as chunks:
            return [chunk.text async for chunk in chunks if isinstance(chunk, NoticeChunk)]
    finally:
        await provider.close()


def started(path: Path, version: str = "1") -> ConfiguredModels:
    """The models of a console that starts."""
    return ConfiguredModels(Settings(), {}, refusals=KnownRefusals(path, version))


@pytest.mark.parametrize("api", APIS)
async def test_a_model_that_is_opened_again_is_not_asked_again(server: WireServer, api: Api, tmp_path: Path) -> None:
    server.script(NO_TEMPERATURE, *[Answer(Text("hi"))] * 4)
    models = started(tmp_path / "refusals.json")
    assert len(await notices(models, choice_of(server, api))) == 1
    assert await notices(models, choice_of(server, api, "other")) == [], "another model, which takes it"
    assert await notices(models, choice_of(server, api)) == []
    assert await notices(started(tmp_path / "refusals.json"), choice_of(server, api)) == [], "and after a new start"
    asked = ["temperature" in request.body for request in server.requests]
    assert asked == [True, False, True, False, False]


async def test_another_version_asks_anew_and_so_does_a_chosen_protocol(server: WireServer, tmp_path: Path) -> None:
    server.script(NO_TEMPERATURE, *[Answer(Text("hi"))] * 3)
    path = tmp_path / "refusals.json"
    await notices(started(path), choice_of(server))
    await notices(started(path, "2"), choice_of(server))
    models = started(path)
    provider = models.open(choice_of(server))
    provider.choose_protocol("auto")
    await provider.close()
    await notices(started(path), choice_of(server))
    assert ["temperature" in request.body for request in server.requests] == [True, False, True, True]


async def test_what_holds_for_an_account_or_a_conversation_is_not_written_down(
    server: WireServer, tmp_path: Path
) -> None:
    poor = {"error": {"message": "This request requires more credits, or fewer max_tokens: can only afford 1234"}}
    server.script(Reply.json(poor, 402), Answer(Text("hi")), Answer(Text("hi")))
    path = tmp_path / "refusals.json"
    models = started(path)
    request = ModelRequest(ASKED.messages, sampling=Sampling(max_tokens=9_000))
    assert await notices(models, choice_of(server), request)
    assert server.requests[-1].body["max_tokens"] == 1234
    assert not path.exists() or "1234" not in path.read_text()
    assert await notices(models, choice_of(server), request) == [], "while the console runs it is known"


async def test_what_did_not_help_is_taken_back_and_what_was_not_answered_yet_not_written(
    server: WireServer, tmp_path: Path
) -> None:
    unknown = Reply.json({"error": {"message": "`content` is strange"}}, 400)
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n0")
    request = replace(ASKED, messages=(UserMessage(content="Look.", images=(str(picture),)),))
    server.script(NO_TEMPERATURE, unknown, unknown, *[Answer(Text("hi"))] * 2)
    models = started(tmp_path / "refusals.json")
    with pytest.raises(ProviderError):
        await notices(models, choice_of(server), request)
    assert not (tmp_path / "refusals.json").exists()
    assert await notices(models, choice_of(server), request) == []
    assert await notices(started(tmp_path / "refusals.json"), choice_of(server), request) == []
    asked = [("temperature" in one.body, "image_url" in json.dumps(one.body)) for one in server.requests]
    assert asked == [(True, True), (False, True), (False, False), (False, True), (False, True)]


def test_what_others_learnt_meanwhile_stays() -> None:
    known = Refusals(fields={"stop": None, "messages.reasoning_content": None}, keywords={"title"}, largest=10)
    before = deepcopy(known)
    known.fields["temperature"] = None
    known.fields["stop"] = True
    del known.fields["messages.reasoning_content"]
    known.keywords.add("format")
    known.largest, known.sees, known.no_stream = 9, False, True
    after = deepcopy(known)
    known.fields["limit"] = "max_tokens"
    known.keywords.add("pattern")
    known.largest = 8
    known.take_back(before, after)
    fields = {"stop": None, "messages.reasoning_content": None, "limit": "max_tokens"}
    assert known == Refusals(fields=fields, keywords={"title", "pattern"}, largest=8)


def test_the_file_is_bounded_private_and_what_is_odd_in_it_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "refusals.json"
    known = KnownRefusals(path, "1")
    for number in range(MOST_MODELS + 5):
        known.of(f"m{number}").fields["temperature"] = None
        known.keep(f"m{number}")
    assert path.stat().st_mode & 0o077 == 0
    written = json.loads(path.read_text())["models"]
    assert list(written) == [f"m{number}" for number in range(5, MOST_MODELS + 5)]
    odd: dict[str, Any] = {
        "a": 3,
        "b": {"fields": [], "largest": "x", "sees": 0, "efforts": [1, "low"], "keywords": {}},
    }
    path.write_text(json.dumps({"version": "1", "models": odd}))
    again = KnownRefusals(path, "1")
    assert again.of("a") == Refusals()
    assert again.of("b") == Refusals(efforts={"low"})
    path.write_text("[")
    assert KnownRefusals(path, "1").of("a") == Refusals()


async def test_calls_without_text_go_with_an_empty_one_where_null_is_refused(
    server: WireServer, tmp_path: Path
) -> None:
    """As llama.cpp's Python server words it."""
    words = "1 validation error: {'type': 'string_type', 'loc': ('body', 'messages', 1, 'content'), "
    error = {"error": {"message": f"{words}'msg': 'Input should be a valid string', 'input': None}}"}}
    server.script(Reply.json(error, 500), Answer(Text("hi")), Answer(Text("hi")))
    called = AssistantMessage(tool_calls=(ToolCall(id="a", name="demo_fail"),))
    request = ModelRequest((*ASKED.messages, called, ToolMessage(tool_call_id="a", content="x")), tools=TOOLS)
    models = started(tmp_path / "refusals.json")
    (told,) = await notices(models, choice_of(server), request)
    assert told == "lab refuses answers without text: the request is sent again with an empty one."
    assert await notices(models, choice_of(server), request) == []
    assert [request.body["messages"][1]["content"] for request in server.requests] == [None, "", ""]


async def test_one_notice_in_a_conversation_that_goes_to_another_model_and_back(
    server: WireServer, tmp_path: Path
) -> None:
    server.script(NO_TEMPERATURE, *[Answer(Text("hi"))] * 3)
    models = started(tmp_path / "refusals.json")
    told: list[str] = []
    engine: Engine | None = None
    for model in ("m", "other", "m"):
        config = choice_of(server, model=model).config
        assert config is not None
        sampled = ProviderConfig(config.name, config.api, model, config.base_url, sampling=Sampling(temperature=0.5))
        provider = models.open(ModelChoice("lab", model, "", config=sampled))
        engine = engine or engine_of(provider, Tools())
        engine.provider = provider
        told += [notice.text for notice in only(await play(engine, "go"), Notice)]
        await provider.close()
    assert len(told) == 1
