"""`fanout endpoint test`: plays a fixed set of requests against a model's endpoint, and keeps what it does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from console_app import wiring
from console_app._version import __version__
from console_app.command_line import json_outputs
from console_app.commands import junit
from console_app.commands.asking import agreed
from console_app.config.models import KnownEndpoints
from console_app.domain import UsageError, one_line, safe_text
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding
from console_app.providers import COST, probe
from console_app.records import replace
from console_app.wiring import Setup

# A change in one of these means another server, or another version of it.
_LASTING = {"labels of one call", "labels of four calls", "ends", "gives", "given back", "pictures", "cut by its limit"}


async def test(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """Ask first, as it costs; fail where something of Fanout doesn't work there."""
    arguments = setup.arguments
    source = wiring.model_source(setup)
    choice = source.choose()
    if choice.config is None:
        raise UsageError("no endpoint was named", "As: fanout endpoint test URL, or -m PROVIDER/MODEL.")
    choice = await interrupts.race(source.named(choice))
    assert choice.config is not None
    where = f"{choice.name} at {choice.config.url}"
    requests, tokens = COST
    costs = f"This sends {requests} requests, more where a field is refused, of about {tokens:,} tokens together"
    if not arguments.yes:
        question = one_line(f"{costs}, to {where}. Go on?")
        if not await agreed(question, "fanout endpoint test --yes", output, interrupts):
            output.out("Nothing was sent.\n")
            return RunEnding(Exit.FAILED)
    else:
        output.error_line(one_line(f"{costs}, to {where}."))
    began = time.monotonic()
    config = replace(choice.config, max_tries=2)
    clean = setup.redactor.clean
    asking = probe(config, source.refusals, lambda what: output.error_line(f"Asking: {what}"), clean)
    found = await interrupts.race(asking)
    seconds = time.monotonic() - began
    found = [
        json_outputs.EndpointFinding(name=one.name, seen=clean(one.seen), breaks=clean(one.breaks)) for one in found
    ]
    key = config.model_identity
    known = KnownEndpoints(setup.paths.endpoints, __version__)
    before = known.of(key)
    refused = source.refusals.of(key).lasting()
    known.keep(key, {one.name: [one.seen, one.breaks] for one in found}, refused)
    if arguments.json:
        report = json_outputs.EndpointReport(
            provider=choice.provider,
            model=config.model,
            endpoint=key,
            ok=not any(one.breaks for one in found),
            seconds=round(seconds, 3),
            findings=tuple(found),
        )
        output.report(safe_text.json_line(report.model_dump()))
    else:
        output.report(one_line(f"{where}, {config.api}:"))
        for line in lines(found, before):
            output.report(line)
        output.report(one_line(f"Kept as the fingerprint of {key}: {setup.paths.endpoints}"))
    if arguments.junit:
        cases = [junit.Case(one.name, problems=[f"{one.seen}: {one.breaks}"] if one.breaks else ()) for one in found]
        junit.write(setup.cwd / Path(arguments.junit).expanduser(), "endpoint", cases, seconds=seconds)
    return RunEnding(Exit.FAILED if any(one.breaks for one in found) else Exit.DONE)


def lines(found: Sequence[json_outputs.EndpointFinding], before: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Give the table: what was looked at and seen, below it what breaks, and what it was `before`."""
    wide = max(len(one.name) for one in found)
    for one in found:
        yield f"{'✗' if one.breaks else '✓'} {one.name:<{wide}}  {one_line(one.seen, 200)}"
        if one.breaks:
            yield f"  {'':<{wide}}  → {one_line(one.breaks, 200)}"
        if one.name in _LASTING and one.name in before and before[one.name][0] != one.seen:
            yield f"  {'':<{wide}}  was: {one_line(before[one.name][0], 200)}"
