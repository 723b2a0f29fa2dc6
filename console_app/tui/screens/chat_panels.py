"""What the boards, the to-do pane and the panels of the main screen ask for, handed to whatever carries it out."""

from __future__ import annotations

from textual import on

from console_app.domain.tools import CallState
from console_app.tui.conversation.view import ConversationView
from console_app.tui.human.board import HumanBoard
from console_app.tui.panel_keys import PanelKeys
from console_app.tui.screens.chat_keys import ChatKeys
from console_app.tui.shown import Shown
from console_app.tui.widgets.approval_board import ApprovalBoard
from console_app.tui.widgets.question_board import QuestionBoard
from console_app.tui.widgets.status_bar import StatusBar
from console_app.tui.widgets.todo_pane import TodoPane


class ChatPanels(ChatKeys):
    """Handlers of their messages."""

    shown: Shown
    panel_keys: PanelKeys

    # -- what waits for you

    @on(ApprovalBoard.Decided)
    def _decided(self, event: ApprovalBoard.Decided) -> None:
        self.decisions.rule_on(event.ruling)

    @on(ApprovalBoard.EditRequested)
    def _edit_requested(self, event: ApprovalBoard.EditRequested) -> None:
        if (call := self.shown.transcript.calls.get(event.call_id)) is not None:
            self.open_dialog(self.dialogs.edit_waiting, call)

    @on(ApprovalBoard.Refused)
    def _refused(self, event: ApprovalBoard.Refused) -> None:
        self.toast(event.why)

    @on(HumanBoard.Replied)
    def _replied(self, event: HumanBoard.Replied) -> None:
        self.services.human.answer(event.asked, event.reply)

    @on(HumanBoard.Closed)
    def _question_closed(self) -> None:
        self.shown.approvals.sync()

    @on(HumanBoard.CopyRequested)
    def _copy_address(self, event: HumanBoard.CopyRequested) -> None:
        self.copy(event.text)

    @on(QuestionBoard.Answered)
    def _answered(self, event: QuestionBoard.Answered) -> None:
        if self.driver.turn is None or not self.driver.turn.answer(event.call_id, event.text):
            self.toast("That question isn't open any more.")

    @on(QuestionBoard.Declined)
    def _declined(self, event: QuestionBoard.Declined) -> None:
        if self.driver.turn is None or not self.driver.turn.decline(event.call_id):
            self.toast("That question isn't open any more.")

    @on(QuestionBoard.Left)
    def _question_left(self) -> None:
        self.shown.approvals.put_off()

    @on(TodoPane.Edited)
    async def _todo_edited(self, event: TodoPane.Edited) -> None:
        told = self.services.engine.edit_todo(event.items)
        if told is not None:
            await self.driver.deliver(told)

    @on(TodoPane.Left)
    def _todo_left(self) -> None:
        self.prompt.focus()

    @on(ApprovalBoard.Left)
    @on(HumanBoard.Left)
    def _board_left(self) -> None:
        self.shown.approvals.put_off()

    @on(StatusBar.Clicked)
    def _status_clicked(self, event: StatusBar.Clicked) -> None:
        """What the bar names is changed by a click on it."""
        if event.part == "mode":
            self.action_cycle_mode()
        else:
            self.action_command(event.part)

    # -- the conversation

    @on(ConversationView.CallAction)
    def _call_action(self, event: ConversationView.CallAction) -> None:
        call = self.shown.transcript.calls.get(event.call_id)
        if call is None:
            return
        match event.action:
            case "cancel":
                self.panel_keys.cancel(call)
            case "inspect":
                self.open_dialog(self.dialogs.inspect, call)
            case "retry":
                self.panel_keys.run_again(call)
            case "edit" if call.state is CallState.WAITING:
                self.open_dialog(self.dialogs.edit_waiting, call)
            case "edit":
                self.open_dialog(self.dialogs.edit_and_run, call)
            case "extend":
                self.panel_keys.extend(call)
            case "send":
                self.panel_keys.send_now()

    @on(ConversationView.FilesRequested)
    def _open_files(self, event: ConversationView.FilesRequested) -> None:
        self.open_dialog(self.dialogs.files, event.files, event.server)

    @on(ConversationView.FollowChanged)
    def _follow_changed(self, event: ConversationView.FollowChanged) -> None:
        """Who reads further up is told what goes on below."""
        what = f"{event.below} new below" if event.below else "more below"
        self.prompt.border_title = "" if event.following else f"↓ {what} · pgdn"

    @on(ConversationView.CopyRequested)
    def _copy(self, event: ConversationView.CopyRequested) -> None:
        self.copy(event.text)
