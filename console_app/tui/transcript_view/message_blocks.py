"""What the model said: its answer as streamed Markdown, and its reasoning, folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from rich.style import Style

from console_app.domain.safe_text import one_line
from console_app.tui.transcript_view.block import Block, estimate_text, framed, gutter_of, margin_of
from console_app.tui.transcript_view.markdown_stream import MarkdownStream
from console_app.tui.transcript_view.passages import Passage, passage_of
from console_app.tui.transcript_view.wording import seconds, spinner
from console_app.tui.widgets.lines import Line, Piece, Row, crop
from console_app.tui.widgets.palette import Palette

_MARKERS = re.compile(r"[*_`#]+(?=\S)|(?<=\S)[*_`]+")
REASONING_TAIL = 600  # characters of running reasoning that its folded line is made from


def bar(width: int, mark: str, style: Style, base: Style) -> list[Piece]:
    """The gutter of a message: the edge, a bar, a space."""
    gutter = gutter_of(width)
    if gutter == 0:
        return []
    if gutter == 2:
        return [(mark, style), (" ", base)]
    return [(" ", base), (mark, style), (" ", base)]


class AssistantBlock(Block):
    """The model's answer: Markdown that streams in."""

    def __init__(self, text: str = "", *, final: bool = False) -> None:
        super().__init__()
        self.markdown = MarkdownStream(text, final=final)
        self.interrupted = False
        self._look: tuple[int, Palette] | None = None  # as last painted

    @property
    def is_stop(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return not self.markdown.is_blank

    @property
    def copy_text(self) -> str:
        return self.markdown.text

    @property
    def searched(self) -> Sequence[str]:
        return (self.markdown.text,)

    def append(self, text: str) -> None:
        """More of the answer."""
        self.markdown.append(text)
        self._version += 1

    def settle(self, text: str, *, interrupted: bool = False) -> None:
        """The answer is complete, and this is all of it."""
        if text == self.markdown.text:
            self.markdown.finish()
        else:
            self.markdown.replace(text, final=True)
        self.interrupted = interrupted
        self.touch()

    def revise(self, text: str) -> None:
        """Not all of the text so far was meant to be seen."""
        self.markdown.replace(text)
        self.touch()

    @property
    def unfinished(self) -> bool:
        return self.markdown.unfinished

    def lay_out(self) -> None:
        if self._look is not None and self.unfinished:
            self.markdown.lay_out(*self._laid_for(*self._look))
            self.touch()

    def forget(self) -> None:
        super().forget()
        self.markdown.forget()

    def estimate(self, width: int) -> int:
        return self.gap + estimate_text(self.markdown.text, width)

    def _laid_for(self, width: int, palette: Palette) -> tuple[int, Palette, Callable[[Row], Line], object]:
        room = max(width - gutter_of(width) - margin_of(width), 1)
        edge, style = ("█", palette.primary) if self.selected else ("▎", palette.secondary)
        left = bar(width, edge, style, palette.base)
        return room, palette, lambda row: framed(row, width, palette, left), (width, palette, self.selected)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        self._look = (width, palette)
        room, _, frame, key = self._laid_for(width, palette)
        lines = self.markdown.lines(room, palette, frame, key, sliced=True)
        if self.interrupted and not self.unfinished:
            row = Row([("■ cut off here", palette.warning)])
            lines = [*lines, frame(row)]
        return lines


class ReasoningBlock(Block):
    """What the model thought before it answered: one line while folded, all of it when opened."""

    opens = True
    is_stop = True

    def __init__(self, text: str = "", *, started_at: float | None = None) -> None:
        super().__init__()
        self.markdown = MarkdownStream(text, final=started_at is None)
        self.started_at = started_at
        self.ended_at: float | None = None

    @property
    def live(self) -> bool:
        return self.started_at is not None and self.ended_at is None

    @property
    def copy_text(self) -> str:
        return self.markdown.text

    @property
    def searched(self) -> Sequence[str]:
        return (self.markdown.text,)

    def searchable(self) -> Iterable[Passage]:
        return (passage_of(self.lines, self.gap + 1),)  # behind its head

    def append(self, text: str) -> None:
        """More reasoning."""
        self.markdown.append(text)
        self._version += 1

    def end(self, at: float) -> None:
        """The model has begun to answer."""
        if self.live:
            self.ended_at = at
            self.markdown.finish()
            self.touch()

    def forget(self) -> None:
        super().forget()
        self.markdown.forget()

    def estimate(self, width: int) -> int:
        return self.gap + (estimate_text(self.markdown.text, width) + 1 if self.open else 1)

    def paint(self, width: int, palette: Palette, now: float) -> list[Line]:
        room = max(width - gutter_of(width) - margin_of(width), 1)
        ink = palette.on_chosen if self.selected else palette
        left = bar(width, "▎" if self.open else " ", palette.faint, palette.base)
        head = self._head(ink, now)
        if not self.open:
            head += [("  ", ink.base), (self._newest(room), ink.muted + Style(italic=True))]
        row = Row(crop(head, room), fill=ink.base if self.selected else None)
        lines = [framed(row, width, palette, left)]
        if self.open:
            quiet = palette.quiet
            lines += self.markdown.lines(
                room, quiet, lambda row: framed(row, width, palette, left), (width, palette, "reasoning")
            )
        return lines

    def _head(self, ink: Palette, now: float) -> list[Piece]:
        if self.live:
            spent = seconds(now - (self.started_at or now))
            return [(spinner(ink.turning(now)), ink.secondary), (f" thinking {spent}", ink.muted)]
        fold = "▾" if self.open else "▸"
        if self.started_at is not None and self.ended_at is not None:
            return [(fold, ink.secondary), (f" thought for {seconds(self.ended_at - self.started_at)}", ink.muted)]
        return [(fold, ink.secondary), (" thought", ink.muted)]

    def _newest(self, room: int) -> str:
        text = self.markdown.text
        if self.live:
            lines = [line for line in text[-REASONING_TAIL:].split("\n") if line.strip()]
            text = lines[-1] if lines else ""
        return one_line(_MARKERS.sub("", text[: room * 4]), room)
