"""Puts the program together: settings become a provider, servers, an engine and a front end. Imports stand where they
are needed: a console must paint before the SDKs load, and headless never loads Textual."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console_app._version import __version__
from console_app.config.files import Paths, disk, trusted
from console_app.config.machine import extras, log_to
from console_app.config.models import KnownEndpoints, KnownRefusals, ModelChoice
from console_app.config.secrets import Redactor, StoredKeys, secret_sources
from console_app.config.settings import OFFLINE, SCRIPTED, LayeredSettings, RuleServers, Settings, unknown_variables
from console_app.console import ConfiguredModels
from console_app.domain import CallPolicy, ConfigError, FanoutError, UsageError, errors, one_line
from console_app.domain import agents as ag
from console_app.domain.settings import EngineSettings
from console_app.domain.tools import OWN_SERVER, Frozen
from console_app.engine import ApprovalGate, Engine, Rule
from console_app.programs import Runner
from console_app.providers import EndpointLimits
from console_app.records import dataclass, fields, replace

if TYPE_CHECKING:
    from console_app.config.servers import Selection, ServerChoice, ServerConfig
    from console_app.domain import ports
    from console_app.mcp_client import Hub
    from console_app.sessions import Library, SessionInfo
    from console_app.tracing import Trace
    from console_app.workplace import HooksOfCalls, WorkingFolder, Worktree

BUNDLED_TOOLS = {  # allowed in mode ask: they compute and wait, and touch nothing outside
    "calculator": ("*",),
    "demo": ("long_task", "status_updates", "fail", "big", "check"),
}
WITH_A_MODEL = ("calculator", "files", "shell", "web")  # bundled servers that are on with a model that is one
READY = 30.0  # seconds that servers of a folder of its own may take to start
_TRACED = ("console", "run", "call", "acp")  # commands that hold conversations
BUNDLED = "bundled"  # the source of the rules that allow them
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Setup:
    arguments: Namespace
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    layered: LayeredSettings
    log_path: Path
    redactor: Redactor  # knows the secrets that no log or report may have
    trace: Trace | None = None  # where conversations are written as spans, if they are

    @property
    def settings(self) -> Settings:
        return self.layered.settings

    async def close(self) -> None:
        if self.trace is not None:
            await self.trace.close()


def prepare(arguments: Namespace, environ: Mapping[str, str] = os.environ) -> Setup:
    """Go to the working folder, open the log and read the settings."""
    paths, cwd = Paths.find(environ), working_folder(arguments)
    headless = arguments.command != "console" or arguments.print_answer
    log_path = Path(arguments.log_file).absolute() if arguments.log_file else paths.log
    redactor = Redactor.of(environ)
    environ = StoredKeys(paths).over(environ, redactor)
    try:
        log_to(log_path, debug=arguments.debug, stderr=arguments.debug and headless, redactor=redactor)
    except ConfigError:
        if arguments.log_file or arguments.debug:
            raise
        log_to(None)  # a home that can't be written can be read; what is not kept says so itself
    paths.make_private_again()
    layered = read_settings(paths, cwd, arguments, environ, forgiving=True)
    for line in layered.wrong if headless else ():
        sys.stderr.write(f"fanout: {one_line(redactor.clean(line))}\n")
    for name in unknown_variables(environ):
        logger.warning("the environment variable %s is no setting", name)
    redactor.add(*layered.settings.secrets(environ))
    trace = _opened_trace(layered.settings, cwd, redactor) if arguments.command in _TRACED else None
    setup = Setup(arguments, paths, cwd, environ, layered, log_path, redactor, trace)
    redactor.add_later(lambda: _secrets_in_files(setup))  # read where something is printed: it takes a while
    return setup


def _opened_trace(settings: Settings, cwd: Path, redactor: Redactor) -> Trace | None:
    if not settings.trace:
        return None
    try:
        from console_app.tracing import Trace
    except ModuleNotFoundError as error:
        missing = f"a trace needs {error.name}, which is not installed"
        raise UsageError(missing, extras.how_to_install("trace")) from None
    return Trace(settings.trace, cwd, redactor, contents=settings.trace_contents)


def _secrets_in_files(setup: Setup) -> Iterator[str]:
    """Yield the secrets of sign-ins and of each mcp.json that may be in force: the user's, the settings' and the
    project's. A pipe gives its own once, to `choose_servers`."""
    from console_app.config.files import trusted
    from console_app.config.secrets import UserCredentials
    from console_app.config.servers import load_mcp_config

    for text in UserCredentials(setup.paths.credentials).all():
        yield from secret_sources.secrets_of_kept(text)
    named = {path} if (path := named_servers(setup)) else set[Path]()
    for path in {setup.paths.mcp, *named, *(project := Paths.project_mcp(setup.cwd))}:
        with suppress(ConfigError):
            # An untrusted file must not decide which words are hidden.
            if os.path.isfile(path) and (
                path not in project or trusted.is_trusted(setup.paths, path, disk.read_text(path))
            ):
                for server in load_mcp_config(path, setup.environ).servers:
                    yield from server.secrets()


