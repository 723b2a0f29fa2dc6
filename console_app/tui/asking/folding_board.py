"""A board above the prompt, which is a line while you read in the conversation and both don't have room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events, getters, on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.visual import VisualType

from console_app.console import Services
from console_app.domain import one_line
from console_app.tui.asking.key_lines import KeyLines, key_lines
from console_app.tui.asking.settled_keys import ALONE, Moved, SettledKeys
from console_app.tui.textual_internals import typed_app
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.too_small import TooSmall

SHARE = 0.6  # of the screen's height that a board may take
LEAST = 10  # lines that it may in any case, where nothing else needs them
LOWEST = 4  # lines, below which nothing can be read and so nothing decided


class FoldingBoard(Vertical, can_focus=True):
    """Shows something that waits for you; folded, a line with what that is and the key that leads to it."""

    DEFAULT_CSS = """
    FoldingBoard { height: auto; margin: 0 1; padding: 0 1; display: none; border-subtitle-color: $muted; }
    FoldingBoard.-asking { display: block; }
    FoldingBoard.-folded { height: 3; }
    FoldingBoard.-folded > * { visibility: hidden; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("alt+up", "screen.go('panel', -1)", "read calls", tooltip="to the calls, to read them", id="board.read")
    ]

    class Left(Message):
        """Escape: all goes on waiting, and the focus should go back to the prompt."""

    app = getters.app(typed_app)
    to_do: ClassVar[str] = "answer"
    """Names what you do on the board."""
    accent: ClassVar[str] = "$accent"
    """The colour of its keys."""

    keys: SettledKeys[Any]
    folded = var(False, toggle_class="-folded")

    def __init__(self, services: Services, spare: Callable[[], int]) -> None:
        super().__init__()
        self._timing = services.timing
        self._replayed = services.replay is not None  # what was decided then comes by itself
        self._spare = spare  # lines that it may take at most

    def on_paste(self, event: events.Paste) -> None:
        if self.has_focus:
            event.stop()
            self.begin_anew()

    def begin_anew(self) -> None:
        """Something else than a decision was typed: half a second passes before a key counts."""
        self.keys.changed()

    def room_beside(self, taken: int) -> int:
        """Lines that are left beside those taken: of a share of the screen, or of what the rest of it can spare."""
        return min(max(int(self.screen.size.height * SHARE), LEAST), self._spare()) - taken

    def name_keys(self, below: KeyLines, pairs: Sequence[tuple[str, str]], *, counts: bool) -> int:
        """Show the keys; those that don't count yet are drawn again once they do. Return how many lines they take."""
        width = max(self.content_size.width, 20)
        below.name_keys(lines := key_lines(pairs, width, accent=self.accent, counts=counts, clicks=self.has_focus))
        if not self.keys.settled:
            self._timing.later(self, KeyHints.SETTLE + 0.02, self.paint_keys)
        return len(lines)

    def paint_keys(self) -> int:
        """Show what can be pressed now."""
        raise NotImplementedError

    def when_meant(self, act: Callable[[], None]) -> None:
        """Act unless another key comes right behind; keys that are still on their way go first."""
        self._timing.later(self, ALONE, lambda: self.app.call_later(self.call_later, act))

    @property
    def is_asking(self) -> bool:
        """Tell whether something waits for you."""
        raise NotImplementedError

    @property
    def on_screen(self) -> bool:
        return self.is_asking and self.region.height >= LOWEST and self.screen.is_current

    def in_brief(self, width: int, framed: bool) -> Content:
        """Sum up what waits in a line of so many cells. Where it is `framed`, the title stands above."""
        title = Content() if framed else Content.styled(f"{self.border_title}  ", self.accent)
        return title + Content.styled(one_line(self.asked, width), "bold $foreground")

    @property
    def asked(self) -> str:
        """The words of a question."""
        raise NotImplementedError

    @on(Moved)
    def _moved(self) -> None:
        self.call_after_refresh(self.say_place)

    def say_place(self) -> None:
        """Tell in the frame how much of what waits is shown."""
        raise NotImplementedError

    def watch_folded(self) -> None:
        if self.is_attached:
            self.say_place()

    def render(self) -> VisualType:
        if not self.folded:
            return super().render()
        width = self.content_size.width
        return self.in_brief(width, self.screen.size.height >= TooSmall.ROOMY).truncate(width, ellipsis=True, pad=True)
