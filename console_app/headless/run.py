"""Drives one turn to its end without a terminal, and says how it ended as an exit code.

The loop is the console's own, each slice of events stored before it is shown, with a writer where the console has its
screen.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from console_app.domain import events as ev
from console_app.domain.messages import UserMessage
from console_app.domain.safe_text import one_line
from console_app.domain.transcript import Transcript
from console_app.engine import approval_gate
from console_app.engine.engine import Engine
from console_app.engine.turn import Turn
from console_app.headless.interrupts import EXIT_INTERRUPTED, Interrupts
from console_app.headless.output import Output
from console_app.headless.writers import (
    JsonWriter,
    OutputFormat,
    ResultsWriter,
    StreamJsonWriter,
    TextWriter,
    Writer,
    report,
)
from console_app.sessions.library import Library, Opened
from console_app.sessions.recorder import recorded

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_APPROVAL, EXIT_TIME_LIMIT = 0, 1, 2, 3, 124


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: its exit code, and one line about it for standard error ("" when it went well)."""

    code: int
    line: str = ""


def go_on(engine: Engine, opened: Opened) -> None:
    """Lets `engine` go on with a stored session."""
    engine.go_on(opened.info.id, opened.fold(), first_turn=opened.next_turn, first_seq=opened.next_seq)


async def run_turn(
    engine: Engine,
    prompt: str | UserMessage,
    *,
    output: Output,
    output_format: OutputFormat,
    interrupts: Interrupts,
    results_only: bool = False,
    library: Library | None = None,
) -> Ending:
    """One turn, kept in `library`. `results_only` is for calls without a model: their results are printed as text."""
    transcript = Transcript()
    transcript.history.extend(engine.history)
    if engine.compaction is not None:
        transcript.apply(engine.compaction)
    writer = _writer(output, output_format, transcript, engine, results_only)
    session = engine.session_event()
    if library is not None:
        library.store.on_change = lambda: _tell_of_storage(library, output)
        await library.append([session])
    _show(session, transcript, writer)
    async with engine.start(prompt) as turn:

        def stop() -> None:
            turn.cancel("interrupted")
            output.hurry()

        interrupts.on_interrupt = stop
        if interrupts.asked.is_set():
            stop()
        watch = asyncio.create_task(_cancel_when_lost(output, turn))
        try:
            async for events in recorded(turn, library):
                for event in events:
                    _show(event, transcript, writer)
                await output.drain()
        finally:
            watch.cancel()
            interrupts.on_interrupt = None
    writer.finish()
    return _ending(turn, transcript, output, interrupts, results_only)


def _writer(
    output: Output, output_format: OutputFormat, transcript: Transcript, engine: Engine, results_only: bool
) -> Writer:
    match output_format:
        case "stream-json":
            return StreamJsonWriter(output)
        case "json":
            return JsonWriter(output, lambda: report(transcript, session_id=engine.session_id))
        case "text":
            return ResultsWriter(output, transcript) if results_only else TextWriter(output, transcript)


def _show(event: ev.Event, transcript: Transcript, writer: Writer) -> None:
    transcript.apply(event)
    writer.write(event)


def _tell_of_storage(library: Library, output: Output) -> None:
    store = library.store
    if store.problem is not None:
        output.error_line(one_line(store.problem.line, 400))
    elif store.salvaged is not None:
        output.error_line(f"Sessions of it that could be read, and are kept: {store.salvaged}.")
    elif store.set_aside is not None:
        output.error_line(one_line(f"The session file was damaged; it was set aside as {store.set_aside}.", 400))


async def _cancel_when_lost(output: Output, turn: Turn) -> None:
    await output.lost.wait()
    turn.cancel("nobody reads the output any more")


def _ending(turn: Turn, transcript: Transcript, output: Output, interrupts: Interrupts, results_only: bool) -> Ending:
    ended = transcript.turn
    outcome, error = (ended.outcome, ended.error) if ended else (None, None)
    if interrupts.asked.is_set():
        return Ending(EXIT_INTERRUPTED, "Interrupted.")
    if output.lost.is_set():
        return Ending(EXIT_FAILED, output.failure)
    if turn.timed_out:
        return Ending(EXIT_TIME_LIMIT, error or "The time limit was reached.")
    if outcome == "failed":
        return Ending(EXIT_FAILED, error or "The turn failed.")
    if turn.approval_needed:
        return Ending(EXIT_APPROVAL, _approval_line(turn))
    if outcome == "step_limit":
        return Ending(EXIT_FAILED, error or "The step limit was reached. --max-steps sets it.")
    if outcome == "cancelled":
        return Ending(EXIT_INTERRUPTED, "Cancelled.")
    if results_only:
        return _results_ending(transcript)
    return Ending(EXIT_DONE)


def _results_ending(transcript: Transcript) -> Ending:
    failed = [call for call in transcript.calls.values() if call.outcome != "succeeded"]
    return Ending(EXIT_FAILED if failed or not transcript.calls else EXIT_DONE)


def _approval_line(turn: Turn) -> str:
    """What would have let the calls run: no flag passes what asks by name."""
    missed = sorted({(one.tool, one.rule or "") for one in turn.approvals_missed})
    said = ["An approval was needed and nobody could give it."]
    if flags := " ".join(f"--allow-tool {tool}" for tool, rule in missed if not rule):
        said.append(f"To allow: {flags}.")
    for tool, rule in missed:
        match rule:
            case "":
                continue
            case approval_gate.REQUIRED:
                said.append(f"{tool} always asks: to allow it, take it out of require_approval in mcp.json.")
            case approval_gate.CHANGED:
                said.append(f"{tool} is not what you trusted any more: the console shows how it changed (/mcp).")
            case _:
                said.append(f"The rule “{one_line(rule, 100)}” asks for {tool}: to allow it, take the rule out.")
    return " ".join(said)
