"""Frame the prompt with its completion list and a line of attachments: find completions, and put the choice in."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from rich.cells import cell_len
from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option
from textual.worker import Worker

from console_app.config.machine import BrowserPage
from console_app.console import files
from console_app.domain import FanoutError, one_line
from console_app.records import dataclass
from console_app.tui.prompt.completion import Completion, Completions, Token, token_before
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.textual_internals import typed_app
from console_app.tui.widgets.pick_list import SearchedList

MOST_FILES = 200_000
LONGEST_WALK = 20.0  # seconds
FRESH_FOR = 20.0  # seconds that a walk is used before the next one begins
LOOK_AGAIN = 0.01  # seconds between two looks at a walk that goes on
SCORED = 400  # candidates that get a score; the rest only had the right letters


class FileIndex:
    """Looks up paths under `folder`, relative to it, with `/` between their parts. `close` ends the walk.

    A home folder or a network disk may take long, and the keys must not wait for it. So a look-up answers from what was
    found so far once that is enough, and a walk that is old is used until the next one is done.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[str] = []  # grows while the first walk goes on
        self._walked_at = float("-inf")
        self._walk: asyncio.Task[files.Walk] | None = None
        self._closed = False
        self._search = FuzzySearch()
        self._narrowed: tuple[str, list[str], int, Sequence[str]] = ("", [], 0, ())  # what the last query left

    def close(self) -> None:
        self._closed = True

    async def find(self, query: str, limit: int = 8) -> list[str]:
        """Return the best `limit` paths for `query`, of all, or of those found so far where these are as many."""
        self._refresh()
        while True:
            done = self._walk is None or self._walk.done()
            hits = await asyncio.to_thread(self._find, query, limit)
            if done or len(hits) >= limit or self._walk is None:
                return hits
            await asyncio.wait({self._walk}, timeout=LOOK_AGAIN)

    async def grown(self) -> bool:
        """Wait for the walk that goes on, and tell whether there are more paths by now than the last `find` saw."""
        if self._walk is not None:
            await asyncio.wait({self._walk})
        _, paths, known, _ = self._narrowed
        return paths is not self._paths or known < len(paths)

    def _refresh(self) -> None:
        if self._walk is not None or self._closed or time.monotonic() - self._walked_at <= FRESH_FOR:
            return
        into: list[str] = [] if self._paths else self._paths
        walking = asyncio.to_thread(files.walk, self._folder, MOST_FILES, LONGEST_WALK, into, self._goes_on)
        self._walk = asyncio.create_task(walking, name="files")

        def walked(_task: asyncio.Task[files.Walk]) -> None:
            self._paths, self._walk, self._walked_at = into, None, time.monotonic()

        self._walk.add_done_callback(walked)

    def _goes_on(self) -> bool:
        return not self._closed

    def _find(self, query: str, limit: int) -> list[str]:
        paths = self._paths
        known = len(paths)
        if not query:
            return paths[:limit]
        folded = query.casefold()
        before, of, count, hits = self._narrowed
        narrows = before and of is paths and folded.startswith(before)  # this query adds letters to the last one
        fit = [*hits, *paths[count:known]] if narrows else paths[:known]
        hits = [path for path in fit if _has_letters(folded, path.casefold())]
        self._narrowed = (folded, paths, known, hits)
        hits = sorted(hits, key=len)[:SCORED]
        scored = [(self._score(query, path), -len(path), path) for path in hits]
        return [path for _, _, path in sorted(scored, reverse=True)[:limit]]

    def _score(self, query: str, path: str) -> float:
        name = path.rstrip("/").rpartition("/")[2]
        return max(self._search.match(query, path)[0], 1.5 * self._search.match(query, name)[0])


def _has_letters(query: str, path: str) -> bool:
    place = 0
    for letter in query:
        place = path.find(letter, place) + 1
        if not place:
            return False
    return True


GAP = "   "
MOST = 500  # cells that a chip takes at most, which no terminal has
LEAST = 24  # cells that a chip is given at least
LEAST_NAME = 12  # cells of a name, and of why it can't go
MORE = 12  # cells that are kept for how many more there are


