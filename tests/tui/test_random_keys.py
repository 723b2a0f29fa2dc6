"""Any keys at all on batches that wait: one result a call, a valid history, and nothing runs that was not approved."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from textual.pilot import Pilot

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.events import Decision
from console_app.domain.ports import CallReporter, Invocation
from console_app.engine import ApprovalGate
from tests.engine.strict_history import check_events, check_history
from tests.examples import examples
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, pass_by, say, until

SETTLE, WAIT = "half a second passes", "the decision proves to be alone"
ALLOWS = {"y", "a", "A", "Y", "e", "shift+tab", "r"}
KEYS = [SETTLE, SETTLE, SETTLE, WAIT, WAIT, "tab", "tab", "y", "y", "a", "A", "n", "N", "Y", "f", "e", "j", "k", "2"]
SIZES = {"tiny": (20, 5), "low": (80, 12), "narrow": (40, 24), "large": (100, 40)}
KEYS += [
    *SIZES,
    "large",
    "escape",
    "x",
    "r",
    "s",
    "o",
    "h",
    "alt+up",
    "alt+down",
    "shift+tab",
    "ctrl+o",
    "question_mark",
    "space",
]

batches = st.lists(st.sampled_from(["quick", "slow"]), min_size=1, max_size=9)
presses = st.lists(st.sampled_from(KEYS), max_size=24)


class Kept:
    """A store that only remembers."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    async def append(self, events: Sequence[ev.Event]) -> None:
        self.events += events


class Lab:
    """Two tools; the slow one ends when it is let go."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.let_go = asyncio.Event()
        self.tools = Tools({("lab", "quick"): self._quick, ("lab", "slow"): self._slow}, read_only=False)

    async def _quick(self, invocation: Invocation, _reporter: CallReporter) -> str:
        self.ran.append((invocation.call_id, dict(invocation.arguments)))
        return "done"

    async def _slow(self, invocation: Invocation, _reporter: CallReporter) -> str:
        self.ran.append((invocation.call_id, dict(invocation.arguments)))
        await self.let_go.wait()
        return "done at last"


async def press(pilot: Pilot[Any], key: str) -> None:
    if key == SETTLE:
        await pass_by(pilot, 0.5)
    elif key == WAIT:
        await pass_by(pilot, 0.2)
    elif key in SIZES:
        await pilot.resize_terminal(*SIZES[key])
    else:
        screen = chat(pilot.app)
        elsewhere, text = screen.boards.has_focus_within or screen.view.cursor is not None, screen.prompt.text
        await pilot.press(key)
        if elsewhere:
            assert screen.prompt.text == text, f"{key} was written into the prompt"
    assert pilot.app.focused is not None, f"nothing has the focus after {key}"


async def end(pilot: Pilot[Any], lab: Lab) -> None:
    """Closes what is open, denies what waits, lets go what runs, until nothing happens any more."""
    screen = chat(pilot.app)
    await pilot.resize_terminal(*SIZES["large"])
    for _ in range(9):
        if pilot.app.screen is not screen:
            await pilot.press("escape")
    assert pilot.app.screen is screen
    lab.let_go.set()
    approvals, conversation = screen.boards.approvals, screen.console.conversation
    while conversation.busy:
        await until(pilot, lambda: approvals.is_asking or not conversation.busy, "a question or the end")
        if approvals.is_asking:
            approvals.focus()
            if approvals.selection.stage in ("rule", "words"):
                await pilot.press("escape")
            await decide(pilot, "N")
    assert not approvals.is_asking


async def play(batch: list[str], keys: list[str]) -> None:
    lab, kept = Lab(), Kept()
    model = WrittenModel(
        calls(*[(f"lab_{tool}", json.dumps({"n": n})) for n, tool in enumerate(batch)]), say("So be it.")
    )
    with tempfile.TemporaryDirectory() as folder:
        console = app(Path(folder), model, lab.tools, gate=ApprovalGate(ApprovalMode.ASK), store=kept)
        async with console.run_test(size=(100, 40)) as pilot:
            await pilot.press(*"go", "enter")
            await until(pilot, lambda: len(chat(console).boards.approvals.selection.waiting) == len(batch))
            for key in keys:
                await press(pilot, key)
            await end(pilot, lab)
    engine = console._services.engine  # pyright: ignore[reportPrivateUsage]
    last = next(n for n, event in enumerate(kept.events) if isinstance(event, ev.TurnFinished))
    check_events([event for event in kept.events[: last + 1] if not isinstance(event, ev.SessionStarted)])
    check_history(engine)
    check_what_ran(kept.events, lab.ran)
    if not ALLOWS & set(keys):
        assert lab.ran == []


def check_what_ran(events: Sequence[ev.Event], ran: list[tuple[str, dict[str, Any]]]) -> None:
    """Each run was allowed before it began, with the very arguments that were allowed."""
    arguments: dict[str, dict[str, Any]] = {}
    allowed: set[str] = set()
    expected: list[tuple[str, dict[str, Any]]] = []
    for event in events:
        match event:
            case ev.CallReady():
                arguments[event.call_id] = event.arguments
            case ev.CallRestarted() if event.arguments is not None:
                arguments[event.call_id] = event.arguments
            case ev.ApprovalResolved():
                if event.arguments is not None:
                    arguments[event.call_id] = event.arguments
                (allowed.add if event.decision is Decision.ALLOW else allowed.discard)(event.call_id)
            case ev.CallStarted():
                assert event.call_id in allowed
                expected.append((event.call_id, arguments[event.call_id]))
            case _:
                pass
    assert sorted(map(str, ran)) == sorted(map(str, expected))


# An example takes seconds, so a failing one is told as it is.
@examples(20, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(batches, presses)
def test_any_keys_leave_one_result_a_call_and_run_nothing_unapproved(batch: list[str], keys: list[str]) -> None:
    asyncio.run(play(batch, keys))
