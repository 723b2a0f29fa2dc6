"""The calls that wait for you, above the prompt: each a row, the selected one with all its arguments.

What a key decides is `ApprovalSelection`'s part; this paints it, and hands on only what proved to be meant.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from console_app.console import Pending, Timing, files
from console_app.domain import displayed
from console_app.domain.steady_time import steady_time
from console_app.tui.approvals import board_lines
from console_app.tui.approvals.arguments_view import ArgumentsView
from console_app.tui.approvals.board_lines import RowSizes, brief, header, keys, row, row_sizes, rule_lines, says_all
from console_app.tui.approvals.selection import ApprovalDecision, ApprovalSelection
from console_app.tui.widgets.displayed_end import Moved, at_end, show_end
from console_app.tui.widgets.folding_board import FoldingBoard
from console_app.tui.widgets.hinted_input import HintedInput
from console_app.tui.widgets.key_hints import KeyLines
from console_app.tui.widgets.settled_keys import ALONE, MOVED, SETTLE
from console_app.tui.widgets.too_small import ROOMY
from console_app.tui.widgets.typed_app import typed_app

KEYS: list[BindingType] = [
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


MOST_ROWS = 8
LEAST_ROWS = 3  # that stay beside what needs all the room
SHARE = 0.6  # of the screen's height that the board may take
ROWS_AND_MORE = 6  # lines, below which the arguments get most of them
AIRY = 14  # lines beside which an empty one, between the rows and what is selected, takes nothing away
BESIDE_IT = 7, 5  # lines of a low screen that it leaves; fewer while it has the keys, and the prompt no frame

STYLES = """
ApprovalBoard {
    height: auto; margin: 0 1; padding: 0 1; display: none;
    border: heavy $warning; border-title-color: $warning; border-subtitle-color: $muted;
}
ApprovalBoard:blur { border: round $warning 60%; }
ApprovalBoard.-settling { border: round $warning; }
ApprovalBoard.-waiting { display: block; }
ApprovalBoard > Static { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
ApprovalBoard > .board--rule { display: none; }
ApprovalBoard > Input { display: none; height: 3; border: round $warning; background: $background; }
ApprovalBoard > Input:focus { border: round $warning; background-tint: $foreground 0%; }
ApprovalBoard > Input > .input--placeholder { color: $muted; }
ApprovalBoard.-words > Input { display: block; }
ApprovalBoard.-rule > .board--rule { display: block; }
ApprovalBoard.-rule > ArgumentsView, ApprovalBoard > ArgumentsView.-in-row { display: none; }
"""


@dataclass(frozen=True, slots=True)
class BoardRoom:
    """Lines of the rows, of an empty one below them, and of the arguments."""

    rows: int
    gap: int
    arguments: int


class SteadyHeight:
    """The most lines that were needed `of` the same: who goes from row to row finds the rows where they were."""

    def __init__(self) -> None:
        self._of: object = None
        self._most = 0

    def left(self, of: object, needed: int, spare: int) -> int:
        """The lines, of `spare` ones at most, that stay empty where fewer are needed now."""
        self._most = max(needed, self._most if of == self._of else 0)
        self._of = of
        return max(min(self._most, spare) - needed, 0)


def room_of(height: int, taken: int, focused: bool) -> int:
    """Lines for rows, header and arguments: a share of the screen; of a low one, what the rest of it can spare."""
    return max(int(height * SHARE) - 3 - taken, min(height - BESIDE_IT[focused] - 2 - taken, ROWS_AND_MORE), 3)


def shared(room: int, spare: int, waiting: int, lines: int, *, whole: bool, in_row: bool) -> BoardRoom:
    """Share `room` between rows and so many `lines` of arguments: seen `whole`, these have up to `spare`, and the rows
    make way; `in_row`, none."""
    least = min(waiting, LEAST_ROWS if max(room, spare) > ROWS_AND_MORE else 1)
    if whole:
        room = max(room, min(least + lines, spare))
    gap = int(not in_row and waiting > 0 and room >= max(AIRY, least + lines + 1 if whole else 0))
    room -= gap
    share = 2 if in_row or room >= ROWS_AND_MORE else ROWS_AND_MORE  # of little room the arguments get most
    rows = min(waiting, MOST_ROWS, max(room // share, 1))
    if whole:
        rows = min(rows, max(room - lines, least))
    return BoardRoom(rows, gap, max(min(lines, room - rows), 1))


def rows_of(lines: int, waiting: int) -> int:
    """Count the calls that have a row in so many lines. The last line of a cut list tells how many more there are."""
    return lines - 1 if waiting > lines >= LEAST_ROWS else min(lines, waiting)


def first_row(before: int, selected: int, waiting: int, rows: int) -> int:
    """The number of the row at the top, from 0: as before, while the selected row is among those shown."""
    return max(min(before, selected, waiting - rows), selected - rows + 1, 0)


BESIDE = 6  # cells of its margin, border and padding
LINE = 3  # lines of the field for words, with its frame
LOWEST = 4  # lines, below which nothing can be read and so nothing decided

log = logging.getLogger(__name__)


class ApprovalBoard(FoldingBoard):
    """Shows waiting calls and says what was decided; it resolves nothing itself."""

    app = getters.app(typed_app)

    DEFAULT_CSS = STYLES

    BINDINGS: ClassVar[list[BindingType]] = KEYS
    to_do, accent = "review", "$warning"

    @dataclass
    class Decided(Message):
        decision: ApprovalDecision

    @dataclass
    class EditRequested(Message):
        call_id: str

    @dataclass
    class Refused(Message):
        """Says that a key can't do here what it is for."""

        why: str

    class Left(Message):
        """Escape: the calls go on waiting, the focus should go back to the prompt."""

    def __init__(
        self,
        *,
        timing: Timing,
        spare: Callable[[], int],
        folder: Path | None = None,
        replayed: bool = False,
        now: Callable[[], float] = steady_time,
    ) -> None:
        super().__init__()
        self._timing = timing
        self._spare = spare  # lines that it may take at most
        self.selection = ApprovalSelection(timing.now)
        self.rules_path = ""  # where "always" writes its rule; "": nowhere, it holds for the session
        self._now = now
        self._replayed = replayed  # nothing is decided here, nor known of the tools
        self.can_focus = not replayed
        self._first = 0  # row at the top
        self._height = SteadyHeight()
        self._lines: list[displayed.ArgumentLine] | None = None  # that are displayed of the selected call
        self._calls_shown = 0  # that have a row
        self._changes = files.FileChanges(folder or Path())
        self._compared: Pending | None = None  # the call whose file was looked at last
        self._clockwork: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(classes="board--rows")
        yield Static(classes="board--header")
        yield ArgumentsView()
        yield Static(classes="board--rule")
        yield HintedInput(hint=board_lines.HINTS["words"], select_on_focus=False)
        yield KeyLines(self._timing.now, classes="board--keys")

    @property
    def _cells(self) -> int:  # of a line; where it was not laid out yet, those that it will have
        return max(self.content_size.width or self.screen.size.width - BESIDE, 20)

    @property
    def hints(self) -> Sequence[tuple[str, str]]:
        selection = self.selection
        if selection.stage != "choosing" or self._replayed:
            return [("board.later", "back")]
        many = len(selection.waiting)
        reads = sum(one.only_reads for one in selection.waiting)
        several = [("board.next", "next"), ("board.all", f"all {many}")]
        several += (
            [("board.reads", f"the {reads} that only read" if reads > 1 else "the one that only reads")]
            if reads
            else []
        )
        several += [("board.none", "none")]
        return [*(several if many > 1 else [("board.read", "calls")]), ("board.later", "later")]

    @property
    def is_waiting(self) -> bool:
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
        self.set_class(bool(waiting), "-waiting")
        self._keep_time(any(one.until is not None or one.program is not None for one in waiting))
        self._changed()

    # -- keys

    def on_key(self, event: events.Key) -> None:
        """Note every key before its binding runs: one right behind another was not meant for the board."""
        if self.has_focus:
            self.selection.keys.pressed(event.key)
            self._paint_keys()

    def on_paste(self, event: events.Paste) -> None:
        if self.has_focus:
            event.stop()
            self.begin_anew()

    def begin_anew(self) -> None:
        """Something else than a decision was typed: half a second passes before a key counts."""
        self.selection.keys.changed()
        self._changed_keys()

    def action_press(
        self, what: Literal["once", "session", "always", "deny", "words", "comment", "edit", "all", "reads", "none"]
    ) -> None:
        selection = self.selection
        if not self.has_focus or not self._on_screen():
            return
        if refusal := selection.refusal(what):
            self.post_message(self.Refused(refusal))
            return
        if (unseen := selection.unseen(what)) is not None:
            self._go_to_unseen(unseen)
            return
        held = False
        match what:
            case "once":
                held = selection.once()
            case "all":
                held = selection.all()
            case "reads":
                held = selection.reads()
            case "session":
                held = selection.session()
            case "always":
                held = selection.always() and selection.keys.holds is not None
                self.set_class(selection.stage == "rule", "-rule")
                self._paint()
            case "deny" | "none":
                held = selection.deny(every=what == "none")
            case "words" | "comment":
                if selection.ask_words(what):
                    self.add_class("-words")
                    self.query_one(HintedInput).begin(board_lines.HINTS[what], selection.comment)
            case "edit":
                if selection.current is not None and selection.may_edit():
                    self.post_message(self.EditRequested(selection.current.call.id))
        if held:
            self._timing.later(self, ALONE, self._meant)
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

    def _go_to_unseen(self, row: int) -> None:
        """Show the end of a call that a key would approve before all of it was displayed. The next press counts."""
        if row != self.selection.selected and self.selection.go(row):
            self._first = row
        self.selection.keys.changed()
        self._changed()
        self.call_after_refresh(show_end, self.query_one(ArgumentsView))

    def _note_displayed(self) -> None:
        """Note the calls that were displayed: the selected one to its end, others where their rows say all of them."""
        selection, view = self.selection, self.query_one(ArgumentsView)
        if not self._on_screen() or self.folded or selection.stage == "rule":
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
        event.stop()
        self.selection.keep_comment(event.value)
        decision = self.selection.submit_feedback(event.value)
        self._leave_stage()
        self._changed()
        if decision is not None:
            self.post_message(self.Decided(decision))

    def _meant(self) -> None:
        """No other key came behind a decision; keys that are still on their way go first."""
        self.app.call_later(self.call_later, self._decided)

    def _decided(self) -> None:
        decision = self.selection.take() if self._on_screen() else None
        if decision is not None:
            self._leave_stage()
            self.post_message(self.Decided(decision))
        self._changed()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self.selection.keys.changed()
        self._changed()

    def _leave_stage(self) -> None:
        field = self.query_one(Input)
        had_focus = field.has_focus
        field.value = ""
        self.remove_class("-words", "-rule")
        if had_focus:
            self.focus()

    # -- painting

    def _on_screen(self) -> bool:
        return self.is_waiting and self.region.height >= LOWEST and self.screen.is_current

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
        """The keys fade now, and come back once they count again. The hints name what can be done now."""
        self.refresh_bindings()
        self._paint_keys()
        for pause in (MOVED, SETTLE):
            self._timing.later(self, pause + 0.02, self._paint_keys)

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
        taken = self._paint_keys() + line
        room = min(room_of(self.screen.size.height, taken, self.has_focus_within), max(self._spare() - 2 - taken, 3))
        many = len(selection.waiting) > 1
        change = self._changes.of(approval.call)
        hidden, words = (
            displayed.hidden_characters(approval.call.arguments or {}),
            "" if line else selection.comment,
        )  # the field has them
        head = header(approval, hidden, sizes, words)
        head += board_lines.warned(change, sizes)
        while line and len(head) > 1 and room - len(head) < 1 + many:
            head.pop(0)  # it is back before anything is decided
        room -= len(head)
        self.query_one(".board--header", Static).update(Content("\n").join(head))
        roomy = selection.stage != "rule" or self.screen.size.height >= ROOMY
        self.query_one(".board--header").display = bool(head) and roomy
        in_row = change is None and says_all(approval, sizes, self._now())
        view = self.query_one(ArgumentsView)
        view.set_class(in_row, "-in-row")
        shown = approval.lines(change)
        begins = len(shown) - len(change.lines) if change is not None else 0
        view.show(shown, [begins + hunk for hunk in change.hunks] if change is not None else ())
        self._lines = shown
        lines = view.lay_out(sizes.width - 1)
        spare = self._spare() - 2 - taken - len(head)
        edits = change is not None or bool(approval.changed)
        whole = self.has_focus_within and (edits or (lines <= spare and not many))
        waiting, rule = len(selection.waiting), selection.stage == "rule"
        share = shared(room, spare, waiting, lines, whole=whole and not rule, in_row=in_row and not rule)
        rows = self.query_one(".board--rows", Static)
        fitting = max(min(view.fit(share.arguments), share.arguments), 1)
        needed = taken + len(head) + share.rows + share.gap + (0 if in_row else fitting)
        same = [one.call.id for one in selection.waiting], self.screen.size, self.has_focus_within, selection.stage
        left = self._height.left(same, needed, self._spare() - 2) if many and not rule else 0
        rows.styles.margin = (0, 0, share.gap + (left if in_row else 0), 0)
        self._first = first_row(self._first, selection.selected, waiting, rows_of(share.rows, waiting))
        self._paint_rows(share.rows)
        view.styles.height = fitting + left
        self._compare(approval)
        if rule:
            self.query_one(".board--rule", Static).update(
                Content("\n").join(rule_lines(approval, selection.rule_choice, self.rules_path, sizes.width))
            )
        self.say_place()

    def in_brief(self, width: int, framed: bool) -> Content:
        """Name the selected call. The line about what runs counts those that wait beside it."""
        current = self.selection.current
        return brief(current, width, replayed=self._replayed) if current is not None else Content()

    def _compare(self, approval: Pending) -> None:
        """Looks up, off the event loop, what the selected call would change in a file as that is now."""
        if approval is not self._compared:
            self._compared = approval
            self.run_worker(partial(self._look_up, approval), group="change", exclusive=True)

    async def _look_up(self, approval: Pending) -> None:
        if not await self._changes.look_up(approval.call):
            return
        self.selection.seen.pop(approval.call.id, None)
        if approval is self.selection.current:
            self.selection.keys.changed()
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
        lines = [
            row(approval, n == selection.selected, sizes, now, opened=opened and n == selection.selected)
            for n, approval in visible
        ]
        hidden = board_lines.more(self._first, len(selection.waiting) - end) if len(selection.waiting) > 1 else ""
        lines += [Content.styled(f"  {hidden}", "$warning")] if hidden and self._calls_shown < count else []
        rows.update(Content("\n").join(lines))
        count = len(selection.waiting)
        title = f"{count} waited for you" if self._replayed else f"{count} need{'s' if count == 1 else ''} you"
        title += f" · {hidden}" if hidden and self._calls_shown == count else ""
        left = selection.waiting[selection.selected].left
        self.border_title = title if left is None else f"{title} · {left[0]} in {max(left[1] - now, 0):.0f} s"

    def _sizes(self) -> RowSizes:
        return row_sizes(self.selection.waiting, self._cells, replayed=self._replayed)

    @on(Moved)
    def say_place(self) -> None:
        if self.is_attached:
            hidden = self.folded or self.selection.stage == "rule"
            place = "" if hidden else self.query_one(ArgumentsView).place
            self.border_subtitle = f"{place} · space to scroll" if place and self.has_focus else place
            self.call_after_refresh(self._note_displayed)

    def _paint_keys(self) -> int:
        """Paint the keys, and return how many lines they take."""
        if not self.is_attached:
            return 1
        lines = keys(self.selection, self._cells, here=self.has_focus_within, replayed=self._replayed)
        self.query_one(KeyLines).name_keys(lines)
        self.query_one(KeyLines).display = bool(lines)
        self.set_class(self.has_focus and not self.selection.keys.settled_here, "-settling")
        return len(lines)
