"""`fanout models` and `fanout themes`: each model with its context window, where that is known; the themes that can be
used, and what is wrong with the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from console_app import wiring
from console_app.command_line import json_outputs
from console_app.commands.standard_output import write_out
from console_app.config.models import ModelChoice
from console_app.config.settings import OFFLINE
from console_app.domain import ConfigError, FanoutError, one_line, safe_text, visible
from console_app.headless import Exit, Interrupts, OutputStreams, RunEnding
from console_app.wiring import Setup


async def models(setup: Setup, output: OutputStreams, interrupts: Interrupts) -> RunEnding:
    """List the models of every endpoint; fail where the one that was asked for can't say."""
    wanted = (setup.arguments.model or "").partition("/")[0]
    names = list(setup.settings.known_providers())
    if setup.settings.base_url:
        wanted = setup.settings.chosen_provider(names)
    if wanted not in ("", *names, OFFLINE):
        raise ConfigError(f'no provider is called "{wanted}"', f"Known: {', '.join((*names, OFFLINE))}.")
    source = wiring.model_source(setup)
    asked = {name: config for name, config in source.endpoints().items() if wanted in ("", name)}
    needed = wanted or (setup.settings.model or "").partition("/")[0]
    failed = False
    known = (
        [json_outputs.ModelEntry(name=ModelChoice.REHEARSAL, context_window=None)] if wanted in ("", OFFLINE) else []
    )
    problems: list[str] = []
    for listing in await interrupts.race(source.listings(asked)):
        config = asked[listing.provider]
        known += _entries(listing.models, None if isinstance(config, FanoutError) else config.base_url)
        problems += [setup.redactor.clean(listing.problem)] if listing.problem else []
        failed = failed or (bool(listing.problem) and listing.provider == needed)
    if setup.arguments.json:
        output.report(
            safe_text.json_line(json_outputs.ModelsReport(models=tuple(known), problems=tuple(problems)).model_dump())
        )
    else:
        for entry in known:
            window = f" {entry.context_window:>12,} tokens" if entry.context_window else ""
            output.report(f"{one_line(entry.name, 100):<48}{window}".rstrip())
        for problem in problems:
            output.error_line(problem)
    return RunEnding(Exit.FAILED if failed else Exit.DONE)


def _entries(models: Sequence[str], base_url: str | None) -> Iterator[json_outputs.ModelEntry]:
    from console_app.providers import context_window

    for name in models:
        provider, _, model = name.partition("/")
        window = context_window(provider, model, base_url=base_url)
        yield json_outputs.ModelEntry(name=name, context_window=window)


def themes(setup: Setup) -> int:
    from console_app.tui import load_themes  # with Textual's Theme, 0.2 s

    entries, problems = load_themes(setup.paths.theme_dirs)
    found = [
        json_outputs.ThemeEntry(
            name=entry.theme.name,
            about=entry.about,
            dark=entry.theme.dark,
            use=entry.theme.name == setup.settings.theme,
        )
        for entry in entries
    ]
    if setup.arguments.json:
        write_out(
            safe_text.json_line(json_outputs.ThemesReport(themes=tuple(found), problems=tuple(problems)).model_dump())
            + "\n"
        )
        return Exit.FAILED if problems else Exit.DONE
    width = max(len(entry.name) for entry in found)
    for entry in found:
        write_out(visible(f"{'*' if entry.use else ' '} {entry.name:<{width}} {entry.about}") + "\n")
    for problem in problems:
        sys.stderr.write(f"fanout: {one_line(problem)}\n")
    return Exit.FAILED if problems else Exit.DONE
