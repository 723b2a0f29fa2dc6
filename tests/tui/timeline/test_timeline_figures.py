"""The timeline shows of a turn: phases apart, wall against summed time, round ticks, files that hold."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from console_app.domain.transcript.times import figures, spans_of
from console_app.sessions.export import ExportError
from console_app.tui.timeline import chart, export
from console_app.tui.timeline.chart import ChartColumns, Labels, Window, bar_cells, calls_of, rows_of, ticks
from tests.tui.timeline.turns import START, Told, weather
from tests.work import work


def phases(told: Told, call_id: str, now: float = 100) -> list[tuple[str, float, float]]:
    spans = spans_of(told.transcript.calls[call_id], START + now)
    return [(span.phase, round(span.begin - START, 2), round(span.end - START, 2)) for span in spans]


def test_arguments_wait_queue_and_run_are_apart() -> None:
    told = Told()
    told.begin(0, "go")
    call = told.call("a.b", {}, 1, 2)
    told.wait(call, 2.5, 4)
    told.run(call, 5, 7)
    assert phases(told, call) == [
        ("arguments", 1, 2),
        ("queue", 2, 2.5),
        ("wait", 2.5, 4),
        ("queue", 4, 5),
        ("run", 5, 7),
    ]


def test_what_its_server_asked_you_lies_over_the_run() -> None:
    told = Told()
    told.begin(0, "go")
    call = told.call("a.b", {}, 1, 1)
    told.at(1, ev.CallStarted, call_id=call)
    told.at(3, ev.CallAsked, call_id=call, what="Who?")
    assert phases(told, call, 7) == [("run", 1, 7), ("wait", 3, 7)]
    told.at(9, ev.CallAnswered, call_id=call, what="Who?", how="accepted")
    told.at(11, ev.CallFinished, call_id=call, outcome="succeeded", content="")
    assert phases(told, call) == [("run", 1, 11), ("wait", 3, 9)]
    shown = bar_cells(told.transcript.calls[call], Window.whole(START + 1, START + 11), 10, START + 11)
    assert [span.phase for _, span in shown if span] == ["run", "run", *["wait"] * 6, "run", "run"]


def test_a_call_has_the_time_here_that_its_row_has() -> None:
    told = Told()
    told.begin(0, "go")
    told.run(measured := told.call("a.b", {}, 1, 1), 1, None)
    told.at(1.4, ev.CallFinished, call_id=measured, outcome=Outcome.SUCCEEDED, content="", duration_ms=300)
    told.run(cut := told.call("a.c", {}, 1, 1), 1, None)
    told.at(1.2, ev.CallFinished, call_id=cut, outcome=Outcome.INTERRUPTED, content="")
    assert [chart.time_of(told.transcript.calls[one], START + 9) for one in (measured, cut)] == ["0.3 s", "≥ 0.2 s"]


def test_what_still_waits_or_runs_reaches_to_now() -> None:
    told = Told()
    told.begin(0, "go")
    waiting, running = told.call("a.b", {}, 1, 1), told.call("a.c", {}, 1, 1)
    told.wait(waiting, 1)
    told.run(running, 2, None)
    assert phases(told, waiting, 3) == [("wait", 1, 3)]
    assert phases(told, running, 3)[-1] == ("run", 2, 3)


def test_a_call_that_was_run_again_shows_both_runs_and_no_queue_between() -> None:
    told = Told()
    told.begin(0, "go")
    call = told.call("a.b", {}, 1, 1)
    told.run(call, 1, 2)
    told.at(60, ev.CallRestarted, call_id=call, attempt=2)
    told.run(call, 60, 61)
    assert phases(told, call) == [("run", 1, 2), ("run", 60, 61)]


def test_wall_summed_and_saved() -> None:
    turn = weather().transcript.turns[0]
    sums = figures(turn, START + 9)
    assert sums.calls == 7
    assert sums.wall == pytest.approx(3.9 + 1.9)
    assert sums.summed == pytest.approx(0.04 + 2.1 + 2.8 + 1.5 + 0.2 + 0.2 + 1.8)
    assert sums.saved == pytest.approx(sums.summed - sums.wall)
    assert sums.waited == pytest.approx(2.2)
    assert sums.queued == pytest.approx(1.8)


def test_the_first_and_the_last_cell_of_a_bar_are_on_the_axis() -> None:
    turn = weather().transcript.turns[0]
    window = Window.whole(*turn.reach(START + 9))
    for call in calls_of(rows_of(turn)):
        cells = bar_cells(call, window, 40, START + 9)
        assert len(cells) == 40
        assert any(span is not None and span.phase == "run" for _, span in cells)


@given(
    length=st.floats(0.001, 100_000),
    moves=st.lists(st.tuples(st.sampled_from(["zoom", "pan", "grow"]), st.integers(-3, 3)), max_size=12),
    cells=st.integers(1, 200),
)
def test_no_zoom_or_pan_leaves_the_turn(length: float, moves: list[tuple[str, int]], cells: int) -> None:
    window = Window.whole(START, START + length)
    for what, by in moves:
        if what == "zoom":
            window = window.zoom(by)
        elif what == "pan":
            window = window.pan(by / 4)
        else:
            window = window.grown(window.first, window.last + abs(by))
        assert window.first - 1e-6 <= window.begin < window.end <= window.last + 1e-6
        marks = ticks(window, cells)
        assert all(0 <= cell < cells for cell, _ in marks)
        assert len(marks) <= cells // 4 + 3


def test_ticks_are_round() -> None:
    assert ticks(Window.whole(START, START + 4), 44) == [(0, "0"), (11, "1 s"), (22, "2 s"), (33, "3 s")]
    assert [label for _, label in ticks(Window.whole(START, START + 0.2), 44)] == ["0", "50 ms", "100 ms", "150 ms"]
    assert [label for _, label in ticks(Window.whole(START, START + 400), 44)] == ["0", "2:00", "4:00", "6:00"]


def test_the_files_say_what_the_screen_says(tmp_path: Path) -> None:
    turn = weather().transcript.turns[0]
    text = export.write(turn, START + 9, "txt", tmp_path).read_text()
    assert "forecast Lima" in text
    assert "elapsed 5.8 s · total 8.6 s · 2.8 s saved" in text
    first = export.write(turn, START + 9, "svg", tmp_path)
    assert first.stat().st_mode & 0o077 == 0
    assert (first.name, export.write(turn, START + 9, "svg", tmp_path).name) == ("timeline-1.svg", "timeline-1-2.svg")
    drawing = ElementTree.fromstring(first.read_text())
    assert (
        sum("running 2.8 s" in (title.text or "") for title in drawing.iter("{http://www.w3.org/2000/svg}title")) == 1
    )
    bars = [one for one in drawing.iter("{http://www.w3.org/2000/svg}rect") if len(one)]
    squares = [one for one in drawing.iter("{http://www.w3.org/2000/svg}rect") if one.get("width") == "12"]
    assert {bar.get("fill") for bar in bars} <= {square.get("fill") for square in squares}, "the legend has each colour"


def test_what_tells_calls_apart_comes_before_what_is_common() -> None:
    told = Told()
    told.begin(0, "Go")
    for n in range(3):
        told.run(told.call("demo.long_task", {"duration_seconds": 4, "task": f"task {n}"}, 1, 1), 1, 2)
    rows = rows_of(told.transcript.turns[0])
    labels = Labels(rows)
    assert [labels.of(call) for call in labels.calls] == [f"task {n}  duration_seconds=4  long_task" for n in range(3)]
    told.run(told.call("demo.fail", {"message": "boom"}, 1, 1), 1, 2)
    labels = Labels(rows_of(told.transcript.turns[0]))
    assert labels.of(labels.calls[-1]) == "fail boom"
    assert labels.of(labels.calls[0]).startswith("long_task task 0")


def test_a_name_is_whole_where_there_is_room_for_it() -> None:
    told = Told()
    told.begin(0, "Go")
    command = "for i in 1 2 3 4 5 6 7 8 9; do echo step; done"
    told.run(told.call("shell.run", {"command": command}, 1, 1), 1, 2)
    told.run(told.call("files.read_file", {"path": "src/a.py"}, 1, 1), 1, 2)
    labels = Labels(rows_of(told.transcript.turns[0]))
    room = ChartColumns.for_width(200, labels).label
    assert command in labels.within(labels.calls[0], room)
    assert ChartColumns.for_width(80, labels).label <= 26


def test_labels_hold_until_a_call_comes_or_says_more() -> None:
    told = Told()
    told.begin(0, "Go")
    call = told.call("demo.do", {"x": 1}, 1, 1)
    rows = rows_of(told.transcript.turns[0])
    labels = Labels(rows)
    told.run(call, 1, 2)
    assert labels.hold_for(rows_of(told.transcript.turns[0]))
    told.at(2, ev.CallRestarted, call_id=call, attempt=2, arguments={"x": 3})
    assert not labels.hold_for(rows_of(told.transcript.turns[0]))
    labels = Labels(rows)
    assert labels.hold_for(rows_of(told.transcript.turns[0]))
    told.call("demo.do", {"x": 2}, 2, 2)
    assert not labels.hold_for(rows_of(told.transcript.turns[0]))


def test_a_line_costs_the_same_however_many_calls_there_are() -> None:
    def line(calls: int) -> int:
        told = Told()
        told.begin(0, "Go")
        for number in range(calls):
            told.run(told.call("demo.do", {"x": f"{number:04}"}, 1, 1), 1, 2)
        labels = Labels(rows_of(told.transcript.turns[0]))
        first = labels.within(labels.calls[0], ChartColumns.for_width(80, labels).label)
        again: list[str] = []
        done = work(lambda: again.append(labels.within(labels.calls[0], ChartColumns.for_width(80, labels).label)))
        assert again == [first]
        return done

    assert line(400) <= line(40)


def test_labels_of_thousands_of_calls_are_made_where_they_are_asked_for() -> None:
    def labelled(calls: int) -> tuple[int, list[str]]:
        told = Told()
        told.begin(0, "Go")
        for number in range(calls):
            told.run(told.call("demo.do", {"x": f"{number:05}", "y": "the same"}, 1, 1), 1, 2)
        labels = Labels(rows_of(told.transcript.turns[0]))
        asked = [labels.calls[place] for place in (0, 1, calls - 2, calls - 1)]
        shown: list[str] = []
        done = work(
            lambda: shown.extend(labels.within(call, ChartColumns.for_width(80, labels).label) for call in asked)
        )
        return done, shown

    few, many = labelled(500), labelled(4000)
    assert many[0] < 4 * few[0]
    assert [text.split()[0] for text in many[1]] == ["00000", "00001", "03998", "03999"]


def test_calls_that_have_not_started_are_queued_until_now_or_their_end() -> None:
    told = Told()
    told.begin(0, "Go")
    runs, _queued, cancelled = (told.call("demo.do", {"x": n}, 1, 2) for n in range(3))
    told.call("demo.do", {"x": 3}, 1, 9)  # its arguments are ready later than the time that is asked for
    told.run(runs, 3, None)
    told.at(4, ev.CallFinished, call_id=cancelled, outcome="cancelled", content="")
    sums = figures(told.transcript.turns[0], START + 7)
    assert (sums.wall, sums.summed, sums.waited) == pytest.approx((4, 4, 0))
    assert sums.queued == pytest.approx(1 + 5 + 2)


def test_waiting_for_a_person_is_neither_elapsed_nor_total() -> None:
    told = Told()
    told.begin(0, "Go")
    first, late = (told.call("demo.do", {"x": n}, 1, 1) for n in range(2))
    told.run(first, 1, 2)
    told.wait(late, 1, 900)
    told.run(late, 900, 902)
    sums = figures(told.transcript.turns[0], START + 903)
    assert (sums.wall, sums.summed, sums.saved) == pytest.approx((3, 3, 0))
    assert sums.waited == pytest.approx(899)


def test_the_time_until_a_call_was_run_again_is_not_elapsed() -> None:
    told = Told()
    told.begin(0, "Go")
    first, again = (told.call("demo.do", {"x": n}, 1, 1) for n in range(2))
    told.run(first, 1, 2)
    told.run(again, 1, 3)
    for attempt, begin, end in ((2, 600.0, 601.0), (3, 900.0, None)):
        told.at(begin - 0.5, ev.CallRestarted, call_id=again, attempt=attempt)
        told.run(again, begin, end)
    # What the runs that another took the place of covered, beside no other, counts too: something went on.
    assert figures(told.transcript.turns[0], START + 904).wall == pytest.approx(2 + 1 + 4)
    told.at(905, ev.CallFinished, call_id=again, outcome="succeeded", content="")
    told.at(990, ev.CallRestarted, call_id=again, attempt=4)
    assert figures(told.transcript.turns[0], START + 999).wall == pytest.approx(1)


def test_hostile_text_can_not_break_the_drawing(tmp_path: Path) -> None:
    told = Told()
    told.begin(0, "</svg><script>\x1b]52;c;x\x07\ufffe")
    told.run(told.call("a.<b>&\x00", {"x": "]]>\u202e"}, 1, 1), 1, 2)
    written = export.write(told.transcript.turns[0], START + 3, "svg", tmp_path).read_text()
    ElementTree.fromstring(written)
    assert "<script>" not in written
    assert not any(c in written for c in "\x1b\x07\u202e")


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="can't write"):
        export.write(weather().transcript.turns[0], START + 9, "txt", tmp_path / "missing")


def test_labels_that_would_be_cut_to_the_same_begin_where_they_differ() -> None:
    told = Told()
    told.begin(0, "all")
    calls = [told.call("shell.run", {"command": f"python -m pytest tests/{name}"}, 0, 0) for name in ("ab", "ac", "b")]
    other = told.call("files.read", {"path": "README.md"}, 0, 0)
    labels = Labels(rows_of(told.transcript.turns[-1]))
    shown = {call_id: labels.within(told.transcript.calls[call_id], 16) for call_id in (*calls, other)}
    assert [shown[call_id] for call_id in calls] == ["…ab", "…ac", "…b"]
    assert shown[other] == "read README.md"
    assert labels.within(told.transcript.calls[calls[0]], 60) == "run python -m pytest tests/ab"


def test_calls_that_wait_together_are_waited_for_once() -> None:
    told = Told()
    told.begin(0, "Go")
    for waiting in [told.call("a.b", {"n": n}, 1, 1) for n in range(12)]:
        told.wait(waiting, 1, 61)
    assert figures(told.transcript.turns[0], START + 61).waited == pytest.approx(60)


def test_a_label_that_is_cut_in_a_file_says_so(tmp_path: Path) -> None:
    told = Told()
    told.begin(0, "Go")
    for name in ("one", "two"):
        told.run(told.call("shell.run", {"command": f"make {'x' * 30} {name} {'y' * 80}"}, 1, 1), 1, 2)
    told.run(told.call("files.read", {"path": "a.md"}, 1, 1), 1, 2)
    turn = told.transcript.turns[0]
    lines = export.write(turn, START + 3, "txt", tmp_path).read_text().split("\n")
    rows = [line for line in lines if line.endswith("  ok")]
    assert ["… " in row for row in rows] == [True, True, False]
    assert ["one" in rows[0], "two" in rows[1], "a.md" in rows[2]] == [True] * 3
    drawing = ElementTree.fromstring(export.write(turn, START + 3, "svg", tmp_path).read_text())
    labels = [one.text or "" for one in drawing.iter("{http://www.w3.org/2000/svg}text") if one.get("x") == "8"][2:]
    assert ["one" in labels[0], "two" in labels[1], labels[0].endswith("…")] == [True] * 3
