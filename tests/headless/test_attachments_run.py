"""`fanout run "… @file"`: what a file holds is in the request, on every wire; what can't be had is told."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.console.test_attachments import png
from tests.headless.inside import Inside
from tests.headless.test_run import model
from tests.wire_bytes import APIS, Answer, Api, Text
from tests.wire_server import Reply, WireServer


def pictures(body: Any) -> list[str]:
    """The base64 of every picture of a request, in whatever words its format has for it."""
    message = (body.get("input") or body["messages"])[-1]
    parts = message["content"] if isinstance(message["content"], list) else []
    found: list[str] = []
    for part in parts:
        match part:
            case {"type": "image_url", "image_url": {"url": url}} | {"type": "input_image", "image_url": url}:
                found.append(url.removeprefix("data:image/png;base64,"))
            case {"type": "image", "source": {"media_type": "image/png", "data": data}}:
                found.append(data)
            case _:
                pass
    return found


@pytest.mark.parametrize("api", APIS)
def test_files_folders_and_pictures_are_in_the_request(fanout: Inside, server: WireServer, api: Api) -> None:
    fanout.write("README.md", "# The readme of it all\n")
    fanout.write("src/main.py", "print('hello')\n")
    (fanout.cwd / "my shot.png").write_bytes(png())
    server.script(Answer(Text("Read.")))
    prompt = 'summarise @README.md, list @src and look at @"my shot.png"'
    done = fanout.run("run", "--no-mcp", *model(server, api), prompt)
    assert (done.code, done.out, done.err) == (0, "Read.\n", "")
    text = server.requests[0].raw.decode().replace('\\"', '"')
    for part in (
        "summarise @README.md, ",
        "# The readme of it all",
        'path="README.md"',
        "main.py",
        'path="my shot.png"',
    ):
        assert part in text
    assert "hello" not in text
    assert pictures(server.requests[0].body) == [base64.b64encode(png()).decode()]


def test_a_conversation_goes_on_with_what_was_attached_then(fanout: Inside, server: WireServer) -> None:
    path = fanout.write("notes.txt", "as it was")
    (fanout.cwd / "a.png").write_bytes(png())
    server.script(Answer(Text("Read.")), Answer(Text("Still.")))
    assert fanout.run("run", "--no-mcp", *model(server), "read @notes.txt @a.png").code == 0
    path.write_text("as it is")
    (fanout.cwd / "a.png").unlink()
    assert fanout.run("run", "--no-mcp", *model(server), "-c", "and now?").code == 0
    first, again = (request.body["messages"] for request in server.requests)
    assert again[1 : len(first)] == first[1:], "but the system prompt, which says what is there now"
    assert "as it was" in json.dumps(again)
    shown = fanout.run("sessions", "export", fanout.run("sessions", "list").out.split()[0])
    assert "attached: notes.txt" in shown.out
    assert "as it was" in shown.out


def test_what_is_not_there_is_told_and_the_words_go(fanout: Inside, server: WireServer) -> None:
    server.script(Answer(Text("Hm.")))
    done = fanout.run("run", "--no-mcp", *model(server), "ask @alice about @gone.md")
    assert (done.code, done.out) == (0, "Hm.\n")
    assert done.err == "fanout: Not attached, since no such file is there: @gone.md. It went as the words it is.\n"


def test_what_can_not_go_is_an_error_and_nothing_is_sent(fanout: Inside, server: WireServer) -> None:
    (fanout.cwd / "a.bin").write_bytes(b"\0\1\2")
    done = fanout.run("run", "--no-mcp", *model(server), "read @a.bin")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("fanout: Not attached: a.bin is neither text nor a PNG")
    assert not server.requests


def test_what_is_piped_in_names_no_files(fanout: Inside, server: WireServer) -> None:
    fanout.write("a.md", "the content")
    server.script(Answer(Text("Hm.")))
    assert fanout.run("run", "--no-mcp", *model(server), "sum up", stdin=b"see @a.md").code == 0
    assert "the content" not in server.requests[0].raw.decode()


def test_an_endpoint_that_refuses_pictures_is_told_and_the_text_goes(fanout: Inside, server: WireServer) -> None:
    (fanout.cwd / "a.png").write_bytes(png())
    refusal = Reply.json({"error": {"message": "This model does not support image input."}}, 400)
    server.script(refusal, Answer(Text("I see nothing.")))
    done = fanout.run("run", "--no-mcp", *model(server), "look at @a.png")
    assert (done.code, done.out) == (0, "I see nothing.\n")
    assert "refuses images: the request is sent again without it." in done.err
    assert [len(pictures(one.body)) for one in server.requests] == [1, 0]


def test_the_offline_model_is_shown_no_picture(fanout: Inside) -> None:
    (fanout.cwd / "a.png").write_bytes(png())
    done = fanout.run("run", "--no-mcp", "-m", "offline/rehearsal", "look at @a.png")
    assert (done.code, done.out) == (1, "")
    assert "a.png is a picture, and the model takes none: it goes by words" in done.err
