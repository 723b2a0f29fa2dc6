"""Files in the console: completed and named behind `@`, seen as chips before and after they go, in the request."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from console_app.console.files import clipboard
from console_app.tui.prompt.prompt_box import FileIndex
from tests.console.test_attachments import png
from tests.console.test_clipboard import X11, copied, environ, program
from tests.patience import PATIENCE
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
    async def opened(size: tuple[int, int] = (80, 24), *, toasts: bool = False) -> AsyncGenerator[Pilot[Any]]:
        provider: Any = provider_at(server, "openai-chat")
        console = parts.app(tmp_path, provider, pictures_path=tmp_path / "saved")
        try:
            async with console.run_test(size=size, notifications=toasts) as pilot:
                await pilot.pause()
                yield pilot
        finally:
            await provider.close()

    return opened


def body(server: WireServer, number: int = 0) -> str:
    return json.dumps(server.requests[number].body, ensure_ascii=False)


async def test_a_name_with_spaces_is_completed_shown_and_sent(
    console: Open, server: WireServer, tmp_path: Path
) -> None:
    (tmp_path / "a name.txt").write_text("what is in it\n" * 600)
    server.script(Answer(Text("All read.")))
    async with console() as pilot:
        await pilot.press(*"sum up @name")
        await see(pilot, "a name.txt")
        await pilot.press("tab")
        await until(pilot, lambda: chat(pilot.app).prompt.text == 'sum up @"a name.txt" ')
        await see(pilot, "+ a name.txt · ~2.1k tokens")
        await pilot.press("enter")
        await see(pilot, "All read.")
        await see(pilot, "▸ a name.txt  ~2.1k tokens")
        assert "+ a name.txt" not in seen(pilot.app)
        await pilot.press("alt+pageup", "o")
        await see(pilot, "  what is in it")
    assert "what is in it" in body(server)
    assert 'path=\\"a name.txt\\"' in body(server)


async def test_what_fits_better_comes_to_the_top_when_it_is_found_later(
    console: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file777.txt").write_text("")
    for number in range(8):
        (tmp_path / f"file7-7-7-{number}.txt").write_text("")
    further, folders = threading.Event(), iter((True,))

    def goes_on(_index: FileIndex) -> bool:
        return next(folders, False) or further.wait(PATIENCE)

    monkeypatch.setattr(FileIndex, "_goes_on", goes_on)  # the walk stands still before the second folder
    async with console() as pilot:
        await pilot.press(*"@file777")
        await see(pilot, "file7-7-7-7.txt")
        assert "deep/file777.txt" not in seen(pilot.app)
        further.set()
        await see(pilot, "deep/file777.txt")
        await pilot.press("tab")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "@deep/file777.txt ")


async def test_chips_stand_in_one_line_and_count_what_has_no_room(console: Open, tmp_path: Path) -> None:
    for name in ("first", "second", "third", "fourth"):
        (tmp_path / f"{name}-of-them-all.md").write_text("x" * 4000)
    (tmp_path / "docs/of-the-console").mkdir(parents=True)
    for name in ("guide", "first-steps"):
        (tmp_path / f"docs/of-the-console/{name}.md").write_text("x" * 4000)
    (tmp_path / "shot.png").write_bytes(png())
    (tmp_path / "a.bin").write_bytes(b"\0")
    (tmp_path / "print.py").write_text("print(1)\n" * 50)
    async with console() as pilot:
        prompt = chat(pilot.app).prompt
        prompt.put("@shot.png and @gone.md")
        await see(pilot, "! gone.md · no such file   + shot.png · ~20 tokens · picture")
        prompt.put("@print.py:3-7 @shot.png")
        await see(pilot, "+ print.py · ~12 tokens   + shot.png · ~20 tokens · picture")
        prompt.put("@first-of-them-all.md:1 @second-of-them-all.md @third-of-them-all.md @fourth-of-them-all.md")
        await see(pilot, "+ first-of-them-all.md   + second-of-them-all.md   + 2 more")
        prompt.put("@docs/of-the-console/guide.md:1 @docs/of-the-console/first-steps.md:1")
        await see(pilot, "+ …/guide.md · ~1k tokens   + …/first-steps.md · ~1k tokens")
        prompt.put("@a.bin")
        await see(pilot, "! a.bin · is neither text nor a PNG")
        prompt.put("no more")
        await until(pilot, lambda: "a.bin" not in seen(pilot.app))


async def test_a_name_that_is_being_completed_is_not_missing_yet(console: Open, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/guide.md").write_text("x" * 4000)
    (tmp_path / "shot.png").write_bytes(png())
    async with console() as pilot:
        prompt = chat(pilot.app).prompt
        prompt.put("@shot.png @docs/gui")
        await see(pilot, "docs/guide.md")
        await see(pilot, "+ shot.png · ~20 tokens · picture")
        assert "no such file" not in seen(pilot.app)
        await pilot.press("escape")
        await see(pilot, "! docs/gui · no such file")
        await pilot.press("d")
        await see(pilot, "docs/guide.md")
        await until(pilot, lambda: "no such file" not in seen(pilot.app))
        await pilot.press("space")
        await see(pilot, "! docs/guid · no such file")
        prompt.put("@docs/none.md")
        await see(pilot, "! docs/none.md · no such file")


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
        await see(pilot, "▸ shot.png  ~20 tokens · picture")
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
        await pilot.press(*"see @a.md ")
        chat(pilot.app).prompt.post_message(Paste("\n".join(["a log", *["and @b.md"] * 20])))
        await see(pilot, "[Pasted 21 lines]")
        await see(pilot, "+ a.md · ~3 tokens")
        await pilot.press("enter")
        await see(pilot, "All read.")
    assert "of the first" in body(server)
    assert "and @b.md" in body(server)
    assert "of the second" not in body(server)


async def test_a_picture_on_the_clipboard_is_attached_by_ctrl_v_and_by_an_empty_paste(
    console: Open, server: WireServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "xclip", X11)
    copied(tmp_path, png(), "image/png")
    monkeypatch.setattr(clipboard, "PATIENCE", PATIENCE)
    for name, value in environ(tmp_path, DISPLAY=":0", WAYLAND_DISPLAY="").items():
        monkeypatch.setenv(name, value)
    server.script(Answer(Text("A picture.")))
    async with console() as pilot:
        await pilot.press(*"what is")
        await pilot.press("ctrl+v")
        await see(pilot, "~20 tokens · picture")
        assert chat(pilot.app).prompt.text.startswith("what is @saved/picture-")
        copied(tmp_path, b"  and more", "text/plain")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: chat(pilot.app).prompt.text.endswith(".png   and more"))
        chat(pilot.app).prompt.post_message(Paste(""))
        await until(pilot, lambda: chat(pilot.app).prompt.text.endswith("  and more  and more"))
        await pilot.press("enter")
        await see(pilot, "A picture.")
    assert base64.b64encode(png()).decode() in body(server)


async def test_without_a_clipboard_ctrl_v_says_what_to_do(console: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    async with console(toasts=True) as pilot:
        await pilot.press("ctrl+v")
        await see(pilot, "Clipboard: no desktop")
        pilot.app.copy_to_clipboard("copied here")
        await pilot.press("ctrl+v")
        await until(pilot, lambda: chat(pilot.app).prompt.text == "copied here")


async def test_enter_waits_for_what_is_being_pasted(
    console: Open, server: WireServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "gate")
    held = f"case $* in *TARGETS) read _ < {tmp_path / 'gate'} ;; esac\n"
    program(tmp_path, "xclip", held + X11)
    copied(tmp_path, png(), "image/png")
    monkeypatch.setattr(clipboard, "PATIENCE", PATIENCE)
    for name, value in environ(tmp_path, DISPLAY=":0", WAYLAND_DISPLAY="").items():
        monkeypatch.setenv(name, value)
    async with console() as pilot:
        await pilot.press(*"what is")
        await pilot.press("ctrl+v", "enter")
        assert chat(pilot.app).prompt.pasting
        assert chat(pilot.app).prompt.text == "what is"
        await asyncio.to_thread((tmp_path / "gate").write_text, "go\n")
        await until(pilot, lambda: ".png" in chat(pilot.app).prompt.text)
    assert not server.requests
