"""The commands that come with the console. Each does what a key or a dialog does too; none holds state."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import get_args

from textual.widget import Widget

from console_app.console.permissions import Permissions
from console_app.console.reports.context_report import context_report
from console_app.console.reports.cost_report import cost_report
from console_app.console.reports.request_report import request_report
from console_app.console.services import Services
from console_app.console.talk.by_hand import MANUAL
from console_app.console.talk.conversation import Conversation
from console_app.console.talk.sessions import EXPORTS_ABOUT, READ_ONLY, Sessions
from console_app.domain.approvals import CallPolicy
from console_app.domain.errors import FanoutError, UsageError
from console_app.domain.ports.provider import ProtocolMode, ReadsText, protocol_label, speaks
from console_app.domain.safe_text import one_line
from console_app.domain.sampling import EFFORTS
from console_app.tui.approvals.mode_switch import ModeSwitch
from console_app.tui.commands.registry import Command, CommandRegistry
from console_app.tui.lineview.call_block import CallBlock
from console_app.tui.main_screen.board_area import BoardArea
from console_app.tui.main_screen.console_ui import ConsoleUi
from console_app.tui.main_screen.dialogs import DEFAULT_EFFORT, Dialogs
from console_app.tui.themes import LoadedTheme

RUNNING = "A turn is running. Esc stops it"
READ_AGAIN = 0.2  # seconds between two looks at a report that is still written


def talk_commands(
    ui: ConsoleUi,
    services: Services,
    conversation: Conversation,
    sessions: Sessions,
    dialogs: Dialogs,
    themes: Sequence[LoadedTheme],
) -> list[Command]:
    """What is done with the conversation, its sessions, its model and servers."""
    return [
        *dialog_commands(ui, services, dialogs, themes),
        protocol_command(ui, services),
        *session_commands(ui, conversation, sessions, services.clock),
        *conversation_commands(ui, conversation, sessions, dialogs),
        *report_commands(ui, services, conversation, dialogs),
        doctor_command(ui, services, dialogs),
    ]


def dialog_commands(
    ui: ConsoleUi, services: Services, dialogs: Dialogs, themes: Sequence[LoadedTheme]
) -> list[Command]:
    """What opens a dialog."""

    def model(rest: str) -> None:
        ui.open(dialogs.model, rest)

    def connect(_rest: str) -> None:
        ui.open(dialogs.connect)

    def theme(rest: str) -> None:
        ui.open(dialogs.theme, themes, rest)

    def policy(rest: str) -> None:
        ui.open(dialogs.policy, rest)

    def effort(rest: str) -> None:
        ui.open(dialogs.effort, rest)

    def mcp(rest: str) -> None:
        ui.open(dialogs.servers, rest)

    def reload(_rest: str) -> None:
        ui.open(dialogs.reload)

    def trust(_rest: str) -> None:
        ui.open(dialogs.trust)

    def editor(_rest: str) -> None:
        ui.open(dialogs.editor)

    def log(_rest: str) -> None:
        ui.open(dialogs.log)

    def timeline(_rest: str) -> None:
        at = ui.view.cursor
        call = at.call if isinstance(at, CallBlock) else None
        ui.open(dialogs.timeline, ui.shown.transcript, ui.view.go_to_call, call)

    def servers() -> Sequence[str]:
        return [server.name for server in services.server_statuses()]

    return [
        Command("model", "choose the model that answers", model, "[PROVIDER/MODEL]"),
        Command("connect", "connect a model on this machine or by its address", connect),
        Command("theme", "choose the colours", theme, "[NAME]", lambda: [one.theme.name for one in themes]),
        Command(
            "policy",
            "how the calls of one answer run",
            policy,
            "[parallel|sequential|single]",
            lambda: [one.value for one in CallPolicy],
        ),
        Command(
            "effort",
            "how much the model thinks before it answers",
            effort,
            "[LEVEL]",
            lambda: [DEFAULT_EFFORT, *EFFORTS],
        ),
        Command("mcp", "servers and their tools, on and off", mcp, "[SERVER]", servers),
        Command("tools", "servers and their tools, as /mcp", mcp, "[SERVER]", servers),
        Command("reload", "read changed commands and mcp.json again", reload),
        Command("trust", "trust what this project runs and sets", trust),
        Command("timeline", "the calls of a turn in time, as a chart", timeline),
        Command("editor", "write the prompt in $EDITOR", editor),
        Command("log", "the program's log", log),
    ]


def protocol_command(ui: ConsoleUi, services: Services) -> Command:
    """/protocol: how the model is given tools, from the next request on."""

    def protocol(rest: str) -> None:
        provider = services.engine.provider
        if not speaks(provider, ReadsText):
            ui.toast(f"{provider.name} has tools of its own: there is nothing to choose.")
        elif not rest:
            ui.toast(f"Tools are offered by protocol {protocol_label(provider)}.")
        elif (mode := next((one for one in get_args(ProtocolMode) if one == rest.lower()), None)) is None:
            ui.toast(f"/protocol takes {', '.join(get_args(ProtocolMode))}; not {one_line(rest, 40)}.")
        else:
            provider.choose(mode)
            ui.toast(f"Protocol {mode}, from the next request on.")
            ui.changed()

    return Command(
        "protocol",
        "how the model is given tools; auto learns it anew",
        protocol,
        "[auto|native|text|xml]",
        lambda: list(get_args(ProtocolMode)),
    )


def session_commands(
    ui: ConsoleUi, conversation: Conversation, sessions: Sessions, clock: Callable[[], float]
) -> list[Command]:
    """What is done with sessions."""

    def new(_rest: str) -> None:
        conversation.once_settled(sessions.begin)

    async def browse(query: str) -> None:
        from console_app.tui.sessions.browse import browse

        await browse(sessions, ui, clock, query)

    def listed(rest: str) -> None:
        ui.open(browse, rest)

    def resume(rest: str) -> None:
        ui.open(sessions.resume if rest else browse, rest)

    def rename(rest: str) -> None:
        ui.open(sessions.rename, rest)

    def fork(rest: str) -> None:
        ui.open(sessions.fork, rest)

    def undo(_rest: str) -> None:
        ui.open(sessions.undo)

    def rewind(rest: str) -> None:
        ui.open(sessions.rewind_to, rest)

    def export(rest: str) -> None:
        ui.open_beside(sessions.export, rest or "md")  # a command right behind it must not end it

    return [
        Command("new", "start a new session; the model forgets this one", new),
        Command("sessions", "resume, rename, fork, export, delete", listed, "[WORDS]"),
        Command("resume", "resume a session", resume, "[ID]"),
        Command("rename", "give this session a title", rename, "[TITLE]"),
        Command("fork", "go on with a copy of this session, from any turn", fork, "[TURN]"),
        Command("rewind", "go back to a message of yours and change it", rewind, "[WORDS]"),
        Command("undo", "take the last turn back", undo),
        Command(
            "export",
            "write this session to a file",
            export,
            "[md|html|jsonl|trace] [PATH]",
            lambda: list(EXPORTS_ABOUT),
        ),
    ]


def conversation_commands(
    ui: ConsoleUi,
    conversation: Conversation,
    sessions: Sessions,
    dialogs: Dialogs,
) -> list[Command]:
    """What is done with the conversation on screen."""

    def call(rest: str) -> None:
        if "{" in rest:
            conversation.send(f"{MANUAL}{rest}")
        else:
            ui.open(dialogs.call, rest)

    def clear(_rest: str) -> None:
        conversation.once_settled(clear_now)

    def clear_now() -> None:
        if conversation.busy:
            ui.toast(f"{RUNNING}; then /clear.")
        else:
            ui.view.clear()
            ui.toast("Cleared. The model still knows the conversation; /new starts another.")

    def copy(rest: str) -> None:
        from console_app.tui.main_screen.copying import copy_answer

        ui.open(copy_answer, ui, rest)

    def compact(rest: str) -> None:
        conversation.once_settled(partial(compact_now, rest))

    def compact_now(rest: str) -> None:
        if sessions.read_only:
            ui.toast(READ_ONLY)
        elif conversation.busy:
            ui.toast(f"{RUNNING}; then /compact.")
        elif rest == "undo":
            ui.open(undo_compaction)
        elif rest:
            ui.toast(f"/compact takes nothing, or undo; not {one_line(rest, 40)}.")
        else:
            try:
                conversation.compact()
            except UsageError:
                ui.toast("There is nothing to compact: only the newest turns are left.")

    async def undo_compaction() -> None:
        if not await conversation.undo_compaction():
            ui.toast("There is no compaction to take back.")
        ui.changed()

    def tools() -> Sequence[str]:
        return [spec.label for spec in conversation.engine.toolset.tools()]

    return [
        Command("call", "call tools yourself, without a model", call, "[SERVER.TOOL [JSON] ...]", tools),
        Command("clear", "clear the screen; the model still knows it all", clear),
        Command("copy", "copy the answer, or code, a table, a result", copy, "[WHAT]"),
        Command("compact", "summarise older turns for the model", compact, "[undo]"),
    ]


def report_commands(ui: ConsoleUi, services: Services, conversation: Conversation, dialogs: Dialogs) -> list[Command]:
    """What tells of the requests to the model."""

    def context(_rest: str) -> None:
        ui.open(dialogs.text, "Context", context_now)

    def context_now() -> str:
        return context_report(conversation.engine, ui.shown.transcript, services.models.window)

    def request(_rest: str) -> None:
        ui.open(dialogs.text, "Request", lambda: request_report(conversation.engine))

    def cost(_rest: str) -> None:
        ui.open(dialogs.text, "Cost", lambda: cost_report(ui.shown.transcript))

    return [
        Command("context", "what the model reads, and how full its window is", context),
        Command("request", "the messages of the next and the last request", request),
        Command("cost", "tokens and money, in all and by turn", cost),
    ]


def doctor_command(ui: ConsoleUi, services: Services, dialogs: Dialogs) -> Command:
    """/doctor: the report of `fanout doctor`, on the servers that run already."""

    def doctor(_rest: str) -> None:
        if services.diagnose is None:
            ui.toast("There is nothing to examine here. In a shell: fanout doctor.")
        else:
            ui.open(report, services.diagnose)

    async def report(diagnose: Callable[[], Awaitable[Sequence[str]]]) -> None:
        text = "Looking…"

        async def look() -> None:
            nonlocal text
            try:
                text = "\n".join(await diagnose())
            except FanoutError as error:
                text = error.line

        looking = asyncio.create_task(look())
        try:
            await dialogs.text("Doctor", lambda: text, every=READ_AGAIN)
        finally:
            looking.cancel()

    return Command("doctor", "what is wrong, and what to do about it", doctor)


def screen_commands(
    ui: ConsoleUi,
    permissions: Permissions,
    modes: ModeSwitch,
    commands: CommandRegistry,
    dialogs: Dialogs,
    boards: BoardArea,
    places: Sequence[tuple[str, Widget]],
    themes: Sequence[LoadedTheme],
) -> list[Command]:
    """What shows a part of the screen, or leaves it. `places` have keys of their own, which help names."""

    def show_help(_rest: str) -> None:
        ui.open(dialogs.help, commands.own, places)

    def show_permissions(_rest: str) -> None:
        from console_app.tui.approvals.permissions_screen import PermissionsScreen

        ui.app.push_screen(PermissionsScreen(permissions, modes, ui.changed))

    def config(rest: str) -> None:
        ui.open(dialogs.settings, themes, permissions.use_mode, rest)

    return [
        Command("config", "every setting, who set it; change it here", config, "[WORDS]"),
        Command("help", "keys and commands", show_help),
        Command("keys", "keys and commands, as /help", show_help),
        Command("permissions", "the mode and the rules: what may run unasked", show_permissions),
        Command("todo", "the to-do list: change, add and delete items", lambda _: boards.todo.open()),
        Command("quit", "leave", lambda _: ui.app.exit(0)),
    ]


def turn_commands(
    toggle_plan: Callable[[], None], run_cut_off_again: Callable[[], None], find: Callable[[str], None]
) -> list[Command]:
    """What is done with the calls of turns."""
    return [
        Command("plan", "plan mode on and off: only reads run", lambda _rest: toggle_plan()),
        Command("retry", "send what had no answer, or was cut off, again", lambda _rest: run_cut_off_again()),
        Command("find", "find in the conversation and results", find, "[WORDS]"),
    ]
