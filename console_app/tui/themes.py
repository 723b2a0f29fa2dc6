"""Palettes from `*.toml` files, validated into Textual themes: colours only, so that a theme can't break a layout.

A file says ten colours; everything else Textual's widgets ask for is derived from them here, so that text stays
readable in every widget and not only in ours. A file that can't be used is one line of text and is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from console_app.domain import one_line


@dataclass(frozen=True, slots=True)
class Colors:
    """The ten colours of a palette, and `panel`, the ground of the two bars."""

    background: str
    surface: str
    panel: str
    foreground: str
    muted: str
    primary: str
    secondary: str
    accent: str
    success: str
    warning: str
    error: str


@dataclass(frozen=True, slots=True)
class ThemeColours:
    name: str
    colors: Colors
    about: str = ""
    dark: bool = True
    ansi: bool = False  # the colours are the terminal's own sixteen
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


COLOURS = frozenset(part.name for part in fields(Colors))
KINDS = {"name": str, "about": str, "dark": bool, "ansi": bool, "colors": dict, "variables": dict}
WORDS = {str: "a text", bool: "true or false", dict: "a table"}


class BadPalette(Exception):
    """Says in one line what is wrong in a theme file."""


@dataclass(frozen=True, slots=True)
class LoadedTheme:
    """A theme ready to register, with its one-line description."""

    theme: Theme
    about: str


def load_themes(folders: Sequence[Path]) -> tuple[list[LoadedTheme], list[str]]:
    """The themes of `folders`, by name (a later folder overrides an earlier), and what can't be used, a line each."""
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
    """The themes of these names as far as there are any, in a fraction of the time that loading all takes.

    `folders` as for `load_themes`; a file of the first of them, the bundled one, is called as its theme.
    """
    bundled, *own = folders
    known = {entry.theme.name: entry for entry in load_themes(own)[0]}
    files = [bundled / f"{name}.toml" for name in names if name not in known and name.replace("-", "").isalnum()]
    return [known[name] for name in names if name in known] + _load(files)[0]


@lru_cache(64)
def read_theme(text: str) -> LoadedTheme:
    """The theme of a file with this text. Raises TOMLDecodeError, BadPalette."""
    palette = read_palette(text)
    return LoadedTheme(build_theme(palette), palette.about)


def read_palette(text: str) -> ThemeColours:
    """Read a theme file, and check it by hand: importing pydantic would take longer than the first paint."""
    table = tomllib.loads(text)
    if problems := _problems(table):
        more = f"; {len(problems) - 1} more like it" if len(problems) > 1 else ""
        raise BadPalette(problems[0] + more)
    return ThemeColours(
        name=one_line(table["name"], 40),
        about=one_line(table.get("about", ""), 80),
        dark=table.get("dark", True),
        ansi=table.get("ansi", False),
        colors=Colors(**table["colors"]),
        variables=table.get("variables", {}),
    )


def build_theme(palette: ThemeColours) -> Theme:
    c = palette.colors
    variables = {
        "muted": c.muted,
        "text-muted": c.muted,
        "foreground-muted": c.muted,
        "text-primary": c.primary,
        "text-secondary": c.secondary,
        "text-accent": c.accent,
        "text-success": c.success,
        "text-warning": c.warning,
        "text-error": c.error,
        "border": c.primary,
        "border-blurred": c.muted,
        "footer-key-foreground": c.primary,
    }
    if palette.ansi:
        # Textual's stylesheets name these two in every theme of the terminal's own colours.
        variables |= {
            "ansi-background": "ansi_black" if palette.dark else "ansi_white",
            "ansi-foreground": "ansi_white" if palette.dark else "ansi_black",
            "scrollbar": "ansi_bright_black",
            "scrollbar-hover": "ansi_white",
            "scrollbar-active": "ansi_white",
            "scrollbar-background": "ansi_default",
            "scrollbar-background-hover": "ansi_default",
            "scrollbar-background-active": "ansi_default",
        }
    else:
        # Where Textual puts text on a filled ground, the ground is a strong colour and the text is the background.
        variables |= {
            "text": c.foreground,
            "block-cursor-background": c.primary,
            "block-cursor-foreground": c.background,
            "block-cursor-blurred-background": c.panel,
            "block-cursor-blurred-foreground": c.foreground,
            "block-hover-background": c.panel,
            "button-foreground": c.foreground,
            "button-color-foreground": c.background,
            "input-cursor-background": c.foreground,
            "input-cursor-foreground": c.background,
            "input-selection-background": c.panel,
            "input-selection-foreground": c.foreground,
            "screen-selection-background": c.panel,
            "screen-selection-foreground": c.foreground,
            "scrollbar": c.panel,
            "scrollbar-hover": c.muted,
            "scrollbar-active": c.primary,
            "scrollbar-background": c.background,
            "scrollbar-background-hover": c.background,
            "scrollbar-background-active": c.background,
            "scrollbar-corner-color": c.background,
        }
    return Theme(
        name=palette.name,
        dark=palette.dark,
        ansi=palette.ansi,
        primary=c.primary,
        secondary=c.secondary,
        accent=c.accent,
        foreground=c.foreground,
        background=c.background,
        surface=c.surface,
        panel=c.panel,
        success=c.success,
        warning=c.warning,
        error=c.error,
        variables=variables | dict(palette.variables),
    )


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
