"""Palettes from `*.toml` files, validated into Textual themes: colours only, so that a theme can't break a layout.

A file says ten colours; everything else Textual's widgets ask for is derived from them here, so that text stays
readable in every widget and not only in ours. A file that can't be used is one line of text and is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from textual.color import Color, ColorParseError
from textual.theme import Theme

from console_app.domain.safe_text import one_line


def _colour(value: str) -> str:
    try:
        Color.parse(value)
    except ColorParseError:
        raise ValueError("is no colour; write it as #rrggbb") from None
    return value


Colour = Annotated[str, AfterValidator(_colour)]


class Colors(BaseModel):
    """The ten colours of a palette, and `panel`, the ground of the two bars."""

    model_config = ConfigDict(extra="forbid")

    background: Colour
    surface: Colour
    panel: Colour
    foreground: Colour
    muted: Colour
    primary: Colour
    secondary: Colour
    accent: Colour
    success: Colour
    warning: Colour
    error: Colour


class Palette(BaseModel):
    """One theme file."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, AfterValidator(lambda value: one_line(value, 40))]
    about: Annotated[str, AfterValidator(lambda value: one_line(value, 80))] = ""
    dark: bool = True
    ansi: bool = False  # the colours are the terminal's own sixteen
    colors: Colors
    variables: dict[str, Colour] = {}


@dataclass(frozen=True, slots=True)
class LoadedTheme:
    """A theme ready to register, with its one-line description."""

    theme: Theme
    about: str


def load_themes(folders: Sequence[Path]) -> tuple[list[LoadedTheme], list[str]]:
    """The themes of `folders`, by name (a later folder overrides an earlier), and what can't be used, a line each."""
    themes: dict[str, LoadedTheme] = {}
    problems: list[str] = []
    for path in _files(folders):
        try:
            palette = Palette.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            problems.append(f"Theme {one_line(str(path))} was left out: {one_line(str(error), 160)}.")
        except ValidationError as error:
            problems.append(f"Theme {one_line(str(path))} was left out: {_first_problem(error)}.")
        else:
            themes[palette.name] = LoadedTheme(build_theme(palette), palette.about)
    return [themes[name] for name in sorted(themes)], problems


def build_theme(palette: Palette) -> Theme:
    """The Textual theme of a palette."""
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
        variables=variables | palette.variables,
    )


def _files(folders: Sequence[Path]) -> Iterable[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.glob("*.toml"))


def _first_problem(error: ValidationError) -> str:
    """`key: what is wrong (its value)` of the first problem, with how many more there are."""
    problems = error.errors(include_url=False)
    first = problems[0]
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    what = one_line(first["msg"].removeprefix("Value error, "), 120)
    value = "" if first["type"] == "missing" else f" (it says {one_line(repr(first['input']), 60)})"
    more = f"; {len(problems) - 1} more like it" if len(problems) > 1 else ""
    return f"{key} {what}{value}{more}"
