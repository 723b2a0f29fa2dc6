"""What you said, exactly as typed, with what servers wrote or gave for it: a line each, more of it when opened."""

from __future__ import annotations

from collections.abc import Sequence

from console_app.domain import Artifact, Attachment, amounts, one_line, plural
from console_app.tui.lineview.block import Block, estimate_text, framed, gutter_of, margin_of
from console_app.tui.lineview.lines import Line, Piece, Row, clean, crop, wrap
from console_app.tui.lineview.message_blocks import bar
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.picture import MOST_DRAWN, PictureView
from console_app.tui.lineview.text_page import TextPage

USER_LINES = 12  # of the words while folded
ATTACHMENT_LINES = 40  # of an attachment's text while open
WHILE_IT_RAN = "while it ran: "


class UserBlock(Block):
    """A message of the user. Long ones are folded; attachments open with it."""

    is_stop = True

    def __init__(self, text: str, *, steered: bool = False) -> None:
        super().__init__()
        self.text = text
        self.steered = steered
        self.source = ""
        self.attachments: tuple[Attachment, ...] = ()
        self.opens = _is_long(text)
        self._pictures: dict[str, PictureView] = {}  # by path, as far as they are shown

    def carry(self, text: str, attachments: tuple[Attachment, ...], source: str) -> None:
        """The message as it was sent: `source` is the command that had a server write the text."""
        self.text, self.attachments, self.source = text, attachments, source
        self.opens = _is_long(text) or bool(attachments)
        self.touch()

    @property
    def live(self) -> bool:
        return self.open and any(one.is_awaited for one in self._pictures.values())

    def look(self) -> tuple[object, ...]:
        return tuple(one.version for one in self._pictures.values())

    def toggle(self) -> None:
        super().toggle()
        self._pictures.clear()

    def forget(self) -> None:
        super().forget()
        self._pictures.clear()

    @property
    def copy_text(self) -> str:
        return "\n\n".join(part for part in (self.text, *(one.text for one in self.attachments)) if part)

    @property
    def searched(self) -> Sequence[str]:
        shown = (
            "" if one.path else "\n".join(TextPage(one.text).first(ATTACHMENT_LINES)[0]) for one in self.attachments
        )
        return (self.text, *shown)

    @property
    def searched_folded(self) -> int:
        return 0 if _is_long(self.text) else 1

    @property
    def files(self) -> Sequence[Artifact]:
        saved = [one for one in self.attachments if one.path]
        return [Artifact(name=one.name, mime=one.mime, path=one.path, size=one.size) for one in saved]

    def estimate(self, width: int) -> int:
        lines = estimate_text(self.text, width) + len(self.attachments) + bool(self.source)
        return self.gap + (min(lines, USER_LINES + 1) if self.opens and not self.open else lines)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        ground = palette.on_raised
        room = max(width - gutter_of(width) - margin_of(width) - 1, 1)
        rows = [*self._source(room, ground), *self._words(room, ground), *self._attached(room, palette)]
        if self.steered and rows:
            first = [(WHILE_IT_RAN, ground.muted), *rows[0].pieces]
            rows[0] = Row(first, rows[0].joint, rows[0].gutter + len(WHILE_IT_RAN))
        edge, style = ("█", ground.secondary) if self.selected else ("▌", ground.primary)
        left = bar(width, edge, style, ground.base)
        for row in rows:
            row.fill = ground.base
        return [framed(row, width, palette, left) for row in rows]

    def _source(self, room: int, ground: Palette) -> list[Row]:
        if not self.source:
            return []
        name, _, rest = one_line(self.source, 400).partition(" ")
        pieces: list[Piece] = [(name, ground.accent), (f" {rest}" if rest else "", ground.muted)]
        pieces.append(("  written by the server", ground.muted))
        return [Row(crop(pieces, room))]

    def _words(self, room: int, ground: Palette) -> list[Row]:
        if not self.text and (self.source or self.attachments):
            return []
        source = self.text.expandtabs(4).split("\n")
        rows: list[Row] = []
        shown = 0
        for line in source:
            if not self.open and len(rows) >= USER_LINES:
                break
            rows += wrap([(clean(line), ground.base)], room) if line else [Row([])]
            shown += 1
        if not self.open and _is_long(self.text):
            rows = rows[:USER_LINES]
            rows.append(Row([(f"+ {plural(max(len(source) - shown, 1), 'line')} · o open", ground.muted)]))
        return rows

    def _attached(self, room: int, palette: Palette) -> list[Row]:
        ground = palette.on_raised
        rows: list[Row] = []
        for one in self.attachments:
            head: list[Piece] = [
                ("▾ " if self.open else "▸ ", ground.secondary),
                (f"{one_line(one.server, 40)} " if one.server else "", ground.base),
                (one_line(one.uri or one.name or "embedded", 200), ground.strong),
                (f"  {_facts(one)}", ground.muted),
            ]
            rows.append(Row(crop(head, room)))
            if self.open:
                rows += self._content(one, room, ground)
                rows += self._picture(one, room - 2, palette) if palette.draws else []
        return rows

    def _content(self, one: Attachment, room: int, ground: Palette) -> list[Row]:
        if one.path:
            return [Row([("  ", ground.base), *row.pieces]) for row in wrap([(clean(one.path), ground.link)], room - 2)]
        lines, left = TextPage(one.text).first(ATTACHMENT_LINES)
        rows = [
            Row([("  ", ground.base), *row.pieces], row.joint, 2)
            for line in lines
            for row in (wrap([(clean(line), ground.base)], max(room - 2, 1)) if line else [Row([])])
        ]
        if left:
            rows.append(Row([(f"  + {plural(left, 'line')} · c copies all", ground.muted)]))
        return rows

    def _picture(self, one: Attachment, room: int, palette: Palette) -> list[Row]:
        """The first pictures of a message, drawn as those of a result are."""
        drawn = [other.path for other in self.attachments if other.path and other.is_picture][:MOST_DRAWN]
        if one.path not in drawn:
            return []
        artifact = Artifact(name=one.name, mime=one.mime, path=one.path, size=one.size)
        view = self._pictures.setdefault(one.path, PictureView(artifact))
        rows = view.rows(max(room, 1), palette.on_raised, palette.canvas)
        return [Row([("  ", palette.on_raised.base), *row.pieces], row.joint, row.gutter + 2) for row in rows]


def _is_long(text: str) -> bool:
    return text.count("\n") >= USER_LINES or len(text) > 1600


def _facts(one: Attachment) -> str:
    if not one.server:
        return one.costs
    saved = "saved" if one.path else ""
    return " · ".join(
        part for part in (one_line(one.mime, 60), amounts.size(one.size) if one.size else "empty", saved) if part
    )
