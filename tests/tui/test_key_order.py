"""Keys that come in one go take effect in their order, whether the widget or a binding has them."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import TextArea

from console_app.tui.terminal.key_order import KeysInOrder
from tests.tui.parts import until


class Box(TextArea):
    """Enter is a binding of its own, as in the prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "app.send"), Binding("f2", "app.think")]

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()


class Ask(ModalScreen[None]):
    """Closes with Enter, and so takes what would tell that the key was done with it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "dismiss")]


class Writing(KeysInOrder[None]):
    """Keeps what was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []
        self.thinking = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Box()

    @property
    def box(self) -> Box:
        return self.query_one(Box)

    def on_mount(self) -> None:
        self.box.focus()

    def action_send(self) -> None:
        self.sent.append(self.box.text)
        self.box.load_text("")

    async def action_think(self) -> None:
        await self.thinking.wait()

    def typed(self, *keys: str) -> None:
        """Posts all keys at once, as one read of the terminal does."""
        for key in keys:
            self.post_message(events.Key(key, key if len(key) == 1 else None))


class Form(Writing):
    """Ctrl+S acts before the focused widget has any key."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "send", priority=True)]


async def test_a_binding_with_priority_acts_after_what_was_typed_before_it() -> None:
    app = Form()
    async with app.run_test() as pilot:
        app.typed(*"one", "ctrl+s", *"two", "ctrl+s", "ctrl+s", *"last")
        await until(pilot, lambda: app.box.text == "last")
        assert app.sent == ["one", "two", ""]


async def test_a_key_pressed_before_the_focus_went_does_not_bring_it_back() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.typed("f2", *"one")
        app.post_message(events.AppBlur())
        await until(pilot, lambda: app.key_under_way or app.box.text == "one")
        app.thinking.set()
        await until(pilot, lambda: app.box.text == "one" and not app.key_under_way)
        assert not app.app_focus
        app.typed("f2", "x")
        app.post_message(events.AppFocus())
        await until(pilot, lambda: app.app_focus)


async def test_what_follows_a_binding_is_not_written_before_it_acts() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.typed(*"one", "enter", *"two", "enter", *"three", "enter", *"last")
        await until(pilot, lambda: app.box.text == "last")
        assert app.sent == ["one", "two", "three"]


async def test_a_paste_waits_its_turn() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.typed(*"one", "enter")
        app.post_message(events.Paste("pasted"))
        app.typed("enter", *"end")
        await until(pilot, lambda: app.box.text == "end")
        assert app.sent == ["one", "pasted"]


async def test_a_key_whose_action_takes_long_holds_nothing_up_for_long() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.typed("f2")
        app.thinking.set()
        app.typed(*"on", "enter")
        await until(pilot, lambda: app.sent == ["on"])


async def test_a_dialog_that_closes_under_its_key_holds_nothing_up_for_long() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.push_screen(Ask())
        await pilot.pause()
        app.typed("enter", *"one", "enter", *"two")
        await until(pilot, lambda: app.box.text.endswith("two"))
