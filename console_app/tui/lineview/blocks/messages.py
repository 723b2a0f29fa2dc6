"""Draw messages: yours exactly as typed, a line for all that servers wrote or gave for it, and those of the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.style import Style

from console_app.domain import Artifact, Attachment, ThoughtLabel, amounts, one_line, plural
from console_app.tui.lineview.blocks.block import Block, TextBlock, bar, estimate_text, framed, gutter_of, room_of
from console_app.tui.lineview.blocks.passages import LinesPassage, Passage, passage_of
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.markdown.rows import MarkdownRows
from console_app.tui.lineview.markdown.stream import LONG, MarkdownStream, mend
from console_app.tui.lineview.markdown.units import Mark, TextLook, parser
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.picture import MOST_DRAWN, PictureView
from console_app.tui.lineview.text.joined import Joined
from console_app.tui.lineview.text.text_page import TextPage
from console_app.tui.lineview.wording import spinner

_MARKERS = re.compile(r"[*_`#]+(?=\S)|(?<=\S)[*_`]+")
LABEL = 9  # cells of the column in which the labels of thoughts stand
WIDE = 40  # cells of text beside which there is room for that column
REASONING_TAIL = 600  # characters of running reasoning that its folded line is made from


class MarkdownBlock(Block):
    def __init__(self, text: str, *, final: bool) -> None:
        super().__init__()
        self.markdown = MarkdownStream(text, final=final)

    @property
    def copy_text(self) -> str:
        return self.markdown.text

    @property
    def searched(self) -> Sequence[str]:
        return (self.markdown.text,)

    def append(self, text: str) -> None:
        self.markdown.append(text)
        self._version += 1

    def forget(self) -> None:
        super().forget()
        self.markdown.forget()


class AssistantBlock(MarkdownBlock):
    def __init__(self, text: str = "", *, final: bool = False) -> None:
        super().__init__(text, final=final)
        self.interrupted = False
        self._look: tuple[int, Palette] | None = None  # as last painted

    @property
    def is_stop(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not self.markdown.is_blank

    @property
    def estimates(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.markdown.is_long

    def settle(self, text: str, *, interrupted: bool = False) -> None:
        if text == self.markdown.text:
            self.markdown.finish()
        else:
            self.markdown.replace(text, final=True)
        self.interrupted = interrupted
        self.touch()

    def revise(self, text: str) -> None:
        """Replace the text so far, of which not all was meant to be seen."""
        self.markdown.replace(text)
        self.touch()

    @property
    def unfinished(self) -> bool:
        return self._look is not None and self.markdown.unfinished

    def lay_out(self) -> None:
        if self._look is not None and self.markdown.unfinished:
            self.markdown.lay_out(self.look_in(*self._look))
            self.touch()

    def forget(self) -> None:
        super().forget()
        if self.estimates:
            self._look = None
            self.measured = False  # what was laid out is an estimate again

    @property
    def kept(self) -> int:
        return self.markdown.laid.kept if self.markdown.laid is not None else 0

    def searchable(self) -> Iterable[Passage]:
        laid = self.markdown.laid
        if laid is None or not self.lines:
            return (LinesPassage([]),)
        left = gutter_of(self.lines[0].cell_length)
        return (
            LinesPassage([(self.gap + at, left + column, text, joint) for at, column, text, joint in laid.texts()]),
        )

    def estimate(self, width: int) -> int:
        if self.estimates and self._look is not None and self._look[0] == width:
            return self.gap + self.markdown.height(self.look_in(*self._look).width) + self.interrupted
        return self.gap + estimate_text(self.markdown.text, width)

    def come_into_view(self, first: int, past: int) -> bool:
        laid = self.markdown.laid
        if laid is None or not laid.show(first - self.gap, past - self.gap):
            return False
        self.touch()
        return True

    def mark(self, line: int) -> object:
        laid = self.markdown.laid
        return line if laid is None or line < self.gap else laid.mark(line - self.gap)

    def line_of(self, mark: object) -> int:
        laid = self.markdown.laid
        if isinstance(mark, Mark):
            return 0 if laid is None else laid.line_of(mark) + self.gap
        return super().line_of(mark)

    def look_in(self, width: int, palette: Palette) -> TextLook:
        room = room_of(width)
        edge, style = ("█", palette.primary) if self.selected else ("▎", palette.secondary)
        left = bar(width, edge, style, palette.base)
        key = (width, palette, self.selected)
        return TextLook(room, palette, lambda row: framed(row, width, palette, left), key)

    def paint(self, width: int, palette: Palette, now: float) -> Sequence[Line]:
        self._look = (width, palette)
        look = self.look_in(width, palette)
        lines = self.markdown.lines(look)
        if self.interrupted:
            return Joined([lines, [look.frame(Row([("■ cut off here", palette.warning)]))]])
        return lines


class ReasoningBlock(MarkdownBlock):
    """Shows the model's reasoning before its answer: one line while folded, all of it when opened."""

    opens = True
    is_stop = True

    def __init__(self, text: str = "", *, started_at: float | None = None) -> None:
        super().__init__(text, final=started_at is None)
        self.started_at = started_at
        self.ended_at: float | None = None

    @property
    def live(self) -> bool:
        return self.started_at is not None and self.ended_at is None

    def searchable(self) -> Iterable[Passage]:
        return (passage_of(self.lines, self.gap + 1),)  # behind its head

    def end(self, at: float) -> None:
        if self.live:
            self.ended_at = at
            self.markdown.finish()
            self.touch()

    def estimate(self, width: int) -> int:
        return self.gap + (estimate_text(self.markdown.text, width) + 1 if self.open else 1)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        room = room_of(width)
        ink = palette.on_chosen if self.selected else palette
        left = bar(width, "▎" if self.open else " ", palette.faint, palette.base)
        head = self._head(ink, now)
        if not self.open:
            head += [("  ", ink.base), (self._newest(room), ink.muted + Style(italic=True))]
        row = Row(Line.trim(head, room), fill=ink.base if self.selected else None)
        lines = [framed(row, width, palette, left)]
        if self.open:
            quiet = palette.quiet
            look = TextLook(room, quiet, lambda row: framed(row, width, palette, left), (width, palette, "reasoning"))
            lines += self.markdown.all_lines(look)
        return lines

    def _head(self, ink: Palette, now: float) -> list[Piece]:
        if self.live:
            spent = amounts.seconds(now - (self.started_at or now))
            return [(spinner(ink.turning(now)), ink.secondary), (f" thinking {spent}", ink.muted)]
        fold = "▾" if self.open else "▸"
        if self.started_at is not None and self.ended_at is not None:
            return [
                (fold, ink.secondary),
                (f" thought for {amounts.seconds(self.ended_at - self.started_at)}", ink.muted),
            ]
        return [(fold, ink.secondary), (" thought", ink.muted)]

    def _newest(self, room: int) -> str:
        text = self.markdown.text
        if self.live:
            lines = [line for line in text[-REASONING_TAIL:].split("\n") if line.strip()]
            text = lines[-1] if lines else ""
        return one_line(_MARKERS.sub("", text[: room * 4]), room)


