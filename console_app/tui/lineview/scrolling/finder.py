"""Find words in a whole conversation, also in folded and never painted text, and go from match to match.

Matches are counted in slices, so that thousands of results keep no key waiting.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.blocks.messages import UserBlock
from console_app.tui.lineview.blocks.passages import Search
from console_app.tui.lineview.calls.block import CallBlock
from console_app.tui.lineview.scrolling.slices import REST, SLICE
from console_app.tui.lineview.view import ConversationView

PAGES = 200  # longer pages that a result is asked for, until a match in it is shown
Kind = Literal["turn", "failed"]
_WORDS: dict[Kind, str] = {"turn": "turn", "failed": "call that failed"}


class Finder:
    """Finds words in one view. The view stands at number `place` of `total` matches, from 1; 0 at none."""

    def __init__(self, view: ConversationView) -> None:
        self._view = view
        self._counts: dict[Block, int] = {}
        self._seen_folded: dict[Block, int] = {}  # how many of them are seen while it is folded
        self._unfolded: Block | None = None  # by going to a match in it: folded again when that is left
        self.words = ""

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    @property
    def place(self) -> int:
        """Return the number of the match that the view stands at, from 1; 0 at none."""
        here = self._view.found.here
        if here is None or here[0].index < 0:
            return 0
        return sum(self._counts.get(block, 0) for block in self._view.blocks[: here[0].index]) + here[1] + 1

    async def look_for(self, words: str) -> None:
        """Counts the matches of other words and goes to the first from the top of the view on, else to the last."""
        self.words = words
        self._fold_again()
        view = self._view
        view.found.look_for(words)
        view.refresh()
        self._counts.clear()
        if view.found.pattern is None:
            return
        view.found.stale.update(dict.fromkeys(view.blocks))
        await self.recount()
        if self.words is not words:
            return
        if blocks := self._with_matches():
            seen = view.first_visible
            await self._go(next((block for block in blocks if block.index >= seen), blocks[-1]), 0)

    @property
    def is_counted(self) -> bool:
        return not self._view.found.stale

    async def step(self, delta: int) -> None:
        """Goes to the match so many on, round the ends."""
        found = self._view.found
        if found.pattern is None:
            return
        await self.recount()
        if not (blocks := self._with_matches()):
            found.here = None
            return
        block, number = found.here or (blocks[0], -1 if delta > 0 else 0)
        number += delta
        while not 0 <= number < self._counts.get(block, 0):
            if number >= 0:  # `block` may have no match any more
                block, number = next((one for one in blocks if one.index > block.index), blocks[0]), 0
            else:
                block = next((one for one in reversed(blocks) if one.index < block.index), blocks[-1])
                number = self._counts[block] - 1
        await self._go(block, number)

    def close(self) -> None:
        """Mark nothing any more. A block that was unfolded for the current match stays open."""
        self._unfolded = None
        self._counts.clear()
        self.words = ""
        self._view.found.look_for("")
        self._view.found.stale.clear()
        self._view.refresh()

    def jump(self, kind: Kind, delta: int) -> str:
        """Go to the turn or failed call before or behind the selection. Return "", or why that can't be."""
        view = self._view
        at = len(view.blocks) if view.cursor is None else view.cursor.index
        if kind == "turn" and view.cursor is None and view.top < view.max_scroll_y:
            at = view.first_visible  # where you scrolled to
        block = neighbour(view.blocks, at, kind, delta)
        if block is None:
            return f"There is no {'earlier' if delta < 0 else 'later'} {_WORDS[kind]}."
        if kind == "turn":
            view.go_to_turn(block)
        else:
            view.focus()
            view.reveal(block)
        return ""

    # -- counting

    async def recount(self) -> None:
        """Count the matches in blocks that came or changed, in slices, without going to one."""
        found = self._view.found
        pattern, begun = found.pattern, time.monotonic()
        while found.stale and pattern is not None and found.pattern is pattern:
            block = next(iter(found.stale))
            del found.stale[block]
            if block.index < 0:
                self._counts.pop(block, None)
                continue
            texts = block.searched
            search = Search(pattern, "\n".join(texts))
            while search.unfinished:
                search.lay_out()
                if time.monotonic() - begun > SLICE:
                    try:
                        await asyncio.sleep(REST)
                    except asyncio.CancelledError:  # whoever counts next counts it
                        if found.pattern is pattern:
                            found.stale[block] = None
                        raise
                    begun = time.monotonic()
                    if found.pattern is not pattern or block in found.stale:
                        break
            if found.pattern is not pattern:
                return
            if block not in found.stale:
                self._counts[block] = len(search.spans)
                head = len("\n".join(texts[: block.searched_folded]))
                self._seen_folded[block] = bisect_right(search.spans, head, key=lambda span: span[1])

    def _with_matches(self) -> list[Block]:
        return [block for block in self._view.blocks if self._counts.get(block)]

    # -- going there

    async def _go(self, block: Block, number: int) -> None:
        """Shows a match: unfolds its block, and asks for so much of a result that the match is in it."""
        view, found = self._view, self._view.found
        pattern = found.pattern
        if block is not self._unfolded:
            self._fold_again()
        folded = block.opens and not block.open
        if folded and pattern is not None and number >= self._seen_folded.get(block, 0):
            if isinstance(block, CallBlock):
                block.expect_match(pattern, number)
            view.turn_block(block)
            self._unfolded = block
        found.here = (block, number)
        for _ in range(PAGES):
            view.reveal(block)
            await view.slices.finish(block)
            view.reveal(block)
            await view.slices.finish(found.matches(block))
            if found.pattern is not pattern or block.index < 0:
                return
            shown = len(found.matches(block))
            if shown > number and shown == self._counts.get(block):
                break
            if not block.open or not block.unfold_match(self._counts.get(block, 0), shown, number):
                break
            block.touch()
            view.changed(block)
            await asyncio.sleep(0)
        self.show()

    def show(self) -> None:
        """Scrolls to the match that is gone to; to the last one of its block where that shows fewer than it has."""
        view, found = self._view, self._view.found
        if found.here is None or found.here[0].index < 0:
            return
        block, number = found.here
        matches = found.matches(block)
        if matches and number >= len(matches):
            found.here = block, len(matches) - 1
        spans = matches[min(number, len(matches) - 1)] if matches else []
        view.reveal(block, spans[0][0] if spans else block.gap)
        view.refresh()

    def _fold_again(self) -> None:
        block, self._unfolded = self._unfolded, None
        if block is not None and block.open and block.index >= 0:
            self._view.turn_block(block)


def neighbour(blocks: Sequence[Block], at: int, kind: Kind, delta: int) -> Block | None:
    """Return the beginning of a turn, or a failed call, before or behind position `at`; None without one."""
    for block in blocks[at + 1 :] if delta > 0 else reversed(blocks[: max(at, 0)]):
        begins = isinstance(block, UserBlock) and not block.steered
        if begins if kind == "turn" else isinstance(block, CallBlock) and block.call.went_wrong:
            return block
    return None
