"""Pictures that go with a message: sent in each format's own words, until an endpoint says that its model can't see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console_app.domain.messages import Attachment, UserMessage
from console_app.domain.ports.provider import ModelRequest
from console_app.engine.history import normalise
from console_app.providers.pictures import LARGEST
from tests.providers.reading import notices_of, provider_at, read, text_of
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, WireServer

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 16
every_api = pytest.mark.parametrize("api", APIS)


def request(*paths: Path, mime: str = "image/png") -> ModelRequest:
    """What is asked about pictures that were saved."""
    files = [
        Attachment(server="s", uri=f"p://{path.name}", mime=mime, text=f"[{path}]", path=str(path)) for path in paths
    ]
    return ModelRequest(messages=normalise([UserMessage(content="What is this?", attachments=tuple(files))]))  # pyright: ignore[reportArgumentType]


def shown(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the user's message that are pictures."""
    (message,) = body.get("input") or body["messages"]
    content = message["content"]
    return [] if isinstance(content, str) else [part for part in content if "image" in part["type"]]


@every_api
async def test_a_picture_is_sent_beside_the_text_that_names_it(server: WireServer, api: Api, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    server.script(Answer(Text("A dot.")))
    provider = provider_at(server, api)
    chunks, error = await read(provider, request(path))
    await provider.close()
    assert (error, text_of(chunks)) == (None, "A dot.")
    (picture,) = shown(server.requests[0].body)
    data = "iVBORw0KGgowMDAwMDAwMDAwMDAwMDAw"
    url = f"data:image/png;base64,{data}"
    assert (
        picture
        == {
            "openai-chat": {"type": "image_url", "image_url": {"url": url}},
            "openai-responses": {"type": "input_image", "image_url": url},
            "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        }[api]
    )
    assert str(path) in str(server.requests[0].body)


@every_api
async def test_a_model_that_can_not_see_is_asked_again_without(server: WireServer, api: Api, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    refusal = Reply.json({"error": {"message": "This model does not support image input."}}, 400)
    server.script(refusal, Answer(Text("A file.")), Answer(Text("Still a file.")))
    provider = provider_at(server, api)
    chunks, _ = await read(provider, request(path))
    assert notices_of(chunks) == ["test refuses images: the request is sent again without it."]
    assert text_of(chunks) == "A file."
    again, _ = await read(provider, request(path))
    await provider.close()
    assert text_of(again) == "Still a file."
    assert [len(shown(one.body)) for one in server.requests] == [1, 0, 0]


@every_api
async def test_what_is_no_picture_or_too_large_or_gone_is_only_named(
    server: WireServer, api: Api, tmp_path: Path
) -> None:
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "large.png").write_bytes(PNG + bytes(LARGEST))
    server.script(Answer(Text("Hm.")))
    provider = provider_at(server, api)
    await read(provider, request(tmp_path / "text.png", tmp_path / "large.png", tmp_path / "gone.png"))
    await provider.close()
    assert shown(server.requests[0].body) == []
    assert "gone.png" in str(server.requests[0].body)


def test_only_pictures_are_sent_and_two_messages_keep_theirs(tmp_path: Path) -> None:
    one = Attachment(server="s", mime="image/png", text="a", path="/a.png")
    sound = Attachment(server="s", mime="audio/wav", text="b", path="/b.wav")
    first, second = (UserMessage(content="x", attachments=attached) for attached in ((one, sound), (one,)))
    (sent,) = normalise([first, second])
    assert isinstance(sent, UserMessage)
    assert sent.images == ("/a.png", "/a.png")
    assert normalise([sent]) == (sent,)
