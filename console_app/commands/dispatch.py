"""What each command but the console does: run, call, mcp, sessions, models and more. Each returns its exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from console_app import wiring
from console_app.config.machine.paths import Paths
from console_app.config.models.model_choice import OFFLINE, OFFLINE_MODEL, chosen_provider, known_providers
from console_app.config.secrets.redaction import Redactor
from console_app.config.settings.layers import unknown_variables
from console_app.console.models import Models
from console_app.domain.amounts import plural
from console_app.domain.errors import ConfigError, FanoutError, UsageError
from console_app.domain.ports import no_pictures
from console_app.domain.safe_text import json_line, one_line, visible
from console_app.domain.transcript import Transcript
from console_app.headless.interrupts import EXIT_INTERRUPTED, LEAVING, Interrupted, Interrupts, end_within
from console_app.headless.output import OutputStreams
from console_app.headless.prompt import read_prompt, with_attachments
from console_app.headless.run import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, RunEnding, run_turn
from console_app.headless.session_command import moving_format
from console_app.headless.standard_output import write_out
from console_app.sessions.library import Library
from console_app.wiring import Setup

Work = Callable[[Setup, OutputStreams, Interrupts], Coroutine[Any, Any, RunEnding]]
_FLUSHING = 1.5  # seconds for the last lines of an interrupted run


def run_command(arguments: Namespace) -> int:
    """Runs the command that `arguments` names."""
    match arguments.command:
        case "run" | "console":
            return _headless(arguments, _run)
        case "batch" | "call" as bulk if bulk == "batch" or arguments.from_file is not None:
            from console_app.commands import batch as batch_commands

            return _headless(arguments, batch_commands.batch if bulk == "batch" else batch_commands.calls)
        case "acp":
            from console_app.commands import acp as acp_command

            return _headless(arguments, acp_command.acp)
        case "call":
            return _headless(arguments, _call)
        case "mcp":
            from console_app.commands import mcp as mcp_commands

            return _headless(arguments, mcp_commands.WORK[arguments.action])
        case "sessions":
            if arguments.replay and os.isatty(0) and os.isatty(1):
                from console_app.commands.console import replay_session

                return replay_session(arguments)
            if arguments.action == "export" and moving_format(arguments):
                from console_app.commands.console import record_session

                return record_session(arguments)
            return _headless(arguments, _sessions)
        case "models":
            return _headless(arguments, _models)
        case "themes":
            from console_app.commands.themes import themes

            return themes(wiring.prepare(arguments))
        case "config" if arguments.action == "edit":
            return _edit_config(arguments)
        case "config" if arguments.action in ("set", "unset"):
            return _change_config(arguments)
        case "config":
            return _config(wiring.prepare(arguments))
        case "auth":
            return _auth(wiring.prepare(arguments))
        case "doctor":
            return _doctor(arguments)
        case "serve":
            from console_app.commands.serve import run_serve

            return run_serve(wiring.prepare(arguments))
        case command:
            raise UsageError(f"no command {command}")


def _headless(arguments: Namespace, work: Work) -> int:
    """Runs `work` on a loop of its own. An error is one line, after everything that was printed before it."""
    return asyncio.run(_guarded(wiring.prepare(arguments), work))


async def _guarded(setup: Setup, work: Work) -> int:
    output = OutputStreams(redactor=setup.redactor)
    with Interrupts() as interrupts:
        try:
            ending = await work(setup, output, interrupts)
        except Interrupted:
            ending = RunEnding(EXIT_INTERRUPTED, "Interrupted.")
        except FanoutError as error:
            ending = RunEnding(EXIT_USAGE if isinstance(error, ConfigError | UsageError) else EXIT_FAILED, error.line)
        if ending.line:
            output.error_line(f"fanout: {ending.line}")
        try:
            if interrupts.asked.is_set():
                await asyncio.wait_for(output.finish(), _FLUSHING)
            else:
                await interrupts.race(output.finish())
            if output.failure not in ("", ending.line):
                ending = RunEnding(ending.code or EXIT_FAILED)
                output.error_line(f"fanout: {output.failure}")
                await output.finish()
        except (Interrupted, TimeoutError):
            return EXIT_INTERRUPTED
        finally:
            output.close()
    if setup.arguments.own_process:
        end_within(interrupts.to_end.left(LEAVING), ending.code)  # all is written and closed
    return ending.code


async def _run(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    library = wiring.open_library(setup)
    try:
        return await _answered(setup, output, interrupts, library)
    finally:
        if library is not None:
            await library.close()
            if library.store.waiting:
                output.error_line("Sessions: this run is not kept: the disk would not have it until the end.")


async def _answered(setup: Setup, output: OutputStreams, interrupts: Interrupts, library: Library | None) -> RunEnding:
    from console_app.console.files.attachments import Attachments  # with the hub, which other commands don't need
    from console_app.headless import servers
    from console_app.mcp_client.switch_on import HubSwitch

    arguments = setup.arguments
    source, chosen = wiring.model_source(setup), wiring.choose_servers(setup)
    choice = source.choose()
    for note in (*setup.layered.notes, *chosen.notes):
        output.error_line(note)
    opened = await wiring.open_session(setup, library)
    choice, note = wiring.model_of_session(setup, source, choice, opened.info if opened is not None else None)
    if note:
        output.error_line(note)
    choice = await interrupts.race(source.named(choice))
    words = [arguments.prompt] if isinstance(arguments.prompt, str) else arguments.prompt or []
    provider = source.open(choice)
    hub = wiring.build_hub(setup, chosen, picks=wiring.picks(setup))
    gate = wiring.build_gate(setup, chosen, headless=True)
    engine = wiring.build_engine(setup, provider, hub, gate, servers=HubSwitch(hub))
    models = Models(engine, source, choice)
    async with servers.running(hub, interrupts.to_end):
        # The SDKs are imported in a thread while the servers start, since the request needs both.
        preloading = asyncio.ensure_future(_preload(models, servers=bool(chosen.servers), window=opened is not None))
        prompt = await interrupts.race(read_prompt(words, output.error_line))
        await interrupts.race(asyncio.gather(servers.settled(hub, output), asyncio.shield(preloading)))
        wiring.freeze_collector()
        kept = library is not None
        attachments = Attachments(setup.cwd, setup.paths.files, hub, lambda: no_pictures(provider), named=kept)
        composed = await interrupts.race(with_attachments(attachments, words, prompt))
        if choice.notice:
            output.error_line(choice.notice)
        for notice in composed.notices:
            output.error_line(f"fanout: {notice}")
        wiring.join(engine, hub)()
        if opened is not None:
            engine.go_on(opened.info.id, Transcript.of(opened.events))
        try:
            return await run_turn(
                engine,
                composed.message,
                output=output,
                output_format=arguments.output_format,
                interrupts=interrupts,
                library=library,
            )
        finally:
            await provider.close()


async def _preload(models: Models, *, servers: bool, window: bool) -> None:
    """The window is of use only to a session that is gone on with: one turn alone can't be compacted."""
    if servers:
        await asyncio.to_thread(wiring.preload_servers)
    await models.load(window=window)


