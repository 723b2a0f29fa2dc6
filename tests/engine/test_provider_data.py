"""Data of an endpoint beside text and calls is kept with its message, and names that endpoint."""

from __future__ import annotations

from pydantic import TypeAdapter

from console_app.domain import events as ev
from console_app.domain.chunks import FinishChunk, ProviderData, TextChunk
from console_app.domain.messages import AssistantMessage
from console_app.domain.settings import ProviderConfig
from console_app.domain.transcript import Transcript
from tests.each import each
from tests.engine.peers import DONE, Model, Tools, call, engine_of, play
from tests.engine.virtual_time import run


class Reached(Model):
    """A model that is reached somewhere."""

    endpoint = "openai-chat model.example"


ANSWER = [
    TextChunk("Two."),
    *call(0, {"do": "ok"}),
    ProviderData({"extra_content": {"mark": "first"}}, 0),
    *call(1, {"do": "ok"}),
    ProviderData({"extra_content": {"mark": "sec"}}, 1),
    ProviderData({"extra_content": {"mark": "second"}}, 1),
    ProviderData({"extra_content": {"mark": "message"}}),
    FinishChunk("tool_calls"),
]


def test_it_joins_the_history_and_comes_back_from_a_stored_session() -> None:
    async def scene() -> None:
        engine = engine_of(Reached(ANSWER, DONE), Tools())
        events = await play(engine)
        message = next(one for one in engine.history if isinstance(one, AssistantMessage))
        assert message.endpoint == "openai-chat model.example"
        assert message.provider_data == {"extra_content": {"mark": "message"}}
        marks = [one.provider_data for one in message.tool_calls]
        assert marks == [{"extra_content": {"mark": "first"}}, {"extra_content": {"mark": "second"}}]

        stored: TypeAdapter[ev.Event] = ev.EVENT
        again = Transcript.of(stored.validate_json(stored.dump_json(event)) for event in events)
        assert again.history == engine.history

    run(scene)


def test_a_model_that_is_reached_nowhere_names_no_endpoint() -> None:
    async def scene() -> None:
        engine = engine_of(Model(DONE))
        await play(engine)
        assert [one.endpoint for one in engine.history if isinstance(one, AssistantMessage)] == [""]

    run(scene)


@each(
    ("url", "same"),
    [
        (None, True),
        ("https://api.openai.com/v1/", True),
        ("https://key@API.openai.com/v1", True),
        ("https://api.openai.com:8443/v1", False),
        ("https://gateway.example/openai/v1", False),
    ],
)
def test_an_endpoint_is_its_format_and_host(url: str | None, same: bool) -> None:
    one = ProviderConfig(name="a", api="openai-chat", model="m", base_url=url)
    assert (one.identity == "openai-chat api.openai.com") is same
    assert one.identity != ProviderConfig(name="a", api="openai-responses", model="m", base_url=url).identity
