"""What an open panel shows: arguments, live output, the full result, files, and the ids under which it is known.

Each part is laid out once for a width and palette; a result of megabytes only as far as its first page.
"""

from __future__ import annotations

from collections.abc import Callable

from console_app.domain.safe_text import one_line
from console_app.domain.tools import CallOrigin, CallState, Outcome
from console_app.domain.transcript_parts import CallView
from console_app.tui.transcript_view import json_view
from console_app.tui.transcript_view.ansi import AnsiPainter
from console_app.tui.transcript_view.text_page import FIRST_PAGE, PAGE_GROWTH, TextPage
from console_app.tui.transcript_view.wording import plural, seconds, size
from console_app.tui.widgets.lines import Piece, Row, chop, clean, wrap
from console_app.tui.widgets.palette import Palette

LIVE_LOG = 8  # log lines of a running call; a finished one shows them all
INDENT = 2
ORIGINS: dict[CallOrigin, str] = {
    "native": "native call",
    "text": "call read from text",
    "provider": "run by the provider itself",
}


class CallDetail:
    """The inside of one call's open panel."""

    def __init__(self, call: CallView) -> None:
        self._call = call
        self._limit = FIRST_PAGE
        self._sections: dict[str, tuple[object, list[Row]]] = {}
        self._result: tuple[str, TextPage, bool] | None = None
        self._source: TextPage | None = None

    @property
    def has_more(self) -> bool:
        """Whether lines of the result are not shown yet."""
        return self._call.state is CallState.FINISHED and self.page().count > self._limit

    def show_more(self) -> None:
        """Shows a longer page of the result."""
        self._limit *= PAGE_GROWTH

    def source_page(self) -> TextPage:
        """The result as it came."""
        if self._source is None or self._source.text is not self._call.content:
            self._source = TextPage(self._call.content)
        return self._source

    def page(self) -> TextPage:
        """The result as it is shown: JSON laid out, everything else as it came."""
        return self._paged()[0]

    def forget(self) -> None:
        """Drops what was laid out."""
        self._sections.clear()
        self._result = self._source = None

    def rows(self, width: int, palette: Palette) -> list[Row]:
        """All parts, as rows of at most `width` cells."""
        call = self._call
        look = (width, palette)
        arguments = (call.ready_at, call.edited, len(call.arguments_text), call.arguments is None)
        parts = [self._part("arguments", (*look, *arguments), lambda: self._arguments(width, palette))]
        if call.raw or call.repaired:
            parts.append(self._part("source", (*look, call.ready_at), lambda: self._written(width, palette)))
        if call.log:
            tail = (len(call.log), call.log[-1].at, call.outcome)
            parts.append(self._part("log", (*look, *tail), lambda: self._log(width, palette)))
        if call.state is CallState.FINISHED:
            done = (*look, call.finished_at, self._limit)
            parts.append(self._part("result", done, lambda: self._results(width, palette)))
        parts.append([self._identity(palette)])
        return [row for part in parts if part for row in (Row([]), *part)]

    def _part(self, name: str, key: object, build: Callable[[], list[Row]]) -> list[Row]:
        built = self._sections.get(name)
        if built is None or built[0] != key:
            built = self._sections[name] = (key, build())
        return built[1]

    def _paged(self) -> tuple[TextPage, bool]:
        content = self._call.content
        if self._result is None or self._result[0] is not content:
            laid_out = json_view.pretty(content)
            self._result = (content, TextPage(content if laid_out is None else laid_out), laid_out is not None)
        return self._result[1], self._result[2]

    def _arguments(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        title = "arguments" + (", as you edited them" if call.edited else "")
        if call.arguments is None:
            if not call.arguments_text:
                return []
            lines, left = TextPage(call.arguments_text).first(FIRST_PAGE)
            title += " as they came" if call.state is CallState.FINISHED else " so far"
        elif not call.arguments:
            return [_title("no arguments", palette)]
        else:
            lines, left = TextPage(json_view.dump(call.arguments)).first(FIRST_PAGE)
        rows = [_title(title, palette)]
        for line in lines:
            rows += _indented(chop(json_view.paint(line, palette), max(width - INDENT, 1)), palette)
        return rows + _left_out(left, palette)

    def _written(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        rows: list[Row] = []
        for what in call.repaired:
            rows += wrap([("repaired: ", palette.warning), (one_line(what), palette.muted)], width)
        if call.raw and (call.outcome is Outcome.INVALID or call.repaired):
            rows.append(_title("as the model wrote it", palette))
            lines, left = TextPage(call.raw).first(FIRST_PAGE)
            for line in lines:
                rows += _indented(chop([(clean(line), palette.base)] if line else [], max(width - INDENT, 1)), palette)
            rows += _left_out(left, palette)
        return rows

    def _log(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        shown = call.log if call.state is CallState.FINISHED else call.log[-LIVE_LOG:]
        earlier = len(call.log) - len(shown)
        rows = [_title("output" + (f" · {earlier:,} earlier" if earlier else ""), palette)]
        begin = call.started_at or call.announced_at
        for entry in shown:
            ink = {"warning": palette.warning, "debug": palette.muted}.get(entry.level)
            ink = ink or (palette.base if entry.level in ("info", "notice") else palette.error)
            painter = AnsiPainter(ink, palette)
            stamp: Piece = (f"{seconds(entry.at - begin):>7}  ", palette.muted)
            for number, line in enumerate(entry.text.split("\n")):
                lead: Piece = stamp if number == 0 else (" " * len(stamp[0]), palette.base)
                rows += _indented(wrap([lead, *painter.line(line.rstrip("\r"))], max(width - INDENT, 1)), palette)
        return rows

    def _results(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        page, is_json = self._paged()
        rows: list[Row] = []
        if call.error and len(call.error) > 60 and call.error.strip() not in call.content:
            style = palette.error if call.outcome is not None and call.outcome.is_error else palette.muted
            rows += wrap([(clean(" ".join(call.error.split())), style)], width)
        if page.count:
            failed = call.outcome is not None and call.outcome.is_error
            rows.append(_title(f"{'error' if failed else 'result'} · {page.measure}", palette))
            lines, left = page.first(self._limit)
            painter = AnsiPainter(palette.error if failed else palette.base, palette)
            for line in lines:
                pieces = json_view.paint(line, palette) if is_json else painter.line(line.expandtabs(8))
                rows += _indented(chop(pieces, max(width - INDENT, 1)), palette)
            rows += _left_out(left, palette, more=True)
        elif call.outcome is Outcome.SUCCEEDED:
            rows.append(_title("result: empty", palette))
        if call.structured is not None:
            page = TextPage(json_view.dump(call.structured))
            rows.append(_title(f"structured · {page.measure}", palette))
            lines, left = page.first(self._limit)
            for line in lines:
                rows += _indented(chop(json_view.paint(line, palette), max(width - INDENT, 1)), palette)
            rows += _left_out(left, palette)
        for artifact in call.artifacts:
            where = artifact.path or artifact.uri or "not saved"
            facts = " · ".join(
                part for part in (one_line(artifact.mime), size(artifact.size) if artifact.size else "") if part
            )
            name, path = one_line(artifact.name), one_line(where)
            pieces = [("file  ", palette.muted), (name, palette.strong), (f"  {facts}  ", palette.muted)]
            rows += wrap([*pieces, (path, palette.link)], width)
        return rows

    def _identity(self, palette: Palette) -> Row:
        call = self._call
        origin = ", ".join(part for part in (ORIGINS[call.origin], call.dialect) if part)
        return Row([(f"{clean(call.id)} · {clean(call.name)} · {origin}".replace("\n", " "), palette.muted)])


def _title(text: str, palette: Palette) -> Row:
    return Row([(text, palette.muted)])


def _indented(rows: list[Row], palette: Palette) -> list[Row]:
    return [Row([(" " * INDENT, palette.base), *row.pieces], row.joint, INDENT) for row in rows]


def _left_out(count: int, palette: Palette, *, more: bool = False) -> list[Row]:
    if count <= 0:
        return []
    hint = " · m shows more · c copies all" if more else ""
    return [Row([(f"  … {plural(count, 'more line')}{hint}", palette.muted)])]
