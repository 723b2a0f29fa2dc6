"""Take what you type: a text area that grows with its text, sends on Enter, remembers, and keeps line editing keys.

It knows nothing of turns. It says what was sent, that completion keys were pressed, or that you want out of it; the
screen decides what that means.

The prompts you sent are kept in a file between sessions: one JSON string a line, so that any text fits a line. A line
that can't be read is passed over, as another console may be writing, or a disk filled up.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Location, Selection

from console_app.config.files import disk
from console_app.config.secrets import Redactor
from console_app.console import files
from console_app.domain import visible
from console_app.records import dataclass, field
from console_app.tui.terminal.key_names import writes_text

MOST_LINES = 8  # of a paste that is put into the prompt as it is
MOST_CHARACTERS = 2000

_PLACEHOLDER = re.compile(r"\[Pasted [0-9,]+ (?:lines|characters)(?: #[0-9]+)?\]")


class Pastes:
    """Keeps the long pastes of a session by their placeholders, which stand in the prompt until it is sent.

    Behind a placeholder the text stays as it was copied, for it goes to the model and never to the terminal.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, text: str) -> str:
        """Return what a pasted `text` puts into the prompt: the text, or a placeholder where it is long."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return visible(text)
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder, number = f"[Pasted {size}]", 1
        while self._texts.get(placeholder, text) != text:
            number += 1
            placeholder = f"[Pasted {size} #{number}]"
        self._texts[placeholder] = text
        return placeholder

    def behind(self, text: str) -> dict[str, str]:
        return {name: self._texts[name] for name in _PLACEHOLDER.findall(text) if name in self._texts}

    def put_back(self, text: str, pastes: Mapping[str, str]) -> str:
        """Return `text` with placeholders of this session in place of those of another, whose `pastes` these are."""
        return _PLACEHOLDER.sub(lambda m: self.take(pastes[m.group()]) if m.group() in pastes else m.group(), text)

    def expand(self, text: str) -> str:
        if not self._texts:
            return text
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match.group(), match.group()), text)


LONGEST_PASTE = 8_000  # characters of a paste that may be paths
MOST_DROPPED = 20  # files
_BEGINS = ("/", "~/", "'/", '"/', "file://")


def looks_dropped(text: str) -> bool:
    """Tell whether a paste may be paths, so that a look at the disk is worth it."""
    return len(text) <= LONGEST_PASTE and text.strip().startswith(_BEGINS)


def mentions_of(text: str) -> str:
    """Return mentions that attach the files of the paths; "" where the paste is anything else. This asks the disk.

    Files that are dropped on a terminal arrive so: plain, in quotes, with backslashes as for a shell, or as file URLs;
    several in one line with blanks between, or in a line each.
    """
    text = text.strip()
    readings = [[_plain(line) for line in text.splitlines() if line.strip()]]
    try:
        readings.append([_plain(word) for word in shlex.split(text)])
    except ValueError:
        pass  # a quote that nobody closes
    for paths in readings:
        if 0 < len(paths) <= MOST_DROPPED and all(map(_is_there, paths)):
            return "".join(f"@{files.written_path(path)} " for path in paths)
    return ""


def _plain(written: str) -> str:
    written = written.strip()
    if written.startswith("file://"):
        return unquote(urlsplit(written).path)
    return os.path.expanduser(written)


def _is_there(path: str) -> bool:
    try:
        return os.path.isabs(path) and os.path.exists(path)
    except ValueError:
        return False


PLACEHOLDER = "Ask, or / for commands, @ for files"


class Prompt(TextArea):
    """The prompt. `completing` is set by its box while the completion list is open, `complete` once and for all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "send", id="prompt.send", show=False),
        Binding("shift+enter,ctrl+j,alt+enter", "newline", "new line", id="prompt.newline", show=False),
        Binding("up", "older_or_up", "line up, or an older prompt", id="prompt.older", show=False),
        Binding("down", "newer_or_down", "line down, or a newer prompt", id="prompt.newer", show=False),
        Binding("tab", "complete_or_leave", "complete, or leave the prompt", id="prompt.leave", show=False),
        Binding(
            "ctrl+b",
            "left_or_background",
            "left; with nothing written, a call to the background",
            id="prompt.left",
            show=False,
        ),
        Binding("ctrl+f", "right_or_find", "right / find if empty", id="prompt.right", show=False),
        Binding("alt+b", "cursor_word_left", "word left", id="prompt.word_left", show=False),
        Binding("alt+f", "cursor_word_right", "word right", id="prompt.word_right", show=False),
        Binding("ctrl+c,super+c", "screen.interrupt", "clear, stop, quit", id="prompt.interrupt", show=False),
        Binding("ctrl+v", "paste", "paste, a picture too", id="prompt.paste", show=False),
        Binding("ctrl+d", "delete_or_quit", "delete forward / quit if empty", id="prompt.quit", show=False),
        Binding("pageup", "screen.go('page', -1)", "scroll up", id="prompt.page_up", show=False),
        Binding("pagedown", "screen.go('page', 1)", "scroll down", id="prompt.page_down", show=False),
        Binding("question_mark", "screen.command('help')", "help", id="prompt.help", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """Enter: `text` is the whole of it, `shown` as it stood in the prompt (with placeholders for pastes), which is
        empty since: whoever does not take it gives it back."""

        text: str
        shown: str
        selection: Selection = field(default_factory=Selection)

    class TakeBackRequested(Message):
        """Up in an empty prompt: the newest queued message is wanted back, if there is one."""

    class BeginRequested(Message):
        """Enter in an empty prompt."""

    @dataclass
    class CompletionMoved(Message):
        delta: int

    class Left(Message):
        """Tab: the focus should go on."""

    class PasteRequested(Message):
        """Ctrl+V, or a terminal's paste of no text at all: of a picture it sends that."""

    def __init__(
        self, history_path: Path, *, id: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(id=id, placeholder=PLACEHOLDER, highlight_cursor_line=False, tab_behavior="focus")
        self.cursor_blink = False  # a blinking cursor would repaint an idle program twice a second
        self.completing = False
        self.recalled: str | None = None  # a text that was written before, as it came back: nothing is completed in it
        self.complete: Callable[[bool], None] = lambda _run: None
        """Tab or Enter while the completion list is open; True: what was completed is sent if it can be. Called, not
        posted: what is typed next must not be there yet."""
        self.pasting = False  # the clipboard is being read: what is written isn't whole yet
        self.sent = PromptHistory(history_path)
        self.touched_at = float("-inf")  # by `clock`, when the last key or paste came
        self._clock = clock
        self.pastes = Pastes()

    def render_line(self, y: int) -> Strip:
        """Render one line. A window of no width has none: the text area would divide its placeholder by zero."""
        return super().render_line(y) if self.content_size.width else Strip.blank(self.size.width)

    # -- what others put in

    def put(self, text: str) -> None:
        self.recalled = None
        self.load_text(visible(text))
        self.move_cursor(self.document.end)

    def recall(self, text: str) -> None:
        """Put an earlier prompt in: arrows go on through the history until it is changed."""
        self.put(text)
        self.recalled = self.text

    def take_over(self, other: Prompt) -> None:
        self.pastes = other.pastes
        self.touched_at = other.touched_at
        self.load_text(other.text)
        self.selection = other.selection

    def expanded(self) -> str:
        return self.pastes.expand(self.text)

    def hand_over(self) -> Submitted:
        """Return the text to be posted, and empty the prompt at once: text typed from now on is the next prompt."""
        sent = self.Submitted(self.expanded(), self.text, self.selection)
        self.put("")
        return sent

    def remember(self, sent: Submitted) -> None:
        self.sent.add(sent.shown, sent.text)

    def give_back(self, sent: Submitted) -> None:
        """Put text that was not sent back before the text that was typed since."""
        typed = self.text
        self.load_text(sent.shown + typed)
        self.recalled = self.text
        self.selection = Selection.cursor(self.document.end) if typed else sent.selection

    # -- keys

    async def _on_key(self, event: events.Key) -> None:
        self.touched_at = self._clock()
        if event.key == "enter" or (event.key == "question_mark" and not self.text):
            active = self.screen.active_bindings.get(event.key)  # after the user's configuration
            if active is not None and active.node is self:
                event.prevent_default()  # the text area would write it; the binding has it
                return
        if event.is_printable and not writes_text(event):
            event.prevent_default()  # the text area would write it
            return
        if event.is_printable:
            self.sent.leave()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.touched_at = self._clock()
        if not event.text:
            self.action_paste()
            return
        start, text = min(self.selection), self.pastes.take(event.text)
        self.write(text)
        if looks_dropped(event.text):
            self.run_worker(
                partial(self._attach_dropped, event.text, text, start, self.cursor_location), group="dropped"
            )

    async def _attach_dropped(self, pasted: str, shown: str, start: Location, end: Location) -> None:
        """Replace a paste of paths, where it still stands, by mentions. No key waits for the disk."""
        mentions = await asyncio.to_thread(mentions_of, pasted)
        if mentions and self.get_text_range(start, end) == shown:
            self.replace(mentions, start, end)

    def write(self, text: str) -> None:
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)

    def attach(self, mention: str) -> None:
        row, column = min(self.selection)
        before = self.document[row][:column]
        self.write(f"{'' if not before or before[-1].isspace() else ' '}{mention} ")

    def action_paste(self) -> None:
        """Paste by Ctrl+V. The text counts as unfinished from now on, and not only once the clipboard is read."""
        if not self.pasting:
            self.pasting = True
            self.post_message(self.PasteRequested())

    def action_submit(self) -> None:
        if self.pasting:
            self.notify("The clipboard is still being read. Enter again once it is there.", markup=False)
        elif self.completing:
            self.complete(True)
        elif not self.text.strip():
            self.post_message(self.BeginRequested())
        elif self.text.endswith("\\") and self.cursor_location == self.document.end:
            self.action_delete_left()
            self.insert("\n")
        else:
            self.post_message(self.hand_over())

    def action_newline(self) -> None:
        self._replace_via_keyboard("\n", *self.selection)

    def action_older_or_up(self) -> None:
        if self.completing:
            self.post_message(self.CompletionMoved(-1))
        elif not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif not self.text:
            # A queued message, the calls and the history all lie that way; the screen knows which is there.
            self.post_message(self.TakeBackRequested())
        else:
            self.show_older()

    def action_newer_or_down(self) -> None:
        """Go down in the list, in the text, and from its last line back through the history."""
        if self.completing:
            self.post_message(self.CompletionMoved(1))
        elif not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif (newer := self.sent.newer()) is not None:
            self.recall(newer)

    def show_older(self) -> None:
        if (older := self.sent.older(self.text)) is not None:
            self.recall(older)

    def action_complete_or_leave(self) -> None:
        if self.completing:
            self.complete(False)
        else:
            self.post_message(self.Left())

    async def action_right_or_find(self) -> None:
        if self.text:
            self.action_cursor_right()
        else:
            await self.screen.run_action("command('find')")

    async def action_left_or_background(self) -> None:
        """Go a character to the left; with nothing written, send the newest running call to the background."""
        if self.text:
            self.action_cursor_left()
        else:
            await self.screen.run_action("background")

    async def action_delete_or_quit(self) -> None:
        if self.text:
            self.action_delete_right()
        else:
            await self.screen.run_action("quit")


MOST_PROMPTS = 1000  # prompts, the newest
LONGEST = 64_000  # characters of a prompt that goes to the file; a longer one is remembered in this session only

log = logging.getLogger(__name__)


class PromptHistory:
    """Prompts, oldest first, with a place in them that Up and Down move."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[str] | None = None  # read when first needed, so that starting costs nothing
        self._place: int | None = None  # None: below the newest, on what is being written
        self._draft = ""

    @property
    def entries(self) -> list[str]:
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def add(self, text: str, stored: str | None = None) -> None:
        """Remember a `text` that was sent; `stored` is kept in the file where that differs (a paste written out)."""
        self._place, self._draft = None, ""
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return
        self.entries.append(text)
        stored = text if stored is None else stored
        if stored.startswith("/") and Redactor.has_key(stored):
            return  # a command that was given a key is remembered in this session only
        self._append(stored if len(stored) <= LONGEST else text[:LONGEST])

    def older(self, current: str) -> str | None:
        """Return the prompt before the place, or None at the oldest; `current` is kept to come back to."""
        if self._place is None:
            self._draft, self._place = current, len(self.entries)
        if self._place == 0:
            return None
        self._place -= 1
        return self.entries[self._place]

    def newer(self) -> str | None:
        """Return the prompt after the place, then the text that was being written; None when there already."""
        if self._place is None:
            return None
        self._place += 1
        if self._place < len(self.entries):
            return self.entries[self._place]
        self._place = None
        return self._draft

    def leave(self) -> None:
        self._place = None

    def _read(self) -> list[str]:
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        entries: list[str] = []
        for line in lines[-MOST_PROMPTS:]:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, str) and entry.strip():
                entries.append(visible(entry))
        return entries

    def _append(self, text: str) -> None:
        try:
            disk.private_folder(self._path.parent)
            fresh = [*self.entries[-MOST_PROMPTS:-1], text] if (len(self.entries) > 2 * MOST_PROMPTS) else [text]
            flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if len(fresh) > 1 else os.O_APPEND)
            with os.fdopen(os.open(self._path, flags, disk.PRIVATE_FILE), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(entry) + "\n" for entry in fresh)
        except OSError as error:
            log.warning("prompt history %s can't be written: %s", self._path, error)
