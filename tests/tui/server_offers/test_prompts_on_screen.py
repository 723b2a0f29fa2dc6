"""Prompts of servers in the console: listed and completed as commands, filled in, sent as the user's message."""

from __future__ import annotations

import asyncio
import json

from console_app.domain.chunks import FinishChunk, TextChunk
from console_app.tui.asking.form_dialogs import ValuesForm
from tests.tui.parts import WrittenModel, calls, say
from tests.tui.server_offers.conftest import OpenConsole, config


async def test_prompts_are_commands_whose_arguments_the_server_completes_and_nothing_is_chosen_for_you(
    console: OpenConsole,
) -> None:
    async with console() as shown:
        await shown.type("/rev")
        await shown.until(lambda: "/notes:review" in shown.labels)
        await shown.see("Review code: Asks for a review of code in a language")
        await shown.pilot.press("tab")
        await shown.until(lambda: shown.text == "/notes:review ")
        await shown.type("p")
        await shown.until(lambda: shown.labels[:3] == ["python", "perl", "prolog"])
        await shown.see("language · Which language it is written in")
        assert shown.chat.prompt_field.popup.chosen is None
        await shown.pilot.press("tab", "down", "tab")
        await shown.until(lambda: shown.text == "/notes:review perl ")
        await shown.see("style · How to put it")
        await shown.until(lambda: "style=" in shown.labels)
        await shown.type("style=ru")
        await shown.until(lambda: shown.labels == ["rust"])
        await shown.pilot.press("tab", "tab")
        await shown.until(lambda: shown.text == "/notes:review perl style=rust ")


async def test_a_server_that_never_completes_holds_nothing_up(console: OpenConsole) -> None:
    async with console(config("slow-complete")) as shown:
        await shown.type("/notes:review py")
        assert shown.text == "/notes:review py"
        await shown.pilot.press("enter")
        await shown.until(lambda: bool(shown.model.requests))
        assert shown.sent.startswith("User: Review this py, as you like.")


async def test_a_prompt_becomes_the_users_message_with_what_is_embedded(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.put('/notes:review python style="short and kind"')
        await shown.pilot.press("enter")
        await shown.see("Review this python, short and kind.")
        await shown.see('/notes:review python style="short and kind"  written by the server')
        await shown.see("▸ notes note://embedded  text/plain · 16 B")
        await shown.see("image/png · 8 B · saved")
        assert shown.sent.startswith("User: Review this python, short and kind.\n\nAssistant: Which part?\n\n")
        assert '<attachment server="notes" uri="note://embedded" type="text/plain">\nwhat is embedded' in shown.sent
        await shown.pilot.press("ctrl+o")
        await shown.see("▾ notes note://embedded")
        await shown.see("what is embedded")


async def test_what_is_needed_and_was_not_typed_is_asked_for_in_a_form(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.put('/notes:review style="short and kind"')
        await shown.pilot.press("enter")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ValuesForm))
        await shown.pilot.press("escape")  # what was typed is kept
        await shown.until(lambda: shown.text == '/notes:review style="short and kind"')
        assert not shown.model.requests
        await shown.put("/notes:review style=kind")
        await shown.pilot.press("enter")
        await shown.until(lambda: isinstance(shown.pilot.app.screen, ValuesForm))
        await shown.see("Which language it is written in")
        await shown.pilot.press("enter")
        await shown.see("required")
        await shown.pilot.press(*"pyt")
        await shown.see("python")  # the server's proposal behind the cursor
        await shown.pilot.press("right", "enter")
        await shown.see("Review this python, kind.")


