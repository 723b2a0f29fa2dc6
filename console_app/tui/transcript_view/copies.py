"""What of a block can be copied by itself: a message, each code block of it, each table as CSV, a result, arguments."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from markdown_it.token import Token

from console_app.domain.safe_text import one_line
from console_app.engine.results import without_remarks
from console_app.tui.transcript_view import json_view
from console_app.tui.transcript_view.block import Block
from console_app.tui.transcript_view.call_block import CallBlock
from console_app.tui.transcript_view.markdown_rows import parser
from console_app.tui.transcript_view.message_blocks import AssistantBlock
from console_app.tui.transcript_view.results.kind import Table
from console_app.tui.transcript_view.user_block import UserBlock
from console_app.tui.transcript_view.wording import plural


@dataclass(frozen=True, slots=True)
class Copy:
    """One thing to copy: `what` it is in a few words, what tells it from the others, and its text."""

    what: str
    about: str
    text: str


def copies_of(block: Block) -> list[Copy]:
    """Everything of a block that can be copied by itself, first what a plain copy takes."""
    if isinstance(block, AssistantBlock):
        return copies_of_answer(block.markdown.text)
    if isinstance(block, CallBlock):
        return [copy for copy in _of_call(block) if copy.text]
    if isinstance(block, UserBlock):
        attached = (
            Copy(f"attachment {one.name or one.uri}", _measure(one.text), one.text) for one in block.attachments
        )
        return [_copy("message", block.text), *(copy for copy in attached if copy.text)]
    return [_copy("text", block.copy_text)]


def copies_of_answer(text: str) -> list[Copy]:
    """A text in Markdown: all of it, its code blocks and its tables."""
    return [_copy("answer", text), *_parts(parser().parse(text))]


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV, with a line end behind each."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _of_call(block: CallBlock) -> Iterator[Copy]:
    call = block.call
    if block.finished:
        yield _copy(f"result of {call.tool or call.name}", without_remarks(call.content))
        for body in (block.detail.body, block.detail.beside):
            if body is not None and body.found.kind == "table":
                table = cast("Table", body.found.value)
                rows = [list(table.columns), *table.rows(0, table.count)]
                yield Copy("table as CSV", f"{_size(rows)} · {one_line(', '.join(table.columns), 60)}", as_csv(rows))
    arguments = call.arguments_text if call.arguments is None else json_view.dump(call.arguments)
    yield _copy(f"arguments of {call.tool or call.name}", arguments)
    yield _copy(f"output of {call.tool or call.name}", "\n".join(entry.text for entry in call.log))
    if call.raw:
        yield _copy("call as the model wrote it", call.raw)


def _parts(tokens: Sequence[Token]) -> Iterator[Copy]:
    codes = tables = 0
    rows: list[list[str]] = []
    for token in tokens:
        match token.type:
            case "fence" | "code_block":
                codes += 1
                language = one_line(token.info.split()[0], 20) if token.info.strip() else "code"
                first = next((line.strip() for line in token.content.split("\n") if line.strip()), "")
                about = f"{language} · {_measure(token.content)} · {one_line(first, 60)}"
                yield Copy(f"code {codes}", about, token.content.removesuffix("\n"))
            case "table_open":
                rows = []
            case "tr_open":
                rows.append([])
            case "inline" if rows:
                rows[-1].append("".join(child.content for child in token.children or ()))
            case "table_close":
                tables += 1
                yield Copy(
                    f"table {tables} as CSV", f"{_size(rows)} · {one_line(', '.join(rows[0]), 60)}", as_csv(rows)
                )
                rows = []
            case _:
                pass


def _copy(what: str, text: str) -> Copy:
    return Copy(one_line(what, 60), f"{_measure(text)} · {one_line(text.strip()[:200], 60)}", text)


def _measure(text: str) -> str:
    return plural(text.rstrip("\n").count("\n") + 1, "line")


def _size(rows: Sequence[Sequence[str]]) -> str:
    return f"{plural(max(len(rows) - 1, 0), 'row')} × {plural(len(rows[0]) if rows else 0, 'column')}"
