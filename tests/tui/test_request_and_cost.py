"""/request shows what goes to the model, /cost what it took; every command that the console promises is there."""

from __future__ import annotations

from pathlib import Path

from console_app.console.intents.reports import LAST, MOST_OF_ONE, NEXT, cost_report, request_report
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.engine import Engine
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, echo, say, see, seen, until

PROMISED = """
    help model effort mcp tools call clear new compact context request cost sessions resume rename fork rewind export
    copy undo find theme config connect permissions keys editor timeline todo log doctor reload quit plan trust
""".split()  # noqa: SIM905


async def test_request_and_cost_on_screen(tmp_path: Path) -> None:
    model = WrittenModel(calls(("lab_do", '{"n": 1}')), say("It is done."))
    console = app(tmp_path, model, Tools({("lab", "do"): echo}))
    async with console.run_test(size=(100, 40)) as pilot:
        assert [name for name in PROMISED if chat(pilot.app).commands.get(name) is None] == []
        engine = chat(pilot.app).console.conversation.engine
        assert "No request was sent" in request_report(engine)
        chat(pilot.app).prompt_area.send("do one")
        await see(pilot, "It is done.")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        chat(pilot.app).prompt_area.take("/request")
        await see(pilot, NEXT)
        assert "RESULT of lab_do" in seen(pilot.app)
        shown, sent = request_report(engine).split(LAST)
        assert "It is done." in shown
        assert "It is done." not in sent
        assert 'lab_do {"n": 1}' in sent
        assert "succeeded" in sent
        await pilot.press("escape")
        chat(pilot.app).prompt_area.take("/cost")
        await see(pilot, "Cost")
        await see(pilot, "do one")


def test_a_long_message_is_cut_and_says_so() -> None:
    engine = Engine(provider=WrittenModel(), toolset=Tools())
    engine.record(ev.MessageAdded(role="user", content="x" * (MOST_OF_ONE + 7)))
    assert "… 7 characters more" in request_report(engine)


def test_what_a_session_cost_is_told_by_turn() -> None:
    told = [
        ev.TurnStarted(turn=1, prompt="first"),
        ev.StepStarted(turn=1, step=1),
        ev.UsageReported(turn=1, input_tokens=1000, output_tokens=200, cached_tokens=400, cost=0.25),
        ev.TurnFinished(turn=1, outcome="completed"),
        ev.TurnStarted(turn=2, prompt="second"),
    ]
    report = cost_report(Transcript.of(told)).splitlines()
    assert [line.split() for line in report if line.startswith(("Input", "Output", "Cost"))] == [
        ["Input", "1,000", "tokens"],
        ["Output", "200", "tokens"],
        ["Cost", "$0.2500"],
    ]
    assert [line.split() for line in report[-2:]] == [["1", "1,200", "$0.2500", "first"], ["2", "0", "–", "second"]]
    assert "not known" in cost_report(Transcript())