class AttachmentChips(Widget):
    """Shows chips in one line; hidden while there are none."""

    DEFAULT_CSS = """
    AttachmentChips {
        height: auto; max-height: 1;  /* see ActivityLine */
        padding: 0 2; color: $muted; text-wrap: nowrap; display: none;
    }
    AttachmentChips.-some { display: block; }
    """

    chips: reactive[tuple[files.Chip, ...]] = reactive(())

    def show(self, chips: Sequence[files.Chip]) -> None:
        self.set_class(bool(chips), "-some")
        self.chips = tuple(chips)

    def render(self) -> Content:
        """Draw as many attachments as there is room for, those that can't go first, and how many more there are."""
        room = max(self.content_size.width, 1)
        waiting = sorted(self.chips, key=lambda chip: not chip.refused)
        sizes = [_piece(chip, MOST).cell_length for chip in waiting]
        whole = sum(sizes) + len(GAP) * (len(waiting) - 1)
        most = room if whole <= room else room // 2 - MORE // 2
        pair = len(waiting) == 2 and room >= 2 * LEAST + len(GAP)
        counts = len(waiting) > 1 and whole > room and not pair
        if pair:  # none is left to count
            most = max((room - len(GAP)) // 2, room - len(GAP) - sizes[1])
        line = Content()
        while waiting:
            gap = GAP if line else ""
            left = room - line.cell_length - len(gap) - (MORE if counts and len(waiting) > 1 else 0)
            if line and left < min(LEAST, sizes[-len(waiting)]):
                break
            piece = _piece(waiting[0], left if len(waiting) == 1 else min(max(most, LEAST), left))
            if line and piece.cell_length > left:
                break
            line += Content(gap) + piece
            waiting.pop(0)
        return line + Content.styled(f"{GAP}+ {len(waiting)} more" if waiting else "", "$muted")


def _piece(chip: files.Chip, room: int) -> Content:
    """Draw one chip in at most `room` cells. The folders of a path give way first, then its details from the last one
    on. The reason why it can't go stays."""
    mark, ink = ("! ", "$warning") if chip.refused else ("+ ", "$primary")
    name, said = one_line(chip.name), one_line(chip.about).split(" · ")
    short = cell_len(_shortened(name, 0))
    while not chip.refused and said and 2 + short + sum(cell_len(part) + 3 for part in said) > room:
        said.pop()
    about = Content.styled("".join(f" · {part}" for part in said), "$warning" if chip.refused else "$muted")
    if chip.refused:
        about = about.truncate(max(room - 2 - min(short, LEAST_NAME), LEAST_NAME), ellipsis=True)
    name = _shortened(name, max(room - 2 - about.cell_length, LEAST_NAME))
    while cell_len(name) > max(room - 2 - about.cell_length, LEAST_NAME):
        name = f"{name.removesuffix('…')[:-1]}…"
    return Content.styled(mark, ink) + Content.styled(name, "$foreground") + about


def _shortened(path: str, room: int) -> str:
    """Shorten the path by so many of its first folders that it takes `room` cells. Its last part stays whole."""
    parts = path.split("/")
    ways = (path, *(f"…/{'/'.join(parts[n:])}" for n in range(1, len(parts)) if parts[n:] != [""]))
    return next((way for way in ways if cell_len(way) <= room), min(ways, key=cell_len))


NOTHING = "There is nothing on the clipboard."
STARTING = "Still starting: paste the picture again in a moment."
IN_A_BROWSER = "Pictures of a browser's clipboard don't come through: name the picture's file with @."


WIDEST_LABEL = 48  # cells


class CompletionPopup(OptionList, can_focus=False):
    """Shows completions; `highlighted` is the one that Tab or Enter takes."""

    DEFAULT_CSS = """
    CompletionPopup {
        height: auto; max-height: 9; padding: 0 1; margin: 0 1; display: none;
        border: round $muted; background: $background; scrollbar-size-vertical: 1;
        border-title-color: $foreground; border-title-style: none; text-wrap: nowrap; text-overflow: ellipsis;
    }
    CompletionPopup.-open { display: block; }
    CompletionPopup > .option-list--option { padding: 0 1; }
    """

    @dataclass
    class Clicked(Message):
        completion: Completion

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.completions: Sequence[Completion] = ()
        self._moved = False  # what is chosen was moved to, since the list is for this text

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def show(
        self, completions: Sequence[Completion], highlight: bool = True, title: str = "", *, more: bool = False
    ) -> None:
        """Open with `completions`, or close when there are none. The one that you moved to stays chosen while it is
        there: when there are `more` for the same text, and for any text where nothing else would be chosen."""
        self._moved = self._moved and more
        moved_to = self.chosen if self._moved or not highlight else None
        self.completions = completions
        self.border_title = Content(one_line(title, 200))  # pyright: ignore[reportAttributeAccessIssue]  (it takes both)
        self.set_class(bool(completions), "-open")
        self.clear_options()
        if completions:
            widest = min(max(cell_len(one_line(c.label, 200)) for c in completions), WIDEST_LABEL)
            self.add_options(Option(_row(completion, widest)) for completion in completions)
            first = 0 if highlight else None
            self.highlighted = completions.index(moved_to) if moved_to in completions else first

    def move(self, delta: int) -> None:
        if self.completions:
            place = -1 if self.highlighted is None and delta > 0 else self.highlighted or 0
            self.highlighted = (place + delta) % len(self.completions)
            self._moved = True

    @property
    def chosen(self) -> Completion | None:
        return None if self.highlighted is None or not self.is_open else self.completions[self.highlighted]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Clicked(self.completions[event.option_index]))


