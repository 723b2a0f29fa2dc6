"""The calls that wait for you, above the prompt: each a row, the selected one with all its arguments.

What a key decides is `ApprovalSelection`'s part; this paints it, and hands on only what proved to be meant.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Input, Static

from console_app.console import Pending, Services, files
from console_app.domain import displayed, one_line, safe_text
from console_app.domain.tools import RiskWord
from console_app.records import dataclass
from console_app.tui.asking.folding_board import SHARE, FoldingBoard
from console_app.tui.asking.key_lines import REPLAYED, KeyLines, key_lines
from console_app.tui.asking.selection import ApprovalDecision, ApprovalSelection
from console_app.tui.asking.settled_keys import MOVED, Moved, at_end, place, show_end, tell_moves
from console_app.tui.lineview import brief_arguments
from console_app.tui.lineview.lines import Line
from console_app.tui.widgets.dialog import HintedInput
from console_app.tui.widgets.key_hints import KeyHints
from console_app.tui.widgets.too_small import TooSmall


@dataclass(frozen=True, slots=True)
class ArgumentRow:
    """A row on screen; `wrapped` when it goes on with the line above."""

    line: displayed.ArgumentLine
    name: str
    text: str
    wrapped: bool


def rows(lines: list[displayed.ArgumentLine], width: int) -> list[ArgumentRow]:
    """Break the lines into rows. No text is wider than the room that `width` cells leave beside marks and names."""
    column = Line.column(line.name for line in lines)
    room = max(width - column - 5, 8)
    found: list[ArgumentRow] = []
    for line in lines:
        name = line.name
        if cell_len(name) > column:
            found += [ArgumentRow(line, part, "", False) for part in Line.chop_text(name, max(width - 3, 8))]
            name = ""
        for n, part in enumerate(Line.chop_text(line.text, room)):
            found.append(ArgumentRow(line, "" if n else name, part, n > 0))
    return found


_MARKS = re.compile(r"<U\+[0-9A-F]{4,6}>|[\u2400-\u2421\u240d]|[⏎␣] x \d+")


class ArgumentsView(ScrollView, can_focus=False):
    DEFAULT_CSS = """
    ArgumentsView { background: $background; scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto; }
    ArgumentsView > .arguments--name { color: $secondary; background: $background; }
    ArgumentsView > .arguments--value { color: $foreground; background: $background; }
    ArgumentsView > .arguments--new { color: $success; background: $background; }
    ArgumentsView > .arguments--old { color: $error; background: $background; }
    ArgumentsView > .arguments--edge { color: $muted; background: $background; }
    ArgumentsView > .arguments--hidden { color: $error; background: $background; text-style: bold; }
    """
    _PARTS = ("name", "value", "new", "old", "edge", "hidden")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"arguments--{part}" for part in _PARTS}

    def __init__(self) -> None:
        super().__init__()
        self._call = ""
        self._lines: list[displayed.ArgumentLine] = []
        self._whole: list[ArgumentRow] = []
        self._rows: list[ArgumentRow] = []  # those of them that are shown, in so many lines
        self._height = 0
        self._lead: frozenset[int] = frozenset()  # ids of the lines of a diff that stand before its first change
        self._hunks: list[int] = []  # the lines at which the parts of a diff begin
        self._laid_out_for = 0

    def show(self, call: str, lines: list[displayed.ArgumentLine], hunks: Sequence[int] = ()) -> None:
        """Show the lines of another call, or its other lines, from the first on; `hunks` are those at which the parts
        of a diff begin."""
        self._hunks = [*hunks]
        if (call, lines) == (self._call, self._lines):
            return
        self._call, self._lines = call, lines
        self._lead = frozenset()
        if self._hunks:
            first = next((n for n in range(self._hunks[0], len(lines)) if lines[n].mark != " "), self._hunks[0])
            self._lead = frozenset(id(line) for line in lines[self._hunks[0] : first])
            self._hunks[0] = first
        self._laid_out_for = 0
        self.lay_out(self.scrollable_content_region.width)
        self.scroll_to(y=0, animate=False, immediate=True)

    def lay_out(self, width: int) -> int:
        """Break the lines for so many cells, and return how many rows they take."""
        if width > 0 and width != self._laid_out_for:
            self._laid_out_for = width
            self._whole = rows(self._lines, width)
            self.fit(self._height)
        return len(self._whole)

    def fit(self, height: int) -> int:
        """Fit the rows into so many lines, from the first change of a diff on; return how many are left."""
        self._height = height
        left_out = self._lead if len(self._whole) > height else ()
        self._rows = [row for row in self._whole if id(row.line) not in left_out]
        self.virtual_size = Size(self._laid_out_for, len(self._rows))
        self.refresh()
        return len(self._rows)

    def on_resize(self) -> None:
        self.lay_out(self.scrollable_content_region.width)
        self.post_message(Moved())

    @property
    def place(self) -> str:
        """Say which rows are in view; "" when all are, or when a row of the board shows all of the arguments."""
        if not self.display:
            return ""
        height, count = self.scrollable_content_region.height, len(self._rows)
        if height <= 0 or count <= height:
            return ""
        first, said = int(self.scroll_offset.y), place(self)
        below = self._rows[first + height :]
        written = sum(not safe_text.is_blank(row.text) for row in below)
        said += f", {written:,} not blank" if written < len(below) else ""
        if len(starts := self._starts()) > 1:
            here = max(sum(start < first + height for start in starts), 1)
            return f"change {here} of {len(starts)} · {said}"
        return said

    def on_mount(self) -> None:
        tell_moves(self)

    def _starts(self) -> list[int]:
        first: dict[int, int] = {}
        for row, one in enumerate(self._rows):
            first.setdefault(id(one.line), row)
        return [first[id(self._lines[hunk])] for hunk in self._hunks if id(self._lines[hunk]) in first]

    def page(self, direction: int) -> None:
        """Scroll a page on or back; on, to where a part of a diff begins in the lower half of the view."""
        here, height = int(self.scroll_offset.y), max(self.size.height - 1, 1)
        ahead = [start for start in self._starts() if here + height / 2 < start <= here + height]
        goal = ahead[-1] if direction > 0 and ahead else here + direction * height
        self.scroll_to(y=max(goal, 0), animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.get_component_rich_style("arguments--value")
        at = y + int(self.scroll_offset.y)
        if at >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[at]
        mark = row.line.mark
        style = self.get_component_rich_style(
            {"+": "arguments--new", "-": "arguments--old"}.get(mark, "arguments--value")
        )
        edge = self.get_component_rich_style("arguments--edge")
        column = Line.column(line.name for line in self._lines)
        name = self.get_component_rich_style("arguments--name")
        pad = " " * max(column - cell_len(row.name), 0)
        segments = [
            Segment(f"{mark} ", style),
            Segment(row.name + pad, name),
            Segment(" ↳ " if row.wrapped else " │ ", edge),
        ]
        if cell_len(row.name) > column:
            segments.pop()
        hidden = self.get_component_rich_style("arguments--hidden")
        last = 0
        for found in _MARKS.finditer(row.text):
            segments += [Segment(row.text[last : found.start()], style), Segment(found[0], hidden)]
            last = found.end()
        segments.append(Segment(row.text[last:], style))
        return Strip(segments).adjust_cell_length(width, base)


RISK_COLOURS: Mapping[RiskWord, str] = {
    "reads": "$success",
    "edits": "$accent",
    "creates": "$accent",
    "runs": "$warning",
    "deletes": "bold $error",
    "network": "$secondary",
    "sends": "$secondary",
    "changes": "$warning",
}
WORD = max(map(len, RISK_COLOURS))  # cells of the longest word


HINTS = {  # of the field for words
    "words": "Why not? The model reads this.",
    "comment": "A note for the model, allowed or denied",
}
MOST_OTHERS = 2  # rules that are for another server
USUAL_WHY = "not pre-approved"  # why most calls ask
MOST_LABEL = 40  # cells of `server · tool` in a row
PLAIN = 40  # characters of a text that a row says whole

_OF_ITS_ROW = frozenset(("y", "n", "f", "e"))  # which count while other rows come
_RULE = (("enter", "write the rule and run"), ("↑↓", "another rule"))
_WORDS = (("enter", "say no"),)
_COMMENT = (("enter", "keep it for what you decide"),)


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Holds the cells of a row and the name of each call. `alike`: all ask for the same reason, which no row says then.
    `replayed`: nobody knows any more what the calls may do."""

    width: int
    names: Mapping[str, str]
    alike: bool
    replayed: bool = False


