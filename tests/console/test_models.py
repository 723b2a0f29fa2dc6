"""Which model answers: chosen at the start, listed, switched while a conversation goes on. Without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from console_app.config.settings import Settings
from console_app.console.models import ConfiguredModels, Models
from console_app.console.talk.conversation import Conversation
from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.domain.errors import ConfigError, UsageError
from tests.console.peers import Screen
from tests.engine.peers import Line, Model, Tools, engine_of
from tests.wire_bytes import Answer, Text
from tests.wire_server import Gate, Reply, Request, Scripted, WireServer

LISTED = ["embed-small", "first", "a-later-one", "second"]


def answer(request: Request) -> Scripted:
    """The list of models, or an answer that names the model that gives it."""
    if request.method == "GET":
        return Reply.json({"data": [{"id": name} for name in LISTED]})
    return Answer(Text(f"I am {request.body['model']}."))


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(answer) as running:
        yield running


def lab(server: WireServer, model: str = "first") -> ConfiguredModels:
    """The models of a server on this machine, and of nobody else."""
    table: dict[str, Any] = {"api": "openai-chat", "base_url": server.base_url("openai-chat")}
    table["models"] = {"second": {"context_window": 900}}
    settings = Settings.model_validate({"model": f"lab/{model}", "providers": {"lab": table}})
    return ConfiguredModels(settings, {"OLLAMA_HOST": server.url})


class Talk:
    """A conversation with one of them."""

    def __init__(self, source: ConfiguredModels) -> None:
        choice = source.choose()
        self.screen = Screen()
        self.engine = engine_of(source.open(choice), Tools())
        self.models = Models(self.engine, source, choice)
        self.conversation = Conversation(self.engine, None, self.screen)

    async def says(self, text: str) -> str:
        self.conversation.send(text)
        await self.conversation.ended()
        return self.engine.transcript.history[-1].content

    async def close(self) -> None:
        await self.conversation.close()
        await self.engine.provider.close()


async def test_another_model_answers_from_the_next_turn_on(server: WireServer) -> None:
    talk = Talk(lab(server))
    await talk.models.load()
    assert (talk.models.name, talk.models.window) == ("lab/first", None)
    assert await talk.says("who?") == "I am first."
    await talk.models.switch("lab/second")
    assert (talk.models.name, talk.models.window, talk.engine.window()) == ("lab/second", 900, 900)
    assert await talk.says("and now?") == "I am second."
    await talk.close()


async def test_an_answer_under_way_comes_to_its_end_when_another_model_is_picked(server: WireServer) -> None:
    talk, gate = Talk(lab(server)), Gate()
    answers = Answer(Text("I am still first.")).events("openai-chat")
    server.script(Reply([*answers[:2], gate, *answers[2:]]))
    talk.conversation.send("who?")
    await gate.reached()
    await talk.models.switch("lab/second")
    assert talk.models.name == "lab/second"
    gate.open()
    await talk.conversation.ended()
    assert talk.engine.transcript.history[-1].content == "I am still first."
    assert await talk.says("and now?") == "I am second."
    await talk.close()


class Closing(Model):
    """Says when it was closed."""

    def __init__(self, *answers: Sequence[Line]) -> None:
        super().__init__(*answers)
        self.closed = asyncio.Event()

    async def close(self) -> None:
        self.closed.set()


async def test_the_model_before_is_closed_behind_its_last_answer(server: WireServer) -> None:
    source, go_on, begun = lab(server), asyncio.Event(), asyncio.Event()
    first = Closing([begun.set, go_on, TextChunk("Me."), FinishChunk("stop")])
    engine = engine_of(first, Tools())
    models, conversation = Models(engine, source, source.choose()), Conversation(engine, None, Screen())
    conversation.send("who?")
    await begun.wait()
    await models.switch("lab/second")
    assert not first.closed.is_set()
    go_on.set()
    await conversation.ended()
    assert engine.transcript.history[-1].content == "Me."
    await first.closed.wait()
    await conversation.close()
    await engine.provider.close()


async def test_a_model_that_is_not_there_changes_nothing(server: WireServer) -> None:
    talk = Talk(lab(server))
    with pytest.raises(ConfigError, match="nobody"):
        await talk.models.switch("nobody/x")
    assert talk.models.name == "lab/first"
    assert await talk.says("who?") == "I am first."
    await talk.close()


async def test_of_two_that_are_picked_at_once_the_later_one_answers(server: WireServer) -> None:
    talk = Talk(lab(server))
    await asyncio.gather(talk.models.switch("lab/second"), talk.models.switch("lab/third"))
    assert await talk.says("who?") == "I am third."
    await talk.close()


async def test_without_a_name_the_first_that_talks_answers(server: WireServer) -> None:
    source = lab(server)
    nameless = ConfiguredModels(
        source.settings.model_copy(update={"model": "lab/", "base_url": server.base_url("openai-chat")}), source.environ
    )
    talk = Talk(nameless)
    assert talk.models.name == ""
    await talk.models.load()
    assert talk.models.name == "lab/first"
    assert await talk.says("who?") == "I am first."
    await talk.close()


async def test_what_can_be_picked_is_listed_once_with_the_present_one_first(server: WireServer) -> None:
    talk = Talk(lab(server, "unlisted"))
    assert await talk.models.known() == [
        "lab/unlisted",
        "lab/a-later-one",
        "lab/embed-small",
        "lab/first",
        "lab/second",
        "offline/rehearsal",
    ]
    assert talk.models.silent == []
    server.script(Reply.json({"error": {"message": "Incorrect API key"}}, 401))
    assert await talk.models.known() == ["lab/unlisted", "offline/rehearsal"]
    assert talk.models.silent == ["lab"]
    await talk.close()


async def test_where_there_is_only_one_model_none_can_be_picked() -> None:
    models = Models(engine_of(Model(), Tools()))
    assert (models.host, await models.known()) == ("", [models.name])
    await models.load()
    with pytest.raises(UsageError):
        await models.switch("openai/gpt-5")


async def test_a_model_that_knows_no_effort_is_said_to_take_none() -> None:
    engine = engine_of(Model(), Tools())
    models = Models(engine)
    assert models.use_effort("low") == "Effort: low, for models that take it: scripted doesn't."
    assert engine.settings.effort == "low"
    assert models.use_effort(None) == "Effort: default, from the next answer on."


async def test_while_the_fallback_answers_the_window_is_its_own(server: WireServer) -> None:
    table = {"api": "openai-chat", "base_url": server.base_url("openai-chat")}
    models = {"first": {"context_window": 5000, "fallback": "lab/second"}, "second": {"context_window": 900}}
    settings = Settings.model_validate({"model": "lab/first", "providers": {"lab": table | {"models": models}}})
    talk = Talk(ConfiguredModels(settings, {}))
    await talk.models.load()
    assert talk.models.window == 5000
    away = Reply.json({"error": {"message": "slow down"}}, 429, {"Retry-After": "600"})
    server.script(away, Answer(Text("4"), usage=(700, 150, 0)))
    assert await talk.says("2 + 2?") == "4"
    assert (talk.models.name, talk.models.window) == ("lab/second", 900)
    assert talk.models.window == talk.engine.window(), "what is compacted by"
    assert await talk.says("and you?") == "I am second.", "the first one wants to be left alone for ten minutes"
    assert (talk.models.name, talk.models.window) == ("lab/second", 900)
    await talk.close()


async def test_of_an_endpoint_without_a_list_a_model_has_to_be_named() -> None:
    with WireServer(lambda _: Reply.json({"error": "no such path"}, 404)) as server:
        source = ConfiguredModels(
            Settings.model_validate({"model": "openai", "base_url": server.base_url("openai-chat")}), {}
        )
        with pytest.raises(ConfigError) as raised:
            await source.named(source.choose())
    said = raised.value.line
    assert "no model was named, and openai at http://127.0.0.1" in said
    assert "has no such path (404): no such path. Name one: -m openai/MODEL." in said
    assert "knows no model" not in said
