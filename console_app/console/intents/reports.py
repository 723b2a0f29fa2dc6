"""Intents that tell of the requests to the model (what it reads, what was sent, what that cost), of this program and of
what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from console_app.console.reports import tail
from console_app.domain import (
    AssistantMessage,
    FanoutError,
    Message,
    ToolMessage,
    UserMessage,
    amounts,
    one_line,
    plural,
    ports,
)
from console_app.domain.transcript import Transcript
from console_app.engine import LEFT_OUT, Engine

if TYPE_CHECKING:
    from console_app.console.console import Console

READ_AGAIN = 0.2  # seconds between two looks at a report that is still written


async def context(console: Console, _rest: str) -> None:
    engine = console.services.engine
    await console.ui.report("Context", lambda: context_report(engine, console.ui.transcript, console.models.window))


async def request(console: Console, _rest: str) -> None:
    await console.ui.report("Request", lambda: request_report(console.services.engine))


async def cost(console: Console, _rest: str) -> None:
    await console.ui.report("Cost", lambda: cost_report(console.ui.transcript))


async def log(console: Console, _rest: str) -> None:
    await console.ui.report("Log", lambda: tail(console.services.log_path), at_end=True, every=1.0)


async def doctor(console: Console, _rest: str) -> None:
    if (diagnose := console.services.diagnose) is None:
        console.ui.toast("There is nothing to examine here. In a shell: fanout doctor.")
        return

    async def read() -> str:
        return "\n".join(await diagnose())

    await report_once_read(console, "Doctor", read)


async def report_once_read(console: Console, title: str, read: Callable[[], Awaitable[str]]) -> None:
    """Show a report that takes a while. It is there at once: keys typed behind the command are its own."""
    text = "Looking…"

    async def look() -> None:
        nonlocal text
        try:
            text = await read()
        except FanoutError as error:
            text = error.line

    looking = asyncio.create_task(look())
    try:
        await console.ui.report(title, lambda: text, every=READ_AGAIN, whole=looking)
    finally:
        looking.cancel()


MOST_TURNS = 200  # the newest
_UNPRICED = "What the model's tokens cost is not known."


def cost_report(transcript: Transcript) -> str:
    usage = transcript.usage
    lines = [
        f"Input   {usage.input_tokens:>12,} tokens",
        f"  cached {usage.cached_tokens:>11,} tokens of these came from the provider's cache",
        f"Output  {usage.output_tokens:>12,} tokens",
        f"Cost    {_dollars(usage.cost)}" if usage.cost is not None else _UNPRICED,
    ]
    turns = transcript.turns[-MOST_TURNS:]
    if turns:
        lines += ["", "Turn       Tokens      Cost  What was asked"]
    for turn in turns:
        lines.append(f"{turn.number:>4} {turn.tokens:>12,} {_dollars(turn.cost):>9}  {one_line(turn.prompt, 60)}")
    if len(turns) < len(transcript.turns):
        lines.append(f"{plural(len(transcript.turns) - len(turns), 'turn')} before these: in the sums.")
    if transcript.agents:
        lines += ["", "Agents     Tokens      Cost  Of these sums, by agent"]
    for path, agent in transcript.agents.items():
        own = agent.usage
        tokens = own.input_tokens + own.output_tokens
        task = agent.turns[0].prompt if agent.turns else ""
        lines.append(f"     {tokens:>12,} {_dollars(own.cost):>9}  {one_line(path, 60)}: {one_line(task, 60)}")
    return "\n".join(lines)


def _dollars(cost: float | None) -> str:
    return "–" if cost is None else f"${cost:.4f}"


MOST_MESSAGES = 200  # the newest
MOST_OF_ONE = 4_000  # characters
NEXT, LAST = "The next request, before what you write now", "The last request, as it was sent"


def request_report(engine: Engine) -> str:
    lines = [NEXT, "", *_lines(engine.next_request())]
    if (last := engine.last_request) is None:
        return "\n".join([*lines, LAST, "", "No request was sent since this session was opened."])
    return "\n".join([*lines, LAST, "", *_lines(last)])


def _lines(request: ports.ModelRequest) -> Iterator[str]:
    names = ", ".join(tool.name for tool in request.tools)
    tools = plural(len(request.tools), "tool") + (f": {names}" if names else "")
    yield f"{plural(len(request.messages), 'message')}, {tools}"
    yield ""
    if request.system:
        yield from ("INSTRUCTIONS", _cut(request.system), "")
    shown = request.messages[-MOST_MESSAGES:]
    if before := len(request.messages) - len(shown):
        went = "message before these goes" if before == 1 else "messages before these go"
        yield from (f"({before:,} {went} along)", "")
    for message in shown:
        yield from (*_message(message), "")


def _message(message: Message) -> Iterator[str]:
    match message:
        case UserMessage():
            yield "YOU" if message.origin == "user" else "FANOUT, in your place"
            yield _cut(message.whole)
        case AssistantMessage():
            yield "THE MODEL"
            if message.content:
                yield _cut(message.content)
            yield from (f"call {call.id}: {call.name} {_cut(call.arguments)}" for call in message.tool_calls)
        case ToolMessage():
            yield f"RESULT of {message.name}, call {message.tool_call_id}: {message.outcome.value.replace('_', ' ')}"
            yield _cut(message.content)
            if (left_out := LEFT_OUT.search(message.content)) is not None and left_out.end() > MOST_OF_ONE:
                yield left_out[0]


def _cut(text: str) -> str:
    more = len(text) - MOST_OF_ONE
    return text if more <= 0 else f"{text[:MOST_OF_ONE]}\n… {plural(more, 'character')} more"


_BAR = 30  # cells of the meter


def context_report(engine: Engine, transcript: Transcript, window: int | None) -> str:
    used = transcript.usage.context
    lines: list[str] = []
    if window:
        share = min(used / window, 1.0)
        filled = round(share * _BAR)
        lines.append(f"{'█' * filled}{'░' * (_BAR - filled)}  {used:,} of {window:,} tokens ({share:.0%})")
        lines.append(f"Compacts automatically from {engine.nearly_full:.0%} on, before the next request.")
    else:
        lines.append(
            f"{used:,} tokens in the newest request; how many fit is not known (context_window, in /config providers)."
        )
    lines.append(f"Tools are offered by protocol {ports.protocol_label(engine.provider)}; /protocol changes it.")
    if (licence := engine.provider.licence) is not None:
        lines.append(
            f"{engine.provider.model} writes calls as {licence.form}: {licence.source}; /protocol auto forgets it."
        )
    if saving := engine.offer.saving:
        lines.append(saving)
    usage = transcript.usage
    if usage.cached_tokens:
        share = usage.cached_tokens / max(usage.input_tokens, 1)
        lines.append(
            f"{usage.cached_tokens:,} of {usage.input_tokens:,} tokens sent so far came from the cache ({share:.0%})."
        )
    lines += ["", f"The next request, counted at {amounts.CHARACTERS_A_TOKEN} characters a token:"]
    lines += [
        f"  {part.name:<13} {_column(part.tokens, 'token', 9)}   {_column(part.messages, 'part', 5)}".rstrip()
        for part in engine.context_parts(transcript)
    ]
    lines += [
        "",
        f"Results of more than {engine.settings.max_result_chars:,} characters lose their middle (max_result_chars).",
    ]
    if count := len(transcript.shortened):
        lines += [
            "",
            f"Shortened further because a request was too large: {count:,}.",
        ]
    if (compaction := transcript.compaction) is not None:
        lines += [
            "",
            f"A summary stands for the oldest {plural(compaction.covers, 'message')}:",
            "",
            compaction.summary,
        ]
    return "\n".join(lines)


def _column(count: int, word: str, width: int) -> str:
    number, _, noun = plural(count, word).partition(" ")
    return f"{number:>{width}} {noun:<{len(word) + 1}}"