def named_servers(setup: Setup) -> Path | None:
    """Return the file of servers that is named. The user's settings name one beside themselves: in the folder where a
    console starts, it would be anybody's."""
    if (named := setup.settings.mcp_config) is None:
        return None
    own = setup.layered.sources.get("mcp_config") == str(setup.paths.settings)
    return (setup.paths.settings.parent if own else setup.cwd) / named.expanduser()


def working_folder(arguments: Namespace) -> Path:
    if arguments.cwd:
        try:
            os.chdir(arguments.cwd)
        except OSError as error:
            raise UsageError(f"--cwd {arguments.cwd}: {error.strerror or error}") from None
    return Path.cwd()


def read_settings(
    paths: Paths, cwd: Path, arguments: Namespace, environ: Mapping[str, str], *, forgiving: bool = False
) -> LayeredSettings:
    """Read all layers of settings. Raises ConfigError or UsageError; with `forgiving`, nothing in the project's file is
    an error."""
    chosen = vars(arguments)
    flags = {name: chosen[name] for name in Settings.model_fields if name in chosen}
    allow, deny = chosen.get("allow_tool") or (), chosen.get("deny_tool") or ()
    return LayeredSettings.load(
        paths, cwd=cwd, flags=flags, environ=environ, allow=allow, deny=deny, forgiving=forgiving
    )


def apply_setting(engine: Engine, name: str, settings: Settings) -> bool:
    """Have one changed setting hold from the next answer on; False for one that is not the engine's."""
    known = {field.name for field in fields(EngineSettings)}
    names = {"timeout": ("turn_timeout",), "policy": ("policy", "text_single")}.get(name, (name,))
    if not known.issuperset(names):
        return False
    now = engine_settings(settings, headless=False)
    engine.settings = replace(engine.settings, **{one: getattr(now, one) for one in names})
    return True


def model_source(setup: Setup, limits: EndpointLimits | None = None) -> ConfiguredModels:
    source, paths = setup.layered.sources.get("model", ""), setup.paths
    refusals = KnownRefusals(paths.refusals, __version__, KnownEndpoints(paths.endpoints, __version__))
    limits = limits or EndpointLimits()
    return ConfiguredModels(setup.settings, setup.environ, source, paths.dialects, refusals, limits, setup.cwd)


def preload_servers() -> None:
    """Import the SDK of the servers (0.7 s) in a thread, before the model's: they share packages, which two threads
    can't import at once."""
    from console_app.mcp_client import preload

    preload()


async def remember_tools(setup: Setup, hub: Hub) -> None:
    """Keep the names of the tools, for a shell to complete."""
    from console_app.config.servers import keep_tool_names

    await asyncio.to_thread(keep_tool_names, setup.paths.known_tools, hub.all_tools())


def freeze_collector() -> None:
    """Hide what was imported from the garbage collector, now and at the exit. That takes 0.3 s off the end, and long
    pauses off the console."""
    gc.freeze()
    gc.enable()


async def build_models(base: type[Frozen] = Frozen) -> None:
    """Build all models of events and messages, on the loop between others' work, since two threads must not build
    one."""
    for model in base.__subclasses__():
        model.model_rebuild()
        await asyncio.sleep(0)
        await build_models(model)


