"""Offer the intents on the screen: as a slash command, under a key, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.widget import Widget

from console_app.console import Console
from console_app.console.intents import INTENTS, RUNNING, Cannot, Key, Slash, Ways
from console_app.domain import UsageError
from console_app.tui.lineview import CallBlock

if TYPE_CHECKING:
    from console_app.tui.approvals.mode_switch import ModeSwitch
    from console_app.tui.commands.registry import CommandRegistry
    from console_app.tui.main_screen.board_area import BoardArea
    from console_app.tui.main_screen.console_ui import ConsoleUi
    from console_app.tui.main_screen.dialogs import Dialogs
    from console_app.tui.themes import LoadedTheme


def screen_ways(
    ui: ConsoleUi,
    dialogs: Dialogs,
    boards: BoardArea,
    modes: ModeSwitch,
    commands: CommandRegistry,
    find: Callable[[str], None],
    places: Sequence[tuple[str, Widget]],
    themes: Sequence[LoadedTheme],
) -> Ways:
    """Return the ways of one chat screen. `places` are the widgets whose keys help lists, each with its title."""

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

    help_, servers = _waiting(lambda _: dialogs.help(commands.own, places)), _waiting(dialogs.servers)
    return {
        **{name: Key(f"panel.{name}") for name, one in INTENTS.items() if one.act is not None},
        "help": help_,
        "keys": help_,
        "model": Slash(model),
        "connect": _waiting(lambda _: dialogs.connect()),
        "mode": Key("chat.mode"),
        "plan": Slash(lambda _, __: modes.toggle_plan()),
        "permissions": Slash(permissions),
        "theme": Slash(partial(dialogs.theme, themes), lambda _: [one.theme.name for one in themes]),
        "mcp": servers,
        "tools": servers,
        "call": Slash(call),
        "timeline": Slash(timeline),
        "compare": _waiting(dialogs.compare),
        "sessions": Slash(sessions),
        "resume": Slash(resume),
        "find": Slash(lambda _, rest: find(rest)),
        "clear": Slash(clear),
        "copy": Slash(copy),
        "config": Slash(partial(dialogs.settings, themes)),
        "todo": Slash(lambda _, __: boards.todo.open()),
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
