"""Palettes: readable everywhere, overridable, and harmless when broken."""

from __future__ import annotations

import tomllib
from pathlib import Path

from textual.color import Color

from console_app.tui.themes import LoadedTheme, load_themes, themes_named
from tests.each import each
from tests.tui.parts import THEMES, app, see, seen

LOADED, PROBLEMS = load_themes([THEMES])
INKS = ("foreground", "muted", "primary", "secondary", "accent", "success", "warning", "error")
GROUNDS = ("background", "surface", "panel")
PAIRS = [
    *((ink, ground) for ink in INKS for ground in GROUNDS),
    ("text", "background"),
    ("text-muted", "background"),
    ("text-muted", "panel"),
    ("foreground-muted", "background"),
    *((f"text-{ink}", "background") for ink in ("primary", "secondary", "accent", "success", "warning", "error")),
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("foreground", "block-hover-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("button-foreground", "surface"),
    ("footer-key-foreground", "panel"),
]


def luminance(color: Color) -> float:
    """Relative luminance, WCAG 2."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: Color, other: Color) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_all_bundled_palettes_load() -> None:
    assert not PROBLEMS
    names = {loaded.theme.name for loaded in LOADED}
    assert len(names) >= 27
    assert {"fanout-dark", "fanout-light", "contrast-dark", "contrast-light", "okabe-dark", "terminal"} <= names
    assert all(loaded.about for loaded in LOADED)
    assert {path.stem for path in THEMES.glob("*.toml")} == names


@each("loaded", [t for t in LOADED if not t.theme.ansi], ids=lambda t: t.theme.name)
def test_every_text_can_be_read_on_its_ground(loaded: LoadedTheme) -> None:
    colors = loaded.theme.to_color_system().generate() | loaded.theme.variables
    poor = {
        (ink, ground): round(ratio, 2)
        for ink, ground in PAIRS
        if (ratio := contrast(Color.parse(colors[ink]), Color.parse(colors[ground]))) < 4.5
    }
    assert not poor


def test_a_user_theme_overrides_a_bundled_one(tmp_path: Path) -> None:
    source = (THEMES / "fjord.toml").read_text().replace('primary = "#cfa6cb"', 'primary = "#ffffff"')
    (tmp_path / "mine.toml").write_text(source)
    themes, problems = load_themes([THEMES, tmp_path, tmp_path / "missing"])
    assert not problems
    assert len(themes) == len(LOADED)
    assert next(t.theme.primary for t in themes if t.theme.name == "fjord") == "#ffffff"


def test_one_theme_is_found_by_name_as_among_all(tmp_path: Path) -> None:
    for loaded in LOADED:
        assert themes_named([loaded.theme.name], [THEMES, tmp_path]) == [loaded]
    assert themes_named(["no-such", "../themes/fjord", ""], [THEMES, tmp_path]) == []
    source = (THEMES / "fjord.toml").read_text().replace('primary = "#cfa6cb"', 'primary = "#ffffff"')
    (tmp_path / "mine.toml").write_text(source)
    found = {
        loaded.theme.name: loaded.theme.primary for loaded in themes_named(["fjord", "terminal"], [THEMES, tmp_path])
    }
    assert set(found) == {"fjord", "terminal"}
    assert found["fjord"] == "#ffffff"


@each(
    ("change", "words"),
    [
        (('error = "#ff8095"', 'error = "redd"'), ("colors.error", "is no colour", "'redd'")),
        (('panel = "#2b2f48"\n', ""), ("colors.panel", "required")),
        (("dark = true", "dark = true\ncolour = 3"), ("colour", "not permitted")),
        (("dark = true", "dark = 3"), ("dark should be true or false", "3")),
        (('name = "fanout-dark"', ""), ("name is required",)),
        (("[colors]", "colors = 3\n[variables]"), ("colors should be a table",)),
        (('error = "#ff8095"', "error = 7"), ("colors.error is no colour", "7")),
        (("[colors]", "[colors"), ("line 6",)),
        (('"#c6cff5"', '"\x1b[31m"'), ()),
    ],
)
def test_a_broken_theme_is_one_line_and_left_out(tmp_path: Path, change: tuple[str, str], words: tuple[str]) -> None:
    text = (THEMES / "fanout-dark.toml").read_text()
    assert change[0] in text
    (tmp_path / "bad.toml").write_text(text.replace(*change))
    themes, problems = load_themes([tmp_path])
    assert not themes
    assert len(problems) == 1
    assert "bad.toml" in problems[0]
    assert "\n" not in problems[0]
    assert "\x1b" not in problems[0]
    for word in words:
        assert word in problems[0]


async def test_the_console_opens_with_a_broken_theme_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "themes"
    folder.mkdir()
    (folder / "bad.toml").write_text('name = "bad"\n[colors]\nbackground = "nope"\n')
    console = app(tmp_path, theme="bad", theme_dirs=[THEMES, folder])
    async with console.run_test(size=(140, 30)):
        text = seen(console)
        assert "bad.toml was left out" in text
        assert "There is no theme bad." in text


def test_theme_files_say_nothing_but_colours() -> None:
    for path in THEMES.glob("*.toml"):
        assert set(tomllib.loads(path.read_text())) <= {"name", "about", "dark", "ansi", "colors", "variables"}


async def test_without_one_theme_file_that_can_be_read_the_console_opens(tmp_path: Path) -> None:
    console = app(tmp_path, theme_dirs=[tmp_path / "none"])
    async with console.run_test() as pilot:
        await see(pilot, "many tool calls at once")
        assert console.theme == "textual-dark"
        await pilot.press("f1")
        await see(pilot, "Help")
