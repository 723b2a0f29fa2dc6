"""The row that says that a summary stands for older turns, for the model and from here on; it opens to show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console_app.domain.events import HistoryCompacted
from console_app.tui.lineview.lines import Line
from console_app.tui.lineview.notice_blocks import NoticeBlock
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.passages import Passage, passage_of
from console_app.tui.lineview.wording import plural


class CompactionBlock(NoticeBlock):
    """One compaction, or that the last one was taken back."""

    is_stop = True

    def __init__(self, event: HistoryCompacted) -> None:
        super().__init__("info", "")
        self.event = event
        self.opens = bool(event.covers)

    @property
    def copy_text(self) -> str:
        return self.event.summary or self.text

    @property
    def searched(self) -> Sequence[str]:
        return (self.event.summary,)

    def searchable(self) -> Iterable[Passage]:
        first = next((n for n, line in enumerate(self.lines[1:], 1) if n > 1 and not line.content), 0)
        return (passage_of(self.lines, first),)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        event = self.event
        if not event.covers:
            self.text = "Compaction taken back: the model reads the whole conversation again."
        else:
            why = ", as its context was nearly full" if event.automatic else ""
            if event.refused:
                why = ", as the request was too large for the model"
            self.text = (
                f"Compacted{why}: the model reads a summary in place of the {plural(event.covers, 'message')} before. "
                "All of it stays here and in the session; /compact undo takes it back."
            )
            self.text += f"\n\n{event.summary}" if self.open else " o open"
        return super().paint(width, palette, now)
