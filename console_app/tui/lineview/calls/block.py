"""Draw the panel of one call, from the moment its name is known to its result: its row, and opened what is in it.

It paints a `CallView` of the transcript. A finished panel is the call's tool message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.style import Style

from console_app.domain import Artifact, CallState, call_description
from console_app.domain.transcript import CallView, results
from console_app.tui.lineview.blocks.block import Block, bar, framed, room_of
from console_app.tui.lineview.blocks.passages import SLICE, LinesPassage, Passage, Search, passages_in
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.calls.group import CallGroup, Panel, brief_of
from console_app.tui.lineview.calls.row import row, state_style
from console_app.tui.lineview.lines import Line, Row
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.windows import RowWindow
from console_app.tui.lineview.text.ansi import AnsiPainter
from console_app.tui.lineview.text.joined import Joined, Lookup
from console_app.tui.lineview.text.text_page import FIRST_PAGE

MOST_EDGED = 500  # lines that are kept once they were drawn


class PanelEdge:
    def __init__(self, width: int, palette: Palette, style: Style) -> None:
        self._width, self._palette = width, palette
        self._lead = [*bar(width, "▎", style, palette.base), ("  ", palette.base)]
        self.inner = max(room_of(width) - 2, 1)
        self.look = (width, style)  # two of the same look and palette draw the same

    def row(self, row: Row) -> Line:
        pieces = Line.trim(row.pieces, self.inner)
        return framed(Row(pieces, row.joint, row.gutter), self._width, self._palette, self._lead)


class EdgedRows(Lookup[Line]):
    """Rows behind an edge, each drawn when it is looked at. A row that `before` drew is not again."""

    def __init__(self, edge: PanelEdge, palette: Palette, rows: Joined[Row], before: EdgedRows | None) -> None:
        self.rows = rows
        self._edge = edge
        self._look = (edge.look, palette)
        self._drawn: dict[int, tuple[Row, Line]] = {}  # by the id of the row
        if before is not None and before._look == self._look:
            self._drawn = before._drawn

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Line]:
        return map(self._line, self.rows)

    def item(self, index: int) -> Line:
        return self._line(self.rows.item(index))

    def said(self, index: int) -> tuple[str, str] | None:
        """Return the joint before a line of a long result, and its text; None where the line is no part of one."""
        part, place = self.rows.part_at(index)
        return part.said(place) if isinstance(part, RowWindow) else None

    def _line(self, row: Row) -> Line:
        known = self._drawn.get(id(row))
        if known is None:
            if len(self._drawn) >= MOST_EDGED:
                self._drawn.clear()
            known = self._drawn[id(row)] = (row, self._edge.row(row))
        return known[1]


OPENED = 12  # lines that an open panel takes about


class CallBlock(Panel):
    opens = True

    def __init__(self, call: CallView, group: CallGroup) -> None:
        super().__init__(call)
        self.group = group
        self.detail = CallDetail(call)
        self.apart = False  # text of the answer stands right above it
        self.says = ""  # of a key that wants a second press
        self._inside: EdgedRows | None = None  # the detail, as last painted

    @property
    def live(self) -> bool:
        return not (self.finished or self.folded) or (self.open and self.detail.awaits_a_picture)

    @property
    def folded(self) -> bool:
        """Tell whether it is only counted, or waits on the board. One that you selected or opened has its row."""
        return not self.group.is_row(self)

    @property
    def is_stop(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not self.folded

    @property
    def beside(self) -> Sequence[Block]:  # pyright: ignore[reportIncompatibleVariableOverride]
        fold = () if self.group.fold is None else (self.group.fold,)
        return *fold, *(one for one in self.group.writing if one is not self)

    def allows(self, action: str) -> bool:
        if action == "retry_all":
            group = self.group
            return group.newest and not (group.settled or group.is_open) and any(c.was_cut_off for c in group.calls)
        return not call_description.refusal(self.call, call_description.Act(action), siblings_run=self.group.is_open)

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(action for action in (*call_description.Act, "retry_all") if self.allows(action))

    @property
    def gap(self) -> int:
        return 0 if self.group.has_header and not self.apart else 1

    @property
    def copy_text(self) -> str:
        return (
            results.without_remarks(self.call.content, self.call.outcome)
            if self.finished
            else self.call.arguments_text or brief_of(self.call, 400)
        )

    @property
    def searched(self) -> Sequence[str]:
        return (Line.clean(self.group.name_of(self.call)), *self.detail.texts())

    @property
    def searched_folded(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 1

    @property
    def kept(self) -> int:
        return min(len(self.lines), MOST_EDGED)

    def searchable(self) -> Iterable[Passage]:
        if not self.open or self._inside is None or len(self.lines) <= self.gap:
            return super().searchable()
        title, name = self.lines[self.gap], Line.clean(self.group.name_of(self.call))
        at = title.text.find(name, title.start, title.end)
        label = LinesPassage([(self.gap, at, name, "")] if at >= 0 else [])
        return [label, *passages_in(self._inside.rows, self._inside[0].start, self.gap + 1)]

    def expect_match(self, pattern: re.Pattern[str], number: int) -> None:
        """Show the result as it came, where `unfold_match` will, before its Markdown is laid out for nothing."""
        body, texts = self.detail.body, self.searched
        text = "\n".join(texts)
        if body.touched or not body.is_long_markdown or body.found.text != texts[-1] or len(text) > SLICE:
            return
        (search := Search(pattern, text)).lay_out()
        begin = search.spans[number][0] - len(text) + len(texts[-1]) if number < len(search.spans) else 0
        if begin > 0 and texts[-1].count("\n", 0, begin) >= FIRST_PAGE:
            self.detail.press("raw")

    def unfold_match(self, expected: int, shown: int, wanted: int) -> bool:
        if self.detail.unfold_match(missing=shown < expected, far=shown <= wanted):
            return True
        # Rendered as what it is it may say less than it does, or otherwise: as it came it says what was searched.
        differs = shown != expected and (shown <= wanted or "more" not in self.detail.keys)
        return differs and not self.detail.raw and self.finished and self.detail.press("raw")

    @property
    def unfinished(self) -> bool:
        return self.open and bool(self.detail.unfinished)

    def lay_out(self) -> None:
        for body in self.detail.unfinished[:1]:
            body.lay_out()
            self.touch()

    @property
    def files(self) -> Sequence[Artifact]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.call.artifacts

    def look(self) -> tuple[object, ...]:
        group = self.group
        return group.has_header, group.version, self.folded, group.tail(self), self.detail.pictures, self.says

    def set_room(self, height: int) -> bool:
        return self.group.room_changed(height)

    def select(self, selected: bool) -> None:
        super().select(selected)
        if selected or self.group.selected is self:
            self.group.selected = self if selected else None

    def toggle(self) -> None:
        super().toggle()
        if self.open:
            self.group.opened[self] = None
        else:
            self.group.opened.pop(self, None)
        self.detail.put_pictures_away()

    def forget(self) -> None:
        super().forget()
        self._inside = None
        self.detail.forget()

    def estimate(self, width: int) -> int:
        if self.folded:
            return 0
        if self.open:
            return len(self.lines) or self.gap + OPENED
        return self.gap + 1 + len(self.group.tail(self))

    def paint(self, width: int, palette: Palette, now: float) -> Sequence[Line]:
        if self.folded:
            return []
        head = [self._head(width, palette, now)]
        edge = PanelEdge(width, palette, palette.primary if self.selected else state_style(self.call, palette))
        if not self.open:
            painters = ((line, AnsiPainter(palette.muted, palette)) for line in self.group.tail(self))
            return [*head, *(edge.row(Row(painter.line(line))) for line, painter in painters)]
        self._inside = EdgedRows(edge, palette, self.detail.rows(edge.inner, palette), self._inside)
        return Joined([head, self._inside])

    def _head(self, width: int, palette: Palette, now: float) -> Line:
        ink = palette.on_chosen if self.selected else palette
        below = () if self.open else self.group.tail(self)
        pieces = row(
            self.call, self.group, room_of(width), ink, now, self.detail, opened=self.open, filled=not self.selected,
            below=below, told=[(self.says, ink.warning)] if self.says else [])  # fmt: skip
        style, runs = state_style(self.call, palette), self.call.state is CallState.RUNNING
        mark, style = ("▌", palette.primary) if self.selected else ("▎" if runs else " ", style)
        lead = bar(width, mark, style, palette.base, str(self.group.number_of(self) or ""))
        if lead:
            lead[0] = (lead[0][0], palette.muted)
        return framed(Row(pieces, fill=ink.base if self.selected else None), width, palette, lead)
