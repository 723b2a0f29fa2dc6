"""What of a block can be copied by itself, as the conversation has it, and the tables that a result is shown as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from console_app.console.reports.copies import (
    Copy,
    as_csv,
    copies_of_answer,
    copies_of_texts,
    copy_of,
    measure,
    result_copy,
    table_size,
)
from console_app.domain.safe_text import one_line
from console_app.tui.lineview import AssistantBlock, Block, CallBlock, Table, UserBlock, dump

MOST_MARKDOWN = 100_000  # characters of a result that is parsed for its code blocks and tables while a key waits


def copies_of(block: Block) -> list[Copy]:
    """Everything of a block that can be copied by itself, first what a plain copy takes."""
    if isinstance(block, AssistantBlock):
        return copies_of_answer(block.markdown.text)
    if isinstance(block, CallBlock):
        return [copy for copy in _of_call(block) if copy.text]
    if isinstance(block, UserBlock):
        attached = (Copy(f"attachment {one.name or one.uri}", measure(one.text), one.text) for one in block.attachments)
        return [copy_of("message", block.text), *(copy for copy in attached if copy.text)]
    return [copy_of("text", block.copy_text)]


def _of_call(block: CallBlock) -> Iterator[Copy]:
    call = block.call
    if block.finished:
        yield result_copy(call)
        body = block.detail.body
        if body.found.kind == "markdown" and len(body.found.text) <= MOST_MARKDOWN:
            yield from copies_of_answer(body.found.text)[1:]
        for body in (block.detail.body, block.detail.beside):
            if body is not None and body.found.kind == "table":
                table = cast("Table", body.found.value)
                rows = [list(table.columns), *table.rows(0, table.count)]
                about = f"{table_size(rows)} · {one_line(', '.join(table.columns), 60)}"
                yield Copy("table as CSV", about, as_csv(rows))
    arguments = call.arguments_text if call.arguments is None else dump(call.arguments)
    yield from copies_of_texts(call, arguments)
