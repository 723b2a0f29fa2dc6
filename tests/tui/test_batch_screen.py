"""A batch on the screen: what runs as rows with lanes, one of them as a conversation, one stopped, all stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

from console_app.domain import events as ev
from console_app.domain.batch import BatchSnapshot, Cause, ItemUsage, Lane, RunningItem
from console_app.domain.tools import CallState, Outcome
from console_app.tui.batch import BatchApp
from tests.tui.parts import NOW, THEMES, see, seen, until

Compare = Callable[..., bool]
DONE = Lane(label="calculator.evaluate", state=CallState.FINISHED, outcome=Outcome.SUCCEEDED)
FAILED = Lane(label="web.fetch", state=CallState.FINISHED, outcome=Outcome.FAILED)
QUEUED = Lane(label="web.fetch", state=CallState.QUEUED)


class Run:
    """A run that says what a test wrote, and remembers what was asked of it."""

    def __init__(self, count: int = 4) -> None:
        self.watched: list[str | None] = []
        self.stopped: list[str | None] = []
        self.now = BatchSnapshot(
            name="nightly",
            state="running",
            total=100,
            earlier=10,
            counts={"completed": 40, "failed": 2},
            running=tuple(
                RunningItem(
                    id=f"item {n}\x1b[31m",
                    model="openai/gpt",
                    started_at=NOW - 7.5 - n,
                    lanes=(DONE, FAILED, QUEUED)[: n % 4],
                )
                for n in range(count)
            ),
            usage=ItemUsage(input_tokens=120_000, output_tokens=8_000, cost=1.25),
            causes=(Cause(status="failed", words="no such page: [b]“x”[/b]", count=2, example="7"),),
            rate=2.5,
            seconds_left=20,
            started_at=NOW - 60,
            at=NOW,
        )

    def snapshot(self) -> BatchSnapshot:
        return self.now

    def watch(self, item_id: str | None) -> None:
        self.watched.append(item_id)

    def stop_item(self, item_id: str) -> bool:
        self.stopped.append(item_id)
        return True

    def stop_all(self) -> None:
        self.stopped.append(None)


def shown(run: Run) -> BatchApp:
    return BatchApp(run, "fanout-dark", (THEMES,))


def test_what_runs_is_a_row_with_its_calls_as_lanes(snap_compare: Compare) -> None:
    async def there(pilot: Pilot[Any]) -> None:
        await see(pilot, "52/100 done")

    assert snap_compare(shown(Run()), terminal_size=(80, 24), run_before=there)


async def test_the_cursor_stays_on_its_item_while_others_end() -> None:
    run = Run(6)
    async with shown(run).run_test(size=(80, 24)) as pilot:
        await see(pilot, "item 5")
        assert "\x1b" not in seen(pilot.app)
        await pilot.press("down", "down", "down")
        run.now = run.now.model_copy(update={"running": run.now.running[2:]})
        await until(pilot, lambda: "item 1" not in seen(pilot.app))
        await pilot.press("s")
        await until(pilot, lambda: run.stopped == ["item 3\x1b[31m"])


async def test_an_item_opens_as_a_conversation_and_closes_again() -> None:
    run = Run()
    app = shown(run)
    async with app.run_test(size=(80, 24)) as pilot:
        await see(pilot, "item 0")
        await pilot.press("enter")
        name = run.now.running[0].id
        await until(pilot, lambda: run.watched == [name])
        events = [
            ev.TurnStarted(prompt="What is 2+2?", turn=1, seq=1, at=NOW),
            ev.StepStarted(turn=1, step=1, seq=2, at=NOW),
            ev.TextDelta(text="I will calculate it.", turn=1, step=1, seq=3, at=NOW),
            ev.CallAnnounced(
                call_id="c", index=0, name="n", server="calculator", tool="evaluate", turn=1, step=1, at=NOW
            ),
        ]
        for event in events:
            app.happened(name, event)
        app.happened("another", ev.TextDelta(text="of another", turn=1, step=1, seq=9, at=NOW))
        await see(pilot, "I will calculate it.")
        await see(pilot, "evaluate")
        assert "of another" not in seen(app)
        assert "stop this item" in seen(app)
        await pilot.press("s")
        await until(pilot, lambda: run.stopped == [name])
        await pilot.press("escape")
        await see(pilot, "52/100 done")
        assert run.watched == [name, None]


async def test_an_item_that_has_ended_says_so_and_where_its_result_is() -> None:
    run = Run()
    run.now = run.now.model_copy(update={"results": "/somewhere/r.jsonl"})
    async with shown(run).run_test(size=(80, 24)) as pilot:
        await see(pilot, "item 0")
        await pilot.press("enter")
        await see(pilot, "stop this item")
        assert "has ended" not in seen(pilot.app)
        run.now = run.now.model_copy(update={"running": run.now.running[1:]})
        await see(pilot, "[31m: it has ended, its result is in r.jsonl")


async def test_all_is_stopped_when_it_is_asked_for_twice() -> None:
    run = Run()
    async with shown(run).run_test(size=(80, 24), notifications=True) as pilot:
        await see(pilot, "item 0")
        await pilot.press("q")
        await see(pilot, "Again to stop the whole batch")
        assert run.stopped == []
        await pilot.press("ctrl+c")
        await until(pilot, lambda: run.stopped == [None])


async def test_nothing_running_is_no_fault() -> None:
    run = Run(0)
    async with shown(run).run_test(size=(60, 15)) as pilot:
        await see(pilot, "52/100 done")
        await pilot.press("enter", "s", "down", "up", "end")
        assert run.stopped == run.watched == []


async def test_a_look_at_the_run_while_the_screen_ends_is_no_error() -> None:
    app = shown(Run())
    async with app.run_test(size=(80, 24)) as pilot:
        await see(pilot, "item 0")
    app._look()  # pyright: ignore[reportPrivateUsage]  # its timer may come between its parts' end and its own
