"""The list of sessions shows of the highlighted one what was said and called, how many calls, and what it cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text

from console_app.domain.chunks import FinishChunk, TextChunk, UsageChunk
from console_app.domain.events import MessageAdded
from console_app.domain.ports import CallReporter, Invocation
from console_app.domain.tools import ToolCall, ToolResult
from console_app.engine.calls.results import cancelled, denied, interrupted, not_approved
from console_app.sessions import SessionInfo
from console_app.tui.sessions.browse import plain, preview_lines
from tests.each import each
from tests.tui.parts import Tools, WrittenModel, calls, enter, see, seen
from tests.tui.test_sessions_on_screen import console, talk
from tests.work import work

pytestmark = pytest.mark.usefixtures("closed_libraries")


async def test_what_was_said_and_called(tmp_path: Path) -> None:
    two = calls(("lab_echo", '{"city": "Oslo"}'), ("lab_echo", '{"city": "Lima"}'), text="I look.")
    spent = [TextChunk("Both are warm."), UsageChunk(1200, 80, cost=0.25), FinishChunk("stop")]
    await talk(tmp_path, "compare", model=WrittenModel(two, spent))
    await talk(tmp_path, "other", model=WrittenModel())
    async with console(tmp_path).run_test(size=(100, 40)) as pilot:
        await enter(pilot, "/sessions")
        await see(pilot, "▎ That is all.")
        assert "0 calls" in seen(pilot.app)
        await pilot.press("down")
        await see(pilot, "▎ Both are warm.")
        shown = seen(pilot.app)
        for text in ("▌ compare", "→ lab_echo city=Oslo", "succeeded: {'city': 'Lima'}", "2 calls", "$0.25"):
            assert text in shown, f"{text}\n{shown}"
        await pilot.press(*"nowhere")
        await see(pilot, "nothing found")
        assert "Both are warm" not in seen(pilot.app)


async def test_of_a_failed_call_its_own_words_stand_behind_failed(tmp_path: Path) -> None:
    async def fails(_invocation: Invocation, _report: CallReporter) -> str:
        raise RuntimeError("Error executing tool echo: the disk is full\n  at one")

    await talk(
        tmp_path, "write it", model=WrittenModel(calls(("lab_echo", "{}"))), tools=Tools({("lab", "echo"): fails})
    )
    async with console(tmp_path).run_test(size=(80, 24)) as pilot:
        await enter(pilot, "/sessions")
        await see(pilot, "failed: the disk is full")
        assert "execut" not in seen(pilot.app)


@each(
    ("result", "shown"),
    [
        (cancelled(["one of two"], started=True), "  cancelled by you"),
        (cancelled([], started=False), "  cancelled by you"),
        (denied(), "  denied by you"),
        (denied("not that file"), "  denied: not that file"),
        (not_approved("nobody answered within 5 s."), "  denied: This call was not run: nobody answered within 5 s."),
        (interrupted(), "  interrupted: Interrupted before completion."),
    ],
)
def test_of_a_call_that_did_not_run_to_its_end_what_came_of_it_in_words_for_you(result: ToolResult, shown: str) -> None:
    message = MessageAdded(role="tool", content=result.content, outcome=result.outcome)
    info = SessionInfo("id", "title", "model", "lab", "", None, 0, 0, 1, 0)
    assert [line.plain for line in preview_lines(info, (1, None), [message], 80, 5)][1:] == [shown]


def test_an_answer_is_shown_without_its_marks() -> None:
    shown = " ".join(
        plain("# The **result** is `x`\n\n- one\n- *two*\n\n```py\ncode()\n```\nsee [it](http://x.y)").split()
    )
    assert shown == "The result is x one two code() see it"


async def test_of_a_long_session_the_beginning_and_the_end(tmp_path: Path) -> None:
    await talk(tmp_path, *(f"question {n}" for n in range(10)))
    async with console(tmp_path).run_test(size=(80, 24)) as pilot:
        await enter(pilot, "/sessions")
        await see(pilot, "▌ question 0")
        assert "⋯" in seen(pilot.app)
        assert "▌ question 9" in seen(pilot.app)
        assert "▌ question 5" not in seen(pilot.app)


def test_a_call_that_is_not_shown_is_next_to_no_work() -> None:
    def previewing(count: int) -> int:
        asked = tuple(ToolCall(id=f"c{n}", name="lab_echo", arguments=f'{{"n": {n}}}') for n in range(count))
        message = MessageAdded(role="assistant", content="", tool_calls=asked)
        info = SessionInfo("id", "title", "model", "lab", "", None, 0, 0, 1, 0)
        texts: list[Text] = []
        done = work(lambda: texts.extend(preview_lines(info, (count, None), [message], 80, 6)))
        ends = [f"→ lab_echo n={n}" for n in (0, 1, count - 2, count - 1)]
        assert [line.plain.strip() for line in texts[1:]] == [*ends[:2], "⋯", *ends[2:]]
        return done

    previewing(50)  # imports
    assert previewing(5000) - previewing(50) < 2 * 5000
