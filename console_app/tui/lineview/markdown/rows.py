"""Markdown blocks as rows: the tokens of markdown-it in, styled lines of at most a width out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from rich.style import Style

from console_app.domain import web_address
from console_app.records import dataclass, field
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.markdown.code import Code
from console_app.tui.lineview.palette import Palette

MIN_COLUMN = 4
GAP = " │ "


@dataclass(slots=True)
class MarkdownTable:
    """Cells as pieces; `rows[0]` is the head. `align` is "left", "center" or "right" a column."""

    align: list[str] = field(default_factory=list[str])
    rows: list[list[list[Piece]]] = field(default_factory=list[list[list[Piece]]])
    span: tuple[int, ...] = (0, 0)  # source lines


def table_rows(table: MarkdownTable, width: int, palette: Palette, widths: list[int] | None = None) -> list[Row]:
    """The table as rows of at most `width` cells; `widths` are those of its columns where they are known."""
    if not table.rows or not table.rows[0]:
        return []
    if widths is None:
        columns = range(len(table.rows[0]))
        widths = shares([max(Line.cells(row[n]) for row in table.rows if n < len(row)) for n in columns], width)
    if widths is None:
        return _as_list(table, width, palette)
    out: list[Row] = []
    for number, cells in enumerate(table.rows):
        out += table_line(cells, widths, table.align, palette)
        if number == 0:
            rule = "─┼─".join("─" * size for size in widths)
            out.append(Row([(rule, palette.faint)]))
    return out


def shares(wanted: Sequence[int], width: int) -> list[int] | None:
    """Share cells among the columns: each has what it wants where that fits, else a fair share; None without room."""
    wanted = [max(size, 1) for size in wanted]
    room = width - len(GAP) * (len(wanted) - 1)
    if sum(wanted) <= room:
        return list(wanted)
    if room < MIN_COLUMN * len(wanted):
        return None
    widths = list(wanted)
    while (excess := sum(widths) - room) > 0:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=MIN_COLUMN)
        among = [n for n, size in enumerate(widths) if size == widest]
        step = max(min(widest - max(second, MIN_COLUMN), -(-excess // len(among))), 1)
        for n in among:
            taken = min(step, excess, widths[n] - MIN_COLUMN)
            widths[n] -= taken
            excess -= taken
    return widths


def table_line(
    cells: Sequence[list[Piece]], widths: Sequence[int], align: Sequence[str], palette: Palette
) -> list[Row]:
    wrapped = [Line.wrap(cells[n], size) if n < len(cells) else [Row([])] for n, size in enumerate(widths)]
    out: list[Row] = []
    for parts in zip_longest(*wrapped):
        pieces: list[Piece] = []
        for n, part in enumerate(parts):
            if n:
                pieces.append((GAP, palette.faint))
            content: list[Piece] = part.pieces if part is not None else []
            free, at = max(widths[n] - Line.cells(content), 0), align[n] if n < len(align) else "left"
            left = free if at == "right" else free // 2 if at == "center" else 0
            around = ((" " * left, palette.base), *content, (" " * (free - left), palette.base))
            pieces += [piece for piece in around if piece[0]]
        while pieces and pieces[-1][0].isspace():
            pieces.pop()
        out.append(Row(pieces))
    return out


def _as_list(table: MarkdownTable, width: int, palette: Palette) -> list[Row]:
    """Write each row as lines of `head: cell`, for widths in which columns make no sense."""
    head, *rows = table.rows
    out: list[Row] = []
    for number, cells in enumerate(rows or [head]):
        if number:
            out.append(Row([("─" * max(min(width, 8), 1), palette.faint)]))
        for n, cell in enumerate(cells):
            title: list[Piece] = [*head[n], (": ", palette.muted)] if rows and n < len(head) and head[n] else []
            out += Line.wrap([*title, *cell], width)
    return out


_EMPHASIS = {"strong_open": Style(bold=True), "em_open": Style(italic=True), "s_open": Style(strike=True)}
NEWLINE = "\n"  # a piece with this text alone is a hard break


@lru_cache(maxsize=256)
def _link_target(url: str) -> Style:
    """The style that carries a link's target. As meta data, never as a terminal hyperlink or an action."""
    return Style.from_meta({"href": url})


