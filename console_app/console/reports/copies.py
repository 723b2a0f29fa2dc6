"""List what can be copied of a text or a call: the whole, each of its code blocks, each table as CSV, a result."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from console_app.domain import one_line, plural
from console_app.domain.transcript import CallView, results
from console_app.records import dataclass

if TYPE_CHECKING:
    from markdown_it.token import Token

_STYLED = re.compile(r"\x1b\[[0-9;:]*m")  # colours and the like, which say nothing


@dataclass(frozen=True, slots=True)
class Copy:
    what: str
    about: str
    text: str


@lru_cache(maxsize=1)
def _parser() -> Any:
    """Return a parser for CommonMark and tables, to which HTML is text."""
    from markdown_it import MarkdownIt  # 20 ms: only once something is copied

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 12}).enable(["table", "strikethrough"])


def copies_of_answer(text: str) -> list[Copy]:
    return [copy_of("answer", text), *_parts(_parser().parse(text))]


def copies_of_texts(call: CallView, arguments: str) -> Iterator[Copy]:
    yield copy_of(f"arguments of {call.tool or call.name}", arguments)
    yield copy_of(f"output of {call.tool or call.name}", "\n".join(entry.text for entry in call.log))
    if call.raw:
        yield copy_of("call as the model wrote it", call.raw)


def result_copy(call: CallView) -> Copy:
    return copy_of(f"result of {call.tool or call.name}", results.without_remarks(call.content))


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def copy_of(what: str, text: str) -> Copy:
    begin = _STYLED.sub("", text[:2000]).strip()[:200]
    return Copy(one_line(what, 60), f"{measure(text)} · {one_line(begin, 60)}", text)


def measure(text: str) -> str:
    return plural(text.rstrip("\n").count("\n") + 1, "line")


def table_size(rows: Sequence[Sequence[str]]) -> str:
    return f"{plural(max(len(rows) - 1, 0), 'row')} × {plural(len(rows[0]) if rows else 0, 'column')}"


def _parts(tokens: Sequence[Token]) -> Iterator[Copy]:
    codes = tables = 0
    rows: list[list[str]] = []
    for token in tokens:
        match token.type:
            case "fence" | "code_block":
                codes += 1
                language = one_line(token.info.split()[0], 20) if token.info.strip() else "code"
                first = next((line.strip() for line in token.content.split("\n") if line.strip()), "")
                about = f"{language} · {measure(token.content)} · {one_line(first, 60)}"
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
                    f"table {tables} as CSV", f"{table_size(rows)} · {one_line(', '.join(rows[0]), 60)}", as_csv(rows)
                )
                rows = []
            case _:
                pass
