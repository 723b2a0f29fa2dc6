"""Letters typed directly behind a key that acts are not lost, and go where they were meant, on a busy machine too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual import events
from textual.widgets import Input

from console_app.tui.main_screen.screen import ChatScreen
from console_app.tui.servers.screen import ServersScreen
from console_app.tui.terminal.key_order import KeysInOrder
from console_app.tui.widgets.pick_list import PickList
from tests.examples import spread
from tests.patience import until_so
from tests.tui.parts import Server, app, chat, pass_by, until
from tests.tui.test_key_order import Ask, Writing

ELSEWHERE = {"quit", "editor"}  # the console is left


def typed(console: KeysInOrder[Any], *keys: str) -> None:
    """Posts all keys at once, as one read of the terminal does."""
    for key in keys:
        console.post_message(events.Key(key, key if len(key) == 1 else "\r" if key == "enter" else None))


async def comes(console: KeysInOrder[Any], holds: Callable[[], bool]) -> None:
    """Waits as a console does that is not tested: keys that are held up too long are given up, here at once, as on a
    machine that is so busy that no time is left for them."""

    def look() -> bool:
        console.longest_hold = 0.0
        return holds()

    await until_so(look, f"what is typed, with {console.held} held up")


async def test_what_is_written_while_a_message_is_on_its_way_stays(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test() as pilot:
        prompt = chat(console).prompt
        for text, then, stays in (
            ("/new", "hello", "hello"),
            ("hello", "more", "more"),
            ("/nothing", "more", "/nothingmore"),
            ("/cle", "x", "x"),
        ):
            prompt.put("")
            await pilot.press(*text)
            prompt.action_submit()
            prompt.insert(then)
            await until(
                pilot, lambda stays=stays: prompt.text == stays and not chat(console).console.conversation.busy, text
            )
            assert then not in (tmp_path / "history").read_text(), text


async def test_a_message_that_is_not_taken_stands_as_it_stood(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test() as pilot:
        prompt = chat(console).prompt
        await pilot.press(*"/nothing at all", "left", "left", "enter")
        await until(pilot, lambda: (prompt.text, prompt.cursor_location) == ("/nothing at all", (0, 13)))


async def test_behind_every_command_letters_reach_the_prompt_or_its_dialog(tmp_path: Path) -> None:
    console = app(tmp_path, server_statuses=lambda: [Server("lab")])
    async with console.run_test() as pilot:
        screen = chat(console)
        for command in spread([one.intent.name for one in screen.commands if one.intent.name not in ELSEWHERE], 12):
            typed(console, *f"/{command}", "enter", "x", "y")
            await until(pilot, lambda: not console.held and not console.key_under_way)
            await pass_by(pilot)
            await until(
                pilot, lambda: screen.prompt.text == ("xy" if console.focused is screen.prompt else ""), command
            )
            while not isinstance(console.screen, ChatScreen):
                console.pop_screen()
            await until(pilot, lambda: not screen.console.conversation.busy)
            screen.prompt.focus()
            screen.prompt.put("")
            await pilot.pause()


async def test_letters_directly_behind_the_slash_are_the_searchs_and_no_commands(tmp_path: Path) -> None:
    console = app(tmp_path, server_statuses=lambda: [Server("lab")])
    async with console.run_test() as pilot:
        await pilot.press("ctrl+l")
        await until(pilot, lambda: isinstance(console.screen, ServersScreen))
        servers = console.screen
        typed(console, *"/reload")
        await until(pilot, lambda: not console.held and not console.key_under_way)
        await until(pilot, lambda: servers.query_one("#search", Input).value == "reload")
        assert console.screen is servers


async def test_on_a_busy_machine_no_key_overtakes_another(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test() as pilot:
        await pilot.pause()
        screen = chat(console)
        console.longest_hold = 0.0
        typed(console, *"/new", "enter", *"one", "enter", *"two", "enter", *"last")
        await comes(console, lambda: screen.prompt.text == "last")
        assert list(screen.prompt.sent.entries) == ["/new", "one", "two"]
        await until(pilot, lambda: not screen.console.conversation.busy)


async def test_on_a_busy_machine_keys_behind_one_that_opens_a_dialog_are_the_dialogs(tmp_path: Path) -> None:
    console = app(tmp_path, known_models=["lab/one", "lab/two"])
    async with console.run_test() as pilot:
        await pilot.pause()
        screen = chat(console)
        console.longest_hold = 0.0
        typed(console, *"/model", "enter", *"two")
        await comes(console, lambda: isinstance(console.screen, PickList))
        await comes(console, lambda: [field.value for field in console.screen.query(Input)] == ["two"])
        typed(console, "escape", *"back")
        await comes(console, lambda: screen.prompt.text == "back")


async def test_on_a_busy_machine_a_dialog_closes_before_the_keys_behind_it(tmp_path: Path) -> None:
    console = Writing()
    async with console.run_test() as pilot:
        console.push_screen(Ask())
        await pilot.pause()
        console.longest_hold = 0.0
        typed(console, "enter", *"one", "enter", *"two")
        await comes(console, lambda: console.box.text == "two")
        assert console.sent == ["one"]


async def test_alt_and_a_letter_write_nothing(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test() as pilot:
        for key in ("alt+q", "alt+t"):
            console.post_message(events.Key(key, key[-1]))
        typed(console, "x")
        await until(pilot, lambda: chat(console).prompt.text == "x")
