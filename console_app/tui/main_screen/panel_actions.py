"""What a key on a call's panel does."""

from __future__ import annotations

from console_app.console import Console
from console_app.domain import CallState
from console_app.tui.lineview import ConversationView
from console_app.tui.main_screen.board_area import BoardArea
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.dialogs import Dialogs


def act_on_call(
    event: ConversationView.CallAction, ui: ConsoleUi, console: Console, dialogs: Dialogs, boards: BoardArea
) -> None:
    """Does what was asked for on a call, if it is still there."""
    call = ui.shown.transcript.calls.get(event.call_id)
    if call is None:
        return
    match event.action:
        case "cancel":
            console.calls.cancel(call.id)
        case "inspect":
            ui.open(dialogs.inspect, call)
        case "retry":
            console.calls.run_again(call.id)
        case "retry_all":
            console.calls.run_cut_off_again()
        case "edit" if call.state is CallState.WAITING:
            boards.edit_waiting(call)
        case "edit":
            ui.open(dialogs.edit_arguments, call, "runs it again with these", console.calls.run_again)
        case "extend":
            console.calls.extend(call.id)
        case "send":
            console.calls.send_now()
