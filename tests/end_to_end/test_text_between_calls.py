"""Text of an answer that stands between its calls, from the wire to each place where the conversation is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from console_app import page
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.line_console.wording import turn_lines
from console_app.sessions import Replay, Store, export
from console_app.tui.lineview import EventRouter
from tests.each import each
from tests.end_to_end.test_server_tools import played
from tests.engine.peers import only
from tests.providers.test_server_tools import (
    CITED,
    FOUND,
    PLAIN,
    SEARCH,
    WEB,
    message_events,
    message_item,
    response_events,
)
from tests.tui.lineview.scenes import TinyApp, painted, screen_lines
from tests.wire_bytes import APIS, Answer, Api, Call, Text
from tests.wire_server import Reply

OURS = Answer(
    Text("First I look."),
    Call("demo_do", '{"do": "succeed", "n": "alpha"}'),
    Call("demo_do", '{"do": "succeed", "n": "beta"}'),
    Text("\n\nThen at the rest."),
    Call("demo_do", '{"do": "succeed", "n": "gamma"}'),
    Text("\n\nThat is all."),
)
IN_ORDER = ["First I look", "alpha", "beta", "Then at the rest", "gamma", "That is all", "Done"]
ANSWERS: dict[str, tuple[Api, Any, list[str]]] = {
    **{api: (api, OURS, IN_ORDER) for api in APIS},
    "a search of Anthropic's": (
        "anthropic",
        Reply(message_events(PLAIN, SEARCH, FOUND, CITED)),
        ["Let me see", "tide tables", "High water at six", "Done"],
    ),
    "a search of OpenAI's": (
        "openai-responses",
        Reply(response_events(message_item(0, "Let me see."), WEB, message_item(2, "High water at six."))),
        ["Let me see", "tide tables", "High water at six", "Done"],
    ),
}


async def of_the_wire(name: str) -> tuple[list[ev.Event], list[str]]:
    api, answer, order = ANSWERS[name]
    prompts = ("go",) if answer is OURS else ("go", "more")
    _, seen, _ = await played(api, answer, Answer(Text("Done.")), prompts=prompts)
    return seen, order


async def of_the_store(folder: Path, seen: Sequence[ev.Event]) -> list[ev.Event]:
    """The events as they come out of a session file, without what was only shown while it came."""
    store = Store(folder / "sessions.db")
    await store.append(seen)
    stored = list(await store.load(seen[0].session_id))
    await store.close()
    assert not only(stored, ev.TextDelta)
    return stored


async def at_once(_: float) -> None:
    """No time passes between two events."""


def found(text: str, order: Sequence[str]) -> list[str]:
    """The marks in the order in which they stand, each where it stands first."""
    return re.findall("|".join(map(re.escape, order)), text)


def once(marks: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(marks))


@each("name", ANSWERS)
async def test_the_state_has_text_and_calls_as_they_stood(name: str, tmp_path: Path) -> None:
    seen, order = await of_the_wire(name)
    for events in (seen, await of_the_store(tmp_path, seen)):
        steps = [step for turn in Transcript.of(events).turns for step in turn.steps]
        told = [f"{part.text} {[one.arguments for one in part.calls]}" for step in steps for part in step.parts]
        assert found(" ".join(told), order) == order
        assert "".join(part.text for step in steps for part in step.parts).replace("\n", "") == "".join(
            step.text for step in steps
        ).replace("\n", ""), "no word is lost or said twice"


@each("name", ANSWERS)
async def test_exports_have_them_so(name: str, tmp_path: Path) -> None:
    seen, order = await of_the_wire(name)
    stored = await of_the_store(tmp_path, seen)
    turns = Transcript.of(stored).turns
    numbers = {call.id: number for number, call in enumerate((c for turn in turns for c in turn.calls), 1)}
    assert once(found(export.exported(stored, "md", "Title"), order)) == order
    assert once(found(page.of_conversation(stored, "Title"), order)) == order
    assert once(found("\n".join(line for turn in turns for line in turn_lines(turn, numbers)), order)) == order


@each("name", ANSWERS)
async def test_a_replay_tells_them_so_as_it_goes_on(name: str, tmp_path: Path) -> None:
    seen, order = await of_the_wire(name)
    told: list[str] = []
    replay = Replay(await of_the_store(tmp_path, seen), sleep=at_once)
    async for event in replay.play():
        match event:
            case ev.TextDelta():
                told.append(event.text)
            case ev.CallReady():
                told.append(str(event.arguments))
            case ev.MessageAdded(role="assistant"):
                told.append(event.content)
            case _:
                pass
    assert once(found(" ".join(told), order)) == order


@each("name", ANSWERS)
async def test_they_stand_so_on_the_screen_live_replayed_and_joined_later(name: str, tmp_path: Path) -> None:
    seen, order = await of_the_wire(name)
    stored = await of_the_store(tmp_path, seen)
    texts: list[list[str]] = []
    for events in (seen, stored, None):
        app = TinyApp()
        async with app.run_test(size=(100, 40)) as pilot:
            if events is None:
                EventRouter(app.view, Transcript.of(stored)).catch_up()
            for event in events or ():
                app.story.router.show(event)
            await painted(pilot)
            texts.append(screen_lines(app))
            assert once(found("\n".join(screen_lines(app)), order)) == order
    assert texts[0] == texts[1], "a replay looks as it did"
