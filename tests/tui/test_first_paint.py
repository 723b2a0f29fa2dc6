"""The first moment: what is pressed while the rest is still being loaded has the effect that it has later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Size
from textual.pilot import Pilot

from console_app.console.files import clipboard
from console_app.console.services import Services
from console_app.domain.approvals import ApprovalMode
from console_app.domain.errors import ConfigError
from console_app.tui.app import FanoutApp, StartupParts
from console_app.tui.main_screen.over.help import HelpScreen
from console_app.tui.main_screen.screen import ChatScreen
from console_app.tui.main_screen.start.startup_screen import StartupScreen
from console_app.tui.servers.screen import ServersScreen
from tests.console.test_clipboard import X11, copied, environ, program
from tests.each import each
from tests.patience import PATIENCE
from tests.tui.parts import THEMES, Server, WrittenModel, chat, seen, services, until
from tests.tui.quiet import quiet


class Slow:
    """A console whose services are there when the test says so."""

    def __init__(self, folder: Path, *, fault: Exception | None = None, **more: Any) -> None:
        self.loading, self.go_on = threading.Event(), threading.Event()
        self.model = WrittenModel()
        self._make = lambda: services(folder, self.model, **more)
        self._fault = fault
        self.app = FanoutApp(
            StartupParts(
                load=self._load,
                history_path=folder / "history",
                theme_dirs=[THEMES],
                theme="fanout-dark",
                working_folder=folder,
            )
        )

    def _load(self) -> Services:
        self.loading.set()
        assert self.go_on.wait(PATIENCE)
        if self._fault is not None:
            raise self._fault
        return self._make()

    @asynccontextmanager
    async def opened(self, size: tuple[int, int] = (100, 30)) -> AsyncGenerator[Pilot[int]]:
        """The app with its first screen ready."""
        async with self.app.run_test(size=size) as pilot:
            await until(pilot, lambda: isinstance(self.app.screen, StartupScreen) and self.app.screen.ready)
            try:
                yield pilot
            finally:
                if not self.go_on.is_set():
                    self.app.exit()  # or the chat screen would be opened on what is being taken down
                self.go_on.set()  # or the thread would be waited for

    def typed(self, *keys: str) -> None:
        """Posts all keys at once, as one read of the terminal does."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    async def loaded(self, pilot: Pilot[int]) -> ChatScreen:
        """The chat screen, with all keys passed on."""
        self.go_on.set()
        await until(pilot, lambda: len(self.app.screen_stack) > 1 and not self.app.held, "the chat screen")
        await pilot.pause()
        screen = self.app.screen_stack[1]
        assert isinstance(screen, ChatScreen)
        return screen


def stays(before: str, now: str) -> bool:
    """Tells whether the lines below the bar are where they were: what is known later stands where nothing did."""
    lines = list(zip(before.splitlines(), now.splitlines(), strict=True))[1:]
    return all(line == later for line, later in lines if line.strip())


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 10)])
async def test_the_picture_stays_as_it_is(slow: Slow, size: tuple[int, int]) -> None:
    async with slow.opened(size) as pilot:
        await pilot.pause()
        before = seen(slow.app)
        await slow.loaded(pilot)
        await until(pilot, lambda: stays(before, seen(slow.app)), before)


async def test_two_sizes_in_one_moment_are_no_endless_layout(slow: Slow) -> None:
    async with slow.opened((100, 30)):
        screen = slow.app.screen
        layouts: list[object] = []
        endless = asyncio.Event()

        def count(which: object) -> None:
            layouts.append(which)
            if len(layouts) == 100:
                endless.set()

        screen.screen_layout_refresh_signal.subscribe(screen, count)  # pyright: ignore[reportUnknownMemberType]
        with slow.app.batch_update():
            for size in (Size(90, 30), Size(100, 30), Size(90, 30), Size(100, 30)):
                screen.post_message(events.Resize(size, size))
                screen.call_later(screen.refresh)
            at_rest = asyncio.create_task(quiet())
            await asyncio.wait({at_rest, asyncio.create_task(endless.wait())}, return_when=asyncio.FIRST_COMPLETED)
        assert not endless.is_set()
        assert screen.size == Size(100, 30)


