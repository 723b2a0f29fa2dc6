"""Files and links in results: named, and opened from the keyboard with the desktop's program, or copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from console_app.tui.widgets.pick_list import PickList
from tests.tui.parts import WrittenModel, calls, decide, say
from tests.tui.server_offers.conftest import Console, OpenConsole


def opener(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = 'echo "$1" >> "$0.log"') -> Path:
    """A desktop's program for opening files, which writes down what it is given."""
    path = folder / "bin" / "xdg-open"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
    monkeypatch.setattr("sys.platform", "linux")
    return path.with_name("xdg-open.log")


async def with_result(shown: Console) -> None:
    await shown.put("make a picture")
    await shown.pilot.press("enter")
    await shown.see("All made.")
    await shown.pilot.press("tab")
    await shown.see("enter menu")


async def test_a_file_of_a_result_is_picked_and_opened(
    console: OpenConsole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opener(tmp_path, monkeypatch)
    async with console(model=WrittenModel(calls(("notes_picture", "{}")), say("All made."))) as shown:
        await with_result(shown)
        await decide(shown.pilot, "o")
        await shown.see("image.png")
        await shown.see("audio.wav")
        await shown.see("https://example.com/x")
        await decide(shown.pilot, "f")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, PickList))
        await shown.pilot.press("enter")
        await shown.until(lambda: log.exists() and log.read_text().strip().endswith("image.png"))
        assert Path(log.read_text().strip()).read_bytes().startswith(b"\x89PNG")


async def test_where_nothing_opens_files_the_path_is_copied(
    console: OpenConsole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener(tmp_path, monkeypatch, "exit 4")
    async with console(model=WrittenModel(calls(("notes_picture", "{}")), say("All made."))) as shown:
        await with_result(shown)
        await decide(shown.pilot, "f")
        await shown.pilot.press("enter")
        await shown.toast("Not opened: xdg-open ended with 4. Copied instead:")
        assert shown.pilot.app.clipboard.endswith("image.png")


async def test_files_of_a_resource_that_was_attached_open_too(
    console: OpenConsole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opener(tmp_path, monkeypatch)
    async with console() as shown:
        await shown.put("look at @notes:note://picture")
        await shown.pilot.press("enter")
        await shown.see("image/png · 8 B · saved")
        await shown.pilot.press("alt+pageup")
        await decide(shown.pilot, "f")
        await shown.until(lambda: log.exists() and log.read_text().strip().endswith("picture.png"))


async def test_structured_content_is_beside_the_text(console: OpenConsole) -> None:
    async with console(model=WrittenModel(calls(("notes_weather", "{}")), say("All made."))) as shown:
        await shown.put("how is the weather")
        await shown.pilot.press("enter")
        await shown.see("All made.")
        await shown.pilot.press("tab")
        await decide(shown.pilot, "o")
        await shown.see("It is warm.")
        await shown.see('"degrees": 21.5')
        await shown.pilot.press("ctrl+l", "right", "down")
        await shown.see("notes · say  tool · only reads (declared by server)")


async def test_a_link_to_a_resource_is_read_at_its_server(console: OpenConsole) -> None:
    async with console(model=WrittenModel(calls(("notes_picture", "{}")), say("All made."))) as shown:
        await with_result(shown)
        await decide(shown.pilot, "f")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, PickList))
        await shown.pilot.press(*"note://2", "enter")
        await shown.see("the note 2")
        await shown.pilot.press("a")
        await shown.until(lambda: shown.text == "@notes:note://2 ")