def choose_servers(setup: Setup) -> ServerChoice:
    from console_app.config import trust
    from console_app.config.servers import choose_servers as choose

    arguments, named_by = setup.arguments, setup.layered.sources.get("mcp_config")
    plugins = trust.Brought.find(setup.paths, setup.cwd, setup.environ).servers
    for data in {server.env.get("PLUGIN_DATA") for server in plugins} - {None}:
        with suppress(OSError):  # a server that needs it says so itself
            disk.private_folder(Path(str(data)))
    chosen = choose(
        setup.paths,
        setup.cwd,
        mcp_config=named_servers(setup),
        bundled=Paths.bundled("mcp.json"),
        on=WITH_A_MODEL if not arguments.no_mcp and _is_answered(setup) else None,
        only=arguments.mcp or (),
        none=arguments.no_mcp,
        groups=setup.settings.groups,
        named_by_user=named_by == str(setup.paths.settings),
        named_by_project=setup.layered.project is not None and named_by == setup.layered.project.path,
        environ=setup.environ,
        plugins=plugins,
    )
    setup.redactor.add(*(secret for server in chosen.servers for secret in server.secrets()))
    return chosen


def _is_answered(setup: Setup) -> bool:
    """Tell whether a model that is one answers, and no rehearsal."""
    try:
        return model_source(setup).choose().provider not in (OFFLINE, SCRIPTED)
    except FanoutError:
        return False


def open_library(setup: Setup) -> Library | None:
    """Return this user's sessions, None where none is to be kept. The file is opened when it is first used."""
    if not setup.settings.save_sessions:
        return None
    return stored_sessions(setup)


def stored_sessions(setup: Setup) -> Library:
    from console_app.sessions import Library, Store

    store = Store(setup.paths.sessions, folder=str(setup.cwd))
    return Library(store, setup.paths.session_locks, setup.redactor)


async def asked_session(setup: Setup, library: Library | None) -> SessionInfo | None:
    newest, prefix = setup.arguments.resume_newest, setup.arguments.resume
    if library is None:
        if newest or prefix is not None:
            raise UsageError("a session can't be gone on with while sessions are not saved", "Leave out --no-save.")
        return None
    return await library.asked_for(newest=newest, prefix=prefix, folder=setup.cwd)


def model_of_session(
    setup: Setup, source: ConfiguredModels, choice: ModelChoice, session: SessionInfo | None
) -> tuple[ModelChoice, str]:
    """Return the model that a session goes on with, and a line where that can't be its own. A named model, or a demo's
    session, has `choice`."""
    named = setup.arguments.model or setup.arguments.base_url or setup.environ.get("FANOUT_MODEL")
    if session is None or named or not session.model or session.provider in ("", OFFLINE, SCRIPTED):
        return choice, ""
    name = f"{session.provider}/{session.model}"
    try:
        return source.choose(name), ""
    except ConfigError as error:
        return choice, f"The session was with {one_line(name, 60)}; {choice.name} answers now: {error.detail}."


def build_hub(
    setup: Setup,
    servers: ServerChoice,
    on_change: Callable[[], None] | None = None,
    *,
    picks: Selection | None = None,
) -> Hub:
    from console_app.config.secrets import UserCredentials
    from console_app.mcp_client import Hub

    configs = servers.servers if picks is None else picks.applied(servers.servers)
    hub = Hub(
        configs,
        log_dir=setup.paths.server_logs,
        files_dir=setup.paths.files,
        on_change=on_change,
        credentials=UserCredentials(setup.paths.credentials, setup.redactor),
        redactor=setup.redactor,
        definitions=setup.paths.tool_definitions,
        injected=setup.settings.injected,
    )
    hub.asking.roots = (setup.cwd,)
    if picks is not None:
        hub.select(picks.off)
    return hub


def picks(setup: Setup) -> Selection:
    from console_app.config.servers import Selection

    return Selection() if setup.arguments.mcp else Selection.load(setup.paths, setup.cwd)


def join(engine: Engine, hub: Hub) -> Callable[[], None]:
    """Let servers ask the engine's model (sampling). Return a function that gives the model their instructions as they
    are now."""
    hub.asking.sample_with(lambda: engine.provider)

    def update_instructions() -> None:
        parts = {**engine.settings.parts, "servers": hub.instructions()}
        if parts != engine.settings.parts:
            engine.settings = replace(engine.settings, parts=parts)

    return update_instructions


