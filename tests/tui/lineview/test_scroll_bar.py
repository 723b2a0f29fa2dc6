"""The conversation's scroll bar paints what Textual's own would, wherever it stands and whoever has it."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from console_app.tui.lineview import ConversationView
from console_app.tui.lineview.blocks.notices import NoticeBlock
from console_app.tui.lineview.scrolling.view_parts import QuickScrollBar
from tests.patience import until_so


class Conversation(App[None]):
    """A view that is all of an app."""

    def compose(self) -> ComposeResult:
        yield ConversationView(id="conversation")


def looks(strips: list[Strip]) -> list[list[tuple[str, Any]]]:
    """The cells with all of their style, what a mouse press on them does included."""
    return [[(segment.text, segment.style) for segment in strip] for strip in strips]


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "no color"])
async def test_it_looks_as_textuals_own(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if theme == "no color":
        monkeypatch.setenv("NO_COLOR", "1")
    app = Conversation()
    async with app.run_test(size=(40, 12)):
        if theme != "no color":
            app.theme = theme
        view = app.query_one(ConversationView)
        for number in range(60):
            view.add_block(NoticeBlock("info", f"line {number}"))
        await until_so(lambda: view.is_painted and view.vertical_scrollbar.size.height > 0, "a bar")
        bar = view.vertical_scrollbar
        assert isinstance(bar, QuickScrollBar)
        whole = Region(0, 0, 1, bar.size.height)
        for top in (0, 1, 7, 33, int(view.max_scroll_y)):
            view.action_line(top - view.top)
            for over in (False, True):
                bar.mouse_over = over
                bar.refresh()
                assert looks(bar.render_lines(whole)) == looks(Widget.render_lines(bar, whole))


async def test_half_a_bar_is_textuals_own() -> None:
    app = Conversation()
    async with app.run_test(size=(40, 12)):
        view = app.query_one(ConversationView)
        for number in range(60):
            view.add_block(NoticeBlock("info", f"line {number}"))
        await until_so(lambda: view.is_painted and view.vertical_scrollbar.size.height > 0, "a bar")
        part = Region(0, 2, 1, 3)
        bar = view.vertical_scrollbar
        assert looks(bar.render_lines(part)) == looks(bar.render_lines(Region(0, 0, 1, bar.size.height)))[2:5]