def inline_pieces(tokens: Sequence[Any], palette: Palette, base: Style) -> list[Piece]:
    """The children of a markdown-it inline token as pieces, hard breaks as NEWLINE pieces."""
    pieces: list[Piece] = []
    styles: list[Style] = [base]
    link: tuple[str, int] | None = None  # its target, and the piece where it began
    for token in tokens:
        style = styles[-1]
        match token.type:
            case "code_inline":
                pieces.append((Line.clean(token.content).replace("\n", " "), _over(palette.code, style)))
            case "softbreak":
                pieces.append((" ", style))
            case "hardbreak":
                pieces.append((NEWLINE, style))
            case "strong_open" | "em_open" | "s_open":
                styles.append(style + _EMPHASIS[token.type])
            case "strong_close" | "em_close" | "s_close":
                if len(styles) > 1:
                    styles.pop()
            case "link_open":
                url = Line.clean(str(token.attrs.get("href", "")))
                shown = _over(palette.link, style) if web_address.is_web_link(url) else style
                styles.append(shown + _link_target(url) if web_address.is_web_link(url) else shown)
                link = (url, len(pieces))
            case "link_close":
                if len(styles) > 1:
                    styles.pop()
                if link is not None:
                    url, text = link[0], "".join(piece[0] for piece in pieces[link[1] :])
                    if url and url not in (text, f"mailto:{text}") and url.rstrip("/") != text.rstrip("/"):
                        pieces.append((f" ({url})", palette.muted))
                link = None
            case "image":
                label = Line.clean(token.content).replace("\n", " ") or "image"
                url = Line.clean(str(token.attrs.get("src", "")))
                pieces += [(f"[{label}]", _over(palette.secondary, style)), (f" ({url})", palette.muted)]
            case _:
                if token.content:
                    pieces.append((Line.clean(token.content).replace("\n", " "), style))
    return [piece for piece in pieces if piece[0]]


def _over(style: Style, under: Style) -> Style:
    """Return `style` with the emphasis of the text around it."""
    return style + Style(bold=under.bold or None, italic=under.italic or None, strike=under.strike or None)


_BULLETS = ("•", "◦", "▪")
MIN_WIDTH = 4
PROSE_WIDTH = 112  # longer lines of prose are hard to read; code and tables use all there is


def code_rows(lines: list[list[Piece]], width: int, palette: Palette) -> list[Row]:
    ground = palette.on_sunken.base
    out: list[Row] = []
    for line in lines:
        for row in Line.chop(line, max(width - 2, 1)):
            out.append(Row([(" ", ground), *row.pieces], row.joint, 1, ground))
    return out


def language_of(info: str) -> str:
    words = info.split()
    return words[0].strip("{}.").lower() if words else ""


def code_head(language: str, palette: Palette) -> list[Row]:
    if not language:
        return []
    ground = palette.on_sunken
    return [Row([(" ", ground.base), (Line.clean(language), ground.muted)], "\n", 1, ground.base)]


@dataclass(slots=True)
class _Container:
    """Holds the marks before a list item or quote: `first` is drawn once, `rest` before all later lines."""

    first: list[Piece]
    rest: list[Piece]
    gutter: int
    used: bool = False


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int
    depth: int


