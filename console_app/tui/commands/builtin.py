"""The commands that come with the console. Each does what a key or a dialog does too; none holds state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from console_app.domain.approvals import CallPolicy
from console_app.tui.commands.doctor import doctor
from console_app.tui.commands.registry import Command, CommandRegistry
from console_app.tui.compaction import compact, context
from console_app.tui.session_actions import FORMATS
from console_app.tui.turn_driver import GIVEN

if TYPE_CHECKING:
    from console_app.tui.screens.chat import ChatScreen


def _policies(_screen: ChatScreen) -> Sequence[str]:
    return [policy.value for policy in CallPolicy]


def _themes(screen: ChatScreen) -> Sequence[str]:
    return [theme.theme.name for theme in screen.themes]


def _help(screen: ChatScreen, _rest: str) -> None:
    from console_app.tui.key_sections import key_sections

    screen.open_dialog(screen.dialogs.help, key_sections(screen))


def _model(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.dialogs.model, rest)


def _theme(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.dialogs.theme, rest)


def _policy(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.dialogs.policy, rest)


def _new(screen: ChatScreen, _rest: str) -> None:
    if screen.driver.busy:
        screen.toast("A turn is running. Esc stops it; then /new.")
    else:
        screen.new_conversation()


def _clear(screen: ChatScreen, _rest: str) -> None:
    if screen.driver.busy:
        screen.toast("A turn is running. Esc stops it; then /clear.")
    else:
        screen.clear_screen()
        screen.toast("Cleared. The model still knows the conversation; /new starts another.")


def _copy(screen: ChatScreen, _rest: str) -> None:
    turns = reversed(screen.transcript.turns)
    answer = next((step.text for turn in turns for step in reversed(turn.steps) if step.text), None)
    if answer is None:
        screen.toast("There is no answer to copy yet.")
    else:
        screen.copy(answer)


def _log(screen: ChatScreen, _rest: str) -> None:
    screen.open_dialog(screen.dialogs.log)


def _mcp(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.dialogs.servers, rest)


def _servers(screen: ChatScreen) -> Sequence[str]:
    return [server.name for server in screen.services.server_statuses()]


def _call(screen: ChatScreen, rest: str) -> None:
    if "{" in rest:
        screen.send(f"{GIVEN}{rest}")
    else:
        screen.open_dialog(screen.dialogs.call, rest)


def _tools(screen: ChatScreen) -> Sequence[str]:
    return [spec.label for spec in screen.services.engine.toolset.tools()]


def _timeline(screen: ChatScreen, _rest: str) -> None:
    screen.open_dialog(screen.dialogs.timeline)


def _permissions(screen: ChatScreen, _rest: str) -> None:
    from console_app.tui.screens.permissions import PermissionsScreen

    engine = screen.services.engine
    screen.app.push_screen(PermissionsScreen(engine, screen.decisions, screen.modes, screen.refresh_status))


def _todo(screen: ChatScreen, _rest: str) -> None:
    screen.todo.open()


def _editor(screen: ChatScreen, _rest: str) -> None:
    screen.open_dialog(screen.dialogs.editor)


def _quit(screen: ChatScreen, _rest: str) -> None:
    screen.quit()


def _formats(_screen: ChatScreen) -> Sequence[str]:
    return list(FORMATS)


def _sessions(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.sessions.browse, rest)


def _resume(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.sessions.resume if rest else screen.sessions.browse, rest)


def _rename(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.sessions.rename, rest)


def _fork(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.sessions.fork, rest)


def _undo(screen: ChatScreen, _rest: str) -> None:
    screen.open_dialog(screen.sessions.undo)


def _export(screen: ChatScreen, rest: str) -> None:
    screen.open_dialog(screen.sessions.export, rest)


def builtin_commands() -> CommandRegistry:
    """A registry with all of them."""
    return CommandRegistry(
        [
            Command("help", "keys and commands", _help),
            Command("keys", "keys and commands, as /help", _help),
            Command("model", "choose the model that answers", _model, "[PROVIDER/MODEL]"),
            Command("theme", "choose the colours", _theme, "[NAME]", _themes),
            Command("policy", "how the calls of one answer run", _policy, "[parallel|sequential|single]", _policies),
            Command("mcp", "servers and their tools, switched on and off", _mcp, "[SERVER]", _servers),
            Command("tools", "servers and their tools, as /mcp", _mcp, "[SERVER]", _servers),
            Command("call", "call tools yourself, without a model", _call, "[SERVER.TOOL [JSON] ...]", _tools),
            Command("timeline", "the calls of a turn in time, as a chart", _timeline),
            Command("new", "start a new session; the model forgets this one", _new),
            Command(
                "sessions", "go on with an older session, rename, fork, export or delete one", _sessions, "[WORDS]"
            ),
            Command("resume", "go on with an older session", _resume, "[ID]"),
            Command("rename", "give this session a title", _rename, "[TITLE]"),
            Command("fork", "go on with a copy of this session, from any message on", _fork, "[TURN]"),
            Command("undo", "take the last turn back", _undo),
            Command("export", "write this session to a file", _export, "[md|html|jsonl] [PATH]", _formats),
            Command("clear", "clear the screen; the model still knows the conversation", _clear),
            Command("copy", "copy the last answer", _copy),
            Command("permissions", "the mode and every rule: what may run without asking", _permissions),
            Command("todo", "the to-do list: change its states and words, add and delete", _todo),
            Command("editor", "write the prompt in $EDITOR", _editor),
            Command("context", "what the model reads, and how full its window is", context),
            Command("compact", "put a summary in place of older turns, for the model", compact, "[undo]"),
            Command("log", "the program's log", _log),
            Command("doctor", "what is wrong, and what to do about it", doctor),
            Command("quit", "leave", _quit),
        ]
    )
