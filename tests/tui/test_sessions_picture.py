"""A picture of the list of sessions; `pytest --snapshot-update` takes it anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console_app.domain import events as ev
from console_app.domain.messages import AssistantMessage, UserMessage
from console_app.sessions import Library, Store
from tests.tui.parts import NOW, app, enter, see

SESSIONS = [
    ("Compare the weather in Oslo and Lima", "gpt-4o", "Oslo is colder, by a good deal.", 40),
    ("Summarise the quarterly figures [red]and[/red] chart them", "claude-opus", "The chart is in out.svg.", 1500),
    ("What is 355/113?", "rehearsal", "About 3.14159292, close to pi.", 8000),
]


def session(number: int, prompt: str, model: str, answer: str, ago: float) -> list[ev.Event]:
    """A turn that ended `ago` seconds before the picture."""
    said = [UserMessage(content=prompt), AssistantMessage(content=answer)]
    events: list[ev.Event] = [
        ev.SessionStarted(model=model, provider="lab", protocol="native", strategy="agentic", policy="parallel"),
        ev.TurnStarted(prompt=prompt),
        *(ev.MessageAdded(**ev.MessageAdded.fields_of(message)) for message in said),
        ev.TurnFinished(outcome="completed"),
    ]
    place = {"session_id": f"{number:032x}", "turn": 1, "at": NOW - ago}
    return [event.model_copy(update={**place, "seq": seq}) for seq, event in enumerate(events, 1)]


async def fill(kept: Library) -> None:
    for number, fields in enumerate(SESSIONS):
        await kept.store.add(session(number, *fields))


@pytest.mark.parametrize("keys", ["", "oslo"], ids=["newest", "searched"])
@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=str)
def test_the_list_of_sessions(
    tmp_path: Path, snap_compare: Callable[..., bool], size: tuple[int, int], keys: str
) -> None:
    kept = Library(Store(tmp_path / "sessions.db"), tmp_path / "locks")
    asyncio.run(fill(kept))

    async def look(pilot: Pilot[Any]) -> None:
        await enter(pilot, "/sessions")
        await see(pilot, "3 sessions")
        await pilot.press(*keys)
        await see(pilot, "1 found" if keys else "3 sessions")
        await see(pilot, "1 turn · 0 calls")  # of what is highlighted

    assert snap_compare(app(tmp_path, store=kept, library=kept), terminal_size=size, run_before=look)
    asyncio.run(kept.close())
