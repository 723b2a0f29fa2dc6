"""The prompt with its completion list and a line of what goes along: works out what is being completed, and puts the
choice into the text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import TextArea
from textual.worker import Worker

from console_app.console.completion import Completion, Completions, Token, token_before
from console_app.console.files.file_mentions import file_mentions, written_path
from console_app.tui.prompt.attachment_chips import AttachmentChips
from console_app.tui.prompt.completion_popup import CompletionPopup
from console_app.tui.prompt.file_index import FileIndex
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.widgets.fuzzy import best
from console_app.tui.widgets.typed_app import typed_app

if TYPE_CHECKING:
    from console_app.console.files.attachments import Chip

Completer = Callable[[Token], Sequence[Completion]]
"""Completions of a command or an argument; the screen knows them."""
Later = Callable[[Token], AsyncIterator[Completions]]
"""Completions of a value, and of what lies beside files behind `@`: more of them each time, as servers answer."""
Look = Callable[[str], "Awaitable[Sequence[Chip]]"]
"""What would go along with a text."""
Keep = Callable[[bytes], Awaitable[str]]
"""Keeps a picture, and gives what names it. Raises FanoutError."""
PAUSE = 0.15  # seconds of no typing before what is named is looked at


async def _nothing_later(_token: Token) -> AsyncIterator[Completions]:
    """Stands where there is nothing but files."""
    yield Completions()


class PromptBox(Vertical):
    """Holds `CompletionPopup` over `Prompt`."""

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
        later: Later = _nothing_later,
        look: Look | None = None,
        keep: Keep | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._history_path = history_path
        self._clock = clock
        self._completer = completer
        self._later = later
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
        """The text area."""
        return self.query_one(Prompt)

    @property
    def popup(self) -> CompletionPopup:
        """The list."""
        return self.query_one(CompletionPopup)

    def compose(self) -> ComposeResult:
        """The list above, the prompt below."""
        yield CompletionPopup()
        yield AttachmentChips()
        prompt = Prompt(self._history_path, id="prompt", clock=self._clock)
        prompt.complete = self._complete
        yield prompt

    def on_unmount(self) -> None:
        """No walk goes on behind the console."""
        self._files.close()

    def close_completion(self) -> bool:
        """Escape: closes the list until the text changes; False when it was not open."""
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
    def _paste_asked_for(self, event: Prompt.PasteRequested) -> None:
        event.stop()
        self.run_worker(self._paste, group="paste")

    async def _paste(self) -> None:
        """The desktop's clipboard: a picture as its file's name, or a text; without either what was copied here."""
        from console_app.tui.prompt.desktop_clipboard import on_clipboard

        prompt = self.prompt
        try:
            picture, text, why = await on_clipboard(self._keep)
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
        self._half_typed = self._listing()
        self.query_one(AttachmentChips).show(
            [chip for chip in chips if not (chip.missing and chip.name in self._half_typed)]
        )

    def _listing(self) -> Sequence[str]:
        """The name behind `@` before the cursor while what it may become is listed, or looked for."""
        prompt = self.prompt
        row, column = prompt.cursor_location
        token = token_before(prompt.document[row], column, row == 0) if prompt.selection.is_empty else None
        if token is None or token.kind != "file" or not (self._seeking or self.popup.is_open):
            return ()
        return [mention.shown for mention in file_mentions(f"@{token.query}")]

    def _look_if_left(self) -> None:
        """What was half typed is no more: now it is missing, where there is no such file."""
        if self._half_typed and not self._listing():
            self._half_typed = ()
            self._look_what_goes_along()

    def look_again(self) -> None:
        """There may be something to complete now where there was nothing."""
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
                self._drop_what_fits_no_more(token)
            self._search = self.run_worker(partial(self._find, token), group="completion", exclusive=True)
        else:
            if self._search is not None:
                self._search.cancel()
            self._show(self._completer(token), token)

    def _drop_what_fits_no_more(self, token: Token) -> None:
        """What was listed for less text must not be taken while the search, or a server, is slow."""
        listed = self.popup.completions
        if token.kind == "value":
            fitting = [one for one in listed if one.insert.startswith(token.query)]
        else:
            fitting = [one for one in listed if best(token.query, [one.insert], 1)]
        self._show(fitting, token)

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
        files = [Completion(path, f"@{written_path(path)}" + ("" if path.endswith("/") else " ")) for path in paths]
        async for found in self._later(token):
            prompt = self.prompt
            row, column = prompt.cursor_location
            over = prompt.text in (self._closed_for, prompt.recalled)
            if over or token_before(prompt.document[row], column, row == 0) != token:
                return  # typed on meanwhile
            new = [*files, *found.completions]
            # What was listed still fits; taking it away until the rest is there would take your choice with it.
            kept = [one for one in self.popup.completions if one not in new] if found.more else []
            self._show([*kept, *new], token, found.title)

    def _show(self, completions: Sequence[Completion], token: Token | None, title: str = "") -> None:
        more = token is not None and token == self._token
        self._token = token if completions else None
        # With nothing typed of an argument Enter means the bare command, so nothing is chosen for you; nor is a value
        # that a server proposes, which may come just before Enter is pressed.
        kind, query = (token.kind, token.query) if token is not None else ("", "")
        highlight = kind != "value" and (kind != "argument" or bool(query))
        self.popup.show(completions, highlight, title, more=more)
        self.prompt.completing = bool(completions)

    @on(Prompt.CompletionMoved)
    def _moved(self, event: Prompt.CompletionMoved) -> None:
        event.stop()
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
        """Whether what Enter would complete is typed already: then it sends."""
        token, prompt = self._token, self.prompt
        row, column = prompt.cursor_location
        return token is not None and prompt.document[row][token.start : column] == completion.insert.rstrip()

    @on(CompletionPopup.Clicked)
    def _clicked(self, event: CompletionPopup.Clicked) -> None:
        event.stop()
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


def choices(query: str, names: Sequence[str]) -> list[Completion]:
    """Argument completions for `query` out of `names`."""
    return [Completion(name, name, runs=True) for name in best(query, names, 12)]
