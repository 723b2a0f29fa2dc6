"""What everything that reads one answer shares: the source, the tools, the books, and how a region is concluded."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from console_app.dialects.context import Context
from console_app.dialects.dialect import Dialect
from console_app.dialects.draft import Draft, Reopening
from console_app.dialects.ledger import Ledger
from console_app.dialects.model import ScanEvent
from console_app.dialects.region import Region
from console_app.dialects.source import Match, Reading, Source
from console_app.dialects.table import BY_NAME
from console_app.dialects.toolbox import Toolbox

_ANYTHING = re.compile(r"[\s\S]*")


@dataclass
class Desk:
    """The state of one scan. `held`: what is being read may not be text, so it is not shown yet. `in_fence`:
    the text is the body of a fence, where calls may stand on lines of their own. `blocked`: from here on
    calls are made up. `shown_section`: the token that ends a section of calls that are only shown.
    """

    src: Source
    tools: Toolbox
    read_inner: "Callable[[Desk, str], Ledger]"
    prefer: str | None = None
    held: bool = False
    in_fence: bool = False
    blocked: bool = False
    fence_end: int = -1
    fence_cued: bool = False
    shown_section: str = ""
    draft: Draft | None = None
    reopening: Reopening | None = None
    last_row: Dialect | None = None
    unclosed_code: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        self._events: list[ScanEvent] = []
        self.ledger = Ledger(self.src, self._events)

    def flush(self) -> list[ScanEvent]:
        """The events since the last time."""
        events = list(self._events)
        self._events.clear()
        return events

    def new_draft(self, dialect: str, marked: bool = True) -> Draft:
        """The calls of a new region; `marked`: it has a marker, so calls of unknown tools count."""
        self.draft = Draft(self.src, self.tools, dialect, self.ledger.attempts, self._events, marked)
        return self.draft

    def same_family(self, row: Dialect) -> Dialect:
        """The row to call a dialect by, among those that read with the same grammar: the one that read the calls
        before, else the one the model was asked to write.
        """
        if self.last_row is None and self.prefer is not None:
            self.last_row = BY_NAME.get(self.prefer)
        if self.last_row is None or self.last_row.body is not row.body:
            self.last_row = row
        return self.last_row

    def read_body(self, row: Dialect, region: Region) -> Reading[Draft]:
        """Let a row's grammar read what follows; nothing is concluded yet."""
        draft = self.new_draft(row.name)
        yield from row.body.read(self.src, region, draft)
        return draft

    def conclude(self, draft: Draft, provisional: Literal["", "fenced", "whole"] = "", shown: bool = False) -> None:
        """A region has been read up to here: its calls count, or, if it has none, it is text. `shown`: it is text in
        any case, for it was quoted or announced as an example.
        """
        if shown:
            if draft.attempts:
                self.ledger.note(self.ledger.mark, self.src.at, "not taken as a call: it is quoted or an example")
            self.refuse(draft)
            return
        draft.settle()
        self.draft = None
        self.reopening = draft.reopening if draft.calls else self.reopening if not draft.attempts else None
        for start, end, why in draft.ignored:
            self.ledger.note(start, end, f"not taken as a call: {why}")
        if draft.answer is not None and not draft.attempts:
            self.ledger.drop(self.src.at, says=draft.answer)
        elif not draft.attempts:
            self.ledger.show(self.src.at)
        elif self.blocked:
            draft.discard()
            self.ledger.note(self.ledger.mark, self.src.at, "a call that follows results the model made up")
            self.ledger.drop(self.src.at)
        else:
            self.ledger.take(draft, self.src.at, provisional)

    def refuse(self, draft: Draft) -> None:
        """What was read up to here is text after all."""
        draft.discard()
        self.draft = None
        self.ledger.show(self.src.at)

    def reopen(self, found: Match) -> None:
        """The last call's value goes on to here, and what was taken for text after it is part of the value."""
        assert self.reopening is not None, "only what can be reopened is"
        end = self.src.offset(found.start())
        self.ledger.show(end)
        value = self.src.text(self.reopening.begin, end)
        self.src.pos = found.end()
        self.ledger.extend(self.src.at, self.reopening.arguments(value))

    def cut(self, token: str, context: Context) -> Reading[None]:
        """A result that only an endpoint could have written: it and all that follows is made up.

        Where no call came before it may be ordinary text; it stays, but no call after it counts.
        """
        if not self.ledger.attempts and not (context.line_start and token[0] in "<["):
            self.src.pos += len(token)
            self.blocked = self.blocked or context.line_start
            return
        self.ledger.note(self.src.at, self.src.at + len(token), "results that the model made up, and all after them")
        yield from self.src.skip(_ANYTHING)
        self.ledger.drop(self.src.at)

    def inner(self, body: str) -> Ledger:
        """The books of a text within this one, read for itself."""
        return self.read_inner(self, body)
