"""A model in reserve answers where the first is overloaded or out of reach, and nothing of its answer was shown."""

from __future__ import annotations

import pytest

from console_app.domain.chunks import NoticeChunk
from console_app.domain.errors import ConfigError, ProviderError
from console_app.domain.ports import Provider
from console_app.providers import OfflineProvider, TextProtocol, WithFallback
from tests.providers.reading import Waits, notices_of, provider_at, read, retries_of, text_of
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Cut, Reply, WireServer

every_api = pytest.mark.parametrize("api", APIS)
BUSY = Reply.json({"error": {"message": "Overloaded"}}, 529)


def chained(server: WireServer, api: Api, *models: str, **config: object) -> WithFallback:
    """A provider of the first of `models`, each with the next one in reserve."""
    first, second, *rest = models

    def other() -> Provider:
        return chained(server, api, second, *rest, **config) if rest else provider_at(server, api, model=second)

    return WithFallback(provider_at(server, api, Waits(), model=first, **config), f"test/{second}", other)


async def answer(provider: WithFallback) -> tuple[str, list[str], ProviderError | None]:
    """The text of one answer, its notices, and the error that ended it."""
    chunks, error = await read(provider)  # pyright: ignore[reportArgumentType]
    return text_of(chunks), notices_of(chunks), error


def asked(server: WireServer) -> list[str]:
    """The models that were asked, in order."""
    return [one.body["model"] for one in server.requests]


@every_api
async def test_it_answers_until_the_turn_ends_and_is_told_once(server: WireServer, api: Api) -> None:
    server.script(BUSY, BUSY, Answer(Text("4")), Answer(Text("5")), Answer(Text("6")))
    provider = chained(server, api, "big", "small", max_tries=2)
    provider.turn_began()
    text, notices, error = await answer(provider)
    assert (text, error, provider.model) == ("4", None, "small")
    (notice,) = notices
    assert "Overloaded (after 2 tries). test/small answers in its place until this turn ends." in notice
    assert (await answer(provider))[:2] == ("5", [])
    provider.turn_began()
    assert provider.model == "big"
    assert (await answer(provider))[:2] == ("6", [])
    await provider.close()
    assert asked(server) == ["big", "big", "small", "small", "big"]


@every_api
async def test_a_wait_of_more_than_a_minute_is_not_waited_for(server: WireServer, api: Api) -> None:
    slow = Reply.json({"error": {"message": "slow down"}}, 429, {"Retry-After": "61"})
    server.script(slow, Answer(Text("4")))
    provider = chained(server, api, "big", "small")
    assert (await answer(provider))[0] == "4"
    await provider.close()
    assert asked(server) == ["big", "small"]


async def test_a_protocol_that_is_chosen_meanwhile_is_for_the_first_one(server: WireServer) -> None:
    server.script(BUSY)
    first = TextProtocol(provider_at(server, "openai-chat", Waits(), model="big", max_tries=1))
    provider = WithFallback(first, "offline/rehearsal", OfflineProvider)
    assert (await answer(provider))[2] is None
    assert (provider.protocol, provider.has_protocols, OfflineProvider().has_protocols) == ("offline", True, False)
    provider.choose_protocol("text")
    provider.turn_began()
    assert provider.protocol == "text"
    await provider.close()


async def test_a_chain_goes_on_to_its_end(server: WireServer) -> None:
    server.script(BUSY, BUSY, Answer(Text("4")), Answer(Text("5")))
    provider = chained(server, "openai-chat", "a", "b", "c", max_tries=1)
    text, notices, _ = await answer(provider)
    assert (text, len(notices), provider.model) == ("4", 2, "c")
    provider.turn_began()
    assert (await answer(provider))[0] == "5"
    await provider.close()
    assert asked(server) == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "reply",
    [
        Reply.json({"error": {"message": "no such key"}}, 401),
        Reply.json({"error": {"message": "wrong"}}, 400),
        Reply.json({"error": {"message": "prompt is too long"}}, 400),
    ],
)
async def test_what_is_wrong_with_the_request_is_wrong_there_too(server: WireServer, reply: Reply) -> None:
    server.script(reply)
    provider = chained(server, "openai-chat", "big", "small")
    assert (await answer(provider))[2] is not None
    await provider.close()
    assert asked(server) == ["big"]


async def test_an_answer_that_was_seen_is_not_given_twice(server: WireServer) -> None:
    begun = Answer(Text("I was saying")).events("openai-chat")
    server.script(Reply([*begun[:3], Cut("reset")]))
    provider = chained(server, "openai-chat", "big", "small")
    text, notices, error = await answer(provider)
    await provider.close()
    assert text
    assert notices == []
    assert error is not None
    assert asked(server) == ["big"]


async def test_a_fallback_that_can_not_be_opened_is_said(server: WireServer) -> None:
    def missing() -> Provider:
        raise ConfigError("small needs a key, and LAB_KEY is not set")

    server.script(BUSY)
    provider = WithFallback(provider_at(server, "openai-chat", model="big", max_tries=1), "lab/small", missing)
    chunks, error = await read(provider)  # pyright: ignore[reportArgumentType]
    await provider.close()
    assert error is not None
    assert "Overloaded" in error.line
    (notice,) = [chunk for chunk in chunks if isinstance(chunk, NoticeChunk)]
    assert "lab/small can't be used" in notice.text
    assert "LAB_KEY" in notice.text
    assert not retries_of(chunks)
