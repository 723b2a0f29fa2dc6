"""What a long result costs the keys: `python -m benchmarks.bench_results [NAME ...] [--lines N] [--rounds N]`.

Milliseconds of processor time, while a result of 60,000 lines comes, is opened, shown whole, gone to its end, searched,
shown at another width and in another theme: in the longest round of the event loop, in which no key is answered; and
below it of all rounds. Medians of some runs.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median
from typing import Any

from textual.pilot import Pilot

from benchmarks.bench_conversation import Bench, Scene
from benchmarks.console import parser
from console_app.domain import Outcome
from console_app.domain import events as ev
from console_app.tui.lineview import CallBlock, Finder

LINES = 60_000
SHORT = 0.001
WIDE = "文字列を一行ずつ数えて端末の幅で切り取る処理は遅くなりやすい。"
Text = Callable[[int], tuple[str, dict[str, Any]]]


def lines(line: str, **arguments: Any) -> Text:
    """So many lines, each with its number."""
    return lambda count: ("\n".join(line.format(n=n, c=n % 8) for n in range(count)), arguments)


def records(count: int) -> tuple[str, dict[str, Any]]:
    """A table as JSON has it."""
    return json.dumps([{"id": n, "name": f"row {n}", "place": "here and there"} for n in range(count)]), {}


def csv(line: str) -> Text:
    """A table of four columns."""

    def text(count: int) -> tuple[str, dict[str, Any]]:
        return "id,name,share,note\n" + lines(line)(count)[0], {"path": "a.csv"}

    return text


def columns(count: int) -> tuple[str, dict[str, Any]]:
    """A table of 5,000 columns, with as many cells as the others have lines."""
    rows = [",".join(f"c{n}" for n in range(5_000))] + [",".join("7" * 5_000)] * max(count // 5_000, 2)
    return "\n".join(rows), {"path": "a.csv"}


def one_line(sign: str) -> Text:
    """One line of 80 signs for each line of the others."""
    return lambda count: (sign * 80 * count, {})


KINDS: dict[str, Text] = {
    "text": lines("row {n} of many, and some words more that fill a line"),
    "long lines": lines("row {n} of many, " + "and words that go on over the edge " * 6),
    "Latin accents": lines("ligne {n} : déjà vu à l’été, où les années s’égrènent, " + "ça et là, " * 9),
    "Cyrillic": lines("строка {n} из многих, " + "и слова за краем экрана " * 6),
    "Chinese": lines("row {n} " + WIDE * 3),
    "emoji": lines("row {n} 👍🏽 all 👩‍💻 good ❤️ 🇩🇪 " * 6),
    "combining marks": lines("row {n} e\u0301te\u0301 cafe\u0301 " * 9),
    "Devanagari": lines("row {n} हिन्दी में लिखा हुआ पाठ " * 5),
    "colours": lines("\x1b[3{c}mrow {n}\x1b[0m of many, and some words more"),
    "colours without end": lines("\x1b[3{c};1mrow {n} \x1b[4{c}mof many, and some words more"),
    "unsafe": lines("row {n} \u200b of many\u202e and some words\x07 more"),
    "tabs": lines("\trow {n}\tof many\tét\tand some words more"),
    "diff": lambda count: ("--- a/x.py\n+++ b/x.py\n@@ -1,99999 +1,99999 @@\n" + lines(" row {n}")(count)[0], {}),
    "source": lines("def row_{n}() -> str:  # row of many", path="a.py"),
    "JSON": lambda count: (json.dumps([f"row {n} of many" for n in range(count)]), {}),
    "records": records,
    "table": csv("{n},row {n} of many,{c}.5,and some words more"),
    "Chinese table": csv("{n},文字 {n},{c}.5,文字列を一行ずつ"),
    "quoted table": csv('{n},"row {n}, of many",{c}.5,"and\nmore"'),
    "5,000 columns": columns,
    "one line": one_line("x"),
    "one line, Chinese": one_line("文"),
    "Markdown": lines("# Part {n}\n\nSome *words* of `many`, [a link](https://example.org/{n}) and more.\n"),
}


async def held(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Milliseconds of processor time while something is done: in the longest round of the loop, and in all of them but
    the short ones, which are those of a loop that never rests, as it is looked at in each."""
    worst, spent, done = 0.0, 0.0, False

    async def look() -> None:
        nonlocal worst, spent
        while not done:
            before = time.process_time()
            await asyncio.sleep(0)
            took = time.process_time() - before
            worst = max(worst, took)
            spent += took if took > SHORT else 0.0

    looking = asyncio.create_task(look())
    await asyncio.sleep(0)
    await work()
    done = True
    await looking
    return worst * 1000, spent * 1000


