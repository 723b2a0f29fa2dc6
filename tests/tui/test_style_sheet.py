"""The style sheet is Textual's, parsed once a theme."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.css.errors import UnresolvedVariableError
from textual.css.stylesheet import Stylesheet

from console_app.tui.themes import StyleSheet
from tests.tui.parts import app, see

THEMES = ("fanout-dark", "fanout-light", "gruvbox-dark", "terminal")


def rules(console: App[Any]) -> list[int]:
    return [id(rule) for rule in console.stylesheet.rules]


async def test_a_dialog_has_only_its_own_sheet_parsed(tmp_path: Path) -> None:
    console = app(tmp_path)
    async with console.run_test() as pilot:
        before = {id(rule) for rule in console.stylesheet.rules if not rule.is_default_rules}
        await pilot.press("f1")
        await see(pilot, "Help")
        assert before < set(rules(console))


async def test_a_theme_that_comes_again_is_not_parsed_again_nor_in_the_next_app(tmp_path: Path) -> None:
    seen: list[list[int]] = []
    for _ in range(2):
        console = app(tmp_path)
        async with console.run_test() as pilot:
            for theme in ("fanout-dark", "fanout-light", "fanout-dark"):
                console.theme = theme
                await pilot.pause()
                seen.append(rules(console))
    dark, light = seen[:2]
    assert set(dark).isdisjoint(light)
    assert seen == [dark, light, dark] * 2


async def test_each_theme_has_the_rules_that_textual_would_make(tmp_path: Path) -> None:
    console = app(tmp_path)
    before: list[str] = []
    async with console.run_test() as pilot:
        for theme in THEMES:
            console.theme = theme
            await pilot.pause()
            fresh = Stylesheet(variables=console.get_css_variables())
            fresh.source = dict(console.stylesheet.source)
            fresh.parse()
            made = [repr(rule) for rule in fresh.rules]
            assert [repr(rule) for rule in console.stylesheet.rules] == made != before
            before = made


def test_a_source_that_cant_be_read_leaves_the_rules_as_they_were() -> None:
    sheet = StyleSheet(variables={"ink": "red"})
    sheet.add_source("Label { color: $ink; }")
    before = sheet.rules
    sheet.add_source("Label { color: $paper; }")
    with pytest.raises(UnresolvedVariableError):
        sheet.reparse()
    assert sheet._rules is before
    sheet.set_variables({"ink": "red", "paper": "white"})
    sheet.reparse()
    assert [rule.styles.color.hex6 for rule in sheet.rules] == ["#FF0000", "#FFFFFF"]
