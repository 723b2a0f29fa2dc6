"""Lay out an open panel: arguments, live output, the full result, files, and the ids under which the call is known.

Each part is laid out once for a width and palette; a result of megabytes only as far as its first page. Arguments are
texts as they are, replacements as the lines that they change, all else as JSON, behind a column of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from rich.cells import cell_len

from console_app.domain import CallState, Outcome, amounts, call_description, displayed, one_line, plural, visible
from console_app.domain.transcript import CallView, results
from console_app.records import dataclass
from console_app.tui.lineview.lines import Line, Piece, Row
from console_app.tui.lineview.palette import Palette
from console_app.tui.lineview.results.body import ResultBody, is_of_our_shell
from console_app.tui.lineview.results.json_tree import JsonTree, Path
from console_app.tui.lineview.results.kind import ResultKind, kind_of, records_of, says_the_same
from console_app.tui.lineview.results.picture import MOST_DRAWN, PictureView
from console_app.tui.lineview.results.windows import INDENT, indented
from console_app.tui.lineview.text import json_view
from console_app.tui.lineview.text.ansi import SGR, AnsiPainter
from console_app.tui.lineview.text.joined import Joined, Lookup
from console_app.tui.lineview.text.text_page import FIRST_PAGE, TextPage

CHANGE = "change"  # in the column of names, before the lines that a replacement changes
_GAP = 2  # cells behind the names
_MARKS = re.compile(r"\]?<\]\w*\[?>?\[?|[<\[]/?[|\w][^<>\[\]\n]{0,60}(?:[>\]]|\Z)|[<\[]/?\|?\Z|[{}]")
"""Tags and tokens between which a model writes the values of a call in its text, and what may become one."""


@dataclass(frozen=True, slots=True)
class _Line:
    """`name` is set on the first line of a value; `is_json` where it is coloured as that."""

    name: str
    text: str
    mark: displayed.Mark = " "
    is_json: bool = False
    is_note: bool = False


def arguments_text(arguments: Mapping[str, Any]) -> str:
    return "\n".join(f"{line.name} {line.text}" for line in _lines(arguments) if not line.is_note)


def is_marked(call: CallView) -> bool:
    """Tell whether the arguments still arrive as text with marks between them, and not as a JSON object."""
    return call.arguments is None and call.origin == "text" and not call.arguments_text.lstrip().startswith('{"')


def without_marks(text: str) -> str:
    return _MARKS.sub(" ", text)


def arrived_lines(call: CallView) -> tuple[Sequence[str], int]:
    """The first page of the arguments so far, without lines of mere marks, and how many more lines there are."""
    lines, left = TextPage(call.arguments_text).first(FIRST_PAGE)
    if is_marked(call) and call.state is not CallState.FINISHED:
        lines = [line.rstrip() for line in without_marks("\n".join(lines)).split("\n") if line.strip()]
    return lines, left


def argument_rows(arguments: Mapping[str, Any], width: int, palette: Palette) -> list[Row]:
    """The arguments as rows of at most `width` cells, a little to the right, as all parts of a panel are."""
    lines = list(_lines(arguments))
    column = Line.column(line.name for line in lines)
    lead = INDENT + column + _GAP
    inks = {"+": palette.success, "-": palette.error, " ": palette.base}
    rows: list[Row] = []
    for line in lines:
        name = line.name
        if cell_len(name) > column:
            rows.append(Row([(" " * INDENT, palette.base), (name, palette.syntax["key"])], gutter=INDENT))
            name = ""
        ink = palette.muted if line.is_note else inks[line.mark]
        value = json_view.paint(line.text, palette) if line.is_json else [(line.text, ink)] if line.text else []
        for place, row in enumerate(Line.chop(value, max(width - lead, 8))):
            shown = name if place == 0 else ""
            before: list[Piece] = [(" " * INDENT, palette.base), (shown, palette.syntax["key"])]
            before.append((" " * (lead - INDENT - cell_len(shown)), palette.base))
            gutter = lead if not shown or line.is_note else INDENT
            rows.append(Row([*before, *row.pieces], row.joint, gutter + len(line.text) * line.is_note))
    return rows


def _lines(arguments: Mapping[str, Any]) -> Iterator[_Line]:
    edits, said = displayed.edits_of(arguments)
    if any(max(old.count("\n"), new.count("\n")) >= FIRST_PAGE for old, new in edits):
        said = frozenset[str]()
    for name, value in arguments.items():
        if name not in said:
            yield from _value(one_line(str(name), 200), value)
    for old, new in edits if said else ():
        changed, _ = displayed.diff_lines(old.split("\n"), new.split("\n"))
        while not changed[-1].text and changed[-1].mark == " ":
            changed.pop()  # behind the last line end
        for number, line in enumerate(changed):
            text = line.text if line.mark == " " and not line.name else f"{line.mark} {line.text}"
            yield _Line("" if number else CHANGE, text, line.mark)


def _value(name: str, value: object) -> Iterator[_Line]:
    text = value if isinstance(value, str) else json_view.dump(value)
    lines, left = TextPage(text).first(FIRST_PAGE)
    for number, line in enumerate(lines or [""]):
        yield _Line("" if number else name, Line.clean(line), is_json=not isinstance(value, str))
    if left:
        yield _Line("", f"… {plural(left, 'more line')}", is_note=True)


ResultKey = Literal["more", "raw", "rendered", "fold", "unfold"]
RESULT_KEYS: tuple[ResultKey, ...] = get_args(ResultKey)
LONG_ERROR = 60  # characters, past which the line in the head may not have room for all of it
LIVE_LOG = 8  # log lines of a running call; a finished one shows them all


class CallDetail:
    def __init__(self, call: CallView) -> None:
        self._call = call
        self._sections: dict[str, tuple[object, Sequence[Row]]] = {}
        self._rows: tuple[object, Joined[Row]] = (None, Joined(()))
        self._bodies: tuple[str, ResultBody, ResultBody | None] | None = None
        self._source: tuple[str, TextPage] | None = None
        self._pictures: dict[str, PictureView] = {}  # by path
        self.raw = False  # whether the result is shown as it came

    @property
    def keys(self) -> frozenset[ResultKey]:
        if self._call.state is not CallState.FINISHED:
            return frozenset()
        found = self.body.found
        other = found.kind != "text" or ("\x1b[" in found.text and SGR.search(found.text) is not None)
        said = self._call.structured is not None and self.beside is None  # left out, as the text says the same
        other = other or said or self._text != results.without_remarks(self._call.content, self._call.outcome)
        able = {"more": any(one.left for one in self._shown), "raw": other and not self.raw, "rendered": self.raw,
                "fold": bool(self._trees), "unfold": bool(self._trees)}  # fmt: skip
        return frozenset(key for key in RESULT_KEYS if able[key])

    def press(self, key: ResultKey) -> bool:
        match key:
            case "more":
                for body in self._shown:
                    body.show_more()
            case "raw" | "rendered":
                self.raw = key == "raw"
                self._bodies = None
            case "fold" | "unfold":
                delta = 1 if key == "unfold" else -1
                return sum(tree.deepen(delta) for tree in self._trees) > 0
        return True

    def turn(self, tree: str, path: Path) -> None:
        for one in self._trees:
            if one.name == tree:
                one.turn(path)

    def own_page(self) -> TextPage:
        if self._source is None or self._source[0] is not self._call.content:
            self._source = (
                self._call.content,
                TextPage(results.without_remarks(self._call.content, self._call.outcome)),
            )
        return self._source[1]

    @property
    def body(self) -> ResultBody:
        return self._both()[0]

    @property
    def tells_error(self) -> bool:
        """Tell whether the result shows the whole error, so that nothing of it need be repeated above."""
        error = (self._call.error or "").strip()
        told = error in self._text or len(error) > LONG_ERROR
        return told and self.body.page.count > 0 and not self.body.left

    @property
    def arguments_text(self) -> str:
        call = self._call
        return call.arguments_text if call.arguments is None else json_view.dump(call.arguments)

    @property
    def beside(self) -> ResultBody | None:
        return None if self._call.structured is None else self._both()[1]

    @property
    def unfinished(self) -> Sequence[ResultBody]:
        return () if self._bodies is None else [one for one in self._bodies[1:] if one is not None and one.unfinished]

    def forget(self) -> None:
        """Drop the lines that were laid out, but keep how far the result was opened."""
        self._sections.clear()
        self._rows = (None, Joined(()))
        self._source = None
        self._pictures.clear()
        if self._bodies is not None:
            bodies = [one for one in self._bodies[1:] if one is not None]
            for one in bodies:
                one.forget()
            if not any(one.touched for one in bodies):
                self._bodies = None

    def put_pictures_away(self) -> None:
        """Drop the pictures of a panel that was closed: they are read again when it is opened."""
        self._pictures.clear()

    @property
    def pictures(self) -> object:
        return tuple(one.version for one in self._pictures.values())

    @property
    def awaits_a_picture(self) -> bool:
        return any(one.is_awaited for one in self._pictures.values())

    def texts(self) -> list[str]:
        """The texts that are searched, part by part as `rows` shows them; what is never shown is not among them."""
        call = self._call
        found = [arguments_text(call.arguments) if call.arguments else "\n".join(arrived_lines(call)[0])]
        found = found if call.arguments != {} else []
        if call.raw and (call.outcome is Outcome.INVALID or call.repaired):
            found.append("\n".join(TextPage(call.raw).first(FIRST_PAGE)[0]))
        shown = call.log if call.state is CallState.FINISHED else call.log[-LIVE_LOG:]
        found += [entry.text for entry in shown]
        found += ["\n".join(map(_without_colours, self._written_lines()))] if call.output is not None else []
        if call.state is CallState.FINISHED:
            found.append(visible(call.content) if self.raw else _without_colours(self._text))
            if self.beside is not None:
                found.append(self.beside.found.text)
            found += [f"{artifact.name} {artifact.path or artifact.uri or ''}" for artifact in call.artifacts]
        return found

    def rows(self, width: int, palette: Palette) -> Joined[Row]:
        """All parts, as rows of at most `width` cells; those of a long result are made when they are looked at."""
        call = self._call
        arguments = (call.ready_at, call.edited, len(call.arguments_text), call.arguments is None)
        drawings: list[tuple[Callable[[int, Palette], Sequence[Row]], object]] = [(self._arguments, arguments)]
        if call.raw or call.repaired:
            drawings.append((self._written, call.ready_at))
        if call.log:
            drawings.append((self._log, (call.logged, call.outcome)))
        if call.output is not None:
            drawings.append((self._output, (call.output.received, call.outcome)))
        if call.state is CallState.FINISHED:
            beside = None if self.beside is None else self.beside.version
            drawings.append((self._results, (call.finished_at, self.raw, self.body.version, beside, self.pictures)))
        parts: list[Sequence[Row]] = []
        for draw, shown in drawings:
            key, known = (width, palette, shown), self._sections.get(draw.__name__)
            if known is None or known[0] != key:
                known = self._sections[draw.__name__] = (key, draw(width, palette))
            parts.append(known[1])
        parts.append([self._identity(palette)])
        drawn = [part for part in parts if part]
        key = (width, palette, *(id(part) for part in drawn[:-1]))
        if key != self._rows[0]:
            self._rows = (key, Joined(one for part in drawn for one in ([Row([])], part)))
        return self._rows[1]

    @property
    def _text(self) -> str:
        return results.shown_text(self._call)

    @property
    def _trees(self) -> list[JsonTree]:
        return [body.tree for body in self._shown if body.tree is not None]

    def unfold_match(self, *, missing: bool, far: bool) -> bool:
        """Open all trees where matches are missing, else show lines far down; False where that shows nothing else."""
        return (missing and sum(body.unfold_all() for body in self._shown) > 0) or (
            far and sum(body.show_far() for body in self._shown) > 0
        )

    @property
    def _shown(self) -> list[ResultBody]:
        return [body for body in self._both() if body is not None]

    def _both(self) -> tuple[ResultBody, ResultBody | None]:
        call = self._call
        if self._bodies is not None and self._bodies[0] is call.content:
            return self._bodies[1:]
        if self.raw:
            found = ResultKind("text", call.content, styled=False)
        else:
            text = self._text
            found = kind_of(text, call.arguments)
            if call.outcome is not Outcome.SUCCEEDED and found.kind != "json":
                found = ResultKind("text", text)
        beside = None
        said = results.without_remarks(call.content)
        if call.structured is not None and (
            self.raw or not (is_of_our_shell(said) or says_the_same(said, call.structured))
        ):
            text, records = json_view.dump(call.structured), records_of(call.structured)
            kind = "text" if self.raw else "json" if records is None else "table"
            value = None if self.raw else records or call.structured
            beside = ResultBody(ResultKind(kind, text, value=value, styled=not self.raw), "beside")
        self._bodies = (call.content, ResultBody(found, "result"), beside)
        return self._bodies[1:]

    def _arguments(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        title = "arguments" + (", as you edited them" if call.edited else "")
        if call.arguments is not None:
            if not call.arguments:
                return [_title("no arguments", palette)]
            return [_title(title, palette), *argument_rows(call.arguments, width, palette)]
        if not call.arguments_text:
            return []
        lines, left = arrived_lines(call)
        rows = [_title(title + (" as they came" if call.state is CallState.FINISHED else " so far"), palette)]
        for line in lines:
            rows += indented(Line.chop(json_view.paint(line, palette), max(width - INDENT, 1)), palette)
        return rows + _left_out(left, palette)

    def _written(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        rows: list[Row] = []
        for what in call.repaired:
            rows += Line.wrap([("repaired: ", palette.warning), (one_line(what), palette.muted)], width)
        if call.raw and (call.outcome is Outcome.INVALID or call.repaired):
            rows.append(_title("as the model wrote it", palette))
            lines, left = TextPage(call.raw).first(FIRST_PAGE)
            for line in lines:
                rows += indented(
                    Line.chop([(Line.clean(line), palette.base)] if line else [], max(width - INDENT, 1)), palette
                )
            rows += _left_out(left, palette)
        return rows

    def _log(self, width: int, palette: Palette) -> list[Row]:
        call = self._call
        shown = call.log if call.state is CallState.FINISHED else call.log[-LIVE_LOG:]
        earlier = call.logged - len(shown) - sum(entry.dropped for entry in shown)
        rows = [_title("output" + (f" · {earlier:,} earlier" if earlier else ""), palette)]
        begin = call.started_at or call.announced_at
        for entry in shown:
            if entry.dropped:
                rows += _left_out(entry.dropped, palette, hint=" that came too fast to keep")
            ink = {"warning": palette.warning, "debug": palette.muted}.get(entry.level)
            ink = ink or (palette.base if entry.level in ("info", "notice") else palette.error)
            painter = AnsiPainter(ink, palette)
            stamp: Piece = (f"{amounts.seconds(entry.at - begin):>7}  ", palette.muted)
            for number, line in enumerate(entry.text.split("\n")):
                lead: Piece = stamp if number == 0 else (" " * len(stamp[0]), palette.base)
                rows += indented(Line.wrap([lead, *painter.line(line.rstrip("\r"))], max(width - INDENT, 1)), palette)
        return rows

    def _written_lines(self) -> list[str]:
        """The lines that the call has written, of those that are kept; none of an ended one whose result has them."""
        call = self._call
        lines = [] if call.output is None else call.output.lines()
        return [] if lines and call.outcome is not None and lines[-1] in call.content else lines

    def _output(self, width: int, palette: Palette) -> Sequence[Row]:
        lines = self._written_lines()
        title = [_title(f"output · {amounts.size(self._call.output.received)}", palette)] if self._call.output else []
        return Joined([title, _OutputRows(lines, max(width - INDENT, 1), palette)]) if lines else []

    def _results(self, width: int, palette: Palette) -> Sequence[Row]:
        call, body = self._call, self.body
        parts: list[Sequence[Row]] = []
        failed = call.outcome is not None and call.outcome.is_error
        if call.error and len(call.error.strip()) > LONG_ERROR and call.error.strip() not in call.content:
            parts.append(
                Line.wrap(
                    [(Line.clean(" ".join(call.error.split())), palette.error if failed else palette.muted)], width
                )
            )
        raw = " · as it came" if self.raw else ""
        if body.page.count:
            parts.append([_title(f"{'error' if failed else 'result'} · {body.measure}{raw}", palette)])
            parts.append(body.rows(width, palette, palette.error if failed else palette.base))
            hint = " · m shows more · c copies all" if body.left else ""
            parts.append(_left_out(body.hidden, palette, body.unit, hint))
        elif call.outcome is Outcome.SUCCEEDED and not call.artifacts:
            parts.append([_title("result: empty", palette)])
        if (beside := self.beside) is not None:
            parts.append([_title(f"structured · {beside.measure}{raw}", palette)])
            parts.append(beside.rows(width, palette, palette.base))
            hint = " · m shows more" if beside.left else ""
            parts.append(_left_out(beside.hidden, palette, beside.unit, hint))
        return Joined([*parts, self._files(width, palette)])

    def _files(self, width: int, palette: Palette) -> list[Row]:
        rows: list[Row] = []
        drawn = [one.path for one in self._call.artifacts if one.is_picture][:MOST_DRAWN]
        for artifact in self._call.artifacts:
            where = artifact.path or artifact.uri or "not saved"
            picture = artifact.path in drawn
            facts = (
                [artifact.picture_facts]
                if picture
                else [artifact.mime, amounts.size(artifact.size) if artifact.size else ""]
            )
            told = " · ".join(one_line(part) for part in facts if part)
            name, path = one_line(artifact.name), one_line(where)
            label = "picture  " if picture else "file  "
            pieces = [(label, palette.muted), (name, palette.strong), (f"  {told}  ", palette.muted)]
            pieces += [("f opens it  ", palette.muted)] if picture and not palette.draws else []
            listed = Line.wrap([*pieces, (path, palette.link)], width)
            listed[0].gutter = len(label)
            rows += listed
            if picture and palette.draws and not self.raw:
                view = self._pictures.setdefault(artifact.path, PictureView(artifact))
                rows += indented(view.rows(max(width - INDENT, 1), palette, palette.canvas), palette)
            else:
                self._pictures.pop(artifact.path, None)
        return rows

    def _identity(self, palette: Palette) -> Row:
        call = self._call
        origin = ", ".join(part for part in (call_description.ORIGINS[call.origin], call.dialect) if part)
        return Row([(f"{Line.clean(call.id)} · {Line.clean(call.name)} · {origin}".replace("\n", " "), palette.muted)])


class _OutputRows(Lookup[Row]):
    def __init__(self, lines: Sequence[str], room: int, palette: Palette) -> None:
        self._lines, self._room, self._palette = lines, room, palette
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def item(self, index: int) -> Row:
        if (made := self._made.get(index)) is None:
            pieces = AnsiPainter(self._palette.base, self._palette).line(self._lines[index])
            [made] = indented([Row(Line.trim(pieces, self._room))], self._palette)
            self._made[index] = made
        return made


def _without_colours(text: str) -> str:
    return SGR.sub("", text) if "\x1b" in text else text


def _title(text: str, palette: Palette) -> Row:
    return Row([(text, palette.muted)])


def _left_out(count: int, palette: Palette, unit: str = "line", hint: str = "") -> list[Row]:
    return [Row([(f"  … {plural(count, f'more {unit}')}{hint}", palette.muted)])] if count > 0 else []
