"""Any keys over conversations of any shape: letters act on the call that is seen to be selected and on no other (but
`s`: it sends the results of its batch on), none that was pressed while a panel was selected is written into the
prompt, and no toast stands over what is edited."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, example, given
from hypothesis import strategies as st
from textual.binding import Binding
from textual.pilot import Pilot

from console_app.domain import events as ev
from console_app.domain.approvals import ApprovalMode
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import Outcome
from console_app.engine import ApprovalGate
from console_app.tui.lineview import CallBlock, ConversationView
from tests.examples import examples
from tests.tui.parts import Answer, Tools, WrittenModel, app, at_rest, calls, chat, pass_by, say, seen, until

# Those that mean a call or its panel, some that mean nothing, and the one with a consequence once more.
LETTERS = [
    *(
        key
        for binding in ConversationView.BINDINGS
        if isinstance(binding, Binding) and (binding.id or "").startswith("panel.")
        for key in binding.key.split(",")
        if "+" not in key and key not in ("enter", "escape", "left", "right")
    ),
    *("x", "h", "q"),
]
MOVES = [
    "alt+up",
    "alt+up",
    "alt+down",
    "alt+1",
    "alt+3",
    "alt+9",
    "tab",
    "escape",
    "pageup",
    "pagedown",
    "home",
    "end",
]
OTHER = ["click", "finish", "finish", "turn", "small", "smallest", "large", "ctrl+o", "toast", "toast"]
SIZES = {"smallest": (60, 15), "small": (80, 24), "large": (110, 44)}

histories = st.lists(st.integers(1, 4), max_size=2)
batches = st.sampled_from([1, 2, 3, 8, 30])
presses = st.lists(st.sampled_from([*LETTERS, *LETTERS, *MOVES, *OTHER]), min_size=10, max_size=40)


class Lab:
    """A tool whose calls end one after the other as the test lets them, or at once."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Event] = []
        self.at_once = True
        self.tools = Tools({("lab", "do"): self._do}, read_only=False)

    async def _do(self, invocation: Invocation, _reporter: CallReporter) -> str:
        if not self.at_once:
            self.waiting.append(asyncio.Event())
            await self.waiting[-1].wait()
        return f"did {invocation.arguments['n']}"

    def finish(self) -> None:
        for event in self.waiting[:3]:
            event.set()
        del self.waiting[:3]


class Kept:
    """A store that only remembers."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    async def append(self, events: Sequence[ev.Event]) -> None:
        self.events += events

    def touched(self, since: int) -> set[str]:
        """The calls that a key cancelled or ran again."""
        return {
            event.call_id
            for event in self.events[since:]
            if isinstance(event, ev.CallRestarted)
            or (isinstance(event, ev.CallFinished) and event.outcome is Outcome.CANCELLED)
        }


def answer(first: int, count: int) -> Answer:
    return calls(*[("lab_do", json.dumps({"n": n})) for n in range(first, first + count)])


def selected(pilot: Pilot[Any]) -> tuple[str | None, bool]:
    """The id of the marked call, and whether it is seen."""
    view = chat(pilot.app).view
    marked = [block for block in view.blocks if block.selected]
    assert len(marked) <= 1
    if not marked:
        return None, False
    assert view.has_focus
    block = marked[0]
    if not isinstance(block, CallBlock):
        return "", True
    shown = [strip.text for strip in view.render_lines(view.size.region)]  # a toast may stand over some of it
    lines = [line for line in shown if line[1:].lstrip().startswith(("▌", "╭", "┏", "│", "╰"))]
    return block.call.id, any(f"n={(block.call.arguments or {}).get('n')}" in line for line in lines) or block.open


def meant_by(pilot: Pilot[Any], key: str) -> set[str]:
    """The ids of the calls that a letter may end or run again: the marked one; of the answers that are not waited for
    any more, all of its batch."""
    block = next(block for block in chat(pilot.app).view.blocks if block.selected)
    if not isinstance(block, CallBlock):
        return set()
    return {call.id for call in (block.group.calls if key == "s" else [block.call])}


async def click_on_a_panel(pilot: Pilot[Any]) -> None:
    rows = [y for y, line in enumerate(seen(pilot.app).splitlines()) if "n=" in line]
    if rows:
        await pilot.click(offset=(20, rows[0]))


async def press(pilot: Pilot[Any], lab: Lab, kept: Kept, key: str) -> None:
    screen = chat(pilot.app)
    match key:
        case "click":
            await click_on_a_panel(pilot)
        case "finish":
            lab.finish()
        case "turn":
            screen.prompt_area.send("another turn")
        case "smallest" | "small" | "large":
            await pilot.resize_terminal(*SIZES[key])
        case "toast":
            screen.ui.toast(f"This was said beside what you do. {len(kept.events)}", 3600)
            await at_rest(pilot)
        case _:
            await at_rest(pilot)
            call_id, in_sight = selected(pilot)
            meant = meant_by(pilot, key) if in_sight else set[str]()
            text, before = screen.prompt.text, len(kept.events)
            if key in LETTERS:  # else two of them are a word, for the prompt
                await pass_by(pilot)
            await pilot.press(key)
            if key in LETTERS:
                await pass_by(pilot)
            await at_rest(pilot)
            if call_id is not None and key in LETTERS:
                assert screen.prompt.text == text, f"{key} was written into the prompt"
                assert kept.touched(before) <= meant, f"{key} acted on another call"
    for _ in range(3):
        if pilot.app.screen is not screen:
            await pilot.press("escape")
    assert pilot.app.screen is screen
    await at_rest(pilot)
    nothing_written_in_is_covered(pilot)


def nothing_written_in_is_covered(pilot: Pilot[Any]) -> None:
    """No toast stands over the prompt, nor over a board."""
    if toasts := list(pilot.app.screen.query("Toast")):
        places = pilot.app.screen.query("#prompt, ApprovalBoard, HumanBoard, QuestionBoard, FindBar")
        for toast, place in product(toasts, places):
            assert not (place.region and toast.region.overlaps(place.region)), (place, toast.region, place.region)


async def play(history: list[int], size: int, keys: list[str]) -> None:
    lab, kept = Lab(), Kept()
    earlier = [one for n, count in enumerate(history) for one in (answer(100 * n, count), say("So much for that."))]
    model = WrittenModel(*earlier, *(answer(1000 * n, size) for n in range(9, 14)))
    with tempfile.TemporaryDirectory() as folder:
        console = app(Path(folder), model, lab.tools, gate=ApprovalGate(ApprovalMode.YOLO), store=kept)
        async with console.run_test(size=(100, 30), notifications=True) as pilot:
            screen = chat(console)
            for turns in range(len(history)):
                await pilot.press("g", "enter")
                await until(
                    pilot,
                    lambda turns=turns: (
                        len(screen.ui.shown.transcript.turns) > turns and not screen.console.conversation.busy
                    ),
                )
            lab.at_once = False
            await pilot.press("g", "enter")
            await until(pilot, lambda: bool(lab.waiting))
            for key in keys:
                await press(pilot, lab, kept, key)


# An example takes seconds, so a failing one is told as it is.
@examples(12, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
@example([3], 30, ["finish", "alt+up", "s"])
@example([2, 4], 1, ["turn", "home", "m", "tab", "s", "toast", "smallest", "x"])
@given(histories, batches, presses)
def test_letters_mean_the_call_that_is_seen_to_be_selected(history: list[int], size: int, keys: list[str]) -> None:
    asyncio.run(play(history, size, keys))
