"""In the terminal's own colours, which have no grounds, a line tells what is chosen and where a field is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.app import App

from tests.each import each
from tests.tui.parts import at_rest, enter, painted, see
from tests.tui.rooms import furnished


def underlined(console: App[Any]) -> list[str]:
    """The lines on screen, of those letters and spaces that are underlined."""
    lines = (
        "".join(one.text for one in strip if one.style is not None and one.style.underline)
        for strip in painted(console)
    )
    return [line.strip() for line in lines if line]


@each("theme", ["terminal", "terminal-light"])
@each(
    ("keys", "shows", "chosen", "next_one"),
    [
        (("slash",), "/help", "/help", "/keys"),
        (("ctrl+p",), "Search for commands", "/help", "/connect"),
        (("ctrl+r",), "what is 355/113?", "compare the weather in Oslo and Lima", "what is 355/113?"),
    ],
    ids=["completion", "palette", "history"],
)
async def test_what_is_chosen_of_a_list_is_told_without_a_colour(
    tmp_path: Path, theme: str, keys: tuple[str, ...], shows: str, chosen: str, next_one: str
) -> None:
    async with furnished(tmp_path) as console, console.run_test(size=(80, 24)) as pilot:
        console.theme = theme
        await pilot.press(*keys)
        await see(pilot, shows)
        await at_rest(pilot)
        assert [line.split("  ")[0] for line in underlined(console)] == [chosen]
        await pilot.press("down")
        await at_rest(pilot)
        assert [line.split("  ")[0] for line in underlined(console)] == [next_one]


async def test_an_empty_field_of_a_form_is_a_line(tmp_path: Path) -> None:
    async with furnished(tmp_path) as console, console.run_test(size=(80, 24)) as pilot:
        console.theme = "terminal"
        await enter(pilot, "/connect")
        await see(pilot, "Nothing answers at the usual ports")
        await at_rest(pilot)
        assert {"where it asks for one", "listed once the address answers, or typed"} <= set(underlined(console))
