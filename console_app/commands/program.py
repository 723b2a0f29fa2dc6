"""Runs a program that a person wrote: its functions are the tools that are on, and no model takes part."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from console_app.domain import UsageError
from console_app.records import replace

if TYPE_CHECKING:
    from console_app.config.servers import ServerChoice
    from console_app.headless import Interrupts, OutputStreams, RunEnding
    from console_app.wiring import Setup

LARGEST = 2**20  # bytes of a program


def call_of_program(arguments: Namespace) -> str:
    return (
        f"/call fanout.program {json.dumps({'code': _code(arguments, Path(arguments.cwd or '.'))}, ensure_ascii=False)}"
    )


def _code(arguments: Namespace, folder: Path) -> str:
    (name,) = arguments.words
    try:
        with open(0, "rb", closefd=False) if name == "-" else (folder / name).open("rb") as file:
            read = file.read(LARGEST + 1)
        code = read.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{name} can't be read: {error.strerror}", "Name a file of Python: fanout program FILE."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text in UTF-8", "Name a file of Python: fanout program FILE.") from None
    if len(read) > LARGEST:
        raise UsageError(f"{name} is larger than {LARGEST // 2**20} MB", "A program is a few lines of Python.")
    if not code.strip():
        raise UsageError(
            f"{name} is empty", "Write Python that awaits your tools, as calculator_evaluate(expression='1+1')."
        )
    from console_app.programs import Runner

    if Runner.installed() is None:
        from console_app.config.machine import extras

        raise UsageError("programs need an interpreter that isn't installed", extras.how_to_install("programs"))
    return code


async def run_program(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    from console_app import wiring
    from console_app.engine import ManualCallsProvider
    from console_app.headless import run_turn, servers

    code = _code(setup.arguments, setup.cwd)
    chosen = wiring.choose_servers(setup)
    for note in (*setup.layered.notes, *chosen.notes):
        output.error_line(note)
    chosen = named_servers(chosen, code)
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, interrupts.to_end):
        await interrupts.race(servers.settled(hub, output))
        await wiring.remember_tools(setup, hub)
        gate = wiring.build_gate(setup, chosen, headless=True)
        engine = wiring.build_engine(setup, ManualCallsProvider.of_program(code), hub, gate)
        return await run_turn(
            engine,
            f"program {setup.arguments.words[0]}",
            output=output,
            output_format=setup.arguments.output_format,
            interrupts=interrupts,
            results_only=True,
        )


def named_servers(choice: ServerChoice, code: str) -> ServerChoice:
    words = set(re.findall(r"\w+", code))
    named = [
        server
        for server in choice.servers
        if any(word.startswith(re.sub(r"\W", "_", server.name, flags=re.ASCII) + "_") for word in words)
    ]
    return replace(choice, servers=tuple(named))
