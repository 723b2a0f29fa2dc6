"""Files in the console: completed and named behind `@`, seen as chips before and after they go, in the request."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from tests.conversation.test_attachments import png
from tests.providers.reading import provider_at
from tests.tui import parts
from tests.tui.parts import chat, see, seen, until
from tests.wire_bytes import Answer, Text
from tests.wire_server import Reply, WireServer

Open = Callable[..., AbstractAsyncContextManager[Pilot[Any]]]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture
def console(tmp_path: Path, server: WireServer) -> Open:
    @asynccontextmanager
    async def opened(size: tuple[int, int] = (80, 24)) -> AsyncGenerator[Pilot[Any]]:
        provider: Any = provider_at(server, "openai-chat")
        try:
            async with parts.app(tmp_path, provider, pictures_path=tmp_path / "saved").run_test(size=size) as pilot:
                await pilot.pause()
                yield pilot
        finally:
            await provider.close()

    return opened


async def typed(pilot: Pilot[Any], text: str) -> None:
    for character in text:
        await pilot.press("space" if character == " " else character)


def body(server: WireServer, number: int = 0) -> str:
    return json.dumps(server.requests[number].body, ensure_ascii=False)


async def test_a_name_with_spaces_is_completed_shown_and_sent(
    console: Open, server: WireServer, tmp_path: Path
) -> None:
    (tmp_path / "a name.txt").write_text("what is in it\n" * 600)
    server.script(Answer(Text("All read.")))
    async with console() as pilot:
        await typed(pilot, "sum up @name")
        await see(pilot, "a name.txt")
        await pilot.press("tab")
        await until(pilot, lambda: chat(pilot.app).prompt.text == 'sum up @"a name.txt" ')
        await see(pilot, "+ a name.txt · ~2.1k tokens")
        await pilot.press("enter")
        await see(pilot, "All read.")
        await see(pilot, "▸ a name.txt  ~2.1k tokens")
        assert "+ a name.txt" not in seen(pilot.app)
        await pilot.press("tab", "o")
        await see(pilot, "  what is in it")
    assert "what is in it" in body(server)
    assert 'path=\\"a name.txt\\"' in body(server)


async def test_chips_stand_in_one_line_and_count_what_has_no_room(console: Open, tmp_path: Path) -> None:
    for name in ("first", "second", "third", "fourth"):
        (tmp_path / f"{name}-of-them-all.md").write_text("x" * 4000)
    (tmp_path / "shot.png").write_bytes(png())
    (tmp_path / "a.bin").write_bytes(b"\0")
    async with console() as pilot:
        prompt = chat(pilot.app).prompt
        prompt.put("@shot.png and @gone.md")
        await see(pilot, "! gone.md · no such file   + shot.png · picture · 68 B")
        prompt.put("@first-of-them-all.md:1 @second-of-them-all.md @third-of-them-all.md @fourth-of-them-all.md")
        await see(pilot, "+ …them-all.md · ~1k tokens · l…   + …f-them-all.md · ~1k tokens   + 2 more")
        prompt.put("@a.bin")
        await see(pilot, "! a.bin · is neither text nor a PNG")
        prompt.put("no more")
        await until(pilot, lambda: "a.bin" not in seen(pilot.app))


async def test_what_can_not_go_is_told_and_the_text_comes_back(
    console: Open, server: WireServer, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    server.script(Answer(Text("I don't know her.")))
    async with console() as pilot:
        prompt = chat(pilot.app).prompt
        prompt.put("read @pipe")
        await pilot.press("enter")
        await see(pilot, "Not attached: pipe is a named pipe")
        await until(pilot, lambda: prompt.text == "read @pipe")
        prompt.put("ask @alice about @gone.md")
        await pilot.press("enter")
        await see(pilot, "I don't know her.")
        await see(pilot, "Not attached, since no such file is there: @gone.md.")
    assert len(server.requests) == 1


async def test_after_an_endpoint_refused_a_picture_the_next_is_refused_here(
    console: Open, server: WireServer, tmp_path: Path
) -> None:
    (tmp_path / "shot.png").write_bytes(png())
    refusal = Reply.json({"error": {"message": "This model does not support image input."}}, 400)
    server.script(refusal, Answer(Text("I see nothing.")))
    async with console() as pilot:
        prompt = chat(pilot.app).prompt
        prompt.put("look at @shot.png")
        await pilot.press("enter")
        await see(pilot, "I see nothing.")
        await see(pilot, "▸ shot.png  picture · 68 B")
        prompt.put("look at @shot.png")
        await see(pilot, "! shot.png · is a picture, and the model takes none")
        await pilot.press("enter")
        await see(pilot, "refused one. Use a model that sees.")
        await until(pilot, lambda: prompt.text == "look at @shot.png")
    assert len(server.requests) == 2


async def test_what_is_pasted_names_nothing(console: Open, server: WireServer, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("of the first")
    (tmp_path / "b.md").write_text("of the second")
    server.script(Answer(Text("All read.")))
    async with console() as pilot:
        await typed(pilot, "see @a.md ")
        chat(pilot.app).prompt.post_message(Paste("\n".join(["a log", *["and @b.md"] * 20])))
        await see(pilot, "[Pasted 21 lines]")
        await see(pilot, "+ a.md · ~3 tokens")
        await pilot.press("enter")
        await see(pilot, "All read.")
    assert "of the first" in body(server)
    assert "and @b.md" in body(server)
    assert "of the second" not in body(server)
