"""Sixty hostile texts, and any that hypothesis thinks of, in every field that foreign text can reach.

Read back twice: as the conversation paints it, where text has to be harmless by itself, and as bytes for the terminal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console_app.domain import events as ev
from console_app.domain.events import DecidedBy, Decision, TodoItem, TodoStatus
from console_app.domain.safe_text import is_safe
from console_app.domain.tools import Artifact, Outcome, ToolCall
from console_app.domain.transcript import Transcript
from console_app.tui.app import FanoutApp
from console_app.tui.lineview import Block, EventRouter
from tests.each import each
from tests.escape_reader import read
from tests.examples import EXPLORING
from tests.hostile import PAYLOADS
from tests.tui.lineview.scenes import PALETTE
from tests.tui.parts import Server, app, chat, see, until

EXAMPLES = int(os.environ.get("HOSTILE_EXAMPLES", "40" if EXPLORING else "10"))  # 10,000 for a night


def story(text: str, turn: int) -> Iterator[ev.Event]:
    """A turn with `text` in every field of every event that is shown."""
    common: dict[str, Any] = {"turn": turn, "step": 1, "at": 1000.0 + turn}
    ids = [f"{turn}-{n}-{text}" for n in range(4)]
    yield ev.SessionStarted(model=text, provider=text, protocol=text, strategy=text, policy=text, tools=(text,))
    yield ev.TurnStarted(prompt=text, **common)
    yield ev.StepStarted(**common)
    yield ev.ReasoningDelta(text=text, **common)
    yield ev.TextDelta(text=text, **common)
    yield ev.TextDelta(
        text=f"\n\n# {text}\n\n* {text}\n\n```{text}\n{text}\n```\n\n|a|b|\n|-|-|\n|{text}|x|\n\n", **common
    )
    yield ev.TextDelta(text=f"[{text}](http://x/{text}) ![{text}]({text}) `{text}` **{text}** <b>{text}</b>", **common)
    for index, call_id in enumerate(ids):
        yield ev.CallAnnounced(call_id=call_id, index=index, name=text, server=text, tool=text, **common)
        yield ev.CallArguments(call_id=call_id, delta=text, **common)
        yield ev.CallReady(
            call_id=call_id, arguments={text: text, "n": {text: [text]}}, raw=text, repaired=(text,), **common
        )
    yield ev.ApprovalRequested(call_id=ids[0], why=text, **common)
    yield ev.ApprovalResolved(
        call_id=ids[0], decision=Decision.ALLOW, by=DecidedBy.USER, feedback=text, rule=text, **common
    )
    yield ev.CallQueued(call_id=ids[1], why=text, **common)
    for call_id in ids:
        yield ev.CallStarted(call_id=call_id, **common)
        yield ev.CallProgress(call_id=call_id, progress=1, total=3, message=text, **common)
        yield ev.CallOutput(call_id=call_id, stream="stdout", text=text, offset=0, **common)
        yield ev.CallLog(call_id=call_id, level="warning", text=text, **common)
    yield ev.QuestionAsked(call_id=ids[2], question=text, options=(text,), **common)
    yield ev.CallAsked(call_id=ids[1], what=text, **common)
    yield ev.CallAsked(call_id=ids[3], what=text, **common)
    yield ev.CallAnswered(call_id=ids[3], what=text, how=text, **common)
    for call_id, outcome in zip(
        ids, (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.DENIED, Outcome.TIMED_OUT), strict=True
    ):
        artifact = Artifact(name=text, mime=text, path=text, uri=text)
        yield ev.CallFinished(
            call_id=call_id, outcome=outcome, content=text, error=text, artifacts=(artifact,), **common
        )
    yield ev.BatchFinished(calls=4, wall_ms=1, summed_ms=4, **common)
    yield ev.Thought(label="think", text=text, **common)
    yield ev.TodoChanged(items=(TodoItem(content=text, status=TodoStatus.PENDING),), **common)
    call = ToolCall(id=ids[0], name=text, arguments=text)
    yield ev.MessageAdded(role="assistant", content=text, tool_calls=(call,), **common)
    yield ev.MessageAdded(role="user", content=text, **common)
    yield ev.MessageAdded(role="user", content=text, origin="fanout", **common)
    yield ev.RetryScheduled(attempt=2, delay=1.5, why=text, **common)
    yield ev.Notice(level="error", text=text, **common)
    yield ev.TurnFinished(outcome="failed", error=text, **common)


class Page:
    """Stands for the view: keeps the blocks."""

    room = most_room = 40
    now = float("inf")  # all of it was stored long ago

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def add_block(self, block: Block, *, before: Block | None = None) -> None:
        at = len(self.blocks) if before is None else self.blocks.index(before)
        self.blocks.insert(at, block)
        for index, one in enumerate(self.blocks):
            one.index = index

    def remove_block(self, block: Block) -> None:
        self.blocks.remove(block)

    def add_notice(self, level: ev.Level, text: str) -> None:
        from console_app.tui.lineview.blocks.notices import NoticeBlock

        self.add_block(NoticeBlock(level, text))

    def changed(self, block: Block) -> None:
        """Nothing to paint here."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def unsafe_lines(text: str, width: int) -> list[str]:
    """The lines of a whole turn, folded and open, that could do something to a terminal."""
    page = Page()
    router = EventRouter(page, Transcript())  # type: ignore[arg-type]
    found: list[str] = []
    for event in story(text, 1):
        router.show(event)
    for is_open in (False, True):
        for block in page.blocks:
            block.open = is_open
            for line in block.render(width, PALETTE, 2000.0):
                if not is_safe(line.text) or "\n" in line.text or "\t" in line.text:
                    found.append(f"{type(block).__name__}: {line.text!r}")
                if any(segment.control or (segment.style and segment.style.link) for segment in line):
                    found.append(f"{type(block).__name__}: a control or link segment")
                if any("could not be drawn" in segment.text for segment in line):
                    found.append(f"{type(block).__name__}: {line.text}")
    return found


