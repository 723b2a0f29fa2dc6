"""`fanout doctor` and /doctor: looks at everything that can be wrong, one thing after the other, whatever else is.

A broken configuration is a finding like any other; what doesn't need it is looked at all the same.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console_app import wiring
from console_app.config.machine import paths as places
from console_app.config.machine.paths import Paths
from console_app.config.models.model_choice import known_providers
from console_app.config.secrets.redaction import redactor_in_use
from console_app.config.settings.layers import unknown_variables
from console_app.domain.amounts import plural
from console_app.domain.errors import ConfigError, FanoutError
from console_app.headless import doctor
from console_app.headless.doctor import Finding
from console_app.headless.standard_output import write_out
from console_app.wiring import Setup

if TYPE_CHECKING:
    from console_app.headless.interrupts import Interrupts, TimeToEnd
    from console_app.headless.output import OutputStreams
    from console_app.mcp_client.connecting.status import ServerStatus

_PATIENCE = 20.0  # seconds for all servers to start


def local_findings(paths: Paths) -> list[Finding]:
    """What can be looked at without any configuration."""
    return [*doctor.versions(), *doctor.terminal(os.environ), *doctor.storage(paths)]


def broken_configuration(error: FanoutError) -> Finding:
    """The finding that stands where the settings can't be read."""
    return Finding("Configuration", "settings", "wrong", error.detail, error.hint)


async def examine(
    setup: Setup, statuses: Sequence[ServerStatus] | None = None, to_end: TimeToEnd | None = None
) -> list[Finding]:
    """Everything. `statuses` are those of servers that run already; without them all are started, and closed again."""
    found = [
        *local_findings(setup.paths),
        *_configuration(setup),
        *_keys(setup),
        *await _endpoints(setup),
        *(_server_findings(statuses) if statuses is not None else await _servers(setup, to_end)),
    ]
    return [doctor.cleaned(finding, setup.redactor) for finding in found]


async def run(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> bool:
    """Examines and prints, as `--json` says; whether nothing is wrong."""
    findings = await interrupts.race(examine(setup, to_end=interrupts.to_end))
    print_findings(findings, output, as_json=setup.arguments.json)
    return not any(finding.state == "wrong" for finding in findings)


def print_findings(findings: Sequence[Finding], output: OutputStreams, *, as_json: bool) -> None:
    """Writes the report."""
    from console_app.domain.safe_text import json_line

    for line in [json_line(doctor.as_json(findings))] if as_json else doctor.lines(findings):
        output.out(line + "\n")


def without_settings(arguments: Namespace, error: ConfigError) -> int:
    """The report of a program whose settings can't be read: exit code 1."""
    from console_app.domain.safe_text import json_line

    broken = doctor.cleaned(broken_configuration(error), redactor_in_use(os.environ))
    findings = [*local_findings(Paths.find()), broken]
    for line in [json_line(doctor.as_json(findings))] if arguments.json else doctor.lines(findings):
        write_out(line + "\n")
    return 1


def _configuration(setup: Setup) -> Iterator[Finding]:
    for path in (setup.paths.settings, places.project_settings(setup.cwd)):
        if path.exists():
            yield Finding("Configuration", "settings", "fine", str(path))
    try:
        choice = wiring.model_source(setup).choose()
        yield Finding("Configuration", "model", "fine", f"{choice.name} ({choice.why})")
    except FanoutError as error:
        yield Finding("Configuration", "model", "wrong", error.detail, error.hint)
    for name in unknown_variables(setup.environ):
        do = "Unset it, or mend its name: fanout config show lists the settings."
        yield Finding("Configuration", name, "note", "is no setting", do)


def _keys(setup: Setup) -> Iterator[Finding]:
    """Which keys there are, never what they are."""
    try:
        providers = known_providers(setup.settings)
    except ConfigError as error:
        yield broken_configuration(error)
        return
    named = {provider.api_key_env: name for name, provider in reversed(providers.items()) if provider.api_key_env}
    for variable, name in sorted(named.items()):
        value = setup.environ.get(variable, "").strip()
        if value and not (value.isascii() and value.isprintable()):
            says = "set, with a character that no key has"
            yield Finding("Keys", variable, "wrong", says, "Set it again, without quotes and line breaks.")
        elif value:
            yield Finding("Keys", variable, "fine", "set")
        else:
            yield Finding("Keys", variable, "note", "not set", f"Only the models of {name} need it.")


async def _endpoints(setup: Setup) -> list[Finding]:
    """Asks every endpoint that has a key, or needs none, which models it has."""
    from console_app.console.model_source import list_all

    try:
        configs = wiring.model_source(setup).endpoints()
    except ConfigError:
        return []
    found: list[Finding] = []
    for listing in await list_all({k: v for k, v in configs.items() if not isinstance(v, FanoutError)}):
        name, chosen = listing.provider, (setup.settings.model or "").startswith(listing.provider + "/")
        if not listing.problem:
            found.append(Finding("Endpoints", name, "fine", f"answers, {plural(len(listing.models), 'model')}"))
        elif name == "ollama" and not chosen:
            found.append(Finding("Endpoints", name, "note", "does not answer", "Only its own models need it."))
        else:
            do = "Look at its base_url, its key, and the network."
            found.append(Finding("Endpoints", name, "wrong", listing.problem.removeprefix(f"{name}: "), do))
    return found


async def _servers(setup: Setup, to_end: TimeToEnd | None) -> list[Finding]:
    import asyncio

    from console_app.headless import servers

    try:
        chosen = wiring.choose_servers(setup)
    except FanoutError as error:
        return [Finding("Servers", "mcp.json", "wrong", error.detail, error.hint)]
    found = [Finding("Servers", "mcp.json", "note", note) for note in (*setup.layered.notes, *chosen.notes)]
    if not chosen.servers:
        return found
    hub = wiring.build_hub(setup, chosen)
    async with servers.running(hub, to_end):
        try:
            async with asyncio.timeout(_PATIENCE):
                await hub.ready()
        except TimeoutError:
            pass  # those that are not ready say so themselves
        return [*found, *_server_findings(hub.statuses(), chosen.path)]


def _server_findings(statuses: Sequence[ServerStatus], path: Path | None = None) -> list[Finding]:
    found: list[Finding] = []
    for status in statuses:
        match str(status.state):
            case "ready":
                about = f"{status.tools} tool{'' if status.tools == 1 else 's'} over {status.transport}"
                found.append(Finding("Servers", status.name, "fine", about))
            case "disabled":
                why = f": {status.reason}" if status.reason else " in mcp.json"
                found.append(Finding("Servers", status.name, "note", f"switched off{why}"))
            case state:
                log = f" Its own words: {status.log_path}." if status.log_path else ""
                do = f"Mend its entry in {path or 'mcp.json'}, then: fanout mcp test {status.name}.{log}"
                found.append(Finding("Servers", status.name, "wrong", f"{state}: {status.reason}", do))
    return found
