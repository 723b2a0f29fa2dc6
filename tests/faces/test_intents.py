"""Every face has every intent in some way, and what has the same name means the same on all of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.binding import Binding

from console_app.acp_agent.session import editor_ways
from console_app.console.intents.table import INTENTS, Bound, Cannot, Key, Slash, Ways, slash_commands
from console_app.domain import UsageError, one_line
from console_app.page import LivePage
from console_app.tui.asking.approval_board import ApprovalBoard
from console_app.tui.asking.human_board import HumanBoard
from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.screen import ChatScreen
from console_app.tui.prompt.prompt import Prompt
from tests.line_console.test_typed_ahead import opened
from tests.tui.parts import WrittenModel, app, chat, say, see, services

PLACES = (ApprovalBoard, ChatScreen, ConversationView, HumanBoard, Prompt)


async def ways_of_all(tmp_path: Path) -> dict[str, Ways]:
    """How each face has each intent."""
    async with app(tmp_path).run_test() as pilot:
        screen = chat(pilot.app).own_commands.ways
    async with opened(tmp_path, WrittenModel(say("Hello."))) as shown:
        lines = shown.face.ways()
    page = LivePage(partial(services, tmp_path)).ways
    return {"screen": screen, "lines": lines, "editor": editor_ways(), "page": page}


async def test_every_face_has_a_way_for_every_intent_or_a_reason_and_a_command_of_one_name_is_one_entry(
    tmp_path: Path,
) -> None:
    """Its words, its arguments and its place in the order: so nothing of it can differ from face to face."""
    all_ways = await ways_of_all(tmp_path)
    for face, ways in all_ways.items():
        commands = slash_commands(ways)
        assert list(commands) == [name for name in INTENTS if name in commands], face
        assert all(command.intent is INTENTS[name] for name, command in commands.items()), face
        assert set(ways) <= set(INTENTS), face
        for name, intent in INTENTS.items():
            way = ways.get(name, Slash())
            if isinstance(way, Slash):
                assert way.run or intent.does, f"/{name} does nothing on the {face}"
                assert face == "lines" or intent.argument != "CALL", f"/{name}: calls have no names on the {face}"
            elif isinstance(way, Cannot):
                assert way.why, f"{face} doesn't say why it lacks {name}"
    bound = {one.id for place in PLACES for one in place.BINDINGS if isinstance(one, Binding)}
    assert {way.binding for way in all_ways["screen"].values() if isinstance(way, Key)} <= bound


def test_a_face_without_a_way_that_only_it_can_have_is_told() -> None:
    with pytest.raises(ValueError, match=r"no way: theme$"):
        slash_commands({name: Cannot("none") for name in INTENTS if name != "theme"})


async def test_words_behind_a_command_that_takes_none_are_refused_on_screen_and_in_lines(tmp_path: Path) -> None:
    refused = "/new takes nothing behind its name; not now."
    async with app(tmp_path).run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press(*"/new now", "enter")
        await see(pilot, refused)
    async with opened(tmp_path, WrittenModel(say("Hello."))) as shown:
        shown.type("/new now")
        await shown.see(refused)


async def test_a_command_that_is_a_key_on_the_screen_is_told_to_be_one(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press(*"/mode plan", "enter")  # a mode has a key and a command
        await see(pilot, "Mode: plan, what only reads runs")
        await pilot.press(*"/unsend", "enter")
        await see(pilot, "/unsend is no command here but a key")


async def test_words_that_a_command_does_not_know_change_nothing_on_screen_and_in_lines(tmp_path: Path) -> None:
    typed = {
        "/compact nonsense": "/compact takes nothing, or undo; not nonsense",
        "/policy sideways": "There is no policy sideways. There are: parallel, sequential, single.",
        "/effort some": "There is no effort some.",
    }
    async with app(tmp_path).run_test(size=(140, 30), notifications=True) as pilot:
        for words, answer in typed.items():
            await pilot.press(*words, "enter")
            await see(pilot, answer)
            chat(pilot.app).prompt.put("")
    async with opened(tmp_path, WrittenModel(say("Hello."))) as shown:
        for words, answer in typed.items():
            shown.type(words)
            await shown.see(answer)


async def test_a_plain_function_that_gives_work_back_has_it_done(tmp_path: Path) -> None:
    async def fails(words: str) -> None:
        raise UsageError(f"{words} was done, to no good end")

    async with opened(tmp_path, WrittenModel(say("Hello."))) as shown:
        left = shown.face.commands.do(Bound(INTENTS["tell"], lambda _, words: fails(words)), "this")
        assert left is not None, "the work is lost"
        await left()
        await shown.see("This was done, to no good end")


def test_the_words_of_every_intent_are_one_line_for_every_list() -> None:
    for one in INTENTS.values():
        assert one_line(one.about, 70) == one.about, one.name
        assert not one.about.endswith("."), one.name
        assert not one.same_as or INTENTS[one.same_as].about.split(",")[0] in one.about, one.name