class ThoughtBlock(TextBlock):
    """A thought, plan or observation that a strategy has the model say to itself, with its label. It may still grow."""

    def __init__(self, label: ThoughtLabel, text: str) -> None:
        super().__init__(text)
        self.label: ThoughtLabel = label
        self._growing = False

    def tell(self, label: ThoughtLabel, text: str, *, growing: bool = False) -> None:
        """Take the label and the text that it has by now. While `growing`, more of the text may come."""
        self.label, self.text, self._growing = label, text, growing
        self.touch()

    def estimate(self, width: int) -> int:
        return self.gap + estimate_text(self.text, width - LABEL)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        left = bar(width, "┊", palette.faint, palette.base)
        room = room_of(width)
        name: Piece = (f"{self.label:<{LABEL}}", palette.secondary + Style(bold=True))
        if room < WIDE:
            return [framed(row, width, palette, left) for row in [Row([name]), *self._rows(room, palette)]]
        pad: Piece = (" " * LABEL, palette.base)
        rows = self._rows(room - LABEL, palette) or [Row([])]
        return [framed(row, width, palette, [*left, pad if n else name]) for n, row in enumerate(rows)]

    def _rows(self, room: int, palette: Palette) -> list[Row]:
        """The text as Markdown; as it is written where it is too long for a thought, or nothing but marks."""
        if len(self.text) <= LONG:
            text = mend(self.text) if self._growing else self.text
            rows = MarkdownRows(room, palette.quiet).render(parser().parse(text))
            if self._growing or any(piece.strip() for row in rows for piece, _ in row.pieces):
                return rows
        return [row for line in self.text.split("\n") for row in Line.wrap([(Line.clean(line), palette.muted)], room)]


USER_LINES = 12  # of the words while folded
ATTACHMENT_LINES = 40  # of an attachment's text while open
WHILE_IT_RAN = "while it ran: "


