"""Palettes from `*.toml` files, validated into Textual themes: colours only, so that a theme can't break a layout.

A file says ten colours; everything else Textual's widgets ask for is derived from them here, so that text stays
readable in every widget and not only in ours. A file that can't be used is one line of text and is left out.

The style sheet of an app parses each of its sources once a theme. Textual parses all of them anew for each dialog that
brings one (20 ms before it opens), and for each theme that is looked at. What is parsed is only read, so that it can be
kept for every app of the process.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from textual.cache import LRUCache
from textual.color import Color, ColorParseError
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.theme import Theme

from console_app.domain import one_line
from console_app.records import dataclass

OF_THEME = (
    *("background", "surface", "panel", "foreground", "primary", "secondary", "accent", "success", "warning", "error"),
)  # `panel` is the ground of the two bars
COLOURS = frozenset({*OF_THEME, "muted"})
KINDS = {"name": str, "about": str, "dark": bool, "ansi": bool, "colors": dict, "variables": dict}
WORDS = {str: "a text", bool: "true or false", dict: "a table"}
TEXTS = ("muted", "primary", "secondary", "accent", "success", "warning", "error")
# Where Textual puts text on a filled ground, the ground is a strong colour and the text is the background.
VARIABLES = {  # by the colour that they have where the colours are not the terminal's own
    "foreground": "text block-cursor-blurred-foreground button-foreground input-cursor-background"
    " input-selection-foreground screen-selection-foreground",
    "background": "block-cursor-foreground button-color-foreground input-cursor-foreground scrollbar-background"
    " scrollbar-background-hover scrollbar-background-active scrollbar-corner-color",
    "panel": "block-cursor-blurred-background block-hover-background input-selection-background"
    " screen-selection-background scrollbar",
    "primary": "block-cursor-background scrollbar-active",
    "muted": "scrollbar-hover",
}


class BadPalette(Exception):
    """Says in one line what is wrong in a theme file."""


@dataclass(frozen=True, slots=True)
class LoadedTheme:
    """A theme ready to register, with its one-line description."""

    theme: Theme
    about: str


def load_themes(folders: Sequence[Path]) -> tuple[list[LoadedTheme], list[str]]:
    """Return the themes of `folders`, by name (later ones override), and a line for each file that is no theme."""
    return _load(_files(folders))


def _load(files: Iterable[Path]) -> tuple[list[LoadedTheme], list[str]]:
    themes: dict[str, LoadedTheme] = {}
    problems: list[str] = []
    for path in files:
        try:
            loaded = read_theme(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, BadPalette) as error:
            problems.append(f"Theme {one_line(str(path))} was left out: {one_line(str(error), 260)}.")
        else:
            themes[loaded.theme.name] = loaded
    return [themes[name] for name in sorted(themes)], problems


def themes_named(names: Sequence[str], folders: Sequence[Path]) -> list[LoadedTheme]:
    """Return the themes of these names as far as there are any, in a fraction of the time that loading all takes.
    `folders` as for `load_themes`; a file of the first of them, the bundled one, is called as its theme."""
    bundled, *own = folders
    known = {entry.theme.name: entry for entry in load_themes(own)[0]}
    files = [bundled / f"{name}.toml" for name in names if name not in known and name.replace("-", "").isalnum()]
    return [known[name] for name in names if name in known] + _load(files)[0]


@lru_cache(64)
def read_theme(text: str) -> LoadedTheme:
    """Read a theme file, and check it by hand: importing pydantic would take longer than the first paint. Raises
    TOMLDecodeError, BadPalette."""
    table = tomllib.loads(text)
    if problems := _problems(table):
        more = f"; {len(problems) - 1} more like it" if len(problems) > 1 else ""
        raise BadPalette(problems[0] + more)
    colors: dict[str, Any] = table["colors"]
    dark, ansi, muted = table.get("dark", True), table.get("ansi", False), colors["muted"]
    variables = {f"text-{name}": colors[name] for name in TEXTS}
    variables |= {"muted": muted, "foreground-muted": muted, "border": colors["primary"], "border-blurred": muted}
    variables["footer-key-foreground"] = colors["primary"]
    if ansi:
        # Textual's stylesheets name the first two in every theme of the terminal's own colours.
        variables |= {
            "ansi-background": "ansi_black" if dark else "ansi_white",
            "ansi-foreground": "ansi_white" if dark else "ansi_black",
            "scrollbar": "ansi_bright_black",
            "scrollbar-hover": "ansi_white",
            "scrollbar-active": "ansi_white",
            **dict.fromkeys(
                ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active"), "ansi_default"
            ),
        }
    else:
        variables |= {name: colors[colour] for colour, names in VARIABLES.items() for name in names.split()}
    theme = Theme(
        name=one_line(table["name"], 40),
        dark=dark,
        ansi=ansi,
        variables=variables | table.get("variables", {}),
        **{name: colors[name] for name in OF_THEME},
    )
    return LoadedTheme(theme, one_line(table.get("about", ""), 80))


def _files(folders: Sequence[Path]) -> Iterable[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.glob("*.toml"))


def _problems(table: Mapping[str, Any]) -> list[str]:
    problems: list[str] = []
    for key, value in table.items():
        if key not in KINDS:
            problems.append(f"{key} is not permitted{_says(value)}")
        elif not isinstance(value, KINDS[key]):
            problems.append(f"{key} should be {WORDS[KINDS[key]]}{_says(value)}")
    problems += [f"{key} is required" for key in ("name", "colors") if key not in table]
    if problems:
        return problems
    colors, variables = table["colors"], table.get("variables", {})
    problems += [f"colors.{key} is not permitted{_says(colors[key])}" for key in colors if key not in COLOURS]
    problems += [f"colors.{key} is required" for key in sorted(COLOURS - colors.keys())]
    for name, colours in (("colors", colors), ("variables", variables)):
        problems += [
            f"{name}.{key} is no colour; write it as #rrggbb{_says(value)}"
            for key, value in colours.items()
            if not _is_colour(value)
        ]
    return problems


def _says(value: object) -> str:
    return f" (it says {one_line(repr(value), 60)})"


def _is_colour(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(Color.parse(value))
    except ColorParseError:
        return False


THEMES = 6
SOURCES = 256  # a theme: more than there are


class StyleSheet(Stylesheet):
    """Takes the place of `App.stylesheet`, before anything is read into it."""

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _parsed(frozenset(variables.items()))

    def set_variables(self, variables: dict[str, str]) -> None:
        self._parse_cache = LRUCache(1)  # this one is emptied
        super().set_variables(variables)
        self._parse_cache = _parsed(frozenset(variables.items()))

    def reparse(self) -> None:
        """Parse without the sheet of its own that Textual makes: `parse` changes nothing either when it fails."""
        self.parse()


@lru_cache(THEMES)
def _parsed(_variables: frozenset[tuple[str, str]]) -> LRUCache[tuple[object, ...], list[RuleSet]]:
    """Return the rules that were parsed with these variables, as a cache for all apps."""
    return LRUCache(SOURCES)