async def _sessions(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    from console_app.headless.session_command import SessionCommand

    library = wiring.stored_sessions(setup)
    try:
        await SessionCommand(setup.arguments, library, output, interrupts).run()
    finally:
        await library.close()
        if (aside := library.store.set_aside) is not None:
            output.error_line(f"The session file was damaged. It was kept as {aside}.")
    return RunEnding(EXIT_DONE)


async def _call(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    from console_app.engine.manual_calls import ManualCallsProvider, TypedCallsGate
    from console_app.headless import servers
    from console_app.headless.manual_calls import NamedTools, needed_servers, read_calls

    calls = read_calls(setup.arguments.words)
    chosen = wiring.choose_servers(setup)
    for note in (*setup.layered.notes, *chosen.notes):
        output.error_line(note)
    chosen = needed_servers(chosen, calls)
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, interrupts.to_end):
        tools = NamedTools(hub, calls)
        provider = ManualCallsProvider(calls, [partial(tools.tool_of, call) for call in calls])
        rules = wiring.build_gate(setup, chosen, headless=True).rules
        gate = TypedCallsGate(setup.settings.approval_mode, rules, headless=True)
        engine = wiring.build_engine(setup, provider, tools, gate, no_model=True)
        async with servers.told_of(hub, output):
            await interrupts.race(tools.one_is_there())
            await wiring.remember_tools(setup, hub)
            return await run_turn(
                engine,
                " ".join(setup.arguments.words),
                output=output,
                output_format=setup.arguments.output_format,
                interrupts=interrupts,
                results_only=True,
            )


async def _models(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    from console_app.console.model_source import list_all
    from console_app.headless import model_report
    from console_app.headless.json_outputs import ModelEntry, ModelsReport

    wanted = (setup.arguments.model or "").partition("/")[0]
    names = list(known_providers(setup.settings))
    if setup.settings.base_url:
        wanted = chosen_provider(setup.settings, names)
    if wanted not in ("", *names, OFFLINE):
        raise ConfigError(f'no provider is called "{wanted}"', f"Known: {', '.join((*names, OFFLINE))}.")
    asked = {name: config for name, config in wiring.model_source(setup).endpoints().items() if wanted in ("", name)}
    needed = wanted or (setup.settings.model or "").partition("/")[0]
    failed = False
    models = [ModelEntry(name=f"{OFFLINE}/{OFFLINE_MODEL}", context_window=None)] if wanted in ("", OFFLINE) else []
    problems: list[str] = []
    for listing in await interrupts.race(list_all(asked)):
        config = asked[listing.provider]
        models += model_report.entries(listing, None if isinstance(config, FanoutError) else config.base_url)
        problems += [setup.redactor.clean(listing.problem)] if listing.problem else []
        failed = failed or (bool(listing.problem) and listing.provider == needed)
    if setup.arguments.json:
        output.report(json_line(ModelsReport(models=tuple(models), problems=tuple(problems)).model_dump()))
    else:
        for entry in models:
            output.report(model_report.line(entry))
        for problem in problems:
            output.error_line(problem)
    return RunEnding(EXIT_FAILED if failed else EXIT_DONE)


def _auth(setup: Setup) -> int:
    from console_app.config.secrets.stored_keys import StoredKeys
    from console_app.headless.auth_command import run_auth
    from console_app.headless.json_outputs import KeysReport

    if setup.arguments.json and setup.arguments.action == "list":
        _print(json_line(KeysReport(keys=tuple(StoredKeys(setup.paths).names())).model_dump()))
    else:
        _print(run_auth(setup.arguments.action, setup.arguments.provider, setup.settings, setup.paths))
    return EXIT_DONE


def _doctor(arguments: Namespace) -> int:
    from console_app.commands import diagnosis

    async def examined(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
        return RunEnding(EXIT_DONE if await diagnosis.run(setup, output, interrupts) else EXIT_FAILED)

    try:
        return _headless(arguments, examined)
    except ConfigError as error:
        return diagnosis.without_settings(arguments, error)


def _config(setup: Setup) -> int:
    from console_app import resources
    from console_app.headless import config_report

    as_json: bool = getattr(setup.arguments, "json", False)  # what changes something prints none
    match setup.arguments.action:
        case "list" | "get":
            from console_app.headless import config_edit

            lines = config_edit.lines(setup.layered, setup.arguments)
        case "path":
            places = config_report.places(setup.paths, setup.cwd, (resources.themes_dir(), resources.bundled_mcp()))
            lines = [json_line(places.model_dump())] if as_json else config_report.place_lines(places)
        case "show":
            choice = wiring.model_source(setup).choose()
            settings = config_report.settings(setup.layered, choice.name, choice.why, setup.arguments.words)
            lines = [json_line(settings.model_dump())] if as_json else config_report.setting_lines(settings)
        case _:
            return _validate(setup)
    for line in lines:
        _print(setup.redactor.clean(line))
    return EXIT_DONE


def _change_config(arguments: Namespace) -> int:
    """Settings are not read before: what is wrong in one of their files may be what is mended."""
    from console_app.headless import config_edit

    cwd, paths, redactor = wiring.working_folder(arguments), Paths.find(), Redactor.of(os.environ)
    _check_theme(arguments, paths)
    read = partial(wiring.read_settings, paths, cwd, arguments, os.environ)
    said, wrong = config_edit.change(paths, cwd, arguments, read)
    _print(redactor.clean(said))
    if wrong:
        _complain(redactor.clean(wrong))
    return EXIT_DONE


def _check_theme(arguments: Namespace, paths: Paths) -> None:
    """Raises UsageError where a theme is set that there is none of: what else a setting may be, its type says."""
    match arguments.action, arguments.words:
        case "set", ["theme", name]:
            from console_app import resources
            from console_app.tui.themes import load_themes

            there = [entry.theme.name for entry in load_themes((resources.themes_dir(), paths.themes))[0]]
            if name not in there:
                raise UsageError(f"there is no theme {one_line(name, 40)}.", f"There are: {', '.join(there)}.")
        case _:
            pass


def _edit_config(arguments: Namespace) -> int:
    """A file that is broken can be edited too: it is not read before."""
    from console_app.headless import config_edit

    cwd, paths = wiring.working_folder(arguments), Paths.find()
    path = config_edit.edit(paths, cwd, project=arguments.project)
    # What is wrong in it now is said; in a project's file that nobody trusted, only where that one was edited.
    wiring.read_settings(paths, cwd, arguments, os.environ, forgiving=not arguments.project)
    _print(str(path))
    return EXIT_DONE


def _validate(setup: Setup) -> int:
    """Settings were read before: what is left is what they name."""
    from console_app.headless.json_outputs import ValidationReport

    choice, chosen = wiring.model_source(setup).choose(), wiring.choose_servers(setup)
    project = setup.layered.project
    untrusted = setup.layered.notes if project is not None and not project.trusted else ()
    waiting = project.lines if untrusted and project is not None else ()
    unknown = (f"{name} is no setting" for name in unknown_variables(setup.environ))
    problems = (*setup.layered.wrong, *untrusted, *chosen.notes, *unknown)
    if setup.arguments.json:
        report = ValidationReport(ok=not problems, problems=problems, waiting=tuple(waiting))
        _print(setup.redactor.clean(json_line(report.model_dump())))
        return EXIT_USAGE if problems else EXIT_DONE
    for problem in problems:
        _complain(setup.redactor.clean(problem))
    for line in waiting:
        _print(setup.redactor.clean(f"waits for trust: {line}"))
    if not problems:
        _print(f"Nothing is wrong. {choice.name} answers; {plural(len(chosen.servers), 'server')} in {chosen.path}.")
    return EXIT_USAGE if problems else EXIT_DONE


def _print(line: str) -> None:
    write_out(visible(line) + "\n")


def _complain(line: str) -> None:
    sys.stderr.write(f"fanout: {one_line(line)}\n")