class UserBlock(Block):
    """A message of the user. Long ones are folded; attachments open with it. `source` is the command that had a server
    write it."""

    is_stop = True

    def __init__(self, text: str, *, steered: bool = False) -> None:
        super().__init__()
        self.text = text
        self.steered = steered
        self.receipt = ""  # of words to an agent: when it read them
        self.source = ""
        self.attachments: tuple[Attachment, ...] = ()
        self.opens = _is_long(text)
        self._pictures: dict[str, PictureView] = {}  # by path, as far as they are shown

    def carry(self, text: str, attachments: tuple[Attachment, ...], source: str) -> None:
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
    def searched_folded(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 0 if _is_long(self.text) else 1

    @property
    def files(self) -> Sequence[Artifact]:  # pyright: ignore[reportIncompatibleVariableOverride]
        saved = [one for one in self.attachments if one.path]
        return [Artifact(name=one.name, mime=one.mime, path=one.path, size=one.size) for one in saved]

    def estimate(self, width: int) -> int:
        lines = estimate_text(self.text, width) + len(self.attachments) + bool(self.source) + bool(self.receipt)
        return self.gap + (min(lines, USER_LINES + 1) if self.opens and not self.open else lines)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        ground = palette.on_raised
        room = max(room_of(width) - 1, 1)
        rows = [*self._words(room, ground), *self._attached(room, palette)]
        if self.source:
            name, _, rest = one_line(self.source, 400).partition(" ")
            pieces = [(name, ground.accent), (f" {rest}" if rest else "", ground.muted)]
            rows.insert(0, Row(Line.trim([*pieces, ("  written by the server", ground.muted)], room)))
        if self.steered and rows:
            first = [(WHILE_IT_RAN, ground.muted), *rows[0].pieces]
            rows[0] = Row(first, rows[0].joint, rows[0].gutter + len(WHILE_IT_RAN))
        if self.receipt:
            rows.append(Row([(self.receipt, ground.muted)]))
        edge, style = ("█", ground.secondary) if self.selected else ("▌", ground.primary)
        left = bar(width, edge, style, ground.base)
        for row in rows:
            row.fill = ground.base
        return [framed(row, width, palette, left) for row in rows]

    def _words(self, room: int, ground: Palette) -> list[Row]:
        if not self.text and (self.source or self.attachments):
            return []
        source = self.text.expandtabs(4).split("\n")
        rows: list[Row] = []
        shown = 0
        for line in source:
            if not self.open and len(rows) >= USER_LINES:
                break
            rows += Line.wrap([(Line.clean(line), ground.base)], room) if line else [Row([])]
            shown += 1
        if not self.open and _is_long(self.text):
            rows = rows[:USER_LINES]
            rows.append(Row([(f"+ {plural(max(len(source) - shown, 1), 'line')} · o open", ground.muted)]))
        return rows

    def _attached(self, room: int, palette: Palette) -> list[Row]:
        ground = palette.on_raised
        rows: list[Row] = []
        for one in self.attachments:
            facts = f"{one.facts}{' · saved' if one.path else ''}" if one.server else one.costs
            head: list[Piece] = [
                ("▾ " if self.open else "▸ ", ground.secondary),
                (f"{one_line(one.server, 40)} " if one.server else "", ground.base),
                (one_line(one.uri or one.name or "embedded", 200), ground.strong),
                (f"  {facts}", ground.muted),
            ]
            rows.append(Row(Line.trim(head, room)))
            if self.open:
                rows += self._content(one, room, ground)
                rows += self._picture(one, room - 2, palette) if palette.draws else []
        return rows

    def _content(self, one: Attachment, room: int, ground: Palette) -> list[Row]:
        if one.path:
            return [
                Row([("  ", ground.base), *row.pieces])
                for row in Line.wrap([(Line.clean(one.path), ground.link)], room - 2)
            ]
        lines, left = TextPage(one.text).first(ATTACHMENT_LINES)
        rows = [
            Row([("  ", ground.base), *row.pieces], row.joint, 2)
            for line in lines
            for row in (Line.wrap([(Line.clean(line), ground.base)], max(room - 2, 1)) if line else [Row([])])
        ]
        if left:
            rows.append(Row([(f"  + {plural(left, 'line')} · c copies all", ground.muted)]))
        return rows

    def _picture(self, one: Attachment, room: int, palette: Palette) -> list[Row]:
        drawn = [other.path for other in self.attachments if other.path and other.is_picture][:MOST_DRAWN]
        if one.path not in drawn:
            return []
        artifact = Artifact(name=one.name, mime=one.mime, path=one.path, size=one.size)
        view = self._pictures.setdefault(one.path, PictureView(artifact))
        rows = view.rows(max(room, 1), palette.on_raised, palette.canvas)
        return [Row([("  ", palette.on_raised.base), *row.pieces], row.joint, row.gutter + 2) for row in rows]


def _is_long(text: str) -> bool:
    return text.count("\n") >= USER_LINES or len(text) > 1600
