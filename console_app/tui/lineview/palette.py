"""Make the styles that blocks paint with: a frozen set built from a theme, every ink readable on its ground.

Blocks paint whole lines themselves (no stylesheet reaches into a Line-API view), so each style carries its background.
An ink with too little contrast on its ground is moved towards white or black until it has enough. Themes made of the
terminal's own colours can't be measured, so there weak text is the terminal's `dim`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color

from console_app.records import dataclass, field, replace

if TYPE_CHECKING:
    from textual.app import App

    from console_app.tui.terminal.canvas import Canvas

TEXT_CONTRAST = 4.5  # of text on its background, as WCAG AA asks
LINE_CONTRAST = 1.6  # of rules and idle lanes, which carry no meaning alone

Inked = Callable[..., Style]
"""Make the style of an ink by its name, with keywords for emphasis."""
_SIXTEEN = (  # the terminal's colours as tools mean them
    *("#3a3a3a", "#d75f5f", "#87af5f", "#d7af5f", "#5f87d7", "#af5faf", "#5fafaf", "#bcbcbc"),
    *("#767676", "#ff7b72", "#a8d080", "#f0cf7a", "#82aaff", "#d687d6", "#7fd7d7", "#ffffff"),
)
_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)


@dataclass(frozen=True, eq=False)
class Palette:
    """Styles on one ground. Compared by identity, so that it can key caches: a new theme is a new palette."""

    base: Style
    strong: Style
    muted: Style  # secondary text
    faint: Style  # rules, frames at rest, idle lanes
    primary: Style
    secondary: Style
    accent: Style
    success: Style
    warning: Style
    error: Style
    link: Style
    heading: Style
    emphasis: Style
    code: Style  # inline code
    syntax: Mapping[str, Style]  # by the names of console_app.tui.lineview.markdown.code.INKS
    ansi: tuple[RichColor, ...]  # the sixteen colours that tools write with
    selection: Style
    still: bool = False  # nothing is to move by itself
    draws: bool = True  # there are colours enough for a picture
    canvas: Canvas | None = None  # the terminal's own pictures, where there is a terminal
    raised: Palette | None = field(default=None, repr=False)  # the same on the ground of the user's words
    sunken: Palette | None = field(default=None, repr=False)  # the same on the ground of code
    chosen: Palette | None = field(default=None, repr=False)  # the same on the ground of the line under the cursor

    @property
    def on_raised(self) -> Palette:
        return self.raised or self

    @property
    def on_chosen(self) -> Palette:
        return self.chosen or self

    @property
    def on_sunken(self) -> Palette:
        return self.sunken or self

    @staticmethod
    def of(app: App[Any]) -> Palette:
        palette = build_palette(app.theme_variables, dark=app.current_theme.dark)
        palette = replace(palette, canvas=getattr(app, "canvas", None))
        if app.no_color:
            # Pictures have the ground of the panel; what failed is bold, since no colour says so.
            palette = _on_all_grounds(
                palette, lambda one: replace(one, draws=False, error=one.error + Style(bold=True))
            )
        still = app.animation_level == "none"
        return _on_all_grounds(palette, lambda one: replace(one, still=True)) if still else palette

    def turning(self, now: float) -> float | None:
        """The time that a spinner shows; None where it is to stand still."""
        return None if self.still else now

    @cached_property
    def quiet(self) -> Palette:
        """The palette with its text muted, for what stands back behind the answer."""
        weak = self.muted
        return replace(self, base=weak, strong=weak + Style(bold=True), emphasis=weak + Style(italic=True))


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two opaque colours, from 1 to 21 (WCAG 2, relative luminance)."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable(ink: Color, ground: Color, ratio: float = TEXT_CONTRAST) -> Color:
    """`ink`, moved towards white or black only as far as it takes to reach `ratio` on `ground`."""
    if contrast(ink, ground) >= ratio:
        return ink
    goal = max((_BLACK, _WHITE), key=lambda pole: contrast(pole, ground))
    for step in range(1, 11):
        moved = ink.blend(goal, step / 10)
        if contrast(moved, ground) >= ratio:
            return moved
    return goal


def _on_all_grounds(palette: Palette, change: Callable[[Palette], Palette]) -> Palette:
    grounds = {"raised": palette.raised, "sunken": palette.sunken, "chosen": palette.chosen}
    changed = {name: _on_all_grounds(one, change) for name, one in grounds.items() if one is not None}
    return replace(change(palette), **changed)


def build_palette(variables: Mapping[str, str], *, dark: bool = True) -> Palette:
    """The palette of a theme, from the variables that Textual made of it (`App.theme_variables`)."""
    background = _color(variables, "background", "#121212" if dark else "#fafafa")
    if background.ansi is not None:
        return _ansi_palette(variables, dark)
    surface = background + _color(variables, "surface", "#1e1e1e")
    lifted = (
        surface if surface != background else background.blend(_WHITE if _luminance(background) < 0.5 else _BLACK, 0.07)
    )
    panel = background + _color(variables, "panel", lifted.hex)
    return replace(
        _palette_on(variables, background),
        raised=_palette_on(variables, lifted),
        sunken=_palette_on(variables, background.blend(lifted, 0.6)),
        chosen=_palette_on(variables, panel if panel != background else lifted),
    )


def _palette_on(variables: Mapping[str, str], ground: Color) -> Palette:
    foreground = _color(variables, "foreground", "#e0e0e0")
    text = readable(ground + foreground, ground)
    known = {
        "foreground": text,
        "muted": readable(ground + _color(variables, "muted", ground.blend(text, 0.6).hex), ground),
        "faint": readable(ground.blend(text, 0.28), ground, LINE_CONTRAST),
    }

    def style(name: str, **emphasis: Any) -> Style:
        ink = known.get(name) or readable(ground + _color(variables, name, foreground.hex), ground)
        return Style(color=ink.rich_color, bgcolor=ground.rich_color, **emphasis)

    mark = ground + _color(variables, "screen-selection-background", "#0178d47f")
    selection = Style(color=readable(text, mark).rich_color, bgcolor=mark.rich_color)
    return _styled(style, tuple(readable(Color.parse(value), ground).rich_color for value in _SIXTEEN), selection)


def _styled(style: Inked, ansi: tuple[RichColor, ...], selection: Style) -> Palette:
    base, muted, primary, secondary = style("foreground"), style("muted"), style("primary"), style("secondary")
    accent, success, error = style("accent"), style("success"), style("error")
    return Palette(
        base=base,
        strong=style("foreground", bold=True),
        muted=muted,
        faint=style("faint"),
        primary=primary,
        secondary=secondary,
        accent=accent,
        success=success,
        warning=style("warning"),
        error=error,
        link=style("primary", underline=True),
        heading=style("primary", bold=True),
        emphasis=style("foreground", italic=True),
        code=accent,
        syntax={
            "keyword": accent,
            "string": success,
            "number": style("warning"),
            "comment": style("muted", italic=True),
            "name": primary,
            "type": secondary,
            "operator": muted,
            "added": success,
            "removed": error,
            "key": primary,
        },
        ansi=ansi,
        selection=selection,
    )


def _ansi_palette(variables: Mapping[str, str], dark: bool) -> Palette:
    """The palette of the terminal's own colours. They are unknown, so weak text is dim in place of blended."""

    def style(name: str, **emphasis: Any) -> Style:
        weak = name in ("muted", "faint")
        color = _color(variables, "foreground" if weak else name, "ansi_default")
        ink = (color if color.a else Color.parse("ansi_default")).rich_color
        return Style(color=ink, bgcolor="default", dim=True, **emphasis) if weak else Style(
            color=ink, bgcolor="default", **emphasis)  # fmt: skip

    selection = Style(color="black" if dark else "white", bgcolor="white" if dark else "black")
    ansi = tuple(RichColor.parse(f"color({number})") for number in range(16))
    palette = _styled(style, ansi, selection)
    syntax = {**palette.syntax, "comment": palette.muted, "operator": palette.base}
    palette = replace(palette, syntax=syntax, draws=False)
    heavy = {"base": palette.strong, "muted": palette.strong, "faint": palette.base}
    return replace(palette, chosen=replace(palette, **heavy))


def _color(variables: Mapping[str, str], name: str, default: str) -> Color:
    """A variable as a colour; one that isn't there, or is no colour (`auto 60%`), is `default`."""
    try:
        return Color.parse(variables.get(name, default))
    except ValueError:
        return Color.parse(default)


def _luminance(color: Color) -> float:
    def linear(channel: int) -> float:
        part = channel / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = color.rgb
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