def _row(completion: Completion, width: int) -> Content:
    label = one_line(completion.label, 200)
    about = f"  {' ' * max(width - cell_len(label), 0)}{one_line(completion.about, 300)}" if completion.about else ""
    return Content(label) + Content.styled(about, "$muted")


Completer = Callable[[Token], Sequence[Completion]]
"""Completions of a command or an argument; the screen knows them."""
Later = Callable[[Token], AsyncIterator[Completions]]
"""Completions of a value, and of what lies beside files behind `@`: more of them each time, as servers answer."""
Look = Callable[[str], "Awaitable[Sequence[files.Chip]]"]
"""Return the attachments that would go along with a text."""
Keep = Callable[[bytes], Awaitable[str]]
"""Keeps a picture, and gives what names it. Raises FanoutError."""
PAUSE = 0.15  # seconds of no typing before what is named is looked at


async def _nothing(_token: Token) -> AsyncIterator[Completions]:
    yield Completions()


class PromptBox(Vertical):
    DEFAULT_CSS = """
    PromptBox { height: auto; }
    PromptBox > Prompt {
        height: auto; min-height: 3; max-height: 33vh; margin: 0 1; padding: 0 1;
        border: round $muted; border-subtitle-color: $muted; background: $background;
        border-title-color: $secondary; border-title-align: right;
        scrollbar-size-vertical: 1;
    }
    PromptBox > Prompt:focus { border: round $primary; border-subtitle-color: $primary; }
    PromptBox > Prompt > .text-area--placeholder { color: $muted; }
    """

    app = getters.app(typed_app)

    def __init__(
        self,
        history_path: Path,
        folder: Path,
        completer: Completer,
        later: Later | None = None,
        look: Look | None = None,
        keep: Keep | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._history_path = history_path
        self._clock = clock
        self._completer = completer
        self._later = later or _nothing
        self._look_at = look
        self._keep = keep
        self._looking: Worker[None] | None = None
        self._half_typed: Sequence[str] = ()  # names that count as not said yet
        self._files = FileIndex(folder)
        self._search: Worker[None] | None = None
        self._seeking: Token | None = None
        self._token: Token | None = None
        self._closed_for: str | None = None  # the text that Escape closed the list for

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def popup(self) -> CompletionPopup:
        return self.query_one(CompletionPopup)

    def compose(self) -> ComposeResult:
        yield CompletionPopup()
        yield AttachmentChips()
        prompt = Prompt(self._history_path, id="prompt", clock=self._clock)
        prompt.complete = self._complete
        yield prompt

    def on_unmount(self) -> None:
        self._files.close()

    def close_completion(self) -> bool:
        """Close the list until the text changes; return False when it was not open."""
        if not self.popup.is_open:
            return False
        self._closed_for = self.prompt.text
        self._seeking = None
        if self._search is not None:
            self._search.cancel()
        self._show((), None)
        self._look_if_left()
        return True

    @on(Prompt.PasteRequested)
    @work(group="paste")
    async def _paste(self) -> None:
        """Paste a picture as its file's name, or a text, from the desktop's clipboard, else what was copied here."""
        prompt, picture, text = self.prompt, "", ""
        why = NOTHING if BrowserPage.in_use() is None else IN_A_BROWSER  # there the desktop is not that of who looks
        try:
            if why == NOTHING:
                clip = await files.read_clipboard(os.environ)
                if not clip.picture:
                    text = clip.text
                elif self._keep is None:
                    why = STARTING
                else:
                    picture = await self._keep(clip.picture)
        except FanoutError as error:
            why = error.line
        finally:
            prompt.pasting = False
        if picture:
            prompt.attach(picture)
        elif text := text or self.app.clipboard:
            prompt.write(prompt.pastes.take(text))
        else:
            self.notify(why, markup=False)

    @on(TextArea.Changed)
    @on(TextArea.SelectionChanged)
    def _look(self, event: TextArea.Changed | TextArea.SelectionChanged) -> None:
        if isinstance(event, TextArea.SelectionChanged):
            event.stop()
        else:
            self._look_what_goes_along()
        self._look_now()
        self._look_if_left()

    def _look_what_goes_along(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self._look_at is not None and "@" in self.prompt.text:
            self._looking = self.run_worker(partial(self._show_chips, self._look_at), group="chips")
        else:
            self.query_one(AttachmentChips).show(())

    async def _show_chips(self, look: Look) -> None:
        await asyncio.sleep(PAUSE)
        chips = await look(self.prompt.text)
        self._half_typed = half = self._listing()
        self.query_one(AttachmentChips).show([chip for chip in chips if not (chip.missing and chip.name in half)])

    def _listing(self) -> Sequence[str]:
        """Return the name behind `@` before the cursor while files are listed or looked for that it may become."""
        prompt = self.prompt
        row, column = prompt.cursor_location
        token = token_before(prompt.document[row], column, row == 0) if prompt.selection.is_empty else None
        if token is None or token.kind != "file" or not (self._seeking or self.popup.is_open):
            return ()
        return [mention.shown for mention in files.file_mentions(f"@{token.query}")]

    def _look_if_left(self) -> None:
        """Look for the file again once its name is no more half typed: it is missing now, where there is none."""
        if self._half_typed and not self._listing():
            self._half_typed = ()
            self._look_what_goes_along()

    def look_again(self) -> None:
        """Complete where there may be something now, and was nothing before."""
        if not self.popup.is_open and self.prompt.text:
            self._look_now()
        self._look_what_goes_along()

    def _look_now(self) -> None:
        prompt = self.prompt
        row, column = prompt.cursor_location
        token = token_before(prompt.document[row], column, row == 0) if prompt.selection.is_empty else None
        if prompt.text == self._closed_for:
            return
        self._closed_for = None
        if prompt.text == prompt.recalled:
            token = None
        if token == self._token:
            return
        if token is None:
            self._show((), None)
        elif token.kind in ("file", "value"):
            if self._token is not None and token.start != self._token.start:
                self._show((), None)  # what is listed would take the place of other text
            else:
                # Completions for less text must not be taken while the search, or a server, is slow.
                listed, query = self.popup.completions, token.query
                begins = token.kind == "value"
                fits = [
                    one.insert.startswith(query) if begins else SearchedList.best(query, [one.insert], 1)
                    for one in listed
                ]
                self._show([one for one, fit in zip(listed, fits, strict=True) if fit], token)
            self._search = self.run_worker(partial(self._find, token), group="completion", exclusive=True)
        else:
            if self._search is not None:
                self._search.cancel()
            self._show(self._completer(token), token)

    async def _find(self, token: Token) -> None:
        self._seeking = token
        try:
            await self._list(token)
            if token.kind == "file" and await self._files.grown():
                await self._list(token)  # what fits best may have come last
        finally:
            if self._seeking is token:
                self._seeking = None
        self._look_if_left()

    async def _list(self, token: Token) -> None:
        paths = await self._files.find(token.query) if token.kind == "file" else []
        blank = {True: "", False: " "}
        named = [Completion(path, f"@{files.written_path(path)}{blank[path.endswith('/')]}") for path in paths]
        async for found in self._later(token):
            prompt = self.prompt
            row, column = prompt.cursor_location
            over = prompt.text in (self._closed_for, prompt.recalled)
            if over or token_before(prompt.document[row], column, row == 0) != token:
                return  # typed on meanwhile
            new = [*named, *found.completions]
            # The listed completions still fit. Without them, your choice would be gone until the rest is there.
            kept = [one for one in self.popup.completions if one not in new] if found.more else []
            self._show([*kept, *new], token, found.title)

    def _show(self, completions: Sequence[Completion], token: Token | None, title: str = "") -> None:
        more = token is not None and token == self._token
        self._token = token if completions else None
        # Before an argument is begun, Enter means the bare command, so nothing is chosen for you. Nor is a value that a
        # server proposes: it may come just before Enter is pressed.
        kind, query = (token.kind, token.query) if token is not None else ("", "")
        highlight = kind != "value" and (kind != "argument" or bool(query))
        self.popup.show(completions, highlight, title, more=more)
        self.prompt.completing = bool(completions)

    @on(Prompt.CompletionMoved)
    def _moved(self, event: Prompt.CompletionMoved) -> None:
        self.popup.move(event.delta)

    def _complete(self, run: bool) -> None:
        completion = self.popup.chosen
        if completion is not None and not (run and self._is_there(completion)):
            self._insert(completion, run)
        elif run:
            self.close_completion()
            self._submit()
        else:
            self.popup.move(1)

    def _is_there(self, completion: Completion) -> bool:
        token, prompt = self._token, self.prompt
        row, column = prompt.cursor_location
        return token is not None and prompt.document[row][token.start : column] == completion.insert.rstrip()

    @on(CompletionPopup.Clicked)
    def _clicked(self, event: CompletionPopup.Clicked) -> None:
        self._insert(event.completion, True)
        self.prompt.focus()

    def _insert(self, completion: Completion, run: bool) -> None:
        token, prompt = self._token, self.prompt
        if token is None:
            return
        row, column = prompt.cursor_location
        runs = run and completion.runs
        text = completion.insert.rstrip() if runs else completion.insert
        self._show((), None)
        result = prompt.replace(text, (row, token.start), (row, column), maintain_selection_offset=False)
        prompt.move_cursor(result.end_location)
        if runs:
            self._closed_for = prompt.text
            self._submit()

    def _submit(self) -> None:
        # Posted from here: a message that a widget is made to post by its parent does not bubble past that parent.
        self.post_message(self.prompt.hand_over())


MOST_LINES = 3


class QueueStrip(Widget):
    DEFAULT_CSS = """
    QueueStrip { height: auto; padding: 0 2; color: $muted; text-wrap: nowrap; display: none; }
    QueueStrip.-waiting { display: block; }
    """

    messages: reactive[tuple[str, ...]] = reactive((), layout=True)
    paused: reactive[bool] = reactive(False)

    def show(self, messages: Sequence[str], paused: bool) -> None:
        self.set_class(bool(messages), "-waiting")
        self.paused = paused
        self.messages = tuple(messages)

    def render(self) -> Content:
        width = max(self.content_size.width - 2, 10)
        lines = [
            Content.styled("▸ ", "$primary") + Content.styled(one_line(text, width), "$foreground")
            for text in self.messages[:MOST_LINES]
        ]
        more = len(self.messages) - MOST_LINES
        count = f"and {more} more · " if more > 0 else ""
        how = "paused: enter to send · ↑ to edit" if self.paused else "queued · ↑ to edit"
        lines.append(Content.styled(f"  {count}{how}", "$muted"))
        return Content("\n").join(lines)
