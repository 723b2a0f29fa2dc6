"""Show above the prompt what runs, and what it took so far."""

from __future__ import annotations

from collections.abc import Callable

from textual import getters
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from console_app.console import Doing
from console_app.domain import CallState, amounts, call_description, one_line
from console_app.domain.transcript import CallView, Transcript
from console_app.records import dataclass
from console_app.tui.lineview import spinner
from console_app.tui.textual_internals import typed_app

LATE = "taking longer than expected"


class ActivityLine(Widget):
    """Paints what `at` gives, while something runs. It has no clock: that of the conversation calls `look`."""

    DEFAULT_CSS = """
    ActivityLine {
        height: auto; max-height: 1;  /* beside a fixed height, a container has the prompt below as high as its text */
        padding: 0 2; color: $foreground; text-wrap: nowrap; display: none;
    }
    ActivityLine.-busy { display: block; }
    """

    app = getters.app(typed_app)

    def __init__(self, at: Callable[[float], Doing | None]) -> None:
        super().__init__()
        self._at = at
        self._doing: Doing | None = None
        self._glyph = ""
        self._second = -1  # at which it was made anew

    def look(self, now: float) -> bool:
        """Show what runs at `now`, and tell whether that changes with time alone."""
        doing = self._at(now)
        still = self.app.animation_level == "none"
        if still and int(now) == self._second and _kind(doing) == _kind(self._doing):
            return doing is not None and doing.moves
        self._second = int(now)
        glyph = "" if doing is None else spinner(None if still else now) if doing.moves else "?"
        if (doing, glyph) != (self._doing, self._glyph):
            if (doing is None) is not (self._doing is None):
                self.set_class(doing is not None, "-busy")
            self._doing, self._glyph = doing, glyph
            self.refresh()
        return doing is not None and doing.moves

    def render(self) -> Content:
        """Fit the parts into the line by importance: what runs, that it is late, then tokens, then the price."""
        doing, width = self._doing, self.content_size.width
        if doing is None:
            return Content("")
        mark = "$secondary" if doing.moves else "$warning"
        line = Content.styled(f"{self._glyph} ", mark) + Content.styled(
            doing.what, "$foreground" if doing.moves else mark
        )
        line = line.truncate(width, ellipsis=True)
        parts: list[Content] = []
        if doing.late:
            parts.append(Content.styled(f" · {LATE}", "$warning"))
        if doing.tokens:
            parts.append(Content.styled(f"   {amounts.tokens(doing.tokens)} tokens", "$muted"))
            if doing.cost:
                cost = f"{doing.cost:.3f}" if doing.cost < 1 else f"{doing.cost:.2f}"
                parts.append(Content.styled(f" · ${cost}", "$muted"))
        for part in parts:
            if line.cell_length + part.cell_length > width:
                break
            line += part
        return line


def _kind(doing: Doing | None) -> str:
    return "" if doing is None else f"{doing.moves}{doing.what.split(' ')[0]}"


LONGEST_NAME = 24


class BackgroundLine(Widget, can_focus=True):
    """Paints the calls of `transcript` that run in the background, if any. The conversation's clock calls `look`."""

    DEFAULT_CSS = """
    BackgroundLine { height: auto; max-height: 1; padding: 0 2; color: $muted; text-wrap: nowrap; display: none; }
    BackgroundLine.-running { display: block; }
    """
    BINDINGS = [  # noqa: RUF012 (Textual's own way)
        Binding("left", "choose(-1)", "previous", id="background.previous", show=False),
        Binding("right", "choose(1)", "next", id="background.next", show=False),
        Binding("x", "tell(True)", "stop", id="background.end"),
        Binding("enter", "tell(False)", "go to it", id="background.go"),
        Binding("escape,down", "screen.close_find", "back", id="background.leave", show=False),
    ]

    @dataclass
    class Chosen(Message):
        call: CallView
        end: bool

    def __init__(self, transcript: Callable[[], Transcript]) -> None:
        super().__init__()
        self._transcript = transcript
        self._calls: list[CallView] = []
        self._chosen = 0
        self._told: list[tuple[str, int]] = []  # a call's id, and its age in seconds

    def look(self, now: float) -> bool:
        """Show what runs there at `now`, and tell whether anything does."""
        calls = self._transcript().open_calls.values()
        self._calls = [call for call in calls if call.detached and call.state is CallState.RUNNING]
        self._chosen = min(self._chosen, max(len(self._calls) - 1, 0))
        told = [(call.id, int(now - (call.started_at or now))) for call in self._calls]
        if told != self._told:
            self._told = told
            self.set_class(bool(self._calls), "-running")
            self.refresh()
            if not self._calls and self.has_focus:
                self.screen.focus_previous()
        return bool(self._calls)

    def render(self) -> Content:
        parts = [Content.styled(f"{len(self._calls)} in the background: ", "$muted")]
        for number, (call, (_, seconds)) in enumerate(zip(self._calls, self._told, strict=True)):
            chosen = self.has_focus and number == self._chosen
            age = f"{seconds} s" if seconds < 60 else amounts.seconds(seconds)
            parts += [Content.styled(" · ", "$muted")] if number else []
            parts.append(Content.styled(f"{name_of(call)} {age}", "bold $foreground" if chosen else "$foreground"))
        keys = "   x stop · enter go to it" if self.has_focus else ""
        return Content("").join([*parts, Content.styled(keys, "$muted")])

    def action_choose(self, delta: int) -> None:
        self._chosen = min(max(self._chosen + delta, 0), max(len(self._calls) - 1, 0))
        self.refresh()

    def on_click(self) -> None:
        self.action_tell(end=False)

    def action_tell(self, end: bool) -> None:
        if self._calls:
            self.post_message(self.Chosen(self._calls[self._chosen], end))


def name_of(call: CallView) -> str:
    """Return what says most of a call: the value of its main argument, else its tool."""
    arguments = call.arguments or {}
    value = arguments[call_description.main_argument(arguments)] if arguments else ""
    return one_line(value if isinstance(value, str) and value.strip() else call.tool or call.name, LONGEST_NAME)
