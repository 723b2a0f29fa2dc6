"""What the conversation's view costs: streaming, many panels, a long history. In one process, without a terminal.

Run as `python benchmarks/bench_conversation.py [NAME ...]`. Times are CPU seconds of the whole process (the app runs
headless, Textual paints all the same), beside the wall time; `%` is CPU a wall second, of one core.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from textual import events
from textual.app import App, ComposeResult
from textual.widget import Widget
from textual.widgets import Input

from benchmarks.console import parser
from console_app.domain import AssistantMessage, Outcome, ToolCall, ToolMessage, UserMessage
from console_app.domain import events as ev
from console_app.domain.transcript import Transcript
from console_app.engine.calls.call_execution import GatheredOutput
from console_app.sessions import Library, Store
from console_app.tui.lineview import ConversationView, EventRouter, Finder, use_first
from console_app.tui.timeline.screen import TimelineScreen
from console_app.wiring import freeze_collector

PARAGRAPH = """## Section {n}

Some **bold** words, *italic* ones, `inline code` and a [link](https://example.org/{n}) in a paragraph that is long
enough to wrap over more than one line of an ordinary terminal, as answers do.

- first point of section {n}
- second point, with `code`
  1. nested
  2. nested again

```python
def section_{n}(values: list[float]) -> float:
    \"\"\"Say something about the values.\"\"\"
    return sum(value ** 2 for value in values) / {n}  # never zero
```

| name | value | note |
|:-----|------:|------|
| a    | {n}   | one  |
| b    | 2.50  | two  |

"""


class Bench(App[None]):
    """The view and an input, as in the console."""

    AUTO_FOCUS = "Input"

    def compose(self) -> ComposeResult:
        yield ConversationView(id="view")
        yield Input()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variable of the console's themes that its dialogs name."""
        return {"muted": "#a0a0a0"}


class Scene:
    """A running app with a router, and the clocks around a piece of work."""

    def __init__(self, app: Bench) -> None:
        self.app = app
        self.view = app.query_one(ConversationView)
        self.transcript = Transcript()
        self.router = EventRouter(self.view, self.transcript)

    def show(self, event: ev.Event) -> None:
        self.router.show(event)

    def turn(self, number: int = 1) -> None:
        at = time.time()
        self.show(ev.TurnStarted(turn=number, at=at, prompt="Work"))
        self.show(ev.StepStarted(turn=number, step=1, at=at))

    async def frame(self) -> float:
        """Paints a frame, and returns how many CPU seconds it took until the screen had it."""
        begin = time.process_time()
        self.view.paint_frame()
        await painted(self.view)
        return time.process_time() - begin

    async def settled(self) -> None:
        while not self.view.is_painted:  # noqa: ASYNC110 (the view has no event for it)
            await asyncio.sleep(0.005)


async def painted(widget: Widget) -> None:
    """Returns once the screen was painted with all that has changed."""
    shown = asyncio.Event()
    widget.call_after_refresh(shown.set)
    await shown.wait()


def tokens(count: int) -> list[str]:
    """About so many tokens of mixed Markdown, four characters each."""
    text = "".join(PARAGRAPH.format(n=n) for n in range(1, count * 4 // len(PARAGRAPH) + 2))
    return [text[at : at + 4] for at in range(0, count * 4, 4)]


async def burst(scene: Scene) -> str:
    """20,000 tokens as fast as they can be taken, 16 a slice."""
    scene.turn()
    parts = tokens(20_000)
    for at in range(0, len(parts), 16):
        for part in parts[at : at + 16]:
            scene.show(ev.TextDelta(text=part))
        await asyncio.sleep(0)
    await scene.settled()
    return f"{scene.view.virtual_size.height:,} lines"


async def paced(scene: Scene) -> str:
    """2,400 tokens at 300 a second."""
    scene.turn()
    begin = time.perf_counter()
    late: list[float] = []
    for number, part in enumerate(tokens(2_400)):
        scene.show(ev.TextDelta(text=part))
        pause = begin + (number + 1) / 300 - time.perf_counter()
        if pause > 0:
            before = time.perf_counter()
            await asyncio.sleep(pause)
            late.append(time.perf_counter() - before - pause)
    return f"loop late p95 {_p95(late):.0f} ms"


def panels(count: int) -> Callable[[Scene], Awaitable[str]]:
    """So many panels, each with news ten times a second, for five seconds."""

    async def run(scene: Scene) -> str:
        scene.turn()
        ids = [f"call_{n}" for n in range(count)]
        for n, call_id in enumerate(ids):
            at = time.time()
            scene.show(ev.CallAnnounced(call_id=call_id, index=n, name="t", server="demo", tool="long_task", at=at))
            scene.show(ev.CallReady(call_id=call_id, arguments={"task": f"number {n}", "duration_seconds": 5}, at=at))
            scene.show(ev.CallStarted(call_id=call_id, at=at))
        begin = time.perf_counter()
        late: list[float] = []
        for tick in range(50):
            at = time.time()
            for call_id in ids:
                scene.show(ev.CallProgress(call_id=call_id, progress=tick, total=50, message=f"step {tick}", at=at))
            pause = begin + (tick + 1) / 10 - time.perf_counter()
            before = time.perf_counter()
            await asyncio.sleep(max(pause, 0))
            late.append(time.perf_counter() - before - max(pause, 0))
        return f"loop late p95 {_p95(late):.0f} ms"

    return run


async def writing(scene: Scene) -> str:
    """8 calls write 1,000 lines a second each, in pieces of a tick, for five seconds; keys are pressed meanwhile."""
    scene.turn()
    field, at = scene.app.query_one(Input), time.time()
    outputs: list[GatheredOutput] = []
    for n in range(8):
        call_id = f"call_{n}"
        scene.show(ev.CallAnnounced(call_id=call_id, index=n, name="t", server="shell", tool="run", at=at))
        scene.show(ev.CallReady(call_id=call_id, arguments={"command": f"pytest -q tests/{n}"}, at=at))
        scene.show(ev.CallStarted(call_id=call_id, at=at))
        outputs.append(GatheredOutput(partial(_shown, scene, call_id)))
    begin = time.perf_counter()
    answered: list[float] = []
    for tick in range(100):
        text = "".join(
            f"\x1b[32mPASS\x1b[0m tests/test_{tick}_{line}.py::test_that_it_holds [ok]\n" for line in range(50)
        )
        for output in outputs:
            output.add("stdout", text)
        pressed, length = time.perf_counter(), len(field.value)
        scene.app.post_message(events.Key("a", "a"))
        while len(field.value) == length:  # noqa: ASYNC110 (the field has no event for it)
            await asyncio.sleep(0.0005)
        answered.append(time.perf_counter() - pressed)
        await asyncio.sleep(max(begin + (tick + 1) / 20 - time.perf_counter(), 0))
    return f"keys p95 {_p95(answered):.0f} ms"


def _shown(scene: Scene, call_id: str, stream: ev.OutputStream, text: str, offset: int, dropped: int) -> None:
    scene.show(ev.CallOutput(call_id=call_id, stream=stream, text=text, offset=offset, dropped=dropped, at=time.time()))


async def history(scene: Scene) -> str:
    """A conversation of 500 turns, each with an answer and two calls, opens; then its whole length is scrolled."""
    before = _rss()
    begin = time.perf_counter()
    for number in range(500):
        scene.turn(number)
        for call in range(2):
            call_id = f"c{number}_{call}"
            scene.show(ev.CallAnnounced(call_id=call_id, index=call, name="t", server="demo", tool="big", at=1.0))
            scene.show(ev.CallReady(call_id=call_id, arguments={"bytes": 100}, at=1.0))
            scene.show(ev.CallStarted(call_id=call_id, at=1.0))
            scene.show(ev.CallFinished(call_id=call_id, outcome=Outcome.SUCCEEDED, content="x " * 200, at=2.0))
        scene.show(ev.MessageAdded(role="assistant", content=PARAGRAPH.format(n=number), at=2.0))
        scene.show(ev.TurnFinished(outcome="completed", at=2.0))
    await scene.settled()
    await asyncio.sleep(0)
    opened = time.perf_counter() - begin
    memory = _rss() - before
    begin = time.perf_counter()
    pages = 0
    while scene.view.scroll_y > 0:
        scene.view.action_page_up()
        pages += 1
        await asyncio.sleep(0)
    scrolled = (time.perf_counter() - begin) / max(pages, 1)
    return f"opened in {opened:.2f} s, +{memory:.0f} MB; {pages} pages back, {scrolled * 1000:.1f} ms each"


async def stored(scene: Scene) -> str:
    """A stored session of 10,000 messages opens: read from its file, shown, and painted at its end."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "sessions.db")
        stored = list(session_of(10_000))
        for at in range(0, len(stored), 2000):
            await store.append(stored[at : at + 2000])
        begin, cpu = time.perf_counter(), time.process_time()
        with Library.collector_at_rest():
            for event in await store.load("s"):
                scene.show(event)
        await scene.settled()
        opened, worked = time.perf_counter() - begin, time.process_time() - cpu
        await store.close()
    return f"{len(stored):,} events opened in {opened:.2f} s, {worked:.2f} s of CPU; {len(scene.view.blocks):,} blocks"


def session_of(messages: int) -> Iterator[ev.Event]:
    """Events of a session with so many messages: turns of a prompt, an answer with three calls, and another answer."""
    seq = 0
    for turn in range(1, messages // 6 + 2):
        ids = [f"c{turn}_{n}" for n in range(3)]
        asked = tuple(ToolCall(id=call_id, name="demo_big", arguments='{"bytes": 100}') for call_id in ids)
        called = [
            event
            for n, call_id in enumerate(ids)
            for event in (
                ev.CallAnnounced(call_id=call_id, index=n, name="demo_big", server="demo", tool="big"),
                ev.CallReady(call_id=call_id, arguments={"bytes": 100}),
                ev.CallStarted(call_id=call_id),
                ev.CallFinished(call_id=call_id, outcome=Outcome.SUCCEEDED, content="x " * 200),
            )
        ]
        results = [ToolMessage(tool_call_id=call_id, content="x " * 200, name="demo_big") for call_id in ids]
        for event in (
            ev.TurnStarted(prompt=f"Question {turn}?"),
            ev.MessageAdded.of(UserMessage(content=f"Question {turn}?")),
            ev.StepStarted(),
            *called,
            ev.MessageAdded.of(AssistantMessage(content="Let me see.", tool_calls=asked)),
            *map(ev.MessageAdded.of, results),
            ev.StepStarted(),
            ev.MessageAdded.of(AssistantMessage(content=PARAGRAPH.format(n=turn))),
            ev.TurnFinished(outcome="completed"),
        ):
            seq += 1
            yield event.model_copy(update={"session_id": "s", "turn": turn, "seq": seq, "at": 1.0})


async def crowd(scene: Scene) -> str:
    """20,000 calls run in one answer: a frame after one of them has news or ended, and the timeline of them all."""
    scene.turn()
    begin = time.time()
    for n in range(20_000):
        call_id, at = f"call_{n}", begin + n / 20_000
        scene.show(ev.CallAnnounced(call_id=call_id, index=n, name="t", server="demo", tool="long_task", at=at))
        scene.show(ev.CallReady(call_id=call_id, arguments={"task": f"number {n}", "duration_seconds": 5}, at=at))
        scene.show(ev.CallStarted(call_id=call_id, at=at))
    await scene.settled()
    scene.view.frames.stand_still()
    news, ended = list[float](), list[float]()
    for n in range(20):
        call_id = f"call_{n * 900}"
        scene.show(ev.CallProgress(call_id=call_id, progress=n, total=20, message="half of it", at=time.time()))
        news.append(await scene.frame())
        scene.show(ev.CallFinished(call_id=call_id, outcome=Outcome.SUCCEEDED, content="done", at=time.time()))
        ended.append(await scene.frame())
    timeline = TimelineScreen(scene.transcript, time.time, Path())
    begin = time.process_time()
    await scene.app.push_screen(timeline)
    await painted(timeline)
    opened = time.process_time() - begin
    begin = time.process_time()
    await asyncio.sleep(3)
    return (
        f"CPU ms: a frame with news {_median(news):.0f}, with an end {_median(ended):.0f}; "
        f"timeline opens {opened * 1000:.0f}, a second of it {(time.process_time() - begin) / 3 * 1000:.0f}"
    )


async def find(scene: Scene) -> str:
    """Words that stand once, at the end of 10 MB of results and shown there, such as stand often, and such as don't."""
    scene.turn()
    page = "".join(PARAGRAPH.format(n=n) for n in range(60))
    count = 10_000_000 // len(page)
    for n in range(count):
        call_id, text = f"call_{n}", f"{page}\nThe result of call number {n} ends here."
        scene.show(ev.CallAnnounced(call_id=call_id, index=n, name="t", server="demo", tool="big", at=1.0))
        scene.show(ev.CallReady(call_id=call_id, arguments={"page": n}, at=1.0))
        scene.show(ev.CallStarted(call_id=call_id, at=1.0))
        scene.show(ev.CallFinished(call_id=call_id, outcome=Outcome.SUCCEEDED, content=text, at=2.0))
    await scene.settled()
    told: list[str] = []
    for words in (f"call number {count - 1} ends", "paragraph that is long", "nothing like it"):
        await scene.settled()
        finder, begin = Finder(scene.view), time.process_time()
        await finder.look_for(words)
        told.append(f"{finder.total:,} in {(time.process_time() - begin) * 1000:.0f}")
        finder.close()
    return f"CPU ms: {', '.join(told)}"


async def fence(scene: Scene) -> str:
    """A code block of 2,000 lines, ten lines a frame."""
    scene.turn()
    scene.show(ev.TextDelta(text="```python\n"))
    for number in range(200):
        for line in range(10):
            scene.show(ev.TextDelta(text=f"value_{number}_{line} = compute({number}, 'text', flag=True)  # note\n"))
        await asyncio.sleep(0.01)
    await scene.settled()
    return f"{scene.view.virtual_size.height:,} lines"


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)] * 1000 if values else 0.0


def _median(values: list[float]) -> float:
    return median(values) * 1000


def _rss() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


SCENES: dict[str, Callable[[Scene], Awaitable[str]]] = {
    "20,000 tokens in a burst": burst,
    "2,400 tokens at 300/s": paced,
    "2,000 lines of code": fence,
    "32 panels at 10 Hz": panels(32),
    "200 panels at 10 Hz": panels(200),
    "8 calls, 1,000 lines/s each": writing,
    "20,000 calls at once": crowd,
    "find in 10 MB": find,
    "500 turns": history,
    "10,000 messages stored": stored,
}


async def main(names: list[str]) -> None:
    """Runs the scenes, each in an app of its own, and prints a line each."""
    print(f"{'':28}{'wall s':>8}{'CPU s':>8}{'%':>6}")
    for name, scene in SCENES.items():
        if names and not any(part in name for part in names):
            continue
        app = Bench()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            use_first(lambda: False)  # as the console does, on a thread, behind its first paint
            freeze_collector()  # as it does once it has started
            wall, cpu = time.perf_counter(), time.process_time()
            told = await scene(Scene(app))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{name:28}{wall:8.2f}{cpu:8.2f}{100 * cpu / wall:6.0f}  {told}", flush=True)


if __name__ == "__main__":
    words = parser(__doc__)
    words.add_argument("names", metavar="NAME", nargs="*", help="a part of: " + ", ".join(SCENES))
    asyncio.run(main(words.parse_args().names))
