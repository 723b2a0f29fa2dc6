"""The same can be done with a call on every face, in every state that a call may be in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from console_app.acp_agent.session import editor_ways
from console_app.acp_agent.tool_calls import ending
from console_app.console.intents.table import Cannot, Slash
from console_app.console.reports.call_report import call_text
from console_app.domain import events as ev
from console_app.domain.call_description import Act, refusal, state_of
from console_app.domain.events import DecidedBy, Decision
from console_app.domain.tools import Artifact, Outcome
from console_app.domain.transcript import Transcript
from console_app.line_console.wording import came_of
from console_app.sessions.export import exported
from console_app.tui.lineview import CallBlock
from tests.each import each
from tests.examples import spread
from tests.line_console.test_typed_ahead import Shown, opened
from tests.tui.parts import NOW, Tools, WrittenModel, app, at_rest, chat, echo, say, until

ACTS = (
    "approve",
    "deny",
    "edit",
    "cancel",
    "retry",
    "extend",
    "background",
    "inspect",
    "copy",
    "files",
    "send",
    "result",
)
KEYS = {  # the ids of the keys on the screen; those that decide are the board's
    **{
        name: f"panel.{name}"
        for name in ("edit", "cancel", "retry", "extend", "background", "inspect", "copy", "files", "send")
    },
    "approve": "board.once",
    "deny": "board.deny",
}
LINES = {**{name: f"/{name} 1" for name in ACTS}, "send": "/results"}
REFUSED = (
    "doesn't wait for approval", "has ended", "hasn't run yet", "can't be changed before", "isn't running",
    "has no time limit", "nothing of it to copy", "has no file", "runs this call itself", "Fanout's own call",
    "has no result yet", "went to the background", "could not be read", "No call is running", "runs in the background",
)  # fmt: skip
ALWAYS = {"inspect"}
UNDER_WAY = ALWAYS | {"copy", "cancel", "send"}
ENDED = ALWAYS | {"copy", "edit", "retry", "result"}
OWN = {"server": "fanout", "tool": "update_todo_list", "name": "fanout_update_todo_list"}


def the(outcome: Outcome = Outcome.SUCCEEDED, content: str = "found", **more: Any) -> ev.CallFinished:
    return ev.CallFinished(call_id="call-0", outcome=outcome, content=content, duration_ms=20, **more)


def asked(**more: Any) -> ev.CallAnnounced:
    named: dict[str, Any] = {"name": "lab_do", "server": "lab", "tool": "do", **more}
    return ev.CallAnnounced(call_id="call-0", index=0, **named)


READY = ev.CallReady(call_id="call-0", arguments={"text": "a"})
WAITS = ev.ApprovalRequested(call_id="call-0", why="not pre-approved")
ALLOWED = ev.ApprovalResolved(call_id="call-0", decision=Decision.ALLOW, by=DecidedBy.USER)
QUEUED = ev.CallQueued(call_id="call-0", why="128 run")
RUNS = ev.CallStarted(call_id="call-0")
LIMITED = ev.CallStarted(call_id="call-0", limit=60)
FILE = Artifact(name="a.txt", path="/nowhere/a.txt")
STATES: dict[str, tuple[Sequence[ev.Event], set[str]]] = {
    "its name is known": ([asked()], {"inspect", "cancel", "send"}),
    "its arguments arrive": ([asked(), ev.CallArguments(call_id="call-0", delta='{"te')], UNDER_WAY),
    "it waits for approval": ([asked(), READY, WAITS], UNDER_WAY | {"approve", "deny", "edit"}),
    "it was approved": ([asked(), READY, WAITS, ALLOWED], UNDER_WAY),
    "it is queued": ([asked(), READY, QUEUED], UNDER_WAY),
    "it runs": ([asked(), READY, RUNS], UNDER_WAY | {"edit", "retry", "background"}),
    "it runs with a limit": ([asked(), READY, LIMITED], UNDER_WAY | {"edit", "retry", "extend", "background"}),
    "it runs in the background": ([asked(), READY, RUNS, ev.CallDetached(call_id="call-0")], UNDER_WAY),
    "its server asks": (
        [asked(), READY, LIMITED, ev.CallAsked(call_id="call-0", what="values")],
        UNDER_WAY | {"edit", "retry", "extend", "background"},
    ),
    "it runs again": (
        [asked(), READY, RUNS, the(), ev.CallRestarted(call_id="call-0", attempt=2), QUEUED],
        UNDER_WAY,
    ),
    **{f"it ended: {outcome}": ([asked(), READY, RUNS, the(outcome)], ENDED) for outcome in Outcome},
    "it could not be read": ([asked(), the(Outcome.INVALID, "no JSON")], ENDED - {"retry"}),
    "it gave a file": ([asked(), READY, RUNS, the(artifacts=(FILE,))], ENDED | {"files"}),
    "it ended in the background": (
        [asked(), READY, RUNS, ev.CallDetached(call_id="call-0"), the()],
        ENDED - {"result"},
    ),
    "the provider runs it": ([asked(origin="provider", server="", tool=""), READY, RUNS], ALWAYS | {"copy"}),
    "the provider ran it": ([asked(origin="provider", server="", tool=""), READY, RUNS, the()], ALWAYS | {"copy"}),
    "it is Fanout's own and runs": ([asked(**OWN), READY, RUNS], UNDER_WAY),
    "it is Fanout's own and ended": ([asked(**OWN), READY, RUNS, the()], ALWAYS | {"copy"}),
}


def told(state: str) -> list[ev.Event]:
    """The events of a turn whose call is in that state."""
    head = [ev.TurnStarted(prompt="go"), ev.StepStarted()]
    return [
        one.model_copy(update={"turn": 1, "step": 1, "seq": n, "at": NOW})
        for n, one in enumerate([*head, *STATES[state][0]], 1)
    ]


async def on_screen(folder: Path, state: str) -> set[str]:
    """The acts whose keys do something."""
    async with app(folder, None, Tools({("lab", "do"): echo})).run_test(size=(140, 40)) as pilot:
        screen = chat(pilot.app)
        for event in told(state):
            screen.ui.show(event)
        await at_rest(pilot)
        decides = await _bound(pilot, screen.boards.approvals) if screen.boards.approvals.is_asking else set[str]()
        screen.view.enter()
        await until(pilot, lambda: isinstance(screen.view.cursor, CallBlock) and screen.view.has_focus)
        return {act for act, key in KEYS.items() if key in decides | await _bound(pilot, screen.view)}


async def _bound(pilot: Pilot[Any], widget: Any) -> set[str]:
    widget.focus()
    await until(pilot, lambda: widget.has_focus)
    found = pilot.app.screen.active_bindings.values()
    return {one.binding.id or "" for one in found if one.enabled and one.node is widget}


async def in_lines(folder: Path, state: str) -> set[str]:
    """The acts whose commands are not refused."""
    async with opened(folder, WrittenModel(say("Over.")), Tools({("lab", "do"): echo})) as lines:
        for event in told(state):
            lines.face.ui.show(event)
        await lines.face.ui.next_slice()
        return {act for act in ACTS if await _taken(lines, LINES[act])}


async def _taken(lines: Shown, command: str) -> bool:
    before, ends = len(lines.text), lines.text.count("Nothing runs.") + 1
    lines.type(command, "/status")
    await lines.see("Nothing runs.", ends)
    if lines.face.dialogue.asks:
        lines.type(".")
    return not any(words in lines.text[before:] for words in REFUSED)


@each("state", STATES)
def test_what_may_be_done_with_a_call_is_by_its_state(state: str) -> None:
    call = Transcript.of(told(state)).calls["call-0"]
    runs = call.outcome is None
    assert {str(act) for act in Act if not refusal(call, act, siblings_run=runs)} == STATES[state][1]


@each(("face", "state"), [(face, state) for face in (on_screen, in_lines) for state in spread(STATES, 8)])
async def test_every_face_offers_the_same_acts_on_a_call(face: Any, state: str, tmp_path: Path) -> None:
    found = await face(tmp_path, state)
    if face is on_screen and "result" in STATES[state][1]:  # it has no key of its own: the form of `e` leads there
        assert "edit" in found
        found |= {"result"}
    assert found == STATES[state][1]


def test_an_editor_decides_nothing_of_its_own() -> None:
    """It asks in the words of the protocol while a call waits; what else it has is the command of every face."""
    for act in (*(act for act in ACTS if act != "send"), "results"):
        way = editor_ways().get(act, Slash())
        assert isinstance(way, Cannot) or (isinstance(way, Slash) and way.run is None), act


def test_a_call_that_reports_a_failure_is_told_of_alike_on_every_face_and_in_every_file() -> None:
    head = [*told("it runs")[:3], ev.CallReady(call_id="call-0", arguments={"command": "make"}), RUNS]
    events = [*head, the(content="2 failed\nexit code: 1")]
    call = Transcript.of(events).calls["call-0"]
    assert state_of(call) == ("!", "said no")
    assert came_of(call).startswith("said no (exit 1) after 20 ms")
    assert "state      said no (exit 1)" in call_text(call)
    assert ending(call, [])["status"] == "failed"
    for form in ("md", "html"):
        assert "lab · do: said no (exit 1), 0.0 s" in exported(events, form, "x")
