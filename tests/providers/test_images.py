"""Pictures that go with a message: sent in each format's own words, until an endpoint says that its model can't see."""

from __future__ import annotations

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from console_app.config.models import KnownRefusals
from console_app.domain.messages import AssistantMessage, Attachment, ToolMessage, UserMessage
from console_app.domain.picture_size import WIDEST, picture_size, scaled, sides_sent
from console_app.domain.ports import ModelRequest
from console_app.domain.tools import Outcome, ToolCall
from console_app.engine.context import normalise
from console_app.providers.formats.openai_chat import chat_messages
from console_app.providers.pictures import LARGEST, pictures_of
from tests.each import each
from tests.examples import turns
from tests.providers import strict_wire
from tests.providers.reading import TOOLS, notices_of, provider_at, read, text_of
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, WireServer

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 16
every_api = pytest.mark.parametrize("api", APIS)


def request(*paths: Path, mime: str = "image/png") -> ModelRequest:
    """Return a request about pictures that were saved."""
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
async def test_a_refusal_that_goes_on_without_pictures_was_not_about_them(
    server: WireServer, api: Api, tmp_path: Path
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    refusals = [
        Reply.json({"error": {"message": f"text content blocks must be non-empty (ref: 17a{n}-44)"}}, 400)
        for n in range(2)
    ]
    server.script(*refusals, Answer(Text("A dot.")))
    known = KnownRefusals(tmp_path / "refusals.json", "1")
    provider = provider_at(server, api, known=known)
    _, error = await read(provider, request(path))
    assert error is not None
    assert provider.no_pictures == ""
    chunks, _ = await read(provider, request(path))
    await provider.close()
    assert (text_of(chunks), notices_of(chunks)) == ("A dot.", [])
    assert [len(shown(one.body)) for one in server.requests] == [1, 0, 1]
    assert not (tmp_path / "refusals.json").exists()


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'temperature' is not supported with llama-90b-vision",
        "Invalid schema for function 'demo_fail': content: strange",
    ],
)
async def test_what_else_a_refusal_names_goes_before_pictures(server: WireServer, tmp_path: Path, message: str) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    server.script(Reply.json({"error": {"message": message}}, 400), Answer(Text("A dot.")))
    provider = provider_at(server, "openai-chat", temperature=0.5)
    chunks, error = await read(provider, replace(request(path), tools=TOOLS))
    await provider.close()
    assert (error, len(notices_of(chunks))) == (None, 1)
    assert [len(shown(one.body)) for one in server.requests] == [1, 1]


