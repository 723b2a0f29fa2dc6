"""The boards above the prompt and the to-do list: composes them, and hands what you decide on them to the
conversation."""

from __future__ import annotations

from typing import Any

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from console_app.console import Console
from console_app.domain.transcript import CallView
from console_app.tui.approvals.board import ApprovalBoard
from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.bars.find_bar import FindBar
from console_app.tui.main_screen.bars.todo_pane import TodoPane
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.dialogs import Dialogs
from console_app.tui.prompt.prompt_box import PromptBox
from console_app.tui.questions.board import HumanBoard
from console_app.tui.questions.question_board import QuestionBoard
from console_app.tui.terminal.key_names import nothing_here, writes_text
from console_app.tui.widgets.folding_board import FoldingBoard

BOTH = 40  # lines in which a board and what is read have room side by side


class BoardArea(Vertical):
    """Holds the boards of one main screen; each takes room only while something waits for it."""

    DEFAULT_CSS = "BoardArea { height: auto; }"

    approvals = getters.query_one(ApprovalBoard)
    human = getters.query_one(HumanBoard)
    questions = getters.query_one(QuestionBoard)
    todo = getters.query_one(TodoPane)

    def __init__(self, ui: ConsoleUi, console: Console, dialogs: Dialogs) -> None:
        super().__init__()
        self._ui = ui
        self._services = console.services
        self._conversation = console.conversation
        self._permissions = console.permissions
        self._calls = console.calls
        self._dialogs = dialogs
        self._had = 0  # lines to spare
        self._reading = False  # in the conversation, which has the focus

    def compose(self) -> ComposeResult:
        timing = self._services.timing
        yield TodoPane()
        replayed, folder = self._services.replay is not None, self._services.working_folder
        clock = self._services.clock
        spare = self._spare
        yield ApprovalBoard(timing=timing, spare=spare, folder=folder, replayed=replayed, now=clock)
        yield HumanBoard(model=lambda: self._services.engine.provider.model, timing=timing, spare=spare)
        yield QuestionBoard(timing=timing, spare=spare, replayed=replayed)

    def _spare(self) -> int:
        """Lines for the board that is shown: those that nothing else needs but the conversation, which keeps one."""
        others = [one for one in self.children if one not in self._boards]
        others += [one for one in self.screen.children if one is not self and one.id not in ("conversation", "welcome")]
        return self.screen.size.height - 1 - sum(one.outer_size.height for one in others if one.display)

    @property
    def _boards(self) -> tuple[ApprovalBoard, HumanBoard, QuestionBoard]:
        return self.approvals, self.human, self.questions

    @property
    def places(self) -> list[tuple[str, Widget]]:
        """The boards with keys of their own, for help."""
        return [
            ("On the approvals", self.approvals),
            ("On what a server asks", self.human),
            ("On a question", self.questions),
            ("On the to-do list", self.todo),
        ]

    def on_key(self, event: events.Key) -> None:
        """A letter that is no key there is refused, and none counts right behind it: it must not be written into the
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
        self._ui.refuse(nothing_here(event))

    def on_mount(self) -> None:
        """Name the file of rules that are to stay, and share the room again when others give or take some."""
        self.approvals.rules_path = self._permissions.rules_path
        self.screen.screen_layout_refresh_signal.subscribe(self, self._share_room)  # pyright: ignore[reportUnknownMemberType]
        self.watch(self.screen, "focused", self._focus_moved, init=False)

    def _focus_moved(self, focused: Widget | None) -> None:
        if focused is not None:  # else the terminal lost it, and comes back to what had it
            self._reading = any(isinstance(one, ConversationView | FindBar) for one in focused.ancestors_with_self)
            self._share_room(None)

    def _share_room(self, _: object) -> None:
        """Share the lines between the boards and the conversation, where there are few.

        While you read in the conversation it has the board's lines, and those of the prompt's frame, as a board has
        that has the keys.
        """
        spare = self._spare()
        folded = self._reading and spare < BOTH
        waits = self.approvals.is_waiting or self.human.is_asking or self.questions.is_asking
        self.screen.query_one(PromptBox).set_class(self.has_focus_within or (folded and waits), "-aside")
        for board in self._boards:
            board.folded = folded
            if spare != self._had:
                board.on_resize()
        self._had = spare

    # What waits for an approval

    @on(ApprovalBoard.Decided)
    def _decided(self, event: ApprovalBoard.Decided) -> None:
        self._permissions.decide(event.decision)

    @on(ApprovalBoard.EditRequested)
    def _edit_requested(self, event: ApprovalBoard.EditRequested) -> None:
        if (call := self._ui.shown.transcript.calls.get(event.call_id)) is not None:
            self.edit_waiting(call)

    def edit_waiting(self, call: CallView) -> None:
        """Let a waiting call run with other arguments, for the tool and the text that were shown."""
        comment = self.approvals.selection.comments.get(call.id, "")
        shown = self.approvals.selection.fingerprint(call.id)

        def use(call_id: str, arguments: dict[str, Any]) -> None:
            self._permissions.run_edited(call_id, arguments, shown, comment)

        self._ui.open(self._dialogs.edit_arguments, call, "runs it with these", use)

    @on(ApprovalBoard.Refused)
    def _refused(self, event: ApprovalBoard.Refused) -> None:
        self._ui.toast(event.why)

    # What servers and the model ask

    @on(HumanBoard.Replied)
    def _replied(self, event: HumanBoard.Replied) -> None:
        self._services.human.answer(event.asked, event.reply)

    @on(HumanBoard.Closed)
    def _question_closed(self) -> None:
        self._ui.shown.boards.sync()

    @on(HumanBoard.CopyRequested)
    def _copy_address(self, event: HumanBoard.CopyRequested) -> None:
        self._ui.copy(event.text)

    @on(QuestionBoard.Answered)
    def _answered(self, event: QuestionBoard.Answered) -> None:
        self._calls.answer(event.call_id, event.text)

    @on(QuestionBoard.Declined)
    def _declined(self, event: QuestionBoard.Declined) -> None:
        self._calls.answer(event.call_id, None)

    @on(FoldingBoard.Left)
    def _left(self) -> None:
        self._ui.shown.boards.put_off()

    # The to-do list

    @on(TodoPane.Edited)
    async def _todo_edited(self, event: TodoPane.Edited) -> None:
        if (edited := self._services.engine.edit_todo(event.items)) is not None:
            await self._conversation.deliver(edited)

    @on(TodoPane.Left)
    def _todo_left(self) -> None:
        self.screen.query_one("#prompt").focus()
