"""`fanout acp`: puts together what each conversation of an editor runs on; `acp_agent/` does the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from console_app import wiring
from console_app.config.machine import extras
from console_app.config.models import ModelChoice
from console_app.config.servers import ServerChoice
from console_app.config.settings import UserRules
from console_app.config.trust import CustomCommands
from console_app.console import Models, Services
from console_app.domain import ConfigError, UsageError
from console_app.domain.transcript import Transcript
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding, servers
from console_app.mcp_client import HubSwitch
from console_app.providers import EndpointLimits
from console_app.records import replace
from console_app.sessions import NoSuchSession
from console_app.wiring import Setup

if TYPE_CHECKING:
    from console_app.acp_agent import SessionParts
    from console_app.config.servers import ServerConfig
    from console_app.engine import Engine
    from console_app.mcp_client import Hub
    from console_app.sessions import Library


async def acp(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Serve the editor on standard input and output until it goes. Raises UsageError."""
    try:
        from acp.core import AgentSideConnection
    except ModuleNotFoundError as error:
        missing = f"an agent of an editor needs {error.name}, which is not installed"
        raise UsageError(missing, extras.how_to_install("acp")) from None
    from console_app.acp_agent import EditorAgent

    agent = EditorAgent(OpenedSessions(setup, interrupts), wiring.stored_sessions(setup), output)
    # `session/resume` and `session/close` are of the protocol; the SDK still counts them as unstable.
    connection = AgentSideConnection(cast("Any", agent), agent.lines, listening=False, use_unstable_protocol=True)
    listening = asyncio.create_task(connection.listen())
    ends = [listening, *(asyncio.create_task(event.wait()) for event in (interrupts.asked, output.lost))]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        code = Exit.INTERRUPTED if interrupts.asked.is_set() else Exit.DONE
        interrupts.end_within(code)
        interrupts.to_end.begin()
        for end in ends:
            end.cancel()
        await agent.close()
        await connection.close()
    return RunEnding(code)


class OpenedSessions:
    def __init__(self, setup: Setup, interrupts: Interrupts) -> None:
        self._setup = setup
        self._interrupts = interrupts
        self._frozen = False  # what the first conversation brought with it
        self._limits = EndpointLimits()

    async def __call__(
        self, folder: Path, servers: Sequence[ServerConfig], session_id: str | None = None
    ) -> SessionParts:
        from console_app.acp_agent import SessionParts

        setup = await asyncio.to_thread(self._setup_in, folder)
        chosen, foreign = await asyncio.to_thread(self._servers, setup, servers)
        waits = await asyncio.to_thread(wiring.foreign_waits, setup)
        notes = [*setup.layered.wrong, *setup.layered.notes, *chosen.notes, *waits]
        source = wiring.model_source(setup, self._limits)
        choice = source.choose()
        if choice.notice:  # a demo that nobody named is no answer to an editor
            raise ConfigError("no key is set and no model is named", ModelChoice.NO_KEY_HINT)
        library = wiring.open_library(setup)
        opened = None
        if session_id is not None:
            if library is None:
                raise UsageError("a session can't be gone on with while sessions are not saved", "Leave out --no-save.")
            try:
                if (await library.store.find(session_id)).id != session_id:
                    raise NoSuchSession(f"no session has the id {session_id}.")
                opened = await library.open(session_id)
            except BaseException:
                await library.close()
                raise
            choice, note = wiring.model_of_session(setup, source, choice, opened.info)
            notes += [note] if note else []
        hub = wiring.build_hub(setup, chosen, picks=wiring.picks(setup))
        gate = wiring.build_gate(setup, chosen, headless=False)
        gate.bindings.foreign |= foreign
        place = await asyncio.to_thread(wiring.workplace, setup)
        engine = wiring.build_engine(setup, source.open(choice), hub, gate, servers=HubSwitch(hub), workplace=place)
        hub.on_change = wiring.join(engine, hub)
        if opened is not None:
            engine.go_on(opened.info.id, Transcript.of(opened.events))
        models = Models(engine, source, choice)
        return SessionParts(
            Services(
                engine=engine,
                models=models,
                history_path=setup.paths.history,
                log_path=setup.log_path,
                theme_dirs=(),
                close=partial(self._close, engine, hub, library),
                hub=hub,
                server_statuses=hub.statuses,
                redact=setup.redactor.clean,
                store=library,
                library=library,
                rules=UserRules(setup.paths),
                working_folder=folder,
                replaced_files=setup.paths.replaced,
                pictures_path=setup.paths.files,
                custom_commands=partial(CustomCommands.find, setup.paths, folder, setup.environ),
            ),
            hub=hub,
            start=partial(self._start, hub, models, library),
            question_limit=setup.settings.question_timeout,
            stored=opened.events if opened is not None else (),
            notes=[setup.redactor.clean(note) for note in notes],
        )

    def _setup_in(self, folder: Path) -> Setup:
        base = self._setup
        layered = wiring.read_settings(base.paths, folder, base.arguments, base.environ, forgiving=True)
        base.redactor.add(*layered.settings.secrets(base.environ))
        return replace(base, cwd=folder, layered=layered)

    def _servers(self, setup: Setup, servers: Sequence[ServerConfig]) -> tuple[ServerChoice, frozenset[str]]:
        """Return Fanout's servers and the editor's, these under their own names; one of both is there once."""
        try:
            chosen = wiring.choose_servers(setup)
        except ConfigError as error:
            if setup.settings.mcp_config is not None:
                raise
            chosen = ServerChoice(notes=(error.line,))
        here = {"folder": str(setup.cwd)}
        all_of = {one.name: one.model_copy(update=here) for one in chosen.servers}
        known = {one.identity(setup.cwd).digest for one in all_of.values() if not one.disabled and not one.problem}
        for server in servers:
            if server.identity(setup.cwd).digest in known:
                continue
            name = server.name
            while name in all_of:
                name += "-2"
            all_of[name] = server.model_copy(update=here | {"name": name})
            setup.redactor.add(*server.secrets())
        foreign = frozenset(all_of) - {one.name for one in chosen.servers}
        return replace(chosen, servers=tuple(all_of.values())), foreign

    async def _start(self, hub: Hub, models: Models, library: Library | None) -> Sequence[str]:
        await hub.start()
        if library is not None:
            await library.store.check()
        if hub.statuses():
            await asyncio.to_thread(wiring.preload_servers)
        await models.load()
        await asyncio.gather(hub.ready_for_prompts(), wiring.build_models())
        if not self._frozen:  # conversations come and go: what is left of one has to be found
            self._frozen = True
            wiring.freeze_collector()
        return servers.failures(hub.statuses())

    async def _close(self, engine: Engine, hub: Hub, library: Library | None) -> None:
        kept = [library.close()] if library is not None else []
        await asyncio.gather(hub.close(hurried=self._interrupts.to_end.begun.is_set()), engine.close(), *kept)
