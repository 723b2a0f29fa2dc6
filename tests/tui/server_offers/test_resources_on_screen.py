"""Resources of servers in the console: completed behind `@`, attached to what you send, read, watched."""

from __future__ import annotations

from pathlib import Path

import pytest

from console_app.domain.errors import ServerError
from tests.tui.server_offers.conftest import OpenConsole, config


async def test_resources_complete_beside_files_and_are_attached(console: OpenConsole, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    async with console() as shown:
        await shown.type("see @not")
        await shown.until(lambda: shown.labels[:2] == ["notes.txt", "notes:"])
        await shown.pilot.press("down", "tab")
        await shown.until(lambda: shown.labels[:3] == ["note://1", "note://2", "note://picture"])
        await shown.see("The first note · text/plain · 10 B")
        await shown.type("fir")
        await shown.until(lambda: shown.labels == ["note://1"])
        await shown.pilot.press("enter")
        await shown.until(lambda: shown.text == "see @notes:note://1 ")
        await shown.pilot.press("enter")
        await shown.see("▸ notes note://1  text/plain · 10 B")
        assert shown.sent.startswith("see @notes:note://1\n\n<attachment ") or "the note 1" in shown.sent


async def test_a_template_is_followed_with_values_of_the_server_and_bytes_are_saved(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.type("@notes:note://in")
        await shown.until(lambda: "note://in/{language}/{+path}" in shown.labels)
        await shown.pilot.press("tab")
        await shown.until(lambda: shown.text == "@notes:note://in/")
        await shown.until(lambda: "python" in shown.labels)
        await shown.type("r")
        await shown.until(lambda: shown.labels[:1] == ["rust"])
        await shown.pilot.press("tab")
        await shown.until(lambda: shown.text == "@notes:note://in/rust/")
        await shown.type("a.rs")
        await shown.pilot.press("enter")
        await shown.until(lambda: bool(shown.model.requests))
        assert "the note in/rust/a.rs" in shown.sent
        await shown.until(lambda: not shown.chat.console.conversation.busy)
        await shown.put("what is on @notes:note://picture")  # bytes are saved and named
        await shown.pilot.press("enter")
        await shown.see("▸ notes note://picture  image/png · 8 B · saved")
        assert "[resource note://picture of type image/png, 8 bytes, saved as " in shown.sent


async def test_what_can_not_be_read_is_told_and_the_text_comes_back(console: OpenConsole) -> None:
    async with console(size=(80, 24)) as shown:
        for uri, why in (("note://nowhere", "notes: Resource not found"), ("note://large", "is too large to send")):
            await shown.put(f"read @notes:{uri} and @notes:note://1")
            await shown.pilot.press("enter")
            await shown.see(why)
            await shown.until(lambda uri=uri: shown.text == f"read @notes:{uri} and @notes:note://1")
        assert not shown.model.requests
        assert not shown.chat.console.conversation.busy
        await shown.put("never mind")
        await shown.pilot.press("enter")
        await shown.until(lambda: bool(shown.model.requests))


async def test_escape_and_up_stop_a_read_that_takes_long_and_keep_the_text(console: OpenConsole) -> None:
    async with console(config("slow-read")) as shown:
        await shown.put("read @notes:note://1")
        await shown.pilot.press("enter")
        await shown.see("Reading attachments · esc take back")
        await shown.type("meanwhile")  # the keys are free
        assert shown.text == "meanwhile"
        await shown.put("")
        await shown.pilot.press("escape")
        await shown.until(lambda: shown.text == "read @notes:note://1" and not shown.chat.console.conversation.busy)
        await shown.pilot.press("enter")
        await shown.see("Reading attachments")
        await shown.pilot.press("up")
        await shown.until(lambda: shown.text == "read @notes:note://1" and not shown.chat.console.conversation.busy)
        assert not shown.model.requests


async def test_what_fails_while_you_write_waits_in_the_queue(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.put("read @notes:note://nowhere")
        await shown.pilot.press("enter")
        await shown.type("x")
        await shown.see("Resource not found")
        await shown.until(lambda: not shown.chat.console.conversation.busy)
        kept = [shown.text, *shown.chat.console.conversation.waiting]
        assert "read @notes:note://nowhere" in [text.removesuffix("x") for text in kept]


async def test_a_thousand_resources_and_hostile_ones(console: OpenConsole) -> None:
    async with console(config("many", "hostile"), size=(80, 24)) as shown:
        await shown.type("@notes:many/77")
        await shown.until(lambda: shown.labels[:1] == ["note://many/77"])
        await shown.put("")
        await shown.type("@notes:red")
        await shown.until(lambda: bool(shown.labels) and "red" in shown.labels[0])
        assert "\x1b]" not in shown.screen
        await shown.pilot.press("tab")
        await shown.until(lambda: shown.text.startswith('@notes:"note://[/red]'))
        await shown.pilot.press("enter")
        await shown.until(lambda: bool(shown.model.requests))
        assert "the note [/red]" in shown.sent


async def test_an_update_of_a_watched_resource_is_told_until_it_is_read(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.put("hello")
        await shown.pilot.press("enter")
        await shown.see("That is all.")
        watching = shown.chat.offers.watching
        await watching.switch("notes", "note://1")
        assert watching.mark("notes", "note://1") == "watched"
        await shown.call("touch", uris=["note://1"])
        await shown.see("note://1 of notes has changed. @notes:note://1 attaches it as it is now.")
        assert watching.mark("notes", "note://1") == "changed"
        await shown.call("touch", uris=["note://1", "note://2", "note://3", "note://4", "note://5"])
        await shown.see("4 resources of notes have changed: note://2, note://3, note://4 and 1 more.")
        assert shown.screen.count("note://1 of notes has changed") == 1
        await shown.put("look at @notes:note://1")
        await shown.pilot.press("enter")
        await shown.until(lambda: watching.mark("notes", "note://1") == "watched")


async def test_watching_what_can_not_be_watched_says_so(console: OpenConsole) -> None:
    async with console(config("no-subscribe")) as shown:
        watching = shown.chat.offers.watching
        with pytest.raises(ServerError, match="notes: Method not found"):
            await watching.switch("notes", "note://1")
        assert watching.mark("notes", "note://1") == ""
