"""Whoever looks at another window is told once what waits and that a turn ended; the window says what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from console_app.console.services import AttentionSettings
from console_app.domain.approvals import ApprovalMode
from console_app.domain.errors import ToolError
from console_app.domain.safe_text import is_safe
from console_app.engine import ApprovalGate
from console_app.tui.terminal.attention import (
    RESTORE_TITLE,
    SAVE_TITLE,
    Attention,
    sequences,
)
from console_app.tui.terminal.edge import cleaned
from console_app.tui.textual_internals import driver_of
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, app, calls, chat, decide, echo, say, see, until

ALL = AttentionSettings(("bell", "osc9", "osc777"), title=True)


@given(st.text(max_size=200), st.booleans())
def test_whatever_the_text_is_what_is_written_is_one_notification(text: str, tmux: bool) -> None:
    for sequence in sequences(AttentionSettings(("osc9", "osc777"), tmux=tmux), text):
        assert cleaned(sequence) == sequence
        body = sequence.removeprefix("\x1bPtmux;").removesuffix("\x1b\\").lstrip("\x1b").removesuffix("\x07")
        assert is_safe(body)
        assert body.count(";") == (1 if body.startswith("]9") else 3)


@given(st.text(max_size=200), st.text(max_size=20))
def test_whatever_the_model_is_called_the_title_is_one_title(model: str, state: str) -> None:
    written: list[str] = []
    Attention(ALL, written.append, lambda: True).name(model, state)
    assert len(written) == 1
    assert cleaned(written[0]) == written[0]
    assert is_safe(written[0][4:-1])


@each(
    "foreign",
    ["\x1b]2;another\x07", "\x1b]9;4;1;50\x07", "\x1b]0;x\x07", "\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\", "\x1b[21t"],
)
def test_no_other_sequence_gets_through(foreign: str) -> None:
    assert cleaned(foreign) != foreign
    assert cleaned(SAVE_TITLE) + cleaned(RESTORE_TITLE) == SAVE_TITLE + RESTORE_TITLE


def test_in_tmux_a_notification_is_wrapped_and_the_bell_is_not() -> None:
    written = list(sequences(AttentionSettings(("bell", "osc9"), tmux=True), "done"))
    assert written == ["\x07", "\x1bPtmux;\x1b\x1b]9;Fanout: done\x07\x1b\\"]


async def test_it_is_told_once_while_the_terminal_has_no_focus_and_not_while_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = (("files_write", '{"n": 1}'), ("files_write", '{"n": 2}'))
    model = WrittenModel(calls(*two), say("Both."), say("Again."))
    tools = Tools({("files", "write"): echo}, read_only=False)
    settings = AttentionSettings(("osc9",), title=True)
    console = app(tmp_path, model, tools, gate=ApprovalGate(ApprovalMode.ASK), attention=settings)
    async with console.run_test(size=(80, 24)) as pilot:
        written: list[str] = []
        driver: Any = driver_of(console)
        monkeypatch.setattr(driver, "write", written.append)

        def told() -> list[str]:
            return [one for one in written if one.startswith("\x1b]9;")]

        console.post_message(events.AppBlur())
        await until(pilot, lambda: not console.app_focus)
        chat(console).prompt_area.send("go")
        await until(pilot, lambda: "\x1b]2;fanout · needs you · test-model\x07" in written)
        await until(pilot, lambda: told() == ["\x1b]9;Fanout: a call needs approval\x07"])
        console.post_message(events.AppFocus())
        await until(pilot, lambda: console.app_focus)
        await pilot.press("tab")
        await decide(pilot, "Y")
        await see(pilot, "Both.")
        await until(pilot, lambda: written[-1] == "\x1b]2;fanout · test-model\x07")
        assert len(told()) == 1
        console.post_message(events.AppBlur())
        await until(pilot, lambda: not console.app_focus)
        chat(console).prompt_area.send("go")
        await until(pilot, lambda: told()[1:] == ["\x1b]9;Fanout: the turn is done\x07"])


async def test_calls_by_hand_that_failed_are_not_told_as_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(_invocation: object, _reporter: object) -> str:
        raise ToolError("no such thing")

    settings = AttentionSettings(("osc9",))
    console = app(tmp_path, WrittenModel(), Tools({("files", "read"): fails}), attention=settings)
    async with console.run_test(size=(80, 24)) as pilot:
        written: list[str] = []
        driver: Any = driver_of(console)
        monkeypatch.setattr(driver, "write", written.append)
        console.post_message(events.AppBlur())
        await until(pilot, lambda: not console.app_focus)
        chat(console).prompt_area.send('/call files.read {"n": 3}')
        told = "\x1b]9;Fanout: the turn is over, and 1 call of it did not succeed\x07"
        await until(pilot, lambda: told in written)
