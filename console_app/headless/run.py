"""Drives one turn to its end without a terminal, and says how it ended as an exit code.

The conversation is the console's own, with a writer where the console has its screen.
"""

from __future__ import annotations

import asyncio

from console_app.console import Conversation, Disk, UiPort
from console_app.domain import Event, Level, UserMessage, one_line
from console_app.domain.tools import OWN_SERVER
from console_app.domain.transcript import Transcript
from console_app.engine import ENABLE, Engine, Turn, Unwritten, as_message
from console_app.headless.interrupts import (
    Exit,
    Interrupts,
)
from console_app.headless.output import OutputStreams
from console_app.headless.writers import (
    JsonWriter,
    OutputFormat,
    ResultsWriter,
    StreamJsonWriter,
    TextWriter,
    Writer,
    report,
)
from console_app.records import dataclass
from console_app.sessions import Library

# The work was cut short, which a script has to notice, though there is an answer.
STEP_LIMIT = "The step limit was reached: the answer is what could be said by then. --max-steps sets it."


class _Printing(UiPort):
    """Prints the events of a run, as its UiPort. Nobody is there to be asked. `error` is the fault that kept the run
    from its end, if there was one."""

    def __init__(self, output: OutputStreams, transcript: Transcript, writer: Writer) -> None:
        self._output = output
        self._transcript = transcript
        self._writer = writer
        self.error = ""

    @property
    def transcript(self) -> Transcript:
        return self._transcript

    def show(self, event: Event) -> None:
        self._transcript.apply(event)
        self._writer.write(event)

    async def next_slice(self) -> None:
        """Wait for a slow reader, who slows the turn and doesn't fill the memory."""
        await self._output.drain()

    def tell(self, level: Level, text: str) -> None:
        """Write a line to standard error; an error is the run's own, printed at its end."""
        if level == "error":
            self.error = self.error or text
        else:
            self._output.error_line(one_line(text, 400))

    def toast(self, text: str, seconds: float = 4) -> None:
        """Do nothing: nobody looks."""


@dataclass(frozen=True, slots=True)
class RunEnding:
    """The end of a run: its exit code, and one line about it for standard error ("" when it went well)."""

    code: int
    line: str = ""


async def run_turn(
    engine: Engine,
    prompt: str | UserMessage,
    *,
    output: OutputStreams,
    output_format: OutputFormat,
    interrupts: Interrupts,
    results_only: bool = False,
    shows_output: bool = False,
    library: Library | None = None,
) -> RunEnding:
    """Run one turn, kept in `library`. `results_only` is for calls without a model: their results are printed as text.
    With `shows_output`, lines that calls write while they run go to standard error."""
    transcript = Transcript.after(engine.transcript)
    writer: Writer
    if output_format == "stream-json":
        writer = StreamJsonWriter(output)
    elif output_format == "json":
        writer = JsonWriter(output, lambda told: report(transcript, session_id=engine.session_id, notices=told))
    else:
        writer = ResultsWriter(output, transcript) if results_only else TextWriter(output, transcript, shows_output)
    printing = _Printing(output, transcript, writer)
    conversation = Conversation(engine, library, printing)
    if library is not None:
        Disk(library, printing)
    conversation.take_up()
    message = as_message(prompt)
    conversation.send(message.source or message.content, message=message)

    def stop() -> None:
        conversation.stop("interrupted")
        output.hurry()

    def decided(turn: Turn) -> None:
        if turn.stopped_at is not None and (turn.timed_out or interrupts.asked.is_set()):
            interrupts.to_end.begin(turn.stopped_at)

    engine.on_decided = decided
    interrupts.on_interrupt = stop
    if interrupts.asked.is_set():
        stop()
    watch = asyncio.create_task(_stop_when_lost(output, conversation))
    try:
        await conversation.ended()
    finally:
        watch.cancel()
        interrupts.on_interrupt = None
        if interrupts.asked.is_set():
            interrupts.to_end.begin()
        await conversation.close()
    writer.finish()
    return _ending(conversation.last_turn, transcript, printing.error, output, interrupts, results_only)


async def _stop_when_lost(output: OutputStreams, conversation: Conversation) -> None:
    await output.lost.wait()
    conversation.stop("nobody reads the output any more")


def _ending(
    turn: Turn | None,
    transcript: Transcript,
    fault: str,
    output: OutputStreams,
    interrupts: Interrupts,
    results_only: bool,
) -> RunEnding:
    ended = transcript.turn
    outcome, error = (ended.outcome, ended.error) if ended else (None, None)
    if interrupts.asked.is_set():
        return RunEnding(Exit.INTERRUPTED, "Interrupted.")
    if output.lost.is_set():
        return RunEnding(Exit.FAILED, output.failure)
    if fault or turn is None:
        return RunEnding(Exit.FAILED, fault)
    if turn.timed_out:
        return RunEnding(Exit.TIME_LIMIT, error or "The time limit was reached.")
    if outcome == "failed":
        return RunEnding(Exit.FAILED, error or "The turn failed.")
    if turn.approvals_missed:
        return RunEnding(Exit.APPROVAL, _approval_line(turn))
    if unread := turn.unread_line:
        return RunEnding(Exit.FAILED, f"{unread} --dialect NAME says how the model writes calls.")
    if outcome == "step_limit":
        return RunEnding(Exit.FAILED, error or STEP_LIMIT)
    if outcome == "cancelled":
        return RunEnding(Exit.INTERRUPTED, "Cancelled.")
    if results_only:
        failed = any(call.outcome != "succeeded" and not call.parent for call in transcript.calls.values())
        return RunEnding(Exit.FAILED if failed or not transcript.calls else Exit.DONE)
    return RunEnding(Exit.DONE)


def _approval_line(turn: Turn) -> str:
    """Return what would have let the calls run: no flag passes what asks by name."""
    missed = sorted({(one.tool, one.rule or "") for one in turn.approvals_missed if not one.form})
    parts = ["An approval was needed and nobody could give it."]
    if flags := " ".join(f"--allow-tool {tool}" for tool, rule in missed if not rule):
        parts.append(f"To allow: {flags}.")
    if any(tool == f"{OWN_SERVER}.{ENABLE}" for tool, _ in missed):
        parts.append("Or name the servers of this run yourself, those that are off too: --mcp NAME, for each.")
    for tool, form in sorted({(one.tool, one.form) for one in turn.approvals_missed if one.form}):
        parts.append(
            f"The model wrote a call of {tool} as {form} text, and is not known to write calls so: "
            f"--dialect {form} says that it does."
        )
    for tool, rule in missed:
        why: dict[str, str] = {
            "": "",
            Unwritten.REQUIRED: f"{tool} always asks: to allow it, take it out of require_approval in mcp.json.",
            Unwritten.MUST_ASK: f"A person has to see a call of {tool}, in the console: the line of it says why.",
            Unwritten.CHANGED: f"{tool} is not what you trusted any more: the console shows how it changed (/mcp).",
        }
        asked = f"The rule “{one_line(rule, 100)}” asks for {tool}: to allow it, take the rule out."
        parts += filter(None, [why.get(rule, asked)])
    return " ".join(parts)