def row(
    approval: Pending, selected: bool, sizes: RowSizes, now: float, *, opened: bool = False, again: bool = False
) -> Content:
    """A waiting call in a line. `opened`: its arguments stand below; `again`: the row above tells its reason."""
    call = approval.call
    name = sizes.names.get(call.id, one_line(call.tool, MOST_LABEL))
    why, left = _beside(approval, sizes, now)
    why = "" if again else why
    line = Content.styled("▸ " if selected else "  ", "bold $warning")
    if not sizes.replayed:
        line += Content.styled(f"{approval.risk.word:<{WORD}}  ", RISK_COLOURS[approval.risk.word])
    line += Content.styled(name, "bold $foreground" if selected else "$foreground")
    room = _room(approval, sizes, why, left)
    told = one_line(brief_arguments(call.arguments or {}, room), room) if room >= 8 and not opened else ""
    line += _marked(Content.styled(f"  {told}", "$foreground" if selected else "$muted"), approval)
    pad = sizes.width - line.cell_length - len(why) - len(left)
    if pad >= 2:
        line += Content(" " * pad) + Content.styled(why, "$warning" if selected else "$muted")
    return line + Content.styled(left, "$warning")


def says_all(approval: Pending, sizes: RowSizes, now: float) -> bool:
    """Tell whether a call's row shows every argument whole and as it is, with nothing else to know."""
    arguments = approval.call.arguments or {}
    if approval.needs_a_look:
        return False
    for name, value in arguments.items():
        plain = isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= PLAIN)
        if not plain or not all(
            safe_text.is_safe(text) and text.isprintable() and "  " not in text for text in (str(name), str(value))
        ):
            return False
    return cell_len(brief_arguments(arguments, 1000)) <= _room(approval, sizes, *_beside(approval, sizes, now))


