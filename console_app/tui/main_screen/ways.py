"""Offer the intents on the screen: as a slash command, under a key, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.widget import Widget

from console_app.console import Console
from console_app.console.intents import INTENTS, RUNNING, Cannot, Key, Slash, Ways
from console_app.domain import CallState, UsageError
from console_app.tui.lineview import CallBlock, ConversationView
from console_app.tui.main_screen.board_area import BoardArea
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.dialogs import Dialogs

if TYPE_CHECKING:
    from console_app.tui.approvals.mode_switch import ModeSwitch
    from console_app.tui.commands.registry import CommandRegistry
    from console_app.tui.main_screen.board_area import BoardArea
    from console_app.tui.main_screen.console_ui import ConsoleUi
    from console_app.tui.main_screen.dialogs import Dialogs
    from console_app.tui.themes import LoadedTheme


def act_on_call(
    event: ConversationView.CallAction, ui: ConsoleUi, console: Console, dialogs: Dialogs, boards: BoardArea
) -> None:
    """Act on a call as its key asked, if it is still there."""
    call = ui.shown.transcript.calls.get(event.call_id)
    if call is None:
        return
    match event.action:
        case "inspect":
            ui.open(dialogs.inspect, call)
        case "retry" if why := console.services.engine.why_again(call.id):
            words = f"{why} · r again"
            if ui.view.says_of(call) == words:  # the second press is a yes: no board asks
                ui.view.say_of(call, "")
                console.calls.run_again(call.id, call.arguments)
            else:
                ui.view.say_of(call, words)
        case "retry":
            console.calls.run_again(call.id)
        case "retry_all":
            console.calls.run_cut_off_again()
        case "edit" if call.state is CallState.WAITING:
            boards.edit_waiting(call)
        case "edit":
            ui.open(dialogs.edit_arguments, call, "runs it again with these", console.calls.run_again)
        case "send":
            console.calls.send_now()
        case name:
            if (act := INTENTS[name].act) is not None:
                act(console.calls, call.id)


@dataclass(frozen=True, slots=True)
class ScreenKeys:
    """Holds the functions that both keys of the screen and commands run."""

    toggle_plan: Callable[[], None]
    find: Callable[[str], None]


def screen_ways(
    ui: ConsoleUi,
    dialogs: Dialogs,
    boards: BoardArea,
    modes: ModeSwitch,
    commands: CommandRegistry,
    keys: ScreenKeys,
    places: Sequence[tuple[str, Widget]],
    themes: Sequence[LoadedTheme],
) -> Ways:
    """The ways of one chat screen. `places` are the widgets whose keys help lists, each with its title."""

    async def model(console: Console, rest: str) -> None:
        await console.use_model(rest or await dialogs.pick_model())

    async def call(console: Console, rest: str) -> None:
        if "{" in rest:
            console.call_by_hand(rest)
        else:
            await dialogs.call(rest)

    async def sessions(console: Console, rest: str) -> None:
        from console_app.tui.sessions.browse import browse

        await browse(console, ui, rest)

    async def resume(console: Console, rest: str) -> None:
        await (console.sessions.resume(rest) if rest else sessions(console, ""))

    async def timeline(_console: Console, _rest: str) -> None:
        at = ui.view.cursor
        await dialogs.timeline(ui.shown.transcript, ui.view.go_to_call, at.call if isinstance(at, CallBlock) else None)

    async def copy(_console: Console, rest: str) -> None:
        from console_app.tui.main_screen.over.copying import copy_answer

        await copy_answer(ui, rest)

    def clear(console: Console, _rest: str) -> None:
        if console.conversation.busy:
            raise UsageError(f"{RUNNING}; then /clear")
        ui.shown.view.clear()
        ui.toast("Cleared. The model still knows the conversation; /new starts another.")

    def permissions(console: Console, _rest: str) -> None:
        from console_app.tui.approvals.permissions_screen import PermissionsScreen

        ui.app.push_screen(PermissionsScreen(console.permissions, modes, ui.changed))

    async def config(console: Console, rest: str) -> None:
        await dialogs.settings(themes, console.permissions.use_mode, rest)

    help_, servers = _waiting(lambda _: dialogs.help(commands.own, places)), _waiting(dialogs.servers)
    return {
        **{name: Key(f"panel.{name}") for name, one in INTENTS.items() if one.act is not None},
        "help": help_,
        "keys": help_,
        "model": Slash(model),
        "connect": _waiting(lambda _: dialogs.connect()),
        "mode": Key("chat.mode"),
        "plan": _at_once(lambda _: keys.toggle_plan()),
        "permissions": Slash(permissions),
        "theme": Slash(
            _waiting(lambda rest: dialogs.theme(themes, rest)).run, lambda _: [one.theme.name for one in themes]
        ),
        "mcp": servers,
        "tools": servers,
        "call": Slash(call),
        "timeline": Slash(timeline),
        "compare": _waiting(dialogs.compare),
        "sessions": Slash(sessions),
        "resume": Slash(resume),
        "find": _at_once(keys.find),
        "clear": Slash(clear),
        "copy": Slash(copy),
        "config": Slash(config),
        "todo": _at_once(lambda _: boards.todo.open()),
        "editor": _waiting(lambda _: dialogs.editor()),
        "status": Cannot("the line at the top shows it all the time"),
        "quit": _waiting(lambda _: ui.app.run_action("screen.quit")),
        "stop": Key("chat.stop"),
        "steer": Key("chat.steer"),
        "go": Key("prompt.send"),
        "unsend": Key("prompt.older"),
        "draft": Cannot("a message that is given back stands in the prompt"),
        "read": Cannot("the conversation stands on the screen"),
        "results": Key("panel.send"),
        "approve": Key("board.once"),
        "deny": Key("board.deny"),
        "allow": Key("board.session"),
        "answer": Key("asked.enter"),
        "decline": Key("asked.no"),
        "calls": Key("panel.filter"),
        "show": Key("panel.toggle"),
        "edit": Key("panel.edit"),
        "result": Key("panel.edit"),
        "inspect": Key("panel.inspect"),
        "files": Key("panel.files"),
    }


def _waiting(dialog: Callable[[str], Awaitable[object]]) -> Slash:
    async def run(_console: Console, rest: str) -> None:
        await dialog(rest)

    return Slash(run)


def _at_once(act: Callable[[str], object]) -> Slash:
    def run(_console: Console, rest: str) -> None:
        act(rest)

    return Slash(run)