class Result:
    """A call with a long result, and what is done with it."""

    def __init__(self, scene: Scene, pilot: Pilot[None], text: str, arguments: dict[str, Any]) -> None:
        self._scene, self._pilot, self._app, self._view = scene, pilot, scene.app, scene.view
        self._text, self._arguments = text, arguments
        self.finder = Finder(self._view)

    async def come(self) -> None:
        scene = self._scene
        scene.turn()
        scene.show(ev.CallAnnounced(call_id="c", index=0, name="t", server="demo", tool="big", at=1.0))
        scene.show(ev.CallReady(call_id="c", arguments=self._arguments, at=1.0))
        scene.show(ev.CallFinished(call_id="c", outcome=Outcome.SUCCEEDED, content=self._text, at=2.0))
        self._block = next(one for one in self._view.blocks if isinstance(one, CallBlock))
        await self._painted()

    async def open(self) -> None:
        self._view.turn_block(self._block)
        await self._painted()

    async def whole(self) -> None:
        if self._block.detail.body.tree is not None:
            self._block.detail.press("unfold")
        while self._block.detail.body.show_far():
            pass
        self._block.touch()
        self._view.changed(self._block)
        await self._painted()

    async def end(self) -> None:
        self._view.action_scroll_end()
        await self._painted()

    async def middle(self) -> None:
        self._view.scroll_to(y=self._view.max_scroll_y // 2, animate=False)
        await self._painted()

    async def find(self) -> None:
        await self.finder.look_for("row")
        await self._painted()

    async def found(self) -> None:
        await self.finder.step(-1)
        await self._painted()

    async def narrow(self) -> None:
        self.finder.close()
        await self._pilot.resize_terminal(90, 40)
        await self._painted()

    async def theme(self) -> None:
        self._app.theme = "textual-light"
        await self._painted()

    async def _painted(self) -> None:
        await self._pilot.pause()
        await self._scene.settled()
        await self._pilot.pause()


STEPS = (Result.come, Result.open, Result.whole, Result.middle, Result.end, Result.find, Result.found, Result.narrow,
         Result.theme)  # fmt: skip


async def main(names: list[str], count: int, rounds: int) -> None:
    """Prints two lines a kind."""
    print(f"{'':22}" + "".join(f"{step.__name__:>8}" for step in STEPS) + "    rows", flush=True)
    for name, text in KINDS.items():
        if names and not any(part in name for part in names):
            continue
        runs, rows = list[list[tuple[float, float]]](), ""
        for _ in range(rounds):
            app = Bench()
            async with app.run_test(size=(120, 40)) as pilot:
                result = Result(Scene(app), pilot, *text(count))
                await pilot.pause()
                gc.collect()
                gc.freeze()  # as the console does
                runs.append([await held(partial(step, result)) for step in STEPS])
                rows = f"{app.query_one('#view').virtual_size.height:,}"
        longest, all_of_it = ([median(run[n][k] for run in runs) for n in range(len(STEPS))] for k in range(2))
        print(f"{name:22}" + "".join(f"{one:8.0f}" for one in longest) + f"{rows:>8}", flush=True)
        print(f"{'':22}" + "".join(f"{one:8.0f}" for one in all_of_it), flush=True)


if __name__ == "__main__":
    words = parser(__doc__)
    words.add_argument("names", metavar="NAME", nargs="*", help="a part of: " + ", ".join(KINDS))
    words.add_argument("--lines", type=int, default=LINES, help="lines of each result (60,000)")
    words.add_argument("--rounds", type=int, default=3, help="of each, of which the median is taken (3)")
    asked = words.parse_args()
    asyncio.run(main(asked.names, asked.lines, asked.rounds))
