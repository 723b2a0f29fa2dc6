"""The work of a dialog (a file read, an endpoint asked) ends before the widgets do that it would show its news in."""

from __future__ import annotations

import asyncio
import gc
import warnings
from pathlib import Path

from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.worker import WorkerState

import console_app
from console_app.tui.prompt.prompt_box import PromptBox
from console_app.tui.textual_internals import end_work
from console_app.tui.widgets.dialog import Dialog
from tests.patience import until_so
from tests.tui.parts import WrittenModel, app, chat
from tests.tui.test_first_paint import Slow


class Inked(App[None]):
    """An app that has the colour of ours which dialogs use."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"muted": "#808080"}


class Last(Static):
    """Tells that it goes, and does once the work is over."""

    def __init__(self, goes: asyncio.Event, over: asyncio.Event) -> None:
        super().__init__()
        self._goes, self._over = goes, over

    async def on_unmount(self) -> None:
        self._goes.set()
        await self._over.wait()


class Reading(Dialog[None]):
    """Shows what a worker read, which is there when the widget it belongs in has just gone."""

    def __init__(self) -> None:
        super().__init__()
        self.goes, self.over = asyncio.Event(), asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Static(id="news")
        yield Last(self.goes, self.over)

    async def read(self) -> None:
        try:
            news = self.query_one("#news", Static)
            await self.goes.wait()
            await until_so(lambda: not news.is_attached, "the widget that goes")
            self.query_one("#news", Static).update("read")
        finally:
            self.over.set()


async def test_what_a_dialog_reads_while_it_closes_finds_its_widgets_or_is_cancelled() -> None:
    app = Inked()
    async with app.run_test() as pilot:
        dialog = Reading()
        await app.push_screen(dialog)
        work = dialog.run_worker(dialog.read)
        await pilot.pause()
        await dialog.dismiss()
        await dialog.over.wait()
        await asyncio.gather(work.wait(), return_exceptions=True)
        assert work.state is WorkerState.CANCELLED, work.error


async def test_what_the_first_prompt_looks_up_while_it_goes_is_cancelled(tmp_path: Path) -> None:
    slow, goes, over = Slow(tmp_path), asyncio.Event(), asyncio.Event()
    async with slow.opened() as pilot:
        box = slow.app.screen.query_one(PromptBox)
        await box.mount(Last(goes, over))

        async def look() -> None:
            try:
                prompt = box.prompt
                await goes.wait()
                await until_so(lambda: not prompt.is_attached, "the prompt that goes")
                box.prompt.write("found")
            finally:
                over.set()

        work = box.run_worker(look)
        await pilot.pause()
        await slow.loaded(pilot)
        await over.wait()
        await asyncio.gather(work.wait(), return_exceptions=True)
        assert work.state is WorkerState.CANCELLED, work.error


def test_every_modal_screen_is_a_dialog() -> None:
    root = Path(console_app.__file__).parent / "tui"
    named = {path.name for path in root.rglob("*.py") if ModalScreen.__name__ in path.read_text()}
    assert named == {"dialog.py"}


async def test_work_that_is_cancelled_before_it_begins_leaves_nothing_behind(tmp_path: Path) -> None:
    begun: list[str] = []

    async def work(name: str) -> None:
        begun.append(name)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        async with app(tmp_path, WrittenModel()).run_test() as pilot:
            screen = chat(pilot.app)
            screen.ui.open_beside(work, "beside")
            screen.ui.open(work, "dialog")
            screen._begin()  # pyright: ignore[reportPrivateUsage]  # what the first page does last
            end_work(screen)
        gc.collect(1)  # what this test made, and not all that the tests before it left
    assert begun == []
    assert [str(one.message) for one in told if issubclass(one.category, RuntimeWarning)] == []
