"""The boards above the prompt and the to-do list: composes them, decides which takes the focus, and hands what you
decide on them to the conversation. Never from somebody who is typing is the focus taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from console_app.console import Console, Later, PendingQuestion
from console_app.domain import one_line
from console_app.domain.transcript import CallView, Transcript
from console_app.tui.asking.approval_board import ApprovalBoard
from console_app.tui.asking.folding_board import FoldingBoard
from console_app.tui.asking.human_board import HumanBoard
from console_app.tui.asking.question_board import QuestionBoard
from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.bars.find_bar import FindBar
from console_app.tui.main_screen.bars.todo_pane import TodoPane
from console_app.tui.main_screen.dialogs import Dialogs
from console_app.tui.prompt.prompt import Prompt
from console_app.tui.prompt.prompt_box import PromptBox
from console_app.tui.terminal.key_names import writes_text
from console_app.tui.ui import Ui

BOTH = 40  # lines in which a board and what is read have room side by side
UNTOUCHED = 1.0  # seconds without a key in an empty prompt, after which the board takes the focus
LOOK_EVERY = 0.25  # seconds between looks at that

Board = ApprovalBoard | HumanBoard | QuestionBoard


class BoardArea(Vertical):
    """Holds the boards of one main screen, in step with a transcript and with the questions of servers. Each takes room
    only while something waits for it. Approvals come first, then servers, and the model's questions last. A server's
    question stays in its place for as long as you are at it."""

    DEFAULT_CSS = "BoardArea { height: auto; }"

    def __init__(self, ui: Ui, refuse: Callable[[str], None], console: Console, dialogs: Dialogs) -> None:
        """`refuse` says why a key did nothing."""
        super().__init__()
        self._ui = ui
        self._refuse = refuse
        self._program = console
        self._services = console.services
        self._dialogs = dialogs
        self._had = 0  # lines to spare
        self._reading = False  # in the conversation, which has the focus
        self._timer: Later | None = None

    def compose(self) -> ComposeResult:
        self.todo = TodoPane()
        self.approvals = ApprovalBoard(self._services, self._spare)
        self.human = HumanBoard(self._services, self._spare)
        self.questions = QuestionBoard(self._services, self._spare)
        self._boards: tuple[Board, ...] = (self.approvals, self.human, self.questions)
        yield from (self.todo, *self._boards)

    def _spare(self) -> int:
        """Count the lines for the board that is shown: those that only the conversation needs, which keeps one."""
        others = [one for one in self.children if one not in self._boards]
        others += [one for one in self.screen.children if one is not self and one.id not in ("conversation", "welcome")]
        return self.screen.size.height - 1 - sum(one.outer_size.height for one in others if one.display)

    def follow(self, transcript: Transcript, prompt: Prompt) -> None:
        """Keep the boards in step with this conversation from now on. They take the focus from its prompt alone."""
        self._transcript, self._prompt = transcript, prompt
        self._waiting: set[str] = set()
        self._asking: set[str | PendingQuestion] = set()
        self._put_off = False  # you left the board: it waits until a new call comes

    @on(HumanBoard.Closed)
    def sync(self) -> None:
        queue, known = self._services.human.open, self._transcript.calls
        calls = [*self._transcript.open_calls.values()] if self._transcript.waiting else []
        waiting = self._program.pending.of(calls)
        asking = [call for call in calls if call.asks]
        ids, fresh = {one.call.id for one in waiting}, {*(call.id for call in asking), *queue}
        if ids - self._waiting or fresh - self._asking:
            self._put_off = False
        self._waiting, self._asking = ids, fresh
        focused = self.screen.focused
        here = next((one for one in self._boards if focused is not None and one in focused.ancestors_with_self), None)
        self.human.show(
            queue,
            lambda call_id: known[call_id].label if call_id in known else "",
            hidden=bool(waiting) and here is not self.human,
        )
        self.approvals.show(() if here is self.human and self.human.is_asking else waiting)
        self.questions.show(() if waiting or self.human.is_asking else asking)
        if wanted := self.wanted:
            if self._timer is None:
                self._look()
            else:
                self._take_focus()
        elif self._timer is not None:
            self._timer.stop()
            self._timer = None
        if here is not None and wanted is not here:
            (wanted or self._prompt).focus()

    @property
    def wanted(self) -> Board | None:
        return next((one for one in self._boards if one.is_asking), None)

    def _look(self) -> None:
        self._timer = self._services.timing.later(self, LOOK_EVERY, self._look)
        self._take_focus()

    def _take_focus(self) -> None:
        """Give the focus to the board once the prompt is empty and was left alone for a second."""
        prompt, wanted = self._prompt, self.wanted
        idle = self._services.timing.now() - prompt.touched_at >= UNTOUCHED
        if wanted and prompt.has_focus and not prompt.text and idle and not self._put_off:
            wanted.focus()
            self.approvals.selection.keys.brought()

    @property
    def places(self) -> list[tuple[str, Widget]]:
        return [
            ("On the approvals", self.approvals),
            ("On what a server asks", self.human),
            ("On a question", self.questions),
            ("On the to-do list", self.todo),
        ]

    def on_key(self, event: events.Key) -> None:
        """Refuse a letter that is no key there, and let none count right behind it: it must not be written into the
        prompt, nor what follows decide. A question takes letters for its answer."""
        if not writes_text(event) or event.key in self.screen.active_bindings:
            return
        if self.approvals.has_focus:
            self.approvals.begin_anew()
        elif self.human.has_focus:
            self.human.keys.changed()
        elif not self.todo.has_focus:
            return
        event.stop()
        self._refuse(
            f"{one_line(event.character or '', 20) or event.key} does nothing here now. esc goes to the prompt."
        )

    def on_mount(self) -> None:
        self.approvals.rules_path = self._program.permissions.rules_path
        self.screen.screen_layout_refresh_signal.subscribe(self, self._share_room)  # pyright: ignore[reportUnknownMemberType]
        self.watch(self.screen, "focused", self._focus_moved, init=False)

    def _focus_moved(self, focused: Widget | None) -> None:
        if focused is not None:  # else the terminal lost it, and comes back to what had it
            self._reading = any(isinstance(one, ConversationView | FindBar) for one in focused.ancestors_with_self)
            self._share_room(None)

    def _share_room(self, _: object) -> None:
        """Share the lines between the boards and the conversation, where there are few. While you read in the
        conversation it has the board's lines, and those of the prompt's frame, as a board has that has the keys."""
        spare = self._spare()
        folded = self._reading and spare < BOTH
        waits = self.wanted is not None
        self.screen.query_one(PromptBox).set_class(self.has_focus_within or (folded and waits), "-aside")
        for board in self._boards:
            board.folded = folded
            if spare != self._had:
                board.on_resize()
        self._had = spare

    # What waits for an approval

    @on(ApprovalBoard.Decided)
    def _decided(self, event: ApprovalBoard.Decided) -> None:
        self._program.permissions.decide(event.decision)

    @on(ApprovalBoard.EditRequested)
    def _edit_requested(self, event: ApprovalBoard.EditRequested) -> None:
        if (call := self._transcript.calls.get(event.call_id)) is not None:
            self.edit_waiting(call)

    def edit_waiting(self, call: CallView) -> None:
        """Let a waiting call run with other arguments, for the tool and the text that were shown."""
        comment = self.approvals.selection.comments.get(call.id, "")
        shown = self.approvals.selection.fingerprint(call.id)

        def use(call_id: str, arguments: dict[str, Any]) -> None:
            self._program.permissions.run_edited(call_id, arguments, shown, comment)

        self._ui.open(self._dialogs.edit_arguments, call, "runs it with these", use)

    @on(ApprovalBoard.Refused)
    def _refused(self, event: ApprovalBoard.Refused) -> None:
        self._refuse(event.why)

    # What servers and the model ask

    @on(HumanBoard.Replied)
    def _replied(self, event: HumanBoard.Replied) -> None:
        self._services.human.answer(event.asked, event.reply)

    @on(HumanBoard.CopyRequested)
    def _copy_address(self, event: HumanBoard.CopyRequested) -> None:
        self._ui.copy(event.text)

    @on(QuestionBoard.Answered)
    def _answered(self, event: QuestionBoard.Answered) -> None:
        self._program.calls.answer(event.call_id, event.text)

    @on(FoldingBoard.Left)
    def _left(self) -> None:
        self._put_off = True
        self.screen.set_focus(self._prompt)
        self.sync()  # another board may have waited for this one

    # The to-do list

    @on(TodoPane.Edited)
    async def _todo_edited(self, event: TodoPane.Edited) -> None:
        if (edited := self._services.engine.edit_todo(event.items)) is not None:
            await self._program.conversation.deliver(edited)

    @on(TodoPane.Left)
    def _todo_left(self) -> None:
        self.screen.query_one("#prompt").focus()