@each("payload", PAYLOADS, ids=ascii)
def test_each_hostile_text_is_only_text_in_the_conversation(payload: str) -> None:
    assert unsafe_lines(f"a{payload}b", 80) == []


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=40) | st.lists(st.sampled_from(PAYLOADS), max_size=4).map("".join), st.sampled_from([20, 80]))
def test_any_text_is_only_text_in_the_conversation(text: str, width: int) -> None:
    assert unsafe_lines(text, width) == []


def to_the_terminal(console: FanoutApp) -> str:
    """The bytes of the whole screen, as the driver would be given them."""
    whole = console.screen._compositor.render_update(full=True).render_segments(console.console)
    return whole.replace("\n\x1b[", "\x1b[")  # as the driver does: each line begins with its place


def faults(console: FanoutApp) -> list[str]:
    return read(to_the_terminal(console)).faults


async def test_whole_screens_of_hostile_text_are_only_text(tmp_path: Path) -> None:
    """Ten payloads a turn; the screen is read after each."""
    (tmp_path / "evil\x1b]52;c;eA==\x07\u202e[red]").write_text("x")
    console = app(tmp_path)
    async with console.run_test(size=(100, 40)) as pilot:
        for turn in range(1, len(PAYLOADS) + 1, 10):
            payload = " ".join(PAYLOADS[turn - 1 : turn + 9])
            for event in story(payload, turn):
                chat(console).ui.show(event)
            chat(console).ui.toast(payload)
            chat(console).view._flush()
            await pilot.pause()
            assert faults(console) == [], payload


EVIL = " ".join(PAYLOADS)


DIALOGS = {  # what opens each, and what shows that it is open
    "": "Ask",
    "/mcp": "s0",
    "/model": "lab/",
    "/log": "zero<U+200B>width",
    "/theme": "fanout-dark",
    "@evil": "evil",
}


async def test_dialogs_over_hostile_text_are_only_text(tmp_path: Path) -> None:
    for number, payload in enumerate(PAYLOADS):
        name = payload.replace("/", "").replace("\x00", "")
        (tmp_path / f"evil{number}{name}").write_text("x")
    (tmp_path / "fanout.log").write_text("log line " + "\n".join(PAYLOADS), newline="")
    themes = tmp_path / "themes"
    themes.mkdir()
    (themes / "evil\x1b[2J\u202e.toml").write_text("name = 3")
    servers = [Server(f"s{n}{payload}", "failed", payload) for n, payload in enumerate(PAYLOADS)]
    from tests.tui.parts import THEMES, WrittenModel

    model = WrittenModel(model=EVIL)
    model.name = EVIL
    console = app(
        tmp_path,
        model,
        server_statuses=lambda: servers,
        known_models=[f"lab/{payload}" for payload in PAYLOADS],
        problems=PAYLOADS,
        theme_dirs=[THEMES, themes],
    )
    async with console.run_test(size=(140, 40)) as pilot:
        for keys, shown in DIALOGS.items():
            if keys.startswith("/"):
                chat(console).prompt_area.take(keys)
                await until(pilot, lambda: len(console.screen_stack) > 1)
            else:
                await pilot.press(*keys)
            await see(pilot, shown)
            assert faults(console) == [], keys
            await pilot.press("pagedown")
            assert faults(console) == [], keys
            while len(console.screen_stack) > 1:
                await pilot.press("escape")


async def test_a_window_of_any_size_is_only_text(tmp_path: Path) -> None:
    console = app(tmp_path, problems=PAYLOADS)
    async with console.run_test(size=(60, 20)) as pilot:
        for event in story(EVIL, 1):
            chat(console).ui.show(event)
        for size in ((1, 1), (3, 2), (20, 5), (200, 60), (2, 50), (80, 24)):
            await pilot.resize_terminal(*size)
            chat(console).view._flush()
            await pilot.pause()
            assert faults(console) == [], size
