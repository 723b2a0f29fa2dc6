"""What a long answer costs the keys: `python -m benchmarks.bench_answer [NAME ...] [--lines N] [--rounds N]`.

Milliseconds of processor time, while an answer of 4,400 lines is opened, gone up from its end, gone to its middle and
its beginning, searched, shown at another width, in another theme and selected: in the longest round of the event loop,
in which no key is answered; and below it of all rounds. Medians of some runs.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from statistics import median

from textual.pilot import Pilot

from benchmarks.bench_conversation import PARAGRAPH, Bench, Scene
from benchmarks.bench_results import held
from benchmarks.console import parser
from console_app.domain import events as ev
from console_app.tui.lineview import AssistantBlock, Finder

LINES = 4_400


def lines(text: str) -> Callable[[int], str]:
    """About so many lines, of a text repeated with its number."""
    return lambda count: "".join(text.format(n=n) for n in range(count // text.count("\n") + 1))


KINDS: dict[str, Callable[[int], str]] = {
    "all of it": lines(PARAGRAPH),
    "with references": lambda count: lines(PARAGRAPH)(count) + "\n[one]: https://example.org/1\n",
    "prose": lines("Some *words* of `many`, [a link](https://example.org/{n}) and more. " * 6 + "\n\n"),
    "one list": lines("- item {n} of **many** with `code` and some words more that go on over the edge of it all\n"),
    "one table": lambda count: (
        "| a | b | c |\n|---|--:|---|\n" + lines("| row {n} | {n} | some `code` here |\n")(count)
    ),
    "one code block": lambda count: "```python\n" + lines("def row_{n}(a: int) -> str:  # of many\n")(count) + "```\n",
}


class Answer:
    """A conversation that ends with a long answer, and what is done with it."""

    def __init__(self, scene: Scene, pilot: Pilot[None], text: str) -> None:
        self._scene, self._pilot, self._app, self._view = scene, pilot, scene.app, scene.view
        self._text = text
        self.finder = Finder(self._view)

    async def open(self) -> None:
        self._scene.turn()
        self._scene.show(ev.MessageAdded(role="assistant", content=self._text, at=2.0))
        self._scene.show(ev.TurnFinished(outcome="completed", at=2.0))
        self._block = next(one for one in self._view.blocks if isinstance(one, AssistantBlock))
        await self._painted()

    async def up(self) -> None:
        self._view.action_page(-1)
        await self._painted()

    async def middle(self) -> None:
        self._view.scroll_to(y=self._view.max_scroll_y // 2, animate=False)
        await self._painted()

    async def home(self) -> None:
        self._view.action_scroll_home()
        await self._painted()

    async def find(self) -> None:
        await self.finder.look_for("many" if "many" in self._text else "section")
        await self._painted()

    async def found(self) -> None:
        await self.finder.step(-40)
        await self._painted()

    async def narrow(self) -> None:
        await self._pilot.resize_terminal(90, 40)
        await self._painted()

    async def closed(self) -> None:
        self.finder.close()
        await self._pilot.resize_terminal(100, 40)
        await self._painted()

    async def theme(self) -> None:
        self._app.theme = "textual-light"
        await self._painted()

    async def select(self) -> None:
        self._view.focus()
        self._view.reveal(self._block)
        await self._painted()

    async def _painted(self) -> None:
        await self._pilot.pause()
        await self._scene.settled()
        await self._pilot.pause()


STEPS = (Answer.open, Answer.up, Answer.middle, Answer.home, Answer.find, Answer.found, Answer.narrow, Answer.closed,
         Answer.theme, Answer.select)  # fmt: skip


async def main(names: list[str], count: int, rounds: int) -> None:
    """Prints two lines a kind."""
    print(f"{'':18}" + "".join(f"{step.__name__:>8}" for step in STEPS) + "    rows", flush=True)
    for name, text in KINDS.items():
        if names and not any(part in name for part in names):
            continue
        runs, rows = list[list[tuple[float, float]]](), ""
        for _ in range(rounds):
            app = Bench()
            async with app.run_test(size=(120, 40)) as pilot:
                answer = Answer(Scene(app), pilot, text(count))
                await pilot.pause()
                gc.collect()
                gc.freeze()  # as the console does
                runs.append([await held(partial(step, answer)) for step in STEPS])
                rows = f"{app.query_one('#view').virtual_size.height:,}"
        for k, label in enumerate((name, "")):
            cells = "".join(f"{median(run[n][k] for run in runs):8.0f}" for n in range(len(STEPS)))
            print(f"{label:18}{cells}" + (f"{rows:>8}" if not k else ""), flush=True)


if __name__ == "__main__":
    words = parser(__doc__)
    words.add_argument("names", metavar="NAME", nargs="*", help="a part of: " + ", ".join(KINDS))
    words.add_argument("--lines", type=int, default=LINES, help="lines of each answer (4,400)")
    words.add_argument("--rounds", type=int, default=3, help="of each, of which the median is taken (3)")
    asked = words.parse_args()
    asyncio.run(main(asked.names, asked.lines, asked.rounds))
