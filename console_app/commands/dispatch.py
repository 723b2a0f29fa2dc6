"""Run each command but the console: run, call, mcp, sessions, models and more. Each returns its exit code."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from console_app import wiring
from console_app.commands.sessions import moving_format
from console_app.console import Models
from console_app.domain import ConfigError, FanoutError, UsageError
from console_app.domain.transcript import Transcript
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding, run_turn
from console_app.records import replace
from console_app.sessions import Library
from console_app.wiring import Setup

if TYPE_CHECKING:
    from console_app.console import files


Work = Callable[[Setup, OutputStreams, Interrupts], Coroutine[Any, Any, RunEnding]]
_FLUSHING = 1.5  # seconds for the last lines of an interrupted run


# The module and the function of each command, or of one of its actions. A coroutine runs on a loop of its own.
_PLACES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("run", "console"), ("dispatch", "run")),
    "batch": ("batch", "run_batch"),
    "call": ("dispatch", "call"),
    "diff": ("batch", "diff"),
    "acp": ("acp", "acp"),
    "program": ("program", "run_program"),
    **{f"mcp {action}": ("mcp", action) for action in ("get", "add", "find", "remove", "auth")},
    **dict.fromkeys(("mcp list", "mcp test"), ("mcp", "list_servers")),
    "mcp import": ("mcp", "import_servers"),
    **dict.fromkeys(("mcp trust", "trust"), ("mcp", "trust_project")),
    "endpoint": ("endpoint", "test"),
    "sessions": ("sessions", "sessions"),
    "models": ("models", "models"),
    "themes": ("models", "themes"),
    "agents": ("agents", "agents"),
    "agents add": ("agents", "add"),
    "auth": ("auth", "auth"),
    "doctor": ("diagnosis", "run"),
    "serve": ("serve", "run_serve"),
}


def run_command(arguments: Namespace) -> int:
    command: str = arguments.command
    match command:
        case "config":
            from console_app.commands.config import config

            return config(arguments)
        case "endpoint" if arguments.words:
            (arguments.base_url,) = arguments.words
            if not arguments.model and "anthropic" in arguments.base_url.lower():
                arguments.model = "anthropic/"
        case "sessions" if arguments.replay and os.isatty(0) and os.isatty(1):
            from console_app.commands.console import replay_session

            return replay_session(arguments)
        case "sessions" if arguments.action == "export" and moving_format(arguments):
            from console_app.commands.console import record_session

            return record_session(arguments)
        case _:
            pass
    place = _PLACES.get(f"{command} {getattr(arguments, 'action', '')}") or _PLACES[command]
    if command == "call" and arguments.from_file is not None:
        place = ("batch", "run_calls")
    work: Any = getattr(import_module(f"console_app.commands.{place[0]}"), place[1])
    if not iscoroutinefunction(work):
        return work(wiring.prepare(arguments))
    try:
        return asyncio.run(_guarded(wiring.prepare(arguments), work))
    except ConfigError as error:
        if command != "doctor":
            raise
        from console_app.commands import diagnosis

        return diagnosis.without_settings(arguments, error)


async def _guarded(setup: Setup, work: Work) -> int:
    """Do `work`; return the exit code. An error is one line, after everything printed before it."""
    output = OutputStreams(redactor=setup.redactor)
    with Interrupts() as interrupts:
        try:
            try:
                ending = await work(setup, output, interrupts)
            finally:
                await setup.close()
        except Interrupts.Interrupted:
            ending = RunEnding(Exit.INTERRUPTED, "Interrupted.")
        except FanoutError as error:
            ending = RunEnding(Exit.USAGE if isinstance(error, ConfigError | UsageError) else Exit.FAILED, error.line)
        if ending.line:
            output.error_line(f"fanout: {ending.line}")
        try:
            if interrupts.asked.is_set():
                await asyncio.wait_for(output.finish(), _FLUSHING)
            else:
                await interrupts.race(output.finish())
            if output.failure not in ("", ending.line):
                ending = RunEnding(ending.code or Exit.FAILED)
                output.error_line(f"fanout: {output.failure}")
                await output.finish()
        except (Interrupts.Interrupted, TimeoutError):
            return Exit.INTERRUPTED
        finally:
            output.close()
    if setup.arguments.own_process:
        interrupts.leave(ending.code)
    return ending.code


async def run(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    library = wiring.open_library(setup)
    try:
        return await _answered(setup, output, interrupts, library)
    finally:
        if library is not None:
            await library.close()
            if library.store.waiting:
                output.error_line("Sessions: this run is not kept: the disk would not have it until the end.")


async def _answered(setup: Setup, output: OutputStreams, interrupts: Interrupts, library: Library | None) -> RunEnding:
    from console_app.console import files  # with the hub, which other commands don't need
    from console_app.headless import servers
    from console_app.mcp_client import HubSwitch

    arguments = setup.arguments
    source, chosen = wiring.model_source(setup), wiring.choose_servers(setup)
    choice = source.choose()
    for note in (*setup.layered.notes, *chosen.notes, *wiring.foreign_waits(setup)):
        output.error_line(note)
    info = await wiring.asked_session(setup, library)
    opened = await library.open(info.id) if library is not None and info is not None else None
    choice, note = wiring.model_of_session(setup, source, choice, info)
    if note:
        output.error_line(note)
    choice = await interrupts.race(source.named(choice))
    words = [arguments.prompt] if isinstance(arguments.prompt, str) else arguments.prompt or []
    provider = source.open(choice)
    hub = wiring.build_hub(setup, chosen, picks=wiring.picks(setup))
    gate = wiring.build_gate(setup, chosen, headless=True)
    engine = wiring.build_engine(
        *(setup, provider, hub, gate),
        servers=HubSwitch(hub),
        workplace=wiring.workplace(setup),
        kept=library is not None,
    )
    models = Models(engine, source, choice)
    async with servers.running(hub, interrupts.to_end):
        # While the servers start. The window is looked up only for a session gone on with: one turn is not compacted.
        preloading = asyncio.ensure_future(models.load(window=opened is not None))
        prompt = await interrupts.race(read_prompt(words, output.error_line))
        await interrupts.race(asyncio.gather(servers.settled(hub, output), asyncio.shield(preloading)))
        wiring.freeze_collector()
        kept = library is not None
        attachments = files.Attachments(setup.cwd, setup.paths.files, hub, lambda: provider.no_pictures, named=kept)
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
                shows_output=getattr(arguments, "shows_output", False),  # fanout -p has no such option
                interrupts=interrupts,
                library=library,
            )
        finally:
            await engine.close()


async def call(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    from console_app.engine import ManualCallsProvider
    from console_app.headless import servers

    calls = servers.read_calls(setup.arguments.words)
    chosen = wiring.choose_servers(setup)
    for note in (*setup.layered.notes, *chosen.notes):
        output.error_line(note)
    chosen = chosen.needed_for([one.label for one in calls])
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, interrupts.to_end):
        tools = servers.NamedTools(hub, calls)
        provider = ManualCallsProvider(calls, [partial(tools.tool_of, one) for one in calls])
        rules = wiring.build_gate(setup, chosen, headless=True).rules
        gate = ManualCallsProvider.gate(setup.settings.approval_mode, rules)
        engine = wiring.build_engine(setup, provider, tools, gate)
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


PATIENCE = 3.0  # seconds for the first byte of a pipe that nobody said to read
_CHUNK = 65536
_WRITE_ONE = 'Write fanout run "PROMPT", or pipe one in.'


async def read_prompt(words: Sequence[str], note: Callable[[str], None], descriptor: int = 0) -> str:
    """Read the prompt, with what is piped in or stands for `-`. An inherited pipe may never end, so its first byte is
    waited for `PATIENCE` seconds; `note` is told. Raises UsageError without a prompt."""
    asked = "-" in words or not words
    text = " ".join(word for word in words if word != "-").strip()
    terminal = os.isatty(descriptor)
    if terminal and not words:
        raise UsageError("there is no prompt", _WRITE_ONE)
    piped = "" if terminal and not asked else await _read(descriptor, None if asked else PATIENCE, note)
    prompt = "\n\n".join(part for part in (text, piped.strip()) if part)
    if not prompt:
        raise UsageError("the prompt is empty", _WRITE_ONE)
    return prompt


async def with_attachments(attachments: files.Attachments, words: Sequence[str], prompt: str) -> files.Composed:
    """Return the message of a prompt with what its `words` name; what was piped in names nothing. Raises
    AttachmentError, ServerError and UsageError."""
    text = " ".join(word for word in words if word != "-").strip()
    composed = await attachments.compose(text)
    parts = (composed.message.content, prompt.removeprefix(text).strip())
    content = "\n\n".join(part for part in parts if part)
    return replace(composed, message=composed.message.model_copy(update={"content": content}))


async def _read(descriptor: int, patience: float | None, note: Callable[[str], None]) -> str:
    """Read `descriptor` to its end, without blocking the loop."""
    loop = asyncio.get_running_loop()
    data = bytearray()
    first, ended = asyncio.Event(), asyncio.Event()

    def readable() -> None:
        try:
            piece = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        data.extend(piece)
        first.set()
        if not piece:
            ended.set()

    try:
        loop.add_reader(descriptor, readable)
    except OSError:  # a regular file or /dev/null can't be waited for: it is always ready
        while not ended.is_set():
            readable()
        return _text(data)
    try:
        await asyncio.wait_for(first.wait(), patience)
        await ended.wait()
    except TimeoutError:
        note(f"Nothing came on standard input within {PATIENCE:g} s: going on without it.")
    finally:
        loop.remove_reader(descriptor)
    return _text(data)


def _text(data: bytearray) -> str:
    return data.decode("utf-8-sig", "replace")