class MarkdownRows:
    def __init__(self, width: int, palette: Palette, first_number: int | None = None) -> None:
        self._first_number = first_number  # of a list that began in an earlier part of the text
        self._width = width
        self._palette = palette
        self._containers: list[_Container] = []
        self._lists: list[_List] = []
        self._table = MarkdownTable()
        self._block = 0  # which top-level block the tokens are in
        self._last_block = 0
        self._last_end = 0  # the source line after the newest leaf
        self.rows: list[Row] = []

    def render(self, tokens: Sequence[Any]) -> list[Row]:
        """The rows of the tokens: a blank row between blocks, and inside lists and quotes where the source has one."""
        for index, token in enumerate(tokens):
            if token.level == 0 and token.nesting >= 0 and token.type != "inline":
                self._block += 1
            self._token(token, tokens, index)
        return self.rows

    def _token(self, token: Any, tokens: Sequence[Any], index: int) -> None:
        match token.type:
            case "inline":
                self._inline(token, tokens[index - 1] if index else None)
            case "fence" | "code_block":
                self._code(token.content, language_of(token.info), token.map)
            case "hr":
                self._emit([Row([("─" * max(min(self._room(), PROSE_WIDTH), 1), self._palette.faint)])], token.map)
            case "bullet_list_open" | "ordered_list_open":
                ordered, number = token.type == "ordered_list_open", int(token.attrs.get("start", 1))
                if self._first_number is not None:
                    number, self._first_number = self._first_number, None
                self._lists.append(_List(ordered, number, sum(not one.ordered for one in self._lists)))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._open_item()
            case "blockquote_open":
                bar: list[Piece] = [("▎ ", self._palette.faint)]
                self._containers.append(_Container(bar, bar, 2))
            case "list_item_close" | "blockquote_close":
                container = self._containers[-1]
                if not container.used:
                    self._emit([Row([])], None)
                self._containers.pop()
            case "table_open":
                self._table = MarkdownTable(span=tuple(token.map or (0, 0)))
            case "tr_open":
                self._table.rows.append([])
            case "th_open" | "td_open":
                if token.type == "th_open":
                    style = str(token.attrs.get("style", ""))
                    self._table.align.append(style.removeprefix("text-align:") or "left")
            case "table_close":
                self._emit(table_rows(self._table, self._room(), self._palette), self._table.span)
            case _:
                pass

    def _inline(self, token: Any, opener: Any) -> None:
        palette = self._palette
        kind = opener.type if opener is not None else ""
        if kind in ("th_open", "td_open"):
            style = palette.strong if kind == "th_open" else palette.base
            cell = inline_pieces(token.children or (), palette, style)
            self._table.rows[-1].append([(" " if text == NEWLINE else text, ink) for text, ink in cell])
            return
        base = palette.base
        if opener is not None and kind == "heading_open":
            level = int(opener.tag[1:])
            base = (palette.heading + Style(underline=True), palette.heading, palette.strong)[min(level, 3) - 1]
        pieces = inline_pieces(token.children or (), palette, base)
        pieces = self._task_mark(pieces, palette)
        room = min(self._room(), PROSE_WIDTH)
        rows: list[Row] = []
        line: list[Piece] = []
        for piece in [*pieces, (NEWLINE, base)]:
            if piece[0] == NEWLINE:
                rows += Line.wrap(line, room)
                line = []
            else:
                line.append(piece)
        self._emit(rows, token.map)

    def _task_mark(self, pieces: list[Piece], palette: Palette) -> list[Piece]:
        """`[ ]` and `[x]` at the start of a list item as boxes."""
        if not self._lists or not pieces or self._containers[-1].used:
            return pieces
        text, style = pieces[0]
        mark = text[:4].lower()
        if mark not in ("[ ] ", "[x] "):
            return pieces
        box: Piece = ("☑ ", palette.success) if mark == "[x] " else ("☐ ", palette.muted)
        rest = [*([(text[4:], style)] if text[4:] else []), *pieces[1:]]
        if self._lists[-1].ordered:
            return [box, *rest]
        self._containers[-1].first = [box]  # in place of the bullet
        return rest

    def _code(self, content: str, language: str, span: Sequence[int] | None) -> None:
        code = Code(language)
        lines = content.split("\n")
        code.add(lines[:-1] if lines[-1] == "" else lines)
        code.close()
        room = self._room()
        rows = code_head(language, self._palette)
        ground = self._palette.on_sunken
        for number in range(code.closed_slices):
            rows += code_rows(code.slice_pieces(number, ground), room, self._palette)
        self._emit(rows or code_rows([[]], room, self._palette), span)

    def _open_item(self) -> None:
        current = self._lists[-1]
        if current.ordered:
            mark = f"{current.number}. "
            current.number += 1
        else:
            mark = _BULLETS[min(current.depth, len(_BULLETS) - 1)] + " "
        style = self._palette.muted if current.ordered else self._palette.accent
        self._containers.append(_Container([(mark, style)], [(" " * len(mark), self._palette.base)], 0))

    def _room(self) -> int:
        taken = sum(Line.cells(container.rest) for container in self._containers)
        return max(self._width - taken, MIN_WIDTH)

    def _emit(self, rows: list[Row], span: Sequence[int] | None) -> None:
        if self.rows and rows and (self._block != self._last_block or (span and span[0] > self._last_end)):
            self._put(Row([]), blank=True)
        self._last_block = self._block
        self._last_end = span[1] if span else self._last_end
        for row in rows:
            self._put(row)

    def _put(self, row: Row, blank: bool = False) -> None:
        prefix: list[Piece] = []
        gutter = 0
        bars_only = True
        for container in self._containers:
            if blank and not container.used:
                break
            prefix += container.rest if container.used else container.first
            container.used = True
            bars_only = bars_only and container.gutter > 0
            gutter += container.gutter if bars_only else 0
        self.rows.append(Row([*prefix, *row.pieces], row.joint, gutter + (row.gutter if bars_only else 0), row.fill))