async def test_text_is_shown_at_once_and_goes_on_where_it_was(slow: Slow) -> None:
    async with slow.opened() as pilot:
        assert "many tool calls at once" in seen(slow.app)
        assert "Enter" not in seen(slow.app), "no example is offered before it is known which fits"
        slow.typed(*"helo wrld", "left", "left", "left", "o", "home", "right", "right")
        await until(pilot, lambda: "helo world" in seen(slow.app))
        screen = await slow.loaded(pilot)
        assert screen.prompt.text == "helo world"
        slow.typed("l")
        await until(pilot, lambda: screen.prompt.text == "hello world")


async def test_enter_sends_once_and_what_follows_it_is_the_next_prompt(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"one", "enter", *"two")
        await until(pilot, lambda: "one" in seen(slow.app))
        assert not slow.model.requests
        screen = await slow.loaded(pilot)
        await until(pilot, lambda: len(slow.model.requests) == 1 and not screen.console.conversation.busy)
        assert slow.model.requests[0].messages[-1].content == "one"
        assert screen.prompt.text == "two"


async def test_what_is_sent_is_seen_at_once_and_stays_where_it_is(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"first words", "enter", *"second", "enter", *"dr")
        await until(pilot, lambda: "▸ second" in seen(slow.app) and "│ dr" in seen(slow.app))
        before = seen(slow.app)
        assert "▌ first words" in before
        assert "· Starting · esc take back" in before
        assert "many tool calls at once" not in before
        held = asyncio.Event()
        slow.model.answers.append([held])
        await slow.loaded(pilot)
        await until(pilot, lambda: bool(slow.model.requests))
        place = before.splitlines().index(" ▌ first words")
        assert seen(slow.app).splitlines()[place] == " ▌ first words"
        assert "▸ second" in seen(slow.app)
        assert "│ dr" in seen(slow.app)


async def test_escape_takes_back_what_was_sent_before_anything_is_loaded(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"first", "enter", *"second", "enter")
        await until(pilot, lambda: "▸ second" in seen(slow.app))
        await pilot.press("escape")
        await until(pilot, lambda: "▌ second" in seen(slow.app) and "│ first" in seen(slow.app))
        slow.typed("ctrl+u")
        await until(pilot, lambda: "│ first" not in seen(slow.app))
        await pilot.press("escape")
        await until(pilot, lambda: "│ second" in seen(slow.app) and "many tool calls at once" in seen(slow.app))
        screen = await slow.loaded(pilot)
        assert (screen.prompt.text, screen.console.conversation.busy, slow.model.requests) == ("second", False, [])


