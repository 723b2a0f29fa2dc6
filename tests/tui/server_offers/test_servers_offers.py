"""Prompts and resources in the servers screen: read, attached, watched, used; and a server's log from a level on."""

from __future__ import annotations

from console_app.tui.asking.form_dialogs import ValuesForm
from console_app.tui.servers.resource_screen import ResourceScreen
from console_app.tui.servers.screen import ServerLogDialog, ServersScreen, from_level
from console_app.tui.widgets.text_view import TextView
from tests.tui.server_offers.conftest import Console, OpenConsole, config


async def at(shown: Console, name: str) -> None:
    """Opens the servers screen with the cursor on what a search for `name` finds first below the server."""
    await shown.pilot.press("ctrl+l")
    await shown.until(lambda: isinstance(shown.pilot.app.screen, ServersScreen))
    await shown.pilot.press("slash", *name)
    await shown.see(name)
    await shown.pilot.press("enter", "home", "down")


async def test_a_resource_is_read_copied_and_attached_and_a_prompt_goes_where_prompts_are_typed(
    console: OpenConsole,
) -> None:
    async with console() as shown:
        await shown.put("explain")
        await at(shown, "note://1")
        await shown.see("The first note · text/plain · 10 B")
        await shown.pilot.press("enter")
        await shown.see("the note 1")
        await shown.see("text/plain · 10 B")
        await shown.pilot.press("c")
        assert shown.pilot.app.clipboard == "the note 1"
        await shown.pilot.press("a")
        await shown.until(lambda: shown.text == "explain @notes:note://1 ")
        assert len(shown.pilot.app.screen_stack) == 1
        await shown.put("")
        await at(shown, "review")
        await shown.pilot.press("enter")
        await shown.see("Last uses  none since it was connected")
        await shown.pilot.press("a")
        await shown.until(lambda: shown.text == "/notes:review ")
        await shown.until(lambda: "python" in shown.labels)


async def test_a_resource_is_watched_and_its_change_is_seen_everywhere(console: OpenConsole) -> None:
    async with console(size=(80, 24)) as shown:
        await at(shown, "note://1")
        await shown.pilot.press("enter")
        await shown.see("the note 1")
        await shown.pilot.press("w")
        await shown.see("○ watched")
        await shown.call("touch", uris=["note://1"])
        await shown.see("● changed since it was read")
        await shown.pilot.press("escape")
        await shown.see("resource ● changed note://1")
        await shown.pilot.press("enter")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ResourceScreen))
        await shown.see("○ watched")
        await shown.pilot.press("w")
        await shown.until(lambda: not shown.hub.subscribed("notes", "note://1"))


async def test_what_can_not_be_read_says_why_and_leaves_at_once(console: OpenConsole) -> None:
    async with console(config("slow-read"), size=(80, 24)) as shown:
        await at(shown, "note://1")
        await shown.pilot.press("enter")
        await shown.see("reading …")
        await shown.pilot.press("escape")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ServersScreen))
        await shown.pilot.press("enter")
        await shown.see("reading …")
        await shown.hub.set_enabled("notes", False)
        await shown.see("✗ Server: notes:")


async def test_a_template_asks_for_its_names_first(console: OpenConsole) -> None:
    async with console() as shown:
        await at(shown, "{language}")
        await shown.pilot.press("enter")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ValuesForm))
        await shown.pilot.press(*"ru")
        await shown.see("rust")
        await shown.pilot.press("right", "tab", *"a.rs", "enter")
        await shown.see("the note in/rust/a.rs")
        await shown.pilot.press("enter")
        await shown.until(lambda: shown.text == "@notes:note://in/rust/a.rs ")


async def test_the_log_is_read_from_a_level_on(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.pilot.press("ctrl+l", "l")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ServerLogDialog))
        await shown.see("info and above · v level")
        await shown.pilot.press("v", *"error", "enter")
        await shown.see("error and above")
        await shown.until(lambda: shown.hub.statuses()[0].log_level == "error")
        assert "logging/setLevel error" in await shown.call("seen")


def test_lines_without_a_level_are_standard_error_and_stay() -> None:
    text = "12:00:00 [info] app: fine\n  and more\nTraceback\n12:00:01 [error] bad\n  why\n12:00:02 [odd] kept\n"
    assert from_level(text, "debug") == text
    assert from_level(text, "warning") == "Traceback\n12:00:01 [error] bad\n  why\n12:00:02 [odd] kept\n"


async def test_hostile_resources_are_shown_as_text(console: OpenConsole) -> None:
    async with console(config("hostile", "many"), size=(80, 24)) as shown:
        await at(shown, "click")
        await shown.pilot.press("end", "enter")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ResourceScreen))
        await shown.see("the note [/red]")
        assert "\x1b]" not in shown.screen
        assert "\u202e" not in shown.screen


async def test_a_long_text_loses_nothing_to_the_scroll_bar(console: OpenConsole) -> None:
    async with console(size=(80, 24)) as shown:
        await at(shown, "note://long")
        await shown.pilot.press("enter")
        await shown.see("000001")
        await shown.pilot.pause()
        view = shown.pilot.app.screen.query_one(TextView)
        rows = [view.render_line(y).text.rstrip() for y in range(2)]
        assert "".join(rows) == "".join(f"{n:03d}" for n in range(40))


async def test_tools_that_can_not_be_had_are_listed_with_the_reason(console: OpenConsole) -> None:
    async with console(config("bad-tools"), size=(100, 30)) as shown:
        await shown.pilot.press("ctrl+l")
        await shown.see("4 tools refused")
        await shown.pilot.press("end")
        await shown.see("✗ bad3 is refused: its inputSchema is not an object")
        assert "\x1b]" not in shown.screen
