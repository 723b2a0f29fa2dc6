"""`fanout themes` lists the themes that can be used, and what is wrong with the others."""

from __future__ import annotations

import sys

from console_app import resources
from console_app.command_line import json_outputs
from console_app.commands.standard_output import write_out
from console_app.domain import one_line, safe_text, visible
from console_app.headless import Exit
from console_app.tui.themes import load_themes  # with Textual's Theme, 0.2 s
from console_app.wiring import Setup


def themes(setup: Setup) -> int:
    entries, problems = load_themes((resources.themes_dir(), setup.paths.themes))
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