@every_api
async def test_a_filter_of_contents_does_not_refuse_pictures(server: WireServer, api: Api, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    words = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    server.script(Reply.json({"error": {"message": words, "code": "content_filter"}}, 400))
    provider = provider_at(server, api)
    chunks, error = await read(provider, request(path))
    await provider.close()
    assert error is not None
    assert (notices_of(chunks), len(server.requests)) == ([], 1)


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


# -- of results, and made small


def drawn(path: Path, width: int, height: int, kind: str = "PNG") -> Path:
    """A picture with something on it."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).line((0, 0, width, height), "red", 5)
    picture.save(path, kind)
    return path


def after_results(*paths: Path) -> ModelRequest:
    """A request after two calls, each of which gave pictures."""
    calls = tuple(ToolCall(id=f"call_{n}", name="demo_draw") for n in range(2))
    answer = AssistantMessage(content="Look.", tool_calls=calls)
    images = tuple(map(str, paths))
    results = [
        ToolMessage(tool_call_id=call.id, content=f"drawn {call.id}", name=call.name, images=images) for call in calls
    ]
    return ModelRequest(messages=(UserMessage(content="Draw."), answer, *results))


def all_pictures(body: dict[str, Any]) -> list[str]:
    """The base64 of every picture in a body, wherever it stands."""
    return re.findall(r"(?:iVBORw0KGgo|/9j/)[A-Za-z0-9+/=]+", json.dumps(body))


@every_api
async def test_pictures_of_results_go_in_the_form_of_each_wire(server: WireServer, api: Api, tmp_path: Path) -> None:
    asked = after_results(drawn(tmp_path / "a.png", 4, 4))
    server.script(Answer(Text("Lines.")))
    provider = provider_at(server, api)
    _, error = await read(provider, asked)
    await provider.close()
    assert error is None
    body = server.requests[0].body
    assert len(all_pictures(body)) == 2
    match api:
        case "anthropic":
            results = body["messages"][2]["content"]
            assert [one["type"] for one in results] == ["tool_result"] * 2
            assert [part["type"] for part in results[0]["content"]] == ["text", "image"]
        case "openai-responses":
            outputs = [one["output"] for one in body["input"] if one.get("type") == "function_call_output"]
            assert [[part["type"] for part in one] for one in outputs] == [["input_text", "input_image"]] * 2
        case "openai-chat":
            assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool", "tool", "user"]
            assert body["messages"][2]["content"] == "drawn call_0"
            assert [part["type"] for part in body["messages"][4]["content"]] == ["text", "image_url", "image_url"]


@every_api
async def test_pictures_of_failed_results_reach_the_model_too(server: WireServer, api: Api, tmp_path: Path) -> None:
    asked = after_results(drawn(tmp_path / "a.png", 4, 4))
    failed = [
        one.model_copy(update={"outcome": Outcome.FAILED}) if isinstance(one, ToolMessage) else one
        for one in asked.messages
    ]
    server.script(Answer(Text("Lines.")))
    provider = provider_at(server, api)
    _, error = await read(provider, ModelRequest((*failed, UserMessage(content="And?")), tools=TOOLS))
    await provider.close()
    assert error is None
    body = server.requests[0].body
    assert len(all_pictures(body)) == 2
    if api == "anthropic":
        strict_wire.check_anthropic(body)
        kinds = [block["type"] for block in body["messages"][2]["content"]]
        assert kinds == ["tool_result", "tool_result", "text", "image", "text", "image", "text"]


async def test_chat_keeps_the_users_words_behind_the_pictures_of_results(server: WireServer, tmp_path: Path) -> None:
    asked = after_results(drawn(tmp_path / "a.png", 4, 4))
    asked = ModelRequest(messages=(*asked.messages, UserMessage(content="And now?")))
    messages = chat_messages(asked)
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert [part.get("text", "picture") for part in messages[-1]["content"]][1:] == ["picture", "picture", "And now?"]
    then = ModelRequest(messages=(*asked.messages[:-1], AssistantMessage(content="Lines."), UserMessage(content="Ok.")))
    assert [one["role"] for one in chat_messages(then)][4:] == ["user", "assistant", "user"]


@every_api
async def test_results_are_words_alone_for_a_model_that_can_not_see(
    server: WireServer, api: Api, tmp_path: Path
) -> None:
    asked = after_results(drawn(tmp_path / "a.png", 4, 4))
    refused = Reply.json({"error": {"message": "image_url is only supported by certain models."}}, 400)
    server.script(refused, Answer(Text("4")), Answer(Text("5")))
    provider = provider_at(server, api)
    chunks, error = await read(provider, asked)
    await read(provider, asked)
    await provider.close()
    assert error is None
    assert len(notices_of(chunks)) == 1
    assert [len(all_pictures(one.body)) for one in server.requests] == [2, 0, 0]
    assert provider.no_pictures


@pytest.mark.parametrize(("kind", "mime"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/png")])
async def test_a_large_picture_is_made_small(server: WireServer, tmp_path: Path, kind: str, mime: str) -> None:
    from PIL import Image

    asked = request(drawn(tmp_path / "large.png", 2400, 1200, kind))
    server.script(Answer(Text("A line.")))
    provider = provider_at(server, "anthropic")
    await read(provider, asked)
    await provider.close()
    (picture,) = shown(server.requests[0].body)
    assert picture["source"]["media_type"] == mime
    with Image.open(io.BytesIO(base64.b64decode(picture["source"]["data"]))) as small:
        assert small.size == (2000, 1000)


@each(("sides", "orientation"), turns([(2601, 1445), (2001, 7), (617, 2161), (2000, 2000)], [0, 6]))
def test_a_picture_is_as_large_as_people_are_told(tmp_path: Path, sides: tuple[int, int], orientation: int) -> None:
    from PIL import Image

    path = drawn(tmp_path / "photo.jpg", *sides, "JPEG")
    if orientation:
        with Image.open(path) as photo:
            exif = Image.Exif()
            exif[0x0112] = orientation
            photo.save(path, "JPEG", exif=exif)
    told = picture_size(path.read_bytes())
    assert told == (sides[::-1] if orientation else sides)
    (sent,) = pictures_of(UserMessage(content="", images=(str(path),)))
    with Image.open(io.BytesIO(base64.b64decode(sent.data))) as picture:
        if max(sides) > WIDEST:
            assert picture.size == scaled(told)
            assert sides_sent(told).endswith("sent as {}x{}".format(*picture.size))
        else:
            assert (picture.size, sides_sent(told)) == (sides, "")


async def test_of_many_pictures_the_newest_are_sent(server: WireServer, tmp_path: Path) -> None:
    paths = [drawn(tmp_path / f"{number}.png", 4 + number, 4) for number in range(27)]
    messages: list[UserMessage | AssistantMessage] = []
    for path in paths:
        messages += [UserMessage(content=path.name, images=(str(path),)), AssistantMessage(content="Seen.")]
    asked = ModelRequest(messages=(*messages, UserMessage(content="And?")))
    server.script(Answer(Text("4")))
    provider = provider_at(server, "openai-chat")
    await read(provider, asked)
    await provider.close()
    sent = all_pictures(server.requests[0].body)
    newest = [base64.b64encode(path.read_bytes()).decode() for path in paths[10:]]
    assert sent == newest
    assert "0.png" in json.dumps(server.requests[0].body)