def build_gate(setup: Setup, servers: ServerChoice, *, headless: bool) -> ApprovalGate:
    """Return the gate with the rules of all layers; bundled servers' tools are allowed unless a rule says otherwise."""
    rules = [Rule(rule.action, rule.parsed.pattern, rule.source, rule.parsed.arguments) for rule in setup.layered.rules]
    gate = ApprovalGate(setup.settings.approval_mode, rules, headless=headless)
    gate.chose, gate.bindings.user_file = "approval_mode" in setup.layered.sources, str(setup.paths.settings)
    for source, rule, server, identities in (record := RuleServers(setup.paths.rule_servers)).read():
        gate.bindings.know(source, rule, server, identities)
    gate.bindings.store = lambda key, identity: record.add(key.source, key.rule, key.server, identity)
    use_bundled(gate, servers)
    return gate


def use_bundled(gate: ApprovalGate, servers: ServerChoice) -> None:
    """Let what came along, and still is that, run without asking; called again when `servers` change."""
    gate.rules = [rule for rule in gate.rules if rule.source != BUNDLED]
    gate.bindings.foreign -= {server.name for server in servers.servers}  # those of agents and editors stay
    gate.bindings.foreign |= servers.foreign
    gate.shell = None
    for server in servers.servers:
        if server.name not in servers.shipped:
            continue
        identity = server.identity(Path.cwd() / server.folder)
        if server.name == "shell":
            gate.shell = identity
            gate.rules.append(Rule("ask", "shell.run", BUNDLED, {"outside": "true"}))
        for tool in BUNDLED_TOOLS.get(server.name, ()):
            rule = Rule("allow", f"{server.name}.{tool}", BUNDLED)
            gate.rules.append(rule)
            gate.bindings.know(BUNDLED, rule.text, server.name, (identity,))


def build_engine(
    setup: Setup,
    provider: ports.Provider,
    toolset: ports.Toolset,
    gate: ApprovalGate,
    *,
    servers: ports.ServerSwitch | None = None,
    workplace: WorkingFolder | None = None,
    kept: bool = False,
) -> Engine:
    """Return an engine under the settings' limits. With a `workplace` its model may send agents; without one, the hooks
    of calls hold all the same. `kept` sessions keep programs that wait."""

    async def open_model(name: str) -> ports.Provider:
        source = model_source(setup)
        choice = source.choose(name)
        await asyncio.to_thread(source.load, choice)
        return source.open(choice)

    async def open_place(name: str) -> ports.PlaceApart:
        assert workplace is not None
        return await Apart.open(setup, workplace, toolset, name)

    settings = engine_settings(setup.settings, headless=gate.headless)
    return Engine(
        provider=provider,
        toolset=toolset,
        settings=settings,
        gate=gate,
        servers=servers,
        programs=Runner.installed(setup.paths.programs if kept else None),
        workplace=workplace or hooks_of_calls(setup),
        agents=agent_kinds(setup, workplace, gate) if workplace is not None else None,
        open_model=open_model,
        open_place=open_place if workplace is not None else None,
        watch=setup.trace.see if setup.trace is not None else None,
    )


def agent_kinds(setup: Setup, workplace: WorkingFolder, gate: ApprovalGate) -> Callable[[], ag.Kinds]:
    def written() -> ag.Kinds:
        kinds = workplace.agents()
        own = {name: workplace.servers_of(name) for name, kind in kinds.items() if kind.starts}
        theirs = (name for name in own if not Path(kinds[name].source).is_relative_to(setup.paths.settings.parent))
        gate.bindings.foreign |= {server.name for name in theirs for server in own[name]}
        return {**kinds, **{name: replace(kinds[name], beside=partial(Beside.open, setup, own[name])) for name in own}}

    if not (named := setup.settings.agents):
        return written
    from console_app import acp_client

    kinds = dict[str, ag.AgentKind]()
    for name, program in acp_client.agent_programs(setup.settings, setup.environ, setup.cwd).items():
        runs, place = program.identity.text, setup.layered.sources.get(f"agents.{name}", "")
        does = named[name].description or f"an agent of others, with a model and tools of its own: {one_line(runs, 60)}"
        opens = partial(acp_client.AcpModel, program)
        kinds[name] = ag.AgentKind(name, does, model=program.model, source=f"{place}, runs {runs}", opens=opens)
    return lambda: {**written(), **kinds}


