"""Any keys in any room, over a board that waits or none: no letter that was meant for a room is written into the
prompt, and no toast stands over what is edited."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, example, given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, TextArea

from console_app.domain.approvals import ApprovalMode
from tests.examples import examples
from tests.tui.parts import at_rest, calls, chat, pass_by, say, until
from tests.tui.questions.test_boards_pictures import QUESTIONS
from tests.tui.rooms import AFTER_A_TURN, DIALOGS, QUESTION, Room, focused, furnished, typed

ROOMS = {room.name: room for room in (*DIALOGS, *AFTER_A_TURN, typed("sessions", "/sessions", "", filled=True))}
LETTERS = [*"abcdefhijklmnoprstvwxyzAENRY0127", "space", "slash", "question_mark", "plus", "minus"]
OTHER = ["up", "down", "left", "right", "tab", "shift+tab", "backspace", "pagedown", "delete", "enter", "ctrl+s", "f2"]
MADE = ["toast", "toast", "toast", "smallest", "small", "large"]
SIZES = {"smallest": (60, 15), "small": (80, 24), "large": (110, 44)}
OUTWARD = {"enter", "ctrl+s"}  # in /connect they would ask an address
ASKED = ["", "approval", "question", *QUESTIONS]

visits = st.tuples(st.sampled_from(sorted(ROOMS)), st.lists(st.sampled_from([*LETTERS, *OTHER, *MADE]), max_size=12))


def asking(what: str) -> Any:
    """The answer of a model that brings a board up."""
    if what == "question":
        return calls(("fanout_ask_followup_question", QUESTION))
    if what == "approval":
        return calls(("lab_work", '{"kind": "diff"}'), ("lab_work", '{"kind": "json"}'))
    return calls(("lab_ask", f'{{"kind": "{what}"}}'))


async def board_up(pilot: Pilot[Any], what: str) -> None:
    screen = chat(pilot.app)
    if what == "approval":
        screen.services.engine.gate.mode = ApprovalMode.ASK
    screen.prompt_area.send("go")
    boards = screen.boards
    board: Any = {"approval": boards.approvals, "question": boards.questions}.get(what, boards.human)
    await until(pilot, lambda: bool(board.region))
    await focused(pilot, board)


def meant_elsewhere(pilot: Pilot[Any], key: str) -> bool:
    """Tells whether a letter is for something else than the prompt: another screen, a field, a selected panel or
    message, a board or the list above the prompt. On a question what was typed ahead of it begins a message."""
    screen = chat(pilot.app)
    if key not in LETTERS or screen.prompt.has_focus:
        return False
    if pilot.app.screen is not screen or isinstance(pilot.app.focused, Input | TextArea):
        return True
    if screen.view.has_focus:
        return any(block.selected for block in screen.view.blocks)
    return not screen.boards.questions.has_focus or key in screen.active_bindings


async def begin(pilot: Pilot[Any], room: Room) -> None:
    """Opens the room; going back takes a turn that is over, and is refused while one runs."""
    screen = chat(pilot.app)
    if room.name == "rewind" and screen.console.conversation.busy:
        command = screen.commands.get("rewind")
        assert command is not None
        screen.commands.run(command)
        await at_rest(pilot)
        return
    if room.name == "rewind" and not screen.ui.shown.transcript.turns:
        screen.prompt_area.send("go")
        await until(pilot, lambda: not screen.console.conversation.busy and bool(screen.ui.shown.transcript.turns))
    await room.begin(pilot)


async def press(pilot: Pilot[Any], room: Room, key: str) -> None:
    screen = chat(pilot.app)
    match key:
        case "smallest" | "small" | "large":
            await pilot.resize_terminal(*SIZES[key])
        case "toast":
            pilot.app.notify("This was said beside what you do, at some length.", timeout=3600)
        case _ if key in OUTWARD and "connect" in room.name:
            return
        case _:
            text, meant = screen.prompt.text, meant_elsewhere(pilot, key)
            if meant and screen.view.has_focus:  # else two letters behind one another are a word, for the prompt
                await pass_by(pilot)
            await pilot.press(key)
            if meant:
                assert screen.prompt.text == text, f"{key} was written into the prompt from {room.name}"
    await at_rest(pilot)
    nothing_edited_is_covered(pilot)


def nothing_edited_is_covered(pilot: Pilot[Any]) -> None:
    edited: Widget | None = pilot.app.focused
    if not isinstance(edited, Input | TextArea):
        return
    for toast in pilot.app.screen.query("Toast"):
        assert not toast.region.overlaps(edited.region), (pilot.app.screen, edited, toast.region, edited.region)


async def away(pilot: Pilot[Any], room: Room) -> None:
    """Out of it, whatever the keys did there."""
    for _ in range(9):
        if pilot.app.screen is chat(pilot.app):
            break
        await pilot.press("d" if pilot.app.screen.query("#answer-d") else "escape")  # what is not saved is asked
        await at_rest(pilot)
    assert pilot.app.screen is chat(pilot.app), f"Esc does not leave {room.name}"
    prompt = chat(pilot.app).prompt
    prompt.focus()
    prompt.put("")
    pilot.app.clear_notifications()
    await until(pilot, lambda: prompt.has_focus and not prompt.text)


async def play(asked: str, rooms: list[tuple[str, list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with (
            furnished(Path(folder), asking(asked) if asked else say("Done.")) as console,
            console.run_test(size=(80, 24), notifications=True) as pilot,
        ):
            if asked:
                await board_up(pilot, asked)
            for name, keys in rooms:
                room = ROOMS[name]
                await begin(pilot, room)
                for key in (*room.keys, *keys):
                    await press(pilot, room, key)
                await away(pilot, room)
            assert console.crash is None


# An example takes seconds, so a failing one is told as it is.
@examples(10, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
@example("form", [("a call by hand", ["smallest", "toast", "a", "b"]), ("connect", ["toast", "smallest", "a"])])
@example(
    "",
    [
        ("settings", ["smallest", "toast", "enter", "a"]),
        ("sessions", ["toast", "f2", "a", "smallest"]),
        ("servers", ["space"]),
        ("servers", ["w", "minus"]),
        ("rewind", ["large", "a", "toast", "enter", "b"]),
        ("rewind", ["smallest", "down", "q", "escape"]),
    ],
)
@example("approval", [("rewind", ["a", "toast", "enter", "N"]), ("rewind", ["enter"])])
@given(st.sampled_from(ASKED), st.lists(visits, min_size=2, max_size=5))
def test_letters_stay_in_the_room_and_toasts_beside_what_is_edited(
    asked: str, rooms: list[tuple[str, list[str]]]
) -> None:
    asyncio.run(play(asked, rooms))
