"""Every letter that is painted can be read on its ground, on each screen and in many themes: 4.5, of what is dim 3.

The walk through all rooms in `test_rooms` looks too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from textual.app import App
from textual.color import Color
from textual.pilot import Pilot
from textual.screen import ModalScreen

from console_app.domain.approvals import ApprovalMode
from console_app.domain.errors import ToolError
from console_app.domain.ports import CallReporter, Invocation
from console_app.engine import ApprovalGate
from console_app.tui.lineview.palette import contrast
from tests.examples import EXPLORING
from tests.tui.parts import Server, Tools, WrittenModel, app, calls, chat, decide, painted, say, see, seen, until
from tests.tui.test_batch_screen import Run, shown
from tests.tui.test_themes import LOADED

READABLE, DIMMED = 4.5, 3.0
THEMES = sorted(loaded.theme.name for loaded in LOADED if not loaded.theme.ansi)
FOUR = ("fanout-dark", "fanout-light", "gruvbox-dark", "solarized-light")  # what all screens are made of is on the rest
ANSWER = """# A heading

Some **bold**, *leaning* and `code`, a [link](https://example.org).

> quoted

1. one
2. two

| city | degrees |
|---|---|
| Oslo | 3 |

```python
def f(x: int) -> str:
    return "text"  # a remark, and 42
```
"""
RESULTS = {
    "diff": '--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return "2"\n',
    "json": '{"name": "Oslo", "days": [1, 2.5, true, null], "inner": {"a": "b"}}',
    "ansi": "".join(f"\x1b[{n}mink {n}\x1b[0m " for n in (*range(30, 38), *range(90, 98))),
    "text": "line\n" * 3,
}


async def work(invocation: Invocation, reporter: CallReporter) -> str:
    kind = str(invocation.arguments["kind"])
    if kind == "fails":
        raise ToolError("the disk is full")
    if kind == "runs":
        reporter.progress(3, 10, "step three")
        await asyncio.Event().wait()
    return RESULTS[kind]


def console(folder: Path, mode: ApprovalMode, *kinds: str) -> App[Any]:
    model = WrittenModel(
        calls(*(("lab_work", f'{{"kind": "{kind}", "n": 1}}') for kind in kinds), text="I begin."), say(ANSWER)
    )
    servers = [Server("lab"), Server("news", "failed", "command not found", 0), Server("slow", "starting")]
    return app(
        folder,
        model,
        Tools({("lab", "work"): work}, read_only=False),
        gate=ApprovalGate(mode),
        server_statuses=lambda: servers,
        known_models=["openai/gpt-5", "ollama/qwen3"],
        context_window=128_000,
    )


def letters(shown: App[Any]) -> Iterator[tuple[str, Color, Color, bool]]:
    """Gives what is painted with letters in it, of a dialog what is in its frame: the text, its ink, its ground, and
    whether it is dimmed."""
    screen = shown.screen
    region = screen.query_one("#box").region if isinstance(screen, ModalScreen) else screen.region
    for strip in painted(shown)[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            style = segment.style
            if style is None or not any(char.isalnum() for char in segment.text):
                continue
            assert style.color is not None
            assert style.bgcolor is not None
            ink, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            if style.reverse:
                ink, ground = ground, ink
            yield segment.text.strip(), ink, ground, bool(style.dim)


async def in_themes(pilot: Pilot[Any], names: Sequence[str]) -> None:
    """Looks at the screen that is there in each theme, and tells all that is too weak at once."""
    poor = await too_weak(pilot, names)
    assert not poor, "\n".join(poor)


async def too_weak(pilot: Pilot[Any], names: Sequence[str]) -> list[str]:
    """Names what can't be read of the screen that is there, in themes of these names."""
    poor: list[str] = []
    for name in names:
        pilot.app.theme = name
        await pilot.pause()
        poor += weak_now(pilot.app)
    return list(dict.fromkeys(poor))


def weak_now(shown: App[Any]) -> list[str]:
    """Names what can't be read of the screen as it is painted."""
    return [
        f"{shown.theme}: {text!r} {ink.hex} on {ground.hex} is {ratio:.2f}"
        for text, ink, ground, dimmed in letters(shown)
        if (ratio := contrast(ink, ground)) < (DIMMED if dimmed else READABLE) - 0.01
    ]


def a_part(turn: int) -> Sequence[str]:
    """In `make test` each theme has its turn on one of four screens."""
    return THEMES if EXPLORING else THEMES[turn::4]


async def test_results_with_the_find_bar_can_be_read_in_every_theme(tmp_path: Path) -> None:
    shown_console = console(tmp_path, ApprovalMode.YOLO, "diff", "json", "ansi", "text", "fails")
    async with shown_console.run_test(size=(120, 110)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "done ·")
        await until(pilot, lambda: not chat(pilot.app).console.conversation.busy)
        await pilot.press("ctrl+o")
        await see(pilot, "ink 37")
        await pilot.press("ctrl+f")
        await see(pilot, "in the whole conversation")
        assert "ink 37" in seen(shown_console)
        await in_themes(pilot, a_part(0))


async def test_a_running_turn_with_a_list_of_commands_can_be_read_in_every_theme(tmp_path: Path) -> None:
    running = console(tmp_path, ApprovalMode.YOLO, "runs", "diff", "fails", *["runs"] * 3)
    async with running.run_test(size=(100, 40), notifications=True) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "4 running")
        running.notify("Something was said.")
        running.notify("Something went wrong.", severity="error")
        await until(pilot, lambda: len(running.screen.query("Toast")) == 2)
        await pilot.press("slash")
        await see(pilot, "/help")
        assert "4 running" in seen(running)
        await in_themes(pilot, a_part(1))


async def test_a_board_with_what_is_to_do_can_be_read_in_every_theme(tmp_path: Path) -> None:
    asking = console(tmp_path, ApprovalMode.ASK, "diff", "json", "text")
    async with asking.run_test(size=(100, 50)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "3 need you")
        await pilot.press(*"/todo", "enter")
        await see(pilot, "What is to be done")
        assert "3 need you" in seen(asking)
        await in_themes(pilot, a_part(2))


async def test_a_batch_can_be_read_in_every_theme() -> None:
    async with shown(Run()).run_test(size=(100, 30)) as pilot:
        await see(pilot, "52/100 done")
        await in_themes(pilot, FOUR)


async def test_the_words_of_a_board_can_be_read_in_every_theme(tmp_path: Path) -> None:
    asking = console(tmp_path, ApprovalMode.ASK, "diff", "json")
    async with asking.run_test(size=(100, 40)) as pilot:
        await pilot.press(*"go", "enter")
        await see(pilot, "2 need you")
        board = chat(asking).boards.approvals
        await pilot.press("tab")
        await until(pilot, lambda: board.has_focus)
        await decide(pilot, "f")
        await until(pilot, lambda: board.has_class("-words"))
        await in_themes(pilot, a_part(3))
