"""The inline part of Markdown as styled pieces. Foreign text: nothing in it is markup of ours, links are only shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rich.style import Style

from console_app.tui.lineview.lines import Piece, clean
from console_app.tui.lineview.palette import Palette

NEWLINE = "\n"  # a piece with this text alone is a hard break


@lru_cache(maxsize=256)
def _link_target(url: str) -> Style:
    """The style that carries a link's target. As meta data, never as a terminal hyperlink or an action."""
    return Style.from_meta({"href": url})


def is_web_link(url: str) -> bool:
    """Whether a link may be opened from the screen: http and https only."""
    return url.lower().startswith(("http://", "https://"))


def inline_pieces(tokens: Sequence[Any], palette: Palette, base: Style) -> list[Piece]:
    """The children of a markdown-it inline token as pieces, hard breaks as NEWLINE pieces."""
    pieces: list[Piece] = []
    styles: list[Style] = [base]
    link: tuple[str, int] | None = None  # its target, and the piece where it began
    for token in tokens:
        style = styles[-1]
        match token.type:
            case "text":
                pieces.append((clean(token.content).replace("\n", " "), style))
            case "code_inline":
                pieces.append((clean(token.content).replace("\n", " "), _over(palette.code, style)))
            case "softbreak":
                pieces.append((" ", style))
            case "hardbreak":
                pieces.append((NEWLINE, style))
            case "strong_open":
                styles.append(style + Style(bold=True))
            case "em_open":
                styles.append(style + Style(italic=True))
            case "s_open":
                styles.append(style + Style(strike=True))
            case "strong_close" | "em_close" | "s_close":
                if len(styles) > 1:
                    styles.pop()
            case "link_open":
                url = clean(str(token.attrs.get("href", "")))
                shown = _over(palette.link, style) if is_web_link(url) else style
                styles.append(shown + _link_target(url) if is_web_link(url) else shown)
                link = (url, len(pieces))
            case "link_close":
                if len(styles) > 1:
                    styles.pop()
                if link is not None:
                    _show_target(pieces, link, palette)
                link = None
            case "image":
                label = clean(token.content).replace("\n", " ") or "image"
                url = clean(str(token.attrs.get("src", "")))
                pieces += [(f"[{label}]", _over(palette.secondary, style)), (f" ({url})", palette.muted)]
            case _:
                if token.content:
                    pieces.append((clean(token.content).replace("\n", " "), style))
    return [piece for piece in pieces if piece[0]]


def _over(style: Style, under: Style) -> Style:
    """`style` with the emphasis of what is around it."""
    return style + Style(bold=under.bold or None, italic=under.italic or None, strike=under.strike or None)


def _show_target(pieces: list[Piece], link: tuple[str, int], palette: Palette) -> None:
    """Says where a link leads, unless its text does."""
    url, begin = link
    text = "".join(piece[0] for piece in pieces[begin:])
    if url and url not in (text, f"mailto:{text}") and url.rstrip("/") != text.rstrip("/"):
        pieces.append((f" ({url})", palette.muted))
