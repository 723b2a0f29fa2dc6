"""/sessions: the list, again after each change that was made in it, until a session is opened or it is left."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from console_app.console import Console
from console_app.domain import FanoutError, Outcome, ToolCall, one_line, plural
from console_app.domain import events as ev
from console_app.domain.transcript import ToModel, results
from console_app.records import dataclass
from console_app.sessions import SearchHit, SessionInfo, Store
from console_app.tui.lineview import parser
from console_app.tui.ui import Ui
from console_app.tui.widgets.dialog import Dialog, HintedInput
from console_app.tui.widgets.pick_list import SearchedList

_WHO = {"user": ("▌ ", "$primary"), "assistant": ("▎ ", "$secondary"), "tool": ("  ", "$muted")}
_Line = Callable[[int], Content]  # of a width


def preview_lines(
    info: SessionInfo, counts: tuple[int, float | None], messages: Sequence[ev.MessageAdded], width: int, height: int
) -> list[Content]:
    """Write at most `height` lines of `width` cells. Of more messages than fit, the middle is left out."""
    calls, cost = counts
    facts = [plural(info.turns, "turn"), plural(calls, "call")]
    facts += [f"${cost:.2f}"] if cost else []
    facts += [f"{info.provider}/{info.model}" if info.provider else info.model, info.id[:8], info.folder]
    lines = [Content.styled(one_line(" · ".join(part for part in facts if part), width), "$muted")]
    said = [part for message in messages for part in _lines(message)]
    room = max(height - len(lines), 0)
    if len(said) <= room:
        return [*lines, *(part(width) for part in said)]
    first = (room - 1) // 2
    last = max(room - 1 - first, 0)
    began, ended = ([part(width) for part in some] for some in (said[:first], said[len(said) - last :]))
    return [*lines, *began, Content.styled("  ⋯", "$muted"), *ended][:height]


def _lines(message: ev.MessageAdded) -> list[_Line]:
    """Make a line only where it is shown, since a message may have thousands of calls."""
    mark, style = _WHO[message.role]
    text = message.source or message.content
    if message.role == "tool":
        return [partial(_line, mark, style, _came(message.outcome, text), "$muted")]
    shown = plain(text[:1000]) if message.role == "assistant" else text[:400]
    lines: list[_Line] = [partial(_line, mark, style, shown, "$foreground")] if shown.strip() else []
    return [*lines, *(partial(_called, call) for call in message.tool_calls or ())]


def _called(call: ToolCall, width: int) -> Content:
    return _line("  ", "$muted", f"→ {call.name} {_brief(call.arguments)}", "$accent", width)


def _came(outcome: Outcome | None, text: str) -> str:
    """Say how a call ended and what it returned, without the remarks that are for the model alone."""
    word = "" if outcome is None else outcome.value.replace("_", " ")
    if outcome is Outcome.SUCCEEDED:
        return f"{word}: {text[:400]}"
    own = results.own_error(results.without_remarks(text).removeprefix(ToModel.DENIED)).strip()
    said = "" if outcome is Outcome.CANCELLED else own
    return f"{word}: {said[:400]}" if said else f"{word} by you"


def plain(markdown: str) -> str:
    """Return the words of Markdown, without the marks that a conversation shows as styles; marks alone stay."""
    words: list[str] = []
    for token in parser().parse(markdown):
        for part in token.children or [token]:
            words.append(" " if part.type in ("softbreak", "hardbreak") else part.content)
        words.append(" ")
    text = "".join(words)
    return text if text.strip() else markdown


def _line(mark: str, style: str, text: str, ink: str, width: int) -> Content:
    return Content.styled(mark, style) + Content.styled(one_line(text, max(width - len(mark), 1)), ink)


def _brief(arguments: str) -> str:
    """Write the arguments as `name=value`, and anything that is no JSON as it is."""
    try:
        values: Any = json.loads(arguments) if len(arguments) < 10_000 else None
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return arguments[:400]
    return " ".join(f"{name}={value}" for name, value in values.items())  # pyright: ignore[reportUnknownVariableType]


MOST_SHOWN = 200
Action = Literal["resume", "rename", "delete", "fork", "export"]


@dataclass(frozen=True, slots=True)
class Picked:
    """Names the session that was picked, what to do with it, and the `query` for when the list comes back."""

    info: SessionInfo
    action: Action
    query: str


class SessionsScreen(Dialog[Picked | None], sheets=("sessions.tcss",)):
    """Lists sessions. The result says what to do; nothing is changed here."""

    DEFAULT_CLASSES = "dialog -tall"
    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "close", id="sessions.close"),
        *SearchedList.keys("sessions"),
        Binding("enter", "choose('resume')", "resume", id="sessions.resume", priority=True),
        Binding("f2", "choose('rename')", "rename", id="sessions.rename", priority=True),
        Binding("f4", "choose('fork')", "fork", id="sessions.fork", priority=True),
        Binding("f5", "choose('export')", "export", id="sessions.export", priority=True),
        Binding("f8", "choose('delete')", "delete", id="sessions.delete", priority=True),
    ]

    def __init__(
        self, store: Store, *, current: str = "", query: str = "", select: str = "", clock: Callable[[], float]
    ) -> None:
        super().__init__()
        self._store = store
        self._current = current
        self._query = query
        self._select = select
        self._clock = clock
        self._shown: list[SearchHit] = []

    @classmethod
    async def browse(cls, console: Console, ui: Ui, query: str = "") -> None:
        """Open the list with `query` typed; to be run by `Ui.open`."""
        library, select = console.sessions.stored(), ""
        while library is not None:
            store, clock = library.store, console.services.clock
            screen = cls(store, current=library.session_id, query=query, select=select, clock=clock)
            picked = await ui.push(screen)
            if picked is None:
                return
            query, select = picked.query, picked.info.id
            try:
                await console.sessions.act(picked.action, picked.info)
                if picked.action in ("resume", "fork"):
                    return
            except FanoutError as error:
                ui.toast(error.line, seconds=8)

    def compose(self) -> ComposeResult:
        with self.box("Sessions", "enter open · f2 rename · f4 fork · f5 export · f8 delete · esc close"):
            yield HintedInput(self._query, hint="type to search titles and everything said")
            yield SearchedList()
            yield Static(id="preview")
            yield Static(classes="dialog--note")

    def on_mount(self) -> None:
        self._look()

    def on_resize(self) -> None:
        self._fill()

    def action_move(self, delta: int) -> None:
        self.query_one(SearchedList).move(delta)

    def action_choose(self, action: Action) -> None:
        index = self.query_one(OptionList).highlighted
        if index is not None and index < len(self._shown):
            self.dismiss(Picked(self._shown[index].info, action, self.query_one(Input).value))

    @on(Input.Changed)
    def _typed(self) -> None:
        self._select = ""
        self._look()

    @on(OptionList.OptionHighlighted)
    def _highlighted(self) -> None:
        self.run_worker(self._preview, group="preview", exclusive=True)

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_choose("resume")

    def _look(self) -> None:
        self.run_worker(partial(self._find, self.query_one(Input).value.strip()), group="find", exclusive=True)

    async def _find(self, words: str) -> None:
        try:
            self._shown, count = await self._store.browse(words, MOST_SHOWN)
        except FanoutError as error:
            self._shown = []
            self._note(error.line)
        else:
            self._note(_summary(words, len(self._shown), count))
        self._fill()

    async def _preview(self) -> None:
        at, shown = self.query_one(OptionList).highlighted, self.query_one("#preview", Static)
        if at is None or at >= len(self._shown):
            shown.update("")
            return
        info = self._shown[at].info
        try:
            messages, counts = await self._store.glance(info.id), await self._store.counts(info.id)
        except FanoutError as error:
            shown.update(Content.styled(one_line(error.line), "$error"))
            return
        width, height = max(shown.content_size.width, 20), max(shown.content_size.height, 1)
        shown.update(Content("\n").join(preview_lines(info, counts, messages, width, height)))

    def _note(self, text: str) -> None:
        self.query_one(".dialog--note", Static).update(Content(one_line(text)))

    def _fill(self) -> None:
        options = self.query_one(OptionList)
        # The cursor goes to the session that it was on, so that a list that came back stands where it stood.
        at = next((n for n, found in enumerate(self._shown) if found.info.id == self._select), 0)
        options.clear_options()
        if not self._shown:
            self.query_one("#preview", Static).update("")
        width = max(options.size.width - 4, 40)
        now = self._clock()
        options.add_options(Option(_row(found, width, now, self._current)) for found in self._shown)
        if self._shown:
            options.highlighted = at


def _summary(words: str, shown: int, count: int) -> str:
    if not count:
        return "nothing found" if words else "no saved sessions yet"
    if words:
        return f"{shown} found" if shown < MOST_SHOWN else f"the best {shown}"
    noun = "session" if count == 1 else "sessions"
    return f"{count:,} {noun}" if shown == count else f"the newest {shown} of {count:,}; type to find others"


def _row(found: SearchHit, width: int, now: float, current: str) -> Content:
    info = found.info
    turns = plural(info.turns, "turn")
    wide = f" · {one_line(info.model, 20)}" if width >= 90 else ""
    where = f" · {folder(info.folder, 24 if width >= 90 else 14)}" if info.folder else ""
    facts = f"{when(info.updated_at, now)} · {turns}{wide}{where}"
    room = max(width - len(facts) - 4, 12)
    mark = Content.styled("● ", "$primary") if info.id == current else Content("  ")
    row = mark + Content(f"{one_line(info.title, room):<{room}}") + Content.styled(f"  {facts}", "$muted")
    return row + Content("\n    ") + _snippet(found.snippet, width - 4) if found.snippet else row


def _snippet(text: str, width: int) -> Content:
    parts: list[Content] = []
    room = width
    for number, part in enumerate(text.replace("\x02", "\x01").split("\x01")):
        # Every second part is a word that was found; spaces between them matter, so no part is stripped.
        shown = one_line(f"|{part}|")[1:-1][: max(room, 0)]
        room -= len(shown)
        parts.append(Content.styled(shown, "bold $accent" if number % 2 else "$muted"))
    return Content("").join(parts)


def folder(path: str, room: int) -> str:
    text = one_line(path, 400).replace(str(Path.home()), "~", 1)
    return text if len(text) <= room else f"…{text[1 - room :]}"


def when(at: float, now: float) -> str:
    """Write a time for people, in at most ten characters."""
    ago = now - at
    if ago < 60:
        return "just now"
    if ago < 3600:
        return f"{ago / 60:.0f} min ago"
    if ago < 86_400:
        return f"{ago / 3600:.0f} h ago"
    return datetime.fromtimestamp(at).strftime("%d %b" if ago < 300 * 86_400 else "%Y-%m-%d")