async def test_what_no_argument_takes_is_told_and_stays_as_does_a_prompt_that_fails(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.put("/notes:plain and more")
        await shown.pilot.press("enter")
        await shown.toast("takes no arguments; nothing takes and more")
        assert shown.text == "/notes:plain and more"
        await shown.put("/notes:broken")
        await shown.pilot.press("enter")
        await shown.see("Server: notes: It broke")
        await shown.until(lambda: shown.text == "/notes:broken")
        assert not shown.model.requests
        assert not shown.chat.console.conversation.busy


async def test_a_server_that_dies_while_it_is_asked_loses_nothing(console: OpenConsole) -> None:
    async with console(config("dies")) as shown:
        await shown.put("/notes:plain")
        await shown.pilot.press("enter")
        await shown.until(lambda: shown.text == "/notes:plain" and not shown.chat.console.conversation.busy)
        assert "Server: notes:" in shown.screen


async def test_servers_that_come_and_go_change_the_commands(console: OpenConsole) -> None:
    async with console() as shown:
        names = {command.intent.name for command in shown.chat.commands}
        assert "notes:extra0" not in names
        await shown.call("grow")
        await shown.until(lambda: shown.chat.commands.get("notes:extra0") is not None)
        await shown.call("shrink")
        await shown.until(lambda: shown.chat.commands.get("notes:extra0") is None)
        await shown.hub.set_enabled("notes", False)
        await shown.until(lambda: shown.chat.commands.get("notes:review") is None)
        await shown.put("/notes:review python")
        await shown.pilot.press("enter")
        await shown.toast("There is no command /notes:review.")
        assert shown.text == "/notes:review python"


async def test_hostile_names_are_shown_as_text_and_can_be_used(console: OpenConsole) -> None:
    async with console(config("hostile"), size=(80, 24)) as shown:
        await shown.type("/notes:red")
        await shown.until(lambda: bool(shown.labels))
        assert shown.labels[0] == "/notes:red_click_app.quit_x_/_52_c_eA"
        assert "\x1b]" not in shown.screen
        assert "\u202e" not in shown.screen
        await shown.pilot.press("enter")
        await shown.see("a hostile prompt")


async def test_a_thousand_prompts_are_searched_and_the_consoles_own_commands_come_first(console: OpenConsole) -> None:
    async with console(config("many")) as shown:
        await shown.type("/")
        await shown.until(lambda: shown.labels[:2] == ["/help", "/keys"])
        await shown.type("prompt777")
        await shown.until(lambda: shown.labels[:1] == ["/notes:prompt777"])
        await shown.put("")
        await shown.pilot.press("ctrl+p", *"prompt777")  # the palette finds it too
        await shown.see("/notes:prompt777")
        await shown.pilot.press("enter", "enter")
        await shown.see("The prompt prompt777.")


async def test_prompts_wait_in_the_queue_as_they_were_typed(console: OpenConsole) -> None:
    gate = asyncio.Event()
    model = WrittenModel([TextChunk("Wait."), gate, FinishChunk("stop")], say("Then this."))
    async with console(model=model) as shown:
        await shown.put("first")
        await shown.pilot.press("enter")
        await shown.see("Wait.")
        await shown.put("/notes:plain")
        await shown.pilot.press("enter")
        await shown.see("▸ /notes:plain")
        gate.set()
        await shown.until(lambda: len(shown.model.requests) == 2)
        assert shown.sent == "The prompt plain."


async def test_steering_with_a_resource_waits_for_it(console: OpenConsole) -> None:
    gate = asyncio.Event()
    first = [TextChunk("Wait."), gate, *calls(("notes_seen", "{}"))]
    async with console(model=WrittenModel(first, say("Done."))) as shown:
        await shown.put("first")
        await shown.pilot.press("enter")
        await shown.see("Wait.")
        await shown.put("look at @notes:note://1 too")
        await shown.pilot.press("ctrl+s")
        await shown.toast("It joins at the next step.")
        gate.set()
        await shown.until(lambda: len(shown.model.requests) == 2)
        assert "the note 1" in shown.sent
        assert json.dumps("note://1") in shown.sent


async def test_what_comes_while_its_name_is_typed_is_completed(console: OpenConsole) -> None:
    async with console() as shown:
        await shown.hub.set_enabled("notes", False)
        await shown.type("/notes:rev")
        assert shown.labels == []
        await shown.hub.set_enabled("notes", True)
        await shown.until(lambda: shown.labels == ["/notes:review"])
