"""Internal errors: the console goes on where it can, and ends cleanly where it can't."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.css.query import NoMatches

from console_app.config.machine import write_report
from console_app.config.machine.log_setup import MOST_REPORTS
from console_app.config.secrets import Redactor
from console_app.tui.lineview.blocks.notices import NoticeBlock
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.palette import Palette
from console_app.tui.main_screen.base import MANY, Survival
from tests.each import each
from tests.tui.parts import app, chat, see


class Broken(NoticeBlock):
    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        raise ZeroDivisionError("of the block")


async def test_a_block_that_can_not_be_drawn_is_a_row_among_the_others(tmp_path: Path) -> None:
    async with app(tmp_path).run_test(size=(120, 40)) as pilot:
        screen = chat(pilot.app)
        screen.prompt_area.send("hello")
        await see(pilot, "That is all.")
        screen.view.add_block(Broken("info", "of the block"))
        screen.view.add_notice("info", "and on it goes")
        await see(pilot, "This Broken could not be drawn: ZeroDivisionError('of the block')")
        await see(pilot, "and on it goes")


async def test_work_that_finds_a_part_gone_is_no_error_once_the_console_ends(tmp_path: Path) -> None:
    gone = NoMatches("No nodes match 'ApprovalBoard'")
    console = app(tmp_path)
    async with console.run_test(size=(80, 24)) as pilot:
        await see(pilot, "/ for commands")
    console._handle_exception(gone)  # pyright: ignore[reportPrivateUsage]  # as Textual does while its widgets go
    assert (console.crash, console.return_code or 0) == (None, 0)
    console._handle_exception(ValueError("another"))  # pyright: ignore[reportPrivateUsage]
    assert console.crash is not None


def test_errors_without_end_are_not_survived() -> None:
    now = 0.0
    survival = Survival(lambda: now)
    for _ in range(MANY - 1):
        assert survival.goes_on(ValueError())
    assert not survival.goes_on(ValueError())
    now = 60.0
    assert survival.goes_on(ValueError())


def test_reports_are_private_few_and_without_values(tmp_path: Path) -> None:
    def fail(password: str) -> None:
        raise ValueError("it failed with Bearer abcdefghijklmnop and \x1b[2J")

    for _ in range(MOST_REPORTS + 3):
        with pytest.raises(ValueError, match="it failed") as caught:
            fail("2retnuh"[::-1])
        path = write_report(tmp_path, caught.value, Redactor())
        assert path is not None
        path.rename(path.with_name(f"crash-2020{len(list(tmp_path.iterdir())):04}.txt"))
    kept = list(tmp_path.iterdir())
    assert len(kept) <= MOST_REPORTS
    text = kept[0].read_text()
    assert "Bearer (hidden) and ␛[2J" in text
    assert "hunter2" not in text


@each(
    ("text", "clean"),
    [
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer (hidden)"),
        ("{'x-api-key': 'abcdef123456'}", "{'x-api-key': '(hidden)'}"),
        ("key sk-proj-abcdefghijklmnopqrst.", "key (hidden)."),
        ("https://user:secret-word@host/", "https://user:(hidden)@host/"),
        ("known-value here", "(hidden) here"),
        ("the token limit of 4096 tokens", "the token limit of 4096 tokens"),
        ("OPENAI_API_KEY is not set", "OPENAI_API_KEY is not set"),
    ],
)
def test_secrets_are_hidden_and_ordinary_words_are_not(text: str, clean: str) -> None:
    redactor = Redactor.of({"MY_TOKEN": "known-value", "PATH": "/usr/bin", "SHORT_KEY": "a"})
    assert redactor.clean(text) == clean
