"""Build what the console runs on, in a thread behind the first paint. SDKs are imported and servers started later, by
`start`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from console_app import wiring
from console_app.commands.sessions import page_of
from console_app.commands.standard_output import write_out
from console_app.config import trust
from console_app.config.files import Paths, trusted
from console_app.config.machine import write_report
from console_app.config.servers import ServerChoice
from console_app.config.settings import OwnSettings, UserRules, own_settings
from console_app.console import (
    AttentionSettings,
    Connecting,
    Models,
    QuestionQueue,
    Services,
    Timing,
    files,
    full_looks,
)
from console_app.console.servers import HubSwitches
from console_app.domain import ConfigError, ToolResult, ToolSpec, errors, ports
from console_app.domain import chunks as ch
from console_app.domain import events as ev
from console_app.domain.tools import OWN_SERVER
from console_app.engine import Engine
from console_app.mcp_client import ServerState, ServerStatus
from console_app.tui import WarmUp
from console_app.wiring import Setup

if TYPE_CHECKING:
    from console_app.config.settings import LayeredSettings
    from console_app.domain import Event
    from console_app.sessions import Replay, SessionInfo

# Modules that the model picker and /doctor need.
PICKED_FROM = ("console_app.commands.diagnosis", "console_app.providers.factory")

log = logging.getLogger(__name__)


def open_services(arguments: Namespace, environ: Mapping[str, str] = os.environ) -> Services:
    """Build what the console runs on; it may block. Raises FanoutError where a flag or a settings file is wrong."""
    parts = ConsoleParts(wiring.prepare(arguments, environ))
    if arguments.resume_newest or arguments.resume is not None:
        asyncio.run(parts.find_session())
    return parts.services()


def run_in_lines(arguments: Namespace) -> int:
    """Run the console as lines until it is left; return the exit code. Raises FanoutError as `open_services` does."""
    from console_app.line_console import run

    return asyncio.run(run(open_services(arguments), arguments.prompt))


def replay_session(arguments: Namespace) -> int:
    from console_app.sessions import Replay
    from console_app.tui import FanoutApp

    setup = wiring.prepare(arguments)
    info, events = asyncio.run(_stored(setup, arguments.words))
    return FanoutApp(_replaying(setup, info, Replay(events, arguments.speed))).run() or 0


def record_session(arguments: Namespace) -> int:
    from console_app.commands.sessions import moving_format
    from console_app.sessions import export
    from console_app.tui.recording import record

    setup = wiring.prepare(arguments)
    info, events = asyncio.run(_stored(setup, arguments.words))
    # Known secrets are left out, as in every export.
    events = export.imported(export.as_json_lines(events, setup.redactor).split("\n"), info.id, info.id)
    replaying = partial(_replaying, setup, info)
    recording = asyncio.run(record(events, replaying, size=arguments.size, speed=arguments.speed))
    text = recording.as_svg() if moving_format(arguments) == "svg" else recording.as_cast()
    if recording.cut:
        sys.stderr.write(f"fanout: the recording ends after {recording.seconds:.0f} s; --speed makes it shorter.\n")
    if not arguments.output:
        write_out(text)
        return 0
    write_out(f"{export.write_new(Path(arguments.output).expanduser(), text)}\n")
    return 0


def _replaying(setup: Setup, info: SessionInfo, replay: Replay, timing: Timing | None = None) -> Services:
    stored = StoredTools(replay.session)
    engine = Engine(provider=StoredModel(info), toolset=stored)
    return Services(
        engine=engine,
        models=Models(engine),
        history_path=setup.paths.history,
        log_path=setup.log_path,
        theme_dirs=setup.paths.theme_dirs,
        theme=setup.settings.theme,
        motion=setup.settings.ui.motion,
        keymap=setup.settings.keys,
        working_folder=setup.cwd,
        server_statuses=lambda: stored.servers,
        replay=replay,
        clock=replay.now,
        timing=timing or Timing(),
    )


async def _stored(setup: Setup, words: Sequence[str]) -> tuple[SessionInfo, list[Event]]:
    library = wiring.stored_sessions(setup)
    try:
        info = await library.store.find(words[0])
        return info, await library.store.load(info.id)
    finally:
        await library.close()


class StoredModel(ports.Provider):
    """The model of a replay: named as the one that answered then, and never asked."""

    protocol = "offline"

    def __init__(self, info: SessionInfo) -> None:
        self.name, self.model = info.provider, info.model

    def stream(self, request: ports.ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ch.Chunk]]:
        raise errors.ProviderError("a replay asks no model")


_OWN = f"{OWN_SERVER}_"  # of wire names: no server has these tools


class StoredTools:
    """The servers and tools of a replay, as they were when the session began: nothing runs."""

    def __init__(self, began: ev.SessionStarted | None) -> None:
        servers = {} if began is None else began.servers
        self.servers = [
            ServerStatus(name, ServerState.READY, tools=tools, transport="") for name, tools in servers.items()
        ]
        names = () if began is None or not servers else began.tools
        self._tools = [ToolSpec(name=name, server="", tool=name) for name in names if not name.startswith(_OWN)]

    def tools(self) -> Sequence[ToolSpec]:
        return self._tools

    async def call(self, invocation: ports.Invocation, reporter: ports.CallReporter) -> ToolResult:
        raise errors.ToolError("a replay runs nothing")


class ConsoleParts:
    """The parts that the console runs on. The model can change while it runs; servers come and go by themselves."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._problems: list[str] = []
        self._source = source = wiring.model_source(setup)
        choice = source.choose()
        self._library = wiring.open_library(setup)
        self._resume = ""
        servers = self._servers()
        # What waits for trust is one line, with a key: `ProjectTrust.survey`.
        notes = (
            note
            for note in (*setup.layered.wrong, *setup.layered.notes, *servers.notes)
            if trusted.IN_A_SHELL not in note
        )
        self._problems += map(setup.redactor.clean, notes)
        self._listener: Callable[[], None] | None = None
        self._update_instructions: Callable[[], None] = lambda: None
        picks = wiring.picks(setup)
        self._switches: HubSwitches | None = None
        self._hub = wiring.build_hub(setup, servers, self._changed, picks=picks)
        self._hub.asking.human = self._human = QuestionQueue(setup.settings.question_timeout)
        self._switches = HubSwitches(self._hub, setup.paths, setup.cwd, servers, picks)
        self._files = trust.ServerFiles(setup.paths, setup.cwd, servers, lambda: wiring.choose_servers(setup))
        self._switches.registry = setup.settings.mcp_registry
        gate = wiring.build_gate(setup, servers, headless=False)
        self._switches.on_reload, self._switches.on_write = partial(wiring.use_bundled, gate), self._files.wrote
        self._engine = wiring.build_engine(
            *(setup, source.open(choice), self._hub, gate),
            servers=self._switches,
            workplace=wiring.workplace(setup),
            kept=self._library is not None,
        )
        self._models = Models(self._engine, source, choice)
        self._connecting = Connecting(setup.paths, source, self._models, setup.redactor)
        self._update_instructions = wiring.join(self._engine, self._hub)
        self._warm_up = WarmUp()

    def services(self) -> Services:
        setup = self._setup
        return Services(
            engine=self._engine,
            history_path=setup.paths.history,
            log_path=setup.log_path,
            theme_dirs=setup.paths.theme_dirs,
            start=self._start,
            connect=self._connect,
            close=self._close,
            models=self._models,
            server_statuses=self._hub.statuses,
            on_servers_changed=self._listen,
            servers=self._switches,
            server_files=self._files,
            project_trust=trust.ProjectTrust(
                *(setup.paths, setup.cwd, setup.environ),
                settings_wait=setup.layered.project is not None and bool(setup.layered.project.lines),
                bundled=Paths.bundled("mcp.json"),
            ),
            hub=self._hub,
            redact=setup.redactor.clean,
            page=partial(page_of, setup.paths.files, setup.redactor),
            exchange=self._hub.exchange,
            human=self._human,
            calls_path=setup.paths.calls,
            connecting=self._connecting,
            theme=setup.settings.theme,
            motion=setup.settings.ui.motion,
            attention=AttentionSettings(
                setup.settings.notifications, setup.settings.window_title, bool(setup.environ.get("TMUX"))
            ),
            settings=OwnSettings(setup.paths.settings, self._settings, partial(wiring.apply_setting, self._engine)),
            remember_theme=partial(own_settings.write_setting, setup.paths.settings, "theme"),
            keymap=setup.settings.keys,
            rules=UserRules(setup.paths),
            working_folder=setup.cwd,
            replaced_files=setup.paths.replaced,
            pictures_path=setup.paths.files,
            custom_commands=partial(trust.CustomCommands.find, setup.paths, setup.cwd, setup.environ),
            diagnose=self._diagnose,
            write_crash_report=lambda error: write_report(setup.paths.state, error, setup.redactor, doing="console"),
            problems=self._problems,
            store=self._library,
            library=self._library,
            resume=self._resume,
        )

    def _settings(self) -> LayeredSettings:
        setup = self._setup
        return wiring.read_settings(setup.paths, setup.cwd, setup.arguments, setup.environ)

    async def find_session(self) -> None:
        info = await wiring.asked_session(self._setup, self._library)
        self._resume = info.id if info is not None else ""
        before = self._models.choice
        assert before is not None
        choice, note = wiring.model_of_session(self._setup, self._source, before, info)
        self._problems += [note] if note else []
        if choice is not before:
            self._engine.provider, self._models.choice = self._source.open(choice), choice

    def _servers(self) -> ServerChoice:
        """Choose the servers. A broken mcp.json that nobody named is told on the screen, which works without."""
        try:
            return wiring.choose_servers(self._setup)
        except ConfigError as error:
            if self._setup.settings.mcp_config is not None:
                raise
            self._problems.append(self._setup.redactor.clean(error.line))
            return ServerChoice()

    async def _diagnose(self) -> Sequence[str]:
        from console_app.commands import diagnosis

        return list(diagnosis.lines(await diagnosis.examine(self._setup, self._hub.statuses()), from_the_top=True))

    async def _start(self) -> None:
        await self._hub.start()
        if self._library is not None:
            await self._library.store.check()
        if self._hub.statuses():
            await asyncio.to_thread(wiring.preload_servers)
        await self._models.load()

    async def _connect(self) -> None:
        warm = asyncio.ensure_future(asyncio.to_thread(self._load_ahead))
        warm.add_done_callback(_warm)
        await asyncio.gather(self._hub.ready_for_prompts(), wiring.build_models())
        await wiring.remember_tools(self._setup, self._hub)

    def _load_ahead(self) -> None:
        files.sweep(self._setup.paths.files, self._setup.paths.drafts)
        self._models.warm_up()
        self._warm_up.run(PICKED_FROM)

    async def _close(self) -> None:
        self._warm_up.stop()
        if self._library is not None:
            await self._library.close()
        await asyncio.gather(self._hub.close(), self._engine.close(), self._setup.close())

    def _listen(self, listener: Callable[[], None]) -> None:
        self._listener = listener

    def _changed(self) -> None:
        self._update_instructions()
        if self._switches is not None:
            self._switches.changed()
        if self._listener is not None:
            self._listener()


def _warm(warm: asyncio.Future[None]) -> None:
    """Freeze the collector, now that everything big is loaded."""
    wiring.freeze_collector()
    gc.callbacks.append(full_looks)
    if not warm.cancelled() and (error := warm.exception()) is not None:
        log.warning("a part could not be loaded ahead: %r", error)
