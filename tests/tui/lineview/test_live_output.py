"""The output of running calls in their panels: the newest lines, as many as there is room for, and nothing foreign."""

from __future__ import annotations

import re

from console_app.domain import events as ev
from console_app.domain.tools import Outcome
from tests.hostile import PAYLOADS
from tests.tui.lineview.scenes import TinyApp, painted, screen_lines


def write(app: TinyApp, call_id: str, text: str, at: float = 1.0, offset: int = 0) -> None:
    app.story.send(ev.CallOutput, at, call_id=call_id, stream="stdout", text=text, offset=offset)


def lines(app: TinyApp, words: str) -> list[str]:
    return [line.strip(" ▎▌") for line in screen_lines(app) if words in line]


async def test_a_call_that_runs_shows_its_newest_six_lines_until_it_has_its_result() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        call_id = app.story.call(0, started=0.0)
        write(app, call_id, "".join(f"out {n}\n" for n in range(20)))
        await painted(pilot)
        assert lines(app, "out ") == [f"out {n}" for n in range(14, 20)]
        write(app, call_id, "out 20\n", offset=130)
        await painted(pilot)
        assert lines(app, "out ")[-1] == "out 20"
        app.story.finish(call_id, 2.0)
        await painted(pilot)
        assert lines(app, "out ") == []


async def test_rows_that_are_free_are_shared_among_those_that_write_and_the_selected_one_has_most() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        ids = [app.story.call(n, started=0.0, i=n) for n in range(5)]
        for n, call_id in enumerate(ids[:4]):
            write(app, call_id, "".join(f"{n}-out {line}\n" for line in range(9)))
        await painted(pilot)
        height = app.view.size.height
        counts = [len(lines(app, f"{n}-out")) for n in range(4)]
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == height - 5 - 2
        assert app.view.enter_call(1)
        await painted(pilot)
        counts = [len(lines(app, f"{n}-out")) for n in range(4)]
        assert counts[0] == 6
        assert sum(counts) == height - 5 - 2
        assert len(lines(app, "i=")) or len(lines(app, "look_up")) == 5


async def test_bars_are_written_over_and_an_endless_one_costs_one_line() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        call_id = app.story.call(0, started=0.0)
        offset = 0
        for n in range(3000):
            text = f"\r{n:>5} of 3000 {'#' * (n // 100)}"
            write(app, call_id, text, offset=offset)
            offset += len(text)
        await painted(pilot)
        assert [line.split(" #")[0] for line in lines(app, "of 3000")] == ["2999 of 3000"]
        app.story.send(ev.CallProgress, 1.5, call_id=call_id, progress=5, message="\r\x1b[2K[## ] 40 %\r[###] 60 %")
        await painted(pilot)
        (row,) = lines(app, "60 %")
        assert row.split(" · ")[1].startswith("5  [###] 60 %")
        app.story.finish(call_id, 2.0, "\r".join(f"[{'#' * (n % 9):<9}] {n} %" for n in range(5000)))
        await painted(pilot)
        assert "4999 %" in lines(app, "look_up")[0], "a result is one line too: the last one"


async def test_hostile_output_shows_as_marks_or_not_at_all() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.view.focus()
        for number, hostile in enumerate(PAYLOADS):
            app.story.turn()
            call_id = app.story.call(0, started=0.0)
            write(app, call_id, f"before {hostile} behind\n\x1b[31m{number}\x1b[0m\x1b[2J\x1b]0;title\x07 end\n")
            await painted(pilot)
            for opened in (False, True):
                text = "\n".join(screen_lines(app))
                assert f"{number} end" in text, (opened, hostile)
                assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), (opened, hostile)
                if not opened:
                    await pilot.press("end", "space")
                    await painted(pilot)
            app.view.clear()


async def test_opened_it_shows_all_that_is_kept_and_colours() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 40)) as pilot:
        app.story.turn()
        call_id = app.story.call(0, started=0.0)
        write(app, call_id, "".join(f"out {n}\n" for n in range(500)))
        app.view.focus()
        await pilot.press("end", "space", "end")
        await painted(pilot)
        assert lines(app, "out ")[-1] == "out 499"
        assert app.view.virtual_size.height > 500
        app.story.finish(call_id, 2.0, "\n".join(f"out {n}" for n in range(500)))
        await painted(pilot)
        assert len(lines(app, "out 499")) <= 1, "it is in the result, once"


async def test_a_long_batch_is_a_report_when_the_next_answer_begins_and_a_short_one_stays() -> None:
    app = TinyApp()
    async with app.run_test(size=(100, 34)) as pilot:
        for count in (4, 40):
            app.story.turn()
            ids = [app.story.call(n, started=0.0, i=n) for n in range(count)]
            for n, call_id in enumerate(ids):
                outcome = Outcome.FAILED if n == 3 else Outcome.SUCCEEDED
                app.story.finish(call_id, 1.0, "no such order" if n == 3 else "done it", outcome)
            app.story.send(ev.BatchFinished, 1.0, calls=count, wall_ms=1000, summed_ms=4000)
            await painted(pilot)
            if count == 40:
                assert app.view.virtual_size.height > 40, "it is not folded while nothing goes on"
            app.story.send(ev.StepStarted, 2.0)
            app.story.say("This is what came of it.", 2.0)
            await painted(pilot)
        assert app.view.virtual_size.height < 34
        text = "\n".join(screen_lines(app))
        assert len(re.findall("done it", text)) == 3, text
        assert len(re.findall("no such order", text)) == 2, text
        assert "+ 39 ok" in text
        app.view.focus()
        await pilot.press("end", "up", "up", "up", "enter")
        await painted(pilot)


async def test_five_hundred_calls_are_never_five_hundred_rows_whatever_came_of_them() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        ids = [app.story.call(n, started=0.0, i=n) for n in range(500)]
        for call_id in ids:
            app.story.finish(call_id, 1.0, "broke", Outcome.FAILED)
        app.story.send(ev.TurnFinished, 3.0, outcome="completed")
        await painted(pilot)
        assert app.view.virtual_size.height < 24
        assert "+ 494 failed" in "\n".join(screen_lines(app)) or re.search(
            r"\+ 49\d failed", "\n".join(screen_lines(app))
        )


async def test_what_runs_on_in_the_background_takes_no_rows_from_the_next_answer_but_where_it_is_selected() -> None:
    app = TinyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.story.turn()
        call_id = app.story.call(0, started=0.0)
        write(app, call_id, "".join(f"out {n}\n" for n in range(9)))
        app.story.send(ev.CallDetached, 1.0, call_id=call_id)
        app.story.send(ev.StepStarted, 2.0)
        app.story.say("Going on.", 2.0)
        await painted(pilot)
        assert lines(app, "out ") == []
        assert app.view.enter_call(1)
        await painted(pilot)
        assert len(lines(app, "out ")) == 6
