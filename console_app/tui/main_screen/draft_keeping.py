"""Keeps what stands in the prompt as the draft of its session, and puts the draft of another in its place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

from textual.timer import Timer

from console_app.console import Services
from console_app.sessions import PromptDraft, PromptDrafts
from console_app.tui.prompt.prompt import Prompt

PAUSE = 0.3  # seconds between two writes while someone types


class DraftKeeping:
    """Keeps the draft of one prompt on disk, for the session that it is meant for. Nothing is kept before `restore`."""

    def __init__(self, services: Services, prompt: Prompt) -> None:
        self._library = services.library
        self._drafts = PromptDrafts(None) if self._library is None else self._library.drafts
        self._engine = services.engine
        self._prompt = prompt
        self._new = PromptDrafts.of_new(services.working_folder)
        self._kept_for = self._new
        self._opening = bool(services.resume)  # a stored session: what is written until then belongs to it
        self._reading = True  # the draft that is on disk is not in the prompt yet, and must not be replaced
        self._left: Prompt.Submitted | None = None  # what stays behind while another session is on its way
        self._closed = False
        self.aside = False  # what stands in the prompt is for an agent, and no draft of the session
        self._timer: Timer | None = None
        self._writing = threading.Lock()  # two threads would end in any order
        self._newest = 0
        self._out_of_date: list[str] = []  # names whose drafts are now kept under another

    def changed(self) -> None:
        if self._timer is None:
            self._timer = self._prompt.set_timer(PAUSE, self._write)

    @contextmanager
    def on_the_way(self) -> Generator[None]:
        """While a stored session opens, keep the text that is written for that session. The text from before stays with
        the session before, or comes back where `switched` was not called."""
        if not self._opening:
            self._left, self._reading = self._prompt.hand_over(), True
        try:
            yield
        finally:
            self._stay()

    def _stay(self) -> None:
        if self._left is not None:
            left, self._left, self._reading = self._left, None, False
            self._prompt.give_back(left)
            self.changed()

    def begun(self) -> None:
        """Take the text along into a new session that was asked for."""
        self._rename(self._new)
        self.changed()

    async def switched(self) -> None:
        """Bring the draft of the stored session that is shown by now."""
        self._notice_begin()
        before, now = self._kept_for, self._shown()
        if self._opening:
            self._opening, self._kept_for = False, now
        elif before == now or not now or self._left is None:
            return
        else:
            left = self._draft(self._left.shown, self._left.selection.end)
            self._left, self._kept_for = None, now
            await asyncio.to_thread(self._keep, before, left, self._number())
        await self.restore()

    async def opening_is_over(self) -> None:
        """Begin a new session with its draft where the stored one can't be shown."""
        if self._opening:
            self._opening = False
            await self.restore()

    async def restore(self) -> None:
        """Put the session's draft back. Text that is in the prompt already stays, and Up brings the draft back then."""
        draft = await asyncio.to_thread(self._drafts.read, self._kept_for)
        self._reading = False
        self.changed()
        if draft is None or draft.text == self._prompt.text:
            return
        text = self._prompt.pastes.put_back(draft.text, draft.pastes)
        if self._prompt.text:
            self._prompt.sent.add(text)
        else:
            self._prompt.recall(text)
            self._prompt.move_cursor(draft.cursor)

    async def close(self) -> None:
        """Have on disk what stands in the prompt, as the console ends. Asked again, it was done already."""
        if self._closed:
            return
        self._closed = True
        self._stay()
        if self._prompt.text or not self._reading:
            await self._keep_now()

    def _write(self) -> None:
        self._timer = None
        if not (self._reading or self._closed or self.aside):
            self._prompt.run_worker(self._keep_now, group="draft")  # or the prompt would wait for the disk

    async def _keep_now(self) -> None:
        self._notice_begin()
        prompt = self._prompt
        draft = self._draft(prompt.text, prompt.cursor_location)
        await asyncio.to_thread(self._keep, self._kept_for, draft, self._number())

    def _shown(self) -> str:
        """Return the name of the drafts that are kept now. Those of a session that is only read belong to another."""
        if self._library is None:
            return ""
        return self._new if self._library.read_only else self._library.session_id

    def _notice_begin(self) -> None:
        reads = self._library is not None and self._library.read_only
        if self._kept_for == self._new and not reads and self._engine.transcript.turns:
            self._rename(self._engine.session_id)

    def _rename(self, now: str) -> None:
        before, self._kept_for = self._kept_for, now
        if before != now:
            self._out_of_date.append(before)

    def _draft(self, text: str, cursor: tuple[int, int]) -> PromptDraft:
        return PromptDraft(text, cursor, self._prompt.pastes.behind(text))

    def _number(self) -> int:
        self._newest += 1
        return self._newest

    def _keep(self, session_id: str, draft: PromptDraft, number: int) -> None:
        """Write a draft, in a thread. A write that comes late has been overtaken, and does nothing."""
        with self._writing:
            while self._out_of_date:
                self._drafts.forget(self._out_of_date.pop())
            if number == self._newest or session_id != self._kept_for:
                self._drafts.keep(session_id, draft)
