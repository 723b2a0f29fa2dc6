"""Rows in which Fanout itself speaks: notices, retries, what is waited for, compactions, and how a turn ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.style import Style

from console_app.domain import Level, amounts, one_line, plural
from console_app.domain import events as ev
from console_app.tui.lineview.blocks.block import Block, TextBlock, bar, estimate_text, framed, room_of
from console_app.tui.lineview.blocks.passages import Passage, passage_of
from console_app.tui.lineview.lines import Line, Piece
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.wording import number

Waits = Callable[[float], str]
"""Say in words what is waited for at a time; "" for nothing."""

UNANSWERED = "No answer: /retry sends it again, else it goes along with your next message."
_LEVELS = {"debug": "·", "info": "·", "notice": "·", "warning": "!"}
_ENDS = {  # glyph, word, ink
    "completed": ("✓", "done", "muted"),
    "cancelled": ("■", "stopped", "muted"),
    "failed": ("✗", "failed", "error"),
    "step_limit": ("!", "step limit reached", "warning"),
}


class NoticeBlock(TextBlock):
    def __init__(self, level: Level, text: str) -> None:
        super().__init__(text)
        self.level = level

    @property
    def gap(self) -> int:
        return 1 if self.text else 0

    def estimate(self, width: int) -> int:
        return self.gap + estimate_text(self.text, width) if self.text else 0

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        if not self.text:
            return []
        glyph = _LEVELS.get(self.level, "✗")
        style = {"!": palette.warning, "✗": palette.error}.get(glyph, palette.muted)
        return _marked(glyph, [[(Line.clean(line), style)] for line in self.text.split("\n")], width, palette, style)


class CompactionBlock(NoticeBlock):
    is_stop = True

    def __init__(self, event: ev.HistoryCompacted) -> None:
        super().__init__("info", "Compacted")
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


class RetryBlock(NoticeBlock):
    """Says why a request is tried again, and which try that is; the activity line counts down until then."""

    def __init__(self, event: ev.RetryScheduled) -> None:
        super().__init__("warning", "")
        self.again(event)

    def again(self, event: ev.RetryScheduled) -> None:
        self._attempt = f"attempt {event.attempt}" + (f" of {event.most}" if event.most else "")
        self._why = event.why.rstrip(".")
        self.text = f"{self._why}. Retrying: {self._attempt}"
        self.touch()

    def over(self, *, told: bool) -> None:
        """Stop: the answer came, or the turn ended. `told`: its error says why, and after how many tries."""
        self.text = "" if told else f"{self._why}. Retried: {self._attempt}"
        self.touch()


class SentBlock(NoticeBlock):
    """Says under a message whose turn has not begun what it waits for. Nothing to say takes no line."""

    def __init__(self, waits: Waits) -> None:
        super().__init__("info", "")
        self._waits = waits

    @property
    def live(self) -> bool:
        return True

    @property
    def gap(self) -> int:
        return 0

    def estimate(self, width: int) -> int:
        return 1  # or a view that is full would never look whether there is something to say by now

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        self.text = self._waits(now)
        return super().paint(width, palette, now)


class TurnEndBlock(Block):
    """Closes a turn in a line: how it ended, how long it took, how much it used."""

    took = 0.0
    tokens = 0
    cost: float | None = None
    without_success = 0  # calls: the lines above say which
    hint = ""  # how to go on
    is_last = True  # no turn has begun since

    def __init__(self, outcome: ev.TurnOutcome, *, error: str | None = None) -> None:
        super().__init__()
        self.outcome = outcome
        self.error = error

    @property
    def searched(self) -> Sequence[str]:
        return (one_line(self.error or ""),)

    def searchable(self) -> Iterable[Passage]:
        return (passage_of(self.lines, self.gap + (not self._says_how)),)

    @property
    def _says_how(self) -> bool:
        """The turn ended as `error` says, as a fork's "copied here" does: it was not stopped."""
        return self.outcome == "cancelled" and bool(self.error)

    def estimate(self, width: int) -> int:
        return self.gap + estimate_text(self.error or "", width)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        glyph, word, ink = _ENDS[self.outcome]
        if over := self.outcome == "completed" and self.without_success:
            glyph, word = "·", f"{plural(over, 'call')} did not succeed"
        style: Style = getattr(palette, ink)
        if self._says_how:
            word = one_line(self.error or "")
        facts = [amounts.seconds(self.took)]
        if self.tokens:
            facts.append(f"{number(self.tokens)} tokens")
        if self.cost:
            facts.append(f"${self.cost:.4f}" if self.cost < 0.01 else f"${self.cost:.2f}")
        text: list[list[Piece]] = [[(word, style), (" · " + " · ".join(facts), palette.muted)]]
        if self.error and not self._says_how:
            text.append([(one_line(self.error), palette.error if self.outcome == "failed" else palette.muted)])
        if self.hint and self.is_last:
            text.append([(self.hint, palette.muted)])
        mark = palette.success if self.outcome == "completed" and not over else style
        return _marked(glyph, text, width, palette, mark)


def _marked(glyph: str, lines: list[list[Piece]], width: int, palette: Palette, style: Style) -> list[Line]:
    rows = [row for line in lines for row in Line.wrap(line, room_of(width))]
    return [
        framed(row, width, palette, bar(width, " " if n else glyph, style, palette.base)) for n, row in enumerate(rows)
    ]