def _beside(approval: Pending, sizes: RowSizes, now: float) -> tuple[str, str]:
    left = "" if (end := approval.left) is None else f"  {max(end[1] - now, 0):.0f} s"
    return "" if sizes.alike else one_line(approval.call.why, max(sizes.width // 3, 12)), left


def _room(approval: Pending, sizes: RowSizes, why: str, left: str) -> int:
    return sizes.width - 4 - WORD - 2 - cell_len(sizes.names.get(approval.call.id, "")) - len(why) - len(left) - 4


def _marked(line: Content, approval: Pending) -> Content:
    for begin, end in approval.risk.dangers_in(line.plain):
        line = line.stylize("bold $error", begin, end)
    return line


def header(approval: Pending, hidden: bool, sizes: RowSizes, comment: str = "") -> list[Content]:
    """The lines about the selected call that its row leaves out: an unusual reason, warnings, your own words."""
    call = approval.call
    lines: list[Content] = []
    usual = call.why == USUAL_WHY or not sizes.alike  # then its row says it
    parts = [] if usual else [Content.styled(one_line(call.why, 200), "$warning")]
    if not (approval.rules or approval.changed or approval.form or sizes.replayed):
        parts.append(Content.styled("always asks", "$warning"))
    if call.origin == "text" and not call.form:
        parts.append(Content.styled(f"read from text ({call.dialect})".replace(" ()", ""), "$muted"))
    for part in parts:
        if lines and lines[-1].cell_length + 3 + part.cell_length <= sizes.width:
            lines[-1] += Content.styled(" · ", "$muted") + part
        else:
            lines.append(part)
    marks = Content.styled("+", "$success") + Content.styled(" new  - was", "$muted")
    for other in approval.others[:MOST_OTHERS]:
        rule = f"! {one_line(str(other.rule), 60)}"
        words = (
            f"{rule} is for another server than it runs"
            if other.bound
            else f"{rule}, yours, is not for this file's servers"
        )
        lines.append(Content.styled(one_line(words, sizes.width), "bold $warning"))
    if approval.changed:
        words = "! not the tool you trusted; approving trusts it as it is"
        lines.append(Content.styled(f"{words}   ", "bold $warning") + marks)
    if approval.wrong:
        lines.append(Content.styled(one_line(f"! {approval.wrong}", sizes.width), "bold $warning"))
    if hidden:
        lines.append(
            Content.styled("! holds invisible or direction-changing characters, marked as <U+...>", "bold $error")
        )
    if comment:
        lines.append(Content.styled("your words: ", "$muted") + Content.styled(one_line(comment, 200), "$accent"))
    return lines


def rule_lines(approval: Pending, choice: int, path: str, width: int) -> list[Content]:
    path = one_line(path)
    if len(path) > width - 12:
        path = "…" + path[-max(width - 13, 8) :]  # its end says more
    where = f"Written to {path}" if path else "Not saved: for this session only"
    lines = [
        Content.styled("Always allow calls matching:", "$foreground"),
        Content.styled(where, "$muted"),
    ]
    for n, rule in enumerate(approval.rules):
        here = n == choice
        text = Content.styled(f" {'▸' if here else ' '} ", "bold $warning")
        text += Content.styled("[rules] allow  " if here else "               ", "$muted")
        lines.append(text + Content.styled(one_line(rule, 200), "bold $foreground" if here else "$muted"))
    return lines


def keys(selection: ApprovalSelection, width: int, *, here: bool = True, replayed: bool = False) -> list[Content]:
    """The answers to the selected call by key, faint while they don't count. `here`: the board has the focus."""
    if replayed:
        return [Content.styled(REPLAYED, "$muted")]
    current, stage = selection.current, selection.stage
    if not here or current is None:
        return []
    others = {"rule": _RULE, "words": _WORDS, "comment": _COMMENT}
    shown = others[stage] if stage != "choosing" else _answers(current)
    typing = stage in ("words", "comment")
    counts: bool | frozenset[str] = (selection.keys.settled or typing) and selection.keys.holds is None
    if stage == "choosing" and not selection.keys.settled and selection.keys.settled_here:
        counts = _OF_ITS_ROW
    return key_lines(shown, width, accent="$warning", counts=counts, clicks=not typing)


def _answers(current: Pending) -> Sequence[tuple[str, str]]:
    if current.form:
        said = current.answers
        yes = [("y", said["once"]), ("a", said["form"]), ("n", said["deny"])]
    else:
        rule = one_line("".join(current.rules[:1]), 40)
        more = [("a", f"and {'what it only reads,' if rule.endswith(':reads') else rule} for this session")]
        yes = [("y", "run it"), *(more if rule else []), ("n", "no")]
    return [*yes, ("f", "no, and say why"), ("e", "change it")]


MOST_ROWS = 8
LEAST_ROWS = 3  # that stay beside what needs all the room
ROWS_AND_MORE = 6  # lines, below which the arguments get most of them
AIRY = 14  # lines beside which an empty one, between the rows and what is selected, takes nothing away
BESIDE_IT = 7, 5  # lines of a low screen that it leaves; fewer while it has the keys, and the prompt no frame


def shared(room: int, spare: int, waiting: int, lines: int, *, whole: bool, in_row: bool) -> tuple[int, int, int]:
    """Lines of the rows, of an empty one below, and of arguments that need so many `lines`, from `room`. Seen `whole`
    these have up to `spare`, and the rows make way; `in_row`, none."""
    least = min(waiting, LEAST_ROWS if max(room, spare) > ROWS_AND_MORE else 1)
    if whole:
        room = max(room, min(least + lines, spare))
    gap = int(not in_row and waiting > 0 and room >= max(AIRY, least + lines + 1 if whole else 0))
    room -= gap
    share = 2 if in_row or room >= ROWS_AND_MORE else ROWS_AND_MORE  # of little room the arguments get most
    rows = min(waiting, MOST_ROWS, max(room // share, 1))
    if whole:
        rows = min(rows, max(room - lines, least))
    return rows, gap, max(min(lines, room - rows), 1)


def rows_of(lines: int, waiting: int) -> int:
    """Count the calls that have a row in so many lines. The last line of a cut list tells how many more there are."""
    return lines - 1 if waiting > lines >= LEAST_ROWS else min(lines, waiting)


BESIDE = 6  # cells of its margin, border and padding
LINE = 3  # lines of the field for words, with its frame

log = logging.getLogger(__name__)


class ApprovalBoard(FoldingBoard):
    DEFAULT_CSS = """
    ApprovalBoard {
        border: heavy $warning; border-title-color: $warning;
    }
    ApprovalBoard:blur { border: round $warning 60%; }
    ApprovalBoard.-settling { border: round $warning; }
    ApprovalBoard > Static { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
    ApprovalBoard > .board--rule { display: none; }
    ApprovalBoard > Input { display: none; height: 3; border: round $warning; background: $background; }
    ApprovalBoard > Input:focus { border: round $warning; background-tint: $foreground 0%; }
    ApprovalBoard > Input > .input--placeholder { color: $muted; }
    ApprovalBoard.-words > Input { display: block; }
    ApprovalBoard.-rule > .board--rule { display: block; }
    ApprovalBoard.-rule > ArgumentsView, ApprovalBoard > ArgumentsView.-in-row { display: none; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "press('once')", "allow once", id="board.once", show=False),
        Binding("a", "press('session')", "allow for session", id="board.session", show=False),
        Binding("A", "press('always')", "always allow: shows the rule first", id="board.always", show=False),
        Binding("n", "press('deny')", "deny", id="board.deny", show=False),
        Binding("f", "press('words')", "deny with a comment", id="board.say_why", show=False),
        Binding("c", "press('comment')", "say something to the model", id="board.comment", show=False),
        Binding("e", "press('edit')", "edit the arguments", id="board.edit", show=False),
        Binding("Y", "press('all')", "allow all", id="board.all", show=False),
        Binding("R", "press('reads')", "allow all that only read", id="board.reads", show=False),
        Binding("N", "press('none')", "deny all", id="board.none", show=False),
        Binding("enter", "confirm", "confirm the rule", id="board.confirm", show=False),
        Binding("j,down,tab", "move(1)", "next", id="board.next", show=False),
        Binding("k,up,shift+tab", "move(-1)", "previous", id="board.previous", show=False),
        *(Binding(str(n), f"go({n})", f"row {n}", id=f"board.row{n}", show=False) for n in range(1, 10)),
        Binding("0", "go(0)", "row 10: digits in a row make a number", id="board.row0", show=False),
        Binding("pagedown,space", "scroll_arguments(1)", "more of the arguments", id="board.more", show=False),
        Binding("pageup", "scroll_arguments(-1)", "back in the arguments", id="board.back", show=False),
        Binding("escape", "leave", "decide later", id="board.later", show=False),
    ]
    to_do, accent = "review", "$warning"

    @dataclass
    class Decided(Message):
        decision: ApprovalDecision

    @dataclass
    class EditRequested(Message):
        call_id: str

    @dataclass
    class Refused(Message):
        why: str

    def __init__(self, services: Services, spare: Callable[[], int]) -> None:
        super().__init__(services, spare)
        self.selection = ApprovalSelection(self._timing.now)
        self.keys = self.selection.keys
        self.rules_path = ""  # where "always" writes its rule; "": nowhere, it holds for the session
        self._now = services.clock
        self.can_focus = not self._replayed
        self._first = 0  # row at the top
        self._same: object = None  # who goes from row to row finds the rows where they were
        self._most = 0  # lines that were needed of the same
        self._lines: list[displayed.ArgumentLine] | None = None  # that are displayed of the selected call
        self._calls_shown = 0  # that have a row
        self._changes = files.FileChanges(services.working_folder)
        self._compared: Pending | None = None  # the call whose file was looked at last
        self._clockwork: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(classes="board--rows")
        yield Static(classes="board--header")
        yield ArgumentsView()
        yield Static(classes="board--rule")
        yield HintedInput(hint=HINTS["words"], select_on_focus=False)
        yield KeyLines(self._timing.now, classes="board--keys")

    @property
    def _cells(self) -> int:  # of a line; where it was not laid out yet, those that it will have
        return max(self.content_size.width or self.screen.size.width - BESIDE, 20)

    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        selection = self.selection
        if selection.stage != "choosing" or self._replayed:
            return [("board.later", "back")]
        many, reads = len(selection.waiting), sum(one.only_reads for one in selection.waiting)
        calls = [("board.read", "calls")]
        if many > 1:
            read = "the one that only reads" if reads == 1 else f"the {reads} that only read"
            some = [("board.reads", read)] if reads else []
            calls = [("board.next", "next"), ("board.all", f"all {many}"), *some, ("board.none", "none")]
        return [*calls, ("board.later", "later")]

    @property
    def is_asking(self) -> bool:
        return bool(self.selection.waiting)

    def show(self, waiting: Sequence[Pending]) -> None:
        stage = self.selection.stage
        if not self.selection.show(waiting):
            return
        if stage != self.selection.stage:
            self._leave_stage()
        ids = {approval.call.id for approval in waiting}
        self._changes.keep(ids)
        self._compared = None  # a call that was decided may have changed the file
        self.set_class(bool(waiting), "-asking")
        self._keep_time(any(one.until is not None or one.program is not None for one in waiting))
        self._changed()

    # -- keys

    def on_key(self, event: events.Key) -> None:
        """Note every key before its binding runs: one right behind another was not meant for the board."""
        if self.has_focus:
            self.keys.pressed(event.key)
            self.paint_keys()

    def begin_anew(self) -> None:
        super().begin_anew()
        self._changed_keys()

    def action_press(
        self, what: Literal["once", "session", "always", "deny", "words", "comment", "edit", "all", "reads", "none"]
    ) -> None:
        selection = self.selection
        if not self.has_focus or not self.on_screen:
            return
        if refusal := selection.refusal(what):
            self.post_message(self.Refused(refusal))
            return
        if (unseen := selection.unseen(what)) is not None:
            self.post_message(self.Refused("This call was not shown to its end. Here it is: press the key again."))
            if unseen != selection.selected and selection.go(unseen):
                self._first = unseen
            self.keys.changed()
            self._changed()
            self.call_after_refresh(show_end, self.query_one(ArgumentsView))
            return
        held = False
        match what:
            case "once" | "all" | "reads" | "session":
                held = selection.allow(what)
            case "always":
                held = selection.always() and selection.keys.holds is not None
                self.set_class(selection.stage == "rule", "-rule")
                self._paint()
            case "deny" | "none":
                held = selection.deny(every=what == "none")
            case "words" | "comment":
                if selection.ask_words(what):
                    self.add_class("-words")
                    self.query_one(HintedInput).begin(HINTS[what], selection.comment)
            case "edit":
                if selection.current is not None and selection.may_edit():
                    self.post_message(self.EditRequested(selection.current.call.id))
        if held:
            self.when_meant(self._decided)
        self._changed_keys()

    def action_confirm(self) -> None:
        if self.selection.stage == "rule":
            self.action_press("always")

    def action_move(self, delta: int) -> None:
        if self.selection.move(delta):
            self._changed()

    def action_go(self, digit: int) -> None:
        if self.selection.go_to_number(digit):
            self._changed()
        elif self.selection.stage == "choosing":
            self.post_message(self.Refused(f"No call {digit} waits here."))

    def action_scroll_arguments(self, direction: int) -> None:
        self.query_one(ArgumentsView).page(direction)

    def _note_displayed(self) -> None:
        """Note the calls that were displayed: the selected one to its end, others where their rows say all of them."""
        selection, view = self.selection, self.query_one(ArgumentsView)
        if not self.on_screen or self.folded or selection.stage == "rule":
            return
        sizes, now = self._sizes(), self._now()
        shown = selection.waiting[self._first : self._first + self._calls_shown]
        selection.had_row.update(one.call.id for one in shown)
        for n in range(self._first, min(self._first + self._calls_shown, len(selection.waiting))):
            approval = selection.waiting[n]
            if n != selection.selected and approval.call.id not in selection.seen and says_all(approval, sizes, now):
                selection.seen[approval.call.id] = displayed.digest(approval.lines())
        approval = selection.current
        if approval is None or self._lines is None or approval.call.id in selection.seen:
            return
        if at_end(view) or view.has_class("-in-row"):
            selection.seen[approval.call.id] = displayed.digest(self._lines)

    def action_leave(self) -> None:
        if self.selection.back():
            self._leave_stage()
            self._changed()
        else:
            self.post_message(self.Left())

    def on_click(self, event: events.Click) -> None:
        rows = self.query_one(".board--rows", Static)
        inside = rows.region.contains(event.screen_x, event.screen_y)
        at = event.screen_y - rows.region.y
        if inside and at < self._calls_shown and self.selection.go(self._first + at):
            self._changed()

    @on(Input.Submitted)
    def _submit_feedback(self, event: Input.Submitted) -> None:
        decision = self.selection.submit_words(event.value)
        self._leave_stage()
        self._changed()
        if decision is not None:
            self.post_message(self.Decided(decision))

    def _decided(self) -> None:
        decision = self.selection.take() if self.on_screen else None
        if decision is not None:
            self._leave_stage()
            self.post_message(self.Decided(decision))
        self._changed()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.keys.changed()
        self._changed()

    def _leave_stage(self) -> None:
        field = self.query_one(Input)
        had_focus = field.has_focus
        field.value = ""
        self.remove_class("-words", "-rule")
        if had_focus:
            self.focus()

    # -- painting

    def _keep_time(self, needed: bool) -> None:
        if needed and self._clockwork is None:
            self._clockwork = self.set_interval(1.0, self._paint_rows)
        elif not needed and self._clockwork is not None:
            self._clockwork.stop()
            self._clockwork = None

    def on_resize(self) -> None:
        self._paint()

    def _changed(self) -> None:
        self._paint()
        self._changed_keys()

    def _changed_keys(self) -> None:
        self.refresh_bindings()
        self.paint_keys()
        for pause in (MOVED, KeyHints.SETTLE):
            self._timing.later(self, pause + 0.02, self.paint_keys)

    def _paint(self) -> None:
        approval = self.selection.current
        if approval is None or not self.is_attached:
            return
        try:
            self._paint_approval(approval)
        except Exception:
            log.exception("the arguments of call %s can't be shown", approval.call.id)
            self.selection.seen.pop(approval.call.id, None)
            head = self.query_one(".board--header", Static)
            head.display = True
            head.update(
                Content.styled("This call can't be shown, so it can't be approved here. n denies it.", "$error")
            )
            self.query_one(ArgumentsView).styles.height = 0
            self._first = self.selection.selected
            self._paint_rows(1)

    def _paint_approval(self, approval: Pending) -> None:
        selection, self._lines = self.selection, None
        sizes = self._sizes()
        line = LINE if selection.stage in ("words", "comment") else 0
        taken = self.paint_keys() + line
        height, low = self.screen.size.height, BESIDE_IT[self.has_focus_within]
        room = max(int(height * SHARE) - 3 - taken, min(height - low - 2 - taken, ROWS_AND_MORE), 3)
        room = min(room, max(self._spare() - 2 - taken, 3))
        many = len(selection.waiting) > 1
        change = self._changes.of(approval.call)
        hidden, words = (
            displayed.hidden_characters(approval.call.arguments or {}),
            "" if line else selection.comment,
        )  # the field has them
        head = header(approval, hidden, sizes, words)
        if change is not None and change.warning:
            head.append(Content.styled(one_line(f"! {change.warning}", sizes.width), "bold $warning"))
        while line and len(head) > 1 and room - len(head) < 1 + many:
            head.pop(0)  # it is back before anything is decided
        room -= len(head)
        self.query_one(".board--header", Static).update(Content("\n").join(head))
        roomy = selection.stage != "rule" or self.screen.size.height >= TooSmall.ROOMY
        self.query_one(".board--header").display = bool(head) and roomy
        in_row = change is None and says_all(approval, sizes, self._now())
        view = self.query_one(ArgumentsView)
        view.set_class(in_row, "-in-row")
        shown = approval.lines(change)
        begins = len(shown) - len(change.lines) if change is not None else 0
        view.show(approval.call.id, shown, [begins + hunk for hunk in change.hunks] if change is not None else ())
        self._lines = shown
        lines = view.lay_out(sizes.width - 1)
        spare = self._spare() - 2 - taken - len(head)
        edits = change is not None or bool(approval.changed)
        whole = self.has_focus_within and (edits or (lines <= spare and not many))
        waiting, rule = len(selection.waiting), selection.stage == "rule"
        share, gap, most = shared(room, spare, waiting, lines, whole=whole and not rule, in_row=in_row and not rule)
        rows = self.query_one(".board--rows", Static)
        fitting = max(min(view.fit(most), most), 1)
        needed = taken + len(head) + share + gap + (0 if in_row else fitting)
        same = [one.call.id for one in selection.waiting], self.screen.size, self.has_focus_within, selection.stage
        left = 0
        if many and not rule:
            self._most, self._same = max(needed, self._most if same == self._same else 0), same
            left = max(min(self._most, self._spare() - 2) - needed, 0)
        rows.styles.margin = (0, 0, gap + (left if in_row else 0), 0)
        seen, selected = rows_of(share, waiting), selection.selected
        self._first = max(min(self._first, selected, waiting - seen), selected - seen + 1, 0)
        self._paint_rows(share)
        view.styles.height = fitting + left
        if approval is not self._compared:
            self._compared = approval
            self.run_worker(partial(self._look_up, approval), group="change", exclusive=True)
        if rule:
            self.query_one(".board--rule", Static).update(
                Content("\n").join(rule_lines(approval, selection.rule_choice, self.rules_path, sizes.width))
            )
        self.say_place()

    def in_brief(self, width: int, framed: bool) -> Content:
        """Name the selected call. The line about what runs counts those that wait beside it."""
        current = self.selection.current
        if current is None:
            return Content()
        line = Content.styled("▸", "bold $warning")
        if not self._replayed:
            line += Content.styled(f" {current.risk.word} ", RISK_COLOURS[current.risk.word])
        line += Content.styled(f" {one_line(current.call.tool or current.call.name, MOST_LABEL)}  ", "bold $foreground")
        room = max(width - line.cell_length, 1)
        told = one_line(brief_arguments(current.call.arguments or {}, room), room)
        return line + Content.styled(told, "$foreground")

    async def _look_up(self, approval: Pending) -> None:
        """Look up, off the event loop, what the selected call would change in a file as that is now."""
        if not await self._changes.look_up(approval.call):
            return
        self.selection.seen.pop(approval.call.id, None)
        if approval is self.selection.current:
            self.keys.changed()
            self._changed()

    def _paint_rows(self, shown: int | None = None) -> None:
        selection = self.selection
        if not self.is_attached or not selection.waiting:
            return
        rows = self.query_one(".board--rows", Static)
        count = shown if shown is not None else rows.size.height
        sizes, now = self._sizes(), self._now()
        self._calls_shown = rows_of(count, len(selection.waiting))
        end = self._first + self._calls_shown
        visible = list(enumerate(selection.waiting))[self._first : end]
        opened = not self.query_one(ArgumentsView).has_class("-in-row")
        reasons = [None, *(approval.call.why for _, approval in visible)]
        said_above = [above == why for above, why in pairwise(reasons)]
        lines = [
            row(approval, n == selection.selected, sizes, now, opened=opened and n == selection.selected, again=again)
            for (n, approval), again in zip(visible, said_above, strict=True)
        ]
        above, below = self._first, len(selection.waiting) - end
        cut = " ".join(filter(None, (f"↑ {above}" if above else "", f"↓ {below}" if below else "")))
        hidden = f"{cut} more" if cut and len(selection.waiting) > 1 else ""
        lines += [Content.styled(f"  {hidden}", "$warning")] if hidden and self._calls_shown < count else []
        rows.update(Content("\n").join(lines))
        count = len(selection.waiting)
        title = f"{count} waited for you" if self._replayed else f"{count} need{'s' if count == 1 else ''} you"
        title += f" · {hidden}" if hidden and self._calls_shown == count else ""
        left = selection.waiting[selection.selected].left
        self.border_title = title if left is None else f"{title} · {left[0]} in {max(left[1] - now, 0):.0f} s"

    def _sizes(self) -> RowSizes:
        calls, servers = [one.call for one in self.selection.waiting], dict[str, set[str]]()
        for call in calls:
            servers.setdefault(call.tool, set()).add(call.server)
        names = {call.id: call.tool if len(servers[call.tool]) == 1 and call.tool else call.label for call in calls}
        whose = {call.id: f"{call.agent}: " if call.agent else "" for call in calls}
        names = {call_id: one_line(f"{whose[call_id]}{name}", MOST_LABEL) for call_id, name in names.items()}
        return RowSizes(self._cells, names, len({call.why for call in calls}) == 1, self._replayed)

    def say_place(self) -> None:
        if self.is_attached:
            hidden = self.folded or self.selection.stage == "rule"
            place = "" if hidden else self.query_one(ArgumentsView).place
            self.border_subtitle = f"{place} · space to scroll" if place and self.has_focus else place
            self.call_after_refresh(self._note_displayed)

    def paint_keys(self) -> int:
        if not self.is_attached:
            return 1
        lines = keys(self.selection, self._cells, here=self.has_focus_within, replayed=self._replayed)
        self.query_one(KeyLines).name_keys(lines)
        self.set_class(self.has_focus and not self.keys.settled_here, "-settling")
        return len(lines)
