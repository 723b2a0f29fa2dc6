"""Turns for the timeline: events at chosen seconds, folded into a transcript."""

from __future__ import annotations

from typing import Any

from console_app.domain import events as ev
from console_app.domain.events import DecidedBy, Decision
from console_app.domain.tools import Outcome
from console_app.domain.transcript import Transcript

START = 1_750_000_000.0


class Told:
    """A transcript and a short way to tell it of calls; times are seconds after the start."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.turn = 0
        self._calls = 0

    def at(self, seconds: float, event: type[ev.BaseEvent], **fields: Any) -> None:
        self.transcript.apply(event(at=START + seconds, turn=self.turn, step=1, **fields))  # pyright: ignore[reportArgumentType]

    def begin(self, seconds: float, prompt: str) -> None:
        self.turn += 1
        self.at(seconds, ev.TurnStarted, prompt=prompt)
        self.at(seconds, ev.StepStarted)

    def answer(self, seconds: float) -> None:
        self.at(seconds, ev.StepStarted)

    def call(self, label: str, arguments: dict[str, Any], announced: float, ready: float) -> str:
        server, tool = label.split(".")
        self._calls += 1
        call_id = f"call-{self._calls}"
        self.at(announced, ev.CallAnnounced, call_id=call_id, index=0, name=label, server=server, tool=tool)
        self.at(ready, ev.CallReady, call_id=call_id, arguments=arguments)
        return call_id

    def wait(self, call_id: str, begin: float, end: float | None = None) -> None:
        self.at(begin, ev.ApprovalRequested, call_id=call_id, why="it writes")
        if end is not None:
            self.at(end, ev.ApprovalResolved, call_id=call_id, decision=Decision.ALLOW, by=DecidedBy.USER)

    def run(
        self, call_id: str, begin: float, end: float | None, outcome: Outcome = Outcome.SUCCEEDED, error: str = ""
    ) -> None:
        self.at(begin, ev.CallStarted, call_id=call_id)
        if end is not None:
            took = round((end - begin) * 1000)
            self.at(
                end,
                ev.CallFinished,
                call_id=call_id,
                outcome=outcome,
                content="x",
                error=error or None,
                duration_ms=took,
            )

    def end(self, seconds: float) -> None:
        self.at(seconds, ev.TurnFinished, outcome="completed")


def weather() -> Told:
    """Two answers: five calls of which one waits and one is queued, then two, the last of which times out."""
    told = Told()
    told.begin(0, "Compare the weather in Oslo, Lima and Hanoi, and save a report")
    sums = told.call("calculator.evaluate", {"expression": "355/113"}, 1.0, 1.1)
    oslo = told.call("weather.forecast", {"city": "Oslo"}, 1.2, 1.3)
    lima = told.call("weather.forecast", {"city": "Lima"}, 1.4, 1.5)
    hanoi = told.call("weather.forecast", {"city": "Hanoi"}, 1.5, 1.6)
    report = told.call("files.write_file", {"path": "report.md"}, 1.7, 2.6)
    told.run(sums, 1.1, 1.14)
    told.run(oslo, 1.3, 3.4)
    told.run(lima, 1.5, 4.3, Outcome.FAILED, "upstream answered 503")
    told.run(hanoi, 3.4, 4.9)
    told.wait(report, 2.6, 4.8)
    told.run(report, 4.8, 5.0)
    told.answer(5.2)
    again = told.call("files.read_file", {"path": "report.md"}, 6.2, 6.3)
    search = told.call("search.web", {"query": "storm warnings"}, 6.3, 6.4)
    told.run(again, 6.3, 6.5)
    told.run(search, 6.4, 8.2, Outcome.TIMED_OUT, "no news for 2 s")
    told.end(9)
    return told