class Beside:
    """The servers that a kind of agent starts for one agent. Implements ServersBeside."""

    def __init__(self, hub: Hub, servers: Iterable[str]) -> None:
        self.toolset, self._hub, self.servers = hub, hub, frozenset(servers)

    @classmethod
    async def open(cls, setup: Setup, servers: Sequence[ServerConfig], above: ports.Toolset, folder: str) -> Beside:
        if taken := {one.name for one in servers} & {OWN_SERVER, *(spec.server for spec in above.tools())}:
            names = one_line(", ".join(sorted(taken)), 100)
            raise errors.ToolError(f"its own servers have the name of servers that are here: {names}")
        from console_app.config.servers import ServerChoice

        setup.redactor.add(*(secret for server in servers for secret in server.secrets()))
        placed = tuple(one.model_copy(update={"folder": folder or str(setup.cwd)}) for one in servers)
        hub = build_hub(replace(setup, cwd=Path(folder or setup.cwd)), ServerChoice(placed))
        try:
            await hub.start()
            await hub.ready(READY)
        except BaseException:
            await hub.close()
            raise
        return cls(hub, (one.name for one in servers))

    @property
    def problems(self) -> Sequence[str]:
        from console_app.mcp_client import ServerState

        down = (one for one in self._hub.statuses() if one.state is not ServerState.READY)
        return [f"Its server {one.name} is {one.state}: {one.reason or 'no reason given'}" for one in down]

    async def end(self) -> None:
        await self._hub.close()


APART = frozenset({"files", "shell", "csv_reporter", "pptx_generator"})  # bundled servers that work in a folder


class Apart:
    """A git worktree with the bundled servers that work in a folder, as far as they are on. Implements PlaceApart."""

    def __init__(self, worktree: Worktree, workplace: WorkingFolder, hub: Hub, servers: frozenset[str]) -> None:
        self._worktree, self._hub = worktree, hub
        self.folder, self.branch, self.servers = str(worktree.folder), worktree.branch, servers
        self.toolset, self.workplace = hub, workplace.at(worktree.folder)

    @classmethod
    async def open(cls, setup: Setup, workplace: WorkingFolder, beside: ports.Toolset, name: str) -> Apart:
        from console_app.workplace import Worktree

        worktree = await asyncio.to_thread(Worktree.open, setup.cwd, setup.paths.worktrees, name)
        chosen = await asyncio.to_thread(choose_servers, setup)
        on = {spec.server for spec in beside.tools()}
        own = [one for one in chosen.servers if one.name in APART & chosen.shipped]
        moved = [one.model_copy(update={"folder": str(worktree.folder), "disabled": one.name not in on}) for one in own]
        hub = build_hub(replace(setup, cwd=worktree.folder), replace(chosen, servers=tuple(moved)))
        await hub.start()
        await hub.ready(READY)
        return cls(worktree, workplace, hub, frozenset(one.name for one in own))

    async def close(self) -> ports.HandedBack | None:
        await self._hub.close()
        return await asyncio.to_thread(self._worktree.close)


def foreign_waits(setup: Setup) -> tuple[str, ...]:
    """Return a line of what waits for trust in the forms of others, for faces that show no list; nothing for none."""
    from console_app.config import trust

    names = trust.ProjectTrust(setup.paths, setup.cwd, setup.environ).survey()[1]
    listed = one_line(", ".join(names), 300)
    line = f"Not used until you trust it: {listed}. To see it all and say yes: {trusted.IN_A_SHELL}."
    return (line,) if names else ()


def workplace(setup: Setup) -> WorkingFolder:
    from console_app.workplace import WorkingFolder

    return WorkingFolder(setup.paths, setup.cwd, setup.environ, setup.settings.hooks)


def hooks_of_calls(setup: Setup) -> HooksOfCalls:
    """The hooks around the calls of no conversation. Raises ConfigError where these can't be read."""
    from console_app.workplace import HooksOfCalls

    return HooksOfCalls(setup.paths, setup.cwd, setup.environ, setup.settings.hooks)


def engine_settings(settings: Settings, *, headless: bool) -> EngineSettings:
    builtin_tools = settings.builtin_tools
    if builtin_tools is None:  # a question that nobody can answer need not be offered
        builtin_tools = ("update_todo_list", "enable_server", "skill")
        builtin_tools += () if headless else ("ask_followup_question",)
    alike = {one.name: getattr(settings, one.name) for one in fields(EngineSettings) if hasattr(settings, one.name)}
    own: dict[str, Any] = {
        "builtin_tools": frozenset(builtin_tools),
        "policy": settings.policy or CallPolicy.PARALLEL,
        "text_single": settings.policy is None,
        "turn_timeout": settings.timeout,
        "system_prompt": settings.prompt,
    }
    return EngineSettings(**alike | own)
