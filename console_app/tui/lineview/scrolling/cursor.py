"""Select the block that the keys of the conversation act on. No other module knows it; this one paints nothing.

The newest batch comes first: keys go there from elsewhere, and a later turn ends what was selected before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from console_app.domain import CallState
from console_app.tui.lineview.blocks.block import Block
from console_app.tui.lineview.calls.block import CallBlock
from console_app.tui.lineview.calls.group import CallGroup, FoldBlock, Panel


class Cursor:
    """Selects a block of one view, whose blocks `blocks` returns. `at` is the selected one."""

    def __init__(self, blocks: Callable[[], Sequence[Block]]) -> None:
        self._blocks = blocks
        self.at: Block | None = None
        # Letters are keys of the selected block, and not written into the prompt: from when a panel is selected, or a
        # message by key, until the focus leaves the view, even where the block went away under the hand.
        self.takes_letters = False

    def put(self, block: Block | None, *, by_key: bool = False) -> Block | None:
        """Select a block, or none; give the one before. A message selected by a click leaves letters to the prompt."""
        before, self.at = self.at, block
        if block is not None:
            again = block is before and self.takes_letters
            self.takes_letters = by_key or again or isinstance(block, CallBlock | FoldBlock)
        return before

    def leave(self) -> None:
        """The focus went elsewhere: nothing is selected, and letters are nobody's."""
        self.at, self.takes_letters = None, False

    def entry(self, delta: int) -> Block | None:
        """Return the block at which keys from elsewhere arrive.

        It is in the newest batch: a call that runs, else one that waits for you, else one that is open, else the last
        one. Of several, going up (`delta` below 0) takes the last and going down the first. Without a call, it is the
        newest message.
        """
        calls = self.newest_calls()
        if not calls:
            return next((block for block in reversed(self._blocks()) if block.is_stop), None)
        nearest = calls if delta > 0 else calls[::-1]
        found = min(nearest, key=lambda block: _rank(block), default=None)
        return calls[-1] if found is None or found.finished else found

    def stepped(self, delta: int) -> Block | None:
        here = self.at
        if here is None or here.index < 0:
            return self.entry(delta)
        stops = [block for block in self._blocks() if block.is_stop]
        if here.is_stop:
            return stops[min(max(stops.index(here) + delta, 0), len(stops) - 1)]
        ahead = [block for block in stops if (block.index > here.index) == (delta > 0)]
        return (ahead[0] if delta > 0 else ahead[-1]) if ahead else here

    def next_failed(self) -> Block | None:
        """Return the next failed call behind the selected one, and behind the last the first again.

        From a call that did not fail, those of its own batch come first.
        """
        blocks = self._blocks()
        failed = [block for block in blocks if isinstance(block, CallBlock) and block.call.went_wrong]
        if isinstance(self.at, CallBlock) and not self.at.call.went_wrong:
            failed = [block for block in failed if block.group is self.at.group] or failed
        here = -1 if self.at is None else self.at.index
        if here < 0 and (group := newest_group(blocks)) is not None:
            here = group.panels[0].index - 1
        return next((block for block in failed if block.index > here), failed[0] if failed else None)

    def allows(self, action: str, parameters: tuple[object, ...]) -> bool:
        block = self.at
        match action:
            case "cursor" | "leave":
                return block is not None or self.takes_letters
            case "filter":
                return isinstance(block, CallBlock | FoldBlock) and block.group.has_header
            case "failed":
                return isinstance(block, CallBlock | FoldBlock) and self.next_failed() is not None
            case "menu":
                return isinstance(block, CallBlock)
            case "call":
                return isinstance(block, CallBlock) and block.allows(str(parameters[0]))
            case "toggle_block":
                return block is not None and block.opens and block.open is (parameters[0] == "close")
            case "copy":
                return block is not None and (not isinstance(block, CallBlock) or block.allows("copy"))
            case "files":
                return block is not None and bool(block.files)
            case "result":
                return isinstance(block, CallBlock) and block.open and str(parameters[0]) in block.detail.keys
            case _:
                return True

    def newest_calls(self) -> list[Panel]:
        group = newest_group(self._blocks())
        return [] if group is None else group.panels


def newest_group(blocks: Sequence[Block]) -> CallGroup | None:
    return next((block.group for block in reversed(blocks) if isinstance(block, CallBlock)), None)


def _rank(block: Panel) -> int:
    if block.call.waits_for_you:
        return 1
    return {CallState.RUNNING: 0, CallState.FINISHED: 3}.get(block.call.state, 2)
