"""Draw the panel of one call, from the moment its name is known to its result: framed, or one line, or open.

It paints a `CallView` of the transcript. A framed panel keeps its three lines from beginning to end, so that nothing
jumps, and folds to one when another turn has begun. A finished panel is the call's tool message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.style import Style

from console_app.domain import Artifact, CallState, call_description
from console_app.domain.transcript import CallView, results
from console_app.tui.lineview.blocks.block import Block, framed, gutter_of, margin_of
from console_app.tui.lineview.blocks.passages import LinesPassage, Passage, passages_in
from console_app.tui.lineview.calls.detail import CallDetail
from console_app.tui.lineview.calls.group import FRAMED_HEIGHT, CallGroup, Panel, brief_of
from console_app.tui.lineview.calls.news import news
from console_app.tui.lineview.calls.panel_frame import MOST_FRAMED, FramedRows, PanelFrame
from console_app.tui.lineview.calls.row import TIME_WIDTH, badge_pieces, label_pieces, lane, row, state_style, took
from console_app.tui.lineview.lines import Line, Piece, Row, clean, pieces_width
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.text.joined import Joined
from console_app.tui.lineview.wording import state_of

MIN_FRAMED = 24  # cells below which a frame would leave no room
LANE_SHARE = 0.24  # of the width
MAX_LANE = 30


class CallBlock(Panel):
    """One call of an answer."""

    opens = True

    def __init__(self, call: CallView, group: CallGroup) -> None:
        super().__init__(call)
        self.group = group
        self.detail = CallDetail(call)
        self._inside: FramedRows | None = None  # the detail, as last painted

    @property
    def live(self) -> bool:
        return (self.group.is_open and not self.folded) or (self.open and self.detail.awaits_a_picture)

    @property
    def folded(self) -> bool:
        """Tell whether it is only counted. A call that you selected or opened is not."""
        fold = self.group.fold
        return fold is not None and fold.hides(self.call) and not (self.selected or self.open)

    @property
    def is_stop(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not self.folded

    @property
    def beside(self) -> Sequence[Block]:
        return () if self.group.fold is None else (self.group.fold,)

    def allows(self, action: str) -> bool:
        """Tell whether a key of the panel would do something now."""
        if action == "retry_all":
            group = self.group
            return group.newest and not (group.settled or group.is_open) and any(c.was_cut_off for c in group.calls)
        return not call_description.refusal(self.call, call_description.Act(action), siblings_run=self.group.is_open)

    @property
    def allowed(self) -> frozenset[str]:
        """The keys that do something now."""
        return frozenset(action for action in (*call_description.Act, "retry_all") if self.allows(action))

    @property
    def gap(self) -> int:
        return 0 if self.group.has_header else 1

    @property
    def copy_text(self) -> str:
        return (
            results.without_remarks(self.call.content, self.call.outcome)
            if self.finished
            else self.call.arguments_text or brief_of(self.call, 400)
        )

    @property
    def searched(self) -> Sequence[str]:
        return (clean(self.call.label), *self.detail.texts())

    @property
    def searched_folded(self) -> int:
        return 1

    @property
    def kept(self) -> int:
        return min(len(self.lines), MOST_FRAMED)

    def searchable(self) -> Iterable[Passage]:
        if not self.open or self._inside is None or len(self.lines) < FRAMED_HEIGHT:
            return super().searchable()
        title, name = self.lines[self.gap], clean(self.call.label)
        at = title.text.find(name, title.start, title.end)
        label = LinesPassage([(self.gap, at, name, "")] if at >= 0 else [])
        return [label, *passages_in(self._inside.rows, self._inside, self.gap + 2)]

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
    def files(self) -> Sequence[Artifact]:
        return self.call.artifacts

    def look(self) -> tuple[object, ...]:
        group = self.group
        return group.compact, group.has_header, group.version, self.folded, self.detail.pictures

    def set_room(self, height: int, most: int) -> bool:
        return self.group.room_changed(height, most)

    def toggle(self) -> None:
        super().toggle()
        self.detail.put_pictures_away()

    def forget(self) -> None:
        super().forget()
        self._inside = None
        self.detail.forget()

    def estimate(self, width: int) -> int:
        if self.folded:
            return 0
        if self.open:
            return len(self.lines) or self.gap + FRAMED_HEIGHT + 12
        return self.gap + (1 if self.group.compact or width < MIN_FRAMED else FRAMED_HEIGHT)

    def paint(self, width: int, palette: Palette, now: float) -> Sequence[Line]:
        if self.folded:
            return []
        if width < MIN_FRAMED or (self.group.compact and not self.open):
            return self._compact(width, palette, now)
        left = gutter_of(width)
        waiting = self.call.waits_for_you
        frame = PanelFrame(width, left, margin_of(width), palette, self._edge(palette), heavy=waiting)
        head = [
            frame.top(self._title(palette, now, frame.inner), self._number(max(left - 2, 0))),
            frame.row(self._middle(frame.inner, palette, now)),
        ]
        foot = [frame.bottom(self._hints(palette) if self.selected else ())]
        if not self.open:
            return head + foot
        self._inside = FramedRows(frame, palette, self.detail.rows(frame.inner, palette), self._inside)
        return Joined([head, self._inside, foot])

    def _edge(self, palette: Palette) -> Style:
        if self.selected and not self.call.waits_for_you:
            return palette.primary
        verdict = self.call.verdict
        if verdict is not None and not verdict.needs_an_eye:
            return palette.faint
        if self.call.state in (CallState.QUEUED, CallState.ANNOUNCED):
            return palette.faint
        return state_style(self.call, palette)

    def _title(self, palette: Palette, now: float, room: int) -> list[Piece]:
        call = self.call
        glyph, word = state_of(call, palette.turning(now))
        style = state_style(call, palette)
        title: list[Piece] = [(f"{glyph} {word}", style + Style(bold=True)), ("  ", palette.base)]
        title += [*label_pieces(call, palette), *badge_pieces(call, palette)]
        left = room - 4 - pieces_width(title)
        if left > 6 and (brief := self.group.brief(call, left - 2)):
            title += [("  ", palette.base), (brief, palette.muted)]
        return title

    def _middle(self, room: int, palette: Palette, now: float) -> Row:
        """Lane, time and news. The lane is a drawing: it is not copied. A call that ended and never ran has neither."""
        pieces: list[Piece] = []
        size = 0 if self.finished and self.call.started_at is None else lane_width(room)
        if size:
            pieces += [*lane(self.call, size, self.group.scale(now), now, palette), (" ", palette.base)]
        time = took(self.call, now)
        if time or size:
            pieces.append((f"{time:>{TIME_WIDTH}}" if size else time, palette.base))
            pieces.append(("   " if size else "  ", palette.base))
        gutter = size + TIME_WIDTH + 1 - len(time) if size else 0
        pieces += news(self.call, max(room - pieces_width(pieces), 0), palette, now, self.detail, opened=self.open)
        return Row(pieces, gutter=gutter)

    def _compact(self, width: int, palette: Palette, now: float) -> list[Line]:
        ink = palette.on_chosen if self.selected else palette
        gutter = gutter_of(width)
        room = max(width - gutter - margin_of(width), 1)
        pieces = row(self.call, self.group, room, ink, now, self.detail)
        mark = "▌" if self.selected else " "
        lead: list[Piece] = (
            [(self._number(gutter - 2), palette.muted), (mark, palette.primary), (" ", palette.base)]
            if gutter >= 2
            else []
        )
        return [framed(Row(pieces, fill=ink.base if self.selected else None), width, palette, lead)]

    def _number(self, cells: int) -> str:
        """The number that a key reaches it by, where there is room for it."""
        number = self.group.number_of(self) if cells else 0
        return f"{number or '':<{cells}}"

    def _hints(self, palette: Palette) -> list[Piece]:
        keys = [("x", "cancel")] if self.allows("cancel") else []
        keys += [("r", "retry")] if self.allows("retry") else []
        keys += [("R", "retry all cut off")] if self.allows("retry_all") and self.group.has_header else []
        keys += [("e", "edit")] if self.allows("edit") else []
        keys += [("+", "more time")] if self.allows("extend") else []
        keys += [("s", "send partial results")] if self.allows("send") and self.group.has_header else []
        keys += [("o", "close" if self.open else "open")]
        shown = self.detail.keys if self.open else ()
        keys += [("m", "more")] if "more" in shown else []
        keys += [("←→", "fold")] if "fold" in shown else []
        keys += [("v", word) for word in ("raw", "rendered") if word in shown]
        keys += [("f", "files")] if self.files else []
        keys += [("c", "copy"), ("i", "inspect")]
        pieces: list[Piece] = []
        for key, word in keys:
            pieces += [(key, palette.strong), (f" {word}  ", palette.muted)]
        pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
        return pieces


def lane_width(room: int) -> int:
    """Return the cells that a lane takes of `room`; 0 where there is no room for one."""
    return min(int(room * LANE_SHARE), MAX_LANE) if room >= 40 else 0
