"""What is copied, and which of it where there are several: the one that was named, or that you pick."""

from __future__ import annotations

from collections.abc import Sequence

from console_app.console.reports.copies import Copy
from console_app.domain.safe_text import one_line
from console_app.tui.lineview import AssistantBlock, Block, CallBlock, UserBlock
from console_app.tui.main_screen.block_copies import copies_of
from console_app.tui.main_screen.console_ui import ConsoleUi

MOST_BLOCKS = 40  # of the newest, that /copy offers


async def copy_answer(ui: ConsoleUi, words: str) -> None:
    """/copy: the newest answer. Where it has parts that can be copied alone you pick one, of it or of what was before;
    `words` names one."""
    answer = next((block for block in reversed(ui.view.blocks) if isinstance(block, AssistantBlock)), None)
    copies = [] if answer is None else copies_of(answer)
    if answer is None and not words:
        ui.toast("There is no answer to copy yet.")
    elif len(copies) == 1 and not words:
        ui.copy(copies[0].text, copies[0].what)
    else:
        await pick(ui, [*copies, *_others(ui.view.blocks, answer)], words)


async def copy_part(ui: ConsoleUi, block: Block) -> None:
    """A part of the selected block; all of it, which a plain copy takes, comes last."""
    copies = copies_of(block)
    await pick(ui, [*copies[1:], *copies[:1]])


async def pick(ui: ConsoleUi, copies: Sequence[Copy], words: str = "") -> None:
    """Copies one of `copies`: the only one, the first with all of `words` in its name, or the one that is picked."""
    from console_app.tui.widgets.pick_list import Choice, PickList

    digits = len(str(len(copies)))
    by_name = {f"{number:>{digits}}. {copy.what}": copy for number, copy in enumerate(copies, 1)}
    if words:
        wanted = words.lower().split()
        copy = next((copy for copy in copies if all(word in copy.what.lower() for word in wanted)), None)
        if copy is None:
            names = ", ".join(dict.fromkeys(copy.what for copy in copies[:6]))
            ui.toast(f"There is no {one_line(words, 40)} to copy. There are: {names or 'none yet'}.", 6)
            return
    elif len(copies) == 1:
        copy = copies[0]
    else:
        choices = [Choice(name, copy.about) for name, copy in by_name.items()]
        copy = by_name.get(await ui.push(PickList("Copy", choices)) or "")
    if copy is not None:
        ui.copy(copy.text, copy.what)


def name_of(block: Block | None, text: str) -> str:
    """What a copied text of a block is, in words; "" where it is none of its parts."""
    parts = [] if block is None else copies_of(block)
    return next((copy.what for copy in parts if copy.text == text), "")


def _others(blocks: Sequence[Block], answer: Block | None) -> list[Copy]:
    """What else of the conversation can be copied, the newest first."""
    able = [block for block in reversed(blocks) if isinstance(block, AssistantBlock | CallBlock | UserBlock)]
    return [copy for block in able[:MOST_BLOCKS] if block is not answer for copy in copies_of(block)]
