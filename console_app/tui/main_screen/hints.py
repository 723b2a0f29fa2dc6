"""Three to five hints for what is going on now: of what has the focus, else of what the prompt can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from console_app.domain import one_line

if TYPE_CHECKING:
    from console_app.console import Console
    from console_app.tui.main_screen.console_ui import ConsoleUi

IDLE = (("/", "commands"), ("@", "files"), ("prompt.help", "help"))
WATCHED = (("/", "commands"), ("prompt.help", "help"))  # in a replay, where nothing can be sent


def hints_of(ui: ConsoleUi, console: Console) -> Sequence[tuple[str, str]]:
    """The hints, each by the id of its binding or by the character that the prompt has a use for."""
    board, view, conversation = ui.shown.boards.wanted, ui.view, console.conversation
    decides = board is not None and board.can_focus  # in a replay nobody does
    review = [("prompt.leave", f"to {board.to_do}")] if board is not None and decides else []
    if board is not None and board.has_focus_within:
        return board.hints
    if view.has_focus:
        return [*(("chat.next", does) for _, does in review), *view.hints][:5]
    calls = [("prompt.older", "calls")] if ui.talking and view.has_calls and not conversation.waiting else []
    if agent := ui.agent:
        agents = console.services.engine.agents
        says = [("chat.steer", f"say it to {one_line(agent, 20)}")] if agents and agent in agents.running else []
        return [*review, *calls, *says, ("chat.close", "back")]
    if conversation.paused:
        return [("prompt.send", "send what waits"), ("prompt.older", "edit it"), *IDLE]
    if not conversation.busy:
        return [*review, *calls, *(IDLE if console.services.replay is None else WATCHED)]
    doing = console.activity.at(view.now)
    return [*review, *calls, ("chat.stop", "stop" if doing is None else doing.stop), ("prompt.send", "queue")]