async def test_a_pasted_command_waits_and_runs(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.app.post_message(events.Paste("/help"))
        slow.typed("enter")
        await slow.loaded(pilot)
        await until(pilot, lambda: isinstance(slow.app.screen, HelpScreen))


async def test_a_long_paste_is_sent_whole(slow: Slow) -> None:
    text = "\n".join(f"line {number}" for number in range(30))
    async with slow.opened() as pilot:
        slow.app.post_message(events.Paste(text))
        await until(pilot, lambda: "[Pasted 30 lines]" in seen(slow.app))
        slow.typed("enter")
        await slow.loaded(pilot)
        await until(pilot, lambda: len(slow.model.requests) == 1)
        assert slow.model.requests[0].messages[-1].content == text


@pytest.mark.parametrize("asked", [events.Key("ctrl+v", None), events.Paste("")], ids=["ctrl+v", "empty paste"])
async def test_what_is_on_the_clipboard_waits_for_who_can_take_it(
    slow: Slow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: events.Key | events.Paste
) -> None:
    program(tmp_path, "xclip", X11)
    copied(tmp_path, b"copied", "text/plain")
    monkeypatch.setattr(clipboard, "PATIENCE", PATIENCE)
    for name, value in environ(tmp_path, DISPLAY=":0", WAYLAND_DISPLAY="").items():
        monkeypatch.setenv(name, value)
    async with slow.opened() as pilot:
        slow.typed("x")
        slow.app.post_message(asked)
        screen = await slow.loaded(pilot)
        await until(pilot, lambda: screen.prompt.text == "xcopied")


async def test_keys_behind_one_that_opens_a_dialog_are_the_dialogs(tmp_path: Path) -> None:
    slow = Slow(tmp_path, server_statuses=lambda: [Server("lab")])
    async with slow.opened() as pilot:
        slow.typed(*"ab", "ctrl+l", *"xy")
        screen = await slow.loaded(pilot)
        await until(pilot, lambda: isinstance(slow.app.screen, ServersScreen) and not slow.app.key_under_way)
        assert screen.prompt.text == "ab"


async def test_alt_and_a_letter_write_nothing_and_act_later(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"a")
        for key in ("alt+q", "alt+p"):
            slow.app.post_message(events.Key(key, key[-1]))  # as it comes where Alt is sent as Escape
        slow.typed(*"b")
        screen = await slow.loaded(pilot)
        await until(pilot, lambda: screen.prompt.text == "ab")
        gate = screen.services.engine.gate
        await until(pilot, lambda: gate.mode is ApprovalMode.PLAN)


async def test_a_command_runs_and_is_completed(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"/hel", "enter")
        await slow.loaded(pilot)
        await until(pilot, lambda: isinstance(slow.app.screen, HelpScreen))


@each(
    "keys",
    [
        [*"one", "enter", *"two", "left", "enter", *"/keys", "escape", *"thr"],
        [*"a b", "ctrl+w", *"c", "ctrl+j", *"d", "up", *"e", "end", "enter", *"f?2/@", "backspace", "ctrl+u", *"g"],
        ["up", *"?", "escape", "tab", "shift+tab", *"2", "enter", *"x", "ctrl+c", *"y"],
    ],
    ids=["two prompts", "editing", "keys of the page"],
)
async def test_keys_have_the_effect_that_they_have_later(tmp_path: Path, keys: Sequence[str]) -> None:
    async def outcome(slow: Slow, before: Callable[[Pilot[int]], Any]) -> tuple[object, ...]:
        async with slow.opened() as pilot:
            await before(pilot)
            slow.typed(*keys)
            screen = await slow.loaded(pilot)
            await until(pilot, lambda: not screen.console.conversation.busy and not slow.app.held)
            sent = [request.messages[-1].content for request in slow.model.requests]
            return (sent, screen.prompt.text, screen.prompt.selection, type(slow.app.screen))

    late, early = Slow(tmp_path / "late"), Slow(tmp_path / "early")
    expected = await outcome(late, late.loaded)
    assert await outcome(early, lambda pilot: pilot.pause()) == expected


async def test_ctrl_d_quits_although_nothing_is_loaded(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"ab", "backspace", "backspace", "ctrl+d")
        await until(pilot, lambda: slow.app.return_code is not None)


async def test_ctrl_c_twice_quits_although_nothing_is_loaded(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"ab", "enter", "ctrl+c", "ctrl+c")
        await until(pilot, lambda: slow.app.return_code is not None)


async def test_ctrl_d_with_text_is_an_editing_key(slow: Slow) -> None:
    async with slow.opened() as pilot:
        slow.typed(*"abc", "home", "ctrl+d")
        screen = await slow.loaded(pilot)
        await until(pilot, lambda: screen.prompt.text == "bc")


async def test_what_is_wrong_ends_it_and_is_handed_on(tmp_path: Path) -> None:
    fault = ConfigError("config.toml:1:1: unknown key")
    slow = Slow(tmp_path, fault=fault)
    async with slow.opened() as pilot:
        slow.typed(*"hello", "enter")
        slow.go_on.set()
        await until(pilot, lambda: slow.app.return_code is not None)
    assert slow.app.failure is fault


async def test_left_while_it_loads_the_services_are_closed_all_the_same(tmp_path: Path) -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    slow = Slow(tmp_path, close=close)

    async def leave(pilot: Pilot[int]) -> None:
        await until(pilot, slow.loading.is_set)
        slow.typed("ctrl+d")
        await until(pilot, lambda: slow.app.return_code is not None)
        slow.go_on.set()

    assert await slow.app.run_async(headless=True, auto_pilot=leave) == 0
    assert closed == [True]
    assert slow.app.crash is None


async def test_the_prompt_is_painted_out_of_turn_only_for_what_is_typed(tmp_path: Path) -> None:
    console = FanoutApp(services(tmp_path, WrittenModel()))
    async with console.run_test() as pilot:
        screen = chat(console)
        assert not screen._prompt_painted
        await pilot.press("a")
        assert screen._prompt_painted
