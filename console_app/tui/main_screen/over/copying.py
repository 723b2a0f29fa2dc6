"""Copies a block or a part of it: of several parts the one that was named, or that you pick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console_app.console.reports import copies
from console_app.domain import one_line
from console_app.tui.lineview import AssistantBlock, Block, CallBlock, UserBlock
from console_app.tui.main_screen.console_ui import ConsoleUi

MOST_MARKDOWN = 100_000  # characters of a result that is parsed for its code blocks and tables while a key waits
MOST_BLOCKS = 40  # of the newest, that /copy offers


async def copy_answer(ui: ConsoleUi, words: str) -> None:
    """Copy the newest answer (/copy). Where it has parts that can be copied alone, you pick one, of this answer or of
    anything else in the conversation, the newest first. `words` names one."""
    answer = next((block for block in reversed(ui.view.blocks) if isinstance(block, AssistantBlock)), None)
    copies = [] if answer is None else copies_of(answer)
    if answer is None and not words:
        ui.toast("There is no answer to copy yet.")
    elif len(copies) == 1 and not words:
        ui.copy(copies[0].text, copies[0].what)
    else:
        able = [
            block for block in reversed(ui.view.blocks) if isinstance(block, AssistantBlock | CallBlock | UserBlock)
        ]
        others = (copy for block in able[:MOST_BLOCKS] if block is not answer for copy in copies_of(block))
        await pick(ui, [*copies, *others], words)


async def copy_part(ui: ConsoleUi, block: Block) -> None:
    """Copy a part of the selected block. The whole, which a plain copy takes, is listed last."""
    copies = copies_of(block)
    await pick(ui, [*copies[1:], *copies[:1]])


async def pick(ui: ConsoleUi, copies: Sequence[copies.Copy], words: str = "") -> None:
    """Copy one of `copies`: the only one, the first with all of `words` in its name, or the one that is picked."""
    from console_app.tui.widgets.pick_list import PickList

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
        about = {name: copy.about for name, copy in by_name.items()}
        copy = by_name.get(await ui.push(PickList("Copy", about)) or "")
    if copy is not None:
        ui.copy(copy.text, copy.what)


def name_of(block: Block | None, text: str) -> str:
    """Name the part of a block that a copied text is; "" where it is none of its parts."""
    parts = [] if block is None else copies_of(block)
    return next((copy.what for copy in parts if copy.text == text), "")


def copies_of(block: Block) -> list[copies.Copy]:
    """Return everything of a block that can be copied by itself, first what a plain copy takes."""
    if isinstance(block, AssistantBlock):
        return copies.copies_of_answer(block.markdown.text)
    if isinstance(block, CallBlock):
        return [copy for copy in _of_call(block) if copy.text]
    if isinstance(block, UserBlock):
        attached = (
            copies.Copy(f"attachment {one.name or one.uri}", copies.measure(one.text), one.text)
            for one in block.attachments
        )
        return [copies.copy_of("message", block.text), *(copy for copy in attached if copy.text)]
    return [copies.copy_of("text", block.copy_text)]


def _of_call(block: CallBlock) -> Iterator[copies.Copy]:
    call = block.call
    if block.finished:
        yield copies.result_copy(call)
        body = block.detail.body
        if body.found.kind == "markdown" and len(body.found.text) <= MOST_MARKDOWN:
            yield from copies.copies_of_answer(body.found.text)[1:]
        for body in (block.detail.body, block.detail.beside):
            if body is not None and (rows := body.records):
                about = f"{copies.table_size(rows)} · {one_line(', '.join(rows[0]), 60)}"
                yield copies.Copy("table as CSV", about, copies.as_csv(rows))
    yield from copies.copies_of_texts(call, block.detail.arguments_text)
